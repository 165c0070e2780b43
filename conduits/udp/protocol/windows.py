"""Selective-repeat ARQ: the two ends of a stream of numbered datagrams, each delivered once, in any order.

The sender has at most a window of unacknowledged datagrams and retransmits each after a timeout that doubles with each
try (exponential backoff, without a cap: `tries` bounds it).  The receiver acknowledges cumulatively (the first missing
number) and selectively (a bitmap of the numbers after it).  Both are passed the time; neither has a clock or a CPU.
"""

from __future__ import annotations

import attrs

from conduits.udp.wire import MAX_WINDOW, Acknowledgement


@attrs.define
class Outstanding:
    """A datagram that was sent and not acknowledged.

    Attributes:
        what: what the sender needs to send it again.
        due: when to send it again, picoseconds.
        tries: how often it was sent.
    """

    what: object
    due: int
    tries: int = 1


class SendWindow:
    """The sender's end.

    Args:
        window: datagrams without acknowledgement, from the first of them to the last, at most.
        rto: picoseconds after which one is sent again; twice that the next time, and so on.

    Attributes:
        outstanding: datagrams without acknowledgement, by number, in order.
        next: the number of the next new one.
    """

    __slots__ = ("_rto", "_window", "next", "outstanding")

    def __init__(self, window: int, rto: int) -> None:
        if not 1 <= window <= MAX_WINDOW:
            raise ValueError(f"window={window}; an acknowledgement can tell of 1 to {MAX_WINDOW} datagrams")
        self._window = window
        self._rto = rto
        self.outstanding: dict[int, Outstanding] = {}
        self.next = 0

    @property
    def first(self) -> int:
        """The first number without acknowledgement."""
        return next(iter(self.outstanding), self.next)

    def is_open(self) -> bool:
        """Return whether a new datagram may be sent."""
        return self.next < self.first + self._window

    def send(self, what: object, now: int) -> int:
        """Send a new datagram, which the window must be open for; return its number."""
        assert self.is_open()
        number = self.next
        self.next += 1
        self.outstanding[number] = Outstanding(what, now + self._rto)
        return number

    def acknowledge(self, told: Acknowledgement) -> bool:
        """Take an acknowledgement, which may be old; return whether it told anything new."""
        arrived = [number for number in self.outstanding if has(told, number)]
        for number in arrived:
            del self.outstanding[number]
        return bool(arrived)

    def due(self, now: int) -> list[int]:
        """Return the numbers whose time has come, in order."""
        return [number for number, outstanding in self.outstanding.items() if outstanding.due <= now]

    def again(self, number: int, now: int) -> Outstanding:
        """Take note that a datagram is sent again."""
        outstanding = self.outstanding[number]
        outstanding.due = now + (self._rto << outstanding.tries)
        outstanding.tries += 1
        return outstanding

    def deadline(self) -> int | None:
        """Return when the next is due, picoseconds; None where none is without acknowledgement."""
        return min((outstanding.due for outstanding in self.outstanding.values()), default=None)


class ReceiveWindow:
    """The receiver's end."""

    __slots__ = ("_later", "_missing")

    def __init__(self) -> None:
        self._missing = 0
        self._later = 0

    def accept(self, number: int) -> bool:
        """Take a number that has arrived; return whether it is the first time."""
        if self.has(number):
            return False
        self._later |= 1 << (number - self._missing)
        while self._later & 1:
            self._later >>= 1
            self._missing += 1
        return True

    def has(self, number: int) -> bool:
        """Return whether a number has arrived."""
        return has(self.told(), number)

    def told(self) -> Acknowledgement:
        """Return the acknowledgement of what has arrived."""
        return Acknowledgement(self._missing, self._later)


def has(told: Acknowledgement, number: int) -> bool:
    """Return whether an acknowledgement covers a number."""
    return number < told.missing or bool(told.later >> (number - told.missing) & 1)
