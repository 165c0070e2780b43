"""What the checks' programs are made of: handlers that write down what they see, and errors caught as text."""

import re
from collections.abc import Awaitable, Callable, Container, Sized
from typing import Any

import attrs

from conduit import BadRequest, Endpoint, Token

CATEGORIES = ("short", "medium", "long")


@attrs.frozen
class Seen:
    """One message as a handler saw it; the payload is copied out, None for a short one."""

    category: str
    rank: int
    is_request: bool
    args: tuple[int, ...]
    payload: bytes | None = None


class MessageLog:
    """The handlers of one rank, which write down every message that they get, in the order they run."""

    def __init__(self, ep: Endpoint) -> None:
        """Make handlers for the rank of this endpoint; ``attach`` makes them known."""
        self.ep = ep
        self.seen: list[Seen] = []

    def short(self, token: Token, *args: int) -> None:
        """Write down a short message."""
        self.seen.append(Seen("short", token.rank, token.is_request, args))

    def medium(self, token: Token, payload: memoryview, *args: int) -> None:
        """Write down a medium message."""
        self.seen.append(Seen("medium", token.rank, token.is_request, args, bytes(payload)))

    def long(self, token: Token, payload: memoryview, *args: int) -> None:
        """Write down a long message."""
        self.seen.append(Seen("long", token.rank, token.is_request, args, bytes(payload)))

    def __getitem__(self, category: str) -> Callable[..., None]:
        """Give the handler for a category."""
        handler: Callable[..., None] = getattr(self, category)
        return handler

    async def attach(self, *more: Callable[..., Any]) -> None:
        """Attach the three handlers and those of the check."""
        await self.ep.attach(self.short, self.medium, self.long, *more)

    async def until(self, count: int) -> list[Seen]:
        """Poll until that many messages have been seen, and give them."""
        await self.ep.block_until(lambda: len(self.seen) >= count, what=f"{count} messages")
        return self.seen


async def attached(ep: Endpoint, *more: Callable[..., Any]) -> MessageLog:
    """Make this rank's box and attach it, with further handlers after it."""
    log = MessageLog(ep)
    await log.attach(*more)
    return log


async def linger(ep: Endpoint, seconds: float) -> None:
    """Work for so long, polling twenty times: what a network has lost it may send again at polls of the sender."""
    for _ in range(20):
        await ep.compute(seconds / 20)
        await ep.poll()


def send(
    ep: Endpoint,
    category: str,
    dest: int,
    handler: Callable[..., Any],
    *args: int,
    payload: Any = b"",
    offset: int = 0,
) -> Awaitable[None]:
    """Call the request of a category (``long_async`` too); the payload and offset count where it has them."""
    if category == "short":
        return ep.request_short(dest, handler, *args)
    if category == "medium":
        return ep.request_medium(dest, handler, payload, *args)
    if category == "long":
        return ep.request_long(dest, handler, payload, offset, *args)
    return ep.request_long_async(dest, handler, payload, offset, *args)


def answer(
    token: Token, category: str, handler: Callable[..., Any], *args: int, payload: Any = b"", offset: int = 0
) -> None:
    """Make the reply of a category; the payload and offset count where it has them."""
    if category == "short":
        token.reply_short(handler, *args)
    elif category == "medium":
        token.reply_medium(handler, payload, *args)
    else:
        token.reply_long(handler, payload, offset, *args)


def refusal(call: Callable[[], Any], error: type[Exception] = BadRequest) -> str:
    """Give the message with which a call is refused at once, before anything of it is awaited.

    Raises:
        AssertionError: the call was not refused, or with an error of another class.
    """
    try:
        made = call()
    except error as refused:
        return str(refused)
    except Exception as other:
        raise AssertionError(f"refused with {type(other).__name__}, not {error.__name__}: {other}") from other
    if hasattr(made, "close"):
        made.close()
    raise AssertionError(f"not refused, although it must raise {error.__name__}")


def more_than(items: Sized, count: int) -> Callable[[], bool]:
    """Give a predicate: there are more than ``count`` items."""
    return lambda: len(items) > count


def holds(items: Container[object], item: object) -> Callable[[], bool]:
    """Give a predicate: the item is among the items."""
    return lambda: item in items


def names(message: str, *words: object) -> bool:
    """Say whether a message has these words or numbers in it, each standing by itself."""
    found = all(re.search(rf"(?<![\w-]){re.escape(str(word))}(?![\w])", message) for word in words)
    assert found, f"the message should name {', '.join(map(repr, map(str, words)))}; it is: {message}"
    return True


def chain(error: BaseException) -> str:
    """Give the text of an error with its notes, as a traceback ends."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


def neighbour(ep: Endpoint) -> int:
    """Give the next rank, this one again where it is alone."""
    return (ep.rank + 1) % ep.size
