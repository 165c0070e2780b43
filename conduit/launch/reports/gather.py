"""Makes records of the ranks of this process: their tasks, lines, waits, and what ports and layers tell of them."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from types import CodeType, FrameType
from typing import NamedTuple

import attrs
import trio

from conduit.contract import REQUEST, Awaited, LayerHold, LayerReport, Message, Wait
from conduit.core import endpoint, written
from conduit.core.started import started_at
from conduit.core.steps import steps_of
from conduit.launch.life import LIFE, Life, Rank, Stage
from conduit.launch.program import tasks
from conduit.launch.program.folders import is_between, is_library, is_made, is_own
from conduit.launch.program.own_variables import own_variables, shared_variables
from conduit.launch.program.polls import polls_of
from conduit.launch.reports.again import again
from conduit.launch.reports.clocks import looks_at_time
from conduit.launch.reports.clues import CarriedClue
from conduit.launch.reports.computing import on_loops
from conduit.launch.reports.last_waits import ends
from conduit.launch.reports.not_called import compares_methods
from conduit.launch.reports.nothing_returned import returns_nothing
from conduit.launch.reports.predicate_values import never_assigned, values_read
from conduit.launch.reports.records import (
    COMPUTES,
    OF_TRIO,
    MessageRecord,
    RankRecord,
    SourceLine,
    TaskRecord,
    WaitRecord,
)
from conduit.words import text_of

_RAN = "its task ran that"
_A_CALL = "a call that polls"
_MAY_WAIT = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
_LOCKS = (trio.Lock, trio.Semaphore, trio.Condition, trio.CapacityLimiter)
"""What other tasks of a rank give back: no message does."""
_A_NAME = re.compile(r"[a-z_]+(\.[a-z_]+)?")
_Shared = dict[int, dict[CodeType, list[str]]]
_Compared = dict[CodeType, list[str]]


def describe(task: trio.lowlevel.Task) -> str:
    """Return a task's name and the line of the program that it is in."""
    place, _ = _place(task)
    return f"task {task.name} at {place or 'its end'}"


_POLL = "in a wait of Trio's own nothing is polled, and only a poll runs handlers: wait with {}"


class BrokenOff(NamedTuple):
    """What an interrupt has broken off.

    Attributes:
        line: of the program, which ran.
        rank: that of it, None where it is not told.
        place: of the task that let time pass meanwhile, and through which the interrupt has come; None for none.
        call: of its endpoint.
        advice: what to do about it.
    """

    line: str
    rank: int | None
    place: SourceLine | None
    call: str
    advice: tuple[str, ...]


def broken_off(error: BaseException, loop: str) -> BrokenOff | None:
    """Return what an interrupt has broken off, None where no line of a program ran.

    A task that waits may run the events of all ranks, and their handlers and predicates with them.  So the rank is that
    of the innermost object of a rank on the stack.

    Args:
        error: the interrupt.
        loop: the file that runs events, "" where each task runs its own rank's alone.
    """
    line = _line_that_ran(error)
    if not line:
        return None
    frames = [(step.tb_frame, step.tb_lineno) for step in steps_of(error)]
    driver = list(takewhile(lambda each: each[0].f_code.co_filename != loop, frames))
    rank = None
    for frame, _ in frames[len(driver) :]:
        if is_own(frame.f_code.co_filename):
            of = getattr(frame.f_locals.get("self"), "rank", None)
            rank = of if isinstance(of, int) else rank
    found = None
    for frame, number in driver:
        file = frame.f_code.co_filename
        if not _has_no_line(frame) and (found is None or not is_library(file)):
            found = SourceLine(file, number, frame.f_code.co_name)
    programs = [each for each in driver if not _has_no_line(each[0])]
    advice = () if rank is not None or not programs else tuple(on_loops(programs))
    return BrokenOff(line, rank, found, _endpoint_call(driver), advice)


