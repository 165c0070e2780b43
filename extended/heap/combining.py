"""How the calls of all ranks on the heap meet at rank 0, how one rank calls alone, and how the answers come back.

The ranks form a tree.  Each waits for the calls of those below, and sends up whether they agree with its own; rank 0
asks the map, and the answer goes down the same way.  What travels up names the lowest rank and, where calls differ, the
lowest whose call is another.  A rank sends up its next call only when it has the answer to the last, and hands an
answer down only when it is ready for the next: calls cannot be mistaken for one another.

A rank that calls alone asks rank 0 directly; between its request and the answer any number of calls may go by.

Where ranks are processes the calls travel with what their users wrote, and where, as text: no rank sees another's then.

Handlers cannot send: they list what is to be sent and ask for progress.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary
from zlib import crc32

import attrs
import trio

import conduit
from extended.handlers import high, joined, low
from extended.heap.map import HeapMap
from extended.kary_tree import children_of, parent_of
from extended.missing import Missing
from extended.outgoing import RequestQueue
from extended.program_lines import line_here
from extended.reporting import RANK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conduit import Endpoint, Token
    from extended.reporting import ReportSink


class HeapCallKind(IntEnum):
    """What a rank calls."""

    ALLOCATE = 0
    FREE = 1
    LOST = 2
    """None any more: the rank was cancelled in an earlier call and has lost its result."""


NAMES = ("all_alloc", "free")
"""What users call them."""

_NOBODY = -1
"""Ticket of a call without a task that waits for its answer."""


class Answer(IntEnum):
    """What rank 0 says."""

    DONE = 0
    MISMATCH = 1
    EXHAUSTED = 2
    UNKNOWN = 3


@attrs.frozen
class HeapCall:
    """One rank's call.

    Attributes:
        rank: who calls.
        kind: what.
        number: bytes to allocate, the offset to free, or what kind of call was cancelled.
        align: of the offset, for an allocation.
        alike: a checksum of what else of the call is to be the same on all ranks.
        said: the call as its user made it, and where, if that is known.
    """

    rank: int
    kind: int
    number: int
    align: int
    alike: int = 0
    said: str = ""

    def words(self) -> tuple[int, ...]:
        """Return it as arguments of a message."""
        kind = self.kind | self.alike << _KIND_BITS
        return self.rank, kind, low(self.number), high(self.number), low(self.align), high(self.align)

    @classmethod
    def of_words(cls, words: tuple[int, ...], said: str = "") -> HeapCall:
        """Return the call that six arguments of a message say."""
        rank, kind, *pairs = words
        number, align = joined(pairs[0], pairs[1]), joined(pairs[2], pairs[3])
        return cls(rank, kind & _KIND_MASK, number, align, kind >> _KIND_BITS, said)

    @classmethod
    def several(cls, words: tuple[int, ...], said: bytes = b"") -> list[HeapCall]:
        """Return the calls that the arguments of a message say, and its payload with what their users wrote."""
        texts = said.decode(errors="replace").split(_BETWEEN) if said else [""] * len(words)
        starts = range(0, len(words), WORDS)
        return [cls.of_words(words[at : at + WORDS], text) for at, text in zip(starts, texts, strict=False)]

    def agrees(self, other: HeapCall) -> bool:
        """Say whether another rank's call is the same."""
        ours = self.kind, self.number, self.align, self.alike
        return ours == (other.kind, other.number, other.align, other.alike)

    def __str__(self) -> str:
        if self.kind == HeapCallKind.FREE:
            return f"free(offset={self.number})"
        if self.kind == HeapCallKind.LOST:
            return f"rank {self.rank} was cancelled in {NAMES[self.number]}, whose result it has lost"
        return f"all_alloc(nbytes={self.number}, align={self.align})"


WORDS = 6
"""Arguments of a message that say one call."""

_KIND_BITS = 2
_KIND_MASK = (1 << _KIND_BITS) - 1
_ALIKE_MASK = (1 << 31 - _KIND_BITS) - 1
"""Of the checksum as much as goes beside the kind in one argument of a message."""

_BETWEEN = "\0"
_LONGEST = 240  # bytes of a call as its user made it, in a message


