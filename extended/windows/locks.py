"""The locks of passive target synchronisation, which need nothing of the rank that is locked.

Each rank has two words of 8 bytes in its segment that are changed by atomic operations alone.  One counts those that
have the lock together, and names the rank that wants it alone.  The other names the last in a queue of those that have
to wait.  A task that finds no rank named takes a share at once.  All others stand in the queue, and each is told by the
one before when it is the first.  Then it takes its share and leaves the queue.  Or, to have the lock alone, it names
itself, waits for those that have shares, the last of which tells it, and leaves the queue when it unlocks.

Source: Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors" (1991), for
the queue, whose members wait for a message of the one before and for nothing in the memory of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import trio

from extended.locks_in_order import LocksInOrder
from extended.reporting import RANK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conduit import Endpoint, Token
    from extended import Extended
    from extended.reporting import ReportSink

WORDS = 16
"""Bytes that a lock has in a segment: the word of its shares, and that of its queue."""

_QUEUE = 8  # where the second one is
_TICKETS = 1 << 31
_SHARES = (1 << 32) - 1  # of the first word; above is 1 more than the rank that wants the lock alone


@attrs.define(eq=False)
class WindowHold:
    """This rank's lock of one rank of a window, wanted or had.

    Attributes:
        home: rank of the job that is locked.
        word: where in its segment the words are.
        slot: of the window here.
        shared: whether others may have it too.
        window: what the window is called in reports.
        taken: file and line of the call, for the report of a deadlock.
        task: that has made it.
        held: whether this rank has it.
        place: in the queue, while it has one.
    """

    home: int
    word: int
    slot: int
    shared: bool
    window: str = "a window"
    taken: str = ""
    task: trio.lowlevel.Task | None = None
    held: bool = False
    place: Place | None = None

    @property
    def title(self) -> str:
        """What reports call it, on all ranks the same."""
        return f"the lock of rank {self.home}'s part of {self.window}"


@attrs.define(eq=False)
class Place:
    """This rank's place in the queue of a lock.

    Attributes:
        hold: what it is for.
        ticket: its number on this rank.
        ahead: rank of the job just before it, -1 where there is none.
        first: whether all before it have left.
        left: whether this rank has left it.
        next: rank of the job just behind it and its ticket there, as far as is known.
        drained: whether somebody has said that the last share was given back.
        wait: what its task waits for in words, while it is not known for whom.
    """

    hold: WindowHold
    ticket: int
    ahead: int = -1
    first: bool = False
    left: bool = False
    next: tuple[int, int] | None = None
    drained: bool = False
    wait: str = ""


class WindowLocksInOrder(LocksInOrder):
    """The locks of windows, beside which a rank may have others."""


class WindowLocks:
    """One rank's part in all locks.

    Args:
        x: the extended layer.
    """

    def __init__(self, x: Extended) -> None:
        self._ep: Endpoint = x.ep
        self._words = x.atomic("u8", told=False)
        self._ticket = 0
        self._had: list[WindowHold] = []
        self._places: dict[int, Place] = {}  # by ticket
        self._waiting: dict[tuple[int, int], Place] = {}  # the first of its queue, by home and word, until it unlocks
        self._ending: list[Place] = []  # given up, and told since that they are the first

    def table(self) -> tuple[Callable[..., None], ...]:
        """Return the handlers in the order in which every rank attaches them."""
        return self.win_behind, self.win_first, self.win_drained

    def unused(self, slot: int) -> bool:
        """Say whether this rank has no place in any queue of a window, given up ones included."""
        return not any(place.hold.slot == slot for place in self._places.values())

    def given_up(self, slot: int) -> tuple[str, list[int]]:
        """Return for which cancelled Locks this rank is still in queues of a window, as text, and behind whom."""
        behind = [
            place for place in self._places.values() if place.hold.slot == slot and place.left and not place.first
        ]
        texts = [
            f", for its Lock of rank {place.hold.home} that was cancelled, queued behind rank {place.ahead}"
            for place in behind
        ]
        return "".join(texts[:1]), [place.ahead for place in behind]

    # ----------------------------------------------------------------------------------------------- taking and giving

    def tell(self, sink: ReportSink, windows: Mapping[str, int]) -> None:
        """Tell which locks this rank has, and which it waits for.

        Args:
            sink: who is told.
            windows: how many windows of this rank are called the same in reports; locks of such cannot be told apart.
        """
        for hold in self._had:
            shared = "shared" if hold.shared else "exclusive"
            sink.note(f"holds the {shared} lock of rank {hold.home}'s part of {hold.window}, taken at {hold.taken}")
            if hold.task is not None and windows[hold.window] == 1:
                sink.holds(hold.task, hold.title, hold.taken)
        waiting = [place for place in self._places.values() if not (place.left or place.hold.held)]
        for place in waiting:
            if windows[place.hold.window] == 1:
                sink.wants(place.hold.title, place.wait)
        held = frozenset(hold.title for hold in self._had)
        if held or waiting:
            sink.clue(WindowLocksInOrder(held, frozenset(place.hold.title for place in waiting), RANK))

    def _have(self, hold: WindowHold) -> None:
        hold.held = True
        self._had.append(hold)

    async def take(self, hold: WindowHold, what: str) -> None:
        """Take a lock, and wait until this rank has it; cancelled, it leaves the queue.

        What others depend on cannot be cancelled: changes of the words, and what is told.

        Args:
            hold: the lock.
            what: the call, for the report of a deadlock.
        """
        if hold.shared and await self._share(hold):
            self._have(hold)
            return
        place = await self._enter(hold)
        try:
            if not place.first:
                behind = f"{what} of rank {hold.home}, in the queue behind rank {place.ahead}"
                await self._ep.block_until(lambda: place.first, what=behind, ranks=(place.ahead,))
        except trio.Cancelled:
            await self._leave(place)
            raise
        if hold.shared:
            await self._share(hold)
            await self._leave(place)
        else:
            await self._alone(place, what)
            hold.place = place
        self._have(hold)

    async def give(self, hold: WindowHold) -> None:
        """Give a lock back that this rank has."""
        hold.held = False
        self._had.remove(hold)
        place = hold.place
        if place is None:
            await self._unshare(hold)
        else:
            await self._say(place, -1)
            await self._leave(place)

    async def _share(self, hold: WindowHold) -> bool:
        """Take a share, unless a rank wants the lock alone; return whether this rank has one."""
        with trio.CancelScope(shield=True):
            if not await self._words.fetch_add(hold.home, hold.word, 1) >> 32:
                return True
        await self._unshare(hold)
        return False

    async def _unshare(self, hold: WindowHold) -> None:
        with trio.CancelScope(shield=True):
            before = await self._words.fetch_sub(hold.home, hold.word, 1)
            if before >> 32 and before & _SHARES == 1:
                words = hold.home, hold.word & 0xFFFF_FFFF, hold.word >> 32
                await self._ep.request_short((before >> 32) - 1, self.win_drained, *words)

    async def _alone(self, place: Place, what: str) -> None:
        """Say that this rank wants the lock alone, and wait until no shares are left; cancelled, it gives that up."""
        hold = place.hold
        self._waiting[hold.home, hold.word] = place
        shares = await self._say(place, 1)
        try:
            while shares:
                place.wait = others = f"{what} of rank {hold.home}, until those that share it unlock"
                await self._ep.block_until(lambda: place.drained, what=others)
                place.drained = False
                # What was said may be about a share that was taken and given back at once: looked at again.
                with trio.CancelScope(shield=True):
                    shares = await self._words.get(hold.home, hold.word) & _SHARES
        except trio.Cancelled:
            await self._say(place, -1)
            await self._leave(place)
            raise

    async def _say(self, place: Place, sign: int) -> int:
        """Say that this rank wants the lock alone, or does no longer; return how many share it."""
        hold = place.hold
        with trio.CancelScope(shield=True):
            wish = sign * (self._ep.rank + 1 << 32)
            before: int = await self._words.fetch_add(hold.home, hold.word, wish)
        if sign < 0:
            self._waiting.pop((hold.home, hold.word), None)
        return before & _SHARES

    # ------------------------------------------------------------------------------------------------------- the queue

    async def _enter(self, hold: WindowHold) -> Place:
        """Stand in the queue."""
        self._ticket = (self._ticket + 1) % _TICKETS
        place = self._places[self._ticket] = Place(hold, self._ticket)
        with trio.CancelScope(shield=True):
            found = await self._words.swap(hold.home, hold.word + _QUEUE, self._name(place))
            if found:
                place.ahead = (found >> 32) - 1
                await self._ep.request_short(place.ahead, self.win_behind, found & 0xFFFF_FFFF, place.ticket)
            else:
                place.first = True
        return place

    def _name(self, place: Place) -> int:
        return self._ep.rank + 1 << 32 | place.ticket

    async def _leave(self, place: Place) -> None:
        """Leave the queue; who is not the first yet does so when it is told."""
        place.left = True
        if not place.first:
            return
        with trio.CancelScope(shield=True):
            if place.next is None:
                last = place.hold.home, place.hold.word + _QUEUE, self._name(place)
                if await self._words.compare_swap(*last, 0) == last[2]:
                    del self._places[place.ticket]
                    return
            if place.next is not None and self._places.pop(place.ticket, None) is not None:
                await self._ep.request_short(place.next[0], self.win_first, place.next[1])
            # Else somebody has come behind it, whose message tells who, and is answered.

    async def progress(self) -> None:
        """Do what handlers have left to do."""
        while self._ending:
            await self._leave(self._ending.pop())

    def win_behind(self, token: Token, ticket: int, theirs: int) -> None:
        """Request: a rank stands behind a place of this one."""
        place = self._places[ticket]
        place.next = token.rank, theirs
        if place.left and place.first:
            del self._places[ticket]
            token.reply_short(self.win_first, theirs)

    def win_first(self, token: Token, ticket: int) -> None:
        """Request or reply: all before a place of this rank have left."""
        place = self._places[ticket]
        place.first = True
        if place.left:
            self._ending.append(place)
            self._ep.want_progress()

    def win_drained(self, token: Token, home: int, low: int, high: int) -> None:
        """Request: the last share of a lock was given back that this rank wanted alone, when that was looked at."""
        place = self._waiting.get((home, low & 0xFFFF_FFFF | (high & 0xFFFF_FFFF) << 32))
        if place is not None:
            place.drained = True
