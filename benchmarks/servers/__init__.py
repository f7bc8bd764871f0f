"""Real servers, started for tests and benchmarks and stopped after them."""
