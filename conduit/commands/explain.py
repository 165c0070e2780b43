"""`conduit explain`."""

from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from conduit.commandline.console import make_console, print_table, print_text
from conduit.commandline.files import STANDARD_OUTPUT, File, check_apart, check_files, write_file
from conduit.commandline.integers import Integer, Size
from conduit.commandline.names import ConduitName, Names
from conduit.commands.tables import grid
from conduit.launch.explanation import IN_PART, IN_PARTS, Explanation, explained, names_of, words_of
from conduit.seeing.timeline.steps import HARDWARE

_LETTERS = {
    "polling": "p", "send": "s", "wire": "-", "notice": "n", "timer": "t", "interrupt": "i", "receive": "r",
    "copy": "c", "handler": "h", "reply": "a", "move": "m", "compute": "x",
}  # fmt: skip
"""What stands for a kind of step in the bar; in the order of the legend."""


def explain(
    *,
    conduit: ConduitName = "sci",
    size: Size = 0,
    category: Literal["short", "medium", "long"] | None = None,
    op: Annotated[str, Parameter(name="--op"), Names.OPERATIONS] = "am",
    seed: Integer = 0,
    json: File | None = None,
    svg: File | None = None,
) -> int:
    """Show what each part of one message's time went to, and by which constants.

    Rank 0 sends a request to rank 1 on another host, whose handler replies
    with as many bytes; the time is that of the round trip. The parts add up
    to it, to the picosecond.

    Args:
        conduit: Where to run, as NAME or NAME:option=value,...; a simulated one.
        size: Bytes of payload; K, M and G stand for powers of 2.
        category: Of the message; by default the first of these that holds the size.
        op: What is done: am, or put or get, which are blocking and go one way.
        seed: Of everything random, as of what a network loses.
        json: File for the parts and constants as JSON; - prints it in the place of the tables.
        svg: File for a picture of the parts as SVG.
    """
    check_files({"json": json, "svg": svg})
    check_apart({"json": json, "svg": svg})
    found = explained(conduit, size, category, op, seed)
    if json is not None:
        write_file("json", json, found.to_json() + "\n")
    if svg is not None:
        write_file("svg", svg, found.svg())
    if STANDARD_OUTPUT not in (json, svg):
        _show(found)
    return 0


def _show(found: Explanation) -> None:
    console = make_console()
    total = found.ps
    print_text(console, found.title, bold=len(found.title))
    _print_bar(console, found)
    legs = any(step.leg for step in found.steps)
    rows = [
        (
            f"{step.begin / 1e6:.3f}",
            f"{step.ticks / 1e6:.3f}",
            _percent(step.ticks, total),
            "" if step.where == HARDWARE else step.where,
            *([step.leg] * legs),
            words_of(step),
            names_of(step),
        )
        for step in found.steps
    ]
    columns = ("at us", "us", "%", "rank", *(["leg"] * legs), "what", "made of")
    print_table(console, grid(columns, rows, right=range(4)))
    if any(step.times > 1 for step in found.steps):
        print_text(console, IN_PARTS)
        console.print()
    for each in found.constants:
        value = f"{each.value:g}" if isinstance(each.value, float) else each.value
        share = f"{each.ps / 1e6:.3f} us, {_percent(each.ps, total)} %{', in part' if each.in_part else ''}"
        print_text(
            console, f"{each.name}  {value} {each.unit}".rstrip() + f", {each.kind}: {share}", bold=len(each.name)
        )
        print_text(console, f"    {each.source}")
    rest = total - sum(each.ps for each in found.constants)
    if rest:
        print_text(console, f"of no constant: {rest / 1e6:.3f} us, {_percent(rest, total)} %")
    if any(each.in_part for each in found.constants):
        print_text(console, IN_PART)


def _print_bar(console: Console, found: Explanation) -> None:
    """Print a bar with a letter for what each part of the time goes to, and what the letters mean."""
    width = min(console.width, 100)
    kinds = [(step.what, step.ticks) for step in found.steps]
    bar, passed = "", 0
    for what, ticks in kinds:
        passed += ticks
        bar += _LETTERS.get(what, "?") * (round(passed * width / max(1, found.ps)) - len(bar))
    print_text(console, bar)
    used = [f"{letter} {what}" for what, letter in _LETTERS.items() if any(kind == what for kind, _ in kinds)]
    print_text(console, ", ".join(used))


def _percent(ticks: int, total: int) -> str:
    return f"{100 * ticks / total:.1f}" if total else ""
