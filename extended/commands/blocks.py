"""What testsmall and testlarge time: blocks of puts or gets of one size in one form, contents verified.

A block runs between pairs of ranks.  The active side puts from its local buffer into the passive side's segment, or
gets from there; the passive side waits in the barrier that follows, polling.  The contents depend on the block, the
rank they come from and the position of each byte, and are compared after the clock has stopped.

Segment: bytes 0 to `zone` are the far side of the pair's transfers, the `zone` after them the local side where that is
to lie in the segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs
import numpy as np

from conduit import ConduitError
from conduit.benchmarks import BenchmarkPair, Parameters, Progress, Record, RecordList, pair, sizes
from extended import Extended

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    import numpy.typing as npt

    from conduit import Endpoint

    Bytes = npt.NDArray[np.uint8]
    Run = Callable[["BlockRank", "Block"], Awaitable[None]]

PAGE = 4096
"""The far side of transfers begins at a multiple of this, as GASNet's does."""

WARM_UP_BYTES = 8


@attrs.frozen(kw_only=True)
class BlockKind:
    """One kind of timed block.

    Attributes:
        section: its letter.
        name: the operation in tables.
        direction: put or get.
        form: how operations are begun and waited for.
        rated: whether a rate is shown, else only the time.
    """

    section: str
    name: str
    direction: Literal["put", "get"]
    form: Literal["blocking", "nbi each", "nbi", "nb each", "nb"]
    rated: bool


@attrs.frozen(kw_only=True)
class Block:
    """One timed block: a kind, its size in bytes, how often, and a number that its contents depend on."""

    kind: BlockKind
    nbytes: int
    iterations: int
    salt: int
    bulk: bool


class BlockRank:
    """One rank's side of all blocks.

    Args:
        x: the extended layer.
        parameters: of the run.
    """

    def __init__(self, x: Extended, parameters: Parameters) -> None:
        self.x = x
        self.ep: Endpoint = x.ep
        self.pair: BenchmarkPair = pair(x.ep.rank, x.ep.size, parameters.pairing)
        zone = zone_size(parameters)
        self.far = x.ep.segment[:zone]
        inside = parameters.local == "in"
        self.local: Bytes = x.ep.segment[zone : 2 * zone] if inside else np.zeros(zone, np.uint8)

    async def timed(self, block: Block) -> float:
        """Run a block with its barriers and checks; return the seconds that its operations took on this rank."""
        putting = block.kind.direction == "put"
        origin, target = (self.local, self.far) if putting else (self.far, self.local)
        sender, receiver = self.ep.rank, self.pair.peer
        if self.pair.sends if putting else self.pair.receives:
            origin[: block.nbytes] = _contents(block, sender)
        if self.pair.receives if putting else self.pair.sends:
            target[: block.nbytes] = ~_contents(block, receiver)
        await self.x.barrier()
        seconds = 0.0
        if self.pair.sends:
            began = self.ep.now
            await FORMS[block.kind.direction, block.kind.form](self, block)
            seconds = self.ep.now - began
        await self.x.barrier()
        if self.pair.receives if putting else self.pair.sends:
            self._verify(block, target[: block.nbytes])
        return seconds

    def _verify(self, block: Block, found: Bytes) -> None:
        wrong = np.flatnonzero(found != _contents(block, self.pair.peer))
        if wrong.size:
            raise ConduitError(
                f"{block.kind.name} of {block.nbytes} bytes between ranks {self.ep.rank} and {self.pair.peer}: "
                f"{wrong.size} bytes are wrong, the first at position {wrong[0]}"
            )


async def _put_blocking(side: BlockRank, block: Block) -> None:
    data = side.local[: block.nbytes]
    for _ in range(block.iterations):
        await side.x.put(side.pair.peer, 0, data)


async def _get_blocking(side: BlockRank, block: Block) -> None:
    out = side.local[: block.nbytes]
    for _ in range(block.iterations):
        await side.x.get(side.pair.peer, 0, out=out)


async def _put_nbi_each(side: BlockRank, block: Block) -> None:
    data = side.local[: block.nbytes]
    for _ in range(block.iterations):
        await side.x.put_nbi(side.pair.peer, 0, data, bulk=block.bulk)
        await side.x.sync_puts()


async def _get_nbi_each(side: BlockRank, block: Block) -> None:
    out = side.local[: block.nbytes]
    for _ in range(block.iterations):
        await side.x.get_nbi(side.pair.peer, 0, out=out)
        await side.x.sync_gets()


async def _put_nbi(side: BlockRank, block: Block) -> None:
    data = side.local[: block.nbytes]
    for _ in range(block.iterations):
        await side.x.put_nbi(side.pair.peer, 0, data, bulk=block.bulk)
    await side.x.sync_puts()


