"""The decorator that gives calls of layers above the core's own rules (rule E4), and the names that users know."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from sys import _getframe
from types import FunctionType
from typing import Any, NoReturn, ParamSpec, TypeVar, overload

from conduit.core.arguments import shown
from conduit.core.calls import Guard
from conduit.core.endpoint import Endpoint
from conduit.core.handlers import describe
from conduit.core.refusals import refuse
from conduit.core.threads import refuse_elsewhere
from conduit.errors import BadRequest

P = ParamSpec("P")
T = TypeVar("T")

Wrap = Callable[[Coroutine[Any, Any, Any], Callable[[], str]], Any]

CURRENT: ContextVar[Endpoint | None] = ContextVar("conduit.current", default=None)
"""The endpoint of the rank whose task runs."""


def call_guard(call: str) -> Guard:
    """Return the guard of a call that checks its arguments itself, for what programs call so often that layers count.

    Such a call is a plain function, with the same rules as one of `checked_call`.  It returns a coroutine that keeps
    the guard, and clears it as soon as it runs::

        def send(self, data, dest):
            try:
                ...  # raises BadRequest
            except conduit.BadRequest as error:
                return conduit.refuse_call(error)
            return self._guarded_send(conduit.call_guard("Comm.send"), data, dest)

        async def _guarded_send(self, unused, data, dest):
            unused.clear()
            ...

    The name of the async function begins with `_guarded`; of such a one Python itself says nothing.  In place of
    `clear()` it may `pop()` what the guard has: endpoint, call, code object and `f_lasti` of the program's line.

    Args:
        call: the name that users know the call by.

    Raises:
        HandlerError: a handler makes the call.
        BadRequest: a thread makes it that runs no rank.
    """
    endpoint = CURRENT.get()
    if endpoint is None:
        refuse_elsewhere(call)
    elif endpoint._dispatch.running:
        endpoint.refuse_in_handler(call)
    frame = _getframe(2)
    return Guard(((endpoint, call, frame.f_code, frame.f_lasti),))


def refuse_call(error: Exception) -> Coroutine[Any, Any, NoReturn]:
    """Raise what refuses a call of `call_guard`; for a program that goes on all the same, what ends its job.

    Such a program catches in a loop what is raised before any await, so that nothing else would ever run.  After very
    many the result is to be returned by the call: a coroutine that raises the error when it is awaited.

    Args:
        error: what the call is refused with.
    """
    endpoint = CURRENT.get()
    if endpoint is None:
        raise error
    return refuse(endpoint, error, _getframe(2))


async def _run(unused: Guard) -> Any:
    coroutine = unused.pop()
    unused.clear()
    try:
        return await coroutine
    except Exception as error:
        endpoint = CURRENT.get()
        if endpoint is not None:
            # A program that catches all errors in a loop would be refused for ever, and never come to a wait.
            await endpoint._port.leave_if_ending()
        if not isinstance(error, TypeError) or inspect.isawaitable(coroutine):
            raise
        raise BadRequest(
            f"checked_call: the function that was decorated returned a {type(coroutine).__name__}, which cannot be "
            "awaited; decorate an async function"
        ) from None


_run.__qualname__ = "conduit call"


def _decorate(
    function: Callable[P, Coroutine[Any, Any, T]], check: Callable[..., object] | None, wrap: Wrap | None = None
) -> Callable[P, Any]:
    name = function.__qualname__
    check = _under_name(check, name)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        endpoint = CURRENT.get()
        if endpoint is None:
            refuse_elsewhere(call.__qualname__)
        elif endpoint._dispatch.running:
            endpoint.refuse_in_handler(call.__qualname__)  # a class may have named it otherwise since
        try:
            checked = None if check is None else check(*args, **kwargs)
        except Exception as error:
            if endpoint is None:
                raise
            return refuse(endpoint, error, _getframe(1))
        coroutine = function(*checked) if type(checked) is tuple else function(*args, **kwargs)  # type: ignore[call-arg]
        frame = _getframe(1)
        guard = Guard((endpoint, call, frame.f_code, frame.f_lasti, coroutine))
        return _run(guard) if wrap is None else wrap(_run(guard), guard.refuse)

    vars(call)["check"] = check
    return call


def _under_name(check: Callable[..., object] | None, name: str) -> Callable[..., object] | None:
    """Return a check under the name of its call: Python tells that where arguments are missing."""
    if type(check) is not FunctionType or check.__qualname__ == name:
        return check
    named = FunctionType(check.__code__, check.__globals__, check.__name__, check.__defaults__, check.__closure__)
    named.__kwdefaults__ = check.__kwdefaults__
    named.__qualname__ = name
    return named


@overload
def checked_call(check: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]: ...
@overload
def checked_call(
    check: Callable[..., tuple[Any, ...] | None] | None = None,
    *,
    wrap: None = None,
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]: ...
@overload
def checked_call(
    check: Callable[..., tuple[Any, ...] | None] | None = None,
    *,
    wrap: Callable[[Coroutine[Any, Any, Any], Callable[[], str]], T],
) -> Callable[[Callable[..., Coroutine[Any, Any, Any]]], Callable[..., T]]: ...
def checked_call(check: Any = None, *, wrap: Wrap | None = None) -> Any:
    """Give an async function of a layer above the core's rules on arguments and forgotten awaits.

    Used bare, or with a function of the same arguments that raises BadRequest for wrong ones:

        @conduit.checked_call(_check_put)
        async def put(self, dest, offset, data): ...

    The result is a plain function that checks at the call and returns a coroutine.  A call that is
    never awaited ends the job with BadRequest naming its line; one made in a handler is refused.

    Args:
        check: called with the arguments of each call, when it is made.  It may return the arguments to go on with, as
            a tuple: copies of lists that may be changed once the call has been made, say.  Else its result counts for
            nothing.
        wrap: for what is written as an expression, `a[i]`: called with the coroutine and with a plain function that
            forgives the call, as if it had not been made, and returns it as it is written, "" if it has run; what
            `wrap` returns is given to the program, and keeps the coroutine, which its `__await__` runs.

    Raises:
        BadRequest: `check`, or what is decorated, is no function.
    """
    if inspect.iscoroutinefunction(check):
        return _decorate(check, None)
    if not (check is None or callable(check)):
        raise BadRequest(
            f"checked_call: check={shown(check)} cannot be called; pass a function of the call's arguments"
        )

    def decorate(function: Any) -> Any:
        if not callable(function):
            bare = (
                ""
                if check is None
                else f"; used without parentheses, as on {describe(check)}, it takes async functions"
            )
            raise BadRequest(f"checked_call: {shown(function)} is no function that could be decorated{bare}")
        return _decorate(function, check, wrap)

    return decorate
