"""The processes of a job whose ranks are processes: what started them, and how they find one another."""

from __future__ import annotations

from typing import NoReturn, Protocol


class Processes(Protocol):
    """All processes that one launcher has started, as one of them sees them; each is a rank.

    They run any number of jobs one after another, all the same ones in the same order.
    """

    def __hash__(self) -> int:
        """By identity: a process joins them once."""

    @property
    def rank(self) -> int:
        """Which of them this one is, from 0."""

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def hosts(self) -> tuple[int, ...]:
        """The host of every rank, by rank; hosts are numbered in the order of their lowest ranks."""

    def gather(self, data: bytes) -> list[bytes]:
        """Give `data` to all and return theirs, by rank.

        Waits, between jobs and outside of Trio, until every process has called it.
        """

    def send(self, dest: int, data: bytes) -> None:
        """Send `data` to another process's `receive`; between jobs, and may wait until it is called."""

    def receive(self, source: int, nbytes: int) -> bytes:
        """Return the next bytes that another process has sent to this one, that many; waits, between jobs."""

    def abort(self, status: int) -> NoReturn:
        """End all of them at once with that exit status."""

    def tell(self, dest: int, data: bytes) -> None:
        """Send `data` to what `heard` gives in another process; returns at once.  May be called in any thread."""

    def heard(self) -> list[tuple[int, bytes]]:
        """Return who has told what since the last call, in order; never waits.  May be called in any thread."""
