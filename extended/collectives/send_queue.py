"""What collective calls have to send, and how data travels: eagerly, or by a rendezvous that the receiver begins.

Small data is eager: one medium message, kept as unexpected at its destination where the receive is not posted yet.
Large data waits for the destination's clear to send.  Then it goes by long messages straight to its place, if that lies
in the destination's segment.  Else it goes in medium pieces that the handler copies there, or, where medium messages
cost much, through memory behind the segment (`extended.collectives.staging`).  So nothing large is ever kept, and what
is kept of small data is bounded (`extended.collectives.team_calls`).

Why the receiver begins: it knows when it is ready and where the data belongs, so a request to send would be one message
more for nothing.

Nothing is sent here: messages are listed, and the poll that carries the calls on sends them, one of each call in turn.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from extended.buffers import offset_in
from extended.collectives import signature as signatures
from extended.collectives.call import PostedReceive
from extended.collectives.staging import Staged, Staging, StagingSlots, window_in
from extended.handlers import high, low

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from conduit import Endpoint
    from extended.collectives.call import CollectiveCall
    from extended.collectives.team_calls import TeamCalls

    Send = Callable[[], Coroutine[Any, Any, None]]

EAGER_BYTES = 4096
"""Data up to here is sent at once, where a medium message holds it.  Assumed: asking first costs about as much time as
that many bytes on their way."""

LARGEST_PIECE = 1 << 30
"""Bytes of one message at most."""

NOWHERE = (1 << 64) - 1
"""The offset of what does not lie in its rank's segment."""


class Handlers(Protocol):
    """The handlers to which messages go, by what they bring; `extended.collectives.arrivals` has them."""

    @property
    def collective_head(self) -> Callable[..., None]:
        """The first message of a broadcast or scatter."""

    @property
    def collective_data(self) -> Callable[..., None]:
        """Small data."""

    @property
    def collective_ready(self) -> Callable[..., None]:
        """A clear to send: the destination is ready for large data."""

    @property
    def collective_piece(self) -> Callable[..., None]:
        """A piece of large data, to be copied to its place."""

    @property
    def collective_landed(self) -> Callable[..., None]:
        """A piece of large data that is in its place."""

    @property
    def collective_staged(self) -> Callable[..., None]:
        """A part of large data in a slot behind the segment, to be copied to its place."""

    @property
    def collective_greeting(self) -> Callable[..., None]:
        """Another rank makes this call."""

    @property
    def collective_broken(self) -> Callable[..., None]:
        """A call has failed."""


class SendSequence:
    """Messages that are sent one after the other for one call.

    Attributes:
        call: the one that they belong to, None for the layer's own.
        next: sends the next.
    """

    __slots__ = ("_rest", "call", "next")

    def __init__(self, call: CollectiveCall | None, sends: Iterator[Send]) -> None:
        self.call = call
        self.next = next(sends)
        self._rest = sends

    def more(self) -> bool:
        """Go on to the next message, if there is one."""
        send = next(self._rest, None)
        if send is None:
            return False
        self.next = send
        return True


