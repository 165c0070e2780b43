"""Polling on behalf of blocked tasks, and passes over what a poll finds.

While tasks of a rank are blocked its CPU polls, and the simulation finds out when that loop would
notice an arrival instead of running it (rule P5).  A *pass* handles up to 10 messages: take one, run
its handler, send the reply as a chain of events, take the next when the chain has ended (S1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from conduit.contract import Core, Message
from conduit.sim import Cpu, Ending
from conduit.simnet.path import LATER, Path
from conduit.simnet.waiting import Blocked, ForSlot

if TYPE_CHECKING:
    from conduit.simnet.simulated import SimulatedConduit

NEVER = -1
PASS = 10  # messages of one pass (P4)


class PollingLoop:
    """One rank's polls over any number of paths: the part of its port that runs in events.

    Args:
        conduit: the job's conduit.
        rank: the rank.
        core: what arrived messages are handed to.

    Attributes:
        blocked: what the rank's tasks wait for, in the order in which they came.
    """

    __slots__ = (
        "_after_pass", "_alone", "_attention", "_chosen", "_left", "_look_later", "_loop_start", "_miss_ps", "_network",
        "_next", "_notice", "_notice_at", "_pass_over", "_passes", "_take", "_turn", "blocked", "conduit", "core",
        "cpu", "host", "hosts", "kernel", "paths", "rank",
    )  # fmt: skip

    def __init__(self, conduit: SimulatedConduit, rank: int, core: Core) -> None:
        self.conduit = conduit
        self.rank = rank
        self.core = core
        self.kernel = conduit.kernel
        self.cpu = Cpu(self.kernel, rank, self._idle)
        self.paths: list[Path] = []
        self.blocked: list[Blocked] = []
        self.hosts = conduit.setup.hosts
        self.host = self.hosts[rank]
        self._miss_ps = 1
        self._loop_start = 0
        self._notice_at = NEVER
        self._passes = 0
        self._left = 0
        self._turn = 0
        self._alone = True
        self._attention = False  # whether a poll may find something; always true when it would
        self._take: Callable[[], Message | None] = self._take_in_turn
        self._chosen: Blocked | None = None
        self._look_later = False
        # Made once, since every message needs them.
        self._notice, self._pass_over, self._next = self._look, self._pass_over_blocked, self._go_on
        self._after_pass: Callable[[], object] = self._pass_over

    def add_path(self, path: Path) -> None:
        """Add a way for messages; each poll looks at all of them."""
        self.paths.append(path)
        self._network = self.paths[0]
        self._alone = len(self.paths) == 1
        self._take = path.take if len(self.paths) == 1 else self._take_in_turn
        self.recost()

    def recost(self) -> None:
        """Take note that finding nothing costs another time than before."""
        self._miss_ps = max(1_000, sum(each.miss_ps for each in self.paths))

    def path_to(self, dest: int) -> Path:
        """Return the path that messages to `dest` take: the network, or the host's memory."""
        if len(self.paths) == 1 or self.hosts[dest] != self.host:
            return self.paths[0]
        return self.paths[1]

    def notify(self) -> None:
        """A message has become visible: let the polling loop, if one runs, notice it (P5)."""
        self._attention = True
        if self.blocked and self._notice_at < 0 and not self.cpu.busy:
            now, when = self.kernel.now, self._loop_start
            if when < now:  # the first step of the loop that is not before now
                when = now + (when - now) % self._miss_ps
            self._notice_at = when
            self.kernel.call(when, self._notice)

    def resume_pass(self) -> None:
        """Go on with a pass that a path stopped by LATER."""
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
        for blocked in list(self.blocked):
            if blocked.owner is not task and not isinstance(blocked, ForSlot) and blocked.ready():
                self.blocked.remove(blocked)
                self._wake(blocked)

    def fail(self, error: BaseException) -> None:
        """End the job because of `error`."""
        if not isinstance(error, Ending):
            self.kernel.fail(error, self.rank)

    # -- the loop ------------------------------------------------------------------------------

    def _idle(self) -> None:
        """The CPU has nothing else to do: if tasks are blocked, a polling loop begins."""
        if self._look_later:
            self._look_later = False
            if self.cpu.owed:
                self.cpu.pay()
            self._settle()
        if self.blocked:
            free, now = self.cpu.free, self.kernel.now
            self._loop_start = free = free if free > now else now
            if self._attention:
                self._notice_at = free
                self.kernel.call(free, self._notice)
            else:
                self._notice_at = NEVER

    def _look(self) -> None:
        """The polling loop sees that something is there, unless it has been left since."""
        if self._notice_at != self.kernel.now or self.cpu.busy:
            return
        self._notice_at = NEVER
        if self.blocked and self._attention:
            self.cpu.busy = True
            self._begin_pass(self._pass_over)

    def _settle(self) -> None:
        """Let the blocked tasks go on whose wait is over, in order."""
        for blocked in self._take_ready():
            self._wake(blocked)

    def _wake(self, blocked: Blocked) -> None:
        """Every wait returns at `cpu.free` (T3)."""
        if self.cpu.free > self.kernel.now:
            self.kernel.call(self.cpu.free, blocked.wake)
        else:
            blocked.wake()

    def _take_ready(self) -> list[Blocked]:
        """Take out the blocked tasks whose wait is over."""
        ready = [blocked for blocked in self.blocked if blocked.ready()]
        for blocked in ready:
            self.blocked.remove(blocked)
        return ready

    # -- passes --------------------------------------------------------------------------------

    def _begin_pass(self, after: Callable[[], object]) -> None:
        """Begin a pass at the kernel's time, with the CPU taken."""
        self.cpu.free = self.kernel.now + self._miss_ps
        self._attention = False  # what arrives from now on sets it again
        self._passes += 1
        self._left = PASS
        self._after_pass = after
        if self._network.pending():
            self._network.begin_pass()
        if not self._alone and self.paths[1].pending():
            self.paths[1].begin_pass()
        self._go_on()

    def _go_on(self) -> None:
        """Handle messages until one's reply takes time, none is left, or the pass is full."""
        core, kernel, take = self.core, self.kernel, self._take
        local = core.local
        while self._left and not kernel.ending:
            message = local.popleft() if local else take()
            if message is None:
                break
            if message is LATER:
                return
            self._left -= 1
            kernel.user_code, kernel.look = self, True
            if message.source != self.rank:
                self.conduit.messages_handled += 1
            try:
                reply = core.deliver(message)
            except Exception as error:
                self.fail(error)
                return
            if reply is not None:
                self.conduit.messages_sent += 1
                path = self._network if self._alone else self.path_to(message.source)
                path.send_reply(message, reply, self._next)
                return
        else:
            self._attention = True  # the pass is full: there may be more
        self._network.end_pass()
        if not self._alone:
            self.paths[1].end_pass()
        after = self._after_pass
        after()

    def _take_in_turn(self) -> Message | None:
        """Return the next message, from each path in turn so that none is starved."""
        paths = self.paths
        for _ in paths:
            self._turn = (self._turn + 1) % len(paths)
            message = paths[self._turn].take()
            if message is not None:
                return message
        return None

    def _pass_over_blocked(self) -> None:
        """End a pass that was made for blocked tasks: progress or predicates, then the next pass."""
        waiting = self.blocked
        if self.core.progress_due and self._chosen is None and waiting:
            woken = [waiting.pop(0)]
            self._chosen = woken[0]
        elif len(waiting) == 1:  # nearly always
            woken = waiting if waiting[0].ready() else []
            if woken:
                self.blocked = []
        else:
            woken = self._take_ready()
        cpu = self.cpu
        if cpu.turns:
            cpu.release()
        else:
            cpu.busy = False
            if self.blocked or self._look_later:
                self._idle()
        for blocked in woken:
            self._wake(blocked)
