"""What an algorithm is: a name, what it cannot do, and its steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from extended.collectives.call import CollectiveCall, Steps
    from extended.collectives.operators import Operator
    from extended.topology import Topology

PIECE = 16384
"""Bytes of one piece where data is passed on in pieces.  Assumed: large against what a message costs by itself, small
against data that is worth cutting."""


class Algorithm(ABC):
    """One way of doing a collective call.  To add one, write a class and put an instance of it into the table.

    Attributes:
        name: what users give as ``algorithm=``.
    """

    name: ClassVar[str]

    def refusal(self, topology: Topology, nbytes: int, operator: Operator | None, eager: int) -> str:
        """Say why this algorithm cannot do a call, "" where it can; the same on every rank that knows the sizes.

        Args:
            topology: of the team.
            nbytes: of one rank's contribution, the smallest possible where this rank does not know.
            operator: of a reduction.
            eager: the largest data that is sent at once, bytes.
        """
        return ""

    def greets(self, call: CollectiveCall) -> int | None:
        """Return the rank that an extra short message tells of this call, None where none is needed.

        Ranks that make different calls always find out where each of them sends to its next rank, or each to the one
        before, without waiting first; and where each has told of its call whom it waits for.

        Args:
            call: of a team of more than one.
        """
        return (call.rank + 1) % call.size

    @abstractmethod
    def run(self, call: CollectiveCall) -> Steps:
        """Do the call: a generator that yields the receives that it waits for."""


def refuse_unaligned(topology: Topology) -> str:
    """Say why operands cannot be combined host by host, where hosts do not have consecutive ranks."""
    if topology.contiguous:
        return ""
    return "operands are combined in rank order, and the ranks of a host are not consecutive in this team"


def refuse_whole(operator: Operator | None) -> str:
    """Say why a reduction cannot be done in pieces."""
    if operator is None or operator.elementwise:
        return ""
    return f"op={operator.name} takes whole arrays and cannot be applied in pieces"
