"""safebandit beside other bandit libraries: the same problem, one core, each in its documented loop."""
