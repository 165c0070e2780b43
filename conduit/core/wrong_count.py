"""What to say of a message whose handler takes another number of arguments."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable, Iterator
from typing import Any

from conduit.words import many

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_PLACES = 3
"""Lines that may have sent a message, of which a text names no more."""


def wrong_count(function: Callable[..., Any], args: int, *, payload: bool, request: bool, source: int) -> str:
    """Return what is wrong with the number of a message's arguments, "" where the handler takes as many.

    A message carries no line of its sender.  The text names those lines in the handler's file that send this handler
    such a message, since programs are written in one file as a rule.

    Args:
        function: the handler.
        args: how many integers the message carries.
        payload: whether it carries a payload as well.
        request: whether it is a request.
        source: the rank that has sent it.
    """
    try:
        signature = inspect.signature(function)
        signature.bind(None, *[None] * (payload + args))
    except TypeError:
        takes = _takes(signature, payload=payload)
    else:
        return ""
    if not takes:
        return ""
    name, code = function.__name__, inspect.unwrap(function).__code__
    file = code.co_filename
    lines = list(_senders(file, name, args, payload=payload, request=request))
    sent = f" ({' or '.join(f'{file}:{line}' for line in lines)})" if 0 < len(lines) <= _PLACES else ""
    kind = "request" if request else "reply"
    carries = f"a payload and {args}" if payload else str(args)
    return (
        f"handler {name!r} ({file}:{code.co_firstlineno}) takes {takes}; the {kind} of rank {source}{sent} carries "
        f"{carries}{_without_token(function, signature, payload + args)}"
    )


def refuses_what_it_wraps(function: Callable[..., Any], error: TypeError) -> bool:
    """Say whether a handler is a wrapper that hands on all it is given, and that what it wraps has refused.

    Args:
        function: the handler, which has begun.
        error: what it has raised.
    """
    inside = inspect.unwrap(function)
    if inside is function or not str(error).startswith(f"{inside.__qualname__}() "):
        return False
    taken = inspect.signature(function, follow_wrapped=False).parameters.values()
    return any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in taken)


def _without_token(function: Callable[..., Any], signature: inspect.Signature, carried: int) -> str:
    """Return what to write where a handler takes just what the message carries, and no token or no `self`."""
    names = [each.name for each in signature.parameters.values() if each.kind in _POSITIONAL]
    name = function.__name__
    if names[:1] == ["self"]:
        return "; its first parameter, self, is given the token: attach a bound method, or leave self out"
    try:
        signature.bind(*[None] * carried)
    except TypeError:
        return ""
    if not names or names[0].startswith("tok"):
        return ""
    own = "self, " * inspect.ismethod(function)
    return f"; its first parameter, {names[0]}, is given the token: write `def {name}({own}token, {', '.join(names)})`"


def _takes(signature: inspect.Signature, *, payload: bool) -> str:
    """Return what a handler takes after its token, in words; "" where these say nothing of its fault."""
    each = [one for one in signature.parameters.values() if one.kind in _POSITIONAL][1 + payload :]
    given = sum(one.kind in _POSITIONAL for one in signature.parameters.values())
    if payload and given < 2:
        return "no payload; write `def handler(token, payload, ...)`"
    kinds = {one.kind for one in signature.parameters.values() if one.default is inspect.Parameter.empty}
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        return ""
    least, most = sum(one.default is inspect.Parameter.empty for one in each), len(each)
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        count = f"at least {many(least, 'integer')}"
    elif least < most:
        count = f"{least} to {most} integers"
    else:
        count = f"{many(most, 'integer') if most else 'no integers'}"
    return f"a payload and {count}" if payload else count


def _senders(file: str, handler: str, args: int, *, payload: bool, request: bool) -> Iterator[int]:
    """Yield the lines of a file that send a handler of that name that many integers."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return
    verbs = ("request_medium", "request_long", "request_long_async") if payload else ("request_short",)
    calls = verbs if request else ("reply_medium", "reply_long") if payload else ("reply_short",)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=call), args=given) if call in calls:
                before = request + 1 + payload + (payload and "long" in call)  # dest, handler, payload, offset
                plain = sum(not isinstance(one, ast.Starred) for one in given)
                if plain > before + args or (plain == len(given) and plain < before + args):
                    continue  # of what follows a star it is not known how many they are
                match given[min(int(request), len(given) - 1)]:
                    case ast.Name(id=name) | ast.Attribute(attr=name) if name == handler:
                        yield node.lineno
