"""The life of one rank, in virtual and in real time: start, main, what it left to be run, serving, its errors.

It needs no Active Messages: a rank is whatever can be started, gives its main something to work with, and can serve
others when that is over.  `conduit.launch.jobs.messages` has the one with an endpoint.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from enum import Enum
from types import CoroutineType
from typing import Any, Protocol

import trio

from conduit.contract import LayerReport, Unhandled, Wait
from conduit.core.functions_given import called
from conduit.errors import BadRequest

Main = Callable[..., Awaitable[Any]]


class Stage(Enum):
    """How far a rank has come."""

    BEFORE = "has not begun"
    STARTING = "is starting: it has not come to its main yet"
    RUNNING = "runs its main"
    RETURNED = "its main has returned"


class Rank(Protocol):
    """One rank of a job, as its life and its job's report see it."""

    async def start(self) -> object:
        """Connect, in the rank's own task; returns what main is called with."""

    async def leave(self) -> None:
        """Run what was left to be run when main has returned."""

    async def serve(self) -> None:
        """Serve the other ranks until all have returned (E1)."""

    def close(self) -> None:
        """Refuse every further call: the job is over."""

    def release(self) -> None:
        """Hold its memory no longer: the job has failed."""

    def fail(self, error: BaseException) -> None:
        """End the whole job because of `error` of this rank; SystemExit is no error."""

    def forgotten(self) -> BaseException | None:
        """Return the error of a call that was never awaited, None where there is none (E4)."""

    def note_kept(self, kept: Iterable[CoroutineType[Any, Any, Any]]) -> None:
        """Take note of those of some calls that are of this rank, which never awaited them."""

    def ticks(self) -> int:
        """Return this rank's clock, picoseconds."""

    def warnings(self) -> Sequence[str]:
        """Return what users are to know."""

    def waits(self) -> Sequence[Wait]:
        """Return what this rank's tasks wait for."""

    def slots_in_use(self) -> Sequence[str]:
        """Return one line for each kind of resource in use, for reports."""

    def told(self) -> LayerReport:
        """Return what the layers tell of this rank, for reports."""

    def undelivered(self) -> int:
        """Return how many messages have arrived and were not handled."""

    def asked(self) -> int:
        """Return how many requests and native operations it has begun."""

    def unhandled(self) -> Sequence[tuple[Unhandled, Callable[..., object] | None]]:
        """Return what these are, as far as is known, each with the handler that it is for, None where there is none."""


_STRAY = (
    "run: main raised trio.Cancelled where nothing is cancelled, so a scope that was cancelled has ended and its "
    "exception was kept: raise it again inside that scope alone, in the `except` that has caught it"
)

LIFE: ContextVar[Life | None] = ContextVar("conduit.life", default=None)
"""Whose life a task belongs to: that of the rank whose own task it is, or comes of."""


class Life:
    """What one rank does from its start to its end.

    Args:
        rank: what is started and serves.
        main: the program.
        arguments: returns its further arguments, this rank's own.

    Attributes:
        stage: how far it has come.
        value: what main returned.
    """

    __slots__ = ("_arguments", "_main", "rank", "stage", "value")

    def __init__(self, rank: Rank, main: Main, arguments: Callable[[], tuple[Any, ...]]) -> None:
        self.rank = rank
        self.stage = Stage.BEFORE
        self.value: Any = None
        self._main = main
        self._arguments = arguments

    async def live(self) -> None:
        """Live; in the rank's own task.

        Raises:
            BaseException: what main raised; exits and interrupts have been told to the job instead (E2, E8).
        """
        LIFE.set(self)
        rank = self.rank
        try:
            self.stage = Stage.STARTING
            given = await rank.start()
            self.stage = Stage.RUNNING
            self.value = value = await called("run: main", self._main, given, *self._arguments())
            if type(value) is CoroutineType:
                self._refuse(value)
            value = None
            await rank.leave()
        except SystemExit as error:
            rank.fail(error)
            return
        except trio.Cancelled as error:
            if trio.current_effective_deadline() == -math.inf:  # the job ends
                raise
            raise BadRequest(_STRAY) from error
        except BaseExceptionGroup as group:
            leaving = exit_in(group)
            if leaving is None:
                raise
            rank.fail(leaving)
            if isinstance(leaving, KeyboardInterrupt) and (rest := group.split(KeyboardInterrupt)[1]) is not None:
                rank.fail(rest)
            return
        forgotten = rank.forgotten()
        if forgotten is not None:
            raise forgotten
        self.stage = Stage.RETURNED
        await rank.serve()

    def _refuse(self, made: CoroutineType[Any, Any, Any]) -> None:
        """Take a call that main has returned in the place of what it gives for one that was forgotten.

        Raises:
            BadRequest: always; what a call of this package says itself when it is closed.
        """
        self.value = None
        made.close()  # it never ran, and Python would say less of it
        name = made.__name__
        raise self.rank.forgotten() or BadRequest(
            f"run: main returned a call of {name} that was not awaited; write `return await {name}(...)` in it"
        )


def exit_in(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    """Return the interrupt that a group holds (E8), or the exit, in a group of nothing else (E2).

    Of several exits it is the first with a failure.  One that was never raised has the steps of the group that was.
    """
    exits, rest = group.split(SystemExit)
    found = group.subgroup(KeyboardInterrupt) or (exits if rest is None else None)
    errors = [] if found is None else list(_in_group(found))
    failures = [error for error in errors if isinstance(error, SystemExit) and error.code not in (None, 0)]
    return next(iter(failures or errors), None)


def _in_group(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        raised = error if error.__traceback__ is not None else error.with_traceback(group.__traceback__)
        if isinstance(raised, BaseExceptionGroup):
            yield from _in_group(raised)
        else:
            yield raised
