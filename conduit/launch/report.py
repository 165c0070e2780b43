"""The report of a job that gets no further: who waits where, for what, since when, and for whom.

A wait-for graph in words (rule D): each rank with its source line, what it waits for, its slots
in use and the messages that nobody has taken, and the cycle if there is one.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from functools import cache

import trio

from conduit.contract import Wait
from conduit.core import endpoint
from conduit.launch import registry, tasks
from conduit.launch.life import LIFE, Life, Stage

_PROGRAMS = ("benchmarks", "commands", "conformance")
_MISSED = "which became true without a handler: let a handler or a task of this rank make it true"
_TRUE = "which is true by now"  # what made it true may have been a handler of this very instant
_HEADS = {
    "deadlock": "nothing can happen any more: no message is on its way and every rank waits",
    "livelock": "time does not pass any more",
    "time limit": "the job's time is over",
    "interrupted": "where the ranks were",
}
_RAN = "its task ran that"
_MOST = 24  # lines of the report: enough to see the pattern of a large job


@cache
def _own_folders() -> tuple[str, ...]:
    """Return the folders whose lines say nothing to the author of a program: the core's, the layers' and the networks'.

    Commands, benchmarks and suites are programs too.
    """
    names = ["conduit", "trio", "outcome", *registry.layers(), *registry.conduit_modules()]
    return ("<frozen ", *(path for name in dict.fromkeys(names) for path in _parts_of(name)))


def _parts_of(module: str) -> list[str]:
    """Return the files and folders of a package that are no programs; of a lone module its file."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # of a plugin that cannot be imported
        return []
    if spec is None:
        return []
    if not spec.submodule_search_locations:
        return [spec.origin] if spec.origin else []
    found = []
    for folder in spec.submodule_search_locations:
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                found += [path + os.sep] * (name not in _PROGRAMS)
            elif name.endswith(".py"):
                found.append(path)
    return found


def describe(task: trio.lowlevel.Task) -> str:
    """Return a task's name and the line of the program that it is in."""
    return tasks.describe(task, _own_folders())


def write(
    kind: str,
    cause: str | trio.lowlevel.Task,
    now: int,
    lives: Sequence[Life],
    interrupt: BaseException | None = None,
) -> str:
    """Return the report.

    Args:
        kind: "deadlock", "livelock", "time limit" or "interrupted".
        cause: what else is known of the cause, "" for nothing, or the task that is to blame.
        now: the time of the job in picoseconds.
        lives: those of all ranks.
        interrupt: the KeyboardInterrupt.  No code of the program is called then: it may be what never returns.
    """
    detail = cause if isinstance(cause, str) else describe(cause)
    broken_off = tasks.error_line(interrupt, _own_folders()) if interrupt is not None else ""
    if broken_off:
        detail = f"what ran was {broken_off}"
    lines = [f"{kind} at {_time(now)}: {_HEADS[kind]}" + (f" ({detail})" if detail else "")]
    true = {"deadlock": _MISSED, "interrupted": ""}.get(kind, _TRUE)
    lines += _grouped([_state(life, own, true, broken_off) for life, own in zip(lives, _tasks(lives), strict=True)])
    lines += _cycle_line([_peers(life.rank.waits()) for life in lives])
    return "\n".join(lines)


def _peers(waits: Sequence[Wait]) -> list[int]:
    """Return the ranks that are waited for."""
    return sorted({peer for wait in waits for peer in wait.ranks})


def _cycle_line(follows: Sequence[Sequence[int]]) -> list[str]:
    cycle = _cycle(follows)
    return ["cycle: rank " + " waits for rank ".join(map(str, cycle))] if cycle else []


def _tasks(lives: Sequence[Life]) -> list[list[trio.lowlevel.Task]]:
    """Return the Trio tasks of every rank."""
    found: dict[int, list[trio.lowlevel.Task]] = {id(life): [] for life in lives}
    for task in tasks.all_tasks():
        mine = found.get(id(task.context.get(LIFE, None)))
        if mine is not None:
            mine.append(task)
    return [found[id(life)] for life in lives]


