"""Calls that are noticed when they are forgotten (rule E4), and functions that a program gives to calls.

A call of this package is a plain function: it checks its arguments, so that an error stands at the
line that is wrong, and returns a coroutine.  The coroutine holds a `Guard`; one that dies before
its coroutine ran tells the endpoint which line made the call.
"""

from __future__ import annotations

import ast
import gc
import inspect
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from sys import _getframe, exception, is_finalizing
from types import CodeType, CoroutineType
from typing import Any, NamedTuple, Protocol

import numpy as np

from conduit.core import to_await, written
from conduit.core.results import result_kind, usual_kind
from conduit.core.steps import steps_of
from conduit.core.threads import is_elsewhere, where
from conduit.errors import BadRequest, ConduitWarning

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_OF_PREDICATES = ("block_until", "_enter_block")
"""The functions of ports that call a predicate, which may itself be a method of this package."""
_HOLDERS = (list, dict)
_HELD = 1000
"""Calls in one list of a program's that are looked at when an error rises."""

NUMBER = "gives_a_number"
"""What a function has that gives bytes: the name of the method that takes the same and gives them as a number."""

MOST_FORGOTTEN = 1000
"""Calls that a rank may forget before the next one raises: a loop that awaits nothing would go on for ever."""


_MADE = re.compile(r"(?P<made>.+ at .+) was called( \d+ times)? but never awaited", re.DOTALL)
_OTHERS = 4
"""Forgotten calls beside the first that are told with their lines."""


class Caller(Protocol):
    """The object with the calls that are guarded: the endpoint.

    Attributes:
        forgotten: errors for the calls of it that were never awaited, at most `MOST_FORGOTTEN`.
    """

    forgotten: list[BadRequest]

    def refuse_calls(self) -> None:
        """Let every further call raise the last of these errors."""


class Guard(list[Any]):
    """Lives in the coroutine of one call and knows whether it ever ran: `clear()` says that it does.

    A list of [endpoint, name of the call, code, f_lasti], for a call of a layer above the function in the place of
    the name, and also its own coroutine, made without a Python frame because every call makes one.  That of
    `call_guard` has the four in one tuple, which the call may `pop()` in place of `clear()`, to keep where it was made.
    """

    __slots__ = ()

    def __del__(self) -> None:
        """Report the call where its coroutine was thrown away unused."""
        if not self:
            return
        endpoint, *_ = _told(self)
        for coroutine in self[4:]:
            _close_quietly(coroutine)
        if endpoint is not None:
            _note(endpoint, self)
        else:
            _warn(self)

    def forgive(self) -> None:
        """Disarm the guard without running the call: another error already reports this call to its author."""
        for coroutine in self[4:]:
            _close_quietly(coroutine)
        self.clear()

    def refuse(self) -> str:
        """Forgive the call, and return it as the program has written it, for that other error."""
        if not self:
            return ""
        _, call, code, lasti, *_ = _told(self)
        self.forgive()
        return written.call(code, lasti, _name(call))


def _told(unused: Guard) -> Sequence[Any]:
    """Return what a guard has: endpoint, name of the call, code, f_lasti."""
    first = unused[0]
    return first if type(first) is tuple else unused


def _close_quietly(coroutine: object) -> None:
    """Close a coroutine that never ran, which may be a call that another one has made and returns as its own."""
    if not inspect.iscoroutine(coroutine):
        return
    for each in _guards_of(coroutine):
        each.forgive()
    coroutine.close()


def _guards_of(coroutine: CoroutineType[Any, Any, Any]) -> list[Guard]:
    """Return the guards of a call by its coroutine, those alone that would still report it."""
    frame = coroutine.cr_frame
    return [each for each in frame.f_locals.values() if isinstance(each, Guard) and each] if frame else []


def begun_at(coroutine: CoroutineType[Any, Any, Any], code: CodeType, lasti: int) -> None:
    """Let a call say that a line of the program has made it: Trio has, for `nursery.start_soon(x.call)`.

    Args:
        coroutine: of the call, which has not begun to run.
        code: of the line.
        lasti: where in that.
    """
    for each in _guards_of(coroutine):
        endpoint, call, *_ = _told(each)
        if type(each[0]) is tuple:
            each[0] = endpoint, call, code, lasti
        else:
            each[2:4] = code, lasti


def _warn(unused: Guard) -> None:
    """Warn of a call that was made in no job and thrown away, since no job can end because of it."""
    if is_finalizing():
        return
    _, call, code, lasti, *_ = _told(unused)
    made = written.call(code, lasti, _name(call))
    warnings.warn_explicit(
        f"{made} was called outside of a job and never awaited, so it did nothing; make calls while main runs, and "
        "`await` them",
        ConduitWarning,
        *written.line(code, lasti),
    )


