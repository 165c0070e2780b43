"""Moves the messages of collective calls, and carries their algorithms on at every poll.

Small data is sent at once, in one medium message, and kept at its destination if that has not asked for it yet.  Large
data waits until the destination has asked: then it goes by long messages straight to its place, if that lies in the
destination's segment, else in medium pieces that the handler copies there.  So nothing large is ever kept, and what is
kept of small data is bounded (`extended.collectives.box`).

Handlers cannot send.  They store what has come and ask for progress; algorithms run, and send, in a task of the rank.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

import conduit
from extended.buffers import offset_in
from extended.collectives import signature as signatures
from extended.collectives.algorithms import TABLE
from extended.collectives.box import Box, Broken
from extended.collectives.call import Call, Receive, Wait, Work
from extended.collectives.signature import described, sign
from extended.handlers import high, joined, low

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from conduit import Endpoint, Token
    from extended.collectives.call import Mail, Steps
    from extended.events import Events
    from extended.topology import Topology

    Send = Callable[[], Coroutine[Any, Any, None]]
    Identity = tuple[int, int]

EAGER_BYTES = 4096
"""Data up to here is sent at once, where a medium message holds it.  Assumed: asking first costs about as much time as
so many bytes on their way."""

LARGEST_PIECE = 1 << 30
"""Bytes of one message at most."""

NOWHERE = (1 << 64) - 1
"""The offset of what does not lie in its rank's segment."""


class Sending:
    """Messages that are sent one after the other for one call.

    Attributes:
        call: whose they are, None for the layer's own.
        next: sends the next.
    """

    __slots__ = ("_rest", "call", "next")

    def __init__(self, call: Call | None, sends: Iterator[Send]) -> None:
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


