"""Live trials over HTTP: an interface for programs, a page for people, and keys for both."""
