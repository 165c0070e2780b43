"""Runs handlers: what the core does with a message that has arrived.

This is the core's side of the contract (`conduit.contract.Core`); a port calls `deliver` for each
message and `run_progress` after a pass.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from conduit.acts import HANDLE, ActLog
from conduit.arguments import PACKERS
from conduit.contract import Category, Message, Port
from conduit.errors import BadRequest, ConduitError, HandlerError
from conduit.token import Token

if TYPE_CHECKING:
    from conduit.calls import Action
    from conduit.endpoint import Endpoint


class Dispatch:
    """The core as the port of one rank sees it.

    Attributes:
        local: messages of this rank to itself, which never touch the network.
        running: name of the handler that runs now, "" if none does.
        progress: what the layers above want to be run after a pass.
        wanted: whether a layer has asked for it.
        progress_due: whether `run_progress` would run it now.
    """

    __slots__ = (
        "_progressing", "acts", "call_in_context", "counts", "endpoint", "functions", "local", "memory", "port",
        "progress", "progress_due", "running", "wanted",
    )  # fmt: skip

    def __init__(self, endpoint: Endpoint, acts: ActLog | None) -> None:
        self.endpoint = endpoint
        self.acts = acts
        self.counts = endpoint.counts
        self.functions = endpoint.handlers.functions
        self.local: deque[Message] = deque()
        self.running = ""
        self.progress: list[Action] = []
        self.progress_due = False
        self.wanted = False
        self._progressing = False

    def connect(self, port: Port) -> None:
        """Take the port whose messages this object handles."""
        self.port = port
        self.memory = memoryview(port.segment)
        self.call_in_context: Callable[[], Callable[..., Any] | None] = port.handler_context

    def deliver(self, message: Message) -> Message | None:
        """Run the handler of `message`; see `conduit.contract.Core`.

        Raises:
            HandlerError: the handler raised or broke a rule.
            ConduitError: the handler let one through that names another fault than its own.
        """
        if message.control:
            return None
        source, is_request = message.source, message.is_request
        function = self._function(message)
        if is_request:
            self.counts.requests_handled += 1
        else:
            self.counts.replies_handled += 1
        token = Token(self.endpoint, source, is_request, function.__name__)
        self.running = function.__name__
        try:
            self._call(function, token, message)
        except (Exception, SystemExit) as error:
            self._failed(error, function.__name__, message)
        finally:
            self.running = ""
        reply = token._end()
        if not is_request:
            return None
        return self._answer(reply, function.__name__, message)

    def _function(self, message: Message) -> Callable[..., Any]:
        try:
            return self.functions[message.handler]
        except IndexError:
            raise HandlerError(
                f"rank {self.endpoint.rank}: a message from rank {message.source} names handler {message.handler}, but "
                f"only {len(self.functions)} are attached"
            ) from None

    def _call(self, function: Callable[..., Any], token: Token, message: Message) -> None:
        packed = message.args
        args: tuple[Any, ...] = PACKERS[len(packed) >> 2].unpack(packed) if packed else ()
        run = self.call_in_context()
        category = message.category
        if category == Category.SHORT:
            self._log(message, b"")
            if run is None:
                function(token, *args)
            else:
                run(function, token, *args)
        elif category == Category.MEDIUM:
            self._log(message, message.payload)
            self._call_medium(run, function, token, bytearray(message.payload), args)
        else:
            view = self._landed(message)
            self._log(message, view)
            if run is None:
                function(token, view, *args)
            else:
                run(function, token, view, *args)

    def _call_medium(
        self,
        run: Callable[..., Any] | None,
        function: Callable[..., Any],
        token: Token,
        payload: bytearray,
        args: tuple[Any, ...],
    ) -> None:
        """Call with a payload that dies with the call; whatever still looks at it is an error (E7)."""
        view = memoryview(payload)
        if run is None:
            function(token, view, *args)
        else:
            run(function, token, view, *args)
        try:
            view.release()
            payload.clear()
        except BufferError:
            raise HandlerError(
                "a slice or an array of the medium payload is still in use after the handler has returned; keep a "
                "copy of it (bytes(payload), numpy.array(payload)), not a view"
            ) from None

    def _landed(self, message: Message) -> memoryview:
        """Return where a long payload lies, storing one that came from this rank itself."""
        nbytes = message.nbytes
        if not nbytes:
            return self.memory[0:0]
        view = self.memory[message.offset : message.offset + nbytes]
        if message.source == self.endpoint.rank and message.payload:
            view[:] = message.payload
            self.port.charge(self.port.work_ticks(0, 1, nbytes))
        return view

    def _log(self, message: Message, payload: bytes | bytearray | memoryview) -> None:
        if self.acts is not None:
            self.acts.message(HANDLE, self.port.ticks(), message.source, message, payload)

    def _answer(self, reply: Message | None, name: str, request: Message) -> Message | None:
        """Return what goes back over the network for `request`."""
        if reply is None:
            if request.category == Category.LONG_ASYNC:
                raise HandlerError(
                    f"rank {self.endpoint.rank}: handler {name!r} made no reply to a long-async request of rank "
                    f"{request.source}, whose source stays lent until the reply; reply, or send it with request_long"
                )
            reply = Message(Category.SHORT, 0, is_request=False, control=True)
        else:
            self.endpoint.count_send(reply, request.source)
        reply.source = self.endpoint.rank
        if request.source != self.endpoint.rank:
            return reply
        if not reply.control:
            self.local.append(reply)
        return None

    def _failed(self, error: BaseException, name: str, message: Message) -> None:
        """Raise `error` of a handler as the job is to see it; an exit ends the job quietly."""
        endpoint = self.endpoint
        kind = "request" if message.is_request else "reply"
        where = f"in handler {name!r} on rank {endpoint.rank}, for a {kind} from rank {message.source}"
        if isinstance(error, SystemExit):
            self.port.fail(error)
        elif isinstance(error, HandlerError) or not isinstance(error, ConduitError) or isinstance(error, BadRequest):
            raise HandlerError(f"{where}: {type(error).__name__}: {error}") from error
        else:
            error.add_note(where)
            raise error

    def want_progress(self) -> None:
        """Ask for a run of `progress` at the next poll."""
        self.wanted = True
        if not self._progressing and not self.progress_due:
            self.progress_due = True
            self.port.nudge()

    async def run_progress(self) -> None:
        """Run what the layers above asked for, again while they ask again; not re-entered (P6)."""
        if self._progressing:
            return
        self._progressing = True
        try:
            while self.wanted:
                self.wanted = self.progress_due = False
                for action in self.progress:
                    await self.port.shielded(action)
        finally:
            self._progressing = False
