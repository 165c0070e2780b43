"""A lock that the line which makes it throws away: it is never taken, as a call that is not awaited is never made."""

from __future__ import annotations

import linecache
import re
from dis import opmap
from inspect import currentframe
from typing import TYPE_CHECKING

import conduit
from extended import checks

if TYPE_CHECKING:
    from types import FrameType

_DROP, _CACHE = opmap["POP_TOP"], opmap["CACHE"]
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
