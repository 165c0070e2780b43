"""One exchange between two ranks on a simulated network, and what became of each picosecond of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from shlex import quote
from typing import Any

import attrs

from conduit.contract import JobSetup
from conduit.core.endpoint import Endpoint
from conduit.errors import ConduitError
from conduit.launch.jobs.simulated import SimulatedJob
from conduit.launch.registry import Spec, parse_spec
from conduit.launch.timelines import timeline_of
from conduit.seeing.timeline.steps import MessageStep, PathEdge, steps_of
from conduit.sim.actions import acting, name_of, rank_of
from conduit.sim.causes import CausalKernel, EventCause
from conduit.sim.timer import Timer
from conduit.simnet import SimulatedPort
from conduit.simnet.constants import keep_names

Program = Callable[..., Awaitable[object]]
"""`async def main(ep, mark, *args)`, of two ranks; rank 0 calls `mark(ep)` before what is explained, and after it."""


@attrs.frozen
class ExplainedExchange:
    """What an exchange took, and what for.

    Attributes:
        ticks: from one mark to the other, picoseconds.
        steps: they add up to it.
    """

    ticks: int
    steps: list[MessageStep]


@attrs.define
class _Marks:
    """When the marks were made, and the events that ran last by then."""

    times: list[int] = attrs.field(factory=list)
    causes: list[EventCause | None] = attrs.field(factory=list)


def explain_named(text: str, main: Program, *args: Any, segment: int, seed: int = 0) -> ExplainedExchange:
    """As `explain`, in a process that has imported no network: constants have names there.

    Args:
        text: the network's spec.
        main: as for `explain`.
        *args: as for `explain`.
        segment: as for `explain`.
        seed: as for `explain`.
    """
    keep_names()
    return explain(parse_spec(text), main, *args, segment=segment, seed=seed)


def explain(spec: Spec, main: Program, *args: Any, segment: int, seed: int = 0) -> ExplainedExchange:
    """Run a program on two ranks of two hosts, and explain what lies between its two marks.

    Constants have names if they kept them when the network was imported (`conduit.simnet.constants.keep_names`).

    Args:
        spec: the network, a simulated one.
        main: the program.
        *args: what it is given behind the endpoint and the mark.
        segment: bytes of every rank's segment.
        seed: of everything random.

    Raises:
        ConduitError: the network schedules what is past.
    """
    hosts = SimulatedJob.hosts(spec, 2, None)
    spec.cls.check_segment(spec.options, segment)
    setup = JobSetup(
        ranks=2, hosts=hosts, segment=segment, seed=seed, auxiliary=spec.cls.auxiliary_beside(spec.options, segment)
    )
    marks = _Marks()

    def mark(ep: Endpoint) -> None:
        marks.times.append(round(ep.now * 1e12))
        marks.causes.append(kernel.cause)

    timeline = timeline_of(spec, setup)
    job = SimulatedJob(main, (mark, *args), spec, setup, observers=[timeline], kernel=CausalKernel)
    kernel: Any = job.kernel
    with job.around():
        job.run()
    begin, end = marks.times
    requests = [sent.message for sent in timeline.messages if sent.begin >= begin and not sent.message.reply]
    handled = timeline.handled_at[requests[0]][0] if len(requests) == 1 else None
    return ExplainedExchange(end - begin, steps_of(_edges(marks, spec), timeline, handled))


def _edges(marks: _Marks, spec: Spec) -> list[PathEdge]:
    """Return the critical path between the marks: from the last event back to that at the first mark.

    Raises:
        ConduitError: an event of it happened before it was scheduled.
    """
    begin, end = marks.times
    path: list[EventCause] = []
    cause = marks.causes[1]
    while cause is not None and cause is not marks.causes[0]:
        _refuse_past(cause, spec)
        if cause.when <= begin:
            break
        path.append(cause)
        cause = cause.cause
    edges, since, before = [], begin, cause
    for event in reversed(path):
        # What a task does before it schedules an event takes time that the kernel may have let pass at once.
        if event.when > since:
            edges.append(_edge(since, event.when, None if before is marks.causes[0] else before, event))
        since, before = event.when, event
    if end > since:
        edges.append(_edge(since, end, before, None))
    return edges


def _refuse_past(event: EventCause, spec: Spec) -> None:
    if event.when < event.since:
        raise ConduitError(
            f"{name_of(event.action)} happens at {event.when} ps, which is past when it is scheduled, at {event.since} "
            f"ps: a mistake of the network {spec.cls.name!r}, as of one that charges less than 0 ps; `python -X dev -m "
            f"conduit testam --conduit {quote(spec.text)}` names the call"
        )


def _edge(begin: int, end: int, before: EventCause | None, event: EventCause | None) -> PathEdge:
    name, owner = ("", -1) if before is None else (_words(before), rank_of(before.action))
    until, rank, parts = ("", -1, ()) if event is None else (_kind(event), rank_of(event.action), event.parts)
    return PathEdge(begin, end, name, owner, until, rank, parts)


def _kind(event: EventCause) -> str:
    """Return whether an event is that a rank's polling loop finds something, or a timer's."""
    whose = getattr(acting(event.action), "__self__", None)
    if isinstance(whose, SimulatedPort) and event.action == whose._notice:
        return "notice"
    return "timer" if isinstance(whose, Timer) else ""


def _words(event: EventCause) -> str:
    """Return what an event does as words, where it is a network's own."""
    action = acting(event.action)
    if getattr(action, "__module__", "").startswith("conduit."):
        return ""
    name = event.name.removesuffix(".<locals>.<lambda>")
    return name.rpartition(".")[2].strip("_").replace("_", " ")
