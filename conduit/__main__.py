"""`python -m conduit` is the command `conduit`."""

from conduit.launch.printing import output

if __name__ == "__main__":
    output.begin()  # before all imports that may fail

    from conduit.commands.cli import main

    main()
