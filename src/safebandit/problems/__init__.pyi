from .instance import Instance as Instance
from .named import NAMED as NAMED
from .named import as_instance as as_instance
from .named import instance_by_name as instance_by_name
