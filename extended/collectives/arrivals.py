"""The handlers of collective calls: what a rank does when their messages arrive.

They store what has come where it belongs, and mark the calls that have got what they waited for.  Handlers cannot send
requests: so calls go on in the progress pass of the same poll (`want_progress`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from extended.handlers import joined

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from conduit import Endpoint, Token
    from extended.collectives.call import CollectiveCall, CollectiveWait, PostedReceive, UnexpectedMessages
    from extended.collectives.send_queue import SendQueue
    from extended.collectives.signature import CollectiveMismatch
    from extended.collectives.team_calls import TeamCalls, TeamTable


class CallProgress(Protocol):
    """What carries calls on: the engine.

    Attributes:
        ready: the calls that can go on.
    """

    ready: deque[CollectiveCall]

    def broken(self, team_calls: TeamCalls, sequence: int, why: str) -> None:
        """Take note that a team is broken."""


class Arrivals:
    """The handlers of one rank.

    Attributes:
        mismatch: of a call that this rank has begun, which ends the job.

    Args:
        ep: its endpoint.
        team_table: its teams.
        send_queue: what it has to send.
        carrier: carries its calls on.
    """

    def __init__(self, ep: Endpoint, team_table: TeamTable, send_queue: SendQueue, carrier: CallProgress) -> None:
        self._ep = ep
        self._team_table = team_table
        self._send_queue = send_queue
        self._carrier = carrier
        self.mismatch: CollectiveMismatch | None = None

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

    def table_of_staging(self) -> tuple[Callable[..., None], ...]:
        """Return the handlers for data that lands behind the segment."""
        return (self.collective_staged, self.collective_taken)

    def _unexpected(
        self, token: Token, lead: int, count: int, sequence: int, words: tuple[int, ...]
    ) -> UnexpectedMessages | None:
        return self._team_table.find(lead, count).unexpected(self._ep.rank, token.rank, sequence, words)

    def _call(self, lead: int, count: int, sequence: int) -> CollectiveCall | None:
        return self._team_table.find(lead, count).calls.get(sequence)

    def _store(
        self, call: CollectiveCall, place: tuple[int, int], receive: PostedReceive, payload: memoryview | bytes, at: int
    ) -> None:
        receive.take(payload, at)
        self._ep.charge(copied=len(payload))
        self._arrived(call, place, receive)

    def _arrived(self, call: CollectiveCall, place: tuple[int, int], receive: PostedReceive) -> None:
        if receive.done:
            call.receives.pop(place, None)
            self._wake(call, receive)

    def _wake(self, call: CollectiveCall, what: CollectiveWait) -> None:
        if call.awaited is what:
            self._carrier.ready.append(call)
            self._ep.want_progress()

    def collective_head(
        self, token: Token, payload: memoryview, lead: int, count: int, sequence: int, *words: int
    ) -> None:
        """Request: the first message of a broadcast or scatter, with the root's description or a piece of it."""
        unexpected = self._unexpected(token, lead, count, sequence, words)
        if unexpected is None:
            return
        unexpected.head.take(words, payload)
        self._ep.charge(copied=len(payload))
        call = self._call(lead, count, sequence)
        if call is not None and unexpected.head.done:
            self._wake(call, unexpected.head)

    def collective_data(
        self, token: Token, payload: memoryview, lead: int, count: int, sequence: int, tag: int, *words: int
    ) -> None:
        """Request: small data (eager), which is kept as unexpected where this rank has no receive for it yet."""
        unexpected = self._unexpected(token, lead, count, sequence, words)
        if unexpected is None:
            return
        place, call = (token.rank, tag), self._call(lead, count, sequence)
        receive = None if call is None else call.receives.get(place)
        if call is None or receive is None:
            unexpected.arrived[place] = bytes(payload)
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
        """Request: a clear to send (CTS).

        Its sender is ready for large data, at this offset of its segment or outside.
        """
        unexpected = self._unexpected(token, lead, count, sequence, words)
        if unexpected is None:
            return
        place, call, landing = (token.rank, tag), self._call(lead, count, sequence), joined(low_word, high_word)
        data = None if call is None else call.held.pop(place, None)
        if call is None or data is None:
            unexpected.cleared[place] = landing
        else:
            self._send_queue.send_large(call, place, data, landing)
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
            self._store(*found, payload, number * self._send_queue.medium_bytes)

    def collective_landed(
        self, token: Token, payload: memoryview, lead: int, count: int, sequence: int, tag: int, *words: int
    ) -> None:
        """Request: a piece of large data is in its place in the segment."""
        found = self._asked(token, lead, count, sequence, tag, words)
        if found is not None:
            found[2].arrived(len(payload))
            self._arrived(*found)

    def collective_staged(
        self,
        token: Token,
        payload: memoryview,
        lead: int,
        count: int,
        sequence: int,
        tag: int,
        part: int,
        slot: int,
        *words: int,
    ) -> None:
        """Request: a part of large data is in a slot.

        The reply lets the sender fill that slot again, if parts are left.
        """
        staging = self._send_queue.staging
        found = self._asked(token, lead, count, sequence, tag, words)
        if found is None:
            staging.give_back(slot)
            return
        receive = found[2]
        assert receive.window is not None
        self._store(*found, payload, part * staging.slot_bytes)
        if (part + receive.window.slots) * staging.slot_bytes < len(receive.into):
            token.reply_short(self.collective_taken, lead, count, sequence, tag, part)
        else:
            staging.give_back(slot)

    def collective_taken(self, token: Token, lead: int, count: int, sequence: int, tag: int, part: int) -> None:
        """Reply: a part has been copied out of its slot, into which the next one may come."""
        place, call = (token.rank, tag), self._call(lead, count, sequence)
        if call is not None and place in call.staged:
            self._send_queue.send_next(call, place, part)
            self._ep.want_progress()

    def _asked(
        self, token: Token, lead: int, count: int, sequence: int, tag: int, words: tuple[int, ...]
    ) -> tuple[CollectiveCall, tuple[int, int], PostedReceive] | None:
        if self._unexpected(token, lead, count, sequence, words) is None:
            return None
        place, call = (token.rank, tag), self._call(lead, count, sequence)
        return None if call is None else (call, place, call.receives[place])

    def collective_greeting(self, token: Token, lead: int, count: int, sequence: int, *words: int) -> None:
        """Request: a rank makes this call; nothing follows, unless this one makes another."""
        self._unexpected(token, lead, count, sequence, words)
        token.reply_short(self.collective_greeted, lead, count)

    def collective_greeted(self, token: Token, lead: int, count: int) -> None:
        """Reply: a rank has seen this one's call."""
        self._team_table.find(lead, count).greeted.remove(token.rank)

    def collective_broken(self, token: Token, payload: memoryview, lead: int, count: int, sequence: int) -> None:
        """Request: a call of a team was cancelled or has failed, so that those after call `sequence` can never end.

        From this rank itself: `mismatch` is to end the job.
        """
        if self.mismatch is not None:
            raise self.mismatch
        team_calls = self._team_table.find(lead, count)
        why = team_calls.why_broken(token.rank, bytes(payload).decode(errors="replace"))
        self._carrier.broken(team_calls, sequence, why)
