"""Words of messages that depend on a value: how many of what, what kind of thing it is, and what to give instead."""

import inspect
import re
from collections.abc import Callable
from types import CoroutineType, FunctionType

_SHOWN = 40  # characters of a value that is part of an advice


def many(count: int, noun: str) -> str:
    """Return a count with its noun, whose plural ends in s: "1 message", "2 messages"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def is_a(value: object) -> str:
    """Return what kind of thing a value is, after its name: "is a str", "is an Endpoint", "is no value"."""
    if value is None:
        return "is no value"
    name = type(value).__name__
    return f"is {'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def plain(value: object) -> str:
    """Return how messages show a value: a function by its name, in one line, nothing by where it is in memory."""
    if isinstance(value, FunctionType):
        return value.__name__
    if isinstance(value, CoroutineType):
        return "a call without `await`"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", re.sub(r"\s*\n\s*", " ", repr(value)))


def as_bytes(value: object) -> str:
    """Return what to give in the place of a value that has no bytes: "its bytes, 'text'.encode()"."""
    text = plain(value)
    if isinstance(value, str):
        return f"its bytes, {text if len(text) <= _SHOWN else 'text'}.encode()"
    if isinstance(value, list | tuple):
        return f"an array: numpy.array({text if len(text) <= _SHOWN else '...'})"
    return "bytes, a bytearray, a memoryview or a numpy array"


def other_head(function: Callable[..., object], count: int) -> str:
    """Return what a function takes where that is not so many arguments, "" where it is or cannot be known."""
    try:
        head = inspect.signature(function)
    except (TypeError, ValueError):  # some of those that are built in do not tell
        return ""
    try:
        head.bind(*range(count))
    except TypeError:
        return str(head)
    return ""
