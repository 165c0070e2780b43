"""The columns that tables of benchmarks may have, as users name them."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token

from conduit.words import closest

COLUMNS = (
    "total s",
    "average us",
    "median us",
    "least us",
    "most us",
    "MB/s",
    "KB/s",
    "offered",
    "driver us",
    "difference",
)
"""Their titles."""


def _columns(type_: Any, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Read the titles of columns, joined by commas, with or without units; the text of the ValueError is shown."""
    return tuple(_title(word.strip()) for token in tokens for word in token.value.split(",") if word.strip())


def _title(word: str) -> str:
    for title in COLUMNS:
        if word.casefold() in (title.casefold(), title.split()[0].casefold()):
            return title
    known = [title.split()[0] for title in COLUMNS]
    close = closest(word, known)
    question = f" (did you mean {close}?)" if close else ""
    raise ValueError(f"has '{word}' in it, which is no column{question}; there are: {', '.join(known)}")


Columns = Annotated[tuple[str, ...], Parameter(converter=_columns, n_tokens=1, negative=(), show_default=False)]
"""The type of an option that names columns."""
