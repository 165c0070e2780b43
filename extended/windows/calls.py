"""How messages name a call of a window that was made before."""

from __future__ import annotations

from functools import cache

import attrs

from extended.program_lines import program_line


@attrs.frozen
class Call:
    """A call that the program has made.

    Attributes:
        name: of it, as programs write it.
        file: of the program's line, "" where nobody has looked.
        line: its number there, 0 where nobody knows.
    """

    name: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.name} at {self.file}:{self.line}" if self.file else self.name


@cache
def unplaced(name: str) -> Call:
    """Return a call of a window that looks at no lines."""
    return Call(name)


def called(name: str) -> Call:
    """Return the call that is being made, with the program's line."""
    return Call(name, *program_line())
