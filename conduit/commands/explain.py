"""`conduit explain`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

import attrs
from cyclopts import Parameter
from rich.console import Console

from conduit.benchmarks.console import make_console, print_table, print_text
from conduit.benchmarks.files import STANDARD_OUTPUT, File, check_file, json_text, package_version, write_file
from conduit.benchmarks.integers import Size
from conduit.benchmarks.operation import ExplainedOperation
from conduit.commands.tables import grid
from conduit.errors import BadRequest
from conduit.launch.explaining import ExplainedExchange, explain_named
from conduit.launch.fresh import call_fresh
from conduit.launch.registry import OPERATIONS, Spec, installed, parse_spec
from conduit.options import describe, in_effect
from conduit.seeing.timeline.steps import HARDWARE, MessageStep

_LETTERS = {
    "polling": "p", "send": "s", "wire": "-", "notice": "n", "timer": "t", "interrupt": "i", "receive": "r",
    "copy": "c", "handler": "h", "reply": "a", "move": "m", "compute": "x",
}  # fmt: skip
"""What stands for a kind of step in the bar; in the order of the legend."""


def explain(
    *,
    conduit: str = "sci",
    size: Size = 0,
    category: Literal["short", "medium", "long"] | None = None,
    op: Annotated[str, Parameter(name="--op")] = "am",
    json: File | None = None,
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
        json: File for the parts and constants as JSON; - prints it in the place of the tables.
    """
    check_file("json", json)
    spec = parse_spec(conduit)
    if not spec.simulated:
        raise BadRequest(
            f"conduit '{spec.text}' runs in real time, and only simulated networks can be explained; name one of them"
        )
    operation = _operation(op)
    found = _category(spec, op, operation.largest(spec.limits), category, size)
    spec.cls.check_segment(spec.options, size)
    run = partial(explain_named, segment=size)
    exchange = call_fresh(run, spec.text, operation.main, found, size)
    constants = _constants(spec, exchange.steps)
    if json is not None:
        write_file("json", json, json_text(_as_json(spec, op, found, size, exchange, constants)))
    if json != STANDARD_OUTPUT:
        what = f"round trip, {found}" if found else op
        _show(spec, what, size, exchange, constants)
    return 0


def _operation(name: str) -> ExplainedOperation:
    known = installed(OPERATIONS)
    if name not in known:
        raise BadRequest(f"--op {name} is no operation; there are: {', '.join(sorted(known))}")
    found: ExplainedOperation = known[name].load()
    return found


def _category(spec: Spec, op: str, largest: Mapping[str, int], asked: str | None, size: int) -> str:
    """Return the category that carries a size, or that was asked for."""
    if size < 0:
        raise BadRequest(f"--size {size} is too small; it must be at least 0")
    if asked is not None and asked not in largest:
        raise BadRequest(f"--category {asked} is of messages, and --op {op} has none; leave it out")
    held = {name: most for name, most in largest.items() if asked in (None, name)}
    found = next((name for name, most in held.items() if size <= most), None)
    if found is None:
        name, most = list(held.items())[-1]
        what = f"a {name} message" if name else f"one {op}"
        raise BadRequest(f"--size {size} is more than {what} carries on '{spec.text}': at most {most} bytes")
    return found


@attrs.frozen
class _Used:
    """A constant, or an option that takes a constant's place, and how much of the time is its."""

    name: str
    value: object
    unit: str
    kind: str
    source: str
    ps: int


def _constants(spec: Spec, steps: Sequence[MessageStep]) -> list[_Used]:
    """Return what the steps are made of, that with the greatest share first."""
    totals: Counter[str] = Counter()
    for step in steps:
        totals.update(step.constants)
    constants = {each.name: each for each in spec.cls.constants}
    values, helps = in_effect(spec.options), {each.name: each.help for each in describe(spec.cls.Options)}
    return [
        _Used(**attrs.asdict(constants[name]), ps=ps)
        if name in constants
        else _Used(name, values[name], "", "option", helps[name], ps)
        for name, ps in totals.most_common()
    ]


def _show(spec: Spec, what: str, size: int, exchange: ExplainedExchange, constants: Sequence[_Used]) -> None:
    console = make_console()
    total = exchange.ticks
    title = f"{what}, {size} bytes, on {spec.text}: {total / 1e6:.6f} us"
    print_text(console, title, bold=len(title))
    _print_bar(console, exchange)
    legs = any(step.leg for step in exchange.steps)
    rows = [
        (
            f"{step.begin / 1e6:.3f}",
            f"{step.ticks / 1e6:.3f}",
            _percent(step.ticks, total),
            "" if step.where == HARDWARE else step.where,
            *([step.leg] * legs),
            _words(step),
            _names(step),
        )
        for step in exchange.steps
    ]
    columns = ("at us", "us", "%", "rank", *(["leg"] * legs), "what", "made of")
    print_table(console, grid(columns, rows, right=range(4)))
    for each in constants:
        value = f"{each.value:g}" if isinstance(each.value, float) else each.value
        share = f"{each.ps / 1e6:.3f} us, {_percent(each.ps, total)} %"
        print_text(
            console, f"{each.name}  {value} {each.unit}".rstrip() + f", {each.kind}: {share}", bold=len(each.name)
        )
        print_text(console, f"    {each.source}")
    rest = total - sum(each.ps for each in constants)
    if rest:
        print_text(console, f"of no constant: {rest / 1e6:.3f} us, {_percent(rest, total)} %")


def _print_bar(console: Console, exchange: ExplainedExchange) -> None:
    """Print a bar with a letter for what each part of the time goes to, and what the letters mean."""
    width = min(console.width, 100)
    kinds = [(step.what, step.ticks) for step in exchange.steps]
    bar, passed = "", 0
    for what, ticks in kinds:
        passed += ticks
        bar += _LETTERS.get(what, "?") * (round(passed * width / max(1, exchange.ticks)) - len(bar))
    print_text(console, bar)
    used = [f"{letter} {what}" for what, letter in _LETTERS.items() if any(kind == what for kind, _ in kinds)]
    print_text(console, ", ".join(used))


def _words(step: MessageStep) -> str:
    return f"{step.what}: {step.name}" if step.name and step.what not in ("notice", "polling") else step.what


def _names(step: MessageStep) -> str:
    """Say what a step is made of: constants, or the links that are taken."""
    names = list(step.constants)
    if not names and step.what == "notice":
        return "rest of a poll"
    if step.ticks > sum(step.constants.values()):
        names += [f"({name})" for name in step.links]
    return ", ".join(names)


def _percent(ticks: int, total: int) -> str:
    return f"{100 * ticks / total:.1f}" if total else ""


def _as_json(
    spec: Spec, op: str, category: str, size: int, exchange: ExplainedExchange, constants: Sequence[_Used]
) -> dict[str, object]:
    return {
        "program": "explain",
        "version": package_version(),
        "conduit": spec.text,
        "options": in_effect(spec.options),
        "operation": op,
        "category": category or None,
        "bytes": size,
        "ps": exchange.ticks,
        "steps": [
            {
                "leg": step.leg or None,
                "rank": None if step.where == HARDWARE else step.where,
                "what": step.what,
                "step": step.name or None,
                "at_ps": step.begin,
                "ps": step.ticks,
                "times": step.times,
                "constants_ps": dict(step.constants),
                "taken_ps": dict(step.links),
            }
            for step in exchange.steps
        ],
        "constants": [attrs.asdict(each) for each in constants],
    }
