"""Calls of a rank that a program has another loop run, asyncio's or a Trio of its own, mostly in a thread."""

from __future__ import annotations

import ast
import os
from itertools import pairwise
from types import CodeType

import trio

from conduit.core import written
from conduit.core.handlers import WAITS
from conduit.core.steps import steps_of
from conduit.launch.hints.misused_arguments import apart
from conduit.launch.program.folders import is_of_project, is_own
from conduit.trio_private import FROM_THREAD, TO_THREAD

NO_TASK = "no task of this job makes this call"
"""What an error of Python's says then that would name a part of this package."""


def of_asyncio(file: str) -> bool:
    """Say whether a file is asyncio's."""
    return os.path.basename(os.path.dirname(file)) == "asyncio"


def in_another_run(error: BaseException) -> bool:
    """Say whether a call of this project has failed in a run of Trio that a program has begun in a job."""
    steps = [step.tb_frame for step in steps_of(error)]
    begun = any(
        inner.f_code is trio.run.__code__ and not is_own(outer.f_code.co_filename) for outer, inner in pairwise(steps)
    )
    if begun or _in_thread(error, trio.run.__code__):
        return is_of_project(steps[-1].f_code.co_filename)
    # Or that one's calls have woken the task that waits for its thread.
    woken = any(frame.f_code.co_name == TO_THREAD for frame in steps)
    return woken and str(error) == "'NoneType' object has no attribute 'unwrap'"


def in_asyncio(error: BaseException) -> bool:
    """Say whether a call of this project has failed because a loop of asyncio ran it, where its job's own Trio ran."""
    if not isinstance(error, AttributeError | RuntimeError):
        return False
    codes = [step.tb_frame.f_code for step in steps_of(error)]
    begun = [at for at, code in enumerate(codes) if of_asyncio(code.co_filename)]
    inside = codes[begun[-1] + 1 :] if begun else []
    other = any(code.co_name in FROM_THREAD or code is trio.run.__code__ for code in inside)  # a job begun there, too
    return bool(inside) and is_own(inside[-1].co_filename) and not other


def is_elsewhere(error: BaseException) -> bool:
    """Say whether an error came of a call that another loop ran, of which its text and its last lines say nothing."""
    if not isinstance(error, AttributeError | RuntimeError):
        return False
    return in_asyncio(error) or (_in_thread(error, trio.run.__code__) and in_another_run(error))


def _in_thread(error: BaseException, begins: CodeType) -> bool:
    """Say whether an error came through a function in a thread that Trio has begun."""
    codes = [step.tb_frame.f_code for step in steps_of(error)]
    threads = [at for at, code in enumerate(codes) if code.co_name == TO_THREAD]
    return bool(threads) and begins in codes[threads[0] :]


def made_in_thread(error: BaseException) -> str:
    """Say what a plain function that a thread runs writes in the place of `asyncio.run(call)`, "" for others."""
    steps = steps_of(error)
    if not any(step.tb_frame.f_code.co_name == TO_THREAD for step in steps):
        return ""
    for step, inner in pairwise(steps):
        code = step.tb_frame.f_code
        if is_own(code.co_filename) or of_asyncio(code.co_filename) or code.co_flags & WAITS:
            continue
        match written.node(code, step.tb_lasti):
            case ast.Call(args=[ast.Call() as made, *_]) if of_asyncio(inner.tb_frame.f_code.co_filename):
                return f"`trio.from_thread.run({apart(made)})` in {code.co_name}, which runs in a thread"
    return ""
