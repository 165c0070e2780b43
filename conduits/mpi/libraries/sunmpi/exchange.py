"""How the ranks of a host exchange through buffers that one writes and many read.

The writer stores a piece, and then its flag.  Readers look at the flag, copy what they want of the piece, or combine it
with what they have, and acknowledge it.  A place is used again when all who were to read it have.  Each call of a
communicator has a buffer of its own for each that writes; who is further ahead than `calls` waits until those of
earlier calls are read.  So what waits, waits for earlier calls alone, and collectives under way at once, in one
communicator or in several, never wait for one another.

A line that another processor has stored is fetched from its cache when it is looked at, which takes the looking CPU the
line's way.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from conduit.sim import Memory
from conduit.simnet.chain import Act, Done, Steps
from conduits.mpi.engine.device import Matching
from conduits.mpi.engine.sharing import Share, SharedReading, comes_after
from conduits.mpi.interface import SharedTake
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.sunmpi.shared_buffers import ALL, COUNT, COUNTS, FLAG, INLINE, BufferKey, SharedBuffers


@attrs.frozen
class ExchangeCosts:
    """What the exchange takes of the CPU beside stores and copies, picoseconds.

    Attributes:
        flag_ps: making a flag.
        look_ps: looking at a line that is in the cache.
        line_ps: bringing there one that another processor has stored.
        calls: calls of a communicator in a row whose buffers may be in use.
        slice: bytes that each rank combines in its turn.
    """

    flag_ps: int
    look_ps: int
    line_ps: int
    calls: int
    slice: int


class _Writing:
    """What a rank writes in a call.

    Attributes:
        share: the request.
        key: of the buffer.
        memory: of it, None before it was taken.
        stored: pieces that were begun.
        seen: of each reader what it has acknowledged, as far as was looked.
        due: of each reader how many pieces come up to its last one.
    """

    __slots__ = ("due", "key", "memory", "seen", "share", "stored")

    def __init__(self, share: Share, key: BufferKey) -> None:
        self.share = share
        self.key = key
        self.memory: Memory | None = None
        self.stored = 0
        self.seen: dict[int, int] = {}
        self.due = {reader: number + 1 for number, piece in enumerate(share.pieces) for reader in piece.readers}


class _Reader:
    """What a rank reads in a call: the request, and how many of its takes are done."""

    __slots__ = ("done", "reading")

    def __init__(self, reading: SharedReading) -> None:
        self.reading = reading
        self.done = 0


class LocalExchange:
    """One rank's end of its host's buffers.

    Args:
        engine: the rank's.
        costs: what it takes.
        memory: what copies on the host pass through.
        buffers: of the host.
        ready: where to put what may go on.

    Attributes:
        piece, slice: see `conduits.mpi.engine.sharing.HostExchange`.
    """

    def __init__(
        self, engine: Matching, costs: ExchangeCosts, memory: HostMemory, buffers: SharedBuffers, ready: dict[Any, None]
    ) -> None:
        self.piece = buffers.layout.piece
        self.slice = costs.slice
        self._engine = engine
        self._costs = costs
        self._memory = memory
        self._buffers = buffers
        self._layout = buffers.layout
        self._place = buffers.places[engine.rank]
        self._ready = ready
        self._writings: dict[int, deque[_Writing]] = {}  # by context, those whose buffers are in use or waited for
        self._waiting: dict[BufferKey, dict[_Reader, None]] = {}
        self._readings: Counter[int] = Counter()  # under way, by context
        self._counting: Counter[int] = Counter()  # counts under way, by context
        self._told: dict[int, dict[int, int]] = {}  # by context and part the last call that this rank has counted
        self._counts = {"shares": 0, "shared_pieces": 0, "takes": 0}
        buffers.join(engine.rank, self)

    # -- conduits.mpi.engine.sharing.HostExchange --------------------------------------------------------

    def share(self, share: Share) -> None:
        """Begin to write."""
        self._counts["shares"] += 1
        if share.counts:
            self._counting[share.context] += 1
            self._engine.worker.do(self._count(share))
            return
        writing = _Writing(share, (share.context, self._engine.rank, share.tag, share.part))
        self._writings.setdefault(share.context, deque()).append(writing)
        self._write(writing)

    def read(self, reading: SharedReading) -> None:
        """Begin to read."""
        self._readings[reading.context] += 1
        self._take(_Reader(reading))

    def freed(self, context: int, members: Sequence[int]) -> None:
        """Take note that this rank has given a communicator back."""
        self._buffers.freed(self._engine.rank, context, members)

    # -- for the device ------------------------------------------------------------------------------

    def go_on(self, item: Any) -> bool:
        """Take the next step of what was in `ready`; return whether there was one."""
        return self._take(item) if isinstance(item, _Reader) else self._write(item)

    def quiet(self) -> bool:
        """Return whether nothing waits to be written."""
        return all(each.share.over for writings in self._writings.values() for each in writings)

    def slots_in_use(self) -> Sequence[str]:
        """Describe whom a buffer waits for."""
        lines = []
        for writings in self._writings.values():
            if any(not each.share.over for each in writings):
                late = {reader for each in writings if each.memory is not None for reader in self._late(each)}
                if late:
                    ranks = f"rank{'s' * (len(late) > 1)} {', '.join(map(str, sorted(late)))}"
                    lines.append(f"a buffer that this rank writes for its host waits until it is read by {ranks}")
        return lines

    def statistics(self) -> Mapping[str, int]:
        """Return how often it wrote, in how many pieces, and how many it has taken."""
        return {f"mpi_{name}": count for name, count in self._counts.items()}

    # -- conduits.mpi.libraries.sunmpi.shared_buffers.ExchangeEnd ------------------------------------

    def written(self, key: BufferKey) -> None:
        """Take note that a flag or a count was stored; in an event."""
        readers = self._waiting.pop(key, None)
        if readers:
            self._ready.update(readers)
            self._engine.notify()

    def acknowledged(self, key: BufferKey) -> None:
        """Take note that a rank has read; in an event."""
        waiting = [each for each in self._writings.get(key[0], ()) if each.stored < len(each.share.pieces)]
        if waiting:
            self._ready.update(dict.fromkeys(waiting))
            self._engine.notify()

    def uses(self, context: int) -> bool:
        """Return whether anything is unfinished in a communicator; where nothing is, forget it."""
        writings = self._writings.get(context, ())
        if self._readings[context] or self._counting[context] or any(not each.share.over for each in writings):
            return True
        self._writings.pop(context, None)
        self._told.pop(context, None)
        del self._readings[context], self._counting[context]
        return False

    # -- writing -------------------------------------------------------------------------------------

    def _count(self, share: Share) -> Steps:
        """Store how many calls this rank has come to."""
        key = share.context, self._engine.rank, COUNTS, share.part
        memory, told = self._buffers.make(key), self._told.setdefault(share.context, {})
        # Between hosts a later call may be over first, which says as much of those before it.
        last = told.get(share.part, share.tag)
        told[share.part] = last = last if comes_after(last, share.tag) else share.tag
        self._engine.cpu.charge(self._costs.flag_ps)
        yield self._store(memory, 0, COUNT.pack(last + 1), partial(self._tell, key, share.pieces[0].readers))
        self._counting[share.context] -= 1
        self._engine.ended(share)
        self._buffers.ended(share.context)

    def _write(self, writing: _Writing) -> bool:
        """Write the next piece, if there is room for it; return whether there was."""
        number = writing.stored
        if writing.memory is None:
            if not self._are_read(writing):
                return False
            writing.memory = self._buffers.make(writing.key)
        elif number >= self._layout.pieces:
            before = number - self._layout.pieces
            readers = writing.share.pieces[before].readers
            if not all(self._has_read(writing, writing.memory, each, before + 1) for each in readers):
                return False
        writing.stored += 1
        self._counts["shared_pieces"] += 1
        self._engine.worker.do(self._write_piece(writing, writing.memory, number))
        return True

    def _write_piece(self, writing: _Writing, memory: Memory, number: int) -> Steps:
        share = writing.share
        start, stop, readers, _ = share.pieces[number]
        line = FLAG.pack(number + 1, len(share.data), stop - start)
        if stop - start <= INLINE:
            line += bytes(share.data[start:stop])
        else:
            yield partial(self._memory.copy, stop - start)
            memory.write(self._layout.data_at(number), bytes(share.data[start:stop]))
        self._engine.cpu.charge(self._costs.flag_ps)
        yield self._store(memory, self._layout.flag_at(number), line, partial(self._tell, writing.key, readers))
        if number + 1 == len(share.pieces):
            self._is_over(share)
            self.acknowledged(writing.key)  # where nobody reads the last piece, all may have read before
        else:
            self._go_on_later(writing)

    def _tell(self, key: BufferKey, readers: Sequence[int]) -> None:
        for each in readers:
            self._buffers.of(each).written(key)

    def _are_read(self, writing: _Writing) -> bool:
        """Return whether all is read that this rank wrote in calls too long ago; give those buffers back."""
        writings = self._writings[writing.share.context]
        recent = writing.share.tag - self._costs.calls + 1
        for each in [each for each in writings if comes_after(recent, each.share.tag)]:
            memory = each.memory
            if memory is None or not each.share.over:
                return False
            if not all(self._has_read(each, memory, reader, due) for reader, due in each.due.items()):
                return False
            writings.remove(each)
            self._buffers.drop(each.key)
        return True

    def _has_read(self, writing: _Writing, memory: Memory, reader: int, count: int) -> bool:
        """Return whether a rank has acknowledged `count` pieces; take the CPU for the look, if one is needed."""
        known = writing.seen.get(reader, 0)
        if known < count:
            (found,) = COUNT.unpack(memory.read(self._layout.ack_at(self._buffers.places[reader]), COUNT.size))
            self._engine.charge(self._costs.look_ps + (self._costs.line_ps if found != known else 0))
            known = writing.seen[reader] = found
        return known >= count

    def _late(self, writing: _Writing) -> list[int]:
        """Return who has not read all that is written, free of cost."""
        memory, found = writing.memory, []
        assert memory is not None
        for reader, place in self._buffers.places.items():
            due = max((n + 1 for n in range(writing.stored) if reader in writing.share.pieces[n].readers), default=0)
            if COUNT.unpack(memory.read(self._layout.ack_at(place), COUNT.size))[0] < due:
                found.append(reader)
        return found

    # -- reading -------------------------------------------------------------------------------------

    def _take(self, reader: _Reader) -> bool:
        """Take what is next, if it is there; return whether it was."""
        reading = reader.reading
        take = reading.takes[reader.done]
        key = reading.context, take.source, COUNTS if reading.counts else reading.tag, take.part
        memory = self._buffers.find(key)
        self._engine.charge(self._costs.look_ps)
        flag = None if memory is None else self._flag(memory, reading, take)
        if memory is None or flag is None:
            self._waiting.setdefault(key, {})[reader] = None
            return False
        self._engine.charge(self._costs.line_ps)
        self._counts["takes"] += 1
        if reading.counts:
            self._took(reader)
        elif flag[0] != take.total or flag[1] < take.stop:
            reading.wrong = take.source, flag[0], take.total
            self._engine.worker.do(self._leave(reader))
        else:
            self._engine.worker.do(self._read_piece(reader, take, key, memory, flag[1]))
        return True

    def _flag(self, memory: Memory, reading: SharedReading, take: SharedTake) -> tuple[int, int] | None:
        """Return how many bytes all pieces and this one have, None where it is not there."""
        if reading.counts:
            (calls,) = COUNT.unpack(memory.read(0, COUNT.size))
            return (0, 0) if calls and not comes_after(reading.tag, calls - 1) else None
        number, total, size = FLAG.unpack(memory.read(self._layout.flag_at(take.number), FLAG.size))
        return (total, size) if number == take.number + 1 else None

    def _read_piece(self, reader: _Reader, take: SharedTake, key: BufferKey, memory: Memory, size: int) -> Steps:
        layout, wanted = self._layout, take.stop - take.start
        if wanted:
            yield partial(self._memory.copy_runs, wanted, take.runs)
            small = size <= INLINE
            at = layout.flag_at(take.number) + FLAG.size if small else layout.data_at(take.number)
            try:
                take.land(memory.read(at + take.start, wanted))
            except Exception as error:  # of an operator of the program's
                reader.reading.error = error
                yield from self._leave(reader)
                return
        yield self._acknowledge(memory, key, take.number + 1)
        self._took(reader)

    def _leave(self, reader: _Reader) -> Steps:
        """Read no more where something was written otherwise than it should be, and let all who write go on."""
        reading = reader.reading
        for source, part in dict.fromkeys((take.source, take.part) for take in reading.takes[reader.done :]):
            key = reading.context, source, reading.tag, part
            yield self._acknowledge(self._buffers.make(key), key, ALL)
        if reading.wrong is not None:
            self._go_on_without(reading)
        self._end(reading)

    def _go_on_without(self, reading: SharedReading) -> None:
        """Let no rank wait for what it writes in this call: who has other sizes may not be among those that read it.

        What others read it still gets, as far as all do.
        """
        for writing in self._writings.get(reading.context, ()):
            if writing.share.tag == reading.tag:
                self._is_over(writing.share)

    def _acknowledge(self, memory: Memory, key: BufferKey, count: int) -> Act:
        writer = self._buffers.of(key[1])
        return self._store(
            memory, self._layout.ack_at(self._place), COUNT.pack(count), partial(writer.acknowledged, key)
        )

    def _took(self, reader: _Reader) -> None:
        reader.done += 1
        if reader.done == len(reader.reading.takes):
            self._end(reader.reading)
        else:
            self._go_on_later(reader)

    def _end(self, reading: SharedReading) -> None:
        self._readings[reading.context] -= 1
        self._engine.ended(reading)
        self._buffers.ended(reading.context)

    # -- either --------------------------------------------------------------------------------------

    def _is_over(self, share: Share) -> None:
        """Let the program go on, unless it has already."""
        if not share.over:
            self._engine.ended(share)
            self._buffers.ended(share.context)

    def _store(self, memory: Memory, offset: int, line: bytes, seen: Callable[[], object]) -> Act:
        """Return the act that stores a line, or a part of it, and calls `seen()` in the event of its end."""
        kernel = self._engine.kernel

        def act(done: Done) -> None:
            def stored(when: int) -> None:
                kernel.at(when, land)
                done(when)

            self._memory.copy(len(line), stored)

        def land() -> None:
            memory.write(offset, line)
            seen()

        return act

    def _go_on_later(self, item: _Writing | _Reader) -> None:
        self._ready[item] = None
        self._engine.notify()
