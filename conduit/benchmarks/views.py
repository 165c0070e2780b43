"""What pictures of a benchmark show: which of its operations stand together, and sizes that are marked."""

from collections.abc import Iterable, Sequence
from typing import Literal

import attrs

from conduit.launch.registry import Spec

Quantity = Literal["time", "rate", "messages"]
"""Microseconds of one operation, its MB/s, or how many are done in a second."""


@attrs.frozen
class View:
    """One picture of a benchmark.

    Attributes:
        title: what it shows.
        quantity: of its y axis.
        operations: as records name them; the first one is drawn with solid lines.
        sections: letters of the sections that measure these.
    """

    title: str
    quantity: Quantity
    operations: tuple[str, ...]
    sections: str

    def as_json(self) -> dict[str, object]:
        """Return it as `--json` writes it."""
        return {"title": self.title, "quantity": self.quantity, "operations": list(self.operations)}


@attrs.frozen
class SizeMark:
    """A size that pictures mark.

    Attributes:
        nbytes: bytes of payload.
        what: happens there, in a few words.
    """

    nbytes: int
    what: str


def message_marks(spec: Spec) -> list[SizeMark]:
    """Return the sizes at which the network sends Active Messages another way, and that of the largest medium one."""
    marks = [SizeMark(nbytes, "another way of sending") for nbytes in dict.fromkeys(spec.cls.thresholds(spec.options))]
    return sorted([*marks, SizeMark(spec.limits.max_medium, "largest medium message")], key=lambda mark: mark.nbytes)


def drawn_sections(views: Iterable[View], sections: str) -> str:
    """Return the letters that some view needs, in the order of `sections`; all of them where there is no view."""
    needed: Sequence[str] = [view.sections for view in views]
    return "".join(letter for letter in sections if any(letter in each for each in needed)) or sections
