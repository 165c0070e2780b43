"""`conduit list`."""

from conduit.benchmarks.console import make_console, print_table, print_text
from conduit.commands.tables import limits_text, options_table
from conduit.launch.registry import networks


def list_conduits() -> int:
    """List the conduits found, their limits and options; a name that stands for several networks with each of them."""
    console = make_console()
    found = networks()
    for name, cls in found.items():
        if not isinstance(cls, type):
            print_text(console, f"{name}  cannot be used ({cls.target}): {cls}", bold=len(name))
            console.print()
            continue
        print_text(console, f"{name}  {cls.summary}", bold=len(name))
        print_text(console, limits_text(cls, cls.Options()))
        print_table(console, options_table(cls.Options))
    if not found:
        console.print("no conduit is installed")
    return 0
