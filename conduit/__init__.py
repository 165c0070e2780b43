"""Active Messages over simulated interconnects: the public names (docs/index.md).

Rules that the code cites as R1 stand in docs/contract.md, as X1 in docs/extended.md, as T1, S1, P1 ... in
docs/virtual_time.md.
"""

from __future__ import annotations

import sys

from conduit.launch.imported import install as _tell_interrupts

_tell_interrupts()  # before what takes long to import, for Ctrl-C may come meanwhile
# isort: split

from conduit.launch.errors.uncaught import install as _show_uncaught
from conduit.launch.oversights.unrun import install as _tell_unrun

_show_uncaught()
_tell_unrun()
# isort: split

from conduit.launch.processes.marks import install as _mark_end

_mark_end()

TYPE_CHECKING = False  # as `typing` has it, which takes long to import
if TYPE_CHECKING:
    from conduit.public import (
        BadRequest,
        Conduit,
        ConduitError,
        ConduitWarning,
        Deadlock,
        Endpoint,
        HandlerError,
        Livelock,
        NetworkError,
        Result,
        TimeLimit,
        Token,
        UnknownConduit,
        available,
        call_guard,
        checked_call,
        current,
        refuse_call,
        run,
        run_async,
        trim_tracebacks,
    )

__version__: str

__all__ = [
    "BadRequest",
    "Conduit",
    "ConduitError",
    "ConduitWarning",
    "Deadlock",
    "Endpoint",
    "HandlerError",
    "Livelock",
    "NetworkError",
    "Result",
    "TimeLimit",
    "Token",
    "UnknownConduit",
    "available",
    "call_guard",
    "checked_call",
    "current",
    "refuse_call",
    "run",
    "run_async",
    "trim_tracebacks",
]

_instead = {
    "sleep": "write `await trio.sleep(seconds)`, or `await ep.compute(seconds)` for work that takes time",
    "attach": "write `await ep.attach(f, g)` for handlers; for the extended layer `from extended import Extended`, "
    "then `x = await Extended.attach(ep)`",
    **{
        name: f"write `ep.{name}`, of the endpoint that `async def main(ep)` is called with"
        for name in ("rank", "size", "now", "host")
    },
    **dict.fromkeys(("init", "Init", "finalize", "Finalize"), "it needs none: write `conduit.run(main, ranks=2)`"),
}
"""What to write for names that others have."""


def __getattr__(name: str) -> object:
    """Return what is looked up only when it is asked for."""
    if name == "__version__":
        from importlib.metadata import version

        from conduit.launch.entry_points import DISTRIBUTION

        return version(DISTRIBUTION)
    _import_public()
    if name in globals():  # as a public name, or as one of the packages in this one
        return globals()[name]
    from conduit.launch.hints.wrong_names import elsewhere

    hint = elsewhere(__name__, name).removeprefix(f"conduit has no {name}").lstrip(":; ")
    hint = hint[1:-1] if hint.startswith("(") else hint
    there = None if hint else sys.modules[__name__]  # of which more is said where the error is shown
    raise AttributeError(
        f"module 'conduit' has no attribute '{name}'" + (f"; {hint}" if hint else ""), name=name, obj=there
    )


def _import_public() -> None:
    """Import what the public names stand for, all at once: whoever has one finds all of them in this module."""
    from importlib import import_module

    public = import_module("conduit.public")  # as far as it is there: statements would ask this module for it
    for name in __all__:
        if hasattr(public, name):  # in an import that is still going on some may be missing
            globals().setdefault(name, getattr(public, name))


def __dir__() -> list[str]:
    """Return the public names, and not those of the modules that they are in."""
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])
