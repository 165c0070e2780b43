"""Runs handlers: what the core does with a message that has arrived.

This is the core's side of the contract (`conduit.contract.Core`); a port calls `deliver` for each
message and `run_progress` after a pass.  `deliver` is plain and returns the reply, if there is one, for the
port to send: so a handler can neither wait nor send anything but its reply.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from conduit.contract import AUTO_REPLY, CATEGORY, REQUEST, Buffer, Category, Complete, Hooks, Message, Port
from conduit.core.arguments import UNPACK
from conduit.core.digest import FLUSH, HANDLE, LAND
from conduit.core.endpoint import Endpoint
from conduit.core.functions_given import Action
from conduit.core.handlers import place_of
from conduit.core.steps import steps_of
from conduit.core.token import OVER, Token
from conduit.core.wrong_count import refuses_what_it_wraps, wrong_count
from conduit.errors import BadRequest, ConduitError, HandlerError
from conduit.words import text_of

# Below, `word & 255` is a message's handler and `word >> 9 & 3` its category (`conduit.contract.Message`).  They are
# written out, since the properties of `Message` would cost calls for every message.
_SHORT, _MEDIUM, _LONG_ASYNC = int(Category.SHORT), int(Category.MEDIUM), int(Category.LONG_ASYNC)


class Dispatch:
    """The core as the port of one rank sees it.

    Attributes:
        local: messages of this rank to itself, which never touch the network.
        attached: how many handlers were attached by calls of `attach` that have returned.
        running: name of the handler that runs now, "" if none does.
        progress: functions of the layers above (`ep.on_progress`), to be run after a pass.
        wanted: whether a layer has asked for them since they were last run.
        progress_due: whether the port has been told so, and is to await `run_progress`.
        progressing: whether `run_progress` is running.
        requests_handled: requests that a handler was run for.
        replies_handled: replies that a handler was run for, so no automatic empty ones.
        unanswered: requests of these whose handler made no reply.
    """

    __slots__ = (
        "attached",
        "digest_log",
        "endpoint",
        "handlers",
        "hooks",
        "local",
        "memory",
        "port",
        "progress",
        "progress_due",
        "progressing",
        "rank",
        "replies_handled",
        "requests_handled",
        "running",
        "unanswered",
        "wanted",
    )  # fmt: skip

    def __init__(self, endpoint: Endpoint, hooks: Hooks | None = None) -> None:
        self.hooks = hooks
        self.endpoint = endpoint
        self.rank = endpoint.rank
        self.digest_log = endpoint._digest_log
        self.requests_handled = self.replies_handled = self.unanswered = 0
        self.handlers = endpoint.handlers.entries
        self.local: deque[Message] = deque()
        self.attached = 0
        self.running = ""
        self.progress: list[Action] = []
        self.progress_due = False
        self.wanted = False
        self.progressing = False
        endpoint._serve(self)

    def connect(self, port: Port) -> None:
        """Take the rank's port, which delivers its messages here."""
        self.port = port
        self.memory = port.segment.data

    def counted(self) -> Mapping[str, int]:
        """Return what has been counted, by name."""
        return {
            "replies_sent": self.requests_handled - self.unanswered,
            "requests_handled": self.requests_handled,
            "replies_handled": self.replies_handled,
        }

    def deliver(self, message: Message) -> Message | None:
        """Run the handler of `message`; see `conduit.contract.Core`.

        Raises:
            HandlerError: the handler raised or broke a rule.
            ConduitError: one that the handler raised, other than BadRequest and HandlerError (R33).
        """
        word = message.word
        if word & AUTO_REPLY:
            return None
        try:
            function, name = self.handlers[word & 255]
        except IndexError:
            raise self._unknown(message) from None
        source = message.source
        token = Token(self.endpoint, source, word)
        packed = message.args
        args = UNPACK[len(packed)](packed)
        run = self.port.handler_context()
        self.running = name
        try:
            if word & CATEGORY:
                self._call_with_payload(run, function, token, message, args)
            else:
                digest_log = self.digest_log
                if digest_log is not None:
                    digest_log += (self.port.ticks(), HANDLE | word, source, 0, crc32(packed))
                if run is None:
                    function(token, *args)
                else:
                    run(function, token, *args)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._failed(error, name, message)
        finally:
            self.running = ""
            reply = token._reply
            token._reply = OVER
        if not word & REQUEST:
            self.replies_handled += 1
            return None
        self.requests_handled += 1
        if reply is None:
            self.unanswered += 1
            return self._automatic_reply(name, message)
        self.endpoint.note_send(reply, source)
        if source != self.rank:
            return reply
        self.local.append(reply)
        return None

    def _unknown(self, message: Message) -> HandlerError:
        return HandlerError(
            f"rank {self.rank}: a message from rank {message.source} names handler {message.handler}, but only "
            f"{len(self.handlers)} are attached"
        )

    def _call_with_payload(
        self,
        run: Callable[..., Any] | None,
        function: Callable[..., Any],
        token: Token,
        message: Message,
        args: tuple[Any, ...],
    ) -> None:
        medium = (message.word >> 9 & 3) == _MEDIUM
        own = bytearray(message.payload) if medium else None
        view = self._landed(message) if own is None else memoryview(own)
        if self.digest_log is not None:
            check = crc32(view, crc32(message.args))
            self.digest_log += (self.port.ticks(), HANDLE | message.word, message.source, message.nbytes, check)
        if run is None:
            function(token, view, *args)
        else:
            run(function, token, view, *args)
        if own is not None:
            try:  # a medium payload dies with its handler (E7): a view that is kept would show another message's bytes
                view.release()
                own.clear()
            except BufferError:
                raise HandlerError(
                    "a slice or an array of the medium payload is still in use after the handler has returned; keep a "
                    "copy of it (bytes(payload), of numbers numpy.frombuffer(payload, dtype).copy()), not a view"
                ) from None

    def landed(self, when: int, source: int, offset: int, data: Buffer) -> None:
        """Log what a native operation of `source` has changed in the segment; see `conduit.contract.Core`."""
        digest_log = self.digest_log
        if digest_log is not None:
            digest_log += (when, LAND, source, offset, len(data), crc32(data))
            if len(digest_log) > FLUSH:
                digest_log.flush()
        if offset >= self.endpoint._segment_bytes:
            self.endpoint._landed_behind(source, offset, bytes(data))

    def complete(self, then: Complete) -> None:
        """Call `then` of a native operation of this rank, under a handler's rules: it may not wait or send requests.

        Raises:
            HandlerError: it has broken a rule.
        """
        run = self.port.handler_context()
        before, self.running = self.running, "the completion of a native operation"
        try:
            if run is None:
                then()
            else:
                run(then)
        finally:
            self.running = before

    def _landed(self, message: Message) -> memoryview:
        """Return a long payload where it lies in the segment; one of this rank to itself is stored there first."""
        nbytes = message.nbytes
        if not nbytes:
            return self.memory[0:0]
        view = self.memory[message.offset : message.offset + nbytes]
        if message.source == self.rank and message.payload:
            view[:] = message.payload
            self.port.charge(self.port.work_ticks(0, 1, nbytes))
        return view

    def _automatic_reply(self, name: str, request: Message) -> Message | None:
        """Return the automatic empty reply to a `request` whose handler made none; None for a request of this rank."""
        digest_log = self.digest_log
        if digest_log is not None and len(digest_log) > FLUSH:  # else what the rank sends sees to it
            digest_log.flush()
        if (request.word >> 9 & 3) == _LONG_ASYNC:
            place = place_of(self.handlers[request.handler][0])
            raise HandlerError(
                f"rank {self.rank}: handler {name!r} ({place}) made no reply to a long-async request of rank "
                f"{request.source}, whose source stays lent until the reply; reply, or send it with request_long"
            )
        return Message(AUTO_REPLY, source=self.rank) if request.source != self.rank else None

    def _failed(self, error: BaseException, name: str, message: Message) -> None:
        """Raise what a handler's `error` becomes for the job (R33); on SystemExit end the job and return."""
        kind = "request" if message.is_request else "reply"
        where = f"in handler {name!r} on rank {self.rank}, for a {kind} from rank {message.source}"
        if isinstance(error, SystemExit):
            self.port.fail(error)
        elif isinstance(error, TypeError) and (text := self._wrong_count(error, message)):
            raise HandlerError(text) from None
        elif isinstance(error, HandlerError) or not isinstance(error, ConduitError) or isinstance(error, BadRequest):
            raised = HandlerError(f"{where}: {type(error).__name__}: {text_of(error)}")
            raised.where = where
            raise raised from error
        else:
            error.add_note(where)
            raise error

    def _wrong_count(self, error: TypeError, message: Message) -> str:
        """Return what to say where a handler could not be called with what a message carries, "" where it was."""
        function = self.handlers[message.handler][0]
        begun = any(step.tb_frame.f_code is getattr(function, "__code__", None) for step in steps_of(error))
        if begun and not refuses_what_it_wraps(function, error):
            return ""  # the TypeError is the handler's own
        payload = (message.word >> 9 & 3) != _SHORT
        count = len(message.args) >> 2
        return wrong_count(function, count, payload=payload, request=message.is_request, source=message.source)

    def want_progress(self) -> None:
        """Ask for a run of `progress` at the next poll."""
        self.wanted = True
        if not self.progressing and not self.progress_due:
            self.progress_due = True
            self.port.request_pass()

    async def run_progress(self) -> None:
        """Run what the layers above asked for, again while they ask again; not re-entered (P6)."""
        if self.progressing:
            return
        self.progressing = True
        try:
            while self.wanted:
                self.wanted = self.progress_due = False
                await self.port.shielded(self._act)
        finally:
            self.progressing = False

    async def _act(self) -> None:
        """Run each of them once."""
        for action in self.progress:
            await action()
