"""Where a rank's program has made its last sends, for what is said of messages that no receive takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Any

from conduits.mpi.awaited.process import RequestPlace, TransferComm
from conduits.mpi.engine.transfer import PROC_NULL

SENDS = 256  # of a rank that are known
LINES = 3  # that one line of a warning names
MadeSend = tuple[Any, TransferComm, int, int]
"""Where a send was made, its communicator, destination and tag."""
NONE_SENT: deque[MadeSend] = deque(maxlen=0)
"""Of a rank that has not started."""


def few(places: Iterable[Any]) -> list[str]:
    """Return the lines of sends, [] where they are many."""
    lines = list(dict.fromkeys(map(line_of, places)))
    return lines if len(lines) <= LINES else []


def leads(comm: TransferComm, dest: int, context: int, rank: int) -> bool:
    """Say whether a send goes to a rank by a context; not where its communicator was freed."""
    plain = comm.plain
    return dest != PROC_NULL and bool(plain.context == context and plain.group[dest] == rank)


def line_of(place: Any) -> str:
    """Return where a send was made: of `RequestPlace`, or of what `conduit.call_guard` has."""
    if isinstance(place, RequestPlace):
        return f"{place.file}:{place.line}"
    _, _, code, lasti = place
    line = next(islice(code.co_positions(), lasti // 2, None))[0]
    return f"{code.co_filename}:{line}"
