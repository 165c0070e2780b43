"""The two sides of the core for one rank, made together: what its program calls, and what its port calls.

Where somebody listens to messages they are of the classes below, which give each message an identity and tell of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conduit.contract import REQUEST, Buffer, Costs, Hooks, Identity, Limits, Message
from conduit.core.calls import Guard
from conduit.core.digest import DigestLog
from conduit.core.dispatch import Dispatch
from conduit.core.endpoint import Endpoint


def make_endpoint(
    rank: int,
    hosts: tuple[int, ...],
    limits: Limits,
    segment_bytes: int,
    seed: int,
    *,
    costs: Costs,
    library_costs: Mapping[str, float] | None = None,
    simulated: bool,
    max_segment: int | None = None,
    larger_segment: Callable[[int], str] | None = None,
    digest_log: DigestLog | None = None,
    hooks: Hooks | None = None,
) -> Endpoint:
    """Return the endpoint of a rank, with what handles its messages.

    Args:
        rank: the rank.
        hosts: the host of every rank.
        limits: what one message may carry.
        segment_bytes: size of every rank's segment.
        seed: of everything random.
        costs: what the network says of its messages.
        library_costs: what calls of a vendor's libraries cost beside that.
        simulated: whether time is virtual.
        max_segment: bytes of the largest segment that the network gives, None for any.
        larger_segment: says what to do for a segment of a size over that; None: nothing helps.
        digest_log: where the acts of the rank are logged for the digest, if there is one.
        hooks: whom to tell what happens.
    """
    listened = hooks is not None and hooks.messages
    kind, server = (_Endpoint, _Dispatch) if listened else (Endpoint, Dispatch)
    endpoint = kind(
        rank, hosts, limits, segment_bytes, seed,
        costs=costs, simulated=simulated, max_segment=max_segment, larger_segment=larger_segment,
        digest_log=digest_log,
    )  # fmt: skip
    endpoint.take_library_costs(library_costs or {})
    server(endpoint, hooks)
    return endpoint


class _Endpoint(Endpoint):
    """An endpoint that tells what it sends."""

    __slots__ = ("_made", "answered")

    answered: Identity | None
    """The request whose handler runs, or has run last."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._made = 0
        self.answered = None

    async def _request(self, unused: Guard, dest: int, message: Message) -> None:
        message.identity = Identity(self.rank, dest, self._made)
        self._made += 1
        message.begun = self._port.ticks()
        await super()._request(unused, dest, message)

    def note_send(self, message: Message, dest: int) -> None:
        super().note_send(message, dest)
        now = self._port.ticks()
        if not message.word & REQUEST:
            assert self.answered is not None
            message.identity, message.begun = self.answered._replace(reply=True), now
            if dest != self.rank:
                return  # its port tells when it has sent it
        hooks = self._dispatch.hooks
        assert hooks is not None
        if hooks.sent is not None:
            hooks.sent(message.identity, message.begun, now, message.word >> 9 & 3, message.nbytes)


# Errors of Python's name the class: to a program it is the same one.
_Endpoint.__name__ = _Endpoint.__qualname__ = Endpoint.__name__
_Endpoint.__module__ = Endpoint.__module__


class _Dispatch(Dispatch):
    """A dispatch that tells what it handles."""

    __slots__ = ("name",)

    endpoint: _Endpoint

    def deliver(self, message: Message) -> Message | None:
        hooks = self.hooks
        assert hooks is not None
        begin = self.port.ticks()
        self.endpoint.answered = identity = message.identity
        if message.source == self.rank and hooks.noticed is not None:
            hooks.noticed(identity, begin)
        reply = super().deliver(message)
        if not message.is_auto_reply and hooks.handled is not None:
            hooks.handled(identity, begin, self.port.ticks(), self.handlers[message.handler][1])
        if reply is not None and reply.is_auto_reply:
            reply.identity = identity._replace(reply=True)
        return reply

    def _landed(self, message: Message) -> memoryview:
        view = super()._landed(message)
        hooks = self.hooks
        assert hooks is not None
        if hooks.landed is not None and message.source == self.rank and message.payload:
            hooks.landed(self.rank, self.port.ticks(), message.offset, message.nbytes, message.identity)
        return view

    def landed(self, when: int, source: int, offset: int, data: Buffer) -> None:
        super().landed(when, source, offset, data)
        hooks = self.hooks
        assert hooks is not None
        if hooks.landed is not None:
            hooks.landed(self.rank, when, offset, len(data), source)
