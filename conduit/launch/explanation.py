"""What `conduit explain` shows: one exchange on a network, its steps, and the constants that they are made of."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from importlib.metadata import version
from typing import Any

import attrs

from conduit.errors import BadRequest, NetworkError
from conduit.launch.entry_points import DISTRIBUTION, OPERATIONS, installed
from conduit.launch.explaining import ExplainedExchange, explain_named
from conduit.launch.fresh import call_fresh
from conduit.launch.registry import Spec, parse_spec
from conduit.options import describe, in_effect
from conduit.seeing.pictures import Table, shown
from conduit.seeing.timeline.sequence import draw_sequence
from conduit.seeing.timeline.steps import HARDWARE, MessageStep
from conduit.words import value_text

_PS = {"us": 1e6, "ns": 1e3}
"""Picoseconds of units of constants that are times."""
IN_PARTS = '2x, 3x: in so many parts, with other rows between them; "at" is when the first one begins'
"""What is said where rows seem to overlap."""
IN_PART = (
    "in part: less than one whole time of it is counted here. The rest passes beside the critical path, or is that of "
    "other constants in this list, where a figure is of the whole that they are parts of"
)
"""What is said where a constant is larger than its share."""


@attrs.frozen
class UsedConstant:
    """A constant, or an option that takes a constant's place, and how many picoseconds of the exchange are its."""

    name: str
    value: object
    unit: str
    kind: str
    source: str
    ps: int

    @property
    def in_part(self) -> bool:
        """Whether it is a time of which less than one whole is here."""
        whole = _PS.get(self.unit, 0.0) * self.value if isinstance(self.value, int | float) else 0.0
        return self.ps < 0.999 * whole


