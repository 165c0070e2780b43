"""Active target synchronisation: fences, and epochs that both sides open."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import trio

from extended.front_ends import public
from extended.windows.base import WindowBase, assertion_of
from extended.windows.calls import Call
from extended.windows.constants import MODE
from extended.windows.groups import members

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from extended.windows.making import WindowShape


_OF_FENCE = MODE.NOSTORE | MODE.NOPUT | MODE.NOPRECEDE | MODE.NOSUCCEED
_OF_POST = MODE.NOCHECK | MODE.NOSTORE | MODE.NOPUT


class Active(WindowBase):
    """Synchronisation in which the ranks that are accessed have a part."""

    # ----------------------------------------------------------------------------------------------------------- fences

    @public("win")
    def Fence(self, assertion: Any = 0) -> Coroutine[Any, Any, None]:
        """Complete all accesses to and of this rank, and begin an epoch; collective.

        Cancelled while it waits for other ranks, it is ended by the next Fence.

        Args:
            assertion: of MODE_NOSTORE, MODE_NOPUT, MODE_NOPRECEDE (no accesses before), MODE_NOSUCCEED (none after).

        Raises:
            conduit.BadRequest: another assertion.
            WindowError: another kind of epoch is open.
        """
        call = "win.Fence"
        return self._fence(self._call(call), assertion_of(call, assertion, _OF_FENCE))

    async def _fence(self, call: Call, assertion: MODE) -> None:
        if not self._notified:
            self._epochs.check_fence(call, assertion)
            self._operations.charge("mpi_win_fence")
            self._operations.charge("mpi_win_fence_doubling", (self._size - 1).bit_length())
            await self._operations.end_epoch(call.name)
            await self._team.begin_barrier(call.name)
            self._notified = call
            await self._team.end_barrier()
        else:
            if self._operations.begun:  # since it was cancelled: for others they belong to the epoch that follows
                await self._operations.complete(call.name)
            await self._team.end_barrier(str(self._notified), str(call))
        self._notified = None
        self._operations.fenced()
        self._epochs.fenced(call, assertion)

    # ------------------------------------------------------------------------------------- general active target epochs

    @public("win")
    def Post(self, group: Any, assertion: Any = 0) -> Coroutine[Any, Any, None]:
        """Let some ranks access this one's part, until `Wait`; waits for none of them.

        Args:
            group: of `Get_group`, or ranks of the window.
            assertion: of MODE_NOCHECK (they call Start later, with it), MODE_NOSTORE, MODE_NOPUT.

        Raises:
            conduit.BadRequest: a wrong argument.
            WindowError: this rank has posted already, or an epoch of another kind is open.
        """
        call = "win.Post"
        ranks = members(call, group, self._size)
        asserted = assertion_of(call, assertion, _OF_POST)
        return self._post(self._call(call), ranks, asserted)

    async def _post(self, call: Call, group: tuple[int, ...], assertion: MODE) -> None:
        await self._ep.poll()
        self._epochs.open_post(call, group, self._rank)
        self._operations.charge("mpi_win_post")
        if self._looked_at(assertion):
            with trio.CancelScope(shield=True):
                for rank in group:
                    member = self._shape.members[rank]
                    await self._service.posted(member.rank, member.slot)

    @public("win")
    def Start(self, group: Any, assertion: Any = 0) -> Coroutine[Any, Any, None]:
        """Begin an epoch of accesses to some ranks; waits until they have posted.

        Args:
            group: of `Get_group`, or ranks of the window.
            assertion: MODE_NOCHECK, where they have posted already, with it.

        Raises:
            conduit.BadRequest: a wrong argument.
            WindowError: another epoch is open.
        """
        call = "win.Start"
        ranks = members(call, group, self._size)
        return self._start(self._call(call), ranks, assertion_of(call, assertion, MODE.NOCHECK))

    async def _start(self, call: Call, group: tuple[int, ...], assertion: MODE) -> None:
        self._epochs.open_start(call, group)
        self._operations.charge("mpi_win_start")
        if not self._looked_at(assertion):
            return await self._ep.poll()
        try:
            await self._told(self._part.posts, group, call.name, "Post")
        except trio.Cancelled:
            self._epochs.start_cancelled(call)
            raise
        self._part.posts.subtract(group)
        return None

    async def _told(self, told: Counter[int], group: tuple[int, ...], name: str, what: str) -> None:
        """Wait until all of a group have called; polls at least once."""
        missing = GroupMissing(self._shape, told, group)
        await self._ep.poll()
        await self._ep.block_until(missing.none, what=f"the {what} that {name} is for", ranks=missing)

    @public("win")
    def Complete(self) -> Coroutine[Any, Any, None]:
        """End the epoch that `Start` began: complete all accesses in it.

        Raises:
            WindowError: there is none.
        """
        return self._complete(self._call("win.Complete"))

    async def _complete(self, call: Call) -> None:
        self._epochs.check_complete(call)
        self._operations.charge("mpi_win_complete")
        await self._operations.complete(call.name)
        with trio.CancelScope(shield=True):
            await self._operations.tell_exposure()
            for rank in self._epochs.started:
                member = self._shape.members[rank]
                await self._service.completed(member.rank, member.slot)
        self._epochs.completed(call)

    @public("win")
    def Wait(self) -> Coroutine[Any, Any, None]:
        """End the epoch that `Post` began, when all of its group have called `Complete`.

        Raises:
            WindowError: there is none.
        """
        return self._wait(self._call("win.Wait"))

    async def _wait(self, call: Call) -> None:
        self._epochs.check_wait(call)
        self._operations.charge("mpi_win_wait")
        self._part.in_wait = True
        try:
            await self._told(self._part.completes, self._epochs.posted, call.name, "Complete")
        finally:
            self._part.in_wait = False
        self._end_exposure()

    @public("win")
    def Test(self) -> Coroutine[Any, Any, bool]:
        """Poll, and end the epoch that `Post` began if all of its group have called `Complete`; return whether so.

        Raises:
            WindowError: there is none.
        """
        return self._test(self._call("win.Test"))

    async def _test(self, call: Call) -> bool:
        self._epochs.check_wait(call)
        self._operations.charge("mpi_win_test")
        await self._ep.poll()
        if not GroupMissing(self._shape, self._part.completes, self._epochs.posted).none():
            return False
        self._end_exposure()
        return True

    def _end_exposure(self) -> None:
        self._part.completes.subtract(self._epochs.posted)
        self._part.waited()
        self._epochs.waited()


class GroupMissing:
    """The ranks of a group that have still to call, worked out whenever they are asked for.

    Args:
        shape: the window.
        told: how often each has called.
        group: the ranks.
    """

    def __init__(self, shape: WindowShape, told: Counter[int], group: tuple[int, ...]) -> None:
        self._shape = shape
        self._told = told
        self._group = group

    def none(self) -> bool:
        """Say whether all have."""
        return all(self._told[rank] > 0 for rank in self._group)

    def __iter__(self) -> Iterator[int]:
        return iter([self._shape.members[rank].rank for rank in self._group if self._told[rank] <= 0])