def _state(life: Life, own_tasks: Sequence[trio.lowlevel.Task], true: str, broken_off: str) -> list[str]:
    if life.stage in (Stage.BEFORE, Stage.STARTING):
        return [life.stage.value]
    return list(_rank_lines(life, own_tasks, true, broken_off)) or ["has ended"]


def _rank_lines(life: Life, own_tasks: Sequence[trio.lowlevel.Task], true: str, broken_off: str) -> Iterator[str]:
    rank, stage = life.rank, life.stage
    waits = {id(wait.task): wait for wait in rank.waits()}
    own = _own_folders()
    polls = False
    for task in own_tasks:
        wait = waits.get(id(task))
        if wait is not None:
            polls = True
            where = tasks.program_line(task, own)  # after the end, of what on_progress was given
            if not where:
                where = stage.value if stage is Stage.RETURNED else tasks.user_line(task, own)
            yield from _wait_lines(wait, where, true)
        elif broken_off and not tasks.program_line(task, own):
            polls = True  # who knows: the interrupt has come out of it already
            yield _RAN
        elif not any(nursery.child_tasks for nursery in task.child_nurseries):
            call = _endpoint_call(task)
            polls = polls or call != "a wait of Trio's own"
            yield f"{tasks.user_line(task, own)}: is in {call}"
    waiting = rank.undelivered()
    if waiting:
        why = "" if polls else ", because this rank does not poll"
        yield f"{waiting} message{'s' * (waiting > 1)} not handled{why}"
    elif not polls and own_tasks:
        yield "does not poll"
    yield from rank.occupied()


def _endpoint_call(task: trio.lowlevel.Task) -> str:
    """Return which call of its endpoint a task is in."""
    for frame, _ in tasks.frames(task):
        if frame.f_code.co_filename == endpoint.__file__:
            return f"ep.{frame.f_code.co_name.lstrip('_')}"
    return "a wait of Trio's own"


def _wait_lines(wait: Wait, where: str, true: str) -> Iterator[str]:
    what = wait.what or "a predicate (block_until takes what= and ranks= for this report)"
    peers = sorted(set(wait.ranks))
    ranks = f", which rank{'s' * (len(peers) > 1)} {_ranges(peers)} must bring about," if peers else ""
    yield f"{where}: waits for {what}{ranks} since {_time(wait.since)}"
    if true and wait.ready():
        yield f"   {true}"


def _grouped(states: Sequence[Sequence[str]], ranks: Sequence[int] | None = None) -> list[str]:
    """Return the lines, ranks of the same state together; the states are those of `ranks`, by default of all."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for rank, state in zip(range(len(states)) if ranks is None else ranks, states, strict=True):
        groups.setdefault(tuple(state), []).append(rank)
    lines: list[str] = []
    for count, (state, alike) in enumerate(groups.items()):
        if len(lines) >= _MOST:
            lines.append(f"... and {len(groups) - count} more groups of ranks")
            break
        name = f"ranks {_ranges(alike)}, each" if len(alike) > 1 else f"rank {alike[0]}"
        lines.append(f"{name}: {state[0]}")
        lines += [f"    {line}" for line in state[1:]]
    return lines


def _cycle(follows: Sequence[Sequence[int]]) -> list[int]:
    """Return ranks each of which waits for the next, first and last the same; [] if there are none."""
    left: set[int] = set()
    for start in range(len(follows)):
        path: list[int] = []
        branches: list[list[int]] = [[start]]
        while branches:
            if not branches[-1]:
                branches.pop()
                if path:
                    left.add(path.pop())
                continue
            rank = branches[-1].pop(0)
            if rank in path:
                return [*path[path.index(rank) :], rank]
            if rank not in left:
                path.append(rank)
                branches.append(list(follows[rank]))
    return []


def _ranges(ranks: Sequence[int]) -> str:
    """Return ranks as text: 0, 2-5, 9."""
    parts: list[str] = []
    start = previous = ranks[0]
    for rank in [*ranks[1:], -1]:
        if rank != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = rank
        previous = rank
    return ", ".join(parts)


def _time(ticks: int) -> str:
    return f"{ticks / 1e6:.3f} us"
