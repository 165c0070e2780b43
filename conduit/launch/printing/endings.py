"""What a program prints ends with a line, where its ranks are tasks of the command's process."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO


class Noting:
    """A stream that takes note of how what was printed last ends.

    Attributes:
        within: whether that is within a line.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.within = False

    def write(self, text: str) -> int:
        """Write `text`, and note how it ends; return how much was written."""
        written = self._stream.write(text)
        if text:
            self.within = not text.endswith("\n")
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of `lines`."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@contextmanager
def ended() -> Iterator[None]:
    """End the line that is left without an end on standard output, so that what follows has a line of its own."""
    stream = sys.stdout
    if stream is None:  # closed before this process began
        yield
        return
    noting = Noting(stream)
    sys.stdout = noting
    try:
        yield
    finally:
        if sys.stdout is noting:
            sys.stdout = stream
        if noting.within:
            with suppress(OSError, ValueError):  # nobody reads any more, or the program has closed it: said elsewhere
                stream.write("\n")
