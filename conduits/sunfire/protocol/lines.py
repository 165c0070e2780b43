"""Lines of memory, kept as they were stored, in a list that is no longer than what has been written.

Of a long queue few lines are in use, and of acknowledgements there are few that differ, which all places share.
"""

from __future__ import annotations

from conduit.sim.memory import Buffer
from conduits.sunfire.wire import LINE

_ZEROS = bytes(LINE)


def put_lines(lines: list[bytes], index: int, data: Buffer) -> list[bytes]:
    """Store whole lines from number `index` on; return them, one by one."""
    data = bytes(data)
    stored = [data[at : at + LINE] for at in range(0, len(data), LINE)]
    if index > len(lines):
        lines += [_ZEROS] * (index - len(lines))
    lines[index : index + len(stored)] = stored
    return stored


def line_at(lines: list[bytes], index: int) -> bytes:
    """Return line number `index`, zeros where none was written."""
    return lines[index] if index < len(lines) else _ZEROS


def read_lines(lines: list[bytes], start: int, nbytes: int) -> bytes:
    """Return a copy of `nbytes` from byte `start` on."""
    first, inside = divmod(start, LINE)
    last = -(-(start + nbytes) // LINE)
    return b"".join(line_at(lines, index) for index in range(first, last))[inside : inside + nbytes]
