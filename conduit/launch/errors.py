"""What a job raises at its end, of all that went wrong, with notes of the rest (rule E3)."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.contract import World
from conduit.core.calls import explain_attribute
from conduit.launch.life import Rank
from conduit.launch.warned import warned

_LEAVES = 8  # errors of a group that a note names


def first_forgotten(ranks: Sequence[Rank]) -> BaseException | None:
    """Return the error of a call that was never awaited, of the lowest rank that has one."""
    return next((error for error in (rank.forgotten() for rank in ranks) if error is not None), None)


def raise_error(world: World, ranks: Sequence[Rank], first: int = 0) -> None:
    """Raise what ended the job, if anything did: of several errors the earliest, then the lowest rank's.

    Args:
        world: what it has noted of them.
        ranks: those of this process.
        first: which rank the first of them is.
    """
    end = world.end
    forgotten = first_forgotten(ranks)
    if not end.errors:
        if forgotten is not None:
            raise forgotten
        return
    interrupts = [entry for entry in end.errors if isinstance(entry[2], KeyboardInterrupt)]
    time, rank, error = (interrupts or sorted(end.errors, key=lambda entry: entry[:2]))[0]
    if rank >= 0 and not isinstance(error, (SystemExit, KeyboardInterrupt)):
        error.add_note(f"raised by rank {rank} at {time / 1e12:.9f} s")
    if cause := explain_attribute(error):
        error.add_note(cause)
    for _, other, too in sorted(end.errors, key=lambda entry: entry[:2]):
        if too is not error:
            error.add_note(f"{_who(other)} raised {type(too).__name__} too: {_text(too)}")
    for _, other, late in end.late_errors:
        error.add_note(f"while the job ended, {_who(other)} raised {type(late).__name__}: {_text(late)}")
    for line in end.abandoned:
        error.add_note(f"while the job ended, {line}")
    for who, text in warned((number, each.warnings()) for number, each in enumerate(ranks, first)):
        error.add_note(f"warning of {who}: {text}")  # there is no result that has them
    raise error


def _who(rank: int) -> str:
    """Return whose an error is; events of hardware that ranks share are no rank's."""
    return f"rank {rank}" if rank >= 0 else "an event of no rank"


def _text(error: BaseException) -> str:
    """Return what an error says, and what it is that a group of them holds."""
    if not isinstance(error, BaseExceptionGroup):
        return str(error)
    leaves = []
    parts: list[BaseException] = [error]
    while parts:
        part = parts.pop(0)
        if isinstance(part, BaseExceptionGroup):
            parts[:0] = part.exceptions
        else:
            leaves.append(f"{type(part).__name__}: {part}")
    more = len(leaves) - _LEAVES
    return "; ".join(leaves[:_LEAVES] + [f"and {more} more"] * (more > 0))
