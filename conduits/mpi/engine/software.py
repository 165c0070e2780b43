"""What the calls of a library take of the CPU."""

from __future__ import annotations

import attrs

from conduit.contract import Constant
from conduit.simnet.constants import ps


@attrs.frozen
class Software:
    """What the calls of a library take of the CPU whatever they move, picoseconds.

    Attributes:
        call_ps: a call that begins something: its checks, and making the request.
        test_ps: asking a request whether it is over.
        match_ps: each message or receive that is compared with another.
        complete_ps: ending a request.
    """

    call_ps: int
    test_ps: int
    match_ps: int
    complete_ps: int

    @classmethod
    def of(cls, call: Constant, test: Constant, match: Constant, complete: Constant) -> Software:
        """Return what constants say."""
        return cls(call_ps=ps(call), test_ps=ps(test), match_ps=ps(match), complete_ps=ps(complete))
