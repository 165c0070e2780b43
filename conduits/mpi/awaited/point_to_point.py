"""Sends, receives and probes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from operator import index
from typing import Any, Literal

from conduit import ConduitError, call_guard, checked_call, refuse_call
from conduits.mpi.awaited.base import CommBase
from conduits.mpi.awaited.buffers import NO_BYTES, bytes_of, disjoint, is_one
from conduits.mpi.awaited.matched_message import MESSAGE_NO_PROC, MatchedMessage
from conduits.mpi.awaited.request import Prequest, Request
from conduits.mpi.awaited.status import Status, check_status
from conduits.mpi.engine.transfer import ANY_SOURCE, ANY_TAG, PROC_NULL, TAG_UB
from conduits.mpi.errors import ErrorClass, MpiError


def _is_nobody(peer: Any) -> bool:
    """Say whether a rank is PROC_NULL, with which no data are exchanged."""
    return is_one(peer) and index(peer) == PROC_NULL


def _bytes(buf: Any, peer: Any, call: str, name: str = "buf", *, writable: bool = False) -> memoryview:
    """Return the bytes of a buffer; it may be None where the other rank is PROC_NULL."""
    if buf is None and _is_nobody(peer):
        return NO_BYTES
    return bytes_of(buf, call, name, writable=writable)


def _sending(call: str) -> Any:
    def check(self: PointToPoint, buf: Any, dest: int, tag: int = 0) -> tuple[Any, ...]:
        return self, _bytes(buf, dest, call), self._peer(dest, call, "dest"), self._tag(tag, call)

    return check


def _receiving(call: str) -> Any:
    def check(self: PointToPoint, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> tuple[Any, ...]:
        return (
            self, _bytes(buf, source, call, writable=True), self._peer(source, call, "source", any_source=True),
            self._tag(tag, call, any_tag=True),
        )  # fmt: skip

    return check


def _probing(call: str) -> Any:
    def check(
        self: PointToPoint, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> tuple[Any, ...]:
        check_status(status, f"Comm.{call}")
        return (
            self, self._peer(source, call, "source", any_source=True), self._tag(tag, call, any_tag=True), status,
        )  # fmt: skip

    return check


def _both(
    self: PointToPoint, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE,
    recvtag: int = ANY_TAG, status: Status | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    call = "Sendrecv"
    check_status(status, f"Comm.{call}")
    out, there = _bytes(sendbuf, dest, call, "sendbuf"), self._peer(dest, call, "dest")
    number = self._tag(sendtag, call, "sendtag")
    into = _bytes(recvbuf, source, call, "recvbuf", writable=True)
    here = self._peer(source, call, "source", any_source=True)
    if PROC_NULL not in (there, here) and not disjoint(out, into):
        raise MpiError(
            ErrorClass.ERR_BUFFER,
            "Comm.Sendrecv: sendbuf and recvbuf share bytes; write Sendrecv_replace(buf, ...) where the same is sent "
            "and received into, or give two buffers",
        )
    return self, out, there, number, into, here, self._tag(recvtag, call, "recvtag", any_tag=True), status


def _replacing(
    self: PointToPoint, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG,
    status: Status | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    call = "Sendrecv_replace"
    check_status(status, f"Comm.{call}")
    return (
        self, _bytes(buf, dest if _is_nobody(source) else source, call, writable=True), self._peer(dest, call, "dest"),
        self._tag(sendtag, call, "sendtag"), self._peer(source, call, "source", any_source=True),
        self._tag(recvtag, call, "recvtag", any_tag=True), status,
    )  # fmt: skip


class Exchange:
    """A send and a receive that one call has begun.

    Args:
        comm: the communicator.
        call: the call's name.
        send, dest, sendtag: the send of the plain interface, its rank and its tag.
        receive, source, recvtag: the receive, likewise.
    """

    __slots__ = ("_call", "_comm", "_dest", "_receive", "_recvtag", "_send", "_sendtag", "_source")

    def __init__(
        self, comm: CommBase, call: str, send: Any, dest: int, sendtag: int, receive: Any, source: int, recvtag: int
    ) -> None:
        self._comm, self._call = comm, call
        self._send, self._dest, self._sendtag = send, dest, sendtag
        self._receive, self._source, self._recvtag = receive, source, recvtag

    def over(self) -> bool:
        """Return whether both are over."""
        return bool(self._receive.over and self._send.over)

    def left(self) -> tuple[bool, bool]:
        """Return whether the send and the receive are still to end."""
        return not self._send.over, not self._receive.over

    def what(self) -> str:
        """Return what the call still waits for, in words."""
        comm, (sends, receives) = self._comm, self.left()
        if not sends:
            return comm._receives(self._call, self._source, self._recvtag)
        gives = comm._sends(self._call, self._dest, self._sendtag)
        return f"{gives} and {comm._receives('', self._source, self._recvtag)[5:]}" if receives else gives

    def ranks(self) -> list[int]:
        """Return whom it still waits for, by numbers in the world."""
        comm, (sends, receives) = self._comm, self.left()
        return [*(comm.ranks_of(self._dest) if sends else ()), *(comm.ranks_of(self._source) if receives else ())]


def _has_message(error: Exception, receive: Any, status: Status | None) -> None:
    """Tell of the message that the receive of an exchange has whose send has failed."""
    if status is not None:
        status.fill(receive)
    error.add_note(
        f"its receive had the message of rank {receive.source}, tag {receive.tag}, by then, which goes into its "
        "buffer: no other receive gets it"
    )


class PointToPoint(CommBase):
    """The calls that concern two processes."""

    __slots__ = ()

    # -- sends -----------------------------------------------------------------------------------------

    def Send(self, buf: Any, dest: int, tag: int = 0) -> Coroutine[Any, Any, None]:
        """Send; returns when the buffer may be used again, which may be only when the message is received."""
        try:
            data = bytes_of(buf, "Send")
            plain = self.plain
            # What is nearly always given needs no look at what else is allowed; a null communicator has no ranks.
            if not (
                dest.__class__ is int and tag.__class__ is int and 0 <= dest < len(plain.group) and 0 <= tag <= TAG_UB
            ):
                dest, tag = self._peer(dest, "Send", "dest"), self._tag(tag, "Send")
        except ConduitError as error:
            if buf is not None or not _is_nobody(dest):
                return refuse_call(error)
            data = NO_BYTES
            try:
                dest, tag = self._peer(dest, "Send", "dest"), self._tag(tag, "Send")
            except ConduitError as wrong:
                return refuse_call(wrong)
        return self.process._guarded_send(call_guard("Comm.Send"), self, data, dest, tag)  # type: ignore[union-attr]

    @checked_call(_sending("Ssend"))
    async def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send; returns when, besides, the receive has begun."""
        self._look("Ssend", buf, dest)
        begun = await self._running().call(self.plain.Issend, buf, dest, tag)
        self._running().has_sent(self, "Ssend", dest, tag)
        if not begun.over or begun.error is not None:
            await self._running().sent(begun, self, "Ssend", dest, tag)

    @checked_call(_sending("Bsend"))
    async def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send from the attached buffer.

        Raises:
            MpiError: there is no room in it.
        """
        self._look("Bsend", buf, dest)
        begun = await self._running().call(self.plain.Ibsend, buf, dest, tag)
        self._running().has_sent(self, "Bsend", dest, tag)
        if not begun.over or begun.error is not None:
            await self._running().sent(begun, self, "Bsend", dest, tag)

    @checked_call(_sending("Rsend"))
    async def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send what is to be received by a receive that has begun; ends the job where it has not."""
        self._look("Rsend", buf, dest)
        begun = await self._running().call(self.plain.Irsend, buf, dest, tag)
        self._running().has_sent(self, "Rsend", dest, tag)
        if not begun.over or begun.error is not None:
            await self._running().sent(begun, self, "Rsend", dest, tag)

    @checked_call(_sending("Isend"))
    async def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin a send."""
        return await self._isend("Isend", buf, dest, tag)

    @checked_call(_sending("Issend"))
    async def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin a synchronous send."""
        return await self._isend("Issend", buf, dest, tag)

    @checked_call(_sending("Ibsend"))
    async def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin a buffered send."""
        return await self._isend("Ibsend", buf, dest, tag)

    @checked_call(_sending("Irsend"))
    async def Irsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin a ready send."""
        return await self._isend("Irsend", buf, dest, tag)

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """Make a persistent send."""
        return self._send_init("Send_init", buf, dest, tag)

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """Make a persistent synchronous send."""
        return self._send_init("Ssend_init", buf, dest, tag)

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """Make a persistent buffered send."""
        return self._send_init("Bsend_init", buf, dest, tag)

    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """Make a persistent ready send."""
        return self._send_init("Rsend_init", buf, dest, tag)

    # -- receives --------------------------------------------------------------------------------------

    def Recv(
        self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Coroutine[Any, Any, None]:
        """Receive a message of at most the size of the buffer.

        Cancelled, it is as if it had never been posted.  Where it has its message already it completes instead, and the
        cancellation comes at the next checkpoint.

        Raises:
            MpiError: it was longer; what fits is there, the rest is lost.
        """
        try:
            data = bytes_of(buf, "Recv", writable=True)
            plain = self.plain
            if status is not None:
                check_status(status, "Comm.Recv")
            if not (
                source.__class__ is int and tag.__class__ is int and 0 <= source < len(plain.group)
                and ANY_TAG <= tag <= TAG_UB
            ):  # fmt: skip
                source = self._peer(source, "Recv", "source", any_source=True)
                tag = self._tag(tag, "Recv", any_tag=True)
        except ConduitError as error:
            if buf is not None or not _is_nobody(source):
                return refuse_call(error)
            data = NO_BYTES
            try:
                check_status(status, "Comm.Recv")
                source = self._peer(source, "Recv", "source", any_source=True)
                tag = self._tag(tag, "Recv", any_tag=True)
            except ConduitError as wrong:
                return refuse_call(wrong)
        return self.process._guarded_receive(  # type: ignore[union-attr]
            call_guard("Comm.Recv"), self, data, source, tag, status
        )

    @checked_call(_receiving("Irecv"))
    async def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin a receive."""
        begun = await self._running().call(self.plain.Irecv, buf, source, tag)
        return self._request(begun, self._receives("Irecv", source, tag), source, buf, receives=True)

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        """Make a persistent receive."""
        call = "Recv_init"
        where = _bytes(buf, source, call, writable=True)
        peer, wanted = self._peer(source, call, "source", any_source=True), self._tag(tag, call, any_tag=True)
        made = self._alive(call).Recv_init(where, peer, wanted)
        return self._persistent(made, self._receives("Recv_init", peer, wanted), peer, where, receives=True)

    # -- both ------------------------------------------------------------------------------------------

    @checked_call(_both)
    async def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG, status: Status | None = None,
    ) -> None:  # fmt: skip
        """Send and receive at once; cancelled as `Recv`, and a send that has begun goes on."""
        await self._exchange("Sendrecv", sendbuf, dest, sendtag, recvbuf, source, recvtag, status)

    @checked_call(_replacing)
    async def Sendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:  # fmt: skip
        """Send what is in a buffer, and receive into it."""
        await self._exchange("Sendrecv_replace", None, dest, sendtag, buf, source, recvtag, status)

    # -- probes ----------------------------------------------------------------------------------------

    @checked_call(_probing("Probe"))
    async def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Literal[True]:
        """Wait until there is a message for such a receive; it stays where it is."""
        found = await self._probe("Probe", "Iprobe", source, tag)
        if status is not None:
            status.fill(found)
        return True

    @checked_call(_probing("Iprobe"))
    async def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Poll once; return whether there is a message for such a receive."""
        process, plain = self._running(), self.plain
        await process.poll()
        found = await process.call(plain.Iprobe, source, tag)
        if found is not None and status is not None:
            status.fill(found)
        return found is not None

    @checked_call(_probing("Mprobe"))
    async def Mprobe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> MatchedMessage:
        """Wait until there is a message for such a receive, and take it: no other receive gets it."""
        if source == PROC_NULL:
            return self._no_message(status)
        return self._message(await self._probe("Mprobe", "Improbe", source, tag), source, tag, status)

    @checked_call(_probing("Improbe"))
    async def Improbe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> MatchedMessage | None:
        """Poll once; take the message for such a receive, if there is one."""
        if source == PROC_NULL:
            return self._no_message(status)
        process, plain = self._running(), self.plain
        await process.poll()
        found = await process.call(plain.Improbe, source, tag)
        return None if found is None else self._message(found, source, tag, status)

    # -- inside ----------------------------------------------------------------------------------------

    def _look(self, call: str, buf: memoryview, dest: int) -> None:
        """Look whether a send that waits by itself sends what is being received."""
        if dest != PROC_NULL:
            self._running().lent.look(call, buf)

    async def _isend(self, call: str, buf: memoryview, dest: int, tag: int) -> Request:
        begun = await self._running().call(getattr(self.plain, call), buf, dest, tag)
        self._running().has_sent(self, call, dest, tag)
        return self._request(begun, self._sends(call, dest, tag), dest, buf)

    def _send_init(self, call: str, buf: Any, dest: int, tag: int) -> Prequest:
        what = _bytes(buf, dest, call)
        peer, number = self._peer(dest, call, "dest"), self._tag(tag, call)
        made, process = getattr(self._alive(call), call)(what, peer, number), self._running()
        return self._persistent(
            made, self._sends(call, peer, number), peer, what, note=lambda: process.has_sent(self, call, peer, number)
        )

    async def _exchange(
        self, call: str, out: memoryview | None, dest: int, sendtag: int, into: memoryview, source: int, recvtag: int,
        status: Status | None,
    ) -> None:  # fmt: skip
        process, plain = self._running(), self._alive(call)
        reads = into if out is None else out
        process.lent.look(call, None if dest == PROC_NULL else reads, None if source == PROC_NULL else into)

        def begin() -> tuple[Any, Any]:
            data = out
            if data is None:
                process.copied(len(into))
                data = memoryview(bytes(into))
            receive = plain.Irecv(into, source, recvtag)
            try:
                return receive, plain.Isend(data, dest, sendtag)
            except Exception as error:  # nothing gets there any more
                receive.Cancel()  # no later message is to go to a call that has failed
                if receive.source >= 0 and not receive.cancelled:
                    _has_message(error, receive, status)
                raise

        receive, send = await process.call(begin)
        process.has_sent(self, call, dest, sendtag)
        if not (receive.over and send.over):
            exchange = Exchange(self, call, send, dest, sendtag, receive, source, recvtag)
            try:
                await process.exchanged(exchange)
            except BaseException as error:
                what, ranks = exchange.what(), exchange.ranks()
                if source == PROC_NULL or await process.taken_back(error, receive, exchange.over, what, ranks):
                    raise
        if status is not None:
            status.fill(receive)
        if receive.error is not None:
            raise receive.error

    async def _probe(self, call: str, plainly: str, source: int, tag: int) -> Any:
        process, plain = self._running(), self.plain
        ask = getattr(plain, plainly)
        await process.poll()
        while True:
            found = await process.call(ask, source, tag)
            if found is not None:
                return found
            what = self._receives(call, source, tag)
            await process.wait(lambda: plain.has(source, tag), what, self.ranks_of(source))

    def _message(self, found: Any, source: int, tag: int, status: Status | None) -> MatchedMessage:
        if status is not None:
            status.fill(found)
        return MatchedMessage.found(self._running(), found, self._receives("Message.Recv", source, tag))

    def _no_message(self, status: Status | None) -> MatchedMessage:
        if status is not None:
            status.clear()
            status.source = PROC_NULL
        return MatchedMessage(MESSAGE_NO_PROC)

    def _request(self, begun: Any, what: str, peer: int, buf: memoryview, *, receives: bool = False) -> Request:
        lent = None if peer == PROC_NULL else buf
        reads, writes = (None, lent) if receives else (lent, None)
        return Request.begun(
            self._running(), begun, what, self.ranks_of(peer), receives=receives, reads=reads, writes=writes
        )

    def _persistent(
        self, made: Any, what: str, peer: int, data: memoryview, *, receives: bool = False,
        note: Callable[[], object] | None = None,
    ) -> Prequest:  # fmt: skip
        lent = None if peer == PROC_NULL else data
        return Prequest.of(
            self, self._running(), made, what, self.ranks_of(peer), receives=receives, note=note, data=lent
        )
