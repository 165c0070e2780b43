"""What blocked tasks of a rank wait for while their rank polls.

There is a class for each kind of wait, because reports say for each what it is for and which ranks can end it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from conduit.contract import Awaited
from conduit.errors import NetworkError
from conduit.sim import Kernel, Waiter
from conduit.simnet.allgather import Allgather
from conduit.simnet.asked import asked
from conduit.simnet.transport import Transport


class Blocked(Waiter):
    """A task that waits, its rank polling, until `ready()`.

    Attributes:
        what: what it waits for, in words.
        since: when the wait began, picoseconds.
        owner: the task; the predicate is evaluated in its context.
        error: what the predicate raised.
        kind: which kind of wait it is.
        place: in the line of the rank's blocked tasks, given when it joins.
    """

    __slots__ = ("error", "kernel", "owner", "place", "since", "what")

    place: int

    kind = Awaited.PREDICATE

    def __init__(self, kernel: Kernel, what: str) -> None:
        self.done = self.shielded = False
        self.task = None
        self.kernel = kernel
        self.what = what
        self.since = kernel.now
        self.owner = kernel.task
        self.error: BaseException | None = None

    def ready(self) -> bool:
        """Return whether the wait is over; where it is for a slot, it takes that."""
        raise NotImplementedError

    def raised(self) -> BaseException | None:
        """Return what `ready` has raised."""
        return self.error

    def peers(self) -> tuple[int, ...]:
        """Return the ranks that it waits for."""
        return ()


class ForPredicate(Blocked):
    """Waits for a predicate of the program."""

    __slots__ = ("predicate", "ranks")

    shielded = False

    def __init__(self, kernel: Kernel, predicate: Callable[[], object], what: str, ranks: Iterable[int] = ()) -> None:
        self.done = False
        self.task = None
        self.kernel = kernel
        self.what = what
        self.since = kernel.now
        self.owner = kernel.task
        self.error = None
        self.predicate = predicate
        self.ranks = ranks

    def ready(self) -> bool:
        """Evaluate the predicate in its own task's context, whichever task runs; an error ends the wait (P3, I4)."""
        owner = self.owner
        try:
            if owner is self.kernel.task or owner is None:
                return bool(self.predicate())
            return bool(owner.context.run(self.predicate))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.error = error
            return True

    def peers(self) -> tuple[int, ...]:
        """Return the ranks that the caller named, or names by now."""
        return tuple(self.ranks)


class RunningRanks(Protocol):
    """What a wait for the end of all mains sees of the job's network.

    Attributes:
        running: ranks that have not returned from main.
    """

    running: int

    def over(self) -> bool:
        """Return whether all ranks have returned and every message has been handled."""


class ForReturn(Blocked):
    """Waits, with its own rank's main over, until those of all other ranks are."""

    __slots__ = ("job",)

    kind = Awaited.RETURN

    def __init__(self, kernel: Kernel, job: RunningRanks) -> None:
        super().__init__(kernel, "the other ranks to return")
        self.job = job

    def ready(self) -> bool:
        """Return whether the job is over: no matter of the program's, so in no context and without errors."""
        job = self.job
        return not job.running and job.over()


class ForSlot(Blocked):
    """Waits for a request slot; slots are granted in the order of asking (P2)."""

    __slots__ = ("dest", "leave", "slot", "transport")

    kind = Awaited.SLOT

    def __init__(self, kernel: Kernel, transport: Transport, dest: int, leave: Callable[[ForSlot], object]) -> None:
        super().__init__(kernel, f"a free request slot to rank {dest}")
        self.leave = leave
        self.transport = transport
        self.dest = dest
        self.slot: Any = None

    def abandon(self) -> None:
        """Leave the queue at once: the cancelled task runs only later, and must not be given a slot until then."""
        super().abandon()
        self.leave(self)

    def ready(self) -> bool:
        """Take a slot if one is free; an error of the network ends the wait too."""
        if self.slot is None:
            try:
                self.slot = self.transport.acquire(self.dest)
            except NetworkError as error:
                self.error = error
                return True
        self.shielded = self.slot is not None  # from the slot on, no cancellation (S2)
        return self.shielded

    def peers(self) -> tuple[int, ...]:
        """Return the ranks that must poll before a slot is free."""
        holders: tuple[int, ...] = asked(self.transport, "slot_holders", self.dest)
        return holders


class ForAllgather(Blocked):
    """Waits for the all-gather of `attach`."""

    __slots__ = ("allgather",)

    kind = Awaited.ATTACH

    def __init__(self, kernel: Kernel, allgather: Allgather) -> None:
        super().__init__(kernel, "every rank to come to attach")
        self.allgather = allgather

    def ready(self) -> bool:
        """Return whether all ranks have come and each has the data of all."""
        return self.allgather.over

    def peers(self) -> tuple[int, ...]:
        """Return the ranks that have not come yet."""
        return self.allgather.missing()
