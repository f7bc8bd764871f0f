"""Validation: every number that others printed, what comes out here, and what this installation is made of."""