def _name(call: Any) -> str:
    """Return what a call is known as; a class may have named the function since it was decorated."""
    return call if isinstance(call, str) else str(getattr(call, "called", call.__qualname__))


def _note(endpoint: Caller, unused: Guard) -> None:
    """Take note of a call that was thrown away, and of many that the program makes nothing but such calls."""
    forgotten = endpoint.forgotten
    if len(forgotten) < MOST_FORGOTTEN:
        text = _forgotten(unused)
        forgotten.append(BadRequest(text))
        if len(forgotten) < MOST_FORGOTTEN:
            return
        same = [number for number, error in enumerate(forgotten) if str(error) == text]
        error = BadRequest(_forgotten(unused, len(same)))
        for number in same:
            forgotten[number] = error
    endpoint.refuse_calls()


def _forgotten(unused: Guard, times: int = 1, write: str = "await {}") -> str:
    _, call, code, lasti, *_ = _told(unused)
    if is_elsewhere():  # the line that made it is one of the thread's own, or of what has begun it
        return f"{_name(call)} did nothing: it was called {where()}"
    if code.co_filename.startswith(_PACKAGE) and code.co_name in _OF_PREDICATES:
        name = _name(call).rpartition(".")[2]
        return f"`{name}` waits, and {to_await.NO_WAIT}, or `await` that call in the place of `ep.block_until`"
    made, instead = _written(call, code, lasti, write, code.co_filename, written.source(code))
    often = f" {times} times" if times > 1 else ""
    return f"{made} at {written.place(code, lasti)} was called{often} but never awaited, so it did nothing; {instead}"


@lru_cache(maxsize=1)  # in a loop it is the same call, again and again
def _written(call: Any, code: CodeType, lasti: int, write: str, file: str, source: str) -> tuple[str, str]:
    """Return a call as it is written, and what to write in its place.

    Args:
        call: it, or its name.
        code: of the line.
        lasti: where in that.
        write: as `to_await.instead` takes it.
        file: of the code: that of another one may be equal.
        source: of the file.
    """
    made = written.call(code, lasti, _name(call))
    gives = None if isinstance(call, str) else usual_kind(call)
    number = getattr(call, NUMBER, "")
    around = written.around(code, lasti)
    return made, to_await.instead(around, made, write, code=code, gives=gives, number=number)


def is_of_forgotten(error: BaseException) -> bool:
    """Say whether an error is that of a call that was never awaited."""
    return isinstance(error, BadRequest) and _MADE.match(str(error)) is not None


def is_interrupted() -> bool:
    """Say whether the program is on its way out for Ctrl-C, as where an `async with` or a `finally` makes a call.

    Calls that it has not awaited then may be those that Ctrl-C came to before their await.
    """
    return isinstance(exception(), KeyboardInterrupt)


def tell_others(forgotten: Sequence[BadRequest]) -> None:
    """Let the first of some errors for calls that were never awaited tell, once, where the others were made."""
    first, *rest = forgotten
    if getattr(first, "__notes__", ()):
        return
    made = dict.fromkeys(found["made"] for each in rest if (found := _MADE.match(str(each))))
    known = _MADE.match(str(first))
    others = [each for each in made if known is None or each != known["made"]]
    if others:
        more = len(others) - _OTHERS
        first.add_note(f"never awaited either: {', '.join(others[:_OTHERS])}{f' and {more} more' * (more > 0)}")


def held_unawaited(error: BaseException) -> list[str]:
    """Return what to say of the calls of this package that a program held when an error rose and had not awaited.

    It may have taken one for its result.  What has no such attribute comes first, then the variables of the functions
    that the error came through, from the innermost one.  The calls are closed, since Python would say less of them.
    """
    at_once = ""
    if isinstance(error, AttributeError) and isinstance(error.obj, CoroutineType):
        at_once = _close_unawaited(error.obj, _of_result(error, error.obj))
    return list(dict.fromkeys(filter(None, [at_once, *(_close_unawaited(each.value) for each in held_by(error))])))


class HeldValue(NamedTuple):
    """What a variable has, or a list in it, of a function that an error came through."""

    code: CodeType
    name: str
    value: object


def held_by(error: BaseException) -> list[HeldValue]:
    """Return what variables have where an error came through, those of the innermost function first."""
    frames = [step.tb_frame for step in reversed(steps_of(error))]
    return [
        HeldValue(frame.f_code, name, each)
        for frame in frames
        for name, value in frame.f_locals.items()
        for each in (value[:_HELD] if type(value) in (list, tuple) else [value])
    ]


