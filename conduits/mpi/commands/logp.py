"""`conduit mpi-logp`: the parameters of LogP, and of parameterized LogP by size, of MPI messages between two ranks.

With RTT(m) the time of m bytes out and none back:

    g(0)   n messages of 0 bytes back to back and an answer to the last, by n; n doubles until that changes by < 1 %
    L      RTT(0) / 2 - g(0)
    g(m)   RTT(m) - RTT(0) + g(0)
    o_s(m) how long the send takes in the test of RTT(m)
    o_r(m) how long the receive takes of a message of m bytes that has arrived, 1.2 RTT(m) after its request; until
           then nothing is called, so that all that the library does to take the message is in the receive

and of the classical model L' = L + g(1) - o_s(1) - o_r(1), o = (o_s(1) + o_r(1)) / 2, g' = g(1) and, of the largest m,
G = g(m) / m.  In virtual time a figure is the mean of its times.  In real time, where other programs have the processor
now and then, it is their lower quartile, of floods the shortest; a difference below 0 is unknown.  Source: the method
of Kielmann and others, as the papers on Sun Fire Link use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import attrs
import numpy as np
from cyclopts import Parameter

from conduit.benchmarks import Program, Record, View, execute, idle, sizes
from conduits.mpi.commands.options import MpiOptions, check, library_marks, on_mpi

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conduit import Endpoint
    from conduit.benchmarks import Parameters, Progress, RecordList
    from conduits.mpi.awaited.comm import Comm

NAME = "mpi-logp"
SIZES = (0, 1 << 16)
LEAST = 64
"""Bytes of the largest message at least, for G to be seen."""
ALIKE = 0.01
MOST = 1 << 12  # messages of one flood, where their time never settles
FLOODS = 5
"""Floods of one length in real time."""
IDLE = 1.2  # round trips from a request to the receive of its reply
BY_SIZE = ("RTT(m)", "o_s(m)", "o_r(m)", "g(m)")
NOISE = "the times whose difference it is lie no further apart than other programs move them"
"""Why a parameter cannot be told."""
VIEWS = (
    View("Messages by size", "time", BY_SIZE, "A"),
    View("Parameters", "time", ("L of parameterized LogP", "L", "o", "g"), "B"),  # G is one of bytes
)


@attrs.frozen
class LogpMeasurement:
    """What was timed of messages of one size, seconds: round trip, send, receive."""

    trip: float
    send: float
    receive: float


class LogpProbe:
    """The active side of the measurements.

    Args:
        ep: its endpoint.
        comm: the world.
        peer: the passive side.
        count: how often each operation is timed.
        warmup: how often it is done before.
    """

    def __init__(self, ep: Endpoint, comm: Comm, peer: int, count: int, warmup: int) -> None:
        self.ep, self.comm, self.peer, self.count, self.warmup = ep, comm, peer, count, warmup

    async def flood(self) -> float:
        """Return g(0)."""
        count, before = 8, 0.0
        while True:
            each = min([await self._flood(count) for _ in range(1 if self.ep.simulated else FLOODS)])
            if abs(each - before) < ALIKE * each or count >= MOST:
                return each
            before, count = each, 2 * count

    async def timing(self, nbytes: int) -> LogpMeasurement:
        """Return the times of one size."""
        data, nothing = np.full(nbytes, 7, np.uint8), np.zeros(0, np.uint8)
        sends, trips, receives = [], [], []
        for number in range(self.warmup + self.count):
            began = self.ep.now
            await self.comm.Send(data, self.peer)
            sent = self.ep.now
            await self.comm.Recv(nothing, self.peer)
            if number >= self.warmup:
                sends.append(sent - began)
                trips.append(self.ep.now - began)
        trip = self._typical(trips)
        for number in range(self.warmup + self.count):
            await self.comm.Send(nothing, self.peer)
            await idle(self.ep, IDLE * trip)
            began = self.ep.now
            await self.comm.Recv(data, self.peer)
            if number >= self.warmup:
                receives.append(self.ep.now - began)
        return LogpMeasurement(trip, self._typical(sends), self._typical(receives))

    def _typical(self, times: Sequence[float]) -> float:
        """Return the figure that stands for how long an operation took each time."""
        return sum(times) / len(times) if self.ep.simulated else sorted(times)[len(times) // 4]

    async def _flood(self, count: int) -> float:
        nothing = np.zeros(0, np.uint8)
        await self.comm.Send(np.array([count]), self.peer)
        began = self.ep.now
        for _ in range(count):
            await self.comm.Send(nothing, self.peer)
        await self.comm.Recv(nothing, self.peer)
        return (self.ep.now - began) / count


async def _serve(comm: Comm, peer: int, chosen: list[int], rounds: int) -> None:
    """Be the passive side of all measurements."""
    nothing, count = np.zeros(0, np.uint8), np.zeros(1, int)
    while True:
        await comm.Recv(count, peer)
        if not count[0]:
            break
        for _ in range(count[0]):
            await comm.Recv(nothing, peer)
        await comm.Send(nothing, peer)
    for nbytes in chosen:
        data = np.zeros(nbytes, np.uint8)
        for _ in range(rounds):
            await comm.Recv(data, peer)
            await comm.Send(nothing, peer)
        for _ in range(rounds):
            await comm.Recv(nothing, peer)
            await comm.Send(data, peer)


async def measure(ep: Endpoint, comm: Comm, parameters: Parameters, progress: Progress) -> RecordList | None:
    """Measure between rank 0 and the first rank of another host, or rank 1; the records are rank 0's."""
    active, peer = 0, next((rank for rank in range(ep.size) if ep.hosts[rank] != ep.hosts[0]), 1)
    shown = list(sizes(parameters.min_size, parameters.max_size, parameters.max_step))
    chosen = sorted({0, 1, parameters.max_size, *shown})
    if ep.rank == peer:
        await _serve(comm, active, chosen, parameters.warmup + parameters.iterations)
    if ep.rank != active:
        return None
    progress.begin(len(chosen) + 1)
    probe = LogpProbe(ep, comm, peer, parameters.iterations, parameters.warmup)
    progress.advance("g(0)")
    gap = await probe.flood()
    await comm.Send(np.array([0]), peer)
    timings = {}
    for nbytes in chosen:
        progress.advance(f"{nbytes}")
        timings[nbytes] = await probe.timing(nbytes)
    return list(_records(parameters, shown, timings, gap, exact=ep.simulated))


