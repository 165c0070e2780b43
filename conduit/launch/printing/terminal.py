"""Sentences for people: folded where they are shown in a terminal, whole lines everywhere else."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

from conduit.launch.printing import output

_FOR_ITSELF: ContextVar[bool] = ContextVar("conduit.for_itself", default=False)

COLUMNS = "CONDUIT_COLUMNS"
"""The environment variable that says how wide the terminal is in which the errors of this rank's process appear."""

_CODE = re.compile(r"`[^`\n]+`")
_MARKS = re.compile(r"\s+[~^]+")
_UNIT = re.compile(r"(?<=\d) (?=%|µs)")
_READ = 120
"""Characters of a line, more than which are hard to read."""
_TIED = "\N{NO-BREAK SPACE}"


def columns() -> int | None:
    """Return the width of the terminal that standard error is shown in, None where that is none."""
    framed = output.is_framed()
    if not framed and (sys.stderr is None or not sys.stderr.isatty()):
        return None
    asked = os.environ.get(COLUMNS if framed else "COLUMNS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    try:
        return None if framed else os.get_terminal_size(sys.stderr.fileno()).columns or None
    except OSError:
        return None  # which no terminal has told


def room() -> int | None:
    """Return at which width lines for people are folded: the terminal's, or what is easily read; None: not at all."""
    width = columns()
    return None if width is None else min(width, _READ)


def told() -> dict[str, str]:
    """Return what the processes of ranks are to have in their environment, so that they know it too."""
    width = columns()
    return {} if width is None else {COLUMNS: str(width)}


def tell(text: str) -> None:
    """Print lines for people on standard error."""
    print(shown(text), file=sys.stderr, flush=True)


@contextmanager
def writing_for_itself() -> Iterator[None]:
    """Let nothing be said of files that are written meanwhile, which are none of the user's."""
    token = _FOR_ITSELF.set(True)
    try:
        yield
    finally:
        _FOR_ITSELF.reset(token)


def tell_written(path: Path) -> None:
    """Say on standard error that a file was written: standard output is for results, whose lines are counted.

    What is no file, as /dev/null, is not told, nor what a command writes for itself alone.
    """
    if path.is_file() and not _FOR_ITSELF.get():
        print(f"wrote {path}", file=sys.stderr, flush=True)


def encodable(text: str, stream: TextIO) -> str:
    """Return a text in what the encoding of a stream has: us for µs, ? for what it has nothing for."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.replace("µ", "u").encode(encoding, "replace").decode(encoding)
    return text


def shown(text: str) -> str:
    """Return lines as they are shown on standard error; a line of a program with marks below it stays as it is."""
    width = room()
    if width is None:
        return text
    lines = text.split("\n")
    marked = {each for number, line in enumerate(lines) if _MARKS.fullmatch(line) for each in (number - 1, number)}
    return "\n".join(line if number in marked else folded(line, width) for number, line in enumerate(lines))


def folded(line: str, width: int) -> str:
    """Return a line folded between words, further lines indented by two; what is to be pasted stays in one.

    Args:
        line: without its end.
        width: of the lines that are made, in characters, if words are not longer.
    """
    if len(line) <= width:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    tied = _CODE.sub(
        lambda found: found[0].replace(" ", _TIED) if len(found[0]) + len(indent) <= width else found[0], line
    )
    tied = _UNIT.sub(_TIED, tied)
    lines = textwrap.wrap(
        tied, max(width, len(indent) + 1), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace(_TIED, " ")