def unawaited_anywhere() -> list[CoroutineType[Any, Any, Any]]:
    """Return the calls that were never awaited and that something holds, be it an attribute or an array of objects.

    Those made by a call of this package, which is itself awaited in their place, are not among them.
    """
    held = gc.get_objects()
    found = [each for each in held if type(each) is CoroutineType and never_ran(each)]
    if not found:
        return found  # as after most errors
    inside = {id(each) for guarded in held if type(guarded) is Guard for each in guarded[4:]}
    return [each for each in found if id(each) not in inside]


def kept_anywhere() -> list[CoroutineType[Any, Any, Any]]:
    """Return those of them that are calls of this package."""
    return [each for each in unawaited_anywhere() if _guards_of(each)]


def never_ran(coroutine: object) -> bool:
    """Say whether something is a call that was made and has not begun to run."""
    return type(coroutine) is CoroutineType and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED


def _of_result(error: AttributeError, coroutine: CoroutineType[Any, Any, Any]) -> str:
    """Return what to write for `call(...).name`, with {} for the call; the call alone where no such line has failed."""
    for step in steps_of(error)[-1:]:
        code = step.tb_frame.f_code
        failed = written.node(code, step.tb_lasti)
        if isinstance(failed, ast.Attribute) and isinstance(failed.value, ast.Call):
            kind = _kind_of_result(coroutine)
            if kind is not None and not hasattr(kind, failed.attr):  # a handle is itself awaited
                return "await (await {})" if hasattr(kind, "__await__") else "await {}"
            for each in written.nodes(code):
                called = each.value if isinstance(each, ast.Await) else None
                if isinstance(called, ast.Call) and written.same(called.func, failed):
                    given = ", ".join(map(ast.unparse, [*called.args, *called.keywords]))
                    # The methods of an array are not awaited.
                    of_array = kind in (None, np.ndarray) and hasattr(np.ndarray, failed.attr)
                    return f"{'' if of_array else 'await '}(await {{}}).{failed.attr}({given})"
            return f"(await {{}}).{failed.attr}"
    return "await {}"


def kept_in(variables: Mapping[str, object]) -> list[CoroutineType[Any, Any, Any]]:
    """Return the calls that variables of a program's module have, themselves or in a list or dict.

    Args:
        variables: by name.
    """
    found: list[object] = []
    for value in list(variables.values()):
        if type(value) in _HOLDERS:
            found += list(value.values())[:_HELD] if type(value) is dict else value[:_HELD]  # type: ignore[index]
        elif type(value) is CoroutineType:
            found.append(value)
    return [each for each in found if type(each) is CoroutineType and _guards_of(each)]


def note_kept(endpoint: Caller, kept: Iterable[CoroutineType[Any, Any, Any]]) -> None:
    """Take note of those of some calls that are of a rank whose program has returned: it never awaited them."""
    for each in kept:
        if any(_told(unused)[0] is endpoint for unused in _guards_of(each)):
            endpoint.forgotten.append(BadRequest(_close_unawaited(each)))


def _kind_of_result(coroutine: CoroutineType[Any, Any, Any]) -> type | None:
    """Return the class of what a call gives that never ran; None for those whose function is not known."""
    for unused in _guards_of(coroutine):
        _, call, *_ = _told(unused)
        return None if isinstance(call, str) else result_kind(call)
    return None


def _close_unawaited(coroutine: object, write: str = "await {}") -> str:
    """Return what to say of a call that never ran, and close it; "" for everything else.

    Args:
        coroutine: perhaps such a call.
        write: what to write, with {} for the call.
    """
    if not never_ran(coroutine):
        return ""
    assert isinstance(coroutine, CoroutineType)
    held = _guards_of(coroutine)
    if not held:
        return ""
    text = _forgotten(held[0], write=write)
    held[0].forgive()  # and the inner one by itself: not every Python lets go of it in the outer one
    coroutine.close()
    return text


def guard(endpoint: Caller | None, call: str) -> Guard:
    """Return a guard for the call that the caller's caller makes."""
    frame = _getframe(2)
    return Guard((endpoint, call, frame.f_code, frame.f_lasti))


def quiet_python() -> None:
    """Keep Python from warning of the same forgotten call with less to say."""
    ours = r"((Endpoint|Rma)\._|conduit call|(\w+\.)*_guarded)"
    warnings.filterwarnings("ignore", message=f"coroutine '{ours}", category=RuntimeWarning)
