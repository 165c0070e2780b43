"""Ctrl-C during a job reaches the job (rule E8), and so does SIGTERM where the job is of this process alone."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from conduit.launch.printing import terminal

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

INTERRUPTED = 128 + signal.SIGINT
"""The exit status of what Ctrl-C has ended."""
_SOON = 1e-3
"""Seconds after which Ctrl-C is tried again, assumed: long enough for a program to go on, too short to be noticed."""

GRACE_S = 3.0
"""Seconds that a program which has caught Ctrl-C has to end by itself; processes have as many (`starting`)."""

HELD_S = 1.0
"""Seconds after which it is said what keeps a job from ending after Ctrl-C: what one has that ends well."""

_AGAIN = "one more Ctrl-C ends the process"
_ALL_CAUGHT = (
    "the program has caught Ctrl-C{}: it has not come to an await that lets the job end, where `except Exception:` "
    "lets Ctrl-C through; " + _AGAIN
)

_GOES_ON = "the job has ended, and the program goes on{}: `except Exception:` lets through what ends it; " + _AGAIN

AFTER_CTRL_C = "the job could not go on after a Ctrl-C that"
"""What is said of what follows one that a program has caught, with the rank."""

_TOLD = "_told_where_ranks_were"
_ENDED_BY = "_signal_that_ended_the_job"


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C reach the job: Trio handles it where it finds Python's own handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)
    if previous in (None, signal.SIG_IGN):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end this process at once, where what runs inside waits for other processes and may never look at it.

    Python would wait for the call in C to return, which it does not once one of them has gone.
    """
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Interrupted(Protocol):
    """What is asked of a job that Ctrl-C has come to."""

    caught_by: int | None
    """Which rank ran as it came, None where that was none, or where none came."""

    @property
    def ending(self) -> bool:
        """Whether its tasks are on their way out."""

    def call(self, function: Callable[[], object]) -> None:
        """Call a plain function in the job's own thread, once it comes to it; no effect after the job."""

    def end_interrupted(self) -> None:
        """End the job there, if it has not ended yet."""

    def in_threads(self) -> str:
        """Return there which ranks wait for threads, and where, although the job is ending; "" for none."""


def insist(job: Interrupted) -> None:
    """End a job some time after a Ctrl-C, which a program may have caught; say what keeps it from ending.

    Once that was said, the next Ctrl-C ends the process.  To be called where Trio handles Ctrl-C already;
    `interruptible` takes it back.

    Args:
        job: does nothing where it has ended by then.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        return
    if not getattr(handler, "__module__", "").startswith("trio."):
        return  # the program's own

    from conduit.core.checked_call import CURRENT  # as the job has imported it, and what `_where` needs

    worker = threading.get_ident()
    said: list[str] = []

    def say(text: str) -> None:
        if not said and signal.getsignal(signal.SIGINT) is noted:  # the job has not ended
            said.append(text)
            with suppress(Exception):  # nobody may read it any more
                terminal.tell(text)

    def wait() -> None:
        def look() -> None:
            if text := job.in_threads():
                say(f"{text} that Ctrl-C does not end (`abandon_on_cancel=True` does); {_AGAIN}")

        grace = GRACE_S
        first = min(HELD_S, grace)
        time.sleep(first)
        job.call(look)
        time.sleep(grace - first)
        job.call(job.end_interrupted)
        time.sleep(HELD_S)
        job.call(look)
        if job.ending:
            time.sleep(grace)
            if at := _where(worker):
                say(_GOES_ON.format(at))
        else:
            at = _where(worker)
            say(_ALL_CAUGHT.format(at and f", and is{at}"))

    def noted(number: int, frame: FrameType | None) -> None:
        if said:
            _end_process(number)
        endpoint = CURRENT.get()
        job.caught_by = None if endpoint is None else endpoint.rank
        # The event loop is on its way to its end.  It closes the socket that wakes it before it tells Python so, and of
        # a signal in between Python would say that it cannot write there.
        signal.set_wakeup_fd(-1)
        _thread.start_new_thread(wait, ())  # by itself, as in `tried_again`
        handler(number, frame)

    signal.signal(signal.SIGINT, noted)


def _where(worker: int) -> str:
    """Return where a program is that runs in a thread, as " at prog.py:7 in main"; "" where none does."""
    from conduit.core import written
    from conduit.launch.hanging.loops import program_frame

    frame = program_frame(sys._current_frames().get(worker))
    if frame is None:
        return ""
    return f" at {written.at(frame.f_code.co_filename, frame.f_lineno)} in {frame.f_code.co_name}"


def _end_process(number: int) -> None:
    """End this process as a signal does that nobody handles, with all that it has printed."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def _leave_to_python() -> None:
    """Let a process that the program has forked be ended by signals as any other: it is no part of the job."""
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if getattr(signal.getsignal(number), "__module__", "") == __name__:
            signal.signal(number, default)


