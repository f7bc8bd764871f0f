"""Selection: what a trial says when it has ended; small values like indices, one file for each kind."""
