"""`conduit raw NAME`."""

from collections.abc import Sequence

import attrs

from conduit.commandline.console import make_console, print_table, print_text
from conduit.commandline.files import STANDARD_OUTPUT, File, check_files, json_text, package_version, write_file
from conduit.commandline.names import ConduitName
from conduit.commands.tables import grid
from conduit.contract import Conduit, RawTable
from conduit.errors import BadRequest
from conduit.launch.registry import Spec, networks, parse_spec


def raw(name: ConduitName, /, *, json: File | None = None) -> int:
    """Run the driver's own benchmarks, without the conduit above it.

    Args:
        name: A conduit, or a spec such as 'sci:torus=4x2'.
        json: File for the tables as JSON, one object; - prints it in their place.
    """
    check_files({"json": json})
    spec = parse_spec(name)
    tables = spec.cls.raw_tables(spec.options)
    if not tables:
        raise BadRequest(f"conduit '{spec.name}' has no driver with benchmarks of its own; {_others(spec)}")
    if json is not None:
        write_file("json", json, json_text(_described(spec, tables)))
    if json == STANDARD_OUTPUT:
        return 0
    console = make_console()
    print_text(console, f"{spec.text}  {spec.cls.summary}", bold=len(spec.text))
    for table in tables:
        console.print()
        print_text(console, table.title, bold=len(table.title))
        print_table(console, grid(table.columns, [list(map(_cell, row)) for row in table.rows], right=_numeric(table)))
        if table.note:
            print_text(console, table.note)
    return 0


def _described(spec: Spec, tables: Sequence[RawTable]) -> dict[str, object]:
    return {
        "program": "raw",
        "version": package_version(),
        "conduit": spec.text,
        "options": spec.in_effect,
        "tables": [attrs.asdict(table) for table in tables],
    }


def _cell(value: object) -> object:
    """Show numbers with three decimals, as the benchmarks do."""
    return f"{value:.3f}" if isinstance(value, float) else value


def _numeric(table: RawTable) -> list[int]:
    """Return the columns that hold numbers only."""
    return [
        index
        for index in range(len(table.columns))
        if all(isinstance(row[index], int | float) or row[index] is None for row in table.rows)
    ]


def _others(spec: Spec) -> str:
    found = [name for name, cls in networks().items() if name != spec.text and isinstance(cls, type) and _drives(cls)]
    return f"conduits that have one: {', '.join(found) or 'none'}"


def _drives(cls: type[Conduit]) -> bool:
    """Tell whether a conduit class has raw benchmarks of its own, without running them."""
    return any("raw_tables" in each.__dict__ for each in cls.__mro__ if each is not Conduit)
