"""That all ranks of a communicator make the same collective calls, where one process runs them all and so can see it.

MPI leaves open what becomes of other programs: messages of one call may be taken for those of another.
"""

from __future__ import annotations

from collections.abc import Sequence

from conduits.mpi.awaited.process import RequestPlace
from conduits.mpi.errors import ErrorClass, MpiError


class SameCalls:
    """The calls that some ranks of a communicator have made and others have not.

    A communicator is told apart by a context and its first rank, for parts of one that have no rank in common may have
    the same contexts.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[int, int, int], tuple[RequestPlace, int, int | None, list[int]]] = {}

    def called(
        self, context: int, group: Sequence[int], number: int, call: str, root: int | None, rank: int, name: str
    ) -> None:
        """Take note of a call.

        Args:
            context: of the communicator.
            group: its ranks in the world.
            number: how many calls this rank has made there before.
            call: the name of this one.
            root: what it is given, None where it has none.
            rank: this rank in the world.
            name: of the communicator.

        Raises:
            MpiError: another rank has made another call in its place.
        """
        key = context, group[0], number
        first = self._open.get(key)
        if first is None:
            if len(group) > 1:
                self._open[key] = RequestPlace.here(call), rank, root, [len(group) - 1]
            return
        place, other, its_root, left = first
        if place.call != call:
            raise MpiError(
                ErrorClass.ERR_OTHER,
                f"Comm.{call}: in its place rank {other} has called {place.call} at {place.file}:{place.line}; all "
                f"ranks of {name} make the same collective calls in the same order",
            )
        if its_root != root:
            raise MpiError(
                ErrorClass.ERR_ROOT,
                f"Comm.{call}: root={root}, but rank {other} has called it with root={its_root} at {place.file}:"
                f"{place.line}; give the same on all ranks of {name}",
            )
        left[0] -= 1
        if not left[0]:
            del self._open[key]
