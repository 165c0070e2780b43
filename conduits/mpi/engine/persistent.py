"""Persistent requests, made of the non-blocking calls of a simulated library or of real MPI.

So both have the same rules of when a request may be begun again, and a persistent call costs what the single one does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from conduits.mpi.engine.transfer import ANY_SOURCE, ANY_TAG
from conduits.mpi.errors import ErrorClass, MpiError


class Persistent:
    """A request that may be begun again and again.

    Args:
        begin: begins it once: returns a transfer, of a simulated library or of a real one, or `CompletedRequest`.

    Attributes:
        active: the transfer that `Start` began last; None before the first, and once its end has been seen.
    """

    __slots__ = ("_begin", "active")

    def __init__(self, begin: Callable[[], Any]) -> None:
        self._begin = begin
        self.active: Any = None

    @property
    def begun(self) -> bool:
        """Whether it is under way, or its end has not been seen."""
        return self.active is not None

    def settle(self) -> None:
        """Take note that its end has been seen."""
        self.active = None

    @property
    def over(self) -> bool:
        """Whether it is over, or was never begun."""
        return self.active is None or bool(self.active.over)

    @property
    def cancelled(self) -> bool:
        """Whether it has ended without a message."""
        return self.active is not None and bool(self.active.cancelled)

    @property
    def error(self) -> BaseException | None:
        """What its end is to raise."""
        found: BaseException | None = None if self.active is None else self.active.error
        return found

    def Start(self) -> None:
        """Begin it.

        Raises:
            MpiError: it is under way.
        """
        if not self.over:
            raise MpiError(ErrorClass.ERR_REQUEST, "Start: this request is under way; wait until it is over")
        self.active = self._begin()

    def Test(self) -> bool:
        """Return whether it is over, or was never begun."""
        return self.active is None or bool(self.active.Test())

    def Cancel(self) -> None:
        """End it without a message, unless it has one."""
        if self.active is not None:
            self.active.Cancel()

    def Free(self) -> None:
        """Give it back; what is under way goes on."""


class PersistentCalls(ABC):
    """The calls of a communicator that make persistent requests of its non-blocking ones."""

    __slots__ = ()

    @abstractmethod
    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        """Begin a send."""

    @abstractmethod
    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        """Begin a synchronous send."""

    @abstractmethod
    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        """Begin a ready send."""

    @abstractmethod
    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        """Begin a buffered send."""

    @abstractmethod
    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Any:
        """Begin a receive."""

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Persistent:
        """Make a persistent send."""
        return Persistent(lambda: self.Isend(buf, dest, tag))

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Persistent:
        """Make a persistent synchronous send."""
        return Persistent(lambda: self.Issend(buf, dest, tag))

    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> Persistent:
        """Make a persistent ready send."""
        return Persistent(lambda: self.Irsend(buf, dest, tag))

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> Persistent:
        """Make a persistent buffered send."""
        return Persistent(lambda: self.Ibsend(buf, dest, tag))

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Persistent:
        """Make a persistent receive."""
        return Persistent(lambda: self.Irecv(buf, source, tag))
