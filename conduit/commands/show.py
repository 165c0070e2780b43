"""`conduit show NAME`."""

from collections import Counter

from conduit.commandline.console import make_console, print_table, print_text, widths
from conduit.commandline.files import STANDARD_OUTPUT, File, check_files, json_text, write_file
from conduit.commandline.names import ConduitName
from conduit.commands.described import described, with_constants
from conduit.commands.tables import grid, limits_text, print_options
from conduit.contract import Conduit
from conduit.launch.registry import find, parse_spec
from conduit.words import many

_SOURCE = 36
"""Columns that a source needs beside the rest of its row; where there is less room it stands below."""

_PLURALS = {"fact": "facts", "anchor": "anchors", "assumed": "assumed"}


def show(name: ConduitName, /, *, json: File | None = None) -> int:
    """Show one conduit: its options, and its constants with their sources.

    Args:
        name: A conduit, or a spec such as 'sci:torus=4x2'; limits may depend on options.
        json: File for the same as JSON, one object; - prints it in the place of the tables.
    """
    check_files({"json": json})
    spec = parse_spec(name)
    if json is not None:
        write_file("json", json, json_text(with_constants(described(spec.text, spec.cls, spec.options), spec.cls)))
    if json == STANDARD_OUTPUT:
        return 0
    console = make_console()
    world = "simulated, virtual time" if spec.simulated else "real, wall-clock time"
    print_text(console, f"{spec.text}  {spec.cls.summary} ({world})", bold=len(spec.text))
    family = find(spec.name)
    if family.chooser:
        print_text(console, f"one of several networks, by {family.chooser}={'|'.join(family.variants())}")
    print_text(console, limits_text(spec.cls, spec.options))
    print_options(console, spec.cls.Options)
    _constants(spec.cls)
    return 0


def _constants(cls: type[Conduit]) -> None:
    console = make_console()
    if not cls.constants:
        console.print("no constants: everything is an option")
        return
    rows = [(each.name, str(_value(each.value)), each.unit, each.kind, each.source) for each in cls.constants]
    columns = ("constant", "value", "unit", "kind", "source")
    short = grid(columns[:-1], [row[:-1] for row in rows], right=[1])
    if widths(console, short)[1] + _SOURCE > console.width:
        for name, value, unit, kind, source in rows:
            print_text(console, f"{name}  {value} {unit}, {kind}", bold=len(name))
            print_text(console, f"    {source}")
    else:
        print_table(console, grid(columns, rows, right=[1]))
    counts: Counter[str] = Counter(each.kind for each in cls.constants)
    shares = ", ".join(f"{counts[kind]} {kind if counts[kind] == 1 else plural}" for kind, plural in _PLURALS.items())
    console.print(f"{many(len(cls.constants), 'constant')}: {shares}")


def _value(value: object) -> object:
    """Show a number without the noise of its last binary digits."""
    return f"{value:.6g}" if isinstance(value, float) else value
