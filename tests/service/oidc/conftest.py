"""Without Node.js the tests with a real provider are not collected; the summary says so."""

from .node import find_node


def pytest_ignore_collect(collection_path):
    return True if collection_path.name == "test_provider.py" and find_node() is None else None
