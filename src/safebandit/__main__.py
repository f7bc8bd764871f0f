"""`python -m safebandit`: the command line, where no command `safebandit` is on the path."""

from safebandit.cli import main

if __name__ == "__main__":
    main()
