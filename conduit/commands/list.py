"""`conduit list`."""

from rich.markup import escape

from conduit.commands.tables import limits_text, options_table
from conduit.console import make_console, print_table
from conduit.registry import available


def list_conduits() -> int:
    """List the conduits found, their limits and options."""
    console = make_console()
    found = available()
    for name, cls in found.items():
        if not isinstance(cls, type):
            console.print(f"[bold]{name}[/bold]  cannot be used ({cls.target}): {escape(str(cls))}\n", soft_wrap=True)
            continue
        console.print(f"[bold]{name}[/bold]  {escape(cls.summary)}", soft_wrap=True)
        console.print(limits_text(cls, cls.Options()), soft_wrap=True)
        print_table(console, options_table(cls.Options))
    if not found:
        console.print("no conduit is installed")
    return 0
