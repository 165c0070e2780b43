"""Why an event happened when it did: which event scheduled it, and what the time between is made of.

From the event that ends something one can go back, cause by cause, to the one that began it: these events are its
critical path, and the times between them add up to all that it took.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from heapq import heappush
from typing import Any, NamedTuple

from conduit.sim.actions import acting, error_of, name_of, rank_of
from conduit.sim.kernel import Kernel
from conduit.sim.labels import Labelled, Parts, unlabelled


class EventCause(NamedTuple):
    """An event with what scheduled it.

    Attributes:
        when: it happened, picoseconds.
        since: it was scheduled.
        action: what it does; a method of hardware or of a port.
        parts: what the time from `since` on is made of, from its end backwards as far as it is known: picoseconds and
            names of constants.
        cause: the event in which, or after which a task scheduled it; None: before the first.
    """

    when: int
    since: int
    action: Callable[..., object]
    parts: Parts
    cause: EventCause | None

    @property
    def name(self) -> str:
        """What the event does, `Class.method`."""
        return getattr(acting(self.action), "__qualname__", "")


class CausalKernel(Kernel):
    """A kernel that knows the cause of the event that runs, or after which a task runs.

    Attributes:
        cause: that event, None before the first.
    """

    __slots__ = ("cause",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cause: EventCause | None = None

    def at(self, when: int, action: Callable[..., object], *args: Any) -> None:
        """As `Kernel.at`, with the cause."""
        self._schedule(when, action, args)

    def call(self, when: int, action: Callable[[], object]) -> None:
        """As `Kernel.call`, with the cause."""
        self._schedule(when, action, ())

    def soon(self, when: int, action: Callable[[], object]) -> None:
        """As `Kernel.call`: every event is one of its own."""
        self._schedule(when, action, ())

    def background(self, when: int, action: Callable[..., object], *args: Any) -> None:
        """As `Kernel.background`; what happened last before it counts as its cause, since nothing else went on."""
        super().background(unlabelled(when), self._interpose, action, args)

    def advance(self, when: int) -> bool:
        """As `Kernel.advance`; time stays a plain number."""
        return super().advance(unlabelled(when))

    def advance_event(self, when: int) -> bool:
        """As `Kernel.advance_event`: never, since every event is one of its own."""
        return False

    def _schedule(self, when: int, action: Callable[..., object], args: tuple[Any, ...]) -> None:
        parts = when.parts if isinstance(when, Labelled) else ()
        event = EventCause(unlabelled(when), self.now, action, parts, self.cause)
        happen: Callable[[], object] = partial(self._happen, action, args, event)
        heappush(self._heap, (event.when, next(self._tickets), happen))

    def _interpose(self, action: Callable[..., object], args: tuple[Any, ...]) -> None:
        before = self.cause
        self._happen(action, args, EventCause(self.now, 0 if before is None else before.when, action, (), before))

    def _happen(self, action: Callable[..., object], args: tuple[Any, ...], event: EventCause) -> None:
        self.cause = event
        try:
            action(*args)
        except Exception as error:
            self.fail(error_of(error, action), rank_of(action))

    def _name_of(self, event: Any) -> str:
        return name_of(event.args[0])  # of `_happen` or `_interpose`