def _line_that_ran(error: BaseException) -> str:
    """Return the innermost line of a program that an interrupt has come to, with the library that it was in, if any."""
    steps = [step for step in steps_of(error) if not _has_no_line(step.tb_frame)]
    own = [number for number, step in enumerate(steps) if not is_library(step.tb_frame.f_code.co_filename)]
    if not steps:
        return ""
    last = own[-1] if own else len(steps) - 1
    code, inside = steps[last].tb_frame.f_code, steps[last + 1 :]
    line = f"{code.co_filename}:{steps[last].tb_lineno} in {code.co_name}"
    return f"{line}, in {_package(inside[0].tb_frame)}" if inside else line


def _has_no_line(frame: FrameType) -> bool:
    """Say whether no line of a frame says anything to the author of a program."""
    return is_own(frame.f_code.co_filename) or is_made(frame)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "a library")).partition(".")[0]


def gather(
    lives: Sequence[Life],
    *,
    blamed: trio.lowlevel.Task | None = None,
    interrupted: bool = False,
    broken_off: BrokenOff | None = None,
) -> list[RankRecord]:
    """Return a record of every rank of a job of this process.

    Args:
        lives: those of all ranks.
        blamed: the task that let no time pass.
        interrupted: whether no code of the program may be called: it may be what never returns.
        broken_off: where an interrupt has come out of a task already, which then is in no program any more.
    """
    own: dict[int, list[trio.lowlevel.Task]] = {id(life): [] for life in lives}
    for task in tasks.all_tasks():
        mine = own.get(id(task.context.get(LIFE, None)))
        if mine is not None:
            mine.append(task)
    modules = [_modules(own[id(life)]) for life in lives]
    counts = Counter(each for found in modules for each in found)
    several: _Shared = {each: {} for each, count in counts.items() if count > 1}
    compared: _Compared = {}
    records = [
        _rank(number, life, own[id(life)], blamed, interrupted, broken_off, several, compared)
        for number, life in enumerate(lives)
    ]
    for number, text in _of_others(lives):
        records[number] = attrs.evolve(records[number], advice=(*records[number].advice, text))
    return records


def _of_others(lives: Sequence[Life]) -> Iterator[tuple[int, str]]:
    """Yield the ranks a task of which waits in a call of another rank's endpoint, with what to do about that."""
    for number, life in enumerate(lives):
        for wait in life.rank.waits() if life.stage in (Stage.RUNNING, Stage.RETURNED) else ():
            caller = wait.task.context.get(LIFE, None) if isinstance(wait.task, trio.lowlevel.Task) else None
            if caller is not None and caller is not life and caller in lives:
                yield (
                    lives.index(caller),
                    f"others wait in calls of rank {number}'s endpoint: a global variable is one for all ranks; keep "
                    "the endpoint, and what is attached to it, in variables of main",
                )


def _rank(
    number: int,
    life: Life,
    own: Sequence[trio.lowlevel.Task],
    blamed: trio.lowlevel.Task | None,
    interrupted: bool,
    broken_off: BrokenOff | None,
    several: _Shared,
    compared: _Compared,
) -> RankRecord:
    rank, stage = life.rank, life.stage
    if stage in (Stage.BEFORE, Stage.STARTING):
        return RankRecord(number, stage.value, False, False, (), False, 0, (), ())
    waits = {id(wait.task): wait for wait in rank.waits()}
    told = rank.told()
    found = []
    ended = [hold for task, holds in told.held.items() if task not in own for hold in holds]
    for task in own:
        wait = waits.get(id(task))
        if wait is not None and task in told.waiting:
            now = told.waiting[task]
            wait = attrs.evolve(wait, what=now.what, ranks=wait.ranks if now.ranks is None else now.ranks)
        elif wait is not None and not any(wait.what in part.waits for part in told.parts):
            wait = attrs.evolve(wait, what=_in_its_call(task, wait.what))
        if wait is not None or not tasks.at_end_of_nursery(task):
            record = _task(number, task, wait, task is blamed, interrupted, broken_off)
            holds = (*_held(task, told.held), *ended)
            asks = (
                "" if _is_for_others(wait, told) else again(each for each in tasks.frames(task) if _is_program(each[0]))
            )
            # Parents come before children.
            found.append(attrs.evolve(record, holds=holds, main=task is own[0], again=asks, ends=ends(task)))
    computing = _of_computing(own, found, broken_off)
    polls = not computing and any(_polls(task, broken_off) for task in found)
    of_rank = RankRecord(
        number,
        stage.value if found else "has ended",
        bool(found) and stage is Stage.RUNNING,
        stage is Stage.RETURNED,
        tuple(sorted(found, key=lambda task: not task.blamed)),
        polls,
        rank.undelivered(),
        tuple(rank.slots_in_use()),
        (*_at_end_of_nursery(own), *told.notes),
        tuple(told.parts),
        _unhandled(rank),
        (
            *told.advice,
            *_of_predicates(own, waits, several),
            *_of_comparisons(own, compared),
            *(computing if rank.undelivered() else ()),
        ),
        told.noted,
        told.awaited,
        tuple(told.wanted),
        tuple(map(CarriedClue.of, told.clues)),
        tuple(told.short.items()),
        rank.asked(),
    )
    stuck = any(task.call == OF_TRIO for task in found) and not (not of_rank.undelivered and _wait_in_locks(own))
    if of_rank.running and not of_rank.may_poll and stuck:
        return attrs.evolve(of_rank, advice=(*of_rank.advice, _to_poll(own)))
    return of_rank


