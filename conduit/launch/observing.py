"""Who listens to the jobs that start here: a context around what runs them, so that no command hands observers on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from conduit.contract import JobSetup
from conduit.core.observer import Failure
from conduit.errors import BadRequest
from conduit.launch.registry import Spec

Make: TypeAlias = Callable[[Spec, JobSetup], object]
"""Returns what is to hear of a job that starts on a conduit: an observer (`conduit.core.observer`)."""

_MAKERS: ContextVar[tuple[Make, ...]] = ContextVar("conduit.observing", default=())


@contextmanager
def observed(make: Make) -> Iterator[None]:
    """Let each job that starts inside be heard by what `make` returns for it.

    When such a job is over, whether it failed or not, the observer's method `ended(ticks, failed=...)` is called, if it
    has one: with the time of every rank in picoseconds. If it failed, `failed_with(failure)` is called before.
    """
    token = _MAKERS.set((*_MAKERS.get(), make))
    try:
        yield
    finally:
        _MAKERS.reset(token)


def observers_of(spec: Spec, setup: JobSetup) -> list[object]:
    """Return who is to hear of a job that starts now."""
    return [make(spec, setup) for make in _MAKERS.get()]


def tell_end(observers: Sequence[object], ticks: Sequence[int], *, failed: bool, failure: Failure | None) -> None:
    """Tell observers that their job is over, and first what it failed with."""
    for each in observers:
        failed_with = getattr(each, "failed_with", None)
        if failed_with is not None and failure is not None:
            failed_with(failure)
        ended = getattr(each, "ended", None)
        if ended is not None:
            ended(ticks, failed=failed)


def refuse_observers(spec: Spec, observers: Sequence[object]) -> None:
    """Refuse to listen to a job in real time whose ranks are tasks of one process, which nobody tells apart.

    Raises:
        BadRequest: somebody wants to.
    """
    if observers:
        raise BadRequest(
            f"run: conduit={spec.text!r} runs in real time with all its ranks in one process, which tells of none of "
            "them what it does; leave the trace out, or run it on another conduit"
        )
