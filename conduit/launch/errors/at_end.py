"""What a job raises at its end, of all that went wrong, with notes of the rest (rule E3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import trio

from conduit.contract import World
from conduit.contract.world import End
from conduit.core.calls import held_unawaited, kept_anywhere
from conduit.core.steps import steps_of
from conduit.core.written import at, place
from conduit.errors import ConduitError, HandlerError
from conduit.launch.errors.exits import exit_status
from conduit.launch.errors.raised import Told, afterwards, leaves, of_others, told_of
from conduit.launch.errors.warned import warned
from conduit.launch.hints.of_errors import handed_on, hint
from conduit.launch.hints.predicates import waits_in_predicate
from conduit.launch.life import Rank, exit_in
from conduit.launch.oversights.unawaited import held_own
from conduit.launch.program.folders import is_library, is_own
from conduit.launch.program.tasks import error_line
from conduit.words import text_of


def first_forgotten(ranks: Sequence[Rank]) -> BaseException | None:
    """Return the error of a call that was never awaited, of the lowest rank that has one."""
    return next((error for error in (rank.forgotten() for rank in ranks) if error is not None), None)


def raise_error(
    world: World,
    ranks: Sequence[Rank],
    first: int = 0,
    *,
    warnings: bool = True,
    unfinished: Callable[[int], bool] = lambda _: False,
) -> None:
    """Raise what ended the job, if anything did: of several errors the earliest, then the lowest rank's.

    An exit with status 0 comes after all others: a job in which something has failed is no success.

    Args:
        world: what it has noted of them.
        ranks: those of this process.
        first: which rank the first of them is.
        warnings: whether it says what users are to know of these.
        unfinished: says of a rank that exits whether others had still to return, so that their work is broken off.
    """
    end = world.end
    if not end.errors:
        if (forgotten := first_forgotten(ranks)) is not None:
            raise forgotten
        return
    interrupts = [entry for entry in end.errors if isinstance(entry[2], KeyboardInterrupt)]
    time, rank, error = (interrupts or sorted(end.errors, key=_decides))[0]
    error = _behind(error, rank, end)
    if isinstance(error, SystemExit):
        if isinstance(error.code, int):
            error.code = exit_status(error)  # of 256 the system would make 0
        if exit_status(error) or unfinished(rank):
            who = f"rank {rank}" if rank >= 0 else "an event outside all ranks"
            error.add_note(f"{who} ended the job with status {exit_status(error)}{_left_at(error)}")
    elif rank >= 0 and not isinstance(error, KeyboardInterrupt):
        error.add_note(f"raised by rank {rank} at {time / 1e12:.9f} s")
    elif rank < 0 and not isinstance(error, KeyboardInterrupt | ConduitError):  # these say who has done what
        error.add_note(f"raised by an event of no rank at {time / 1e12:.9f} s")
    _forget_own_handler(error)
    causes = _causes(error, ranks[rank - first : rank - first + 1] if rank >= first else (), ranks)
    for cause in causes:
        error.add_note(cause)
    for _, _, other in (*end.errors, *end.late_errors):
        _close_held(other)
    _add_others(error, end)
    for line in end.abandoned:
        error.add_note(f"while the job ended, {line}")
    for text in warnings_of((number, each.warnings()) for number, each in enumerate(ranks, first) if warnings):
        if not text.endswith(tuple(causes)):
            error.add_note(text)  # there is no result that has them
    try:
        raise error
    finally:
        del error, interrupts  # its traceback has this frame: a cycle, which would hold what programs had in theirs
        end.forget()


def _behind(error: BaseException, rank: int, end: End) -> BaseException:
    """Return what a task beside a cancelled attach has raised, where that cancelled it: it came first."""
    if isinstance(error.__cause__, trio.Cancelled) and getattr(error.__cause__, "source", "nursery") == "nursery":
        for _, other, found in (*end.errors, *end.late_errors):
            if other == rank and isinstance(found, BaseExceptionGroup):
                return exit_in(found) or found
    return error


def _decides(entry: tuple[int, int, BaseException]) -> tuple[bool, int, int]:
    """Return the place of an error among those that end a job, of which the first decides how."""
    time, rank, error = entry
    return isinstance(error, SystemExit) and exit_status(error) == 0, time, rank


def _left_at(error: SystemExit) -> str:
    """Return which line of the program a rank has left by, not one of a library that it has called."""
    line = error_line(error, lambda file: is_own(file) or is_library(file))
    return f" at {line}" if line else ""


def warnings_of(texts: Iterable[tuple[int, Sequence[str]]]) -> list[str]:
    """Return what is said of the warnings of ranks whose job has ended before its time."""
    return [f"warning of {who}: {text}" for who, text in warned(texts)]


def _forget_own_handler(error: BaseException) -> None:
    """Leave out which handler an error came up in, where it is one of a layer: programs know none of these."""
    of_program = any(not is_own(step.tb_frame.f_code.co_filename) for step in steps_of(error))
    if isinstance(error, ConduitError) and not of_program and hasattr(error, "__notes__"):
        error.__notes__[:] = [note for note in error.__notes__ if not note.startswith("in handler ")]


def _causes(error: BaseException, failed: Sequence[Rank], ranks: Sequence[Rank]) -> list[str]:
    """Return what an error may come of: calls that were not awaited (E4), and what else is known of such errors.

    Args:
        error: that.
        failed: the rank that has raised it, if it is one of this process; none where the job is at an end or in vain.
        ranks: those of this process.
    """
    said: list[str] = []
    parts = list(_parts(error))
    for part in parts:
        said += [text for text in held_unawaited(part) if not _handed_on(part, text)] + [hint(part)]
    if isinstance(error, Exception):
        if failed and (kept := kept_anywhere()):  # which looks at all that this process holds
            for each in failed:
                each.note_kept(kept)
            del kept
        raised = [part.__cause__ for part in parts if isinstance(part, HandlerError)]
        for part in reversed(parts):  # what a handler has raised before what that became
            held = held_own(part, in_handler=part in raised)
            said += [text for text in held if not any(_handed_on(each, text) for each in parts)]
    if (forgotten := first_forgotten(ranks)) is not None and forgotten is not error:
        text = str(forgotten)
        if not _broken_off(error, text) and not any(_handed_on(part, text) for part in parts):
            said.append(text)
    wrong = {text_of(error), *(hint(part) for part in parts if any(waits_in_predicate(part, text) for text in said))}
    return [text for text in dict.fromkeys(said) if text and text not in wrong]


def _close_held(error: BaseException) -> None:
    """Close the calls that another error of the job holds: Python would tell of them beside what is told."""
    for part in _parts(error):
        held_unawaited(part)
        held_own(part)


def _handed_on(error: BaseException, forgotten: str) -> bool:
    """Say whether a call was not awaited because it was given to what the error comes of, in the very same line."""
    lines = handed_on(error)
    if lines is None:
        return False
    return any(
        f" at {at(step.tb_frame.f_code.co_filename, line)} was called" in forgotten
        for step in steps_of(error)
        for line in lines
    )


def _broken_off(error: BaseException, forgotten: str) -> bool:
    """Say whether Ctrl-C came in the very line whose call was not awaited: it may have come before it could be."""
    return isinstance(error, KeyboardInterrupt) and any(
        f" at {place(step.tb_frame.f_code, step.tb_lasti)} was called" in forgotten for step in steps_of(error)
    )


def _parts(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors that an error is made of: of a group its leaves, of a handler's error also what that raised."""
    for part in leaves(error):
        yield part
        if isinstance(part, HandlerError) and part.__cause__ is not None:
            yield part.__cause__


def _holds(other: BaseException, error: BaseException) -> bool:
    """Say whether an error is the one that is raised, or a group that has it."""
    return any(part is error for part in (other, *leaves(other)))


def _add_others(error: BaseException, end: End) -> None:
    """Add what else was raised to the notes of `error`, what several ranks have raised alike once."""
    shown, said = told_of(error), set(getattr(error, "__notes__", ()))
    others: dict[Told, list[int]] = {}
    for _, rank, too in sorted(end.errors, key=lambda entry: entry[:2]):
        told = told_of(too)
        if not _holds(too, error) and (str(too) not in said or (told == shown and rank >= 0)):
            others.setdefault(told, []).append(rank)
    late: dict[Told, list[int]] = {}
    for _, rank, too in end.late_errors:
        told = told_of(too)
        if not _holds(too, error) and (rank >= 0 if told == shown else str(too) not in said):
            late.setdefault(told, []).append(rank)
    for line in (*of_others(shown, others), *afterwards(shown, late)):
        error.add_note(line)
