"""Messages that a matched probe has found, each for one receive."""

from __future__ import annotations

from typing import Any, ClassVar

import trio

from conduit import checked_call
from conduits.mpi.awaited import not_here
from conduits.mpi.awaited.buffers import Span, span
from conduits.mpi.awaited.process import Process, current
from conduits.mpi.awaited.request import Request, finished
from conduits.mpi.awaited.status import Status, check_status
from conduits.mpi.engine.completed import CompletedRequest
from conduits.mpi.errors import ErrorClass, MpiError


class MatchedMessage:
    """A message that was found by Mprobe or Improbe, for one receive.

    Args:
        message: one to be the same as; None: the null handle.
    """

    _instead: ClassVar = not_here.OF_MESSAGES

    __slots__ = ("_plain", "_process", "_what")

    def __init__(self, message: MatchedMessage | None = None) -> None:
        self._plain: Any = None if message is None else message._plain
        self._process: Process | None = None if message is None else message._process
        self._what: str = "" if message is None else message._what

    @classmethod
    def found(cls, process: Process, plain: Any, what: str) -> MatchedMessage:
        """Return the handle of a message that was taken out."""
        made = cls()
        made._process, made._plain, made._what = process, plain, what
        return made

    def _into(self, buf: Any, call: str) -> Span:
        self._active(call)
        return span(buf, f"{call}: buf", writable=True)

    def _check_recv(self, buf: Any, status: Any = None) -> tuple[Any, ...]:
        check_status(status, "Message.Recv")
        return self, self._into(buf, "Message.Recv"), status

    def _check_irecv(self, buf: Any) -> tuple[Any, ...]:
        return self, self._into(buf, "Message.Irecv")

    @checked_call(_check_recv)
    async def Recv(self, buf: Span, status: Status | None = None) -> None:
        """Receive it; a cancellation waits until it is there, since no other receive would get it."""
        request = await self._begin(buf, "Message.Recv")
        with trio.CancelScope(shield=True):
            await finished(request, status)

    @checked_call(_check_irecv)
    async def Irecv(self, buf: Span) -> Request:
        """Begin to receive it."""
        return await self._begin(buf, "Message.Irecv")

    async def _begin(self, buf: Span, call: str) -> Request:
        if self._plain is _NO_PROC:
            if self is not MESSAGE_NO_PROC:
                self._plain = None
            return Request.begun(current(call), CompletedRequest(), f"MPI {call} of no message", (), receives=True)
        plain, process = self._active(call), self._process
        assert process is not None
        begun = await process.call(lambda: plain.Irecv(buf.view))
        self._plain = None  # not before: a cancelled call has not begun
        what = self._what.replace("Message.Recv", call, 1)
        return Request.begun(process, begun, what, (), receives=True, writes=buf.view)

    def _active(self, call: str) -> Any:
        if self._plain is None:
            raise MpiError(ErrorClass.ERR_REQUEST, f"{call}: this message is null: it has been received already")
        return self._plain

    def __bool__(self) -> bool:
        return self._plain is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatchedMessage) and self._plain is other._plain

    def __hash__(self) -> int:
        return hash(id(self._plain))


MESSAGE_NULL = MatchedMessage()
_NO_PROC = object()
"""In the place of the message that PROC_NULL has sent."""
MESSAGE_NO_PROC = MatchedMessage()
MESSAGE_NO_PROC._plain = _NO_PROC
