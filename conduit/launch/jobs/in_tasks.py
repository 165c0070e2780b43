"""A job whose ranks are tasks of this process, in virtual or in real time."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import trio

from conduit.contract import World
from conduit.contract.world import Body
from conduit.core import arguments
from conduit.core.calls import is_of_forgotten, kept_in
from conduit.core.threads import runs_job
from conduit.core.written import name_cells
from conduit.launch.errors import hard_exits
from conduit.launch.errors.at_end import raise_error
from conduit.launch.interrupts import AFTER_CTRL_C, insist, interruptible, tried_again
from conduit.launch.life import LIFE, Life, Main, Rank, Stage
from conduit.launch.printing.phrases import named
from conduit.launch.program.folders import is_own
from conduit.launch.program.tasks import Starts, in_threads, program_place
from conduit.launch.registry import Spec
from conduit.launch.reports.cells import cells_named
from conduit.launch.reports.records import Report


def placed(spec: Spec, ranks: int | None, ranks_per_host: int | None) -> tuple[int, ...]:
    """Return the host of every rank, as the network places them; by default of two.

    Raises:
        BadRequest: they do not fit.
    """
    return spec.placement(2 if ranks is None else ranks, ranks_per_host)


class TaskJob:
    """One run of a program on ranks that are tasks.

    Args:
        main: the program.
        args: its further arguments; every rank gets its own deep copy.
        ranks: what the ranks are.
        world: their time.
        run_tasks: runs one task for each body in that world, from the first to the last.
        first: which rank the first of `ranks` is, where others are elsewhere.
        warnings: whether an error says what users are to know of these.
        elsewhere: how many ranks other processes have.

    Attributes:
        lives: those of the ranks.
        world: their time.
        root: Trio's task that all others come of, once that runs.
        caught_by: which rank ran as Ctrl-C came, if one did.
    """

    def __init__(
        self,
        main: Main,
        args: tuple[Any, ...],
        ranks: Sequence[Rank],
        world: World,
        run_tasks: Callable[[Sequence[Body]], None],
        first: int = 0,
        *,
        warnings: bool = True,
        elsewhere: int = 0,
    ) -> None:
        self.ranks = ranks
        self._number = first
        self._warnings = warnings
        self._elsewhere = elsewhere
        self.lives = [Life(rank, main, self._own_arguments) for rank in ranks]
        self.world = world
        self._main = main
        self._run_tasks = run_tasks
        self._args = args
        self._copy: tuple[Any, ...] | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self.root: trio.lowlevel.Task | None = None
        self._stopped = False
        self.caught_by: int | None = None

    def run(self) -> list[Any]:
        """Run the job to its end; return what each rank's main returned.

        Raises:
            BaseException: what ended it, as `conduit.run` says.
        """
        with hard_exits.TOLD, tried_again():  # also while what the job had is let go
            return self._run()

    def _run(self) -> list[Any]:
        self._copy = arguments.copies(self._args)  # what cannot be copied is refused before anything runs
        bodies: list[Body] = [life.live for life in self.lives]
        bodies[:1] = [self._first]
        try:
            with interruptible(), runs_job():
                self._run_tasks(bodies)
            self._note_kept()
            raise_error(
                self.world, self.ranks, self._number, warnings=self._warnings, unfinished=self._others_unfinished
            )
        except BaseException as error:
            # The error refers to the job and the job to the error: it would be found only by a look for cycles, much
            # later, and segments are large.
            for rank in self.ranks:
                rank.release()
                with suppress(Exception):  # what ended the job is told, and is often the same
                    rank.close()
            name_cells(error)
            if isinstance(report := getattr(error, "report", None), Report):
                error.report = cells_named(report)  # type: ignore[attr-defined]
            if self.caught_by is not None and is_of_forgotten(error):  # Ctrl-C came between the call and its await
                interrupt = KeyboardInterrupt()
                interrupt.add_note(f"{AFTER_CTRL_C} rank {self.caught_by} caught")
                raise interrupt from None
            raise
        for rank in self.ranks:
            rank.close()
        return [life.value for life in self.lives]

    @property
    def ending(self) -> bool:
        """Whether its tasks are on their way out."""
        return self.world.ending

    def stop(self) -> None:
        """End the job from another thread; harmless before and after."""
        self._stopped = True
        self.call(self.world.stop)

    def call(self, function: Callable[[], object]) -> None:
        """Call a plain function in the job's own thread, once it comes to it; no effect before and after the job."""
        token = self._token
        if token is not None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(function)
                self.world.give_way()

    def end_interrupted(self) -> None:
        """End a job whose program has caught Ctrl-C and goes on (E8)."""
        if not self.world.ending:
            self.world.fail(KeyboardInterrupt())

    def in_threads(self) -> str:
        """Return which ranks wait for threads, and where, although the job is ending; "" for none."""
        found: dict[str, set[int]] = {}
        numbers = {id(life): number for number, life in enumerate(self.lives, self._number)}
        for task in in_threads() if self.world.ending else ():
            number, place = numbers.get(id(task.context.get(LIFE, None))), program_place(task, is_own)
            if number is not None and place is not None:
                found.setdefault(f"{place[0]}:{place[1]}", set()).add(number)
        return " and ".join(
            f"{named(sorted(ranks))} wait{'s' * (len(ranks) == 1)} for a thread at {place}"
            for place, ranks in found.items()
        )

    def _note_kept(self) -> None:
        """Let ranks take note of calls that the variables of the program's module still have."""
        if kept := kept_in(_variables(self._main)):
            for rank in self.ranks:
                rank.note_kept(kept)

    async def _first(self) -> None:
        """Let other threads and reports reach the job, then live the life of the first rank, which begins first."""
        self._token = trio.lowlevel.current_trio_token()
        self.root = trio.lowlevel.current_root_task()
        trio.lowlevel.add_instrument(Starts(is_own))
        insist(self)
        if self._stopped:
            self.world.stop()
        await self.lives[0].live()

    def _others_unfinished(self, rank: int) -> bool:
        """Say whether another rank than one may not have returned; of those elsewhere that is not known."""
        others = (life for number, life in enumerate(self.lives, self._number) if number != rank)
        return self._elsewhere > 0 or any(life.stage is not Stage.RETURNED for life in others)

    def _own_arguments(self) -> tuple[Any, ...]:
        """Return a copy of the arguments for a rank alone: the first one that was made, then others."""
        own, self._copy = self._copy, None
        return arguments.copies(self._args) if own is None else own


def _variables(main: Any) -> Mapping[str, object]:
    """Return those of the module that a program was written in, as far as they can be found."""
    main = inspect.unwrap(main.func if isinstance(main, functools.partial) else main)
    found: Mapping[str, object] = getattr(main, "__globals__", {})
    return found
