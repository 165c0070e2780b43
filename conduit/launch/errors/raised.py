"""What is said of errors of ranks where another one is shown whole: each thing once, with all ranks that have it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from conduit.launch.printing.phrases import common, named
from conduit.words import text_of

_LEAVES = 8  # errors of a group that a note names
_SHORT = 80  # characters of an error that one rank has, and that is shown again for its numbers

Told = tuple[str, str]
"""What is said of an error: its kind, and its words."""


def told_of(error: BaseException) -> Told:
    """Return what is said of an error where another one is shown whole."""
    return type(error).__name__, _text(error)


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, or in its place those that a group of errors holds."""
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from leaves(part)
    else:
        yield error


def alike(one: Told, other: Told) -> bool:
    """Say whether two errors differ in numbers alone, such as the rank that each is about."""
    return _shape(one) == _shape(other)


def of_others(shown: Told, others: Mapping[Told, Sequence[int]], too: str = " too") -> list[str]:
    """Return a line for each thing that other ranks have raised.

    Args:
        shown: the error that is shown whole.
        others: which ranks have each; -1 is no rank.
        too: what follows the kind of another error.
    """
    lines = []
    for errors, ranks in _together(shown, others):
        if ranks[0] >= 0 and errors[0] == shown:
            lines.append(f"{named(ranks)} raised the same")
        elif alike(errors[0], shown) and (len(set(errors)) > 1 or len(ranks) > 1 or len(errors[0][1]) > _SHORT):
            who = named(ranks) if ranks[0] >= 0 else "an event of no rank"
            lines.append(f"{who} raised the same, with other numbers")
        else:
            lines.append(_words(ranks, errors, too))
    return lines


def afterwards(shown: Told, late: Mapping[Told, Sequence[int]]) -> list[str]:
    """Return a line for each thing that ranks have raised while the job ended; arguments as in `of_others`."""
    return [f"while the job ended, {line}" for line in of_others(shown, late, "")]


def _together(shown: Told, found: Mapping[Told, Sequence[int]]) -> list[tuple[list[Told], list[int]]]:
    """Return errors that differ in numbers alone, and whose they are: what is shown first, what is no rank's apart."""
    groups: dict[object, tuple[list[Told], list[int]]] = {}
    for told in sorted(found, key=lambda told: told != shown):
        for rank in found[told]:
            errors, owners = groups.setdefault((told == shown, _shape(told), rank < 0), ([], []))
            errors.append(told)
            owners.append(rank)
    return [(errors, sorted(set(owners))) for errors, owners in groups.values()]


def _shape(told: Told) -> tuple[str, ...]:
    """Return an error without its numbers; those of lines, `file:7`, stay."""
    return told[0], *re.split(r"(?<![:\d])\d+", told[1])


def _words(ranks: Sequence[int], errors: Sequence[Told], too: str) -> str:
    """Return whose errors these are, and what they say; that of a limit, or of shared hardware, is no rank's."""
    kind = errors[0][0]
    who = f"{named(ranks) if ranks[0] >= 0 else 'an event of no rank'} raised {kind}"
    text = common(told for _, told in errors)
    return f"{who}{too}" + (f": {text}" if text else "")


def _text(error: BaseException) -> str:
    """Return what an error says, and what it is that a group of them holds, a line of each."""
    if not isinstance(error, BaseExceptionGroup):
        return text_of(error)
    texts = []
    for part in leaves(error):
        said = text_of(part).partition("\n")[0]
        texts.append(f"{type(part).__name__}: {said}" if said else type(part).__name__)
    more = len(texts) - _LEAVES
    return "; ".join(texts[:_LEAVES] + [f"and {more} more"] * (more > 0))
