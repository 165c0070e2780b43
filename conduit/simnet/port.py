"""The port of a simulated network: what a rank's calls do, and how the rank polls while they wait.

A rank has one CPU.  A call takes its turn on it, polls, sends, and gives it back.  While tasks of the rank are blocked
its CPU polls, and the simulation finds out when that loop would notice an arrival instead of running it (rule P5).  A
*pass* handles up to 10 messages: take one, run its handler, send the reply as a chain of events, take the next when
the chain has ended (S1).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from conduit.contract import (
    Bytes,
    Core,
    Hooks,
    JobSetup,
    Message,
    Port,
    Unhandled,
    Wait,
    refuse_coroutine,
    zeros_on_a_page,
)
from conduit.errors import BadRequest, ConduitError
from conduit.sim import Cpu, Ending, Flat, Kernel, Waiter
from conduit.sim.waiter import OWNER, give_way, shielded
from conduit.simnet.allgather import Allgather
from conduit.simnet.asked import asked, untellable
from conduit.simnet.blocked import BlockedQueue
from conduit.simnet.host import HostModel
from conduit.simnet.sending import SendingRequest
from conduit.simnet.transport import LATER, Transport
from conduit.simnet.unended import unended
from conduit.simnet.untold import untold
from conduit.simnet.waiting import Blocked, ForAllgather, ForPredicate, ForReturn, ForSlot
from conduit.trio_private import cancelled, scope
from conduit.words import plain

CALLS = 1000  # after that many calls of a rank siblings and signals get their turn (I3)
REFUSED = 100  # likewise of a job that is ending: few, since what catches all that ends it must be told a hundred times
PASS = 10  # messages of one pass (P4)


class SimulatedNetwork(Protocol):
    """What a port sees of its job's network, which is a `conduit.simnet.SimulatedConduit`.

    Attributes:
        kernel: the job's virtual time.
        setup: the job.
        host_model: what the hosts cost.
        under_way: how many messages ports have sent over transports that have not been handled.
        running: ranks that have not returned from main.
    """

    kernel: Kernel
    setup: JobSetup
    host_model: HostModel
    under_way: int
    running: int

    @property
    def lowest(self) -> Mapping[int, int]:
        """The lowest rank of each host."""

    @property
    def shared_counts(self) -> Mapping[int, Mapping[str, int]]:
        """By host, the counts of parts that its ranks share."""

    def allgather(self, rank: int) -> Allgather:
        """Return the allgather that `rank` comes to next."""

    def start_ticks(self) -> int:
        """Return what start-up costs a rank, picoseconds."""

    def over(self) -> bool:
        """Return whether all ranks have returned and every message has been handled."""


class SimulatedPort(Port):
    """One rank's port over any number of transports.

    Invariants, where no method runs:

    - At most one pass of the rank is under way, and one send.  While either is, the CPU is taken (`cpu.busy`).
    - `_attention` is true whenever a poll would find something.  It may be true for nothing, which costs one look.
    - Where tasks are blocked and the CPU is free, the rank polls.  `_loop_start` is when the loop began.  While
      `_attention` is true, `_notice_at` is the time of the event in which the loop notices something.
    - At most one blocked task is `_chosen`: it runs `core.run_progress()` for the rank, then goes on waiting.
    - Who waits for a slot has been asked since the last pass, but while `_owing`: then progress goes first.

    What the CPU does, and the fields that say so:

        idle       not `cpu.busy`, no task in `blocked`
        polling    not `cpu.busy`, tasks in `blocked`; `_loop_start` is set, `_notice_at` where `_attention` is true
        call       `cpu.busy`, a task holds the turn: a request, a poll, a compute
        pass       `cpu.busy`, begun by `_look` (ends in `_pass_over_blocked`) or in a call (ends in `_sent.wake`)

    Args:
        conduit: the job's conduit.
        rank: the rank.
        core: what arrived messages are handed to.

    Attributes:
        blocked: the rank's tasks that wait.
    """

    __slots__ = (
        "_after_pass", "_attention", "_begin", "_calls", "_chosen", "_end", "_job_scope", "_left", "_local",
        "_look_later", "_loop_start", "_memory", "_miss_ps", "_next", "_no_pass", "_notice", "_notice_at", "_only",
        "_order", "_owing", "_pass_over", "_passes", "_polls", "_run_in_context", "_sending", "_sent", "_shielded",
        "_shielded_at", "_take", "blocked", "conduit", "core", "cpu", "hooks", "host", "hosts", "in_flight", "kernel",
        "ledger", "memory", "rank", "task", "transports", "work",
    )  # fmt: skip

    OBSERVED: ClassVar[tuple[type, ...]] = ()
    """What a port of this class is besides where somebody listens (`conduit.simnet.observed`)."""

    # Of a port that is listened to alone (`conduit.simnet.observed`), and of one that is checked.
    hooks: Hooks
    in_flight: object
    ledger: Any
    work: str

    def __init__(self, conduit: SimulatedNetwork, rank: int, core: Core) -> None:
        self.conduit = conduit
        self.rank = rank
        self.core = core
        self._local = core.local
        self.kernel = conduit.kernel
        self.cpu = Cpu(self.kernel, rank, self._idle)
        self.transports: list[Transport] = []
        self._begin: Callable[[], None] | None = None  # what transports do as a pass begins; None: nothing
        self._end: Callable[[], None] | None = None
        self.blocked = BlockedQueue()
        self.hosts = conduit.setup.hosts
        self.host = self.hosts[rank]
        self._miss_ps = 1  # until the first `add_transport`; not 0, since the polling loop divides by it
        self._loop_start = self._notice_at = 0
        self._passes = 0
        self._left = 0  # messages that the pass may still handle
        # `take` of each transport, that last which has given the last message; beside it the order after it has.
        self._order: list[tuple[Any, Callable[[], Message | None]]] = []
        self._only: Transport | None = None  # the transport, where it is the only one
        self._attention = False  # whether a poll may find something; always true when it would
        self._take: Callable[[], Message | None] = self._take_in_turn
        self._chosen: Blocked | None = None
        self._look_later = False
        self._owing = False
        self.task: object = None
        self._job_scope: object = None
        self._memory = _segment(conduit.setup.segment, conduit.setup.auxiliary)
        self.memory = Flat(self._memory.data)
        """The segment and what is behind it, for transports and the hardware."""
        self._calls = CALLS
        self._polls = 0
        self._shielded = 0  # how many at `_shielded_at`
        self._shielded_at = 0
        self._sent = Waiter()
        self._sent.shielded = True
        self._sending = SendingRequest(self)
        # Made once, since every message needs them.
        self._notice, self._pass_over, self._next = self._look, self._pass_over_blocked, self._go_on
        self._no_pass = self._over_already
        self._after_pass: Callable[[], object] = self._no_pass

    # -- conduit.contract.Port ---------------------------------------------------------------

    @property
    def segment(self) -> Bytes:
        """The memory of this rank's segment, and behind it what is auxiliary."""
        return self._memory

    def release(self) -> None:
        """Hold the memory of the segment no longer; the hardware has it through `memory` alone."""
        self._memory = self._memory[:0].copy()
        self.memory.view = self._memory.data

    def ticks(self) -> int:
        """Return this rank's time in picoseconds."""
        free = self.cpu.free
        now = self.kernel.now
        return free if free > now else now

    async def start(self) -> None:
        """Take the rank's own task; charge what building the queues and connections costs."""
        self._bind()
        await self.compute(self.conduit.start_ticks())

    async def serve(self) -> None:
        """Poll until all ranks have returned and all messages have been handled (E1)."""
        self.conduit.running -= 1
        if self._interrupted():
            await self._enter()
        if not self.conduit.over():
            await self._block(ForReturn(self.kernel, self.conduit))

    async def allgather(self, data: bytes) -> Sequence[bytes]:
        """Meet all ranks; see `conduit.contract.Port.allgather`."""
        allgather = self.conduit.allgather(self.rank)
        try:
            await self._enter()
            allgather.give(self.rank, data)
            await self._block(ForAllgather(self.kernel, allgather))
        except (Exception, Ending, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise ConduitError(
                f"ep.attach: cancelled on rank {self.rank}, so that the others could never leave it; attach outside of "
                "scopes with a timeout"
            ) from error
        return allgather.data()

    async def request(self, dest: int, message: Message) -> None:
        """Poll once, take a slot to `dest`, send; shielded from the slot on (S2)."""
        kernel = self.kernel
        cpu = self.cpu
        if self.blocked:  # what the task did since its last call may be waited for by another
            self.recheck(kernel.task)
        self._calls -= 1
        if self._calls <= 0 or kernel.ending or cancelled(kernel.task):
            await self._enter()
        if cpu.busy:
            await cpu.acquire()
        else:
            cpu.busy = True  # before time advances, as `cpu.acquire` does; `recheck` is then deferred (`_look_later`)
        sending = self._sending
        try:
            if not self._attention and (cpu.free <= kernel.now or kernel.advance(cpu.free)):
                self._polls += 1
                cpu.free = kernel.now + self._miss_ps
                transport = self._only or self.transports[self.hosts[dest] == self.host]
                slot = None if self.blocked and dest in self.blocked.heads else transport.acquire(dest)
                if slot is None:
                    slot = await self._wait_for_slot(transport, dest)
                    sending = self._sending  # while it had no turn another call may have been abandoned with the last
                    cpu.free = max(cpu.free, kernel.now)
                sending.done = False
                transport.send_request(dest, slot, message, sending.over)
                if not sending.done:
                    await kernel.park(sending)
            else:
                sending.begin(dest, message)
                if not sending.done:
                    await kernel.park(sending)
                elif kernel.runnable and kernel.now > sending.began:
                    await self._go_on_with_others()
                if not sending.sent:
                    await self._send_later(sending, dest, message)
        except BaseException:
            # An event may still be due for the one that was abandoned.
            self._sending = SendingRequest(self, sending.network)
            raise
        finally:
            if cpu.turns or self.blocked or self._look_later:
                cpu.release()
            else:
                cpu.busy = False
        self.conduit.under_way += 1

    async def _send_later(self, sending: SendingRequest, dest: int, message: Message) -> None:
        """Send, after its poll, a request that events could not send."""
        if sending.error is not None:
            raise sending.error
        transport = self.transport_to(dest)
        slot = None
        if sending.refused:
            sending.refused = False
        else:
            await self._after_poll()
            slot = None if dest in self.blocked.heads else transport.acquire(dest)
        if slot is None:
            slot = await self._wait_for_slot(transport, dest)
            self.cpu.free = max(self.cpu.free, self.kernel.now)
        sending = self._sending  # as in `request`; the layers above had the turn too
        sending.done = False
        transport.send_request(dest, slot, message, sending.over)
        if not sending.done:
            await self.kernel.park(sending)

    async def poll(self) -> None:
        """Make one pass, or find out that there is nothing."""
        kernel, cpu = self.kernel, self.cpu
        if self.blocked or self._calls <= 0 or kernel.ending or cancelled(kernel.task):
            await self._enter()
        else:
            self._calls -= 1  # as `_enter` does where there is nothing else to do
        if cpu.busy or cpu.free > kernel.now:
            await cpu.acquire()
        else:
            cpu.busy = True
        try:
            self._polls += 1
            if self._attention:
                await self._poll_pass()
            else:
                cpu.charge(self._miss_ps)
            await cpu.finish()
        finally:
            if cpu.turns or self.blocked or self._look_later:
                cpu.release()
            else:
                cpu.busy = False

    def block_until(
        self, predicate: Callable[[], object], what: str, ranks: Iterable[int]
    ) -> Coroutine[Any, Any, None]:
        """Poll until `predicate()`; it is evaluated first, and then nothing is polled if it is true.

        A plain function that returns the coroutine of the wait alone, since a coroutine in a coroutine costs.
        """
        kernel = self.kernel
        if self.blocked:
            self.recheck(kernel.task)
        self._calls -= 1
        if self._calls <= 0 or kernel.ending or cancelled(kernel.task):
            return self._enter_block(predicate, what, ranks)
        result = predicate()
        if not result:
            return self._block(ForPredicate(kernel, predicate, what, ranks))
        if result is not True:
            refuse_coroutine(result, predicate)
        return _nothing()

    async def _enter_block(self, predicate: Callable[[], object], what: str, ranks: Iterable[int]) -> None:
        """Do as `block_until` where the call must begin by more than going on."""
        await self._enter()
        result = predicate()
        if not result:
            await self._block(ForPredicate(self.kernel, predicate, what, ranks))
        elif result is not True:
            refuse_coroutine(result, predicate)

    async def compute(self, ticks: int) -> None:
        """Take the CPU for `ticks`, at least 1 ns (T6)."""
        await self._enter()
        await self.cpu.acquire()
        try:
            self._work(max(ticks, 1_000))
            await self.cpu.finish()
        finally:
            self.cpu.release()

    def _work(self, ticks: int) -> None:
        """Spend time on what the program has asked for, in a turn of its own."""
        self.cpu.charge(ticks)

    def charge(self, ticks: int) -> None:
        """Add `ticks` to what the CPU does now, in a handler; else do it after what it does now (T1)."""
        cpu = self.cpu
        if not cpu.busy:
            cpu.charge(ticks)
            if self.blocked:
                self._idle()  # the polling loop goes on after that
        elif self.core.running:
            cpu.charge(ticks)
        else:
            cpu.pending += ticks
            self._look_later = True

    def work_ticks(self, flops: int, threads: int, copied: int) -> int:
        """Return the cost of local work by the host's model."""
        return self.conduit.host_model.work_ticks(flops, threads, copied)

    async def shielded(self, action: Callable[[], Awaitable[object]]) -> None:
        """Await `action()` shielded from cancellation; what asks for itself again lets no time pass by itself (T6)."""
        now = self.kernel.now
        if now != self._shielded_at:
            self._shielded_at, self._shielded = now, 0
        self._shielded += 1
        if self._shielded >= CALLS:
            self._shielded = 0
            await shielded(self._checkpoint)
        if self._job_scope is not None and scope(self.kernel.task) is self._job_scope:
            await action()  # nothing but the end of the job can cancel it, and against that no shield holds
        else:
            await shielded(action)

    async def leave_if_ending(self) -> None:
        """Leave a job that is ending, as every call does."""
        if self.kernel.ending:
            await self.kernel.checkpoint(1)
            raise Ending

    async def _checkpoint(self) -> None:
        """Give siblings, signals and threads their turn after many calls."""
        await self.kernel.checkpoint(REFUSED if self.kernel.ending else CALLS)
        if self.kernel.ending:
            raise Ending

    def request_pass(self) -> None:
        """Poll again soon although nothing has arrived."""
        self.notify()

    def handler_context(self) -> Callable[..., Any] | None:
        """Return how to enter the rank's own context, unless its own task is the one that runs (I4)."""
        return None if self.kernel.task is self.task else self._run_in_context

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of the port and its transports, on the lowest rank of a host also those of shared parts."""
        counts = {"polls": self._polls, "poll_passes": self._passes}
        for transport in self.transports:
            for name, value in transport.statistics().items():
                counts[name] = counts.get(name, 0) + value
        if self.conduit.lowest[self.host] == self.rank:
            counts |= self.conduit.shared_counts.get(self.host, {})
        return counts

    def waits(self) -> Sequence[Wait]:
        """Return what the tasks of this rank wait for."""
        return [
            Wait(
                blocked.owner,
                blocked.what,
                blocked.since,
                blocked.peers(),
                blocked.ready,
                blocked.kind,
                blocked.raised,
                blocked.predicate if isinstance(blocked, ForPredicate) else None,
            )
            for blocked in self.blocked.everybody()
        ]

    def slots_in_use(self) -> Sequence[str]:
        """Return the slots in use on all transports."""
        return [line for transport in self.transports for line in asked(transport, "slots_in_use")]

    def undelivered(self) -> int:
        """Return how many messages no pass has taken."""
        told: list[int] = [asked(each, "undelivered") for each in self.transports]
        return len(self.core.local) + sum(told)

    def unhandled(self) -> Sequence[Unhandled]:
        """Return what these are."""
        own = [Unhandled(self.rank, message.word) for message in self.core.local]
        return own + [each for transport in self.transports for each in asked(transport, "unhandled")]

    def untellable(self) -> Sequence[str]:
        """Return which methods of transports have failed to tell this."""
        return untellable(self.transports)

    def unended(self) -> tuple[str, str]:
        """Return which part of the network has not done what it must; see `conduit.contract.Port.unended`."""
        return unended(self) if self.cpu.busy else untold(self)

    def fail(self, error: BaseException) -> None:
        """End the job because of `error`."""
        if not isinstance(error, Ending):
            self.kernel.fail(error, self.rank)

    # -- what transports and the launcher use -------------------------------------------------------

    def add_transport(self, transport: Transport) -> None:
        """Add a way for messages; each poll looks at all of them."""
        self.transports.append(transport)
        alone = len(self.transports) == 1
        self._only = self._sending.network = transport if alone else None
        self._take = transport.take
        if not alone:
            self._take = self._take_in_turn
            orders: list[list[tuple[Any, Callable[[], Message | None]]]] = [[] for _ in self.transports]
            takes = [(order, each.take) for order, each in zip(orders, self.transports, strict=True)]
            for index, order in enumerate(orders):
                order += takes[index + 1 :] + takes[: index + 1]
            self._order = orders[0]
        plain = Transport  # what a transport does not define does nothing
        self._begin = _together(
            [each.begin_pass for each in self.transports if type(each).begin_pass is not plain.begin_pass]
        )
        self._end = _together([each.end_pass for each in self.transports if type(each).end_pass is not plain.end_pass])
        self.miss_changed()

    def miss_changed(self) -> None:
        """Take note that finding nothing costs another time than before."""
        self._miss_ps = max(1_000, sum(each.miss_ps for each in self.transports))

    def transport_to(self, dest: int) -> Transport:
        """Return the transport that messages to `dest` take: the network, or the host's memory."""
        if len(self.transports) == 1 or self.hosts[dest] != self.host:
            return self.transports[0]
        return self.transports[1]

    def notify(self) -> None:
        """A message has become visible: let the polling loop, if one runs, notice it (P5)."""
        if self.blocked and not self._attention and not self.cpu.busy:
            now, when = self.kernel.now, self._loop_start
            if when < now:  # the first `_loop_start + k * _miss_ps` that is not before now
                when = now + (when - now) % self._miss_ps
            self._notice_at = when
            self.kernel.call(when, self._notice)
        self._attention = True

    def arrived(self) -> None:
        """As `notify`, in the last act of an event: where nothing else happens before, the pass begins in it."""
        cpu = self.cpu
        if self.blocked and not self._attention and not cpu.busy:
            kernel = self.kernel
            now = kernel.now
            when = self._loop_start
            if when < now:
                when = now + (when - now) % self._miss_ps
            if kernel.advance_event(when):
                cpu.busy = True
                try:
                    self._begin_pass(self._pass_over)
                except KeyboardInterrupt:
                    raise  # it says whose code it broke off by the lines down from the kernel's
                except BaseException as error:  # it is no error of who brings the message (I5)
                    kernel.fail(error, self.rank)
                return
            self._notice_at = when
            kernel.call(when, self._notice)
        self._attention = True

    def interrupt(self, ticks: int) -> int:
        """Take the rank's CPU for an interrupt of `ticks`, in an event; return when it is over, picoseconds.

        A compute goes on after it and lasts longer by as much; so does a polling loop.
        """
        end = self.cpu.interrupt(ticks)
        if self.blocked and not self.cpu.busy:
            self._idle()  # the polling loop begins again after it
        return end

    def close(self) -> None:
        """The job is over: let no timer go on."""
        for transport in self.transports:
            transport.close()

    def resume_pass(self) -> None:
        """Go on with a pass that a transport stopped by LATER."""
        self._go_on()

    def recheck(self, task: object = None) -> None:
        """Look again at what blocked tasks wait for, because another task of the rank has run (P3).

        Slots are not looked at: only passes free them.

        Args:
            task: which one; None for something outside the rank's tasks.
        """
        if self.cpu.busy:
            self._look_later = True
            return
        for blocked in self.blocked.in_order():
            if blocked.owner is not task and not isinstance(blocked, ForSlot) and blocked.ready():
                self.blocked.leave(blocked)
                self._wake(blocked)

    def _bind(self) -> None:
        """Take the running task as the rank's own: its tasks come of it, its handlers run in its context."""
        task = self.kernel.task
        assert task is not None
        OWNER.set(self)
        self._run_in_context = task.context.run
        self.task = task
        self._job_scope = scope(task)  # the program has opened none yet

    # -- calls -----------------------------------------------------------------------------------

    def _interrupted(self) -> bool:
        """Return whether a call must begin by more than going on: `_enter` then (I1, I3).

        The thousandth call of a rank is a full checkpoint whether or not it waits, so that the option `inline` makes no
        difference.  `request` and `block_until` have this in them, since a call in a call costs.
        """
        if self.blocked:  # what the task did since its last call may be waited for by another
            self.recheck(self.kernel.task)
        self._calls -= 1
        return self._calls <= 0 or self.kernel.ending or cancelled(self.kernel.task)

    async def _enter(self) -> None:
        """Begin a call: a cancellation point, and now and then a schedule point."""
        kernel = self.kernel
        if kernel.ending and self._calls > 0:
            self._calls = min(self._calls, REFUSED) - 1
            raise Ending
        if self.blocked:
            self.recheck(kernel.task)
        if self._calls <= 0:
            self._calls = CALLS
            await self._checkpoint()  # when ending too: a task that catches `Ending` in a loop would never yield
        else:
            self._calls -= 1
            await kernel.checkpoint_if_cancelled()

    async def _poll_pass(self) -> None:
        """Make a pass in a call's turn, then what layers above want to send, then predicates."""
        kernel, over = self.kernel, self._sent
        began = kernel.now
        over.done = False
        self._begin_pass(over.wake)
        if not over.done:
            await kernel.wait(over, shielded=True)
        elif kernel.runnable and kernel.now > began:
            await self._go_on_with_others()
        await self._after_poll()

    async def _go_on_with_others(self) -> None:
        """Go on with the tasks that a handler of this call's pass has made ready, in the order of the job's seed (I2).

        For a pass in which time passed at once: with events for it the task would have waited until its end.
        """
        await give_way()
        if self.kernel.ending:
            raise Ending

    async def _after_poll(self) -> None:
        """After a pass in a call's turn: what layers above want to send, then predicates."""
        if self.core.progress_due:
            self._owing = bool(self.blocked.heads)
            await self._progress_in_turn()
        if self.blocked:
            self._settle()

    async def _progress_in_turn(self) -> None:
        """Give the turn away while the layers above send, then take the next."""
        self.cpu.release()
        try:
            await self.core.run_progress()
        finally:
            await self.cpu.acquire(shielded=True)

    async def _wait_for_slot(self, transport: Transport, dest: int) -> Any:
        """Poll until a slot is free; called and returns with the turn taken."""
        if cancelled(self.kernel.task):  # since the call began, while a shielded pass went on
            await self.kernel.checkpoint_if_cancelled()
        if self._owing:
            slot = self._slot_behind_others(transport, dest)
            if slot is not None:
                return slot
        self.cpu.release()
        waiting = ForSlot(self.kernel, transport, dest, self.blocked.leave)
        self.blocked.announce(waiting)
        try:
            await self._block(waiting)
        finally:
            await self.cpu.acquire(shielded=True)
        return waiting.slot

    def _slot_behind_others(self, transport: Transport, dest: int) -> Any:
        """Return a slot that the last pass has freed and that nobody else waits for; those who wait get theirs first.

        Progress that waited behind them for such a slot would wait for ever: they are asked when it is over.  The task
        that it runs in is in no line meanwhile; a slot would be of no use to it before progress is over.
        """
        line = self.blocked
        while (head := line.heads.get(dest)) is not None:
            if head not in line or not head.ready():
                return None
            line.leave(head)
            self._wake(head)
        return transport.acquire(dest)

    # -- blocked tasks -----------------------------------------------------------------------------

    async def _block(self, blocked: Blocked) -> None:
        """Poll until `blocked` is ready."""
        line = self.blocked
        if line:
            line.join(blocked)
        else:
            line[blocked] = None
            if not self.cpu.busy:
                self._idle()
        try:
            if not blocked.done:
                await self.kernel.park(blocked)
            while blocked is self._chosen:
                await self._progress_when_chosen(blocked)
                if not blocked.done:
                    await self.kernel.park(blocked)
        except BaseException:
            self._leave(blocked)
            raise
        if blocked.error is not None:
            raise blocked.error

    async def _progress_when_chosen(self, blocked: Blocked) -> None:
        """Let the layers above send, then go on waiting, in the same place as before."""
        try:
            await self.core.run_progress()
        finally:
            self._chosen = None
        blocked.done = False
        self.blocked.join_first(blocked)
        self._settle()
        if len(self.blocked) == 1 and not self.cpu.busy:
            self._idle()

    def _leave(self, blocked: Blocked) -> None:
        """Take a cancelled task out; what it was chosen for goes to another."""
        self.blocked.leave(blocked)
        if blocked is self._chosen:
            self._chosen = None
            self.notify()

    # -- the loop ------------------------------------------------------------------------------

    def _idle(self) -> None:
        """The CPU has nothing else to do: if tasks are blocked, a polling loop begins."""
        if self._look_later:
            self._look_later = False
            if self.cpu.pending:
                self.cpu.pay()
            self._settle()
        if self.blocked:
            free = self.cpu.free
            now = self.kernel.now
            if free < now:
                free = now
            self._loop_start = free
            if self._attention:
                self._notice_at = free
                self.kernel.call(free, self._notice)

    def _look(self) -> None:
        """Begin a pass, if the polling loop that scheduled this event still runs."""
        cpu = self.cpu
        if self._attention and self._notice_at == self.kernel.now and self.blocked and not cpu.busy:
            cpu.busy = True
            self._begin_pass(self._pass_over)

    def _settle(self) -> None:
        """Let the blocked tasks that are ready go on, in order."""
        self._owing = False
        for blocked in self.blocked.take_ready():
            self._wake(blocked)

    def _wake(self, blocked: Blocked) -> None:
        """Every wait returns at `cpu.free` (T3)."""
        if self.cpu.free > self.kernel.now:
            self.kernel.call(self.cpu.free, blocked.wake)
        else:
            blocked.wake()

    # -- passes --------------------------------------------------------------------------------

    def begin_poll(self, after: Callable[[], object]) -> bool:
        """Poll in a call's turn, the CPU being free: begin a pass that ends with `after()`; False: there is nothing."""
        self._polls += 1
        if self._attention:
            self._begin_pass(after)
            return True
        self.cpu.free = self.kernel.now + self._miss_ps
        return False

    def _begin_pass(self, after: Callable[[], object]) -> None:
        """Begin a pass at the kernel's time, with the CPU taken."""
        self.cpu.free = self.kernel.now + self._miss_ps
        self._attention = False  # what arrives from now on sets it again
        self._passes += 1
        self._left = PASS
        self._after_pass = after
        if self._begin is not None:
            self._begin()
        self._go_on()

    def _go_on(self) -> None:
        """Handle messages until one's reply takes time, none is left, or the pass is full."""
        kernel = self.kernel
        while self._left and not kernel.ending:
            if self._local:
                message: Message | None = self._local.popleft()
                self.conduit.under_way += 1  # no send has counted it
            else:
                message = self._take()
            if not message:
                if message is None:
                    break
                if message is LATER:
                    return
            self._left -= 1
            try:
                reply = self.core.deliver(message)
            except Exception as error:
                self.fail(error if isinstance(message, Message) else self._not_taken(message))
                return
            if kernel.deadlines:  # the handler may have moved one
                kernel.program_ran = True
            if reply is not None:  # as many messages are under way as before
                # As `transport_to`, in which a call would cost.
                transport = self._only or self.transports[self.hosts[message.source] == self.host]
                transport.send_reply(message, reply, self._next)
                return
            self.conduit.under_way -= 1
        else:
            self._attention = True  # the pass is full: there may be more
        if self._end is not None:
            self._end()
        self._after_pass()  # begins no pass of this rank: all that it lets go on does so in events or steps of tasks
        self._after_pass = self._no_pass

    def transport_names(self) -> str:
        """Return the classes of the transports, of which one has made a mistake."""
        return " or ".join(type(transport).__name__ for transport in self.transports)

    def _over_already(self) -> None:
        """A pass ends a second time: what ends a send, or lets a pass go on, was called twice."""
        names = self.transport_names()
        raise ConduitError(
            f"rank {self.rank}, {names}: a pass goes on that is over; send_reply called then() a second time, or "
            "resume_pass() was called twice after one LATER; `python -X dev -m conduit ...` says which"
        )

    def _not_taken(self, found: object) -> ConduitError:
        """Return what is wrong with what a transport has given for a message."""
        names = self.transport_names()
        return ConduitError(f"rank {self.rank}, {names}.take returned {plain(found)}; return a Message, None or LATER")

    def _take_in_turn(self) -> Message | None:
        """Return the next message, from each transport in turn so that none is starved."""
        for order, take in self._order:
            message = take()
            if message is not None:
                self._order = order
                return message
        return None

    def _pass_over_blocked(self) -> None:
        """End a pass that was made for blocked tasks: progress or predicates, then the next pass."""
        waiting = self.blocked
        if waiting.heads or self.core.progress_due:
            self._pass_over_several()
            return
        try:
            (blocked,) = waiting  # nearly always
        except ValueError:
            self._pass_over_several()
            return
        cpu = self.cpu
        # As `_end_turn`, in which a call would cost; where the only wait is over nobody polls.
        if not blocked.ready():
            if cpu.turns:
                cpu.release()
            else:
                cpu.busy = False
                self._idle()
            return
        del waiting[blocked]
        if cpu.turns:
            cpu.release()
        else:
            cpu.busy = False
            if self._look_later:
                self._idle()
        free = cpu.free
        if free > self.kernel.now:  # every wait returns at `cpu.free` (T3)
            self.kernel.call(free, blocked.wake)  # never `soon`: a transport that calls `then()` may go on after it
        else:
            blocked.wake()

    def _pass_over_several(self) -> None:
        """End a pass where several tasks wait, one waits for a slot, or a layer above wants to send."""
        waiting = self.blocked
        if self.core.progress_due and self._chosen is None and waiting:
            self._chosen = waiting.take_first()
            self._owing = bool(waiting.heads)
            woken = [self._chosen]
        else:
            self._owing = False
            woken = waiting.take_ready()
        self._end_turn()
        for blocked in woken:
            self._wake(blocked)

    def _end_turn(self) -> None:
        """Give the CPU to who waits for a turn, else to the polling loop."""
        cpu = self.cpu
        if cpu.turns:
            cpu.release()
        else:
            cpu.busy = False
            if self.blocked or self._look_later:
                self._idle()


def _segment(nbytes: int, auxiliary: int) -> Bytes:
    """Return the memory of a segment; pages that are not written take none of this machine's."""
    try:
        return zeros_on_a_page(nbytes + auxiliary)
    except MemoryError as error:
        raise BadRequest(
            f"segment={nbytes}: this machine has no room for such a segment for every rank ({error}); ask for less"
        ) from None


async def _nothing() -> None:
    """Wait for nothing."""


def _together(methods: Sequence[Callable[[], None]]) -> Callable[[], None] | None:
    """Return what calls all of `methods`, None where there are none."""
    if len(methods) < 2:
        return methods[0] if methods else None

    def every() -> None:
        for method in methods:
            method()

    return every
