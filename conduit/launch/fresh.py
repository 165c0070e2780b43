"""Calls in a process of its own, which has imported no network yet."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from conduit.errors import ConduitError

T = TypeVar("T")

_SERVE = "from conduit.launch.fresh import serve; serve()"


def call_fresh(function: Callable[..., T], *args: Any) -> T:
    """Call a function of a module in a new process that finds the same modules, and return what it returns.

    In Python's development mode (`python -X dev`) that process is in it too.

    Raises:
        Exception: what it raises.
        ConduitError: the process ended without an answer.
    """
    mode = ["-X", "dev"] if sys.flags.dev_mode else []
    call = pickle.dumps((sys.path, pickle.dumps((function, args))))
    # In a session of its own, so that Ctrl-C is this process's alone, which then ends the other one.
    done = subprocess.run(
        [sys.executable, *mode, "-c", _SERVE], input=call, stdout=subprocess.PIPE, check=False, start_new_session=True
    )
    if not done.stdout:
        raise ConduitError(f"the process that was to do it ended with status {done.returncode}, and said no more")
    result, error = pickle.loads(done.stdout)
    if error is not None:
        raise error
    found: T = result
    return found


def serve() -> None:
    """Do the call that comes in by standard input."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what is printed meanwhile is no answer
    path, call = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    answer: tuple[object, Exception | None]
    try:
        function, args = pickle.loads(call)
        answer = function(*args), None
    except Exception as error:
        answer = None, error
    answers.buffer.write(pickle.dumps(answer))
