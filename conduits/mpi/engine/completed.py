"""Requests with nothing to do, on simulated libraries and on real MPI."""

from __future__ import annotations

from conduits.mpi.engine.transfer import ANY_TAG, PROC_NULL


class CompletedRequest:
    """A request that was over when it was made: a send to PROC_NULL or a receive from it.

    Attributes:
        source, tag, nbytes: of what it got.
        error: None.
    """

    __slots__ = ("nbytes", "source", "tag")

    over = True
    cancelled = False
    error: BaseException | None = None

    def __init__(self, source: int = PROC_NULL, tag: int = ANY_TAG) -> None:
        self.source = source
        self.tag = tag
        self.nbytes = 0

    def Test(self) -> bool:
        """Return True."""
        return True

    def Start(self) -> None:
        """Refuse: it is not persistent."""
        raise TypeError("Start: this request is no persistent one")

    def Cancel(self) -> None:
        """Do nothing."""

    def Free(self) -> None:
        """Do nothing."""
