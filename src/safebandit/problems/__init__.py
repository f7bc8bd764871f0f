"""Problems: instances, which are supposed truths to simulate, limits on risks, and what theory says of an instance."""

from safebandit.problems.instance import Instance
from safebandit.problems.named import NAMED, as_instance, instance_by_name

__all__ = ["NAMED", "Instance", "as_instance", "instance_by_name"]
