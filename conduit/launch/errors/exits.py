"""What an exit of a program says: a status, or words in its place."""

from __future__ import annotations


def exit_status(error: SystemExit) -> int:
    """Return the status that a process ends with: the last 8 bits, as systems keep; no failure becomes 0, but 1."""
    if isinstance(error.code, int):
        return error.code & 0xFF or int(error.code != 0)
    return 0 if error.code is None else 1


def in_words(error: SystemExit) -> bool:
    """Say whether something is in the place of a status, which Python prints at the end."""
    return not (error.code is None or isinstance(error.code, int))
