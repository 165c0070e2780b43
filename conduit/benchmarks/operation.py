"""What `conduit explain` can take apart: the type of the objects that packages register for it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import attrs

from conduit import Endpoint
from conduit.contract import Limits

Mark: TypeAlias = Callable[[Endpoint], object]
"""Is called by rank 0 right before and right after what is to be explained."""


@attrs.frozen(kw_only=True)
class ExplainedOperation:
    """An operation between two ranks, registered as an entry point of the group `conduit.operations`.

    Attributes:
        main: `async def main(ep, mark, category, nbytes)`, of two ranks; it does the operation until nothing is new any
            more, then once between two marks.
        largest: the most bytes of it in each category, of which the first that holds a size is taken by default; of an
            operation without categories the only one is named "".
    """

    main: Callable[[Endpoint, Mark, str, int], Awaitable[object]]
    largest: Callable[[Limits], Mapping[str, int]]