def _is_for_others(wait: Wait | None, told: LayerReport) -> bool:
    """Say whether a wait is for what ranks do together, or for what one holds: such a one is no question."""
    if wait is None:
        return False
    together = any(wait.what in part.waits for part in told.parts)
    return together or any(wait.what in (want.wait, want.held) for want in told.wanted)


def _at_end_of_nursery(own: Sequence[trio.lowlevel.Task]) -> list[str]:
    """Return where a rank's main is that waits for the tasks of a nursery, which are told with their own lines."""
    for task in own[:1]:  # parents come before children
        place = tasks.program_place(task, is_between)
        if place is not None and tasks.at_end_of_nursery(task):
            return [f"main is at the end of the nursery of {SourceLine(*place)} and waits for its tasks"]
    return []


def _held(task: trio.lowlevel.Task, told: Mapping[object, Sequence[LayerHold]]) -> tuple[LayerHold, ...]:
    """Return what a task holds, and what those hold that wait at the end of a nursery for it."""
    found = list(told.get(task, ()))
    nursery = task.parent_nursery if told else None
    while nursery is not None and tasks.at_end_of_nursery(nursery.parent_task):
        found += told.get(nursery.parent_task, ())
        nursery = nursery.parent_task.parent_nursery
    return tuple(found)


def _wait_in_locks(own: Sequence[trio.lowlevel.Task]) -> bool:
    """Say whether all waits of Trio's own of a rank's tasks are for what other tasks of it must give back."""
    waits = [
        task for task in own if not tasks.at_end_of_nursery(task) and _endpoint_call(tasks.frames(task)) == OF_TRIO
    ]
    return all(
        any(isinstance(frame.f_locals.get("self"), _LOCKS) for frame, _ in tasks.frames(task) if _is_of_trio(frame))
        for task in waits
    )


