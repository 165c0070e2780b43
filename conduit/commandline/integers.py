"""Whole numbers on the command line: cyclopts alone would take 2.7 for 3 without a word."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token

from conduit.commandline.names import Value
from conduit.errors import BadRequest
from conduit.options import POWERS


def _integer(type_: Any, tokens: Sequence[Token]) -> int:
    """Convert one word; the text of its ValueError is shown with the option's name."""
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"'{word}' is no integer; give a whole number") from None


def _ranks(type_: Any, tokens: Sequence[Token]) -> int:
    """Convert one word; of -np, which launchers of MPI have too, the letter p is a part of it."""
    word = tokens[0].value
    if tokens[0].keyword == "-n" and word.startswith("p"):
        raise ValueError(f"'{word}' is no integer; write -n and the number of ranks, not -np")
    count = _integer(type_, tokens)
    if count < 1:
        raise ValueError(f"{count} is too small; it must be at least 1")
    return count


def _bytes(word: str) -> int:
    """Convert one word that may end in K, M or G."""
    found = re.fullmatch(r"([-+]?\d[\d_]*)([KMG]?)", word.upper())
    try:
        return int(found[1]) << POWERS[found[2]] if found else int(word)
    except ValueError:
        raise ValueError(f"'{word}' is no size; give bytes, or as 64K, 1M, 2G (powers of 2)") from None


def _size(type_: Any, tokens: Sequence[Token]) -> int:
    return _bytes(tokens[0].value)


def _sizes(type_: Any, tokens: Sequence[Token]) -> tuple[int, ...]:
    """Convert sizes that are joined by commas."""
    return tuple(_bytes(word.strip()) for token in tokens for word in token.value.split(","))


_WHOLE = Value("a whole number")

Integer = Annotated[int, Parameter(converter=_integer), _WHOLE]
"""The type of an option or argument that is a whole number."""

RankCount = Annotated[int, Parameter(name=("--ranks", "-n"), converter=_ranks), _WHOLE]
"""The type of the option that says how many ranks there are: -n too, as launchers of MPI have it."""

Size = Annotated[int, Parameter(converter=_size), Value("a number of bytes; K, M and G stand for powers of 2")]
"""The type of an option that is a number of bytes: a whole number, or with K, M or G for 2**10, 2**20, 2**30."""


def _integers(type_: Any, tokens: Sequence[Token]) -> tuple[int, ...]:
    """Convert whole numbers that are joined by commas."""
    words = [word.strip() for token in tokens for word in token.value.split(",")]
    try:
        return tuple(int(word) for word in words)
    except ValueError:
        wrong = next(word for word in words if not re.fullmatch(r"[-+]?\d+", word))
        raise ValueError(f"'{wrong}' is no integer; give whole numbers, joined by commas") from None


Integers = Annotated[tuple[int, ...], Parameter(converter=_integers, n_tokens=1, negative=(), show_default=False)]
"""The type of an option that is one or several whole numbers, joined by commas."""

Sizes = Annotated[tuple[int, ...], Parameter(converter=_sizes, n_tokens=1, negative=(), show_default=False)]
"""The type of an option that is one or several numbers of bytes, each as a `Size`, joined by commas."""


def at_least(least: int, name: str, value: int) -> None:
    """Refuse an option of the command line that is below what it must be."""
    if value < least:
        raise BadRequest(f"--{name} {value} is too small; it must be at least {least}")
