"""Tokens: what a handler knows of its message, and its one chance to reply.

Who may send what from where:

    in a program            requests, everything that waits
    in a request handler    one reply, to the sender
    in a reply handler      nothing
"""

from __future__ import annotations

from sys import _getframe
from typing import Any, ClassVar, NoReturn

from conduit.contract import REQUEST, Category, Message, word_of
from conduit.core import arguments
from conduit.core.endpoint import Endpoint
from conduit.core.handlers import Handler
from conduit.core.refusals import refuse_reply
from conduit.errors import BadRequest, HandlerError

_MEDIUM, _LONG = (word_of(0, category, is_request=False) for category in (Category.MEDIUM, Category.LONG))
OVER = Message(0)
"""In the place of a reply once the handler has returned.  A sentinel, no message."""


class Token:
    """Given to a handler as its first argument; of no use once the handler has returned.

    Attributes:
        rank: the sender.
        ep: the endpoint that the handler runs on.
    """

    _instead: ClassVar = {
        **dict.fromkeys(
            ("request_short", "request_medium", "request_long", "request_long_async", "send", "request"),
            "a handler cannot send requests: let it take note of what to send, and send that from main, or in "
            "ep.on_progress",
        ),
        **dict.fromkeys(("src", "source", "sender", "src_rank"), "write `token.rank`"),
        "reply": "write `token.reply_short(handler, *args)`, with bytes `token.reply_medium(handler, payload, *args)`",
    }

    __slots__ = ("_reply", "_word", "ep", "rank")

    def __init__(self, ep: Endpoint, rank: int, word: int) -> None:
        self.ep = ep
        self.rank = rank
        self._word = word
        self._reply: Message | None = None

    @property
    def is_request(self) -> bool:
        """Whether the message is a request, to which one reply may be made."""
        return self._word & REQUEST != 0

    @property
    def _name(self) -> str:
        return self.ep.handlers.entries[self._word & 255][1]

    def __repr__(self) -> str:
        kind = "request" if self.is_request else "reply"
        return f"<Token of handler {self._name!r} for a {kind} from rank {self.rank}>"

    def reply_short(self, handler: Handler, *args: Any) -> None:
        """Reply with arguments alone.

        Args:
            handler: an attached function; it runs at the requester as `handler(token, *args)`.
            *args: at most `limits.max_args` integers of 32 bits.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: no reply may be made here and now.
        """
        if self._reply is not None or not self._word & REQUEST:
            self._refuse("token.reply_short")
        ep = self.ep
        try:
            try:
                index = ep._indices[handler]
                packed = ep._packers[len(args)](*args)
            except arguments.UNUSUAL:
                index = ep.handlers.index("token.reply_short", handler)
                packed = arguments.pack("token.reply_short", args, ep.limits.max_args)
        except BadRequest as error:
            refuse_reply(ep, error, _getframe(1))
        self._reply = Message(index, packed, b"", 0, 0, ep.rank)

    def reply_medium(self, handler: Handler, payload: Any, *args: Any) -> None:
        """Reply with a payload that the requester's handler gets in a buffer of its own.

        Args:
            handler: an attached function; it runs as `handler(token, payload, *args)`.
            payload: C-contiguous buffer of at most `limits.max_medium` bytes; copied at once.
            *args: at most `limits.max_args` integers of 32 bits.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: no reply may be made here and now.
        """
        call = "token.reply_medium"
        if self._reply is not None or not self._word & REQUEST:
            self._refuse(call)
        limits = self.ep.limits
        try:
            index = self.ep.handlers.index(call, handler)
            packed = arguments.pack(call, args, limits.max_args)
            data = arguments.payload(call, payload, limits.max_medium, "max_medium", "reply with reply_long")
        except BadRequest as error:
            refuse_reply(self.ep, error, _getframe(1))
        self._reply = Message(index | _MEDIUM, packed, bytes(data), 0, len(data), self.ep.rank)

    def reply_long(self, handler: Handler, payload: Any, offset: int, *args: Any) -> None:
        """Reply with a payload that lands in the requester's segment before its handler runs.

        Args:
            handler: an attached function; it runs as `handler(token, payload, *args)`.
            payload: C-contiguous buffer of at most `limits.max_long_reply` bytes.  Where it lies in
                this rank's own segment the network may read it until delivery; else it is copied.
            offset: bytes from the start of the requester's segment.
            *args: at most `limits.max_args` integers of 32 bits.

        Raises:
            BadRequest: a wrong argument.
            HandlerError: no reply may be made here and now.
        """
        call = "token.reply_long"
        if self._reply is not None or not self._word & REQUEST:
            self._refuse(call)
        ep = self.ep
        try:
            index = ep.handlers.index(call, handler)
            packed = arguments.pack(call, args, ep.limits.max_args)
            most = ep.limits.max_long_reply
            data = arguments.payload(call, payload, most, "max_long_reply", "let the requester ask for it in pieces")
            place = arguments.place(call, offset, len(data), ep.segment_size(self.rank), self.rank)
        except BadRequest as error:
            refuse_reply(ep, error, _getframe(1))
        lies = ep.place_in_segment(data)
        if lies is None:
            data = bytes(data)
        self._reply = Message(index | _LONG, packed, data, place if data else 0, len(data), ep.rank)
        self._reply.address = lies or 0

    def _refuse(self, call: str) -> NoReturn:
        if self._reply is OVER:
            why = f"this token belongs to handler {self._name!r}, which has returned; reply before it returns"
        elif not self.is_request:
            why = (
                f"{self._name!r} handles a reply, and a reply cannot be answered; let the program send a request "
                "instead"
            )
        else:
            why = f"{self._name!r} has replied already; a request gets at most one reply"
        refuse_reply(self.ep, HandlerError(f"{call}: {why}"), _getframe(2))