class Exchange:
    """All collective calls of one rank.

    Attributes:
        eager_bytes: the largest data that is sent at once.

    Args:
        ep: the rank's endpoint.
        events: told when a call is over.
    """

    def __init__(self, ep: Endpoint, events: Events) -> None:
        limits = ep.limits
        self._ep = ep
        self._events = events
        self._boxes: dict[Identity, Box] = {}
        self._ready: deque[Call] = deque()
        self._outgoing: deque[Sending] = deque()
        self._medium = min(limits.max_medium, LARGEST_PIECE)
        self._long = min(limits.max_long_request, LARGEST_PIECE)
        self.eager_bytes = min(EAGER_BYTES, self._medium)

    def table(self) -> tuple[Callable[..., None], ...]:
        """Return the handlers in the order in which every rank attaches them."""
        return (
            self.collective_head,
            self.collective_data,
            self.collective_ready,
            self.collective_piece,
            self.collective_landed,
            self.collective_greeting,
            self.collective_greeted,
            self.collective_broken,
        )

    # ----------------------------------------------------------------------------------------------------------- teams

    def open(self, identity: Identity, members: Sequence[int], topology: Topology, rank: int) -> Box:
        """Let a team make calls; messages for it may have come before.

        Args:
            identity: the team's, two arguments of every message.
            members: its ranks in the job.
            topology: its ranks by host.
            rank: this rank in it.
        """
        box = self._box(*identity)
        box.members, box.topology, box.rank = members, topology, rank
        return box

    def close(self, box: Box) -> None:
        """Forget a team whose ranks have all finished all calls."""
        del self._boxes[box.identity]

    def _box(self, lead: int, count: int) -> Box:
        box = self._boxes.get((lead, count))
        if box is None:
            box = self._boxes[lead, count] = Box((lead, count))
        return box

    # ----------------------------------------------------------------------------------------------------------- calls

    async def begin(
        self, box: Box, kind: str, work: Work, *, root: int = 0, asked: str = "", used: str = "", text: str = ""
    ) -> Call:
        """Begin a call and send what follows from it; polls, and may wait for slots, never for other ranks.

        Args:
            box: the team's.
            kind: the call's name.
            work: its memory.
            root: rank of the team.
            asked: the algorithm that the user named, "" for none.
            used: the algorithm, "" where the root of a broadcast or scatter tells.
            text: what else must be the same on all ranks.

        Raises:
            CollectiveMismatch: another rank makes another call.
        """
        signature = sign(kind, asked, root, text)
        if work.description:
            signature = described(signature, used, work.description, number=work.number)
        assert box.topology is not None
        call = Call(self, box.identity, box.members, box.topology, box.rank, box.next, signature, work)
        box.next += 1
        self._enter(box, call, used)
        # Other ranks depend on this one's part: no cancellation may come before it is sent.
        with trio.CancelScope(shield=True):
            if self._outgoing or self._ready:
                await self.progress()
            else:
                await self._ep.poll()
        return call

    async def finish(self, box: Box, call: Call) -> Any:
        """Wait for a call and return its result; cancelled, its team is broken.

        Raises:
            conduit.ConduitError: the team was broken by another rank.
        """
        if not call.is_done:
            try:
                await self._ep.block_until(call.done, what=call.text, ranks=call.missing())
            except trio.Cancelled:
                self._break(box, call.sequence, call.text)
                raise
        return call.outcome()

    async def settle(self, box: Box) -> None:
        """Wait until nothing of a team's calls is under way at this rank; cancelled, the team is broken.

        Raises:
            conduit.ConduitError: the team was broken by another rank.
        """

        def settled() -> bool:
            return box.is_broken() or not (box.calls or box.waiting or box.greetings)

        try:
            await self._ep.block_until(settled, what="the collective calls of a team to end", ranks=())
        except trio.Cancelled:
            self._break(box, box.next, "destroy()")
            raise
        if box.is_broken():
            assert box.broken is not None
            raise conduit.ConduitError(f"destroy(): this team is broken: {box.broken.text}")

    def _enter(self, box: Box, call: Call, used: str) -> None:
        box.enter(self._ep.rank, call)
        if used:
            algorithm = TABLE[call.kind][used]
            call.steps, call.greets = algorithm.run(call), not algorithm.connects(call.size)
        else:
            call.steps = self._as_root_says(call)
        if box.may_begin(call.sequence):
            self._start(box, call)
        else:
            box.waiting.append(call)

    def _start(self, box: Box, call: Call) -> None:
        self._ready.append(call)
        if call.greets and call.size > 1:
            box.greetings += 1
            dest = call.members[(call.rank + 1) % call.size]
            self._send(None, dest, self.collective_greeting, *call.signature.words, of=call)

    def _as_root_says(self, call: Call) -> Steps:
        head, work = call.mail.head, call.work
        yield head
        elsewhere = signatures.flags_of(head.words) & signatures.ELSEWHERE
        work.description = head.payload if elsewhere else signatures.text_of(head.words)
        work.number = bool(signatures.flags_of(head.words) & signatures.NUMBER)
        assert work.accept is not None
        work.accept(work.description, work.number)
        used = signatures.chosen_of(head.words)
        call.signature = described(call.signature, used, work.description, number=work.number)
        yield from TABLE[call.kind][used].run(call)

    # -------------------------------------------------------------------------------------------------- for algorithms

    def send(self, call: Call, dest: int, data: memoryview, tag: int) -> None:
        """Post a send: at once if it is small or asked for, else as soon as it is."""
        place = call.members[dest], tag
        call.unsent += 1
        if len(data) <= self.eager_bytes:
            self._send(call, place[0], self.collective_data, tag, *call.signature.words, of=call, payload=data)
        elif place in call.mail.cleared:
            self._send_large(call, place, data, call.mail.cleared.pop(place))
        else:
            call.held[place] = data

    def send_head(self, call: Call, dest: int, data: memoryview | None) -> None:
        """Post the first message of a broadcast or scatter."""
        call.unsent += 1
        words = call.signature.words
        if data is None:
            elsewhere = signatures.flags_of(words) & signatures.ELSEWHERE
            data = memoryview(call.work.description if elsewhere else b"")
        self._send(call, call.members[dest], self.collective_head, *words, of=call, payload=data)

    def receive(self, call: Call, source: int, into: memoryview, tag: int) -> Receive:
        """Post a receive; large data is asked for."""
        place, receive = (call.members[source], tag), Receive(into)
        if len(into) <= self.eager_bytes:
            payload = call.mail.arrived.pop(place, None)
            if payload is None:
                call.receives[place] = receive
            else:
                self._store(call, place, receive, payload, 0)
            return receive
        call.receives[place] = receive
        offset = offset_in(self._ep.segment, into)
        landing = NOWHERE if offset is None else offset
        call.unsent += 1
        words = (tag, low(landing), high(landing), *call.signature.words)
        self._send(call, place[0], self.collective_ready, *words, of=call)
        return receive

    def charge(self, flops: int, copied: int) -> None:
        """Add work to what this rank's CPU does."""
        if flops or copied:
            self._ep.charge(flops=flops, copied=copied)

    # --------------------------------------------------------------------------------------------------------- sending

    def _send(
        self,
        call: Call | None,
        dest: int,
        handler: Callable[..., None],
        *words: int,
        of: Call,
        payload: memoryview | None = None,
    ) -> None:
        words = (*of.team, of.sequence, *words)
        if payload is None:
            send = partial(self._ep.request_short, dest, handler, *words)
        else:
            send = partial(self._ep.request_medium, dest, handler, payload, *words)
        self._outgoing.append(Sending(call, iter((send,))))

    def _send_large(self, call: Call, place: tuple[int, int], data: memoryview, landing: int) -> None:
        dest, tag = place
        words = (*call.team, call.sequence, tag)

        def longs() -> Iterator[Send]:
            for at in range(0, len(data), self._long):
                part = data[at : at + self._long]
                handler, signature = self.collective_landed, call.signature.words
                yield partial(self._ep.request_long, dest, handler, part, landing + at, *words, *signature)

        def mediums() -> Iterator[Send]:
            for number, at in enumerate(range(0, len(data), self._medium)):
                part = data[at : at + self._medium]
                handler, signature = self.collective_piece, call.signature.words
                yield partial(self._ep.request_medium, dest, handler, part, *words, number, *signature)

        self._outgoing.append(Sending(call, mediums() if landing == NOWHERE else longs()))

    async def progress(self) -> None:
        """Carry on calls that have got what they waited for, and send what they post, one message of each in turn."""
        while self._ready or self._outgoing:
            while self._ready:
                self._advance(self._ready.popleft())
            if self._outgoing:
                # Taken off before the send, during which another task may come here too.
                sending = self._outgoing.popleft()
                await sending.next()
                if sending.more():
                    self._outgoing.append(sending)
                elif sending.call is not None:
                    sending.call.unsent -= 1
                    self._end_if_over(sending.call)

    # ---------------------------------------------------------------------------------------------- carrying calls on

    def _advance(self, call: Call) -> None:
        # Runs the algorithm up to the next receive that has not come; it must not be entered twice.
        if call.is_done or call.steps is None or (call.awaited is not None and not call.awaited.done):
            return
        steps, call.steps = call.steps, None
        try:
            for awaited in steps:
                if not awaited.done:
                    call.awaited, call.steps = awaited, steps
                    return
        except Exception as error:  # of the user's op, or a refused `out`: its caller gets it
            call.error = error
        call.exhausted = True
        self._end_if_over(call)

    def _end_if_over(self, call: Call) -> None:
        if call.is_done or not call.exhausted or (call.unsent and call.error is None):
            return
        box = self._boxes[call.team]
        call.error = call.error or call.work.refused
        result = call.work.result
        if result is not None and call.error is None:
            call.value = result.deliver()
            self.charge(0, result.copied)
        call.is_done = True
        self._events.completed += 1
        fence = box.finish(call)
        while box.waiting and box.may_begin(box.waiting[0].sequence):
            self._start(box, box.waiting.popleft())
        if fence is not None:
            self._fence(box, fence)

    def _fence(self, box: Box, epoch: int) -> None:
        assert box.topology is not None
        signature = sign("fence", "", 0, "")
        call = Call(self, box.identity, box.members, box.topology, box.rank, -1 - epoch, signature, Work())
        self._enter(box, call, "dissemination")

    # ------------------------------------------------------------------------------------------------ what has arrived

    def _mail(self, token: Token, lead: int, count: int, sequence: int, words: tuple[int, ...]) -> Mail | None:
        return self._box(lead, count).mail(self._ep.rank, token.rank, sequence, words)

    def _call(self, lead: int, count: int, sequence: int) -> Call | None:
        return self._boxes[lead, count].calls.get(sequence)

    def _store(
        self, call: Call, place: tuple[int, int], receive: Receive, payload: memoryview | bytes, at: int
    ) -> None:
        receive.take(payload, at)
        self._ep.charge(copied=len(payload))
        self._arrived(call, place, receive)

    def _arrived(self, call: Call, place: tuple[int, int], receive: Receive) -> None:
        if receive.done:
            call.receives.pop(place, None)
            self._wake(call, receive)

    def _wake(self, call: Call, what: Wait) -> None:
        if call.awaited is what:
            self._ready.append(call)
            self._ep.want_progress()

    def collective_head(
        self, token: Token, payload: memoryview, lead: int, count: int, sequence: int, *words: int
    ) -> None:
        """Request: the first message of a broadcast or scatter, with the root's description."""
        mail = self._mail(token, lead, count, sequence, words)
        if mail is None:
            return
        mail.head.words, mail.head.payload, mail.head.done = words, bytes(payload), True
        self._ep.charge(copied=len(payload))
        call = self._call(lead, count, sequence)
        if call is not None:
            self._wake(call, mail.head)

    def collective_data(
        self, token: Token, payload: memoryview, lead: int, count: int, sequence: int, tag: int, *words: int
    ) -> None:
        """Request: small data, which this rank may not have asked for yet."""
        mail = self._mail(token, lead, count, sequence, words)
        if mail is None:
            return
        place, call = (token.rank, tag), self._call(lead, count, sequence)
        receive = None if call is None else call.receives.get(place)
        if call is None or receive is None:
            mail.arrived[place] = bytes(payload)
            self._ep.charge(copied=len(payload))
        else:
            self._store(call, place, receive, payload, 0)

    def collective_ready(
        self,
        token: Token,
        lead: int,
        count: int,
        sequence: int,
        tag: int,
        low_word: int,
        high_word: int,
        *words: int,
    ) -> None:
        """Request: the sender is ready for large data, at this offset of its segment or outside of it."""
        mail = self._mail(token, lead, count, sequence, words)
        if mail is None:
            return
        place, call, landing = (token.rank, tag), self._call(lead, count, sequence), joined(low_word, high_word)
        data = None if call is None else call.held.pop(place, None)
        if call is None or data is None:
            mail.cleared[place] = landing
        else:
            self._send_large(call, place, data, landing)
            self._ep.want_progress()

    def collective_piece(
        self,
        token: Token,
        payload: memoryview,
        lead: int,
        count: int,
        sequence: int,
        tag: int,
        number: int,
        *words: int,
    ) -> None:
        """Request: a piece of large data that this rank has asked for."""
        found = self._asked(token, lead, count, sequence, tag, words)
        if found is not None:
            self._store(*found, payload, number * self._medium)

    def collective_landed(
        self, token: Token, payload: memoryview, lead: int, count: int, sequence: int, tag: int, *words: int
    ) -> None:
        """Request: a piece of large data is in its place in the segment."""
        found = self._asked(token, lead, count, sequence, tag, words)
        if found is not None:
            found[2].arrived(len(payload))
            self._arrived(*found)

    def _asked(
        self, token: Token, lead: int, count: int, sequence: int, tag: int, words: tuple[int, ...]
    ) -> tuple[Call, tuple[int, int], Receive] | None:
        if self._mail(token, lead, count, sequence, words) is None:
            return None
        place, call = (token.rank, tag), self._call(lead, count, sequence)
        return None if call is None else (call, place, call.receives[place])

    def collective_greeting(self, token: Token, lead: int, count: int, sequence: int, *words: int) -> None:
        """Request: the rank before makes this call; nothing follows, unless this rank makes another."""
        self._mail(token, lead, count, sequence, words)
        token.reply_short(self.collective_greeted, lead, count)

    def collective_greeted(self, token: Token, lead: int, count: int) -> None:
        """Reply: the next rank has seen this one's call."""
        self._box(lead, count).greetings -= 1

    # --------------------------------------------------------------------------------------------------- broken teams

    def _break(self, box: Box, sequence: int, text: str) -> None:
        self._broken(box, self._ep.rank, sequence, text)
        data = text.encode()[: self._medium]
        for dest in box.members:
            if dest != self._ep.rank:
                words = (*box.identity, sequence)
                send = partial(self._ep.request_medium, dest, self.collective_broken, data, *words)
                self._outgoing.append(Sending(None, iter((send,))))
        self._ep.want_progress()

    def _broken(self, box: Box, rank: int, sequence: int, text: str) -> None:
        why = (
            f"its collective call {sequence + 1}, {text}, was cancelled on rank {rank} of the job, and the ranks no "
            "longer agree on what comes next; use another team, and keep timeouts away from blocking collectives (a "
            "wait for the handle of an _nb call can be cancelled)"
        )
        for call in box.breaks(Broken(rank, sequence, why)):
            call.error = conduit.ConduitError(f"{call.text}: this team is broken: {why}")
            call.is_done = True
            self._events.completed += 1

    def collective_broken(self, token: Token, payload: memoryview, lead: int, count: int, sequence: int) -> None:
        """Request: a call of a team was cancelled, so that later ones can never end."""
        self._broken(self._box(lead, count), token.rank, sequence, bytes(payload).decode(errors="replace"))
