"""What a program writes to poll, and to poll until something has come: in the words of the front end that it is for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from types import FrameType

import attrs

from conduit.launch import entry_points
from conduit.launch.program.written_for import imports, modules_of


@attrs.frozen
class Polls:
    """What a program writes to poll.

    Attributes:
        once: to do it once.
        until: to do it until something has come.
        event: to do it until an event of Trio's is set; "" where programs write nothing else for that.
    """

    once: str
    until: str
    event: str = ""

    @property
    def waits(self) -> str:
        """What to write in the place of a wait, in words that follow "wait with"."""
        return f"`{self.until}`" + (f", for an event with `{self.event}`" if self.event else "")


_OF_CORE = Polls("await ep.poll()", "await ep.block_until(predicate)", "await ep.block_until(event.is_set)")


def polls_of(frames: Iterable[FrameType]) -> Polls:
    """Return what the program writes that frames are of; it says by `api`, or by what it imports, what it is for."""
    fronts = entry_points.installed(entry_points.FRONT_ENDS)
    for frame in frames:
        known = frame.f_globals
        front = known.get("api")
        imported = [each for each in fronts if imports(known.values(), each)]
        names = [front] if isinstance(front, str) and front in fronts else imported
        for module in modules_of(names[0]) if len(names) == 1 else ():
            if given := getattr(import_module(module), "_polls", None):
                return Polls(*given)
    return _OF_CORE
