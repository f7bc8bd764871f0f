"""What a trial says when it is over, or at a look before: estimates, sequences, evidence, and what they assume."""
