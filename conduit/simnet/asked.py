"""What transports tell for reports: one that fails there costs a report no more than what it would have told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from conduit.contract import Unhandled
from conduit.simnet.transport import Transport


class _Told(NamedTuple):
    """What one of a transport's methods tells.

    Attributes:
        nothing: what stands for it where it fails.
        is_sound: says whether something returned is of the kind that it must be.
        kind: that kind, in words.
    """

    nothing: Any
    is_sound: Callable[[Any], bool]
    kind: str


def _all(kind: type) -> Callable[[Any], bool]:
    def are(found: Any) -> bool:
        several = isinstance(found, Sequence) and not isinstance(found, str)
        return several and all(isinstance(each, kind) for each in found)

    return are


_TELLS = {
    "undelivered": _Told(0, lambda found: isinstance(found, int), "an int"),
    "unhandled": _Told((), _all(Unhandled), "a list of conduit.contract.Unhandled"),
    "slots_in_use": _Told((), _all(str), "a list of texts"),
    "waits_for": _Told("", lambda found: isinstance(found, str), "a text"),
    "slot_holders": _Told((), _all(int), "a tuple of ranks"),
}


def asked(transport: Transport, name: str, *args: int) -> Any:
    """Return what a transport tells by one of its methods for reports, nothing where that cannot be told."""
    return _ask(transport, name, args)[0]


def untellable(transports: Sequence[Transport]) -> list[str]:
    """Return which methods of transports for reports have failed, and how; all but `slot_holders` are asked."""
    found = []
    for transport in transports:
        for name in _TELLS:
            wrong = "" if name == "slot_holders" else _ask(transport, name, ())[1]
            if wrong:
                found.append(f"{type(transport).__name__}.{name} {wrong}, so that this report lacks what it tells")
    return found


def _ask(transport: Transport, name: str, args: Sequence[int]) -> tuple[Any, str]:
    """Return what a method tells, and what is wrong with that: "" for nothing."""
    nothing, is_sound, kind = _TELLS[name]
    try:
        found = getattr(transport, name)(*args)
    except Exception as error:
        return nothing, f"raised {type(error).__name__} ({error}){_at(error)}"
    return (found, "") if is_sound(found) else (nothing, f"returned {found!r}, not {kind}")


def _at(error: Exception) -> str:
    """Return the last line of a method that has raised an error."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else f" at {step.tb_frame.f_code.co_filename}:{step.tb_lineno}"
