"""`conduit testcoll`: how long collectives take, by size and algorithm, results verified.

Sections A to H are broadcast, scatter, gather, all_gather, all_to_all, reduce, all_reduce and scan.  Sizes are those of
one rank's array, or of one block where there is a block for each rank.  Each call is timed one after the other and, as
`nb`, all begun and then all waited for.

The time of a block is that of the rank that took longest; all begin at one time (`together`).  Roots are rank 0.
Source: GASNet's benchmark of its collectives.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import numpy as np
from cyclopts import Parameter

from conduit import BadRequest, ConduitError
from conduit.benchmarks import BenchmarkOptions, Program, Record, View, execute, sizes
from conduit.commandline.names import Choices
from extended import Extended
from extended.collectives.algorithms import TABLE
from extended.commands.together import AHEAD, begin_together
from extended.commands.unused import UNUSED, refuse_unused

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from conduit import Endpoint
    from conduit.benchmarks import Parameters, Progress, RecordList

    Array = npt.NDArray[Any]

SIZES = (8, 32768)
CALLS = ("broadcast", "scatter", "gather", "all_gather", "all_to_all", "reduce", "all_reduce", "scan")
LETTERS = "ABCDEFGH"
_KNOWN = tuple(sorted({name for call in CALLS for name in TABLE[call]}))


@attrs.frozen(kw_only=True)
class CollectiveOptions(BenchmarkOptions):
    """What users may ask of testcoll; what means nothing to it is not in its help."""

    algorithms: Annotated[str | None, Parameter(show_default=False), Choices((*_KNOWN, "all"))] = None
    """Algorithms to compare, separated by commas, or all; by default the one that each call would choose."""

    local: Annotated[Literal["in", "out"], UNUSED] = "out"
    pairing: Annotated[Literal["next", "cross"], UNUSED] = "next"


@attrs.frozen(kw_only=True)
class CollectiveBlock:
    """One timed block: a call of a size by an algorithm."""

    section: str
    call: str
    algorithm: str | None
    nbytes: int

    @property
    def name(self) -> str:
        """The operation in tables."""
        return self.call if self.algorithm is None else f"{self.call} {self.algorithm}"


async def main(
    ep: Endpoint, parameters: Parameters, progress: Progress, algorithms: tuple[str, ...] | None
) -> RecordList | None:
    """Measure on one rank; the records are the same on all.

    Args:
        ep: this rank's endpoint.
        parameters: of the run.
        progress: told of every block by rank 0.
        algorithms: those to compare, None for the default.
    """
    x = await Extended.attach(ep)
    await x.barrier()  # the first one connects, and ranks leave it far apart
    blocks = list(_blocks(parameters, algorithms))
    if ep.rank == 0:
        progress.begin(len(blocks))
    records = progress.keep(ep.rank)
    for block in blocks:
        if ep.rank == 0:
            progress.advance(f"{block.section} {block.name} {block.nbytes}")
        if not _suits(x, block):
            continue
        for nb in (False, True):
            await _run(x, block, parameters.warmup, nb=nb)
            seconds, result = await _timed(x, block, parameters.iterations, nb=nb)
            _verify(x, block, result)
            records.append(_record(block, parameters.iterations, seconds, nb=nb))
    return records


async def _timed(x: Extended, block: CollectiveBlock, count: int, *, nb: bool) -> tuple[float, Any]:
    """Make a call that many times; return what the rank took that took longest, and this one's last result."""
    seconds, result = 0.0, None
    for ahead in AHEAD:
        began = await begin_together(x, ahead)
        result = await _run(x, block, count, nb=nb)
        seconds, late = (float(each) for each in await x.all_reduce(np.array([x.ep.now - began.at, began.late]), "max"))
        if not late:
            break
    return seconds, result


def _blocks(parameters: Parameters, algorithms: tuple[str, ...] | None) -> Iterator[CollectiveBlock]:
    for section, call in zip(LETTERS, CALLS, strict=True):
        if section in parameters.sections:
            for algorithm in (None,) if algorithms is None else [name for name in algorithms if name in TABLE[call]]:
                for nbytes in sizes(parameters.min_size, parameters.max_size, parameters.max_step):
                    yield CollectiveBlock(section=section, call=call, algorithm=algorithm, nbytes=nbytes)


def _suits(x: Extended, block: CollectiveBlock) -> bool:
    """Say whether an algorithm can do a call; all operations here may be applied in pieces."""
    if block.algorithm is None:
        return True
    return not TABLE[block.call][block.algorithm].refusal(x.topology, block.nbytes, None, x.eager_bytes)


async def _run(x: Extended, block: CollectiveBlock, count: int, *, nb: bool) -> Any:
    """Make a call that many times; return the last result."""
    given = _argument(x, block)
    call = partial(getattr(x, block.call + "_nb" if nb else block.call), given, algorithm=block.algorithm)
    if nb:
        results: list[Any] = await x.wait_all([await call() for _ in range(count)])
        return results[-1] if results else None
    result = None
    for _ in range(count):
        result = await call()
    return result


