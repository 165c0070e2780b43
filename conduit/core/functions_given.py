"""Functions that layers and programs give to be called later: what is told of them at once, what their call tells."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Awaitable, Callable
from inspect import CO_COROUTINE, CO_ITERABLE_COROUTINE
from types import CodeType, CoroutineType, FunctionType, MethodType
from typing import Any, TypeVar

from conduit.core.arguments import shown
from conduit.core.handlers import WAITS, code_of, describe
from conduit.errors import BadRequest

T = TypeVar("T")
Action = Callable[[], Awaitable[object]]
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
"""How the versions of Python name what puts a constant where it is returned from."""
_ENDS = frozenset({"exit", "quit", "_exit", "abort", "Abort", "global_exit", "kill", "SystemExit"})
"""Names of what ends a job, or a process."""


def called(what: str, function: Callable[..., Awaitable[T]], *args: Any) -> Awaitable[T]:
    """Call a function of the program's that is to be async; return what is to be awaited.

    Args:
        what: the call that it was given to, and the name of the argument there, for the error.
        function: an async function, or an ordinary one that returns a coroutine.
        *args: its arguments.

    Raises:
        BadRequest: what it returns cannot be awaited.
    """
    made = function(*args)
    if not inspect.isawaitable(made):
        raise BadRequest(
            f"{what}={describe(function)}{_place(function)} returned a {type(made).__name__}, which cannot be awaited; "
            "pass an async function"
        )
    return made


def _place(function: object) -> str:
    """Return where a function without a name of its own begins, as a lambda or an object that is called; else ""."""
    code = code_of(function)
    if code is None or code is code_of.__code__ or (code.co_name == describe(function) and code.co_name.isidentifier()):
        return ""
    return f" ({code.co_filename}:{code.co_firstlineno})"


def action(call: str, function: Action) -> Action:
    """Return what a layer above wants to be run, so that it says so where that turns out not to be async.

    Args:
        call: the call that it was given to.
        function: as given.

    Raises:
        BadRequest: no function without arguments that can be awaited.
    """
    asked = "pass an async function of no arguments"
    code = code_of(function)
    if code is None:
        raise BadRequest(f"{call}: function={shown(function)} cannot be called; {asked}")
    waits = code.co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE)
    if code.co_flags & WAITS and not waits:
        raise BadRequest(f"{call}: function={describe(function)} is a generator function; {asked}")
    if not waits and _gives_constants(code):
        named = code.co_name == getattr(function, "__name__", "") and code.co_name.isidentifier()  # no lambda
        raise BadRequest(
            f"{call}: function={describe(function)} is an ordinary function, which gives nothing to await; {asked}"
            f"{f': write `async def {code.co_name}`' if named else ''}"
        )
    if not _takes_nothing(function):
        try:
            inspect.signature(function, follow_wrapped=False).bind()
        except TypeError as error:
            raise BadRequest(f"{call}: function={describe(function)} takes arguments ({error}); {asked}") from None
        except ValueError:
            pass  # some of those that are built in do not tell
    return function if waits else functools.partial(called, f"{call}: function", function)


_PLAIN_ASKED = "pass a plain function of one argument"


def refuse_later(call: str, function: Callable[..., object]) -> None:
    """Refuse a function that would not run when it is called, as a report is made.

    Raises:
        BadRequest: it is async, or a generator.
    """
    code = code_of(function)
    if code is None or not code.co_flags & WAITS:
        return
    kind = "an async function" if code.co_flags & CO_COROUTINE else "a generator function"
    named = type(code) is CodeType and hasattr(function, "__name__")  # a mock only says that it is one
    write = f": write `def {code.co_name}(told)`" if named else ""
    raise BadRequest(
        f"{call}: function={describe(function)} is {kind}, which would not run where a report is made; {_PLAIN_ASKED}"
        f"{write}"
    )


def runs_later(given: object) -> bool:
    """Return whether what a function has returned is its work, which nothing does where a report is made."""
    return inspect.isawaitable(given) or inspect.isgenerator(given)


def run_later(given: object, who: str) -> str:
    """Return what is told of a function that has returned such a thing, of which Python is to say no more."""
    if isinstance(given, CoroutineType):
        given.close()
    return f"{who}, returned a {type(given).__name__}, which nothing runs where a report is made; {_PLAIN_ASKED}"


def _gives_constants(code: CodeType) -> bool:
    """Say whether a function surely returns nothing to await: a constant, mostly None, wherever it returns.

    One that calls what ends the job may never return.
    """
    if _ENDS.intersection(code.co_names):
        return False
    before, found = None, False
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_VALUE":
            if before is None or before.opname not in _CONSTANTS or step.is_jump_target:
                return False
            found = True
        found = found or step.opname == "RETURN_CONST"
        before = step
    return found


def _takes_nothing(function: Any) -> bool:
    """Say, at a glance, whether `function` is an ordinary function or method without parameters."""
    bound = type(function) is MethodType
    plain = function.__func__ if bound else function
    if type(plain) is not FunctionType:
        return False
    code = plain.__code__
    return code.co_argcount == bound and not code.co_kwonlyargcount
