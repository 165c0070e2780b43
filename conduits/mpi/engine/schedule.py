"""A call that consists of many sends and receives, as a collective does, and that goes on whenever its rank polls.

It is written as a generator that yields the transfers which must be over before it goes on.  So it belongs to no task:
any poll of the rank carries it on, any number of them may be under way, and a task that is cancelled cannot leave one
half done, which would hang the other ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

from conduits.mpi.interface import PlainRequest

Steps: TypeAlias = Generator[Sequence[PlainRequest], None, Any]


class Schedule:
    """A request for the end of such a call.

    Args:
        asked: called at each `Test`, to charge what that costs.
        steps: the generator.
        what: the call, for reports.

    Attributes:
        over: whether it has ended.
        error: what was raised in it.
        result: what it returned.
    """

    __slots__ = ("_asked", "_awaited", "_steps", "_when_failed", "cancelled", "error", "over", "result", "what")

    def __init__(self, asked: Callable[[], object], steps: Steps, what: str) -> None:
        self._asked = asked
        self._steps = steps
        self._awaited: list[Any] = []
        self.what = what
        self.over = self.cancelled = False
        self.error: Exception | None = None
        self.result: Any = None
        self._when_failed: Callable[[Exception], object] | None = None

    def ready(self) -> bool:
        """Return whether all that it waits for is over; free of cost."""
        return all(each.over for each in self._awaited)

    def go_on(self) -> bool:
        """Take as many steps as can be taken now; return whether it is over."""
        try:
            while not self.over and self.ready():
                failed = next((each.error for each in self._awaited if each.error is not None), None)
                # Thrown into the steps, which may know better what it means.
                self._awaited = list(next(self._steps) if failed is None else self._steps.throw(failed))
        except StopIteration as end:
            self.over, self.result = True, end.value
        except Exception as error:
            self.over, self.error = True, error
            if self._when_failed is not None:
                self._when_failed(error)
        return self.over

    def when_failed(self, tell: Callable[[Exception], object]) -> None:
        """Call `tell` with what is raised in it, at once where that is known."""
        self._when_failed = tell
        if self.error is not None:
            tell(self.error)

    def Test(self) -> bool:
        """Return whether it is over; charges what a test costs."""
        self._asked()
        if self.over and self.error is not None:
            raise self.error
        return self.over

    def Cancel(self) -> None:
        """Do nothing: a collective cannot be cancelled, since all ranks take part."""

    def Start(self) -> None:
        """Refuse: it is not persistent."""
        raise TypeError("Start: this request is no persistent one")

    def Free(self) -> None:
        """Do nothing: it goes on by itself."""