def _argument(x: Extended, block: CollectiveBlock) -> Array | None:
    """Return what this rank gives; only the root's counts in broadcast and scatter."""
    if block.call in ("broadcast", "scatter") and x.rank:
        return None
    if block.call in ("scatter", "all_to_all"):
        return np.stack([_contents(block, x.rank + rank) for rank in range(x.size)])
    return _contents(block, x.rank)


def _contents(block: CollectiveBlock, key: int) -> Array:
    """Return an array of small whole numbers, so that sums are exact."""
    dtype = np.dtype("f8" if block.nbytes % 8 == 0 else "u1")
    return ((np.arange(block.nbytes // dtype.itemsize) * 7 + key) % 61).astype(dtype)


def _expected(x: Extended, block: CollectiveBlock) -> Array | None:
    """Return what this rank should get, by the meaning of the call alone."""
    everybody = [_contents(block, rank) for rank in range(x.size)]
    if block.call in ("gather", "reduce") and x.rank:
        return None
    if block.call == "broadcast":
        return everybody[0]
    if block.call == "scatter":
        return everybody[x.rank]
    if block.call in ("gather", "all_gather"):
        return np.stack(everybody)
    if block.call == "all_to_all":
        return np.stack([_contents(block, x.rank + rank) for rank in range(x.size)])
    upto = x.rank + 1 if block.call == "scan" else x.size
    total: Array = np.add.reduce(np.stack(everybody[:upto]), dtype=everybody[0].dtype)
    return total


def _verify(x: Extended, block: CollectiveBlock, result: Array | None) -> None:
    expected = _expected(x, block)
    if not np.array_equal(np.asarray(result), np.asarray(expected)):
        raise ConduitError(
            f"{block.name} of {block.nbytes} bytes: rank {x.rank} got a wrong result, of shape "
            f"{np.shape(np.asarray(result))}"
        )


def _record(block: CollectiveBlock, iterations: int, seconds: float, *, nb: bool) -> Record:
    return Record(
        section=block.section,
        operation=f"{block.name} nb" if nb else block.name,
        nbytes=block.nbytes,
        iterations=iterations,
        seconds=seconds,
    )


def _algorithms(text: str | None) -> tuple[str, ...] | None:
    """Return the algorithms that the user named.

    Raises:
        BadRequest: one of them is unknown.
    """
    if text is None:
        return None
    if text == "all":
        return _KNOWN
    asked = tuple(name.strip() for name in text.split(","))
    unknown = [name for name in asked if name not in _KNOWN]
    if unknown:
        raise BadRequest(f"--algorithms {unknown[0]!r} is not known; give all, or some of {','.join(_KNOWN)}")
    return asked


def _check_sections(sections: str | None, algorithms: tuple[str, ...] | None) -> None:
    """Refuse sections whose calls have none of the algorithms; letters that are none are refused later.

    Raises:
        BadRequest: nothing would be measured.
    """
    asked = [call for letter, call in zip(LETTERS, CALLS, strict=True) if letter in (sections or LETTERS).upper()]
    if algorithms is None or not asked or any(name in TABLE[call] for call in asked for name in algorithms):
        return
    known = "; ".join(f"{call} has {','.join(TABLE[call])}" for call in asked)
    raise BadRequest(f"--algorithms {','.join(algorithms)} leaves nothing to measure in sections {sections}: {known}")


def program(options: CollectiveOptions) -> Program:
    """Return the benchmark for some options.

    Raises:
        BadRequest: an algorithm is unknown, or an option has no use.
    """
    refuse_unused("testcoll", options, "local", "pairing")
    algorithms = _algorithms(options.algorithms)
    _check_sections(options.sections, algorithms)
    return Program(
        name="testcoll",
        main=partial(main, algorithms=algorithms),
        sections=LETTERS,
        sizes=SIZES,
        segment=lambda parameters, limits: 0,
        settings={"algorithms": None if algorithms is None else ",".join(algorithms)},
        views=tuple(_views(algorithms)),
    )


def _views(algorithms: tuple[str, ...] | None) -> Iterator[View]:
    """Yield a picture for each call: its time, one call after the other."""
    for section, call in zip(LETTERS, CALLS, strict=True):
        names = [call] if algorithms is None else [f"{call} {name}" for name in algorithms if name in TABLE[call]]
        yield View(call, "time", tuple(names), section)


def testcoll(options: Annotated[CollectiveOptions, Parameter(name="*")] = CollectiveOptions()) -> int:
    """Time of collectives by size and algorithm, results verified.

    Sections: A broadcast; B scatter; C gather; D all_gather; E all_to_all;
    F reduce; G all_reduce; H scan.
    """
    return execute(program(options), options)
