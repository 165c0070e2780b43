"""`conduit mpi-patterns`: the bytes per second that get through when every process sends along a pattern.

Each process draws sizes of messages and the times between them, sends each message at its time, or as soon after it as
the one before is away, to whom the pattern says, and receives what comes.  Offered is what it would send if every
message went at its time, accepted what arrives by the time at which the last process is through.  What stays on a host
and what leaves it are counted apart; what a process sends to itself stays.

Sections are the distributions of sizes and of times: A uniform and uniform, B uniform and exponential, C exponential
and uniform, D exponential and exponential.  Source: the papers on Sun Fire Link; the means are this command's options.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import numpy as np
from cyclopts import Parameter

from conduit import BadRequest, ConduitError
from conduit.benchmarks import Program, Record, View, execute, sizes
from conduit.benchmarks.record import MB
from conduit.commandline.names import Choices
from conduits.mpi.awaited.operators import MAX
from conduits.mpi.awaited.request import Request
from conduits.mpi.awaited.status import Status
from conduits.mpi.commands.options import UNUSED, MpiOptions, check, on_mpi
from conduits.mpi.commands.patterns import PATTERNS, destinations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conduit import Endpoint
    from conduit.benchmarks import Parameters, Progress, RecordList
    from conduits.mpi.awaited.comm import Comm

NAME = "mpi-patterns"
SIZES = (4096, 4096)
SECTIONS = {
    "A": ("uniform", "uniform"), "B": ("uniform", "exponential"), "C": ("exponential", "uniform"),
    "D": ("exponential", "exponential"),
}  # fmt: skip
UNIFORM = "uniform"
WHERE = ("on-node", "off-node")
SLICE = 5e-6  # seconds that a rank which waits for a time computes between two polls
LONGEST = 8  # means, of an exponential size: of 3000 draws one is longer, and is cut
_Array = np.ndarray[Any, Any]


@attrs.frozen(kw_only=True)
class PatternOptions(MpiOptions):
    """What users may ask of mpi-patterns."""

    patterns: Annotated[str, Parameter(show_default=False), Choices((*PATTERNS, "all"))] = "uniform,transpose"
    """Patterns, separated by commas, or all. [default: uniform,transpose]"""

    offered: Annotated[str, Parameter(show_default=False)] = "8,32,128"
    """What each process offers, MB (2**20 bytes) per second, one step after the other. [default: 8,32,128]"""

    pairing: Annotated[Literal["next", "cross"], UNUSED] = "next"


@attrs.frozen
class TrafficPlan:
    """What one process sends.

    Attributes:
        times: of each message, seconds from the beginning.
        sizes: bytes of each.
        dests: to whom it goes.
    """

    times: tuple[float, ...]
    sizes: tuple[int, ...]
    dests: tuple[int, ...]


def draw(
    rank: int, processes: int, pattern: str, section: str, mean: int, rate: float, count: int, seed: object
) -> TrafficPlan:  # fmt: skip
    """Return what a process sends, the same wherever it is asked for.

    Args:
        rank: the process.
        processes: how many there are.
        pattern: uniform, or one of `PATTERNS`.
        section: of `SECTIONS`.
        mean: of the sizes, bytes.
        rate: what it offers, MB/s.
        count: messages.
        seed: of what is drawn, with the other arguments.
    """
    random = Random(f"{seed} {pattern} {section} {mean} {rate:g} {rank}")
    of_sizes, of_times = SECTIONS[section]
    gap = mean / (rate * MB)
    now, times, chosen, dests = 0.0, [], [], []
    fixed = None if pattern == UNIFORM else destinations(pattern, processes)[rank]
    for _ in range(count):
        now += random.uniform(0, 2 * gap) if of_times == "uniform" else random.expovariate(1 / gap)
        times.append(now)
        drawn = random.randint(0, 2 * mean) if of_sizes == "uniform" else random.expovariate(1 / mean)
        chosen.append(min(round(drawn), LONGEST * mean))
        dests.append((rank + random.randrange(1, processes)) % processes if fixed is None else fixed)
    return TrafficPlan(tuple(times), tuple(chosen), tuple(dests))


async def measure(
    ep: Endpoint, comm: Comm, parameters: Parameters, progress: Progress, patterns: tuple[str, ...],
    offered: tuple[float, ...], seed: int,
) -> RecordList | None:  # fmt: skip
    """Measure on one rank; the records are the same on all."""
    means = list(sizes(parameters.min_size, parameters.max_size, parameters.max_step))
    if ep.rank == 0:
        progress.begin(len(parameters.sections) * len(patterns) * len(means) * len(offered))
    records = progress.keep(ep.rank)
    for section in parameters.sections:
        for pattern in patterns:
            for mean in means:
                for rate in offered:
                    if ep.rank == 0:
                        progress.advance(f"{section} {pattern} {mean} {rate:g}")
                    plans = [
                        draw(each, ep.size, pattern, section, mean, rate, parameters.iterations, seed)
                        for each in range(ep.size)
                    ]
                    for _ in range(1 + min(parameters.warmup, 1)):  # connections are made on first use
                        seconds = await _play(ep, comm, plans)
                    records += _records(section, pattern, rate, mean, ep.hosts, plans, seconds)
    return records


async def _play(ep: Endpoint, comm: Comm, plans: list[TrafficPlan]) -> float:
    """Send and receive as the plans say; return the seconds until the last process is through."""
    me, mine = comm.rank, plans[comm.rank]
    expected = [
        (source, size)
        for source, plan in enumerate(plans)
        for size, dest in zip(plan.sizes, plan.dests, strict=True)
        if dest == me
    ]
    room = max((size for _, size in expected), default=0)
    buffers = [np.empty(room, np.uint8) for _ in expected]
    coming = [await comm.Irecv(each) for each in buffers]
    out = np.full(max(mine.sizes), me % 251, np.uint8)
    await comm.Barrier()
    began = ep.now
    for time, size, dest in zip(mine.times, mine.sizes, mine.dests, strict=True):
        await _polling(ep, began + time)
        await comm.Send(out[:size], dest)
    statuses: list[Status] = []
    await Request.Waitall(coming, statuses)
    longest = np.array([ep.now - began])
    await comm.Allreduce(longest.copy(), longest, MAX)
    _verify(me, expected, buffers, statuses)
    return float(longest[0])


async def _polling(ep: Endpoint, until: float) -> None:
    """Compute until some time, polling now and then, that messages may arrive."""
    while (left := until - ep.now) > 0:
        await ep.compute(min(left, SLICE))
        await ep.poll()


def _verify(me: int, expected: list[tuple[int, int]], buffers: list[_Array], statuses: list[Status]) -> None:
    found = [(status.source, status.count) for status in statuses]
    whole = all(
        (buffer[:nbytes] == source % 251).all() for buffer, (source, nbytes) in zip(buffers, found, strict=True)
    )
    if not whole or sorted(found) != sorted(expected):
        raise ConduitError(f"{NAME}: rank {me} got other messages than were sent to it")


def _name(pattern: str, where: str, rate: float) -> str:
    return f"{pattern} {where} at {rate:g}"


def _records(
    section: str, pattern: str, rate: float, mean: int, hosts: tuple[int, ...], plans: list[TrafficPlan],
    seconds: float,
) -> Iterator[Record]:  # fmt: skip
    count, duration = len(plans[0].times), max(plan.times[-1] for plan in plans)
    for away, where in enumerate(WHERE):
        moved = sum(
            size
            for source, plan in enumerate(plans)
            for size, dest in zip(plan.sizes, plan.dests, strict=True)
            if (hosts[source] != hosts[dest]) == bool(away)
        )
        if moved:
            yield Record(
                section=section, operation=_name(pattern, where, rate), nbytes=mean, iterations=count,
                seconds=seconds, payloads=moved / (mean * count), offered=moved / MB / duration,
            )  # fmt: skip


def _patterns(text: str) -> tuple[str, ...]:
    known = (UNIFORM, *PATTERNS)
    asked = known if text == "all" else tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in asked:
        if name not in known:
            raise BadRequest(f"--patterns {name!r} is not known; give all, or some of {','.join(known)}")
    return asked


def _rates(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < each < 1e9 for each in found):
        raise BadRequest(f"--offered {text!r} are no rates; give MB per second above 0, as 8,32,128")
    return found


def program(options: PatternOptions) -> Program:
    """Return the benchmark for some options.

    Raises:
        BadRequest: a conduit is not MPI's, a pattern or rate is wrong, or an option has no use.
    """
    check(NAME, options, pairing=False)
    patterns, offered = _patterns(options.patterns), _rates(options.offered)
    if options.min_size == 0:
        raise BadRequest("--min-size 0 is no mean of sizes; give at least 1")
    ranks = options.ranks
    if ranks is not None and ranks & (ranks - 1) and patterns != (UNIFORM,):
        raise BadRequest(
            f"--ranks {ranks} is no power of 2, and all patterns but uniform are permutations of 2**n processes; give "
            "another, or --patterns uniform"
        )
    return Program(
        name=NAME,
        main=partial(on_mpi(measure), patterns=patterns, offered=offered, seed=options.seed),
        sections="".join(SECTIONS),
        sizes=SIZES,
        segment=lambda parameters, limits: 0,
        fewest_ranks=2,
        least_size=1,
        settings={"patterns": options.patterns, "offered": options.offered},
        totals=False,
        views=tuple(_views(patterns, offered)),
    )


def _views(patterns: tuple[str, ...], offered: tuple[float, ...]) -> Iterator[View]:
    """Yield a picture of what gets through of each pattern; of one distribution where the user names none."""
    for pattern in patterns:
        for where in WHERE:
            names = tuple(_name(pattern, where, rate) for rate in offered)
            yield View(f"{pattern} traffic, accepted {where}", "rate", names, "A")


def traffic(options: Annotated[PatternOptions, Parameter(name="*")] = PatternOptions()) -> int:
    """Bytes per second that get through when all processes send along a pattern, by what is offered.

    Sections: sizes and times drawn from A uniform, uniform; B uniform, exponential;
    C exponential, uniform; D exponential, exponential distributions. Sizes are
    their means; what stays on a host and what leaves it are counted apart.
    """
    return execute(program(options), options)
