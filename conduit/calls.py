"""Calls that are checked when they are made and noticed when they are forgotten (rules.md E4).

A call of this package is a plain function: it checks its arguments, so that an error stands at the
line that is wrong, and returns a coroutine.  The coroutine holds a `Guard`; one that dies before
its coroutine ran tells the endpoint which line made the call.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from types import CodeType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from conduit.errors import BadRequest

if TYPE_CHECKING:
    from conduit.endpoint import Endpoint

P = ParamSpec("P")
T = TypeVar("T")

CURRENT: ContextVar[Endpoint | None] = ContextVar("conduit.current", default=None)


class Guard:
    """Lives in the coroutine of one call and knows whether it ever ran."""

    __slots__ = ("call", "code", "endpoint", "lasti", "started")

    def __init__(self, endpoint: Endpoint | None, call: str, depth: int = 2) -> None:
        self.endpoint = endpoint
        self.call = call
        frame = sys._getframe(depth)
        self.code: CodeType = frame.f_code
        self.lasti = frame.f_lasti
        self.started = False

    def __del__(self) -> None:
        """Report the call where its coroutine was thrown away unused."""
        if not self.started and self.endpoint is not None:
            self.started = True
            self.endpoint.forgotten.append(
                BadRequest(
                    f"{self.call}(...) at {self.code.co_filename}:{self.line()} was called but never awaited, so it "
                    f"did nothing; write `await {self.call}(...)`"
                )
            )

    def line(self) -> int | None:
        """Return the number of the line that made the call."""
        positions = list(self.code.co_positions())
        return positions[self.lasti // 2][0] if self.lasti // 2 < len(positions) else self.code.co_firstlineno


def quiet_python() -> None:
    """Keep Python from warning of the same forgotten call with less to say."""
    warnings.filterwarnings("ignore", message=r"coroutine '(Endpoint\._|conduit call)", category=RuntimeWarning)


async def _run(guard: Guard, coroutine: Coroutine[Any, Any, T]) -> T:
    guard.started = True
    return await coroutine


_run.__qualname__ = "conduit call"


class _Checked(Guard):
    """The guard of a call of a layer above, whose own coroutine must be closed quietly."""

    __slots__ = ("coroutine",)

    coroutine: Coroutine[Any, Any, Any]

    def __del__(self) -> None:
        """Close the coroutine that never ran, then report."""
        if not self.started:
            self.coroutine.close()
        super().__del__()


def _decorate(
    function: Callable[P, Coroutine[Any, Any, T]], check: Callable[..., object] | None
) -> Callable[P, Coroutine[Any, Any, T]]:
    name = function.__qualname__

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        endpoint = CURRENT.get()
        if endpoint is not None:
            endpoint.refuse_in_handler(name)
        if check is not None:
            check(*args, **kwargs)
        guard = _Checked(endpoint, name)
        guard.coroutine = function(*args, **kwargs)
        return _run(guard, guard.coroutine)

    return call


@overload
def checked_call(check: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Coroutine[Any, Any, T]]: ...
@overload
def checked_call(
    check: Callable[..., object] | None = None,
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]: ...
def checked_call(check: Any = None) -> Any:
    """Give an async function of a layer above the core's rules on arguments and forgotten awaits.

    Used bare, or with a function of the same arguments that raises BadRequest for wrong ones:

        @conduit.checked_call(_check_put)
        async def put(self, dest, offset, data): ...

    The result is a plain function that checks at the call and returns a coroutine.  A call that is
    never awaited ends the job with BadRequest naming its line; one made in a handler is refused.

    Args:
        check: called with the arguments of each call, when it is made.
    """
    if inspect.iscoroutinefunction(check):
        return _decorate(check, None)
    return lambda function: _decorate(function, check)


Action = Callable[[], Awaitable[object]]
