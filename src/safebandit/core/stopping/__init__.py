"""Stopping: when a trial ends, and when an arm is dropped; small values like indices, one file for each kind."""
