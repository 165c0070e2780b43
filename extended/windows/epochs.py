"""Which epochs a rank has open, and what it may call in them.

Source: MPI: A Message-Passing Interface Standard 3.1, 11.5.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

import attrs

from extended.windows.constants import MODE
from extended.windows.errors import WindowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from extended.windows.calls import Call


class Epoch(Enum):
    """What an access belongs to."""

    NONE = auto()
    FENCE = auto()
    START = auto()
    EXCLUSIVE = auto()
    SHARED = auto()


@attrs.frozen
class Held:
    """A lock that this rank has asked for.

    Attributes:
        call: that did.
        shared: whether others may have it too.
    """

    call: Call
    shared: bool


class Epochs:
    """The epochs of one rank on one window.

    Args:
        made: the call that made the window.
        checks: whether calls outside their epochs are refused.
        forgotten: raises the error of a call of this rank's that was never awaited, which may be why no epoch is open.

    Attributes:
        fence: the Fence that opened the epoch which is open.
        touched: the first access in it.
        start: the Start that no Complete has ended.
        started: its group.
        post: the Post that no Wait has ended.
        posted: its group.
        locks: held, by their rank.
        all: the Lock_all that is open.
        freed: the Free.
    """

    def __init__(self, made: Call, *, checks: bool, forgotten: Callable[[], object]) -> None:
        self._made = made
        self._checks = checks
        self._forgotten = forgotten
        self._closed: Call | None = None  # the call that closed the last epoch
        self._last_fence: Call | None = None  # as far as another kind of call has closed its epoch
        self.fence: Call | None = None
        self.touched: Call | None = None
        self.start: Call | None = None
        self.started: tuple[int, ...] = ()
        self.post: Call | None = None
        self.posted: tuple[int, ...] = ()
        self.locks: dict[int, Held] = {}
        self.all: Call | None = None
        self.freed: Call | None = None

    def _refuse(self, call: Call, why: str) -> None:
        if self._checks:
            self._forgotten()
            raise WindowError(f"{call}: {why}")

    def calls_of_all(self) -> tuple[str, str]:
        """Return what the calls that all ranks make on this window are, and the last Fence, "" for none."""
        closed = self._closed if self._closed is not None and self._closed.name == "win.Fence" else None
        last = self.fence or closed or self._last_fence
        return f"the calls of all on the window of {self._made}", "" if last is None else f"the last {last}"

    @property
    def window(self) -> str:
        """What the window is called in reports."""
        return f"the window of {self._made}"

    def alive(self, call: Call) -> None:
        """Refuse every call on a window that was freed, whether or not others are checked.

        Raises:
            WindowError: it was.
        """
        if self.freed is not None:
            raise WindowError(f"{call}: this window was freed by {self.freed}; free it after its last use, or make one")

    # ---------------------------------------------------------------------------------------------------------- access

    def access(self, call: Call, rank: int) -> Epoch:
        """Return the epoch that an access to a rank belongs to.

        Raises:
            WindowError: none is open to it.
        """
        self.alive(call)
        held = self.locks.get(rank)
        if held is not None:
            return Epoch.SHARED if held.shared else Epoch.EXCLUSIVE
        if self.all is not None:
            return Epoch.SHARED
        if self.start is not None:
            if rank not in self.started:
                self._refuse(
                    call,
                    f"rank {rank} is not in the group of {self.start}, which has {ranks_text(self.started)}; "
                    "name it there",
                )
            return Epoch.START
        if self.fence is not None and not self.locks:
            self.touched = self.touched or call
            return Epoch.FENCE
        self._refuse(call, f"no epoch is open to rank {rank}: {self._why()}; call Fence, Start or Lock before it")
        return Epoch.NONE

    def _why(self) -> str:
        if self.locks:
            held = [f"{one.call} is of rank {rank}" for rank, one in self.locks.items()]
            return ", ".join(held)
        if self._closed is not None:
            return f"the last one was closed by {self._closed}"
        return f"no epoch has been opened since {self._made}"

    def idle(self) -> str:
        """Return what an epoch of fences has in it that it must not have where another kind begins, "" if nothing."""
        if self.touched is None:
            return ""
        return (
            f"{self.touched} belongs to the epoch that {self.fence} opened, which is not closed; call Fence before it"
        )

    # ---------------------------------------------------------------------------------------------------------- fences

    def check_fence(self, call: Call, assertion: MODE) -> None:
        """Refuse a Fence where another epoch is open, or accesses are where none are to be.

        Raises:
            WindowError: it is so.
        """
        self.alive(call)
        self._none_open(call, fence=True)
        if self.touched is not None and MODE.NOPRECEDE in assertion:
            self._refuse(
                call, f"MODE_NOPRECEDE says that nothing was called before it, but {self.touched} was; leave it out"
            )

    def fenced(self, call: Call, assertion: MODE) -> None:
        """Take note that a Fence has closed an epoch, and has opened one where it does not say otherwise."""
        self.touched = None
        if assertion and MODE.NOSUCCEED in assertion:
            self.fence, self._closed = None, call
        else:
            self.fence = call

    def _end_idle(self, call: Call) -> None:
        if (why := self.idle()) != "":
            self._refuse(call, why)
        if self.fence is not None:
            self._last_fence = self.fence
            self.fence, self.touched, self._closed = None, None, call

    def _reopen(self, call: Call) -> None:
        """Open again the epoch of a Fence that a call has closed, whose own one has not begun: it was cancelled."""
        if self._closed is not call:
            return
        other = next(self.open_ones(), None)
        if other is not None:  # of another task, and would have closed it as well
            self._closed = other[0]
        else:
            self.fence, self._closed = self._last_fence, None

    def _none_open(self, call: Call, *, fence: bool = False, exposure: bool = True) -> None:
        """Refuse a call while an epoch of another kind is open."""
        if self.start or self.all or self.locks or self.post:
            self._refuse_open(call, exposure=exposure)
        if not fence:
            self._end_idle(call)

    def _refuse_open(self, call: Call, *, exposure: bool) -> None:
        for opened, closing in (
            (self.start, "Complete"),
            (self.all, "Unlock_all"),
            *((held.call, f"Unlock({rank})") for rank, held in self.locks.items()),
            *(((self.post, "Wait"),) if exposure else ()),
        ):
            if opened is not None:
                self._refuse(call, f"the epoch that {opened} opened is not closed; call {closing} before it")

    # ------------------------------------------------------------------------------------- general active target epochs

    def open_start(self, call: Call, group: tuple[int, ...]) -> None:
        """Open an epoch of accesses to some ranks.

        Raises:
            WindowError: another one is open.
        """
        self.alive(call)
        self._none_open(call, exposure=False)
        self.start, self.started = call, group

    def check_complete(self, call: Call) -> None:
        """Refuse a Complete without its Start.

        Raises:
            WindowError: it is one.
        """
        self.alive(call)
        if self.start is None:
            self._refuse(call, f"there is no Start for it to close: {self._why()}; call Start before it")

    def completed(self, call: Call) -> None:
        """Take note of a Complete."""
        self.start, self.started, self._closed = None, (), call

    def open_post(self, call: Call, group: tuple[int, ...], me: int) -> None:
        """Open an epoch in which some ranks may access this one.

        Raises:
            WindowError: one is open, or this rank has locked itself.
        """
        self.alive(call)
        if self.post is not None:
            self._refuse(call, f"the epoch that {self.post} opened is not closed; call Wait before it")
        locked = self.all or (self.locks[me].call if me in self.locks else None)
        if locked is not None:
            self._refuse(call, f"this rank is locked by {locked}, and cannot be posted then; unlock it before")
        self._end_idle(call)
        self.post, self.posted = call, group

    def check_wait(self, call: Call) -> None:
        """Refuse a Wait or Test without its Post.

        Raises:
            WindowError: it is one.
        """
        self.alive(call)
        if self.post is None:
            self._refuse(call, "there is no Post for it to close; call Post before it")

    def waited(self) -> None:
        """Take note that the epoch of a Post is over."""
        self.post, self.posted = None, ()

    def start_cancelled(self, call: Call) -> None:
        """Take note that a Start was cancelled as it waited."""
        self.start, self.started = None, ()
        self._reopen(call)

    # --------------------------------------------------------------------------------------------------- passive target

    def open_lock(self, call: Call, rank: int, me: int, *, shared: bool) -> None:
        """Open an epoch of accesses to a rank that has no part in it.

        Raises:
            WindowError: this rank has it open already, or another kind of epoch.
        """
        self.alive(call)
        if rank in self.locks:
            self._refuse(
                call, f"this rank has locked rank {rank} by {self.locks[rank].call} already; call Unlock({rank}) before"
            )
        for opened, closing in ((self.start, "Complete"), (self.all, "Unlock_all")):
            if opened is not None:
                self._refuse(call, f"the epoch that {opened} opened is not closed; call {closing} before it")
        if rank == me and self.post is not None:
            self._refuse(call, f"this rank is exposed by {self.post}, and cannot be locked then; call Wait before it")
        self._end_idle(call)
        self.locks[rank] = Held(call, shared)

    def lock_cancelled(self, call: Call, rank: int) -> None:
        """Take note that a Lock was cancelled as it waited."""
        self.locks.pop(rank, None)
        self._reopen(call)

    def check_unlock(self, call: Call, rank: int) -> None:
        """Refuse an Unlock without its Lock.

        Raises:
            WindowError: it is one.
        """
        self.alive(call)
        if rank not in self.locks:
            self._refuse(call, f"rank {rank} is not locked by this rank: {self._held()}; call Lock({rank}) before it")

    def unlocked(self, call: Call, rank: int) -> None:
        """Take note of an Unlock."""
        self.locks.pop(rank, None)
        self._closed = call

    def open_all(self, call: Call) -> None:
        """Open an epoch of accesses to all ranks, none of which has a part in it.

        Raises:
            WindowError: another one is open.
        """
        self.alive(call)
        self._none_open(call)
        self.all = call

    def check_unlock_all(self, call: Call) -> None:
        """Refuse an Unlock_all without its Lock_all.

        Raises:
            WindowError: it is one.
        """
        self.alive(call)
        if self.all is None:
            self._refuse(call, f"there is no Lock_all for it to close: {self._held()}; call Lock_all before it")

    def unlocked_all(self, call: Call) -> None:
        """Take note of an Unlock_all."""
        self.all, self._closed = None, call

    def check_flush(self, call: Call, rank: int | None = None) -> None:
        """Refuse a flush or a Sync outside the epochs of locks.

        Args:
            call: the call.
            rank: that it is of, None where of all that are locked.

        Raises:
            WindowError: it is outside.
        """
        self.alive(call)
        if self.all is None and (rank not in self.locks if rank is not None else not self.locks):
            what = "no rank is locked" if rank is None else f"rank {rank} is not locked"
            self._refuse(call, f"{what} by this rank: {self._held()}; it belongs between Lock and Unlock")

    def _held(self) -> str:
        if self.all is not None:
            return f"{self.all} locked all"
        if self.start is not None:
            return f"the epoch that is open is that of {self.start}"
        if self.fence is not None:
            return f"the epoch that is open is that of {self.fence}"
        return self._why()

    # ------------------------------------------------------------------------------------------------------------- end

    def closing(self, rank: int) -> str:
        """Return the call that ends the epoch which is open to a rank: ``Fence()``, ``Unlock(rank)``."""
        if rank in self.locks:
            return "Unlock(rank)"
        if self.all is not None:
            return "Unlock_all()"
        return "Complete()" if self.start is not None else "Fence()"

    def open_ones(self) -> Iterator[tuple[Call, str, str]]:
        """Yield the calls whose epochs are open, but for Fence, with the call that ends each, and why it is to be."""
        for held in self.locks.values():
            yield held.call, "Unlock(rank)", "else that rank stays locked"
        if self.all is not None:
            yield self.all, "Unlock_all()", "else ranks that it has accessed stay locked"
        if self.start is not None:
            yield self.start, "Complete()", "for which the ranks wait that have posted"
        if self.post is not None:
            yield self.post, "Wait()", "which waits until the others have done with this rank's part"

    def check_free(self, call: Call) -> None:
        """Refuse to free a window while an epoch is open that has something in it.

        Raises:
            WindowError: one is, or it was freed before.
        """
        self.alive(call)
        self._none_open(call)


def ranks_text(ranks: Sequence[int]) -> str:
    """Name ranks."""
    return f"ranks {', '.join(map(str, ranks))}" if len(ranks) != 1 else f"rank {ranks[0]}"
