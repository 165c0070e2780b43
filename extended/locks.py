"""Locks of the whole job, each with one queue at its home rank.

A task that wants a lock asks its home.  The home grants it at once, or queues the request and grants it when those
before have released it: first come, first served.  Each request has a ticket, a number of its rank that is not used
again, so that messages which overtake one another cannot be taken for others.

If its task is cancelled, a request is withdrawn by the same message that releases a lock: if the grant has been sent
meanwhile, the message releases the lock.  It is sent only after the home has answered, because messages may overtake
one another and it must not arrive before the request.

Each waiter is told who is ahead of it, for the report of a deadlock.  A grant changes nothing of that; only when the
one ahead gives up, the home tells the next who is ahead of it now.

The home's handlers cannot send.  They list grants and ask for progress, which sends them at that same poll.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar
from zlib import crc32

import attrs
import trio

import conduit
from conduit.words import is_a
from extended import checks
from extended.calls import public
from extended.locks_in_order import LocksInOrder
from extended.outgoing import RequestQueue
from extended.program_lines import program_line
from extended.reporting import RANK, queue_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from conduit import Endpoint, Token
    from extended.reporting import ReportSink

    Waiter = tuple[int, int]  # rank and ticket

_TICKETS = 1 << 31


class LockState(IntEnum):
    """How far a request for a lock has come; `_NEXT` has the transitions.  The first four values travel in answers."""

    ASKED = 0
    QUEUED = 1
    GRANTED = 2
    REFUSED = 3
    ABANDONED = 4  # the task was cancelled before the home had answered; never in an answer
    GONE = 5  # withdrawn, or refused after its task was cancelled; never in an answer


_NEXT = {
    # state, event: the next state, and whether the home must now be told that the request leaves its queue
    (LockState.ASKED, "queued"): (LockState.QUEUED, False),
    (LockState.ASKED, "granted"): (LockState.GRANTED, False),
    (LockState.ASKED, "refused"): (LockState.REFUSED, False),
    (LockState.ASKED, "grant"): (LockState.GRANTED, False),  # has overtaken the answer "queued"
    (LockState.ASKED, "cancel"): (LockState.ABANDONED, False),  # leaving now might overtake the request
    (LockState.QUEUED, "grant"): (LockState.GRANTED, False),
    (LockState.QUEUED, "cancel"): (LockState.GONE, True),
    (LockState.GRANTED, "queued"): (LockState.GRANTED, False),  # the answer that the grant has overtaken
    (LockState.GRANTED, "cancel"): (LockState.GONE, True),
    (LockState.REFUSED, "cancel"): (LockState.GONE, False),
    (LockState.ABANDONED, "queued"): (LockState.GONE, True),
    (LockState.ABANDONED, "granted"): (LockState.GONE, True),
    (LockState.ABANDONED, "refused"): (LockState.GONE, False),
    (LockState.ABANDONED, "grant"): (LockState.ABANDONED, False),  # leaving, after the answer, releases it
}


class LockQueue:
    """A lock that is held, at its home.

    Attributes:
        key: of the lock.
        holder: who has it.
        waiting: who waits for it, in order.
    """

    __slots__ = ("holder", "key", "waiting")

    def __init__(self, key: bytes, holder: Waiter) -> None:
        self.key = key
        self.holder = holder
        self.waiting: dict[Waiter, None] = {}


class LockRequest:
    """A task's request for a lock, where the task is.

    Attributes:
        lock: which.
        ticket: its number on this rank.
        state: how far it has come.
        ahead: of one that is queued, the rank just before it.
        position: and how many are before it, the holder included, when that was said.
        news: how often any of these has changed.
    """

    __slots__ = ("ahead", "lock", "news", "position", "state", "ticket")

    def __init__(self, lock: Lock, ticket: int) -> None:
        self.lock = lock
        self.ticket = ticket
        self.state = LockState.ASKED
        self.ahead = lock.home
        self.position = _TICKETS  # not known yet: greater than any position
        self.news = 0

    @property
    def what(self) -> str:
        """What its task waits for, in words."""
        if self.state == LockState.ASKED:
            return f"{self.lock.title}, whose queue rank {self.ahead} keeps"
        if self.position == 1:
            return self.held
        return f"{self.lock.title} behind rank {self.ahead}, which waits for it too or has it"

    @property
    def held(self) -> str:
        """What it is if the one ahead has the lock."""
        return f"{self.lock.title}, held by rank {self.ahead}"

    def move(self, event: str) -> bool:
        """Go on to the next state; return whether the home must be told that the request leaves."""
        before = self.state
        self.state, leaves = _NEXT[before, event]
        self.news += self.state is not before
        return leaves

    def follows(self, ahead: int, position: int) -> None:
        """Take note of who is ahead.  Positions only decrease: one that is no lower is old, and ignored."""
        if position < self.position:
            self.ahead, self.position = ahead, position
            self.news += 1


@attrs.frozen
class Hold:
    """A lock that a task of this rank holds.

    Attributes:
        lock: which.
        task: who holds it.
        ticket: of the request that was granted.
        place: file and line of the call that took it.
    """

    lock: Lock
    task: trio.lowlevel.Task
    ticket: int
    place: str
    call: str

    @property
    def ended(self) -> bool:
        """Whether its task has ended."""
        return getattr(self.task.coro, "cr_frame", None) is None


class Locks:
    """One rank's part in all locks: those that it wants and holds, and the queues that it keeps.

    Attributes:
        ep: the rank's endpoint.
        outgoing: messages to be sent.
        rank_word: what errors call a rank.

    Args:
        ep: the rank's endpoint.
    """

    rank_word = RANK

    def __init__(self, ep: Endpoint) -> None:
        self.ep = ep
        self._ticket = 0
        self._requests: dict[int, LockRequest] = {}
        self._holds: dict[bytes, Hold] = {}
        # What follows is of the locks whose home is here.
        self._queues: dict[bytes, LockQueue] = {}
        self._places: dict[Waiter, LockQueue] = {}
        self.outgoing = RequestQueue(ep)

    _titles: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] | None = None

    def call_named(self, prefix: str, title: Callable[[str], str], short: Callable[[str], str]) -> None:
        """Let errors and reports call locks whose names begin so as `title` says of the rest of the name.

        Args:
            prefix: what the names begin with.
            title: returns what a lock is called.
            short: returns what a report calls it that has said that.
        """
        self._titles = {**(self._titles or {}), prefix: (title, short)}

    def title(self, key: bytes) -> str:
        """Return what errors and reports call the lock with a key."""
        return self._called(key)[0]

    def _called(self, key: bytes) -> tuple[str, str]:
        """Return what the lock with a key is called at first, and what behind that."""
        name: str | int = key[1:].decode("utf-8", "surrogatepass") if key[:1] == b"s" else int(key[1:], 16)
        if isinstance(name, str):
            for prefix, (title, short) in (self._titles or {}).items():
                if name.startswith(prefix):
                    rest = name.removeprefix(prefix)
                    return title(rest), short(rest)
        return (called := f"lock {checks.shown(name)}"), called

    def table(self) -> tuple[Callable[..., None], ...]:
        """Return the handlers in the order in which every rank attaches them."""
        return self.lock_asked, self.lock_answered, self.lock_granted, self.lock_left, self.lock_follows

    # ----------------------------------------------------------------------------------------------------------- calls

    async def take(self, call: str, lock: Lock, *, wait: bool) -> bool:
        """Ask for a lock, and wait for it or for the answer alone; return whether the running task has it.

        Raises:
            conduit.BadRequest: the running task holds it already.
        """
        task = trio.lowlevel.current_task()
        hold = self._holds.get(lock.key)
        if hold is not None and hold.task is task:
            raise conduit.BadRequest(
                f"{call}: this task holds {lock.title} already, since {hold.place}; release it first, or let the code "
                "that needs it be called with it held"
            )
        request = LockRequest(lock, self._ticket)
        self._ticket = (self._ticket + 1) % _TICKETS
        self._requests[request.ticket] = request
        try:
            await self.ep.request_medium(lock.home, self.lock_asked, lock.key, request.ticket, wait)
        except BaseException:
            del self._requests[request.ticket]
            raise
        try:
            await self._settled(request)
        except trio.Cancelled:
            await self._give_up(request)
            raise
        del self._requests[request.ticket]
        if request.state == LockState.REFUSED:
            return False
        file, line = program_line()
        self._holds[lock.key] = Hold(lock, task, request.ticket, f"{file}:{line}", call)
        return True

    async def _settled(self, request: LockRequest) -> None:
        while request.state in (LockState.ASKED, LockState.QUEUED):
            seen = request.news
            # A wait for each thing that is told, so that the report of a deadlock says what was told last.
            await self.ep.block_until(
                lambda seen=seen: request.news != seen,  # type: ignore[misc]
                what=request.what,
                ranks=(request.ahead,),
            )

    async def _give_up(self, request: LockRequest) -> None:
        leaves = request.move("cancel")
        if request.state == LockState.GONE:
            del self._requests[request.ticket]
        if leaves:
            await self._leave(request.lock.home, request.ticket)

    async def give(self, call: str, lock: Lock) -> None:
        """Release a lock; no cancellation comes before the message is sent.

        Raises:
            conduit.BadRequest: the running task does not hold it.
        """
        hold = self._holds.get(lock.key)
        if hold is None or hold.task is not trio.lowlevel.current_task():
            who = f"no task of this {self.rank_word} holds it"
            if hold is not None:
                who = f"the task that took it at {hold.place} holds it"
            raise conduit.BadRequest(
                f"{call}: this task does not hold {lock.title}, {who}; release it once, in the task that took it"
            )
        del self._holds[lock.key]
        await self._leave(lock.home, hold.ticket)

    async def _leave(self, home: int, ticket: int) -> None:
        # All who wait depend on this message.
        with trio.CancelScope(shield=True):
            await self.ep.request_short(home, self.lock_left, ticket)

    def warn_held(self) -> None:
        """List the locks that are held when this rank's main has returned."""
        for hold in self._holds.values():
            best = "best by `async with`, " if hold.call.endswith("acquire") else ""  # of a lock that can be entered
            self.ep.warn(
                f"{hold.lock.title}, taken at {hold.place}, is still held although main has returned: release it, "
                f"{best}else no {self.rank_word} ever gets it"
            )

    def tell(self, sink: ReportSink) -> None:
        """Tell which locks this rank holds, and who holds and wants those that it keeps."""
        asked = [request.lock.key for request in self._requests.values()]
        for key in {*self._holds, *self._queues, *asked} if self._titles else ():
            title, short = self._called(key)
            if short != title:
                sink.says_once(title, short)
        for hold in self._holds.values():
            ended = ", by a task that has ended" if hold.ended else ""
            sink.note(f"holds {hold.lock.title}, taken at {hold.place}{ended}")
            sink.holds(hold.task, hold.lock.title, hold.place)
            if ended:
                sink.advise(
                    f"the task that took {hold.lock.title} at {hold.place} has ended, and only the task that takes a "
                    "lock can release it: let it do so before it ends"
                )
        wanted = [request for request in self._requests.values() if request.state == LockState.QUEUED]
        for request in wanted:
            sink.wants(request.lock.title, request.what, request.held)
        kept = frozenset(hold.lock.title for hold in self._holds.values() if not hold.ended)
        if kept or wanted:
            sink.clue(LocksInOrder(kept, frozenset(request.lock.title for request in wanted), self.rank_word))
        for queue in self._queues.values():
            if len(queue.waiting) > 1:  # who waits alone knows who has the lock, and says so
                waiting = [rank for rank, _ in queue.waiting]
                held = f"held by rank {queue.holder[0]}"
                sink.note(f"keeps the queue of {self.title(queue.key)}, {held}: {queue_text(waiting)}")

    # ---------------------------------------------------------------------------------------------- handlers: the home

    def lock_asked(self, token: Token, payload: memoryview, ticket: int, wait: int) -> None:
        """Request: grant a lock, or queue the request, or refuse it where it is not to wait."""
        key, place = bytes(payload), (token.rank, ticket)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = LockQueue(key, place)
            self._places[place] = queue
            token.reply_short(self.lock_answered, ticket, LockState.GRANTED)
        elif wait:
            ahead = next(reversed(queue.waiting), queue.holder)
            queue.waiting[place] = None
            self._places[place] = queue
            token.reply_short(self.lock_answered, ticket, LockState.QUEUED, ahead[0], len(queue.waiting))
        else:
            token.reply_short(self.lock_answered, ticket, LockState.REFUSED)

    def lock_left(self, token: Token, ticket: int) -> None:
        """Request: release a lock, or give up waiting for it."""
        place = token.rank, ticket
        queue = self._places.pop(place)
        if queue.holder == place:
            self._pass_on(queue)
        else:
            self._close_up(queue, place)

    def _pass_on(self, queue: LockQueue) -> None:
        if not queue.waiting:
            del self._queues[queue.key]
            return
        queue.holder = next(iter(queue.waiting))
        del queue.waiting[queue.holder]
        rank, ticket = queue.holder
        self._send(rank, self.lock_granted, ticket)

    def _close_up(self, queue: LockQueue, place: Waiter) -> None:
        waiting = [queue.holder, *queue.waiting]
        gone = waiting.index(place)
        del queue.waiting[place]
        if gone + 1 < len(waiting):
            rank, ticket = waiting[gone + 1]
            self._send(rank, self.lock_follows, ticket, waiting[gone - 1][0], gone)

    def _send(self, rank: int, handler: Callable[..., None], *args: int) -> None:
        self.outgoing.add(rank, handler, *args)
        self.outgoing.ask()

    # ------------------------------------------------------------------------------------------- handlers: who wants it

    def lock_answered(self, token: Token, ticket: int, state: int, ahead: int = 0, position: int = 0) -> None:
        """Reply: what the home did with a request."""
        request = self._requests.get(ticket)
        if request is None:
            return  # granted before this answer came, and over
        if request.move(LockState(state).name.lower()):
            self._send(request.lock.home, self.lock_left, ticket)
        if request.state == LockState.GONE:
            del self._requests[ticket]
        elif request.state == LockState.QUEUED:
            request.follows(ahead, position)

    def lock_granted(self, token: Token, ticket: int) -> None:
        """Request: grants a queued request.  If its task has given up, `lock_left` releases the lock."""
        request = self._requests.get(ticket)
        if request is not None:
            request.move("grant")

    def lock_follows(self, token: Token, ticket: int, ahead: int, position: int) -> None:
        """Request: who was ahead has given up; now another rank is."""
        request = self._requests.get(ticket)
        if request is not None:
            request.follows(ahead, position)


