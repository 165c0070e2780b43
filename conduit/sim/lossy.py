"""A route that loses, duplicates and delays what it carries, at random."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Protocol

from conduit.sim.kernel import Kernel
from conduit.sim.units import US, check_ticks


class Carrier(Protocol):
    """What carries bytes from one place to another: a `Route` of links, or a `Switched` way over queues."""

    @property
    def kernel(self) -> Kernel:
        """Its clock and events."""

    def send(self, nbytes: int, then: Callable[[], object]) -> None:
        """Send from now on; `then()` is called in the event of the arrival."""


class Lossy:
    """A route whose far end may get what was sent late, twice, or not at all.

    What is lost has taken its time on all links: it is spoiled there, and dropped at the end.

    Args:
        route: what carries it.
        loss: the probability that a transfer is lost.
        duplicate: that one which is not lost arrives a second time, later.
        reorder: that one is put off, so that later ones may overtake it.
        stream: of random numbers, of this route alone: `kernel.random(name)`.
        late: how much later a second or a put off one arrives at most, picoseconds.

    Raises:
        ValueError: a probability is none, or `late` no int from 0 on.

    Attributes:
        lost, duplicated, reordered: how many were.
    """

    __slots__ = (
        "_draw",
        "_late",
        "_stream",
        "duplicate",
        "duplicated",
        "loss",
        "lost",
        "reorder",
        "reordered",
        "route",
    )

    def __init__(
        self, route: Carrier, loss: float, duplicate: float, reorder: float, stream: Random, late: int = 100 * US
    ) -> None:
        for name, value in (("loss", loss), ("duplicate", duplicate), ("reorder", reorder)):
            if not 0 <= value <= 1:
                raise ValueError(f"Lossy: {name}={value} is no probability; pass a number from 0 to 1")
        check_ticks("Lossy: late", late)
        self.route = route
        self.loss = loss
        self.duplicate = duplicate
        self.reorder = reorder
        self.lost = self.duplicated = self.reordered = 0
        self._stream = stream
        self._draw = stream.random
        self._late = late

    def send(self, nbytes: int, then: Callable[[], object]) -> None:
        """Send from now on, in an event.

        Args:
            nbytes: bytes on every link.
            then: called as `then()` in the event of every arrival: never, once or twice.
        """
        self.route.send(nbytes, partial(self._arrive, then))

    def _arrive(self, then: Callable[[], object]) -> None:
        if self.loss and self._draw() < self.loss:
            self.lost += 1
            return
        if self.duplicate and self._draw() < self.duplicate:
            self.duplicated += 1
            self._put_off(then)
        if self.reorder and self._draw() < self.reorder:
            self.reordered += 1
            self._put_off(then)
        else:
            then()

    def _put_off(self, then: Callable[[], object]) -> None:
        kernel = self.route.kernel
        kernel.call(kernel.now + self._stream.randrange(self._late + 1), then)
