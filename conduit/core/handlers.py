"""The handler table: which function has which index, and what may be in it.

Indices are given in the order of attaching, from 0; all ranks must attach the same names in the
same order, or an index would mean different things to different ranks.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from itertools import count, takewhile
from sys import _getframe
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, TypeAlias

from conduit.core.arguments import shown
from conduit.errors import BadRequest
from conduit.words import is_a

Handler: TypeAlias = Callable[..., object]

MOST = 255
_PLAIN = (FunctionType, MethodType)
_SHOWN = 8  # names in an error: layers have dozens
WAITS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE


class HandlerTable:
    """The functions that one rank has attached.

    Attributes:
        entries: each function with its name, by index.
        indices: the index of each function.
    """

    __slots__ = ("entries", "indices")

    def __init__(self) -> None:
        self.entries: list[tuple[Handler, str]] = []
        self.indices: dict[Handler, int] = {}

    def index(self, call: str, handler: Handler) -> int:
        """Return the index of `handler`; BadRequest, naming `call`, where it is not attached."""
        try:
            return self.indices[handler]
        except (KeyError, TypeError):
            raise BadRequest(
                f"{call}: handler={describe(handler)} {self._not_attached(call, handler)} ({self._attached(handler)})"
            ) from None

    def _not_attached(self, call: str, handler: object) -> str:
        """Say why something is no attached handler, and what to do."""
        if text := self._of_object(handler):
            return text
        if text := self._of_another(handler):
            return text
        if callable(handler):
            return "is not attached on this rank; pass it to `await ep.attach(...)` first"
        for function, name in self.entries:
            if name == handler:
                return f"{is_a(handler)}; pass the function itself, {name}, of {place_of(function)}"
        if isinstance(handler, int) and ".reply" in call:
            return f"{is_a(handler)}; a reply goes to who has sent and has no dest: begin with the function itself"
        return f"{is_a(handler)}; pass the function itself, as it was given to `await ep.attach(...)`"

    def _of_another(self, handler: object) -> str:
        """Say that a function of the same name is attached, which is another object; "" for others."""
        if not isinstance(handler, FunctionType):
            return ""
        for function, name in self.entries:
            if name != handler.__name__ or not isinstance(function, FunctionType):
                continue
            if function.__code__ is handler.__code__:
                return (
                    f"is not the function that is attached: its `def` at {place_of(handler)} has run several times and "
                    f"made a new one each time; keep one, and pass that everywhere"
                )
            return (
                f"is not the function that is attached: {name} of {place_of(function)} is, and the one given is of "
                f"{place_of(handler)}; give them different names, and attach both"
            )
        return ""

    def _of_object(self, handler: object) -> str:
        """Say that another object's method is attached, or that of one where its function was given; "" for others."""
        given = getattr(handler, "__func__", handler)
        for function, name in self.entries:
            if isinstance(function, MethodType) and function.__func__ is given:
                kind = type(function.__self__).__name__
                return (
                    f"is not the method that is attached, which is bound to one {kind}: pass it as it was attached, "
                    f"`{kind.lower()}.{name}`, of that very object"
                )
        return ""

    def names(self) -> list[str]:
        """Return the names of the attached functions, by index."""
        return [name for _, name in self.entries]

    def _attached(self, handler: object) -> str:
        """Return the names of attached functions: those of the file of the function that is meant, no layer's.

        For what has no file they are those of the file that makes the call, or all where no file makes it.
        """
        own = _file_of(handler)
        file = own or _calling_file()
        names = self._of_file(file) if file else self.names()
        more = len(names) - _SHOWN
        shown = ", ".join(names[-_SHOWN:] + [f"and {more} before them"] * (more > 0))
        none = f"none of {'its' if own else 'this'} file" if self.entries else "none"
        return f"attached: {shown or none}"

    def _of_file(self, file: str) -> list[str]:
        return [name for function, name in self.entries if _file_of(function) == file]

    def check(self, handlers: Sequence[Handler]) -> None:
        """Raise BadRequest where `handlers` cannot be added."""
        if not (  # a glance, since every rank of a large job attaches dozens
            len(self.entries) + len(handlers) <= MOST
            and all(map(_is_plain, handlers))
            and len(set(handlers)) == len(handlers)
            and self.indices.keys().isdisjoint(handlers)
        ):
            self._check_each(handlers)

    def _check_each(self, handlers: Sequence[Handler]) -> None:
        """Raise BadRequest for the first of `handlers` that cannot be added."""
        new: set[Handler] = set()
        for handler in handlers:
            problem = "" if _is_plain(handler) else _problem(handler)
            if problem:
                raise BadRequest(f"attach: handler={_described(handler)} {problem}")
            if handler in self.indices or handler in new:
                raise BadRequest(f"attach: handler={describe(handler)} is attached already; attach each function once")
            new.add(handler)
        if len(self.entries) + len(handlers) > MOST:
            raise BadRequest(
                f"attach: {len(handlers)} handlers on top of {len(self.entries)} make more than {MOST}, "
                "the most that a message can name; use fewer and tell cases apart by an argument"
            )

    def add(self, handlers: Sequence[Handler]) -> None:
        """Append checked `handlers`."""
        self.indices.update(zip(handlers, count(len(self.entries)), strict=False))
        self.entries += [(handler, handler.__name__) for handler in handlers]

    def cut(self, length: int) -> None:
        """Take out again what was added after the first `length` handlers."""
        for handler, _ in self.entries[length:]:
            del self.indices[handler]
        del self.entries[length:]


