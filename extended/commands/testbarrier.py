"""`conduit testbarrier`: how long a barrier of all ranks takes.

| section | what is timed                                                                     |
|---------|-----------------------------------------------------------------------------------|
| A       | notify and wait, the same id on all ranks                                          |
| B       | notify and wait, anonymous                                                         |
| C       | notify and wait, every other rank anonymous                                        |
| D       | notify, then try until it is over, the same id                                     |
| E       | both in one call, anonymous                                                        |
| F       | both in one call, on a team of all ranks in reverse order                          |

The time of a block is that of the rank that took longest, from a barrier on.  Source: GASNet's benchmark of that name;
its barriers that are all unnamed by promise are the anonymous ones here.
"""

from typing import Annotated, Literal

import attrs
from cyclopts import Parameter

from conduit import Endpoint
from conduit.benchmarks import BenchmarkOptions, Parameters, Program, Progress, Record, RecordList, View, execute
from extended import Extended, Team
from extended.commands.unused import UNUSED, refuse_unused


@attrs.frozen(kw_only=True)
class BarrierOptions(BenchmarkOptions):
    """What users may ask of testbarrier; what means nothing to it is not in its help."""

    min_size: Annotated[int | None, UNUSED] = None
    max_size: Annotated[int | None, UNUSED] = None
    max_step: Annotated[int | None, UNUSED] = None
    local: Annotated[Literal["in", "out"], UNUSED] = "out"
    pairing: Annotated[Literal["next", "cross"], UNUSED] = "next"


@attrs.frozen
class BarrierKind:
    """One kind of barrier.

    Attributes:
        section: its letter.
        name: the operation in tables.
        named: whether even ranks, and odd ranks, give an id.
        way: how it is made.
    """

    section: str
    name: str
    named: tuple[bool, bool]
    way: str


KINDS = (
    BarrierKind("A", "Barrier named notify-wait", (True, True), "wait"),
    BarrierKind("B", "Barrier anonymous notify-wait", (False, False), "wait"),
    BarrierKind("C", "Barrier mixed notify-wait", (True, False), "wait"),
    BarrierKind("D", "Barrier named notify-try", (True, True), "try"),
    BarrierKind("E", "Barrier anonymous blocking", (False, False), "whole"),
    BarrierKind("F", "Barrier of a team blocking", (False, False), "whole"),
)


async def main(ep: Endpoint, parameters: Parameters, progress: Progress) -> RecordList | None:
    """Measure on one rank; the records are the same on all."""
    x = await Extended.attach(ep)
    reversed_team = await x.split(0, -ep.rank)
    assert reversed_team is not None
    chosen = [kind for kind in KINDS if kind.section in parameters.sections]
    if ep.rank == 0:
        progress.begin(len(chosen))
    records = progress.keep(ep.rank)
    for kind in chosen:
        if ep.rank == 0:
            progress.advance(f"{kind.section} {kind.name}")
        team = reversed_team if kind.section == "F" else x
        await _barriers(team, kind, parameters.warmup)
        await x.barrier()
        began = ep.now
        await _barriers(team, kind, parameters.iterations)
        seconds = float(await x.all_reduce(ep.now - began, "max"))
        records.append(_record(kind, parameters.iterations, seconds))
    return records


async def _barriers(team: Team, kind: BarrierKind, count: int) -> None:
    named = kind.named[team.ep.rank % 2]
    for turn in range(count):
        id = turn if named else None
        if kind.way == "whole":
            await team.barrier(id)
            continue
        await team.barrier_notify(id)
        if kind.way == "wait":
            await team.barrier_wait(id)
        else:
            while not await team.barrier_try(id):
                pass


def _record(kind: BarrierKind, iterations: int, seconds: float) -> Record:
    return Record(
        section=kind.section, operation=kind.name, nbytes=None, iterations=iterations, seconds=seconds, payloads=0
    )


PROGRAM = Program(
    name="testbarrier",
    main=main,
    sections="ABCDEF",
    sizes=(0, 0),
    segment=lambda parameters, limits: 0,
    views=(View("Barrier", "time", tuple(kind.name for kind in KINDS), "ABCDEF"),),
)


def testbarrier(options: Annotated[BarrierOptions, Parameter(name="*")] = BarrierOptions()) -> int:
    """Time of a barrier: named, anonymous, in two phases, by trying, of a team.

    Sections: A named, by notify and wait; B anonymous; C named on every other rank;
    D named, by notify and try; E anonymous, in one call; F of a team.
    """
    refuse_unused("testbarrier", options, "min_size", "max_size", "max_step", "local", "pairing")
    return execute(PROGRAM, options)
