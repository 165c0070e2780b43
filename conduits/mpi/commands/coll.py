"""`conduit mpi-coll`: how long MPI's collectives take, by size and algorithm, results verified.

Sizes are those of one rank's data, or of one block where there is a block for each rank.  The time of a call is its
completion time: that of the rank that took longest, each from its own end of a barrier on; a row has the mean of its
calls.  Calls one behind the other would overlap, as where the root of a broadcast runs ahead.  Roots are rank 0, but in
the round of broadcasts, where each rank is the root in its turn; a round is timed as a whole.  Source: the papers on
Sun MPI and MPI-StarT.

The profile counts messages by size class, powers of two, for all ranks together: at the collective level the data that
each rank hands over or gets, one for each call, at the channel level what the algorithm sends between two ranks.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import numpy as np
from cyclopts import Parameter

from conduit import BadRequest, ConduitError
from conduit.benchmarks import Program, Record, View, execute, sizes
from conduits.mpi.awaited.buffers import IN_PLACE
from conduits.mpi.awaited.operators import MAX, SUM
from conduits.mpi.awaited.process import current
from conduits.mpi.collectives.algorithms import LIBRARY, named
from conduits.mpi.collectives.channel import Tally
from conduits.mpi.commands.options import UNUSED, MpiOptions, check, library_marks, on_mpi, styles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conduit import Endpoint
    from conduit.benchmarks import Parameters, Progress, RecordList
    from conduits.mpi.awaited.comm import Comm

NAME = "mpi-coll"
SIZES = (8, 32768)
CALLS = {
    "A": "Barrier", "B": "Bcast", "C": "Scatter", "D": "Gather", "E": "Allgather", "F": "Alltoall", "G": "Reduce",
    "H": "Allreduce", "I": "Reduce_scatter_block", "J": "Scan", "K": "Bcast",
}  # fmt: skip
TURNS = "K"
LEVELS = ("collective", "channel")
CLASSES = 64
_Array = np.ndarray[Any, Any]


@attrs.frozen(kw_only=True)
class CollOptions(MpiOptions):
    """What users may ask of mpi-coll."""

    algorithms: Annotated[str | None, Parameter(show_default=False)] = None
    """Algorithms to compare, separated by commas, or all; by default the usual one of each call."""

    profile: bool = False
    """Count the messages of each row by size, at collective and at channel level."""

    pairing: Annotated[Literal["next", "cross"], UNUSED] = "next"


async def measure(
    ep: Endpoint, comm: Comm, parameters: Parameters, progress: Progress, algorithms: tuple[str, ...], profile: bool
) -> RecordList | None:
    """Measure on one rank; the records are the same on all."""
    blocks = list(_blocks(parameters, algorithms, current(NAME).collectives))
    if ep.rank == 0:
        progress.begin(len(blocks))
    records = progress.keep(ep.rank)
    # Else ranks that first meet in the barrier before the clock leave it late, into what it measures.
    for _ in range(parameters.warmup):
        await comm.Barrier()
    for section, algorithm, nbytes in blocks:
        call = CALLS[section]
        if ep.rank == 0:
            progress.advance(f"{section} {call} {algorithm} {nbytes or ''}")
        data = _Data(call, comm, nbytes or 0, in_turn=section == TURNS)
        for _ in range(parameters.warmup):
            await data.make(algorithm)
        tally = Tally() if profile else None
        seconds = await _timed(ep, data, parameters.iterations, algorithm, tally)
        data.verify()
        records.append(
            Record(
                section=section, operation=_operation(section, algorithm), nbytes=nbytes,
                iterations=parameters.iterations, seconds=seconds,
                payloads=comm.size if section == TURNS else 1,
                messages=() if tally is None else await _profile(comm, tally),
            )
        )  # fmt: skip
    return records


async def _timed(ep: Endpoint, data: _Data, count: int, algorithm: str, tally: Tally | None) -> float:
    """Return the sum of the completion times of `count` calls; what they send is counted, but not their barriers."""
    process, took = current(NAME), np.zeros(count)
    for each in range(count):
        await data.comm.Barrier()
        process.tally = tally
        began = ep.now
        await data.make(algorithm)
        took[each] = ep.now - began
        process.tally = None
    longest = np.zeros(count)
    await data.comm.Allreduce(took, longest, MAX)
    return float(longest.sum())


def _operation(section: str, algorithm: str) -> str:
    """Return the name of a row's operation."""
    return f"{CALLS[section]}{' round' * (section == TURNS)} {algorithm}".strip()


def _blocks(parameters: Parameters, algorithms: tuple[str, ...], style: str) -> Iterator[tuple[str, str, int | None]]:
    """Yield section, algorithm and size of each block; algorithms that a call has not in a style are left out."""
    for section in parameters.sections:
        call = CALLS[section]
        for algorithm in algorithms:
            if algorithm and algorithm not in named(call, style):
                continue
            if call == "Barrier":
                yield section, algorithm, None
                continue
            for nbytes in sizes(parameters.min_size, parameters.max_size, parameters.max_step):
                yield section, algorithm, nbytes


async def _profile(comm: Comm, tally: Tally) -> tuple[tuple[str, int, int, int, int], ...]:
    """Return the messages of all ranks: level, smallest and largest size of the class, number, bytes."""
    found = np.zeros((len(LEVELS), CLASSES, 2), int)
    for (level, nbytes), count in tally.counts.items():
        found[LEVELS.index(level), nbytes.bit_length()] += count, count * nbytes
    await comm.Allreduce(IN_PLACE, found, SUM)
    return tuple(
        (level, (1 << bits) >> 1, max((1 << bits) - 1, 0), int(count), int(nbytes))
        for level, classes in zip(LEVELS, found, strict=True)
        for bits, (count, nbytes) in enumerate(classes)
        if count
    )


