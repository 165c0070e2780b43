"""Who keeps a simulated job from going on without any error: who never awaits, never polls, or does nothing else.

It is asked in a thread of its own, for the job's thread may never come to anything else.  So it reads only, and what
changes while it reads is left for the next look.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import NamedTuple, Protocol, cast

import trio

from conduit.contract import World
from conduit.core.endpoint import Endpoint
from conduit.core.handlers import WAITS
from conduit.frames import awaited_frames
from conduit.launch.hanging.loops import program_frame
from conduit.launch.life import LIFE
from conduit.launch.printing import terminal
from conduit.launch.printing.phrases import named
from conduit.launch.program.folders import is_own
from conduit.launch.program.polls import polls_of
from conduit.words import many

PATIENCE = 5.0
"""Seconds of wall time in which nothing has moved before that is said."""

_LOOKS = 3
"""That find a rank at the same poll before it is said to do nothing else."""

_TO_DO = "only a poll runs handlers: wait with `{}`, or call `{}`"
_RETURN = "it cannot wait: let it return, and main wait for what is still missing"


class RankMain(NamedTuple):
    """A rank whose main has begun, with the task that runs it and the time that both are in."""

    endpoint: Endpoint
    task: trio.lowlevel.Task
    world: World


def begun(endpoint: Endpoint) -> RankMain:
    """Return the rank whose main begins in the running task."""
    return RankMain(endpoint, trio.lowlevel.current_task(), cast(World, trio.lowlevel.current_clock()))


class WatchedMains(Protocol):
    """What is asked of a job."""

    @property
    def mains(self) -> list[RankMain]:
        """Those of the ranks that have begun."""
        ...

    @property
    def returned(self) -> int:
        """How many of these have returned."""
        ...


class Hanging:
    """Looks at a job again and again, and says each thing once.

    Args:
        job: which.
        thread: that it runs in.
        patience: seconds of wall time in which nothing has moved before that is said; None: PATIENCE.
    """

    def __init__(self, job: WatchedMains, thread: int, patience: float | None = None) -> None:
        self._job = job
        self._thread = thread
        self._patience = PATIENCE if patience is None else patience
        self._moved: tuple[object, float] = None, 0.0
        self._still: tuple[object, float] = None, 0.0
        self._polls: dict[str, tuple[int, set[int]]] = {}  # by line: in how many looks ranks have polled there, which
        self._handled = 0
        self._said: set[object] = set()

    def look(self, *, awaits: bool = True) -> str:
        """Return what is to be said now, "" for nothing.

        Args:
            awaits: whether ranks are named too that await something, polls or a wait of Trio's own: perhaps on purpose.
        """
        job, mains = self._job, list(self._job.mains)
        if not mains or not mains[0].endpoint.simulated or mains[0].world.ending:
            return ""
        now = time.monotonic()
        frame = program_frame(sys._current_frames().get(self._thread))
        owner = None if frame is None else _owner(frame, mains)
        moved = job.returned, len(mains), sum(each.endpoint.counts.requests_sent for each in mains)
        if moved != self._moved[0]:
            self._moved = moved, now
        still = moved, max(each.endpoint.now for each in mains), owner, frame is None
        if still != self._still[0]:
            self._still = still, now
        if frame is not None and now - self._still[1] >= self._patience:
            place, since = _place(frame, frame.f_lineno), f"for {self._patience:g} s: nothing else runs meanwhile, and"
            if owner is None and not frame.f_code.co_flags & WAITS:  # what is called by others cannot await
                return self._once(frame.f_code, f"{_called(mains)} at {place} has not returned {since} {_RETURN}")
            who = "the program" if owner is None else f"rank {owner}"
            text = f"{who} is at {place} and has not awaited anything {since} {_to_do([frame])}"
            return self._once((owner, frame.f_code), text)
        if awaits and now - self._moved[1] >= self._patience:
            return self._unpolled(mains) or self._polling(mains)
        self._polls.clear()
        return ""

    def _unpolled(self, mains: Sequence[RankMain]) -> str:
        """Say which ranks are in a wait of Trio's own, at the first such line, while messages are there for them."""
        ranks, count, first, to_do = [], 0, "", ""
        for endpoint, task, _ in mains:
            life = task.context.get(LIFE)
            waiting = 0 if life is None else life.rank.undelivered()
            if not waiting or _runs(task):
                continue
            frames = list(awaited_frames(task))
            place = _sleeps(frames)
            if place and place == (first or place):
                first, to_do = place, _to_do(frame for frame, _ in frames)
                ranks.append(endpoint.rank)
                count += waiting
        if not ranks:
            return ""
        be, do, them = ("is", "does", "it") if len(ranks) == 1 else ("are", "do", "them")
        wait = f"{many(count, 'message')} {'waits' if count == 1 else 'wait'}"
        return self._once(
            first,
            f"{named(sorted(ranks))} {be} at {first} in a wait of Trio's own and {do} not poll, while {wait} for "
            f"{them}: {to_do}",
        )

    def _polling(self, mains: Sequence[RankMain]) -> str:
        """Say which ranks do nothing but poll, at the first such line, while no message moves."""
        handled = sum(sum(each.endpoint._counted().values()) for each in mains)
        if handled != self._handled:
            self._handled = handled
            self._polls.clear()
        stacks = [_stack(self._thread)]
        stacks += [list(awaited_frames(each)) for main in mains for each in below(main.task) if not _runs(each)]
        for place, ranks in _polled(stacks).items():
            looks, known = self._polls.get(place, (0, set()))
            known |= ranks
            self._polls[place] = looks + 1, known
            if looks + 1 >= _LOOKS:
                return self._once(
                    place,
                    f"{named(sorted(known))} poll{'s' * (len(known) == 1)} again and again at {place}, and no message "
                    f"has been sent or handled for {self._patience:g} s: unless something else ends that loop, it "
                    "goes on for ever; `await ep.block_until(predicate)` in its place ends in a report where nothing "
                    "can come",
                )
        return ""

    def _once(self, key: object, text: str) -> str:
        if key in self._said:
            return ""
        self._said.add(key)
        return terminal.shown(text)


