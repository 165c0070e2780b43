"""`python -m conduit` is the command `conduit`."""

from conduit.commands.cli import main

if __name__ == "__main__":
    main()