def _is_of_trio(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "trio"


def _to_poll(own: Sequence[trio.lowlevel.Task]) -> str:
    """Say what a program writes in the place of waits of Trio's own."""
    return _POLL.format(polls_of(frame for task in own for frame, _ in tasks.frames(task)).waits)


def _modules(own: Sequence[trio.lowlevel.Task]) -> set[int]:
    """Return by identity the modules that tasks of a rank run in, as far as they are programs."""
    return {id(frame.f_globals) for task in own for frame, _ in tasks.frames(task) if _is_program(frame)}


def _of_predicates(own: Sequence[trio.lowlevel.Task], waits: Mapping[int, Wait], several: _Shared) -> list[str]:
    """Return what to do about variables, clocks and results of predicates that tasks wait for.

    Args:
        own: the tasks of a rank.
        waits: what they wait for.
        several: by identity the modules that several ranks run in, with what was said of their functions.
    """
    found: list[str] = []
    for task in own:
        wait = waits.get(id(task))
        inner = [frame for frame, _ in tasks.frames(task) if _is_program(frame)]
        if wait is not None and wait.kind is Awaited.PREDICATE and inner:
            shadowed, advice = own_variables(inner[-1], wait.predicate)
            found += advice
            found += never_assigned(inner[-1], wait.predicate, shadowed)
            found += looks_at_time(inner[-1])
            found += returns_nothing(inner[-1])
            known = several.get(id(inner[-1].f_globals))
            if known is not None:
                code = inner[-1].f_code
                if code not in known:
                    known[code] = shared_variables(inner[-1])
                found += known[code]
    return found


def _of_comparisons(own: Sequence[trio.lowlevel.Task], known: _Compared) -> list[str]:
    """Return what to do about methods that functions of tasks compare; `known`: what was said of functions before."""
    found: list[str] = []
    for task in own:
        for frame, _ in tasks.frames(task):
            if _is_program(frame):
                if frame.f_code not in known:
                    known[frame.f_code] = compares_methods(frame)
                found += known[frame.f_code]
    return found


def _of_computing(
    own: Sequence[trio.lowlevel.Task], found: Sequence[TaskRecord], broken_off: BrokenOff | None
) -> list[str]:
    """Return what to do about loops of a rank that only compute, which polls nothing."""
    ran = broken_off is not None and any(task.ran for task in found)
    said = list(broken_off.advice) if ran and broken_off is not None else []
    for task in own if any(task.call == COMPUTES for task in found) else ():
        frames = [each for each in tasks.frames(task) if _is_program(each[0])]
        said += on_loops(frames) if frames else []
    return said


def _is_program(frame: FrameType) -> bool:
    return not is_own(frame.f_code.co_filename)


def _unhandled(rank: Rank) -> tuple[MessageRecord, ...]:
    """Return what has arrived at a rank and was not handled, put together by sender and handler."""
    counts = Counter((each.source, bool(each.word & REQUEST), handler) for each, handler in rank.unhandled())
    return tuple(
        MessageRecord(source, *_handler(handler), request, count)
        for (source, request, handler), count in counts.items()
    )


def _handler(handler: Callable[..., object] | None) -> tuple[str, SourceLine | None]:
    """Return the name of a handler, and where it begins if it is of a program."""
    code = getattr(handler, "__code__", None)
    if handler is None or code is None:
        return "", None
    if is_own(code.co_filename):
        return f"{handler.__module__.split('.')[0]}.{handler.__name__.strip('_')}", None
    return handler.__name__, SourceLine(code.co_filename, code.co_firstlineno, code.co_qualname)


def _task(
    number: int,
    task: trio.lowlevel.Task,
    wait: Wait | None,
    blamed: bool,
    interrupted: bool,
    broken_off: BrokenOff | None,
) -> TaskRecord:
    place, started = _place(task)
    if wait is not None:
        record = _wait(wait, look=not interrupted or wait.kind is Awaited.ATTACH)  # which calls nothing of the program
        return TaskRecord(task.name, place, started, "", record if place else _at_start(record), blamed)
    if broken_off is not None and (place is None or started):
        if broken_off.rank in (None, number):
            return TaskRecord(task.name, None, False, _RAN, None, blamed, ran=True)
        return TaskRecord(task.name, broken_off.place, False, broken_off.call, None, blamed)
    return TaskRecord(task.name, place, started, _endpoint_call(tasks.frames(task)), None, blamed)


def _polls(task: TaskRecord, broken_off: BrokenOff | None) -> bool:
    """Say whether a task is in a call that polls, or was when an interrupt came out of it."""
    if not task.ran or broken_off is None:
        return task.wait is not None or task.call != OF_TRIO
    return broken_off.rank is None and broken_off.call != OF_TRIO


def _place(task: trio.lowlevel.Task) -> tuple[SourceLine | None, bool]:
    """Return the line of a program that a task is in, or else the one that started it, and whether it is that.

    None of a rank's own task before its main begins and after it has ended.
    """
    found = tasks.program_place(task, is_between)
    if found is None:
        found = started_at(task)
        if found is not None:
            return SourceLine(*found), True
        found = tasks.outermost_place(task)
    # A line of this package says nothing to who reads the report: a layer begins or ends its work there.
    return (None if found is None or is_between(found[0]) else SourceLine(*found)), False


def _wait(wait: Wait, *, look: bool) -> WaitRecord:
    over = look and bool(wait.ready())
    error = wait.error() if over else None
    raised = "" if error is None else f"{type(error).__name__}: {text_of(error)}".partition("\n")[0]
    return WaitRecord(
        wait.what,
        wait.kind.value,
        wait.since,
        tuple(sorted(set(wait.ranks))),
        over=over and error is None,
        raised=raised,
        values="" if wait.what else values_read(wait.predicate),
    )


def _at_start(wait: WaitRecord) -> WaitRecord:
    """Return a wait of a rank that is in no line of its program, in words of who writes no attach."""
    if wait.kind != Awaited.ATTACH.value:
        return wait
    return attrs.evolve(wait, what="its turn, now that every rank has started" if wait.over else "every rank to start")


def _endpoint_call(frames: Iterable[tuple[FrameType, int]]) -> str:
    """Return which call a task with these frames is in: of its endpoint, or of a layer above as the program has it."""
    called = OF_TRIO
    program: FrameType | None = None
    for frame, _ in frames:
        if frame.f_code.co_filename == endpoint.__file__:
            if called != OF_TRIO:  # a layer's call, which is all that the program knows of
                return called
            name, message = frame.f_code.co_name.lstrip("_"), frame.f_locals.get("message")
            if name == "request" and isinstance(message, Message):  # what several calls have in common
                name = f"request_{message.category.name.lower()}"
            return f"ep.{name}"
        if _is_program(frame):
            program, called = frame, OF_TRIO
        elif program is not None:  # the first that is none: what the program's line awaits
            of_trio = _is_of_trio(frame)
            # A plain function is called, not awaited: such as a handler of signals amid code of the program's own.
            waits = frame.f_code.co_flags & _MAY_WAIT and not of_trio
            called = _awaited(program.f_code, program.f_lasti) if waits else OF_TRIO
            program = None
    return called


def _in_its_call(task: trio.lowlevel.Task, what: str) -> str:
    """Return what a task waits for; of the name of a call that the program has not made, in which one that it has.

    `pe.put_signal` waits for a put of the layer that it stands on, and `pe.get` for a get.
    """
    frames = list(tasks.frames(task)) if _A_NAME.fullmatch(what) else []
    inner = [frame for frame, _ in frames if _is_program(frame)]
    if not inner or _endpoint_call(frames).startswith("ep."):  # it has said itself what it waits for
        return what
    match written.node(inner[-1].f_code, inner[-1].f_lasti):
        case ast.Await(value=ast.Call(func=ast.Attribute(attr=name) as part)):
            if name == what.rpartition(".")[2] and not _stands_on_another(frames, what):
                return what
            text = ast.unparse(part)
        case ast.Await(value=ast.Subscript() as part):
            text = ast.unparse(part)
        case _:
            return what
    return f"{what} in {text}" if text != what and len(text) <= written.SHOWN else what


def _stands_on_another(frames: Iterable[tuple[FrameType, int]], what: str) -> bool:
    """Say whether the call that a program awaits makes one of its own name in another package, on which it stands."""
    of, _, name = what.rpartition(".")
    packages: list[str] = []
    named_so: set[str] = set()
    for frame, _ in frames:
        module = str(frame.f_globals.get("__name__", ""))
        if _is_program(frame):
            packages, named_so = [], set()
        elif not module.startswith("conduit."):  # whose frames are between a layer's call and its work, and beneath
            packages.append(module.rpartition(".")[0])
            if frame.f_code.co_name == name:
                named_so.add(packages[-1])
    # A call of an object of the layer may run in a function of another name.
    return not named_so.union(packages[-1:] if of else ()) <= set(packages[:1])


@lru_cache(maxsize=64)
def _awaited(code: CodeType, lasti: int) -> str:
    """Return what a line of a program awaits: a call without its arguments, `a[i]`, `await handle`."""
    match written.node(code, lasti):
        case ast.Await(value=ast.Call(func=part)) | ast.Await(value=ast.Subscript() as part) | ast.Call(func=part):
            text = ast.unparse(part)
        case ast.expr() as whole:
            text = ast.unparse(whole)
        case _:
            text = ""
    return text if 0 < len(text) <= written.SHOWN else _A_CALL
