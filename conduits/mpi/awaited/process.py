"""What the awaited names need of the rank that they are called on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

_T = TypeVar("_T")


class Process(ABC):
    """One rank, simulated or real.

    Args:
        library: its plain interface.
        hosts: the host of every rank.
    """

    def __init__(self, library: Any, hosts: Sequence[int]) -> None:
        self.library = library
        self.hosts = tuple(hosts)

    @abstractmethod
    async def call(self, function: Callable[[], _T]) -> _T:
        """Call a plain function of MPI; return when the CPU has done what it began."""

    @abstractmethod
    async def wait(self, over: Callable[[], bool], what: str, ranks: Sequence[int]) -> None:
        """Poll until `over()`, which costs nothing and has no effect.

        Args:
            over: asked after each pass.
            what: what is waited for, in words, for the report of a deadlock.
            ranks: whom it waits for.
        """

    @abstractmethod
    async def poll(self) -> None:
        """Poll once."""


CURRENT: ContextVar[Process | None] = ContextVar("conduits.mpi.process", default=None)
"""That of the rank whose task runs."""
