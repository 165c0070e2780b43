"""What words of the command line are: names that shells can complete, and other values."""

from enum import Enum
from typing import Annotated

import attrs
from cyclopts import Parameter


class Names(Enum):
    """Stands in a parameter's type; says of what its words are names."""

    CONDUITS = "conduits"
    BENCHMARKS = "benchmarks"
    OPERATIONS = "operations"


@attrs.frozen
class OfConduit:
    """Stands in a parameter's type; says that its words are specs of networks of one conduit.

    Attributes:
        name: the conduit.
    """

    name: str


@attrs.frozen
class Choices:
    """Stands in a parameter's type; says which words shells complete, where others are checked by the command.

    Attributes:
        words: those, of which several may be joined by commas.
    """

    words: tuple[str, ...]


@attrs.frozen
class Value:
    """Stands in a parameter's type; says what its value is, to who has forgotten it.

    Attributes:
        text: what to give.
    """

    text: str


_CONDUIT = Value("a conduit; conduit list shows which there are")

ConduitName = Annotated[str, Names.CONDUITS, _CONDUIT]
"""The type of a parameter that is a conduit, with options or without."""

ConduitNames = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False), Names.CONDUITS, _CONDUIT]
"""The type of an option that may be repeated, each time with a conduit."""

BenchmarkNames = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False), Names.BENCHMARKS]
"""The type of an option that may be repeated, each time with a benchmark."""
