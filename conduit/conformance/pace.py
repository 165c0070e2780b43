"""Which networks are too slow for the suite, whose programs wait for messages by polls."""

from __future__ import annotations

from conduit.errors import BadRequest
from conduit.launch.pace import SLOW, SLOWEST, lacks_units, slowest


def refuse_slow(text: str) -> None:
    """Refuse a network on which the suite's programs would not come to their end.

    Args:
        text: its spec, as it was written.

    Raises:
        BadRequest: a round trip takes longer than SLOWEST.
    """
    found = slowest(text, SLOWEST)
    if found is not None:
        raise BadRequest(
            f"{found.name} on '{text}' takes {found.seconds:.6g} s of simulated time, and the suite's programs "
            f"can wait for at most {SLOWEST:g} s; give other options{_units(text)}"
        )


def slow(text: str) -> str:
    """Return what is to be said before the checks of a network on which they take long, "" of another."""
    found = slowest(text, SLOW)
    if found is None:
        return ""
    return (
        f"{found.name} on '{text}' takes {found.seconds * 1e3:.6g} ms of virtual time: checks that poll take "
        f"long{_units(text)}"
    )


def _units(text: str) -> str:
    """Say how a time is written that the spec gives without a unit, "" where it gives none."""
    if not lacks_units(text):
        return ""
    return ": a time without a unit is in seconds, write 1us for a microsecond"