@attrs.frozen(kw_only=True)
class Explanation:
    """One exchange between two ranks, and what became of each picosecond of it.

    Attributes:
        conduit: the network's spec.
        options: of the network, all.
        operation: what was done: "am", or "put" or "get".
        category: of the message, "" where it is none.
        nbytes: of payload.
        ps: how long it took, picoseconds.
        steps: what the time went to; they add up to it.
        constants: what the steps are made of, the greatest share first.
    """

    conduit: str
    options: Mapping[str, object]
    operation: str
    category: str
    nbytes: int
    ps: int
    steps: Sequence[MessageStep]
    constants: Sequence[UsedConstant]

    @property
    def title(self) -> str:
        """What was explained, and how long it took, in a line."""
        what = f"round trip, {self.category}" if self.category else self.operation
        return f"{what}, {self.nbytes} bytes, on {self.conduit}: {self.ps / 1e6:.6f} us"

    def to_json(self) -> str:
        """Return it as JSON, as `conduit explain --json` writes it."""
        content = {
            "program": "explain",
            "version": version(DISTRIBUTION),
            "conduit": self.conduit,
            "options": dict(self.options),
            "operation": self.operation,
            "category": self.category or None,
            "bytes": self.nbytes,
            "ps": self.ps,
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
                for step in self.steps
            ],
            "constants": [attrs.asdict(each) for each in self.constants],
        }
        return json.dumps(content, indent=1)

    def svg(self) -> str:
        """Return a picture of the steps as SVG: the two processors, the network between them, time from the top."""
        return draw_sequence(self.title.replace(" us", " µs"), self.steps)

    def to_frame(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each step; times are picoseconds.

        Raises:
            ConduitError: pandas is not installed.
        """
        rows = [
            (
                step.begin,
                step.ticks,
                None if step.where == HARDWARE else step.where,
                step.leg,
                step.what,
                step.name,
                tuple(step.constants),
            )
            for step in self.steps
        ]
        titles = ("at_ps", "ps", "rank", "leg", "what", "step", "constants")
        return Table(titles, tuple(rows)).frame("Explanation.to_frame")

    def _repr_html_(self) -> str:
        """Return what notebooks show: a picture and a table of the steps, and the constants folded."""
        steps = [
            (
                step.begin / 1e6,
                step.ticks / 1e6,
                100 * step.ticks / self.ps if self.ps else None,
                None if step.where == HARDWARE else step.where,
                step.leg,
                words_of(step),
                names_of(step),
            )
            for step in self.steps
        ]
        titles = ("at µs", "µs", "%", "rank", "leg", "what", "made of")
        constants = [
            (
                each.name,
                str(each.value),
                each.unit,
                f"{each.kind}, in part" if each.in_part else each.kind,
                each.ps / 1e6,
                each.source,
            )
            for each in self.constants
        ]
        sources = Table(("constant", "value", "unit", "kind", "µs", "source"), tuple(constants))
        notes = [IN_PARTS] if any(step.times > 1 for step in self.steps) else []
        notes += [IN_PART] if any(each.in_part for each in self.constants) else []
        said = "".join(f"<p>{escape(note)}.</p>" for note in notes)
        table = Table(titles, tuple(steps)).html()
        return shown(self.title, self.svg(), table, sources.html(folded="Constants"), said)


def explained(
    conduit: str = "sci", size: int = 0, category: str | None = None, op: str = "am", seed: int = 0
) -> Explanation:
    """Explain one exchange between ranks 0 and 1 on two hosts of a simulated network.

    Args:
        conduit: the network's spec.
        size: bytes of payload.
        category: of the message, "short", "medium" or "long"; None: the first of these that holds the size.
        op: what is done: "am", a request and its reply, or "put" or "get", which are blocking and go one way.
        seed: of everything random, as of what a network loses.

    Raises:
        BadRequest: a network in real time, or what it has not.
        UnknownConduit: no such network is installed.
        NetworkError: under these options it does not carry the exchange.
    """
    spec = parse_spec(conduit)
    if not spec.simulated:
        raise BadRequest(
            f"conduit '{spec.text}' runs in real time, and only simulated networks can be explained; name one of them"
        )
    known = installed(OPERATIONS)
    if op not in known:
        raise BadRequest(f"--op {op} is no operation; there are: {', '.join(sorted(known))}")
    operation = known[op].load()
    found = _category(spec, op, operation.largest(spec.limits), category, size)
    spec.cls.check_segment(spec.options, size)
    try:
        exchange = call_fresh(partial(explain_named, segment=size, seed=seed), spec.text, operation.main, found, size)
    except NetworkError as error:  # its notes are of the program, which is none of who has called
        raise NetworkError(
            f"'{spec.text}' never carries the exchange, so that there is nothing to explain: {error}{_given(spec)}"
        ) from None
    return explanation_of(spec, op, found, size, exchange)


def _given(spec: Spec) -> str:
    """Return what to do about a network that carries nothing: which options were given, and what they do."""
    values, defaults = in_effect(spec.options), in_effect(type(spec.options)())
    given = [
        f"{each.name}={value_text(values[each.name])} ({each.help}; {each.default} by default)"
        for each in describe(spec.cls.Options)
        if values[each.name] != defaults[each.name]
    ]
    return f"; leave out or change what was given of its options: {', '.join(given)}" if given else ""


def explanation_of(spec: Spec, op: str, category: str, size: int, exchange: ExplainedExchange) -> Explanation:
    """Return an exchange with the constants that its steps name."""
    return Explanation(
        conduit=spec.text,
        options=spec.in_effect,
        operation=op,
        category=category,
        nbytes=size,
        ps=exchange.ticks,
        steps=exchange.steps,
        constants=_constants(spec, exchange.steps),
    )


def words_of(step: MessageStep) -> str:
    """Say what a step does, and of how many parts it is, if others come between these."""
    words = f"{step.what}: {step.name}" if step.name and step.what not in ("notice", "polling") else step.what
    return f"{words}, {step.times}x" if step.times > 1 else words


def names_of(step: MessageStep) -> str:
    """Say what a step is made of: constants, or the links that are taken."""
    names = list(step.constants)
    if not names and step.what == "notice":
        return "rest of a poll"
    if step.ticks > sum(step.constants.values()):
        names += [f"({name or 'a link without a name'})" for name in step.links]
    return ", ".join(names)


def _category(spec: Spec, op: str, largest: Mapping[str, int], asked: str | None, size: int) -> str:
    """Return the category that carries a size, or that was asked for."""
    if type(size) is not int:
        raise BadRequest(f"--size {size!r} is no integer; give a number of bytes")
    if size < 0:
        raise BadRequest(f"--size {size} is too small; it must be at least 0")
    if asked is not None and asked not in largest:
        if "" in largest:
            raise BadRequest(f"--category {asked} is of messages, and --op {op} has none; leave it out")
        *others, last = largest
        raise BadRequest(f"--category cannot be {asked!r}; choose {', '.join(others)} or {last}")
    held = {name: most for name, most in largest.items() if asked in (None, name)}
    found = next((name for name, most in held.items() if size <= most), None)
    if found is None:
        name, most = list(held.items())[-1]
        what = f"a {name} message" if name else f"one {op}"
        raise BadRequest(f"--size {size} is more than {what} carries on '{spec.text}': at most {most} bytes")
    return found


def _constants(spec: Spec, steps: Sequence[MessageStep]) -> list[UsedConstant]:
    """Return what the steps are made of, that with the greatest share first."""
    totals: Counter[str] = Counter()
    for step in steps:
        totals.update(step.constants)
    constants = {each.name: each for each in spec.cls.constants}
    values, helps = in_effect(spec.options), {each.name: each.help for each in describe(spec.cls.Options)}
    return [
        UsedConstant(**attrs.asdict(constants[name]), ps=ps)
        if name in constants
        else UsedConstant(name, values[name], "", "option", helps[name], ps)
        for name, ps in totals.most_common()
    ]
