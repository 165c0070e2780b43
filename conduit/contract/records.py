"""What a network says of itself: what a message may carry, the numbers behind it, tables of its driver."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from numbers import Real
from typing import Any, Literal

import attrs

from conduit.errors import BadRequest


def _limit(limits: object, field: attrs.Attribute[int], value: int) -> None:
    """Refuse what is less than every network carries."""
    least = 16 if field.name == "max_args" else 512
    if not isinstance(value, int) or value < least:
        raise BadRequest(f"Limits: {field.name}={value} is not allowed; pass an int of at least {least}")


@attrs.frozen
class Limits:
    """What a conduit carries in one message.

    Attributes:
        max_args: 32-bit arguments of any message, at least 16.
        max_medium: bytes of a medium payload, request or reply, at least 512.
        max_long_request: bytes of a long request's payload, at least 512.
        max_long_reply: bytes of a long reply's payload, at least 512.
    """

    max_args: int = attrs.field(validator=_limit)
    max_medium: int = attrs.field(validator=_limit)
    max_long_request: int = attrs.field(validator=_limit)
    max_long_reply: int = attrs.field(validator=_limit)


def _seconds(costs: object, field: attrs.Attribute[Any], value: Any) -> None:
    """Refuse what is no time: layers choose by it, and a wrong sign or NaN would choose for them unseen."""
    known = type(value) is float or isinstance(value, Real)  # the first says it of most, without a call
    if not known or not 0 <= value < inf:
        raise BadRequest(
            f"{type(costs).__name__}: {field.name}={value!r} is not allowed; pass seconds, a finite number of at least "
            "0"
        )


def _bytes(costs: object, field: attrs.Attribute[Any], value: int) -> None:
    """Refuse what is no number of bytes."""
    if not isinstance(value, int) or value < 1:
        raise BadRequest(
            f"{type(costs).__name__}: {field.name}={value!r} is not allowed; pass an int of at least 1, or None"
        )


def _messages(costs: object, field: attrs.Attribute[Any], value: Any) -> None:
    """Refuse what is no record of costs."""
    if not isinstance(value, MessageCosts):
        raise BadRequest(
            f"Costs: {field.name}={value!r} is not allowed; pass conduit.contract.MessageCosts(...), or None"
        )


@attrs.frozen(kw_only=True)
class MessageCosts:
    """What messages between two ranks take while no other rank sends, and what changes where others do; seconds.

    Attributes:
        start: a short message, half of a round trip with its polls.
        send: of it, what the sender's CPU is taken for.
        receive: of it, what the receiver's CPU is taken for.
        medium_byte: each byte of a medium payload.
        long_start: a long message whose payload is large, without its bytes.
        long_byte: each byte of a large payload of a long message.
        flight_bytes: of a payload on their way from one rank to another at most; None where it is all of it.
        crowd_bytes: on their way to one rank from all others together, beyond which they are sent twice; None where
            that is any number.
        medium_send_byte: of `medium_byte`, what keeps the sender from its next message; None where it is all of it.
        medium_receive_byte: of `medium_byte`, what keeps the receiver from taking the next; None where it is all of it.
        answered: whether a request whose handler makes no reply is answered by a short message; else by what takes
            neither CPU any time.
        poll: a poll that finds nothing, which each request begins with.
        interrupt: what takes the receiver's CPU besides when a message comes while it does something else.
    """

    start: float
    send: float
    receive: float
    medium_byte: float
    long_start: float
    long_byte: float
    flight_bytes: int | None = None
    crowd_bytes: int | None = None
    medium_send_byte: float | None = None
    medium_receive_byte: float | None = None
    answered: bool = True
    poll: float = 0.0
    interrupt: float = 0.0

    def __attrs_post_init__(self) -> None:
        times = (
            self.start, self.send, self.receive, self.medium_byte, self.long_start, self.long_byte, self.poll,
            self.interrupt,
        )  # fmt: skip
        # All at once, since nearly all are sound; a NaN makes the sum one.
        if not {float}.issuperset(map(type, times)) or not (min(times) >= 0 and sum(times) < inf):
            for name in (
                "start", "send", "receive", "medium_byte", "long_start", "long_byte", "poll", "interrupt",
            ):  # fmt: skip
                _seconds(self, getattr(attrs.fields(MessageCosts), name), getattr(self, name))
        if self.flight_bytes is not None:
            _bytes(self, attrs.fields(MessageCosts).flight_bytes, self.flight_bytes)
        if self.crowd_bytes is not None:
            _bytes(self, attrs.fields(MessageCosts).crowd_bytes, self.crowd_bytes)
        if self.medium_send_byte is not None:
            _seconds(self, attrs.fields(MessageCosts).medium_send_byte, self.medium_send_byte)
        if self.medium_receive_byte is not None:
            _seconds(self, attrs.fields(MessageCosts).medium_receive_byte, self.medium_receive_byte)
        if type(self.answered) is not bool:
            raise BadRequest(f"MessageCosts: answered={self.answered!r} is not allowed; pass True or False")


@attrs.frozen(kw_only=True)
class Costs:
    """What a network says of its own messages, by its options and constants; the same on every rank.

    Attributes:
        off_host: between ranks of two hosts, neighbours where that matters; None where it does not know.
        on_host: between ranks of one host; None where it does not know.
        copy_byte: seconds of a byte that a CPU copies in its memory; None where it does not know.
    """

    off_host: MessageCosts | None = None
    on_host: MessageCosts | None = None
    copy_byte: float | None = None

    def __attrs_post_init__(self) -> None:
        if type(self.off_host) is not MessageCosts and self.off_host is not None:
            _messages(self, attrs.fields(Costs).off_host, self.off_host)
        if type(self.on_host) is not MessageCosts and self.on_host is not None:
            _messages(self, attrs.fields(Costs).on_host, self.on_host)
        if self.copy_byte is not None:
            _seconds(self, attrs.fields(Costs).copy_byte, self.copy_byte)


UNITS = (
    "ns", "us", "us/byte", "bytes", "MB/s", "1/s", "MHz", "Mflop/s", "count", "messages", "datagrams", "ratio", "-",
)  # fmt: skip
"""What constants are in; "-" is for texts and for what has no unit."""


def _unit(constant: Constant, field: object, value: str) -> None:
    """Refuse a unit that no reader of constants knows: it is nearly always misspelt."""
    if value not in UNITS:
        raise BadRequest(f"constant {constant.name!r}: unit={value!r} is not allowed; pass one of {', '.join(UNITS)}")


def _kind(constant: Constant, field: object, value: str) -> None:
    """Refuse a kind that is not counted."""
    if value not in ("fact", "anchor", "assumed"):
        raise BadRequest(
            f"constant {constant.name!r}: kind={value!r} is not allowed; pass 'fact', 'anchor' or 'assumed'"
        )


@attrs.frozen
class Constant:
    """A number behind a simulated network, and where it comes from.

    Attributes:
        name: what `conduit show` calls it.
        value: the number, or a short text.
        unit: one of `UNITS`: "ns", "us", "bytes", "MB/s" (10**6), "count" and so on; "-" for none.
        kind: "fact" and "anchor" come from a paper, "assumed" from a stated reason.
        source: the id of the fact or anchor, with the arithmetic where there is any, or the reason.
    """

    name: str
    value: object
    unit: str = attrs.field(validator=_unit)
    kind: Literal["fact", "anchor", "assumed"] = attrs.field(validator=_kind)
    source: str


def _rows(table: RawTable, field: object, rows: Sequence[Sequence[object]]) -> None:
    """Refuse rows that do not fill the columns."""
    for row in rows:
        if len(row) != len(table.columns):
            raise BadRequest(f"table {table.title!r}: the row {row} does not have a cell for each of {table.columns}")


@attrs.frozen
class RawTable:
    """One table of a driver's own benchmarks, for `conduit raw`.

    Attributes:
        title: what stands above it.
        columns: titles, with units.
        rows: a cell for each column: a text, a number, which is shown with three decimals if it is a float, or None.
        note: what stands below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]] = attrs.field(validator=_rows)
    note: str = ""
