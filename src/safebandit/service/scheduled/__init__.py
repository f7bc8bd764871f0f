"""Verifications that nobody asks for: the service has every trial that changed verified, at a pace that is set."""
