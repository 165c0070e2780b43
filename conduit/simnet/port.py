"""The port of a simulated network: what a rank's calls do.

A rank has one CPU.  A call takes its turn on it, polls, sends, and gives it back; what polls find,
and how blocked tasks poll, is the business of `conduit.simnet.polling`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from conduit.contract import Bytes, Core, Message, Port, Wait, refuse_coroutine
from conduit.errors import BadRequest, ConduitError
from conduit.sim import Ending, Waiter
from conduit.sim.trio_private import cancelled, scope
from conduit.sim.waiter import OWNER, shielded
from conduit.simnet.path import Path
from conduit.simnet.polling import PollingLoop
from conduit.simnet.waiting import Blocked, ForMeeting, ForPredicate, ForSlot

if TYPE_CHECKING:
    from conduit.simnet.simulated import SimulatedConduit

CALLS = 1000  # each so many calls of a rank, siblings and signals get their turn (I3)


class SimulatedPort(PollingLoop, Port):
    """One rank's port over any number of paths.

    Args:
        conduit: the job's conduit.
        rank: the rank.
        core: what arrived messages are handed to.
    """

    __slots__ = (
        "_calls", "_job_scope", "_memory", "_polls", "_run_in_context", "_sent", "_shielded", "_shielded_at", "memory",
        "task",
    )  # fmt: skip

    def __init__(self, conduit: SimulatedConduit, rank: int, core: Core) -> None:
        super().__init__(conduit, rank, core)
        self.task: object = None
        self._job_scope: object = None
        self._memory = _segment(conduit.setup.segment)
        self.memory = self._memory.data
        """The segment as bytes, for the hardware."""
        self._calls = CALLS
        self._polls = 0
        self._shielded = 0  # how many at `_shielded_at`
        self._shielded_at = 0
        self._sent = Waiter()
        self._sent.shielded = True

    # -- conduit.contract.Port ---------------------------------------------------------------

    @property
    def segment(self) -> Bytes:
        """The memory of this rank's segment."""
        return self._memory

    def ticks(self) -> int:
        """Return this rank's time in picoseconds."""
        free, now = self.cpu.free, self.kernel.now
        return free if free > now else now

    async def start(self) -> None:
        """Take the rank's own task; charge what building the queues and connections costs."""
        self._bind()
        await self.compute(self.conduit.start_ticks())

    async def serve(self) -> None:
        """Poll until all ranks have returned and all messages have been handled (E1)."""
        self.conduit.running -= 1
        await self.block_until(self.conduit.over, "the other ranks to return", ())

    async def exchange(self, data: bytes) -> Sequence[bytes]:
        """Meet all ranks; see `conduit.contract.Port.exchange`."""
        meeting = self.conduit.meeting(self.rank)
        try:
            await self._enter()
            meeting.give(self.rank, data)
            await self._block(ForMeeting(self, meeting))
        except (Exception, Ending):
            raise
        except BaseException as error:
            raise ConduitError(
                f"ep.attach: cancelled on rank {self.rank}, so that the others could never leave it; attach outside of "
                "scopes with a timeout"
            ) from error
        return meeting.data()

    async def request(self, dest: int, message: Message) -> None:
        """Poll once, take a slot to `dest`, send; shielded from the slot on (S2)."""
        if self._interrupted():
            await self._enter()
        cpu = self.cpu
        if cpu.busy:
            await cpu.acquire()
        else:
            cpu.busy = True  # before time advances, as where the task parks: predicates are then looked at later
            if cpu.free > self.kernel.now and not self.kernel.advance(cpu.free):
                cpu.busy = False
                await cpu.acquire()
        try:
            self._polls += 1
            if self._attention:
                await self._poll_pass()
            else:
                cpu.free = self.kernel.now + self._miss_ps
            path = self._network if self._alone else self.path_to(dest)
            slot = None if self.blocked and self._asked_before(dest) else path.acquire(dest)
            if slot is None:
                slot = await self._wait_for_slot(path, dest)
                cpu.free = max(cpu.free, self.kernel.now)
            sent = self._sent  # a rank is in one send at a time: its CPU is taken
            sent.done = False  # shielded, as all its waits are
            path.send_request(dest, slot, message, sent.wake)
            if not sent.done and not self.kernel.drive(sent):
                await self.kernel.switch(sent)
        finally:
            if cpu.turns or self.blocked or self._look_later:
                cpu.release()
            else:
                cpu.busy = False
        self.conduit.messages_sent += 1

    async def poll(self) -> None:
        """Make one pass, or find out that there is nothing."""
        await self._enter()
        await self.cpu.acquire()
        try:
            self._polls += 1
            if self._attention:
                await self._poll_pass()
            else:
                self.cpu.charge(self._miss_ps)
            await self.kernel.until(self.cpu.free, shielded=True)
        finally:
            self.cpu.release()

    async def block_until(self, predicate: Callable[[], object], what: str, ranks: Iterable[int]) -> None:
        """Poll until `predicate()`; it is evaluated first, and then nothing is polled if it is true."""
        if self._interrupted():
            await self._enter()
        result = predicate()
        if not result:
            await self._block(ForPredicate(self, predicate, what, ranks))
        elif result is not True:
            refuse_coroutine(result)

    async def compute(self, ticks: int) -> None:
        """Take the CPU for `ticks`, at least 1 ns (T6)."""
        await self._enter()
        await self.cpu.acquire()
        try:
            self.cpu.charge(max(ticks, 1_000))
            await self.kernel.until(self.cpu.free, shielded=True)
        finally:
            self.cpu.release()

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
            cpu.owed += ticks
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

    async def _checkpoint(self) -> None:
        """Give siblings, signals and threads their turn after many calls."""
        await self.kernel.checkpoint(CALLS)
        if self.kernel.ending:
            raise Ending

    def nudge(self) -> None:
        """Poll again soon although nothing has arrived."""
        self.notify()

    def handler_context(self) -> Callable[..., Any] | None:
        """Return how to enter the rank's own context, unless its own task is the one that runs (I4)."""
        return None if self.kernel.task is self.task else self._run_in_context

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of the port and of its paths, on the lowest rank of a host also those of shared parts."""
        counts = {"polls": self._polls, "poll_passes": self._passes}
        for path in self.paths:
            for name, value in path.statistics().items():
                counts[name] = counts.get(name, 0) + value
        if self.conduit.lowest[self.host] == self.rank:
            counts |= self.conduit.shared_counts.get(self.host, {})
        return counts

    def waits(self) -> Sequence[Wait]:
        """Return what the tasks of this rank wait for."""
        return [
            Wait(blocked.owner, blocked.what, blocked.since, blocked.peers(), blocked.ready) for blocked in self.blocked
        ]

    def occupied(self) -> Sequence[str]:
        """Return the slots in use on all paths."""
        return [line for path in self.paths for line in path.occupied()]

    def undelivered(self) -> int:
        """Return how many messages no pass has taken."""
        return len(self.core.local) + sum(path.undelivered() for path in self.paths)

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

        The thousandth call of a rank is a full checkpoint whether or not it waits, so that inline
        driving makes no difference.
        """
        if self.blocked:  # what the task did since its last call may be waited for by another
            self.recheck(self.kernel.task)
        self._calls -= 1
        return self._calls <= 0 or self.kernel.ending or cancelled(self.kernel.task)

    async def _enter(self) -> None:
        """Begin a call: a cancellation point, and now and then a schedule point."""
        kernel = self.kernel
        if kernel.ending and self._calls > 0:
            self._calls -= 1
            raise Ending
        if self.blocked:
            self.recheck(kernel.task)
        if self._calls <= 0:
            self._calls = CALLS
            await self._checkpoint()  # when ending too: who catches what ends its calls would never let go
        else:
            self._calls -= 1
            await kernel.checkpoint_if_cancelled()

    async def _poll_pass(self) -> None:
        """Make a pass in a call's turn, then what layers above want to send, then predicates."""
        over = self._sent
        over.done = False
        self._begin_pass(over.wake)
        if not over.done:
            await self.kernel.wait(over, shielded=True)
        if self.core.progress_due:
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

    def _asked_before(self, dest: int) -> bool:
        """Return whether another task waits for a slot to `dest` already."""
        return any(isinstance(blocked, ForSlot) and blocked.dest == dest for blocked in self.blocked)

    async def _wait_for_slot(self, path: Path, dest: int) -> Any:
        """Poll until a slot is free; called and returns with the turn taken."""
        if cancelled(self.kernel.task):  # since the call began, while a shielded pass went on
            await self.kernel.checkpoint_if_cancelled()
        self.cpu.release()
        waiting = ForSlot(self, path, dest)
        try:
            await self._block(waiting)
        finally:
            await self.cpu.acquire(shielded=True)
        return waiting.slot

    # -- blocked tasks -----------------------------------------------------------------------------

    async def _block(self, blocked: Blocked) -> None:
        """Poll until `blocked` is ready."""
        self.blocked.append(blocked)
        if len(self.blocked) == 1 and not self.cpu.busy:
            self._idle()
        again = False
        while True:
            try:
                # What is cancelled since the call began, while progress was made, must not drive: it would go on.
                if not blocked.done and ((again and cancelled(self.kernel.task)) or not self.kernel.drive(blocked)):
                    await self.kernel.switch(blocked)
            except BaseException:
                self._leave(blocked)
                raise
            if blocked is not self._chosen:
                break
            await self._progress_when_chosen(blocked)
            again = True
        if blocked.error is not None:
            raise blocked.error

    async def _progress_when_chosen(self, blocked: Blocked) -> None:
        """Let the layers above send, then go on waiting, first in the line as before."""
        try:
            await self.core.run_progress()
        finally:
            self._chosen = None
        blocked.done = False
        self.blocked.insert(0, blocked)
        self._settle()
        if len(self.blocked) == 1 and not self.cpu.busy:
            self._idle()

    def _leave(self, blocked: Blocked) -> None:
        """Take a cancelled task out; what it was chosen for goes to another."""
        if blocked in self.blocked:
            self.blocked.remove(blocked)
        if blocked is self._chosen:
            self._chosen = None
            self.notify()


def _segment(nbytes: int) -> Bytes:
    """Return the memory of a segment; pages that nobody writes to take none of this machine's."""
    try:
        return np.zeros(nbytes, np.uint8)
    except (MemoryError, ValueError) as error:
        raise BadRequest(
            f"segment={nbytes}: this machine has no room for such a segment for every rank ({error}); ask for less"
        ) from None
