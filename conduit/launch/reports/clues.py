"""Clues of layers and programs on their way to the report that asks them, from processes too."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from conduit.contract import Clue, ClueWait


@attrs.frozen
class CarriedClue:
    """A clue of one rank, which may be of a class that another process has not: it is not there then.

    Attributes:
        kind: its class, by name and file; the same on ranks each of which has a module of its own for one program.
        name: what that is called.
        clue: the clue, None where it could not come along.
    """

    kind: str
    name: str
    clue: Clue | None

    @classmethod
    def of(cls, clue: Clue) -> CarriedClue:
        """Return a clue as it is carried."""
        made = type(clue)
        file = getattr(sys.modules.get(made.__module__), "__file__", None) or made.__module__
        return cls(f"{file}:{made.__qualname__}", made.__name__, clue)

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            data = pickle.dumps(self.clue)
        except Exception:
            data = b""
        return _arrived, (self.kind, self.name, data)

    def advice(self, rank: int, waits: Callable[[int], Sequence[ClueWait]], others: Mapping[int, Clue]) -> str:
        """Return what it says is to be done; of one that fails, that."""
        if self.clue is None:
            return ""
        try:
            return str(self.clue.advice(rank, waits, others) or "")
        except Exception as error:
            return (
                f"a clue of rank {rank} could not be asked: {self.name}.advice raised {type(error).__name__}: {error}"
            )


def _arrived(kind: str, name: str, data: bytes) -> CarriedClue:
    try:
        return CarriedClue(kind, name, pickle.loads(data))
    except Exception:  # of what kind depends on what is not there
        return CarriedClue(kind, name, None)
