"""Ctrl-C during a job reaches the job (rule E8)."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_SOON = 1e-3
"""Seconds after which Ctrl-C is tried again, assumed: long enough for a program to go on, too short to be noticed."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C reach the job: Trio handles it where it finds Python's own handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _tried_again():
        previous = signal.getsignal(signal.SIGINT)
        if previous in (None, signal.SIG_IGN, signal.default_int_handler):
            yield
            return
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)


@contextmanager
def _tried_again() -> Iterator[None]:
    """Try a Ctrl-C again that came where nothing can be raised, and that Python has dropped.

    Such places are what Python does when an object dies: a program that forgets to await its own coroutines in a loop
    spends nearly all of its time there, in the warning.
    """
    before = sys.unraisablehook
    again: list[threading.Timer] = []

    def hook(dropped: UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            again[:] = [threading.Timer(_SOON, _thread.interrupt_main)]
            again[0].start()
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        if again and not again[0].finished.is_set():  # the job has ended first
            again[0].cancel()
            _thread.interrupt_main()
