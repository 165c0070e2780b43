"""Whole numbers on the command line: cyclopts alone would take 2.7 for 3 without a word."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token


def _integer(type_: Any, tokens: Sequence[Token]) -> int:
    """Convert one word; the text of its ValueError is shown with the option's name."""
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"'{word}' is no integer; give a whole number") from None


Integer = Annotated[int, Parameter(converter=_integer)]
"""The type of an option or argument that is a whole number."""
