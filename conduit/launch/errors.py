"""What a job raises at its end, of all that went wrong, with notes of the rest (rule E3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from conduit.contract import World
from conduit.contract.world import End
from conduit.core.calls import held_unawaited, kept_anywhere
from conduit.core.steps import steps_of
from conduit.core.written import place
from conduit.errors import ConduitError, HandlerError
from conduit.launch.hints import handed_on, hint
from conduit.launch.life import Rank
from conduit.launch.reports.folders import is_library, is_own
from conduit.launch.reports.words import named
from conduit.launch.tasks import error_line
from conduit.launch.unawaited import held_own
from conduit.launch.warned import warned

_LEAVES = 8  # errors of a group that a note names


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
    time, rank, error = (interrupts or sorted(end.errors, key=lambda entry: entry[:2]))[0]
    if isinstance(error, SystemExit):
        if exit_status(error) or unfinished(rank):
            who = f"rank {rank}" if rank >= 0 else "an event outside all ranks"
            error.add_note(f"{who} ended the job with status {exit_status(error)}{_left_at(error)}")
    elif rank >= 0 and not isinstance(error, KeyboardInterrupt):
        error.add_note(f"raised by rank {rank} at {time / 1e12:.9f} s")
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


def exit_status(error: SystemExit) -> int:
    """Return the status that a process ends with."""
    return error.code if isinstance(error.code, int) else 0 if error.code is None else 1


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


def _causes(error: BaseException, failed: Iterable[Rank], ranks: Sequence[Rank]) -> list[str]:
    """Return what an error may come of: calls that were not awaited (E4), and what else is known of such errors.

    Args:
        error: that.
        failed: the rank that has raised it, if it is one of this process.
        ranks: those of this process.
    """
    said: list[str] = []
    parts = list(_parts(error))
    for part in parts:
        said += [text for text in held_unawaited(part) if not _handed_on(part, text)] + [hint(part)]
    if isinstance(error, Exception):
        if kept := kept_anywhere():
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
    return [text for text in dict.fromkeys(said) if text and text != str(error)]


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
        f" at {step.tb_frame.f_code.co_filename}:{line} was called" in forgotten
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


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, or in its place those that a group of errors holds."""
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from leaves(part)
    else:
        yield error


def _add_others(error: BaseException, end: End) -> None:
    """Add what else was raised to the notes of `error`, what several ranks have raised alike once."""
    same = [rank for _, rank, each in end.errors if each is not error and told_of(each) == told_of(error) and rank >= 0]
    if same:
        error.add_note(raised_same(same))
    said = set(getattr(error, "__notes__", ()))
    others: dict[tuple[str, str], list[int]] = {}
    for _, rank, too in sorted(end.errors, key=lambda entry: entry[:2]):
        if too is not error and not (rank in same and told_of(too) == told_of(error)) and str(too) not in said:
            others.setdefault(told_of(too), []).append(rank)
    for (kind, text), ranks in others.items():
        error.add_note(raised_too(ranks, kind, text))
    if again := [rank for _, rank, late in end.late_errors if told_of(late) == told_of(error) and rank >= 0]:
        error.add_note(f"while the job ended, {raised_same(again)}")
    late_ones = dict.fromkeys((rank, *told_of(late)) for _, rank, late in end.late_errors if str(late) not in said)
    for rank, kind, text in late_ones:
        if (kind, text) != told_of(error):
            error.add_note(f"while the job ended, {_raised([rank], kind)}: {text}")


def told_of(error: BaseException) -> tuple[str, str]:
    """Return what is said of an error where another one is shown whole: its kind, and its words."""
    return type(error).__name__, _text(error)


def raised_same(ranks: Sequence[int]) -> str:
    """Return the words for ranks that have raised what is shown."""
    return f"{named(sorted(ranks))} raised the same"


def raised_too(ranks: Sequence[int], kind: str, text: str) -> str:
    """Return the words for ranks that have raised something else.

    Args:
        ranks: these.
        kind: of their error, as `told_of` gives it.
        text: what that says.
    """
    return f"{_raised(sorted(ranks), kind)} too" + (f": {text}" if text else "")


def _raised(ranks: Sequence[int], kind: str) -> str:
    """Return whose error one of a kind is, in words; that of a limit, or of shared hardware, is no rank's."""
    return f"{named(ranks)} raised {kind}" if ranks[0] >= 0 else f"outside all ranks there was {kind}"


def _text(error: BaseException) -> str:
    """Return what an error says, and what it is that a group of them holds, a line of each."""
    if not isinstance(error, BaseExceptionGroup):
        return str(error)
    texts = []
    for part in leaves(error):
        said = str(part).partition("\n")[0]
        texts.append(f"{type(part).__name__}: {said}" if said else type(part).__name__)
    more = len(texts) - _LEAVES
    return "; ".join(texts[:_LEAVES] + [f"and {more} more"] * (more > 0))