def _notes(records: RecordList) -> Iterator[str]:
    """Yield the profiles."""
    for record in records:
        for level in LEVELS:
            classes = [
                f"{least}-{most} bytes: {count}, {nbytes} in all"
                for its, least, most, count, nbytes in record.messages
                if its == level
            ]
            if classes:
                yield f"{record.operation} of {record.nbytes}, at {level} level: {'; '.join(classes)}"


class _Data:
    """What a rank gives to a call and gets of it."""

    def __init__(self, call: str, comm: Comm, nbytes: int, *, in_turn: bool = False) -> None:
        self.call, self.comm, self.nbytes, self.in_turn = call, comm, nbytes, in_turn
        rank, size = comm.rank, comm.size
        blocks = size if call in ("Scatter", "Alltoall", "Reduce_scatter_block") else 1
        self.given = [self._contents(rank, block) for block in range(blocks)]
        self.out = np.concatenate(self.given)
        parts = size if call in ("Gather", "Allgather", "Alltoall") else 1
        self.into = self.out.copy() if call == "Bcast" else np.zeros(self.given[0].size * parts, self.out.dtype)

    def _contents(self, rank: int, block: int) -> _Array:
        """Return small whole numbers, so that sums are exact."""
        dtype = np.dtype("f8" if self.nbytes % 8 == 0 else "u1")
        found: _Array = ((np.arange(self.nbytes // dtype.itemsize) * 7 + rank * 3 + block) % 11).astype(dtype)
        return found

    async def make(self, algorithm: str) -> None:
        """Make the call, or each of the round."""
        method = partial(getattr(self.comm, self.call), algorithm=algorithm)
        for root in range(self.comm.size if self.in_turn else 1):
            self._count()
            if self.call == "Barrier":
                await method()
            elif self.call == "Bcast":
                await method(self.into, root)
            else:
                await method(self.out, self.into)

    def _count(self) -> None:
        tally = current(NAME).tally
        if tally is not None:
            tally.add("collective", self.nbytes)

    def verify(self) -> None:
        """Raise ConduitError where this rank got what it should not."""
        expected = self._expected()
        if expected is not None and not np.array_equal(self.into, expected):
            raise ConduitError(f"{NAME}: rank {self.comm.rank} got a wrong result of {self.call}, {self.nbytes} bytes")

    def _expected(self) -> _Array | None:
        rank, everyone = self.comm.rank, range(self.comm.size)
        if self.call == "Barrier" or (rank and self.call in ("Gather", "Reduce")):
            return None
        if self.call == "Bcast":
            return self._contents(0, 0)
        if self.call == "Scatter":
            return self._contents(0, rank)
        block = rank if self.call in ("Alltoall", "Reduce_scatter_block") else 0
        upto = rank + 1 if self.call == "Scan" else len(everyone)
        all_ = [self._contents(each, block) for each in range(upto)]
        if self.call in ("Gather", "Allgather", "Alltoall"):
            return np.concatenate(all_)
        total: _Array = np.add.reduce(np.stack(all_), dtype=self.into.dtype)
        return total


def _algorithms(text: str | None, sections: str | None, conduits: tuple[str, ...]) -> tuple[str, ...]:
    """Return the algorithms that the user named, "" for the usual ones.

    Args:
        text: of the option.
        sections: as the user gave them.
        conduits: the specs, of which one at least is to have them.

    Raises:
        BadRequest: no call that is asked for has one of them.
    """
    if text is None:
        return ("",)
    calls = [call for letter, call in CALLS.items() if letter in (sections or "".join(CALLS)).upper()]
    known = sorted({name for style in styles(conduits) for call in calls for name in named(call, style)})
    asked = known if text == "all" else [name.strip() for name in text.split(",")]
    unknown = [name for name in asked if name not in known]
    if unknown and known:
        some = f"give all, or some of {','.join(known)}"
        if unknown[0] == LIBRARY:
            raise BadRequest(
                f"--algorithms {LIBRARY!r}: MPI's own collectives, which no simulated library has; add --conduit "
                f"mpi:library=mpi4py, or {some}"
            )
        raise BadRequest(f"--algorithms {unknown[0]!r} is not known; {some}")
    return tuple(asked)


def program(options: CollOptions) -> Program:
    """Return the benchmark for some options.

    Raises:
        BadRequest: a conduit is not MPI's, an algorithm is unknown, or an option has no use.
    """
    check(NAME, options, pairing=False)
    algorithms = _algorithms(options.algorithms, options.sections, options.conduit)
    return Program(
        name=NAME,
        main=partial(on_mpi(measure), algorithms=algorithms, profile=options.profile),
        sections="".join(CALLS),
        sizes=SIZES,
        segment=lambda parameters, limits: 0,
        settings={"algorithms": options.algorithms, "profile": options.profile or None},
        notes=_notes,
        views=tuple(_views(algorithms, options.conduit)),
        marks=library_marks,
    )


def _views(algorithms: tuple[str, ...], conduits: tuple[str, ...]) -> Iterator[View]:
    """Yield a picture for each call."""
    for letter, call in CALLS.items():
        known = {"", *(name for style in styles(conduits) for name in named(call, style))}
        names = [_operation(letter, name) for name in algorithms if name in known]
        yield View(_operation(letter, ""), "time", tuple(names), letter)


def coll(options: Annotated[CollOptions, Parameter(name="*")] = CollOptions()) -> int:
    """Time of MPI's collectives by size and algorithm, results verified.

    Sections: A Barrier; B Bcast; C Scatter; D Gather; E Allgather; F Alltoall;
    G Reduce; H Allreduce; I Reduce_scatter_block; J Scan;
    K Bcast by each rank in turn.
    """
    return execute(program(options), options)