def _runs(task: trio.lowlevel.Task) -> bool:
    return bool(getattr(task.coro, "cr_running", False))


def below(task: trio.lowlevel.Task) -> Iterator[trio.lowlevel.Task]:
    """Yield a task, and those that it has started."""
    yield task
    for nursery in list(task.child_nurseries):
        for child in list(nursery.child_tasks):
            yield from below(child)


def _stack(thread: int) -> list[tuple[FrameType, int]]:
    """Return the frames of a thread with their lines, outermost first."""
    found, frame = [], sys._current_frames().get(thread)
    while frame is not None:
        found.append((frame, frame.f_lineno))
        frame = frame.f_back
    return found[::-1]


def _polled(stacks: Sequence[Sequence[tuple[FrameType, int]]]) -> dict[str, set[int]]:
    """Return which ranks are in `ep.poll`, by the line of the program."""
    found: dict[str, set[int]] = {}
    for frames in stacks:
        place = ""
        for frame, line in frames:
            if not is_own(frame.f_code.co_filename):
                place = _place(frame, line)
            elif frame.f_code is Endpoint._poll.__code__ and place:
                found.setdefault(place, set()).add(frame.f_locals["self"].rank)
    return found


def _owner(frame: FrameType, mains: Sequence[RankMain]) -> int | None:
    """Return the rank whose main runs a line itself, None where that was called by others, as handlers are."""
    running = next((each for each in mains if _runs(each.task)), None)
    if running is None:
        return None
    outermost = getattr(running.task.coro, "cr_frame", None)
    inside = True  # of the program's own lines, before those that have called it
    step: FrameType | None = frame
    while step is not None and step is not outermost:
        own = is_own(step.f_code.co_filename)
        if not own and not inside:
            return None
        inside = inside and not own
        step = step.f_back
    return running.endpoint.rank


def _called(mains: Sequence[RankMain]) -> str:
    """Return what runs that is called by others: the handler of a rank, or another function."""
    for endpoint, *_ in mains:
        if endpoint.in_handler:
            name, of = endpoint._dispatch.running, f"of rank {endpoint.rank}"
            is_handler = any(name == known for _, known in endpoint.handlers.entries)
            return f"handler {name!r} {of}" if is_handler else f"{name} {of}"
    return "the function"


def _sleeps(frames: Sequence[tuple[FrameType, int]]) -> str:
    """Return the line of a program at which a task awaits something of Trio's own, "" where it awaits anything else."""
    own = [number for number, (frame, _) in enumerate(frames) if not is_own(frame.f_code.co_filename)]
    if not own or own[-1] + 1 >= len(frames):
        return ""
    inside, _ = frames[own[-1] + 1]
    of_trio = str(inside.f_globals.get("__name__", "")).partition(".")[0] == "trio"
    return _place(*frames[own[-1]]) if of_trio else ""


def _to_do(frames: Iterable[FrameType]) -> str:
    polls = polls_of(frames)
    return _TO_DO.format(polls.until, polls.once)


def _place(frame: FrameType, line: int) -> str:
    return f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
