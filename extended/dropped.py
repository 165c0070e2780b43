"""What a line of a program throws away and should not: a lock that it makes, which is never taken; a result.

Neither is an error of Python's, as a call that is not awaited is none.
"""

from __future__ import annotations

import ast
import linecache
import re
from dis import opmap
from functools import cache
from inspect import currentframe
from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from extended import checks
from extended.program_lines import program_line
from extended.reads import Reads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_DROP, _CACHE = opmap["POP_TOP"], opmap["CACHE"]
_COLLECTIVES = {"broadcast", "scatter", "gather", "all_gather", "all_to_all", "reduce", "all_reduce", "scan"}
_MADE = re.compile(r"[^(]*\block\s*\(")


def refuse_dropped(owner: str, name: str | int) -> None:
    """Refuse to make a lock for a line that is nothing but that: `x.lock(name)` alone locks nothing.

    Called by the method `lock` that the program calls.

    Args:
        owner: what programs call the object with that method.
        name: the lock's.

    Raises:
        conduit.BadRequest: so it is.
    """
    line = _caller(_caller(currentframe()))  # in no variable is the frame of this call, which would hold itself
    if line and _drops(line) and _MADE.match(_source(line)):
        made = f"{owner}.lock({checks.shown(name)})"
        raise conduit.BadRequest(
            f"{owner}.lock: this line makes a lock and does not take it, so it locks nothing; write `async with "
            f"{made}:`, or `await {made}.acquire()` and `await {made}.release()`"
        )


def _caller(frame: FrameType | None) -> FrameType | None:
    return frame and frame.f_back


def _drops(frame: FrameType) -> bool:
    """Return whether a function throws away what it has called for last."""
    code, at = frame.f_code.co_code, frame.f_lasti + 2
    while at < len(code) and code[at] == _CACHE:
        at += 2
    return at < len(code) and code[at] == _DROP


def _source(frame: FrameType) -> str:
    """Return the first line of the expression that is running, "" where it is not known."""
    first, _, begin, _ = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if first is None or begin is None:
        return ""
    return linecache.getline(frame.f_code.co_filename, first).encode()[begin:].decode(errors="replace")


def warn_of_dropped_result(ep: conduit.Endpoint, call: str, given: Any, result: Any) -> None:
    """Warn, once for each line, of a collective that is given an array and whose line does not keep another result.

    The array must be looked at again behind the call.

    Args:
        ep: the rank's endpoint.
        call: the collective.
        given: what it was given.
        result: what it returns.
    """
    if not isinstance(given, np.ndarray):
        return
    file, line = program_line()
    text = _dropped(file, line, call)
    if text and text not in ep.warnings and not np.array_equal(given, result):
        ep.warn(text)


@cache
def _dropped(file: str, line: int, call: str) -> str:
    """Return what to say of a line that is a collective and nothing else, "" where it is more."""
    return _all_dropped(file, "".join(linecache.getlines(file))).get((line, call), "")


@cache
def _all_dropped(file: str, source: str) -> dict[tuple[int, str], str]:
    """Return what to say of the lines of a file that are an awaited call and nothing else, by that call's name.

    Nothing is said where what is given is only given to such calls from then on: a loop that times them drops results.
    """
    try:
        whole = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    made = list(_alone(whole))
    reads = Reads(whole, [given for _, given in made])
    return {
        (call.lineno, call.func.attr): (
            f"{ast.unparse(call.func)} at {file}:{call.lineno} stores nothing in what it is given, it returns the "
            f"result, which is not kept there: write `{given.id} = await {ast.unparse(call)}`"
        )
        for call, given in made
        if isinstance(call.func, ast.Attribute) and reads.again(call, given.id)
    }


def _alone(tree: ast.AST) -> Iterator[tuple[ast.Call, ast.Name]]:
    """Yield the collectives that are all there is on their lines, with the variable that is given first."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(
                value=ast.Await(value=ast.Call(func=ast.Attribute(attr=name), args=[ast.Name() as given, *_]) as made)
            ) if name in _COLLECTIVES:  # what is given without a name nobody can take for the result
                yield made, given