def _check_name(name: object, rank_word: str) -> bytes:
    # Return a lock's name as bytes: different ones for different names, the same on all ranks.
    if isinstance(name, str):
        return b"s" + name.encode("utf-8", "surrogatepass")
    if not hasattr(name, "__index__"):
        raise conduit.BadRequest(
            f"lock: name={checks.shown(name)} {is_a(name)}; give a str or an int, the same on all {rank_word}s"
        )
    return b"i%x" % checks.integer("lock", "name", name)


class Lock:
    """A lock of the whole job, known by its name; get it by ``x.lock(name)`` on any rank.

    A task holds it, not a rank: other tasks of the rank wait like those of other ranks.  Use it by
    ``async with lock:``.

    Args:
        locks: the rank's part in all locks.
        name: a str or an int.

    Attributes:
        name: as given.
        key: the name as bytes.
        home: the rank that keeps its queue.

    Raises:
        conduit.BadRequest: another name, or one that is too long for a message.
    """

    _instead: ClassVar = {
        **dict.fromkeys(
            ("lock", "set", "set_lock", "take", "get", "enter", "wait"),
            "write `await lock.acquire()`, or `async with lock:`",
        ),
        **dict.fromkeys(("unlock", "clear", "clear_lock", "unset", "free", "leave"), "write `await lock.release()`"),
        **dict.fromkeys(
            ("locked", "is_locked", "try_lock", "trylock", "test", "test_lock"),
            "write `await lock.try_acquire()`, which takes it if it is free, or says that it is not",
        ),
    }

    def __init__(self, locks: Locks, name: str | int) -> None:
        self._locks = locks
        self.key = _check_name(name, locks.rank_word)
        most = locks.ep.limits.max_medium - 1
        if len(self.key) > most + 1:
            raise conduit.BadRequest(
                f"lock: name has {len(self.key) - 1} bytes; the medium messages of this conduit hold names of at most "
                f"{most}, use a shorter one"
            )
        self.name = name
        self.home = crc32(self.key) % locks.ep.size

    @property
    def title(self) -> str:
        """What errors and reports call it."""
        return self._locks.title(self.key)

    @public(owner="lock")
    async def acquire(self, *, called: str = "") -> None:
        """Wait until the running task has the lock, after all who asked for it before.

        Cancelled, it leaves the queue.

        Args:
            called: of a front end: the call that its user made, as "pe.set_lock", which errors are to name.

        Raises:
            conduit.BadRequest: the running task holds it already.
        """
        await self._locks.take(called or "lock.acquire", self, wait=True)

    @public(owner="lock")
    async def try_acquire(self, *, called: str = "") -> bool:
        """Take the lock if it is free; wait for the answer of its home rank alone.

        Args:
            called: as of `acquire`.

        Returns:
            whether the running task has it now.

        Raises:
            conduit.BadRequest: the running task holds it already.
        """
        return await self._locks.take(called or "lock.try_acquire", self, wait=False)

    @public(owner="lock")
    async def release(self, *, called: str = "") -> None:
        """Release the lock; return when that is sent.  It may wait for a slot of the conduit, and is not cancelled.

        Args:
            called: as of `acquire`.

        Raises:
            conduit.BadRequest: the running task does not hold it.
        """
        await self._locks.give(called or "lock.release", self)

    async def __aenter__(self) -> Lock:
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.release()

    def __repr__(self) -> str:
        return f"<Lock {checks.shown(self.name)} kept by rank {self.home}>"
