"""What events do: functions without arguments, or with arguments bound to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol


class RunningTimer(Protocol):
    """What the kernel sees of a timer, which is a `conduit.sim.timer.Timer`.

    Attributes:
        when: when it goes off, picoseconds; None: it does not run.
    """

    when: int | None
    helps: Callable[[], bool]
    """Returns whether it can still bring anything about."""


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
        return error if explained is None else explained(error)
    return TypeError(
        f"an event is to call {action!r}; kernel.at(when, f, x) calls f(x) then, and kernel.at(when, f(x)) calls it "
        "now; `python -X dev -m conduit ...` shows the line that schedules it"
    )


def nothing() -> None:
    """Stand in for an event before the first."""