def _records(
    parameters: Parameters, shown: list[int], timings: dict[int, LogpMeasurement], gap: float, *, exact: bool
) -> Iterator[Record]:
    def record(section: str, name: str, nbytes: int | None, seconds: float) -> Record:
        unknown = NOISE if seconds <= 0 and not exact else ""
        return Record(
            section=section, operation=name, nbytes=nbytes, iterations=parameters.iterations,
            seconds=0.0 if unknown else seconds * parameters.iterations, payloads=0,
            digits=6 if name == "G" else 3, unknown=unknown,
        )  # fmt: skip

    gaps = {nbytes: timing.trip - timings[0].trip + gap for nbytes, timing in timings.items()}
    if "A" in parameters.sections:
        for name in BY_SIZE:
            for nbytes in shown:
                timing = timings[nbytes]
                found = dict(zip(BY_SIZE, (timing.trip, timing.send, timing.receive, gaps[nbytes]), strict=True))
                yield record("A", name, nbytes, found[name])
    if "B" in parameters.sections:
        one, latency = timings[1], timings[0].trip / 2 - gap
        largest = parameters.max_size
        yield record("B", "L of parameterized LogP", None, latency)
        yield record("B", "L", None, latency + gaps[1] - one.send - one.receive)
        yield record("B", "o", None, (one.send + one.receive) / 2)
        yield record("B", "g", None, gaps[1])
        yield record("B", "G", None, gaps[largest] / largest)


def _notes(records: RecordList) -> Iterator[str]:
    """Say why figures are unknown, those of one reason together."""
    names = dict.fromkeys(record.operation for record in records if record.unknown)
    if names:
        yield f"unknown: {', '.join(names)}, for {NOISE}"


def program(options: MpiOptions) -> Program:
    """Return the benchmark for some options.

    Raises:
        BadRequest: a conduit is not MPI's, or an option has no use.
    """
    check(NAME, options, pairing=False)
    return Program(
        name=NAME, main=on_mpi(measure), sections="AB", sizes=SIZES, segment=lambda parameters, limits: 0,
        fewest_ranks=2, least_size=LEAST, totals=False, views=VIEWS, marks=library_marks,
        notes=_notes,
    )  # fmt: skip


def logp(options: Annotated[MpiOptions, Parameter(name="*")] = MpiOptions()) -> int:  # noqa: B008
    """The parameters of LogP of MPI messages, between two ranks; G in microseconds per byte.

    Sections: A by size round trip, o_s, o_r and g; B the parameters. Rank 0 plays
    with the first rank of another host.
    """
    return execute(program(options), options)
