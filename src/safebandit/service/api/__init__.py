"""The interface for programs: what may be sent, what is answered, and what each path does."""
