"""`conduit mpi-bandwidth`: the bytes per second of MPI messages, of all pairs of ranks together.

Section A is one way: a rank sends messages back to back and waits for one answer to the last.  Section B is both ways
by turns: the bytes of ping and pong by the time of both.  The rates are the sum over the pairs, from their mean time.
Source: the papers on Sun MPI over Sun Fire Link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from cyclopts import Parameter

from conduit import ConduitError
from conduit.benchmarks import Program, Record, View, execute, pair, sizes
from conduits.mpi.commands.options import MpiOptions, check, library_marks, on_mpi

if TYPE_CHECKING:
    from conduit import Endpoint
    from conduit.benchmarks import Parameters, Progress, RecordList
    from conduits.mpi.awaited.comm import Comm

NAME = "mpi-bandwidth"
SIZES = (1, 1 << 20)
WORDS = {"A": "one way", "B": "ping and pong"}


async def measure(ep: Endpoint, comm: Comm, parameters: Parameters, progress: Progress) -> RecordList | None:
    """Measure on one rank; passive ranks return None."""
    side = pair(ep.rank, ep.size, parameters.pairing)
    chosen = list(sizes(parameters.min_size, parameters.max_size, parameters.max_step))
    if ep.rank == 0:
        progress.begin(len(chosen) * len(parameters.sections))
    records = progress.keep(ep.rank)
    run = {"A": _one_way, "B": _both_ways}
    for section in parameters.sections:
        for nbytes in chosen:
            if ep.rank == 0:
                progress.advance(f"{section} {nbytes}")
            began = ep.now
            for count in (parameters.warmup, parameters.iterations):
                await comm.Barrier()
                began = ep.now
                if count and side.peer != ep.rank:
                    await run[section](comm, side.peer, side.sends, nbytes, count)
            records.append(
                Record(
                    section=section, operation=WORDS[section], nbytes=nbytes, iterations=parameters.iterations,
                    seconds=ep.now - began, payloads=(ep.size // 2) * (2 if section == "B" else 1),
                )
            )  # fmt: skip
    return records if side.measures and side.peer != ep.rank else None


async def _one_way(comm: Comm, peer: int, sends: bool, nbytes: int, count: int) -> None:
    data, answer = np.full(nbytes, 7, np.uint8), np.zeros(1, np.uint8)
    if sends:
        for _ in range(count):
            await comm.Send(data, peer)
        await comm.Recv(answer, peer)
        return
    into = np.zeros(nbytes, np.uint8)
    for _ in range(count):
        await comm.Recv(into, peer)
    _verify(into, data, comm.rank)
    await comm.Send(answer, peer)


async def _both_ways(comm: Comm, peer: int, sends: bool, nbytes: int, count: int) -> None:
    data, into = np.full(nbytes, 7, np.uint8), np.zeros(nbytes, np.uint8)
    for _ in range(count):
        if sends:
            await comm.Send(data, peer)
        await comm.Recv(into, peer)
        if not sends:
            await comm.Send(data, peer)
    _verify(into, data, comm.rank)


def _verify(into: np.ndarray[tuple[int], np.dtype[np.uint8]], data: object, rank: int) -> None:
    if not np.array_equal(into, np.asarray(data)):
        raise ConduitError(f"{NAME}: rank {rank} got wrong bytes, of {into.size}")


def program(options: MpiOptions) -> Program:
    """Return the benchmark for some options.

    Raises:
        BadRequest: a conduit is not MPI's, or an option has no use.
    """
    check(NAME, options)
    return Program(
        name=NAME,
        main=on_mpi(measure),
        sections="AB",
        sizes=SIZES,
        segment=lambda parameters, limits: 0,
        fewest_ranks=2,
        views=(View("Bandwidth", "rate", tuple(WORDS.values()), "AB"),),
        marks=library_marks,
    )


def bandwidth(options: Annotated[MpiOptions, Parameter(name="*")] = MpiOptions()) -> int:  # noqa: B008
    """Bytes per second of MPI messages, of all pairs of ranks together.

    Sections: A one way, back to back; B ping and pong.
    """
    return execute(program(options), options)
