"""The locks of passive target synchronisation: for each rank of a window one queue, which needs nothing of that rank.

A word of 8 bytes in the segment of the rank that is locked names who is last in the queue; it is changed by atomic
operations alone.  Whoever comes puts itself there, and tells the one before it, who hands on what it has: first that
readers may go, which readers hand on at once, then that all before have left.  It is fair: first come, first served,
shared holders together.

Source: Mellor-Crummey and Scott, "Scalable Reader-Writer Synchronization for Shared-Memory Multiprocessors" (1991), for
queues whose members wait for the one before alone.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import attrs
import trio

if TYPE_CHECKING:
    from collections.abc import Callable

    from conduit import Endpoint, Token
    from extended import Extended

_TICKETS = 1 << 31


class Level(IntEnum):
    """How far a place in a queue has come; the values travel in messages."""

    NONE = 0
    READERS = 1
    """Those before it are readers that may go, or have left."""
    FIRST = 2
    """All before it have left."""


@attrs.frozen
class Next:
    """Who comes after a place.

    Attributes:
        rank: of the job.
        ticket: of its place there.
    """

    rank: int
    ticket: int


@attrs.define(eq=False)
class Node:
    """This rank's place in the queue of one rank of a window.

    Attributes:
        home: rank of the job that is locked.
        word: where in its segment the queue's word is.
        slot: of the window here.
        ticket: of this place.
        shared: whether it is for reading.
        ahead: rank of the job just before it, -1 where there is none.
        level: how far it has come.
        told: what the one behind it has been told.
        left: whether this rank has left it.
        next: who comes after it, as far as is known.
    """

    home: int
    word: int
    slot: int
    ticket: int
    shared: bool
    ahead: int = -1
    level: Level = Level.NONE
    told: Level = Level.NONE
    left: bool = False
    next: Next | None = None

    def granted(self) -> bool:
        """Say whether this rank has the lock."""
        return self.level >= (Level.READERS if self.shared else Level.FIRST)

    def tells(self) -> Level:
        """Return what the one behind it is to know."""
        if self.left and self.level == Level.FIRST:
            return Level.FIRST
        return Level.READERS if self.shared and self.level else Level.NONE


class Locks:
    """One rank's places in all queues.

    Args:
        x: the extended layer.
    """

    def __init__(self, x: Extended) -> None:
        self._ep: Endpoint = x.ep
        self._words = x.atomic("u8")
        self._ticket = 0
        self._nodes: dict[int, Node] = {}  # by ticket
        self._behind: list[Node] = []  # whose next is to be told
        self._last: list[Node] = []  # that all have left, and nobody is known to be behind

    def table(self) -> tuple[Callable[..., None], ...]:
        """Return the handlers in the order in which every rank attaches them."""
        return self.win_behind, self.win_told

    def place(self, slot: int, home: int, word: int, *, shared: bool) -> Node:
        """Return a place that is not in its queue yet.

        Args:
            slot: of the window.
            home: rank of the job that is locked.
            word: where in its segment the queue's word is.
            shared: whether it is for reading.
        """
        self._ticket = (self._ticket + 1) % _TICKETS
        node = self._nodes[self._ticket] = Node(home, word, slot, self._ticket, shared)
        return node

    def left(self, slot: int) -> bool:
        """Say whether this rank has no place in any queue of a window, nor need keep one for those behind it."""
        return not any(node.slot == slot for node in self._nodes.values())

    async def enter(self, node: Node) -> None:
        """Put a place into its queue; it cannot be cancelled, since others would wait for it for ever."""
        with trio.CancelScope(shield=True):
            found = await self._words.swap(node.home, node.word, self._value(node))
            if not found:
                node.level = Level.FIRST
                return
            node.ahead = (found >> 32) - 1
            await self._ep.request_short(node.ahead, self.win_behind, found & 0xFFFF_FFFF, node.ticket)

    def _value(self, node: Node) -> int:
        return self._ep.rank + 1 << 32 | node.ticket

    async def leave(self, node: Node) -> None:
        """Give up a place, whether or not this rank has the lock; it cannot be cancelled."""
        node.left = True
        with trio.CancelScope(shield=True):
            if node.level == Level.FIRST and node.next is None:
                await self._close(node)
            else:
                await self._tell(node)
                await self._ep.poll()

    async def progress(self) -> None:
        """Send what handlers have left to send."""
        while self._behind:
            await self._tell(self._behind.pop())
        while self._last:
            await self._close(self._last.pop())

    async def _tell(self, node: Node) -> None:
        level = node.tells()
        if node.next is not None and level > node.told:
            node.told = level
            if level == Level.FIRST:
                self._drop(node)
            await self._ep.request_short(node.next.rank, self.win_told, node.next.ticket, level)

    async def _close(self, node: Node) -> None:
        if node.next is not None:
            return await self._tell(node)
        mine = self._value(node)
        if await self._words.compare_swap(node.home, node.word, mine, 0) == mine:
            self._drop(node)
        return None  # else somebody has come behind it, and will say so

    def _drop(self, node: Node) -> None:
        self._nodes.pop(node.ticket, None)

    def win_behind(self, token: Token, ticket: int, theirs: int) -> None:
        """Request: a rank stands behind a place of this one; it is told at once what it may know."""
        node = self._nodes[ticket]
        node.next = Next(token.rank, theirs)
        level = node.tells()
        if level > node.told:
            node.told = level
            if level == Level.FIRST:
                self._drop(node)
            token.reply_short(self.win_told, theirs, level)

    def win_told(self, token: Token, ticket: int, level: int) -> None:
        """Request or reply: a place of this rank has come so far."""
        node = self._nodes.get(ticket)
        if node is None or level <= node.level:
            return  # what is older has been overtaken
        node.level = Level(level)
        if node.next is not None:
            self._behind.append(node)
        elif node.left and level == Level.FIRST:
            self._last.append(node)
        else:
            return
        self._ep.want_progress()
