"""The real service under load: pairs of ask and tell per second, their latency, and whether long trials cost more."""