class SendQueue:
    """The messages that the calls of one rank have still to send; also what algorithms post with.

    Attributes:
        eager_bytes: the largest data that is sent at once.
        medium_bytes: the size of the pieces that come where data does not land in a segment.
        staging: where large data lands that has no place in the segment.
        handlers: what messages are for.
        listed: the messages, those that follow one another as one.

    Args:
        ep: the rank's endpoint.
    """

    handlers: Handlers

    def __init__(self, ep: Endpoint) -> None:
        limits = ep.limits
        self._ep = ep
        self.listed: deque[SendSequence] = deque()
        self.medium_bytes = min(limits.max_medium, LARGEST_PIECE)
        self._long = min(limits.max_long_request, LARGEST_PIECE)
        self.eager_bytes = min(EAGER_BYTES, self.medium_bytes)
        self.staging = Staging(ep, self.medium_bytes, self._long)

    def __bool__(self) -> bool:
        return bool(self.listed)

    def take(self) -> SendSequence:
        """Take off what is first in the list."""
        return self.listed.popleft()

    def back(self, sending: SendSequence) -> None:
        """Put something back, at the end."""
        self.listed.append(sending)

    def greet(self, team_calls: TeamCalls, call: CollectiveCall, dest: int) -> None:
        """List the short message that tells a rank of the job of a call."""
        team_calls.greeted.append(dest)
        self._one(None, dest, self.handlers.collective_greeting, *call.signature.words, of=call)

    def tell_broken(self, team_calls: TeamCalls, sequence: int, why: str) -> None:
        """List messages to all other ranks of a team that it is broken."""
        data = why.encode(errors="replace")[: self.medium_bytes]
        for dest in team_calls.members:
            if dest != self._ep.rank:
                words = (*team_calls.identity, sequence)
                send = partial(self._ep.request_medium, dest, self.handlers.collective_broken, data, *words)
                self.listed.append(SendSequence(None, iter((send,))))

    def send(self, call: CollectiveCall, dest: int, data: memoryview, tag: int) -> None:
        """Post a send: at once if it is small or asked for, else as soon as it is."""
        place = call.members[dest], tag
        call.unsent += 1
        call.pieces += 1
        if len(data) <= self.eager_bytes:
            self._one(call, place[0], self.handlers.collective_data, tag, *call.signature.words, of=call, payload=data)
        elif place in call.unexpected.cleared:
            self.send_large(call, place, data, call.unexpected.cleared.pop(place))
        else:
            call.held[place] = data

    def send_head(self, call: CollectiveCall, dest: int, data: memoryview | None) -> None:
        """Post the first message of a broadcast or scatter, or several where the description takes them."""
        words = call.signature.words
        if not signatures.flags_of(words) & signatures.ELSEWHERE:
            self._head(call, dest, words, memoryview(b"") if data is None else data)
            return
        description = memoryview(call.work.description)
        for at in range(0, len(description), self.medium_bytes):
            piece = description[at : at + self.medium_bytes]
            self._head(call, dest, signatures.with_piece(words, at, len(description)), piece)

    def _head(self, call: CollectiveCall, dest: int, words: tuple[int, ...], payload: memoryview) -> None:
        call.unsent += 1
        call.pieces += 1
        self._one(call, call.members[dest], self.handlers.collective_head, *words, of=call, payload=payload)

    def receive(self, call: CollectiveCall, source: int, into: memoryview, tag: int) -> PostedReceive:
        """Post a receive; large data is asked for."""
        place, receive = (call.members[source], tag), PostedReceive(into)
        if len(into) <= self.eager_bytes:
            payload = call.unexpected.arrived.pop(place, None)
            if payload is None:
                call.receives[place] = receive
            else:
                receive.take(payload, 0)
                self.charge(0, len(payload))
            return receive
        call.receives[place] = receive
        offset = offset_in(self._ep.segment, into)
        window = self.staging.lend(place[0], len(into)) if offset is None else None
        receive.window = window
        landing = window.landing() if window is not None else NOWHERE if offset is None else offset
        call.unsent += 1
        call.pieces += 1
        words = (tag, low(landing), high(landing), *call.signature.words)
        self._one(call, place[0], self.handlers.collective_ready, *words, of=call)
        return receive

    def charge(self, flops: int, copied: int) -> None:
        """Add work to what this rank's CPU does."""
        if flops or copied:
            self._ep.charge(flops=flops, copied=copied)

    def _one(
        self,
        call: CollectiveCall | None,
        dest: int,
        handler: Callable[..., None],
        *words: int,
        of: CollectiveCall,
        payload: memoryview | None = None,
    ) -> None:
        words = (*of.team, of.sequence, *words)
        if payload is None:
            send = partial(self._ep.request_short, dest, handler, *words)
        else:
            send = partial(self._ep.request_medium, dest, handler, payload, *words)
        self.listed.append(SendSequence(call, iter((send,))))

    def send_large(self, call: CollectiveCall, place: tuple[int, int], data: memoryview, landing: int) -> None:
        """List the messages of large data that a rank has asked for.

        Args:
            call: the one that it belongs to.
            place: the rank of the job, and the tag.
            data: what it has asked for.
            landing: the offset in that rank's segment, a window of its slots, or `NOWHERE`.
        """
        dest, tag = place
        window = None if landing == NOWHERE else window_in(landing)
        if window is not None:
            self._send_staged(call, place, data, window)
            return
        words = (*call.team, call.sequence, tag)

        def longs() -> Iterator[Send]:
            for at in range(0, len(data), self._long):
                part = data[at : at + self._long]
                handler, signature = self.handlers.collective_landed, call.signature.words
                yield partial(self._ep.request_long, dest, handler, part, landing + at, *words, *signature)

        def mediums() -> Iterator[Send]:
            for number, at in enumerate(range(0, len(data), self.medium_bytes)):
                part = data[at : at + self.medium_bytes]
                handler, signature = self.handlers.collective_piece, call.signature.words
                yield partial(self._ep.request_medium, dest, handler, part, *words, number, *signature)

        self.listed.append(SendSequence(call, mediums() if landing == NOWHERE else longs()))

    def _send_staged(
        self, call: CollectiveCall, place: tuple[int, int], data: memoryview, window: StagingSlots
    ) -> None:
        """List the parts of large data for which there are slots; each that has been copied lets another one come."""
        parts = -(-len(data) // self.staging.slot_bytes)
        staged, later = Staged(data, window), max(0, parts - window.slots)
        if later:
            staged.left = later
            call.staged[place] = staged
            call.unsent += later
        first = (self._part(call, place, part, staged) for part in range(parts - later))
        self.listed.append(SendSequence(call, first))

    def send_next(self, call: CollectiveCall, place: tuple[int, int], part: int) -> None:
        """List the part that comes into the slot from which part `part` has been copied."""
        staged = call.staged[place]
        staged.left -= 1
        if not staged.left:
            del call.staged[place]
        next_part = self._part(call, place, part + staged.window.slots, staged)
        self.listed.append(SendSequence(call, iter((next_part,))))

    def _part(self, call: CollectiveCall, place: tuple[int, int], part: int, staged: Staged) -> Send:
        nbytes, window, (dest, tag) = self.staging.slot_bytes, staged.window, place
        slot = window.offset + part % window.slots * nbytes
        words = (*call.team, call.sequence, tag, part, slot, *call.signature.words)
        piece = staged.data[part * nbytes : (part + 1) * nbytes]
        return partial(
            self._ep.request_long, dest, self.handlers.collective_staged, piece, slot, *words, auxiliary=True
        )
