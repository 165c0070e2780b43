"""A rank's part in one window, as messages of the others find it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from extended.windows.epochs import ranks_text
from extended.windows.errors import WindowError
from extended.windows.records import GET, PUT, Accesses

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from extended.windows.epochs import Epochs
    from extended.windows.records import AccessRecord


class Part:
    """What others do to this rank's memory, and have told it.

    Args:
        memory: the bytes.
        ranks: numbers in the window, by rank of the job.
        rank: of this part.
        epochs: of this rank on this window.

    Attributes:
        memory: the bytes.
        ranks: numbers in the window, by rank of the job.
        rank: of this part.
        posts: from each rank that has posted, how many this rank has not started on.
        completes: the same of those that have completed what this rank posted.
        in_wait: whether this rank is in `Wait`.
    """

    def __init__(self, memory: npt.NDArray[np.uint8], ranks: dict[int, int], rank: int, epochs: Epochs) -> None:
        self.memory = memory
        self.ranks = ranks
        self.rank = rank
        self._epochs = epochs
        self.posts: Counter[int] = Counter()
        self.completes: Counter[int] = Counter()
        self.in_wait = False
        self._fenced = Accesses()
        self._turn = 0  # the epoch of fences that these belong to
        self._exposed = Accesses()
        self._locked = Accesses()

    def elements(self, start: int, count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """Return elements of the memory, which may be at any offset."""
        return self.memory[start : start + count * dtype.itemsize].view(dtype)

    @property
    def window(self) -> str:
        """What the window is called in reports."""
        return self._epochs.window

    def exposed(self) -> str:
        """Return whom alone the Post that is open lets in, by their ranks of the job; "" where none is."""
        post, posted = self._epochs.post, self._epochs.posted
        members = sorted(rank for rank, number in self.ranks.items() if number in posted)
        return "" if post is None or not members else f"{post} is for {ranks_text(members)} alone"

    def unfinished(self) -> str:
        """Return what to do where this rank waits for the Complete of others before its own; "" elsewhere."""
        start = self._epochs.start
        if start is None or not self.in_wait:
            return ""
        return f"{start} is still open here: write `await win.Complete()` before `await win.Wait()`"

    # ----------------------------------------------------------------------------------------- what conflicts with what

    def in_fence(self, turn: int, records: list[AccessRecord]) -> None:
        """Take note of accesses between two fences.

        Raises:
            WindowError: two accesses conflict.
        """
        if turn != self._turn:  # all of the earlier epoch have come, or no rank could have begun another
            self._turn, self._fenced = turn, Accesses()
        self._note(self._fenced, records, "one epoch between two fences")

    def in_exposure(self, records: list[AccessRecord]) -> None:
        """Take note of accesses that a Post has let in.

        Raises:
            WindowError: two accesses conflict.
        """
        self._note(self._exposed, records, f"the epoch of {self._epochs.post}")

    def waited(self) -> None:
        """Take note that the epoch of a Post is over."""
        self._exposed = Accesses()

    def in_lock(self, records: list[AccessRecord]) -> None:
        """Take note of accesses under a lock that others may have too.

        Raises:
            WindowError: two accesses conflict, or this rank has posted.
        """
        if self._epochs.post is not None and records:
            raise WindowError(
                f"{records[0].text()}: the target, rank {self.rank}, is exposed by {self._epochs.post} of its own, and "
                "cannot be locked then; call Wait before"
            )
        self._note(self._locked, records, "epochs of locks that overlap")

    def forget(self, rank: int) -> None:
        """Take note that a rank has completed what it did under its lock."""
        self._locked.forget(rank)

    def _note(self, accesses: Accesses, records: list[AccessRecord], epoch: str) -> None:
        for record in records:
            other = accesses.conflict(record)
            if other is not None:
                raise conflict(record, other, self.rank, epoch)
            accesses.add(record)


def conflict(new: AccessRecord, other: AccessRecord, target: int, epoch: str) -> WindowError:
    """Return the error for two accesses that conflict."""
    accumulates = not {PUT, GET} & {new.what, other.what}
    typed = accumulates and new.differs_in_type(other)
    return WindowError(
        f"{new.text(typed=typed)} conflicts with {other.text(typed=typed)}: both are to the window of rank {target} in "
        f"{epoch}; let a synchronisation come between them, or use accumulates of one "
        f"{'dtype' if typed else 'operation'}"
    )
