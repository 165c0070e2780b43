"""What happened when: every event of a job, in order, for tests, digests and tools.

Nothing is spent where there is no listener: a job that is to be traced gets a `TracingKernel`.  Its
events pass by a listener; the plain kernel has no trace points at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from conduit.sim.actions import error_of, misfit, name_of, rank_of
from conduit.sim.kernel import Kernel
from conduit.words import is_a


class TraceEvent(NamedTuple):
    """One event of the simulation, as it is about to run.

    Attributes:
        time: picoseconds.
        name: what runs, `Class.method`.
        rank: its rank, -1 where it belongs to none.
    """

    time: int
    name: str
    rank: int


Listener: TypeAlias = Callable[[TraceEvent], object]


def nobody(_: TraceEvent) -> None:
    """Listen to nothing."""


class Trace(list[TraceEvent]):
    """A listener that keeps all events."""

    def __call__(self, event: TraceEvent) -> None:
        """Keep `event`."""
        self.append(event)

    def digest(self) -> str:
        """Return a hash of the events in order, hexadecimal: the same for the same program, options and seed."""
        whole = hashlib.blake2b(digest_size=16)
        for event in self:
            whole.update(f"{event.time} {event.name} {event.rank}\n".encode())
        return whole.hexdigest()


class TracingKernel(Kernel):
    """A kernel that tells a listener of each event before it runs, and refuses times and actions that cannot be.

    `Kernel` takes the times of events as they come, to spend nothing on what is right.  Here an event whose time is
    past, or no whole number, is refused at the line that schedules it.

    Args:
        seed: as for `Kernel`.
        inline: as for `Kernel`.
        tickets: as for `Kernel`.
        listener: called with each event; it must not change anything of the job.
    """

    __slots__ = ("_listener",)

    def __init__(
        self,
        seed: int = 0,
        *,
        inline: bool = True,
        tickets: Iterator[int] | None = None,
        listener: Listener = nobody,
    ) -> None:
        super().__init__(seed, inline=inline, tickets=tickets)
        self._listener = listener

    def at(self, when: int, action: Callable[..., object], *args: Any) -> None:
        """As `Kernel.at`, past the listener."""
        self._check(when, action, args)
        super().at(when, self._tell, action, args)

    def call(self, when: int, action: Callable[[], object]) -> None:
        """As `Kernel.call`, past the listener."""
        self._check(when, action)
        super().at(when, self._tell, action, ())

    def soon(self, when: int, action: Callable[[], object]) -> None:
        """As `call`: every event is one of its own, in an event and not in what schedules it."""
        self.call(when, action)

    def advance_event(self, when: int) -> bool:
        """Return False: as for `soon`."""
        return False

    def background(self, when: int, action: Callable[..., object], *args: Any) -> None:
        """As `Kernel.background`, past the listener."""
        self._check(when, action, args)
        super().background(when, self._tell, action, args)

    def _check(self, when: int, action: Callable[..., object], args: tuple[Any, ...] = ()) -> None:
        """Refuse the time of an event that cannot be one, and what cannot be called."""
        if not callable(action):
            raise TypeError(
                f"an event is to call {action!r}; kernel.at(when, f, x) calls f(x) then, and "
                "kernel.at(when, f(x)) calls it now"
            )
        if wrong := misfit(partial(action, *args)):
            raise TypeError(wrong)
        if not isinstance(when, int):
            raise TypeError(
                f"{name_of(action)}: an event at {when!r} ps, which {is_a(when)}; times are whole numbers: "
                "use conduit.sim.units.ps(seconds), duration(nbytes, bytes_per_s), // or round"
            )
        if when < self.now:
            raise ValueError(
                f"{name_of(action)}: an event at {when} ps, which is past, now is {self.now} ps; "
                "use kernel.now or cpu.now()"
            )

    def _name_of(self, event: Any) -> str:
        return name_of(event.args[0])  # of `_tell`

    def _tell(self, action: Callable[..., object], args: tuple[Any, ...]) -> None:
        rank = rank_of(action)
        self._listener(TraceEvent(self.now, name_of(action), rank))
        try:
            action(*args)
        except Exception as error:
            self.fail(error_of(error, partial(action, *args)), rank)