async def _get_nbi(side: BlockRank, block: Block) -> None:
    out = side.local[: block.nbytes]
    for _ in range(block.iterations):
        await side.x.get_nbi(side.pair.peer, 0, out=out)
    await side.x.sync_gets()


async def _put_nb_each(side: BlockRank, block: Block) -> None:
    data = side.local[: block.nbytes]
    for _ in range(block.iterations):
        await (await side.x.put_nb(side.pair.peer, 0, data, bulk=block.bulk))


async def _get_nb_each(side: BlockRank, block: Block) -> None:
    out = side.local[: block.nbytes]
    for _ in range(block.iterations):
        await (await side.x.get_nb(side.pair.peer, 0, out=out))


async def _put_nb(side: BlockRank, block: Block) -> None:
    data = side.local[: block.nbytes]
    await side.x.wait_all(
        [await side.x.put_nb(side.pair.peer, 0, data, bulk=block.bulk) for _ in range(block.iterations)]
    )


async def _get_nb(side: BlockRank, block: Block) -> None:
    out = side.local[: block.nbytes]
    await side.x.wait_all([await side.x.get_nb(side.pair.peer, 0, out=out) for _ in range(block.iterations)])


FORMS: dict[tuple[str, str], Run] = {
    ("put", "blocking"): _put_blocking,
    ("get", "blocking"): _get_blocking,
    ("put", "nbi each"): _put_nbi_each,
    ("get", "nbi each"): _get_nbi_each,
    ("put", "nbi"): _put_nbi,
    ("get", "nbi"): _get_nbi,
    ("put", "nb each"): _put_nb_each,
    ("get", "nb each"): _get_nb_each,
    ("put", "nb"): _put_nb,
    ("get", "nb"): _get_nb,
}


def zone_size(parameters: Parameters) -> int:
    """Return the bytes that one side of the transfers takes: the largest size, in whole pages."""
    largest = max(parameters.max_size, WARM_UP_BYTES)
    return -(-largest // PAGE) * PAGE


def segment_needed(parameters: Parameters) -> int:
    """Return the bytes of segment that a run needs on every rank."""
    return zone_size(parameters) * (2 if parameters.local == "in" else 1)


async def measure(
    ep: Endpoint, parameters: Parameters, progress: Progress, kinds: tuple[BlockKind, ...], *, bulk: bool
) -> RecordList | None:
    """Run the chosen sections and return their records, None on a passive rank.

    Args:
        ep: this rank's endpoint.
        parameters: of the run.
        progress: told of every block by rank 0.
        kinds: what can be timed, in order; puts and gets of a section take turns at each size.
        bulk: whether non-blocking puts leave their source in use until they are synced.
    """
    x = await Extended.attach(ep)
    side = BlockRank(x, parameters)
    chosen = [kind for kind in kinds if kind.section in parameters.sections]
    if parameters.warmup:
        await _warm_up(side, parameters, kinds, bulk=bulk)
    blocks = list(_blocks(chosen, parameters, bulk=bulk))
    if ep.rank == 0:
        progress.begin(len(blocks))
    records = progress.keep(ep.rank) if side.pair.measures else []
    for block in blocks:
        if ep.rank == 0:
            progress.advance(f"{block.kind.section} {block.kind.name} {block.nbytes}")
        records.append(_record(block, await side.timed(block)))
    return records if side.pair.measures else None


def _blocks(kinds: list[BlockKind], parameters: Parameters, *, bulk: bool) -> Iterator[Block]:
    salt = 0
    for section in dict.fromkeys(kind.section for kind in kinds):
        for nbytes in sizes(parameters.min_size, parameters.max_size, parameters.max_step):
            for kind in kinds:
                if kind.section == section:
                    salt += 1
                    yield Block(kind=kind, nbytes=nbytes, iterations=parameters.iterations, salt=salt, bulk=bulk)


async def _warm_up(side: BlockRank, parameters: Parameters, kinds: tuple[BlockKind, ...], *, bulk: bool) -> None:
    """Do every form once or more on few bytes, then one put and one get of the largest size."""
    for kind in kinds:
        await side.timed(Block(kind=kind, nbytes=WARM_UP_BYTES, iterations=parameters.warmup, salt=0, bulk=bulk))
    for kind in kinds[:2]:
        await side.timed(Block(kind=kind, nbytes=parameters.max_size, iterations=1, salt=0, bulk=bulk))


def _record(block: Block, seconds: float) -> Record:
    return Record(
        section=block.kind.section,
        operation=block.kind.name,
        nbytes=block.nbytes,
        iterations=block.iterations,
        seconds=seconds,
        payloads=1 if block.kind.rated else 0,
    )


def _contents(block: Block, rank: int) -> Bytes:
    position = np.arange(block.nbytes, dtype=np.uint32)
    # Position and page count, so that data shifted by any distance is seen.
    return (position * 7 + (position >> 8) * 13 + block.salt * 101 + rank * 31).astype(np.uint8)