class HeapCalls:
    """One rank's part in the calls on the heap.

    Attributes:
        low: the border as this rank last heard of it.
        outgoing: messages to be sent.
        rank_word: what errors call a rank.

    Args:
        ep: the rank's endpoint.
    """

    rank_word = RANK

    def __init__(self, ep: Endpoint) -> None:
        self._ep = ep
        self.low = ep.segment.nbytes
        # All segments have the same size.
        self._map = HeapMap(self.low) if ep.rank == 0 else None
        self._above, self._below = parent_of(ep.rank), children_of(ep.rank, ep.size)
        self._calls: list[HeapCall] = []  # at most two: the lowest rank's, and the lowest that differs from it
        self._come: set[int] = set()  # ranks of `_below` whose calls have come
        self._given = False
        self._answer: tuple[int, ...] | None = None
        self._told_calls: list[HeapCall] = []  # of the answer, where calls differ
        self._told_in_messages = not ep.simulated
        self._busy = False
        self._number = 0  # of calls that this rank has made
        self._waits: dict[str, int] = {}  # for which of them it waits, by its name
        self._lost: HeapCallKind | None = None  # the call in which this rank was cancelled
        self._alone: dict[int, tuple[int, ...] | None] = {}  # this rank's calls of its own: ticket to answer
        self._tickets = 0
        self.outgoing = RequestQueue(ep)
        self._called: dict[int, str] = {}  # the last two calls as their user made them, and where, by number
        _OF_ALL[id(ep.hosts), ep.rank] = self

    def tell(self, sink: ReportSink) -> None:
        """Tell how many calls this rank has made, and for which it waits."""
        sink.part("calls on the heap", range(self._ep.size), self._number, self._waits, everybody=True)

    def table(self) -> tuple[Callable[..., None], ...]:
        """Return the handlers in the order in which every rank attaches them."""
        told = (self.heap_call_said, self.heap_answer_said) if self._told_in_messages else ()
        return self.heap_call, self.heap_answer, self.heap_asked, self.heap_told, *told

    async def call(self, name: str, kind: HeapCallKind, number: int, align: int, alike: str = "") -> int:
        """Make a call with all ranks; return the offset that rank 0 answers.

        Args:
            name: of the call; of a front end with its arguments, as "pe.zeros(shape=4)".
            kind: what it does.
            number: bytes, or an offset.
            align: of the offset.
            alike: what else is to be the same on all ranks.

        Raises:
            conduit.BadRequest: the calls differ, there is no room, or no such block; or another task is in a call.
            conduit.ConduitError: a call was cancelled before, on this rank or another.
        """
        called, name = name, name.partition("(")[0]
        if self._lost is not None:
            raise _lost_error(name, self._lost_call(self._lost))
        if self._busy:
            raise conduit.BadRequest(
                f"{name}: another task of this {self.rank_word} is in such a call; let one task do it"
            )
        self._busy, self._given, self._answer = True, True, None
        mine = HeapCall(self._ep.rank, kind, number, align, crc32(alike.encode()) & _ALIKE_MASK)
        said = f"{called if '(' in called else mine} at {line_here()}"
        self._called.pop(self._number - 2, None)  # others have heard of it
        self._called[self._number] = said
        self._waits[name] = self._number
        self._number += 1
        self._merge([attrs.evolve(mine, said=said) if self._told_in_messages else mine])
        self._advance()
        await self.outgoing.send_at_once()
        try:
            await self._ep.block_until(lambda: self._answer is not None, what=name, ranks=Missing(self._missing))
        except trio.Cancelled:
            self._lost = kind
            if not self._given:  # the answer came at that very time
                self._decline(kind)
                self.outgoing.ask()
            raise
        finally:
            self._busy = False
            self._waits.clear()
        return self._result(called, mine, self._answer)

    async def call_alone(self, name: str, kind: HeapCallKind, number: int, align: int) -> int:
        """Make a call by this rank alone; return the offset that rank 0 answers.

        Cancelled, an allocation is given back.

        Raises:
            conduit.BadRequest: there is no room, or no such block.
        """
        called, name = name, name.partition("(")[0]
        mine = HeapCall(self._ep.rank, kind, number, align)
        if self._map is not None:
            await self._ep.poll()
            return self._result(called, mine, self._ask(self._map, mine))
        ticket = self._tickets
        self._tickets = (ticket + 1) & 0x3FFF_FFFF
        self._alone[ticket] = None
        try:
            await self._ep.request_short(0, self.heap_asked, ticket, *mine.words())
        except BaseException:
            del self._alone[ticket]
            raise
        try:
            await self._ep.block_until(lambda: self._alone[ticket] is not None, what=name, ranks=(0,))
        except trio.Cancelled:
            answer = self._alone.pop(ticket)
            if answer is not None:
                self._give_back(kind, answer)
                self.outgoing.ask()
            raise
        return self._result(called, mine, self._alone.pop(ticket))

    def _give_back(self, kind: int, answer: tuple[int, ...]) -> None:
        if kind == HeapCallKind.ALLOCATE and answer[0] == Answer.DONE:
            unused = HeapCall(self._ep.rank, HeapCallKind.FREE, joined(answer[1], answer[2]), 0)
            self.outgoing.add(0, self.heap_asked, _NOBODY, *unused.words())

    def _missing(self) -> list[int]:
        if self._answer is not None:
            return []
        children_of = [rank for rank in self._below if rank not in self._come]
        return children_of if children_of or self._above is None else [self._above]

    def _result(self, called: str, mine: HeapCall, answer: tuple[int, ...] | None) -> int:
        assert answer is not None
        name = called.partition("(")[0]
        code, *words = answer
        if code == Answer.MISMATCH:
            one, other = self._told_calls or HeapCall.several(tuple(words))
            for call in (one, other):
                if call.kind == HeapCallKind.LOST:
                    raise _lost_error(name, call)
            raise conduit.BadRequest(
                f"{name}: {', but '.join(self._told(one, other))}; make the same calls with the same arguments in the "
                f"same order on every {self.rank_word}"
            )
        first, second = joined(words[0], words[1]), joined(words[2], words[3])
        if code == Answer.EXHAUSTED:
            raise conduit.BadRequest(self._no_room(called, mine, first, second))
        if code == Answer.UNKNOWN:
            raise conduit.BadRequest(
                f"{name}: offset={mine.number} is not that of a block of the heap, or of one that was freed before; "
                "give what all_alloc or global_alloc returned, once"
            )
        self.low = second
        return first

    def _told(self, *calls: HeapCall) -> list[str]:
        """Return calls as their users made them, as far as that is known; alike, what they free tells them apart."""
        said = [self._called_by(call.rank) or call.said or str(call) for call in calls]
        alike = len(set(said)) == 1 and all(call.kind == HeapCallKind.FREE for call in calls)
        apart = [f" (offset {call.number} of the heap)" if alike else "" for call in calls]
        return [
            f"{self.rank_word} {call.rank} called {text}{of}" for call, text, of in zip(calls, said, apart, strict=True)
        ]

    def _called_by(self, rank: int) -> str | None:
        """Return the call of a rank that goes with this one's last, as its user made it; None where it is not known."""
        other = _OF_ALL.get((id(self._ep.hosts), rank))
        return None if other is None else other.called(self._number - 1)

    def called(self, number: int) -> str | None:
        """Return a call as this rank's user made it, and where; None where that is not known."""
        return self._called.get(number)

    def _no_room(self, called: str, call: HeapCall, left: int, together: int) -> str:
        size, largest = self._ep.segment.nbytes, self._ep.max_segment
        need = size - self.low + call.number + call.align  # as from `low` up all lies as it does now
        parts = f", {together} of them together" if together < left else ""
        if largest is None or need <= largest:
            advice = f"start the job with segment={need} or more (--segment)"
        else:
            way = self._ep.larger_segment(need)
            larger = f", or {way} with segment={need} or more (--segment)" if way else ""
            most = f"{largest} bytes{' as it is' if way else ''}"
            other = "" if way else ", or run on a network that has larger segments"
            advice = (
                f"take less{larger}{other}: {'the' if way else 'this'} network gives a {self.rank_word} at most {most}"
            )
        free = "free what is no longer used, or " if left < size else ""
        if "(" in called:
            takes = f"{called} takes {call.number} bytes of every {self.rank_word}'s segment, of whose"
        else:
            takes = f"{called}: nbytes={call.number} with align={call.align} does not fit; of a segment's"
        return f"{takes} {size} bytes {left} are left{parts}; {free}{advice}"

    # -------------------------------------------------------------------------------------------------------- messages

    def heap_call(self, token: Token, *words: int) -> None:
        """Request: the call of the ranks below, or two where they differ."""
        self._came(token.rank, HeapCall.several(words))

    def heap_call_said(self, token: Token, payload: memoryview, *words: int) -> None:
        """Request: the same, with what users wrote."""
        self._came(token.rank, HeapCall.several(words, bytes(payload)))

    def heap_answer(self, token: Token, *words: int) -> None:
        """Request: what rank 0 says."""
        self._hand_down(words)
        self.outgoing.ask()

    def heap_answer_said(self, token: Token, payload: memoryview, *words: int) -> None:
        """Request: that calls differ, with what their users wrote."""
        self._hand_down(words, HeapCall.several(words[1:], bytes(payload)))
        self.outgoing.ask()

    def heap_asked(self, token: Token, ticket: int, *words: int) -> None:
        """Request: the call of one rank alone."""
        assert self._map is not None  # sent to rank 0 alone
        call = HeapCall.of_words(words)
        token.reply_short(self.heap_told, ticket, call.kind, *self._ask(self._map, call))

    def heap_told(self, token: Token, ticket: int, kind: int, *words: int) -> None:
        """Reply: what rank 0 says to a call of this rank alone; what is not waited for any more is given back."""
        if ticket in self._alone:
            self._alone[ticket] = words
        elif ticket != _NOBODY:
            self._give_back(kind, words)
            self.outgoing.ask()

    def _came(self, source: int, calls: list[HeapCall]) -> None:
        self._come.add(source)
        self._merge(calls)
        self._advance()
        self.outgoing.ask()

    def _said(self, calls: list[HeapCall]) -> bytes:
        """Return what users wrote, as the payload of a message."""
        return _BETWEEN.join(_cut(call.said) for call in calls).encode()

    def _merge(self, calls: list[HeapCall]) -> None:
        known = sorted([*self._calls, *calls], key=lambda call: call.rank)
        self._calls = known[:1] + [call for call in known if not call.agrees(known[0])][:1]

    def _advance(self) -> None:
        if not self._given or len(self._come) < len(self._below):
            return
        if self._map is None:
            assert self._above is not None  # only the top has the map
            words = tuple(word for call in self._calls for word in call.words())
            if self._told_in_messages:
                self.outgoing.add_medium(self._above, self.heap_call_said, self._said(self._calls), *words)
            else:
                self.outgoing.add(self._above, self.heap_call, *words)
        elif any(call.kind != HeapCallKind.LOST for call in self._calls):  # else no rank waits for an answer
            differ = self._calls if self._told_in_messages and len(self._calls) > 1 else []
            self._hand_down(self._decide(self._map), differ)

    def _decide(self, heap: HeapMap) -> tuple[int, ...]:
        call, *others = self._calls
        if others:
            return Answer.MISMATCH, *call.words(), *others[0].words()
        return self._ask(heap, call)

    def _ask(self, heap: HeapMap, call: HeapCall) -> tuple[int, ...]:
        if call.kind == HeapCallKind.FREE:
            found = heap.free(call.number)
            return _answer(Answer.DONE if found else Answer.UNKNOWN, call.number, heap.low)
        offset = heap.allocate(call.number, call.align)
        if offset is None:
            return _answer(Answer.EXHAUSTED, *heap.left())
        return _answer(Answer.DONE, offset, heap.low)

    def _hand_down(self, words: tuple[int, ...], differ: Sequence[HeapCall] = ()) -> None:
        self._calls, self._given = [], False
        self._come.clear()
        self._answer, self._told_calls = words, list(differ)
        for rank in self._below:
            if differ:
                self.outgoing.add_medium(rank, self.heap_answer_said, self._said(self._told_calls), *words)
            else:
                self.outgoing.add(rank, self.heap_answer, *words)
        if self._lost is not None:
            self._decline(self._lost)

    def _lost_call(self, kind: HeapCallKind) -> HeapCall:
        return HeapCall(self._ep.rank, HeapCallKind.LOST, kind, 0)

    def _decline(self, kind: HeapCallKind) -> None:
        # Take part in the next call all the same, so that the others hear of it and do not wait for ever.
        self._given = True
        self._merge([self._lost_call(kind)])
        self._advance()


def _cut(said: str) -> str:
    """Return what of a user's call a message has room for."""
    return said.encode()[:_LONGEST].decode(errors="ignore").replace(_BETWEEN, " ")


def _answer(code: Answer, first: int, second: int) -> tuple[int, ...]:
    return code, low(first), high(first), low(second), high(second)


def _lost_error(name: str, call: HeapCall) -> conduit.ConduitError:
    return conduit.ConduitError(
        f"{name}: {call}, so that the ranks no longer agree on the heap; do not cancel calls that all ranks make "
        "together"
    )


_OF_ALL: WeakValueDictionary[tuple[int, int], HeapCalls] = WeakValueDictionary()
"""Those of the ranks of this process, by job and rank, for errors only.  A job leaves nothing here."""
