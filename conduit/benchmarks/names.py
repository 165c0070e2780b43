"""Parameters of commands that are names of what is installed, so that shells can complete them."""

from enum import Enum
from typing import Annotated

from cyclopts import Parameter


class Names(Enum):
    """Stands in a parameter's type; says of what its words are names."""

    CONDUITS = "conduits"
    BENCHMARKS = "benchmarks"


ConduitName = Annotated[str, Names.CONDUITS]
"""The type of a parameter that is a conduit, with options or without."""

ConduitNames = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False), Names.CONDUITS]
"""The type of an option that may be repeated, each time with a conduit."""

BenchmarkNames = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False), Names.BENCHMARKS]
"""The type of an option that may be repeated, each time with a benchmark."""
