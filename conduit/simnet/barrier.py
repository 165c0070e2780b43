"""Barriers that a simulated network has of its own: it says how long they take, the rest is here.

A rank arrives by its processor's access to the network, and goes on.  What follows when the last one has arrived is up
to the hardware alone; ranks see it in a poll.  So an arrival is no operation that the end of a job waits for, nor
`quiet`: where a rank does not come, that is a matter of the program's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from conduit.errors import ConduitError
from conduit.sim import Kernel

BarrierName = tuple[int, int]
"""What all ranks call a barrier by; they are independent of each other."""
Told = Callable[[bool], object]
"""Is called when the rank can see that all have arrived, with whether some rank has arrived with the mark."""


class HardwareBarrier(ABC):
    """What a network's own barriers take: it carries a mark beside, and nothing else.

    Attributes:
        access_ps: for how long a rank's CPU is busy when it arrives, picoseconds.
    """

    access_ps: int

    @abstractmethod
    def seen(self, arrived: Sequence[int]) -> Sequence[int]:
        """Return when each rank can see that all have arrived, by rank, picoseconds.

        Args:
            arrived: when each rank has, by rank; the last one now.
        """


class _Meeting:
    """One barrier, from its first arrival to its last."""

    def __init__(self, ranks: int) -> None:
        self.arrived = [-1] * ranks
        self.left = ranks
        self.marked = False
        self.told: list[Told | None] = [None] * ranks


class Meetings:
    """The network's own barriers of a job, of all its ranks.

    Args:
        kernel: of the job.
        ranks: how many.
        hardware: says what they take.
        all_arrived: is called when the last rank arrives at one.
    """

    def __init__(
        self, kernel: Kernel, ranks: int, hardware: HardwareBarrier, all_arrived: Callable[[], object]
    ) -> None:
        self.access_ps = hardware.access_ps
        self._kernel = kernel
        self._ranks = ranks
        self._hardware = hardware
        self._all_arrived = all_arrived
        self._meetings: dict[BarrierName, _Meeting] = {}

    def arrive(self, name: BarrierName, rank: int, marked: bool, told: Told) -> None:
        """Let a rank arrive, in an event; a next time after it has been told.

        Raises:
            ConduitError: it has arrived and has not been told, or the network gives times that cannot be.
        """
        meeting = self._meetings.get(name)
        if meeting is None:
            meeting = self._meetings[name] = _Meeting(self._ranks)
        if meeting.told[rank] is not None:
            raise ConduitError(
                f"rank {rank} arrives at the barrier {name} of the network, at which it is already; arrive again once "
                "`then` is called"
            )
        meeting.arrived[rank] = self._kernel.now
        meeting.told[rank] = told
        meeting.marked |= marked
        meeting.left -= 1
        if not meeting.left:
            del self._meetings[name]
            self._tell(meeting)

    def missing(self, name: BarrierName) -> Sequence[int]:
        """Return the ranks that have not arrived at a barrier at which some have."""
        meeting = self._meetings.get(name)
        return () if meeting is None else [rank for rank, told in enumerate(meeting.told) if told is None]

    def _tell(self, meeting: _Meeting) -> None:
        times, now = self._hardware.seen(meeting.arrived), self._kernel.now
        whole = {int}.issuperset(map(type, times)) or all(isinstance(each, int) for each in times)
        if not whole or len(times) != self._ranks or min(times) < now:
            raise ConduitError(
                f"{type(self._hardware).__name__}.seen returned {times!r}; return a time for each of {self._ranks} "
                f"ranks, an int of picoseconds from now on, which is {now} ps"
            )
        self._all_arrived()
        for when, told in zip(times, meeting.told, strict=True):
            assert told is not None
            self._kernel.call(when, partial(told, meeting.marked))
