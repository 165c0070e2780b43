"""Places in a list: what vector and indexed transfers read or write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]
    Buffer = bytes | bytearray | memoryview


@attrs.frozen
class RunsFragment:
    """A part of some runs that one message carries.

    Attributes:
        first: the run that it begins in.
        last: the run behind the last.
        skip: bytes of the first run that are not in it.
        at: byte of the whole stream that it begins with.
        nbytes: bytes in it.
    """

    first: int
    last: int
    skip: int
    at: int
    nbytes: int


class Runs:
    """Runs of bytes, each with an offset of its own and all with one length or each with its own.

    Attributes:
        starts: their offsets.
        length: bytes of each, 0 where they differ.
        lengths: bytes of each one.
        nbytes: bytes in all.
    """

    __slots__ = ("_ends", "_widths", "length", "lengths", "nbytes", "starts")

    def __init__(self, starts: Integers, lengths: Integers) -> None:
        self.starts = starts
        self.lengths = lengths
        same = len(lengths) and (lengths == lengths[0]).all()
        self.length = int(lengths[0]) if same else 0
        self._ends = np.cumsum(lengths)
        self.nbytes = int(self._ends[-1]) if len(lengths) else 0
        self._widths = (_width(starts), 0 if same else _width(lengths)) if len(lengths) else (1, 0)

    @classmethod
    def of(cls, starts: Integers, lengths: Integers) -> Runs:
        """Return the runs of pieces given in order: without the empty ones, and joined where that is shorter to say."""
        if not lengths.all():
            starts, lengths = starts[lengths > 0], lengths[lengths > 0]
        listed = cls(starts, lengths)
        if len(starts) < 2:
            return listed
        begins = np.flatnonzero(np.concatenate(([True], starts[1:] != starts[:-1] + lengths[:-1])))
        if len(begins) == len(starts):
            return listed
        joined = cls(starts[begins], np.add.reduceat(lengths, begins))
        return joined if len(joined.starts) * joined.entry() <= len(starts) * listed.entry() else listed

    def entry(self) -> int:
        """Return the bytes that say where one run lies."""
        return sum(self._widths)

    def extent(self) -> tuple[int, int]:
        """Return the offsets of the first byte and behind the last, of runs of which there are any."""
        return int(self.starts.min()), int((self.starts + self.lengths).max())

    def only(self) -> int | None:
        """Return where all lies together, None where it does not."""
        return int(self.starts[0]) if len(self.starts) == 1 else None

    def run(self, number: int) -> tuple[int, int, int]:
        """Return offset, place in the stream and length of a run."""
        length = int(self.lengths[number])
        return int(self.starts[number]), int(self._ends[number]) - length, length

    def is_long(self, number: int, most: int) -> bool:
        """Say whether a run goes by itself: because it is longer than that, or the only one."""
        return bool(self.lengths[number] > most) or len(self.starts) == 1

    def groups(self, most: int) -> Iterator[tuple[int, int]]:
        """Part the runs, as first and behind the last, into those that go by themselves and neighbours that do not."""
        first = 0
        for number in np.flatnonzero(self.lengths > most).tolist():
            if number > first:
                yield first, number
            yield number, number + 1
            first = number + 1
        if first < len(self.starts):
            yield first, len(self.starts)

    def read(self, memory: memoryview) -> bytes:
        """Return a copy of what lies at these places of a segment."""
        return self._all().read(memory)

    def write(self, memory: memoryview, data: Buffer) -> None:
        """Store bytes at these places of a segment."""
        self._all().write(memory, data)

    def _all(self) -> ArrivedRuns:
        packed = memoryview(self.pack(0, len(self.starts)))
        return ArrivedRuns(packed, self._widths, self.length, 0, self.nbytes)

    def code(self) -> int:
        """Return the bytes of an offset and of a length as they travel, as one number.

        Lengths that are the same travel once, in an argument: 0 bytes.
        """
        offset, length = self._widths
        return offset | length << 4

    def cuts(self, first: int, last: int, places: int, data: int, both: int) -> Iterator[RunsFragment]:
        """Cut the runs `first` to `last` into as few parts as possible, if need be within a run.

        Args:
            first: the first run.
            last: the run behind the last.
            places: bytes that a part's places may take.
            data: bytes that it may carry.
            both: bytes for the two together.
        """
        entry = self.entry()
        # A part ends as far on as it can: the next never has more to carry for that.
        ends = self._ends[first:last]
        full = ends + np.arange(1, last - first + 1) * entry
        at = int(self._ends[first - 1]) if first else 0
        run = first
        while run < last:
            began = int(self._ends[run - 1]) if run else 0
            # What is before this part, in the measure of `ends` and of `full`.
            whole = min(
                int(np.searchsorted(ends, at + data, "right")),
                int(np.searchsorted(full, at + (run - first) * entry + both, "right")),
                run - first + places // entry,
            )
            stop = max(run, first + whole)
            reach = int(self._ends[stop - 1]) if stop > run else at
            if stop < last and stop - run < places // entry:
                room = min(data, both - (stop - run + 1) * entry) - (reach - at)
                reach += max(0, room)
            yield RunsFragment(run, stop + (reach > (self._ends[stop - 1] if stop else 0)), at - began, at, reach - at)
            run, at = stop, reach

    def pack(self, first: int, last: int) -> bytes:
        """Return the places of some runs as the bytes in which they travel: offsets, then lengths where they differ."""
        offset, length = self._widths
        packed = self.starts[first:last].astype(f"<u{offset}").tobytes()
        return packed + self.lengths[first:last].astype(f"<u{length}").tobytes() if length else packed


class ArrivedRuns:
    """Some runs as they arrive, of which the first lacks its first bytes and the last its last.

    Args:
        packed: what `Runs.pack` made.
        widths: bytes of an offset and of a length.
        length: bytes of each run where they are the same.
        skip: bytes of the first run that are not meant.
        nbytes: bytes that are meant.
    """

    def __init__(self, packed: memoryview, widths: tuple[int, int], length: int, skip: int, nbytes: int) -> None:
        count = len(packed) // sum(widths)
        self._starts = np.frombuffer(packed, f"<u{widths[0]}", count).astype(np.int64)
        self._length = length
        if widths[1]:
            lengths = np.frombuffer(packed, f"<u{widths[1]}", count, count * widths[0]).astype(np.int64)
        else:
            lengths = np.full(count, length, np.int64)
        self._whole = bool(widths[1] == 0 and not skip and count * length == nbytes)
        self._starts[0] += skip
        lengths[0] -= skip
        lengths[-1] -= int(lengths.sum()) - nbytes
        self._lengths = lengths
        self._nbytes = nbytes

    def read(self, memory: memoryview) -> bytes:
        """Return a copy of what lies there."""
        if self._whole:
            return self._window(memory)[self._starts].tobytes()
        return b"".join([memory[start : start + length] for start, length in self._each()])

    def write(self, memory: memoryview, data: Buffer) -> None:
        """Store bytes there."""
        if self._whole:
            window = self._window(memory)
            window[self._starts] = np.frombuffer(data, window.dtype)
            return
        at = 0
        for start, length in self._each():
            memory[start : start + length] = data[at : at + length]
            at += length

    def _each(self) -> Iterator[tuple[int, int]]:
        return zip(self._starts.tolist(), self._lengths.tolist(), strict=True)

    def _window(self, memory: memoryview) -> npt.NDArray[np.void]:
        # Element i is the run that starts at byte i.
        length = self._length
        return np.ndarray((len(memory) - length + 1,), f"V{length}", memory, 0, (1,))


def _width(values: Integers) -> int:
    return np.min_scalar_type(int(values.max())).itemsize
