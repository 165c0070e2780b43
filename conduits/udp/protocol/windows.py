"""The two ends of a stream of numbered datagrams over which each arrives once.

The sender numbers them, has at most a window of them without acknowledgement, and sends one again after a time, which
doubles at each try.  The receiver says which number is the first that it has not, and which of those after it it has.
Neither knows a clock or a CPU: they are told the time.
"""

from __future__ import annotations

import attrs

from conduits.udp.wire import MAX_WINDOW, Acknowledgement


@attrs.define
class Flying:
    """A datagram without acknowledgement.

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
        flying: datagrams without acknowledgement, by number, in order.
        next: the number of the next new one.
    """

    __slots__ = ("_rto", "_window", "flying", "next")

    def __init__(self, window: int, rto: int) -> None:
        if not 1 <= window <= MAX_WINDOW:
            raise ValueError(f"window={window}; an acknowledgement can tell of 1 to {MAX_WINDOW} datagrams")
        self._window = window
        self._rto = rto
        self.flying: dict[int, Flying] = {}
        self.next = 0

    @property
    def first(self) -> int:
        """The first number without acknowledgement."""
        return next(iter(self.flying), self.next)

    def is_open(self) -> bool:
        """Return whether a new datagram may be sent."""
        return self.next < self.first + self._window

    def send(self, what: object, now: int) -> int:
        """Send a new datagram, which the window must be open for; return its number."""
        assert self.is_open()
        number = self.next
        self.next += 1
        self.flying[number] = Flying(what, now + self._rto)
        return number

    def acknowledge(self, told: Acknowledgement) -> bool:
        """Take an acknowledgement, which may be old; return whether it told anything new."""
        arrived = [number for number in self.flying if has(told, number)]
        for number in arrived:
            del self.flying[number]
        return bool(arrived)

    def due(self, now: int) -> list[int]:
        """Return the numbers whose time has come, in order."""
        return [number for number, flying in self.flying.items() if flying.due <= now]

    def again(self, number: int, now: int) -> Flying:
        """Take note that a datagram is sent again."""
        flying = self.flying[number]
        flying.due = now + (self._rto << flying.tries)
        flying.tries += 1
        return flying

    def deadline(self) -> int | None:
        """Return when the next is due, picoseconds; None where none is without acknowledgement."""
        return min((flying.due for flying in self.flying.values()), default=None)


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
