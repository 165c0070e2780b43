"""What was done to memory within an epoch, and which two accesses to it conflict.

Source: MPI: A Message-Passing Interface Standard 3.1, 11.7; docs/windows.md has the rule.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING

import attrs

from extended.windows.calls import Call
from extended.windows.operators import COMPARE_AND_SWAP, DTYPES, NO_OP, OPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PUT, GET = 254, 255
"""What an access does, where that is no operation of an accumulate."""

_NAMES = (
    "win.Put", "win.Get", "win.Accumulate", "win.Get_accumulate", "win.Fetch_and_op", "win.Compare_and_swap",
)  # fmt: skip
_HEAD = Struct("<BBQQIB")  # what and kind, name, start, stop, line, bytes of the file's name
_KINDS = len(DTYPES)  # an operation's code and a type share a byte, below PUT
_MOST_NAME = 255


@attrs.define(eq=False)
class AccessRecord:
    """One access to a rank's part of a window, or several by one line to consecutive bytes.

    Attributes:
        call: who made it, and where.
        rank: of the window, that made it.
        what: PUT, GET, or the code of the accumulate's operation.
        start: offset of the first byte.
        stop: offset behind the last.
        kind: which of `DTYPES` an accumulate's elements are of; 0 for others.
    """

    call: Call
    rank: int
    what: int
    start: int
    stop: int
    kind: int = 0

    def conflicts(self, other: AccessRecord) -> bool:
        """Say whether two accesses that overlap must not be in one epoch."""
        mine, others = self.what, other.what
        if PUT in (mine, others):
            return True
        if GET in (mine, others):
            return mine != others
        return self.differs_in_type(other) or (mine != others and NO_OP.code not in (mine, others))

    def differs_in_type(self, other: AccessRecord) -> bool:
        """Say whether two accumulates are of elements of different types; two that only read may be."""
        return self.kind != other.kind and (self.what, other.what) != (NO_OP.code, NO_OP.code)

    def text(self, *, typed: bool = False) -> str:
        """Return how messages show it, on demand with the type of its elements."""
        op = "" if self.what in (PUT, GET, COMPARE_AND_SWAP) else f"op={OPS[self.what].name}"
        said = ", ".join(filter(None, [op, f"dtype {DTYPES[self.kind]}" if typed else ""]))
        return f"{self.call}{f' ({said})' if said else ''} of rank {self.rank}, bytes {self.start} to {self.stop - 1}"


class Accesses:
    """The accesses of one epoch to one rank's memory."""

    __slots__ = ("_latest", "_longest", "_records")

    def __init__(self) -> None:
        self._records: list[AccessRecord] = []  # by their first byte
        self._longest = 0
        self._latest: AccessRecord | None = None

    def __bool__(self) -> bool:
        return bool(self._records)

    def __iter__(self) -> Iterator[AccessRecord]:
        return iter(self._records)

    def conflict(self, new: AccessRecord) -> AccessRecord | None:
        """Return an access that conflicts with a new one, None where there is none."""
        if new.start == new.stop:
            return None
        # What begins so far before it that even the longest ends before it need not be looked at.
        at = bisect_left(self._records, new.start - self._longest, key=_start)
        for record in self._records[at:]:
            if record.start >= new.stop:
                return None
            if record.stop > new.start and record.conflicts(new):
                return record
        return None

    def add(self, new: AccessRecord) -> Callable[[], object]:
        """Take note of an access, which conflicts with none that there are; return what takes it out again."""
        latest = self._latest
        undo = partial(self._take_out, new, new.start, new.stop)  # as it is now: others may join it
        if (
            latest is not None
            and latest.stop == new.start
            and (latest.what, latest.kind, latest.rank, latest.call) == (new.what, new.kind, new.rank, new.call)
        ):
            latest.stop = new.stop
            new = latest
        else:
            insort(self._records, new, key=_start)
            self._latest = new
        self._longest = max(self._longest, new.stop - new.start)
        return undo

    def _take_out(self, gone: AccessRecord, first: int, behind: int) -> None:
        """Take out an access to the bytes from `first` to `behind`, but not what its line has joined to it."""
        made = gone.what, gone.kind, gone.rank, gone.call
        for each in self._records:
            if each.start <= first < behind <= each.stop and (each.what, each.kind, each.rank, each.call) == made:
                self._records.remove(each)  # which is equal to none but itself
                for start, stop in ((each.start, first), (behind, each.stop)):
                    if start < stop:
                        insort(self._records, attrs.evolve(each, start=start, stop=stop), key=_start)
                break
        self._latest = None

    def forget(self, rank: int) -> None:
        """Take out what a rank has done."""
        self._records = [record for record in self._records if record.rank != rank]
        self._latest = None


def _start(record: AccessRecord) -> int:
    return record.start


def packed(records: Sequence[AccessRecord], room: int) -> Iterator[bytes]:
    """Yield messages of at most `room` bytes that say all records, but for their rank, who sends them."""
    message = b""
    for record in records:
        # Of a path that is too long the end says more than the beginning.
        name = record.call.file.encode()[-min(_MOST_NAME, room - _HEAD.size) :].decode(errors="ignore").encode()
        what = record.what if record.what in (PUT, GET) else record.what * _KINDS + record.kind
        head = what, _NAMES.index(record.call.name), record.start, record.stop, record.call.line, len(name)
        one = _HEAD.pack(*head) + name
        if message and len(message) + len(one) > room:
            yield message
            message = b""
        message += one
    if message:
        yield message


def unpacked(payload: memoryview, rank: int) -> list[AccessRecord]:
    """Return the records of a message from a rank of the window."""
    data, at, found = bytes(payload), 0, []
    while at < len(data):
        first, name, start, stop, line, length = _HEAD.unpack_from(data, at)
        what, kind = (first, 0) if first in (PUT, GET) else divmod(first, _KINDS)
        at += _HEAD.size
        call = Call(_NAMES[name], data[at : at + length].decode(), line)
        found.append(AccessRecord(call, rank, what, start, stop, kind))
        at += length
    return found
