"""Ctrl-C during a job: it reaches the job, and code of programs wherever that runs (rule E8)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import trio

A = TypeVar("A")
T = TypeVar("T")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C reach the job: Trio handles it where it finds Python's own handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)
    if previous in (None, signal.SIG_IGN, signal.default_int_handler):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@trio.lowlevel.disable_ki_protection
def _open_to_interrupts(action: Callable[[A], T], argument: A) -> T:
    return action(argument)


def attend(action: Callable[[A], T], argument: A, interrupted: Callable[[BaseException], object], instead: T) -> T:
    """Return `action(argument)`, where Trio's loop runs it and would only take note of Ctrl-C until it has ended.

    Handlers and predicates run in there and may never end.  What Ctrl-C breaks off is told to `interrupted`, and
    `instead` is returned; the job ends, so that events it has cut in two do no harm.
    """
    try:
        return _open_to_interrupts(action, argument)
    except KeyboardInterrupt as error:
        interrupted(error)
        return instead
