"""A buffer that has a block for each rank."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from conduits.mpi.collectives.channel import CollectiveChannel


@attrs.frozen
class Blocks:
    """A buffer that has a block for each rank.

    Attributes:
        view: the buffer, bytes.
        places: of each block where it begins, and its size, bytes.
    """

    view: memoryview
    places: tuple[tuple[int, int], ...]

    @classmethod
    def equal(cls, view: memoryview, number: int) -> Blocks:
        """Return a buffer of blocks of one size."""
        each = len(view) // number
        return cls(view, tuple((place * each, each) for place in range(number)))

    @classmethod
    def cut(cls, view: memoryview, number: int, unit: int = 1) -> Blocks:
        """Return a buffer cut into blocks of nearly one size, each of whole units."""
        units = len(view) // unit
        ends = [units * place // number * unit for place in range(number + 1)]
        return cls.of_sizes(view, [ends[place + 1] - ends[place] for place in range(number)])

    @classmethod
    def of_sizes(cls, view: memoryview, sizes: Sequence[int]) -> Blocks:
        """Return a buffer of blocks of these sizes, one behind the other."""
        places, at = [], 0
        for size in sizes:
            places.append((at, size))
            at += size
        return cls(view, tuple(places))

    @classmethod
    def room(cls, sizes: Sequence[int]) -> Blocks:
        """Return memory of its own for blocks of these sizes."""
        return cls.of_sizes(memoryview(bytearray(sum(sizes))), sizes)

    def one(self, rank: int) -> memoryview:
        """Return the block of a rank."""
        start, size = self.places[rank]
        return self.view[start : start + size]

    def some(self, ranks: Sequence[int]) -> Blocks:
        """Return the blocks of some ranks, in this order, where they lie."""
        return Blocks(self.view, tuple(self.places[rank] for rank in ranks))

    def sizes(self, ranks: Sequence[int]) -> list[int]:
        """Return the sizes of some blocks."""
        return [self.places[rank][1] for rank in ranks]

    def run(self, ranks: Sequence[int]) -> memoryview | None:
        """Return the blocks of some ranks as one view, where they lie one behind the other in this order."""
        if not ranks:
            return self.view[:0]
        at = start = self.places[ranks[0]][0]
        for rank in ranks:
            begin, size = self.places[rank]
            if begin != at:
                return None
            at += size
        return self.view[start:at]

    def packed(self, channel: CollectiveChannel, ranks: Sequence[int]) -> memoryview:
        """Return the blocks of some ranks one behind the other, copied if they do not lie so."""
        found = self.run(ranks)
        if found is not None:
            return found
        joined = memoryview(bytearray().join(self.one(rank) for rank in ranks))
        channel.copied(len(joined))
        return joined

    def landing(self, ranks: Sequence[int]) -> memoryview:
        """Return where to receive the blocks of some ranks together; `unpack` brings them to their places."""
        found = self.run(ranks)
        return memoryview(bytearray(sum(self.sizes(ranks)))) if found is None else found

    def unpack(self, channel: CollectiveChannel, ranks: Sequence[int], data: memoryview) -> None:
        """Bring blocks that were received together to their places, unless they are there."""
        if self.run(ranks) is not None:
            return
        at = 0
        for rank in ranks:
            block = self.one(rank)
            channel.copy(data[at : at + len(block)], block)
            at += len(block)