def describe(handler: object) -> str:
    """Return how messages name `handler`."""
    return _name(handler) if callable(handler) else shown(handler)


def _described(handler: object) -> str:
    """Return how `attach` names what it was given, several handlers in a list too."""
    if isinstance(handler, list | tuple):
        return f"[{', '.join(map(describe, handler))}]"
    return describe(handler)


def code_of(function: object) -> CodeType | None:
    """Return the code that a call of `function` begins with, a plain one where none can be seen.

    None: it cannot be called.
    """
    own = getattr(function, "__code__", None)
    if type(own) is CodeType:  # most often a function or method
        return own
    if not callable(function):
        return None
    while isinstance(function, functools.partial):
        function = function.func
    for each in (function, type(function).__call__):
        code = getattr(each, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return code_of.__code__


def _name(handler: object) -> str:
    name = getattr(handler, "__name__", None)
    return shown(handler) if name is None else str(name)


def _is_plain(handler: Any) -> bool:
    """Say, at a glance, whether `handler` is an ordinary function or method with a name."""
    kind = type(handler)
    if kind not in _PLAIN:
        return False
    try:
        code = handler.__code__  # of a method that of its function
    except AttributeError:  # a method of an object that can be called
        return False
    return (
        code.co_argcount > (kind is MethodType)
        and not code.co_kwonlyargcount
        and not code.co_flags & WAITS
        and handler.__name__ != "<lambda>"
    )


def _takes_token(handler: Any) -> bool:
    """Say whether a function can be called with one argument, at least as far as its first one goes."""
    kinds = {each.kind for each in inspect.signature(handler).parameters.values()}
    return bool(kinds & {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}) or (
        inspect.Parameter.VAR_POSITIONAL in kinds
    )


def _by_keyword(handler: Any) -> list[str]:
    """Return the parameters without a default that a function takes by keyword alone."""
    taken = inspect.signature(handler, follow_wrapped=False).parameters.values()
    return [each.name for each in taken if each.kind is inspect.Parameter.KEYWORD_ONLY and each.default is each.empty]


def _file_of(function: object) -> str:
    return getattr(getattr(function, "__code__", None), "co_filename", "")


def _calling_file() -> str:
    """Return the file of who calls the core."""
    frame: FrameType | None = _getframe(1)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_filename


def place_of(function: Any) -> str:
    """Return file and line of a function, as Python was given them."""
    code = code_of(function)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else "an unknown line"


def _problem(handler: Any) -> str:
    """Return what keeps `handler` from being a handler, "" if nothing does."""
    if inspect.iscoroutinefunction(handler) or inspect.isasyncgenfunction(handler):
        return "is async; a handler is an ordinary function, because it may never wait"
    if inspect.isgeneratorfunction(handler):
        return "is a generator function; a handler is an ordinary function that runs to its end"
    if inspect.iscoroutine(handler):
        return "is a coroutine; pass the function itself, without calling it"
    if isinstance(handler, str):
        return (
            f"is a str; pass the function itself: {handler}" if handler.isidentifier() else "is a str; pass a function"
        )
    if isinstance(handler, list | tuple) and any(callable(each) or isinstance(each, tuple) for each in handler):
        return f"{is_a(handler)}; pass each function by itself, `await ep.attach(f, g)`: none has a number of its own"
    if not (inspect.isfunction(handler) or inspect.ismethod(handler)):
        name = _name(handler.func) if isinstance(handler, functools.partial) else ""
        more = f", as a `def` that calls {name}" if name.isidentifier() else ""
        return f"is no function; pass an ordinary function or a bound method{more}"
    if getattr(handler, "__name__", None) is None:
        return "is a method made of an object that can be called, and has no name; pass an ordinary function or method"
    if handler.__name__ == "<lambda>":
        return "is a lambda, which all ranks would call by the same name; use `def`"
    if not _takes_token(handler):
        return f"({place_of(handler)}) takes no token; write `def {handler.__name__}(token, ...)`"
    if names := _by_keyword(handler):
        return (
            f"({place_of(handler)}) takes {' and '.join(names)} by keyword alone, and a message gives none by keyword; "
            f"take the * away, or give {'it' if len(names) == 1 else 'each'} a default"
        )
    return ""


def mismatch(tables: Sequence[bytes], rank: int) -> str:
    """Return a text that shows two tables that differ, "" where all ranks have the same.

    Args:
        tables: for each rank, its new names, encoded and joined by newlines.
        rank: its table is shown beside the first that differs from it.
    """
    mine = tables[rank]
    if tables.count(mine) == len(tables):
        return ""
    other = next((peer for peer, table in enumerate(tables) if table != mine), None)
    if other is None:
        return ""
    names, others = mine.decode().split("\n"), tables[other].decode().split("\n")
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(names, others, strict=False)))
    return (
        "attach: every rank must pass the same handlers in the same order; "
        f"rank {rank} passed [{_shown(names, alike)}], rank {other} passed [{_shown(others, alike)}]"
    )


def _shown(names: list[str], at: int) -> str:
    """Return names as errors show them, of many only those from before an index on."""
    first = max(0, min(at - 1, len(names) - _SHOWN))
    more = len(names) - first - _SHOWN
    shown = ", ".join([f"{first} others"] * (first > 0) + names[first : first + _SHOWN])
    return shown + f" and {more} more" * (more > 0)
