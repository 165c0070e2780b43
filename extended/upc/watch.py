"""Notices programs that read element by element what could come in one message, and tells them so at the end."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType

_LAYERS = ("conduit.core.", "extended.upc.")
_PROGRAMS = "extended.upc.conformance."  # although it is in this package

MANY = 64
"""Reads of single elements by one line, with no synchronisation between them, that are worth a word (assumed: one
message for as many is faster on every network whose start-up is more than its time for a few hundred bytes)."""

_MESSAGES = (
    "a message and its way back for each; where the indices are known beforehand, `await a[indices]` with an index "
    "array or a slice reads them all with one message per owner"
)
_NATIVE = (
    "a native get for each, as of an index array; where they lie side by side, `await a[i:j]` reads them with one "
    "get per owner"
)


class ReadWatch:
    """Counts one thread's reads of single elements of other threads, by the line that makes them.

    Args:
        native: whether the network has gets of its own, which need no messages.
    """

    def __init__(self, native: bool) -> None:
        self._advice = _NATIVE if native else _MESSAGES
        self._since: dict[tuple[CodeType, int], int] = {}
        self._totals: dict[tuple[CodeType, int], int] = {}

    def read(self) -> None:
        """Take note of a read of one element, made by the line of the program that is running."""
        frame = inspect.currentframe()
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if not module.startswith(_LAYERS) or module.startswith(_PROGRAMS):
                break
            frame = frame.f_back
        if frame is None:
            return
        place = frame.f_code, frame.f_lineno
        self._since[place] = self._since.get(place, 0) + 1

    def synchronised(self) -> None:
        """Begin anew: what follows a synchronisation could not have been read before it."""
        if self._since:
            for place, number in self._since.items():
                if number >= MANY:
                    self._totals[place] = self._totals.get(place, 0) + number
            self._since.clear()

    def worst(self) -> str | None:
        """Return the advice for the line with most reads, the same on all threads that read there; None: it has few."""
        self.synchronised()
        if not self._totals:
            return None
        code, line = max(self._totals, key=lambda place: self._totals[place])
        return (
            f"elements of other threads were read one by one at {code.co_filename}:{line}, {MANY} or more between two "
            f"synchronisations, {self._advice}"
        )
