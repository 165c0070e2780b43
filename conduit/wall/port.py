"""The port of a network in real time: what a rank's calls do.

A wait is a loop of polls: in its own task first, for a short time, then by the clock, which polls whenever no task can
run (`conduit.wall.clock`).  A network says how messages are posted and taken; nothing of it waits.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import Context
from functools import partial
from time import perf_counter_ns
from typing import Any, Protocol, TypeAlias

import trio

from conduit.contract import (
    Awaited,
    Bytes,
    Core,
    JobSetup,
    Message,
    Port,
    Unhandled,
    Wait,
    refuse_coroutine,
    zeros_on_a_page,
)
from conduit.errors import BadRequest, ConduitError
from conduit.wall.clock import WallClock, WallEnding
from conduit.wall.mistakes import refuse_not_plain, wrong
from conduit.wall.waiting import WallWait

PASS = 10  # messages of one pass (P4)
TRIES = 16  # looks for a message in a wait's own task before its predicate is evaluated again
HARD_NS = 100_000  # of a wait, until it offers the processor to others between its polls
TURN_NS = 1_000_000  # after which a call lets the other tasks of Trio run, whether or not it waits

Posted: TypeAlias = Callable[[], bool] | None
"""Whether what a message was sent from may be reused; None where it may be at once."""


class WallNetwork(Protocol):
    """What a port asks of its network: `conduit.wall.WallConduit`."""

    clock: WallClock
    setup: JobSetup
    returned: int

    def over(self) -> bool:
        """Return whether all ranks have returned and all messages were handled."""
        ...


class WallPort(Port):
    """One rank's port on a network in real time; derive from it and define what is abstract.

    Args:
        network: the job's network.
        rank: the rank.
        core: what arrived messages are handed to.

    Attributes:
        spin_ns: how long a wait polls in its own task, where answers come from other processes.
        sent: messages given to the network, replies and empty ones included.
        handled: messages taken from it and handled.
    """

    def __init__(self, network: WallNetwork, rank: int, core: Core) -> None:
        self.network = network
        self.clock = network.clock
        self.rank = rank
        self.core = core
        self.spin_ns = 0
        self.sent = 0
        self.handled = 0
        self._memory = self.make_segment(network.setup.segment + network.setup.auxiliary)
        self._blocked: list[WallWait] = []
        self._chosen: WallWait | None = None
        self._exchanges = 0  # that have begun and are not over
        self._held: deque[Message] = deque()  # for handlers that an attach which is not over yet brings
        self._polls = 0
        self._turn_over = 0
        self._task: trio.lowlevel.Task | None = None
        self._context: Context | None = None

    def __init_subclass__(cls) -> None:
        """Refuse methods that would wait.

        Raises:
            TypeError: the class has one.
        """
        super().__init_subclass__()
        refuse_not_plain(cls)

    # -- what a network defines; none of it waits --------------------------------------------------

    @abstractmethod
    def take(self) -> Message | None:
        """Return the next message that has arrived, a long one's payload in the segment; None if there is none."""

    @abstractmethod
    def acquire(self, dest: int) -> Any:
        """Take a slot for a request to `dest` and its reply, all that both need; None while there is none."""

    @abstractmethod
    def send_request(self, dest: int, slot: Any, message: Message) -> Posted:
        """Post a request in a slot; a long-async one's payload may be read until its reply."""

    @abstractmethod
    def send_reply(self, request: Message, reply: Message) -> None:
        """Post the reply to `request`, at once: its slot has room for it (S3)."""

    def shorten(
        self,
        take: Callable[[], Message | None],
        send_request: Callable[[int, Any, Message], Posted],
        send_reply: Callable[[Message, Message], None],
    ) -> None:
        """Call these from now on in place of the methods of the same names, which would only hand on to them."""
        self.take = take  # type: ignore[method-assign]
        self.send_request = send_request  # type: ignore[method-assign, assignment]
        self.send_reply = send_reply  # type: ignore[method-assign, assignment]

    @abstractmethod
    def begin_allgather(self, data: bytes) -> Callable[[], Sequence[bytes] | None]:
        """Give `data` to all ranks; return what gives theirs, by rank, None until they are there."""

    def begin_serving(self) -> Callable[[], bool]:
        """Tell all that this rank's main is over; return what tells, after each poll, whether the job is (E1).

        Here for ranks that are tasks of this process, whose counts can be added up.
        """
        self.network.returned += 1
        return self.network.over

    def slot_number(self, slot: Any) -> object:
        """Return what `Message.slot` is at the receiver of what is sent in a slot; one request's at a time.

        It is asked for where somebody listens to messages alone.
        """
        return slot

    def slot_holders(self, dest: int) -> tuple[int, ...]:
        """Return the ranks that must poll before a slot to `dest` is free."""
        return (dest,)

    def make_segment(self, nbytes: int) -> Bytes:
        """Return the memory of the rank's segment, and of what is auxiliary behind it, zeros."""
        try:
            return zeros_on_a_page(nbytes)
        except MemoryError as error:
            raise BadRequest(
                f"segment={nbytes}: this machine has no room for such a segment ({error}); ask for less"
            ) from None

    # -- conduit.contract.Port ---------------------------------------------------------------------

    @property
    def segment(self) -> Bytes:
        """The memory of this rank's segment, and behind it what is auxiliary."""
        return self._memory

    def ticks(self) -> int:
        """Return picoseconds since the start of the job."""
        return self.clock.now

    async def start(self) -> None:
        """Take the rank's own task; a network that has connections to build does that after it."""
        self._task = trio.lowlevel.current_task()
        self._context = self._task.context
        await self._enter()

    async def serve(self) -> None:
        """Poll until all ranks have returned and all messages have been handled."""
        await self._enter()
        over = self.begin_serving()
        if not callable(over):
            raise wrong(self.rank, self, "begin_serving", over, "a function that tells whether the job is over")
        await self._wait(WallWait(self.clock, over, "the other ranks to return", kind=Awaited.RETURN))

    async def allgather(self, data: bytes) -> Sequence[bytes]:
        """Give `data` to all ranks and return theirs; see `conduit.contract.Port.allgather`."""
        self._exchanges += 1
        try:
            await self._enter()
            result = self.begin_allgather(data)
            if not callable(result):
                raise wrong(
                    self.rank,
                    self,
                    "begin_allgather",
                    result,
                    "a function that gives the bytes of all ranks, None until then",
                )
            await self._wait(
                WallWait(self.clock, lambda: result() is not None, "every rank to come to attach", kind=Awaited.ATTACH)
            )
        except (Exception, WallEnding, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise ConduitError(
                f"ep.attach: cancelled on rank {self.rank}, so that the others could never leave it; attach outside of "
                "scopes with a timeout"
            ) from error
        finally:
            self._exchanges -= 1
        tables = result()
        if not isinstance(tables, Sequence) or len(tables) != self.network.setup.ranks:
            wanted = f"the bytes of all {self.network.setup.ranks} ranks, by rank"
            raise wrong(self.rank, self, "begin_allgather(...)", tables, wanted)
        return tables

    async def request(self, dest: int, message: Message) -> None:
        """Poll once, take a slot to `dest`, send; shielded from the slot on (S2)."""
        await self._enter()
        await self._poll_in_turn()
        waiting_too = self._blocked and any(each.dest == dest for each in self._blocked)
        slot = None if waiting_too else self.acquire(dest)
        if slot is None:
            waiting = WallWait(
                self.clock,
                lambda: self.acquire(dest),
                f"a free request slot to rank {dest}",
                self.slot_holders(dest),
                kind=Awaited.SLOT,
                dest=dest,
            )
            (slot,) = await self._wait(waiting)
        posted = self.send_request(dest, slot, message)
        self.sent += 1
        if posted is not None:
            await self._wait_for_source(dest, posted)

    async def _wait_for_source(self, dest: int, posted: Any) -> None:
        """Wait until what a request to `dest` was sent from may be reused."""
        if not callable(posted):
            wanted = "None, or a function that tells whether its source may be reused"
            raise wrong(self.rank, self, "send_request", posted, wanted)
        if not posted():
            await self._wait(
                WallWait(
                    self.clock,
                    posted,
                    f"a request to rank {dest} to be sent",
                    (dest,),
                    kind=Awaited.SENT,
                    shielded=True,
                )
            )

    async def poll(self) -> None:
        """Make one pass."""
        await self._enter()
        await self._poll_in_turn()

    async def block_until(self, predicate: Callable[[], object], what: str, ranks: Iterable[int]) -> None:
        """Poll until `predicate()`; it is evaluated first, and then nothing is polled if it is true."""
        await self._enter()
        result = predicate()
        if not result:
            since = self.clock.now
            result = await self._spin(predicate)
            if not result:
                blocked = WallWait(self.clock, predicate, what, ranks, since=since)
                await self._park(blocked)
                if blocked.error is not None:
                    raise blocked.error
                return
        if result is not True:
            refuse_coroutine(result, predicate)

    async def compute(self, ticks: int) -> None:
        """Return at once: work takes the time that it takes."""
        await self._enter()

    def charge(self, ticks: int) -> None:
        """Do nothing: work takes the time that it takes."""

    def work_ticks(self, flops: int, threads: int, copied: int) -> int:
        """Return 0: nothing need be charged."""
        return 0

    async def shielded(self, action: Callable[[], Awaitable[object]]) -> None:
        """Await `action()` shielded from cancellation."""
        with trio.CancelScope(shield=True):
            await action()

    def fail(self, error: BaseException) -> None:
        """End the job because of `error`."""
        if not isinstance(error, WallEnding):
            self.clock.fail(error, self.rank)

    def request_pass(self) -> None:
        """Do nothing: every poll is a pass."""

    def handler_context(self) -> Callable[..., Any] | None:
        """Return how to enter the rank's own context, unless its own task is the one that runs (I4)."""
        return None if self._context is None or self.clock.task is self._task else self._context.run

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of the port."""
        return {"polls": self._polls}

    def waits(self) -> Sequence[Wait]:
        """Return what the tasks of this rank wait for."""
        return [
            Wait(
                each.owner, each.what, each.since, each.peers(), partial(each.look), each.kind, predicate=each.predicate
            )
            for each in self._blocked
        ]

    def undelivered(self) -> int:
        """Return how many messages to itself no pass has taken; a network adds what it knows to have arrived."""
        return len(self.core.local) + len(self._held)

    def unhandled(self) -> Sequence[Unhandled]:
        """Return what these are; a network adds what it can look at."""
        return [Unhandled(message.source, message.word) for message in (*self.core.local, *self._held)]

    # -- polls ---------------------------------------------------------------------------------------

    async def _enter(self) -> None:
        """Begin a call: a cancellation point always, a schedule point when the last is some time ago (I1, I3)."""
        if perf_counter_ns() >= self._turn_over:
            await trio.lowlevel.checkpoint()
            self._turn_over = perf_counter_ns() + TURN_NS
        elif not self.clock.ending:
            await trio.lowlevel.checkpoint_if_cancelled()
        if self.clock.ending:
            raise WallEnding

    async def leave_if_ending(self) -> None:
        """Leave a job that is ending, as every call does."""
        if self.clock.ending:
            await self._enter()

    async def _poll_in_turn(self) -> None:
        """Make a pass in a call's own task, then what layers above want to send, then predicates."""
        self._pass()
        if self.core.progress_due and not self.clock.ending:
            await self.core.run_progress()
        if self._blocked:
            self._settle()
        if self.clock.ending:
            raise WallEnding

    def _pass(self, tries: int = 1, most: int = PASS) -> None:
        """Handle what has arrived, at most that many messages; look for the first that many times."""
        core, local = self.core, self.core.local
        look = self._next if self._exchanges or self._held else self.take  # most often there is no attach: a call less
        self._polls += 1
        for _ in range(most):
            message = local.popleft() if local else look()
            while message is None and tries > 1:
                tries -= 1
                message = look()
            if message is None or self.clock.ending:
                return
            tries = 1
            try:
                foreign = message.source != self.rank
                reply = core.deliver(message)
            except Exception as error:
                self.fail(
                    error
                    if isinstance(message, Message)
                    else wrong(self.rank, self, "take", message, "a Message, or None")
                )
                return
            if reply is not None:
                self.send_reply(message, reply)
                self.sent += 1
            self.handled += foreign

    def _next(self) -> Message | None:
        """Return the next message that may be handled now."""
        if not self._exchanges:
            return self._held.popleft() if self._held else self.take()
        message = self.take()
        while (
            self._exchanges
            and isinstance(message, Message)
            and not message.is_auto_reply
            and message.handler >= self.core.attached
        ):
            message.payload = bytes(message.payload)  # it may lie in a buffer for what arrives
            self._held.append(message)
            message = self.take()
        return message

    def _settle(self) -> None:
        """Let the blocked tasks that are ready go on, in order."""
        for blocked in list(self._blocked):
            if blocked.look():
                self._blocked.remove(blocked)
                blocked.wake()

    def step(self) -> None:
        """Poll once for the tasks that wait; see `conduit.wall.clock.Poller`."""
        self._pass()
        if self.core.progress_due and self._chosen is None and self._blocked:
            self._chosen = self._blocked.pop(0)
            self._chosen.wake()
        self._settle()

    def let_out(self) -> None:
        """Let every task out of its wait, because the job is ending."""
        for blocked in self._blocked:
            blocked.wake()

    # -- waits ---------------------------------------------------------------------------------------

    async def _wait(self, blocked: WallWait) -> Any:
        """Poll until `blocked` is over; return what it waited for, in a tuple."""
        if not await self._spin(blocked.look):
            await self._park(blocked)
        if blocked.error is not None:
            raise blocked.error
        return blocked.result

    async def _spin(self, ready: Callable[[], object]) -> object:
        """Poll in the task itself until `ready()`, or until that has taken long enough; return what it gave last."""
        tries = TRIES if self.spin_ns else 1
        begun = perf_counter_ns()
        while True:
            self._pass(tries, 1)  # most often it is what is waited for, and another look costs more than `ready`
            if self.core.progress_due and not self.clock.ending:
                await self.core.run_progress()
            if self._blocked:
                self._settle()
            if self.clock.ending:
                raise WallEnding
            result = ready()
            if result:
                return result
            waited = perf_counter_ns() - begun
            if waited >= self.spin_ns:
                return result
            if waited >= HARD_NS:
                os.sched_yield()

    async def _park(self, blocked: WallWait) -> None:
        """Let the clock poll until `blocked` is over."""
        while not blocked.look():
            self._blocked.insert(0 if blocked.begun else len(self._blocked), blocked)
            blocked.begun = True
            self.clock.polling[self] = None
            try:
                await blocked.park()
            finally:
                if blocked in self._blocked:
                    self._blocked.remove(blocked)
                if not self._blocked:
                    self.clock.polling.pop(self, None)
                chosen = blocked is self._chosen
                if chosen:
                    self._chosen = None
            self._turn_over = perf_counter_ns() + TURN_NS
            if self.clock.ending:
                raise WallEnding
            if chosen and self.core.progress_due:
                await self.core.run_progress()