os.register_at_fork(after_in_child=_leave_to_python)


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM end a job in this process as Ctrl-C does, so that it is told where the ranks were.

    Only where it would end the process without a word.  The second one does: a program may go on after the first.
    """
    alone = threading.current_thread() is not threading.main_thread()
    if alone or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    came: list[int] = []

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        came.append(number)
        heard = signal.getsignal(signal.SIGINT) not in (None, signal.SIG_IGN, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT if heard else number)  # a shell has its background ignore Ctrl-C

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt as error:
        if came:
            setattr(error, _ENDED_BY, came[0])
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def collected() -> Iterator[list[int]]:
    """Collect the signals that ask this process to end, Ctrl-C and SIGTERM, in the order of their coming.

    What they raise else may come between any two steps, even of Python's own: of `subprocess.Popen.poll` that has just
    taken a lock, which nobody gives back then.  A Ctrl-C that is ignored, or that a program handles, is left alone.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {signal.SIGINT: signal.getsignal(signal.SIGINT), signal.SIGTERM: signal.getsignal(signal.SIGTERM)}
    if before[signal.SIGINT] is not signal.default_int_handler:
        del before[signal.SIGINT]
    for number in before:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def by_signal(number: int) -> KeyboardInterrupt:
    """Return the error of a job that a signal has ended, of Ctrl-C or SIGTERM."""
    error = KeyboardInterrupt()
    setattr(error, _ENDED_BY, number)
    return error


def status(error: BaseException) -> int:
    """Return the status of a process that ends by such an error, as a shell counts: 130, and 143 of SIGTERM."""
    return 128 + int(getattr(error, _ENDED_BY, signal.SIGINT))


def hear_no_more() -> None:
    """Let no further Ctrl-C reach this process, which ends because of one already.

    Of one, a process may hear twice: from its terminal and from its launcher.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def is_told(error: BaseException) -> bool:
    """Say whether it has been shown of a Ctrl-C where the ranks were: "interrupted" is said there already."""
    return getattr(error, _TOLD, False)


def told(error: BaseException) -> None:
    """Take note that this has been shown."""
    setattr(error, _TOLD, True)


@contextmanager
def tried_again() -> Iterator[None]:
    """Try a Ctrl-C again that came where nothing can be raised, and that Python has dropped.

    Such places are what Python does when an object dies: a program that forgets to await its own coroutines in a loop
    spends nearly all of its time there, in the warning, and the end of a job lets all of its calls die.  Nothing that
    such a method does itself can help: Ctrl-C may come before its first line.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = sys.unraisablehook
    dropped: list[None] = []  # one entry for each that is still to be tried again

    def hook(what: UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            dropped.append(None)
            _thread.start_new_thread(try_again, (_SOON,))  # by itself: to wait for its start would be a place, too
        else:
            before(what)

    def try_again(seconds: float) -> None:
        time.sleep(seconds)
        with suppress(IndexError):
            dropped.pop()
            _thread.interrupt_main()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        if dropped:  # what runs inside has ended first
            try_again(0)
