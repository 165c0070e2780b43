"""A job that is begun where one runs, or another program of Trio: what is to be written instead."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

import trio

from conduit.core.checked_call import CURRENT
from conduit.errors import BadRequest, ConduitError
from conduit.launch import entry_points
from conduit.launch.call_words import WORDS, conduits_given
from conduit.launch.program.folders import is_own, program_frame
from conduit.launch.program.front_ends import given_by


def check_place() -> None:
    """Refuse to run a job where Trio runs already.

    Raises:
        BadRequest: it does.
    """
    if trio.lowlevel.in_trio_run():
        raise BadRequest(f"run: {_why(f'`await {_front()}.run_async(...)`')}")


def check_trio() -> None:
    """Refuse to run a job in a running Trio program where there is none.

    Raises:
        BadRequest: there is none.
    """
    if not trio.lowlevel.in_trio_run():
        run = f"{_front()}.run"
        raise BadRequest(
            f"run_async: it is for Trio programs, and no Trio runs here; call `{run}(main, ...)` without `await`, and "
            f"in a program of asyncio `await asyncio.to_thread({run}, main, ...)`"
        )


def _why(instead: str) -> str:
    if CURRENT.get() is None:
        return f"a Trio program is running in this thread; use {instead} there"
    module = _module()
    if module is None:
        return f"called while a rank runs; a job inside a job is {instead}"
    return (
        f'called while a rank runs; {_of_front_end(module)}put what starts a job under `if __name__ == "__main__":`, '
        f"which `conduit run` does not execute, because it calls main by itself; for a job inside a job, {instead}"
    )


def _module() -> FrameType | None:
    """Return the frame of the module that begins a job, as it is imported; None where it is no module."""
    frame, _ = program_frame()
    while frame is not None and not is_own(frame.f_code.co_filename):
        if frame.f_code.co_name == "<module>":
            return frame
        frame = frame.f_back
    return None


def _of_front_end(module: FrameType) -> str:
    """Say what else a program lacks that has called the `run` of a front end, as far as it does not say whose it is."""
    name = "" if "api" in module.f_globals else _called()
    if not name:
        return ""
    runner = entry_points.installed(entry_points.FRONT_ENDS)[name].load()
    return f'put `api = "{name}"` at its top{_other_conduit(runner)}, and '


def _called() -> str:
    """Return the front end whose `run` a program has called, "" where it is that of the core."""
    callers = list(_callers())
    for name, entry in entry_points.installed(entry_points.FRONT_ENDS).items():
        package = entry.value.partition(":")[0].rpartition(".")[0]
        if any(each.startswith(f"{package}.") for each in callers):
            return name
    return ""


def _front() -> str:
    """Return the module whose `run` a program has called, as programs write it."""
    name = _called()
    return given_by(name).module if name else "conduit"


def _callers() -> Iterator[str]:
    """Yield the names of the modules of this project that are between the program's line and this one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        yield str(frame.f_globals.get("__name__", ""))
        frame = frame.f_back


def _other_conduit(runner: object) -> str:
    """Say what to give as --conduit where the front end does not run on that of the command line."""
    for spec in conduits_given(WORDS.get()):
        try:
            getattr(runner, "check_conduit", str)(spec)
        except ConduitError as error:
            return f", give another --conduit ({error})"
    return ""
