"""What events do: functions without arguments, or with arguments bound to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import CO_VARARGS
from typing import Any, Protocol


class RunningTimer(Protocol):
    """What the kernel sees of a timer, which is a `conduit.sim.timer.Timer`.

    Attributes:
        when: when it goes off, picoseconds; None: it does not run.
    """

    when: int | None
    helps: Callable[[], bool]
    """Returns whether it can still bring anything about."""


_WITH_THE_LINE = "`python -X dev -m conduit ...` shows the line that schedules it"


def acting(action: Any) -> Any:
    """Return the function or method that an event runs, without the arguments that `Kernel.at` has bound to it."""
    return action.func if isinstance(action, partial) else action


def name_of(action: Any) -> str:
    """Return the qualified name of what an event runs."""
    found = acting(action)
    return getattr(found, "__qualname__", None) or repr(found)


def rank_of(action: Any) -> int:
    """Return the rank to which an event belongs, -1 if to none."""
    return getattr(getattr(acting(action), "__self__", None), "rank", -1)


def error_of(error: BaseException, action: Any) -> BaseException:
    """Return what an event has raised; where nothing could be called, what to write instead.

    The object of whose methods the event is one may know better, and say so by its `error_of_event`.
    """
    if callable(action):
        explained = getattr(getattr(acting(action), "__self__", None), "error_of_event", None)
        if explained is not None:
            told: BaseException = explained(error)
            return told
        wrong = misfit(action) if isinstance(error, TypeError) else ""
        return TypeError(f"{wrong}; {_WITH_THE_LINE}") if wrong else error
    return TypeError(
        f"an event is to call {action!r}; kernel.at(when, f, x) calls f(x) then, and kernel.at(when, f(x)) calls it "
        f"now; {_WITH_THE_LINE}"
    )


def misfit(action: Any) -> str:
    """Return what is wrong where an event calls a function with arguments that it does not take; "" for nothing."""
    called, args = acting(action), action.args if isinstance(action, partial) else ()
    code = getattr(called, "__code__", None)
    if code is None or code.co_flags & CO_VARARGS or code.co_kwonlyargcount or getattr(action, "keywords", None):
        return ""
    given = len(args) + (getattr(called, "__self__", None) is not None)
    most = code.co_argcount
    if most - len(called.__defaults__ or ()) <= given <= most:
        return ""
    names = ", ".join(code.co_varnames[given - len(args) : most])
    return (
        f"an event calls {name_of(action)} ({code.co_filename}:{code.co_firstlineno}) with {len(args)} "
        f"argument{'s' * (len(args) != 1)}, and it takes ({names}): kernel.at(when, f, x) calls f(x), so give what f "
        "takes behind it"
    )


def nothing() -> None:
    """Stand in for an event before the first."""
