"""`conduit mpi-pingpong`: the time of a message, half of a round trip, in MPI's four send modes.

Sections A to D are standard, synchronous, buffered and ready sends, E is standard ones each from a buffer of its own.
Sends and receives are blocking calls.  In ready mode alone each receive is posted ahead, before the send that calls for
its message: MPI demands that a ready send finds its receive.  The call that posts it is in the times of that mode.
All pairs of ranks play at once: with more than two ranks it is latency under load, and the mean of the pairs.  In real
time the lower quartile of parts of the round trips counts, as in testam.  Source: the papers on Sun MPI over Sun Fire
Link.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from conduit import ConduitError
from conduit.benchmarks import Program, Record, View, execute, lower_quartile, pair, rounds_of_a_turn, sizes
from conduits.mpi import MPI
from conduits.mpi.commands.options import MpiOptions, check, library_marks, on_mpi

if TYPE_CHECKING:
    from conduit import Endpoint
    from conduit.benchmarks import Parameters, Progress, RecordList
    from conduits.mpi.awaited.comm import Comm

NAME = "mpi-pingpong"
SIZES = (0, 1 << 20)
MODES = {"A": "Send", "B": "Ssend", "C": "Bsend", "D": "Rsend", "E": "Send"}
WORDS = {"A": "standard", "B": "synchronous", "C": "buffered", "D": "ready", "E": "standard, own buffers"}


async def measure(ep: Endpoint, comm: Comm, parameters: Parameters, progress: Progress) -> RecordList | None:
    """Measure on one rank; passive ranks return None."""
    side = pair(ep.rank, ep.size, parameters.pairing)
    chosen = list(sizes(parameters.min_size, parameters.max_size, parameters.max_step))
    if ep.rank == 0:
        progress.begin(len(chosen) * len(parameters.sections))
    records = progress.keep(ep.rank)
    for section in parameters.sections:
        for nbytes in chosen:
            if ep.rank == 0:
                progress.advance(f"{section} {nbytes}")
            if side.peer == ep.rank:  # one that is left over only takes part in barriers
                await comm.Barrier()
                await comm.Barrier()
                continue
            seconds = await _play(ep, comm, side.peer, side.sends, section, nbytes, parameters)
            records.append(
                Record(
                    section=section, operation=WORDS[section], nbytes=nbytes, iterations=parameters.iterations,
                    seconds=seconds / 2,
                )
            )  # fmt: skip
    return records if side.measures and side.peer != ep.rank else None


async def _play(
    ep: Endpoint, comm: Comm, peer: int, first: bool, section: str, nbytes: int, parameters: Parameters
) -> float:  # fmt: skip
    """Play with `peer`; return the seconds of all timed round trips."""
    rounds, turn = parameters.warmup + parameters.iterations, rounds_of_a_turn(parameters.iterations)
    ends: list[float] = []
    buffers = [_contents(number, nbytes) for number in (range(rounds) if section == "E" else [0])]
    into, began = np.zeros(nbytes, np.uint8), 0.0
    if section == "C":
        MPI.Attach_buffer(bytearray(4 * (nbytes + MPI.BSEND_OVERHEAD)))
    send = getattr(comm, MODES[section])
    ready = section == "D"  # such a send may begin only where its receive is there
    coming: Any = await comm.Irecv(into, peer) if ready else None
    await comm.Barrier()
    for number in range(rounds):
        if number == parameters.warmup:
            began = ep.now
        out = buffers[number % len(buffers)]
        if first:
            await send(out, peer)
        await (coming.Wait() if ready else comm.Recv(into, peer))
        if nbytes and into[-1] != out[-1]:
            raise ConduitError(f"{NAME}: rank {ep.rank} got wrong bytes from rank {peer}, of {nbytes}")
        if ready and number + 1 < rounds:
            coming = await comm.Irecv(into, peer)
        if not first:
            await send(out, peer)
        if not ep.simulated and (number + 1 - parameters.warmup) % turn == 0 and number >= parameters.warmup:
            ends.append(ep.now)
    seconds = ep.now - began
    if ends:
        seconds = lower_quartile([end - start for start, end in pairwise([began, *ends])], parameters.iterations)
    if section == "C":
        await MPI.Detach_buffer()
    await comm.Barrier()
    return seconds


def _contents(number: int, nbytes: int) -> np.ndarray[Any, Any]:
    return ((np.arange(nbytes) + 7 * number + 1) % 251).astype(np.uint8)


def program(options: MpiOptions) -> Program:
    """Return the benchmark for some options.

    Raises:
        BadRequest: a conduit is not MPI's, or an option has no use.
    """
    check(NAME, options)
    return Program(
        name=NAME,
        main=on_mpi(measure),
        sections="ABCDE",
        sizes=SIZES,
        segment=lambda parameters, limits: 0,
        fewest_ranks=2,
        views=(View("Half of a round trip", "time", tuple(WORDS.values()), "ABCDE"),),
        marks=library_marks,
    )


def pingpong(options: Annotated[MpiOptions, Parameter(name="*")] = MpiOptions()) -> int:  # noqa: B008
    """Time of an MPI message, half of a round trip, in the four send modes.

    Sections: A standard; B synchronous; C buffered; D ready, its receives posted
    ahead; E standard, each from a buffer of its own. All pairs of ranks play at
    once. In real time it is the lower quartile, as in testam.
    """
    return execute(program(options), options)
