"""Windows: memory that the ranks of a team read and write, with MPI's calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from extended.windows import buffers
from extended.windows.calls import Call, called, integer, public, shown
from extended.windows.constants import MODE, PROC_NULL
from extended.windows.epochs import Epochs
from extended.windows.groups import Group
from extended.windows.making import give_back, make, wanted
from extended.windows.operations import Operations
from extended.windows.part import Part

if TYPE_CHECKING:
    from extended import Team
    from extended.windows.buffers import Array
    from extended.windows.making import Shape
    from extended.windows.service import Service


class Win:
    """One rank's end of a window; made by ``await Win.Allocate(...)`` or ``await Win.Create(...)``.

    Calls, arguments and defaults are mpi4py's, awaited.  Ranks are those of the team that made the window.
    """

    def __init__(self, service: Service, shape: Shape, slot: int, made: Call, *, checks: bool) -> None:
        if not hasattr(shape, "team"):
            raise conduit.BadRequest("Win: windows are not made by calling it; write `await Win.Allocate(...)`")
        self._service = service
        self._ep = service.ep
        self._shape = shape
        self._team = shape.team
        self._rank = shape.team.rank
        self._size = shape.team.size
        self._checks = checks
        self._epochs = Epochs(made, checks=checks)
        ranks = {member.rank: rank for rank, member in enumerate(shape.members)}
        self._part = Part(shape.memory, ranks, self._rank, self._epochs)
        service.fill(slot, self._part)
        self._operations = Operations(service, shape, self._part, slot, self._epochs, checks=checks)
        self._slot = slot
        self._notified = False  # of a Fence that was cancelled

    def __repr__(self) -> str:
        state = "freed" if self._epochs.freed is not None else f"{self._part.memory.nbytes} bytes here"
        return f"<Win of {self._size} ranks, here rank {self._rank}, {state}>"

    # ----------------------------------------------------------------------------------------------- making and ending

    @classmethod
    @public("Win")
    def Allocate(cls, size: Any, disp_unit: Any = 1, *, comm: Team, info: Any = None, checks: Any = True) -> Any:
        """Make a window with memory of the segment's symmetric heap; collective over `comm`.

        What is in the memory is what was there before: zeros where nothing has used it yet.

        Args:
            size: bytes on this rank; ranks may give different ones.
            disp_unit: bytes of a displacement in this rank's part.
            comm: what `Extended.attach` returned, or a team.
            info: ignored.
            checks: whether epochs and conflicting accesses are checked; the same on all ranks.

        Raises:
            conduit.BadRequest: a wrong argument; or, on all ranks, ranks that call differently, or too little room.
        """
        team, mine = wanted("Win.Allocate", size, None, disp_unit, comm, checks)
        return cls._make(team, mine, called("Win.Allocate"))

    @classmethod
    @public("Win")
    def Create(cls, array: Any, disp_unit: Any = 1, *, comm: Team, info: Any = None, checks: Any = True) -> Any:
        """Make a window of memory that there is; collective over `comm`.

        What lies in the segment goes by the network's own operations, where it has any.

        Args:
            array: C-contiguous and writable; None for no memory.
            disp_unit: bytes of a displacement in this rank's part.
            comm: what `Extended.attach` returned, or a team.
            info: ignored.
            checks: whether epochs and conflicting accesses are checked; the same on all ranks.

        Raises:
            conduit.BadRequest: a wrong argument; or, on all ranks, ranks that call differently.
        """
        team, mine = wanted("Win.Create", None, array, disp_unit, comm, checks)
        return cls._make(team, mine, called("Win.Create"))

    @classmethod
    async def _make(cls, comm: Team, mine: Any, made: Call) -> Win:
        service, shape, slot = await make(comm, mine)
        win = cls(service, shape, slot, made, checks=mine.checks)
        await shape.team.barrier()  # nobody sends before all can serve
        return win

    @public()
    def Free(self) -> Any:
        """Free the window; collective, and every later call is refused.

        Raises:
            WindowError: an epoch is open that has something in it, or the window was freed before.
        """
        return self._free(self._called("win.Free"))

    async def _free(self, call: Call) -> None:
        self._epochs.check_free(call)
        self._epochs.freed = call
        await self._operations.complete(call.name)
        await self._operations.leave_all(call.name)
        await give_back(self._service.x, self._shape)
        self._service.close(self._slot)

    def _called(self, name: str) -> Call:
        return called(name) if self._checks or name == "win.Free" else Call(name)

    # ------------------------------------------------------------------------------------------------------ what it is

    def tomemory(self) -> memoryview:
        """Return this rank's part, a writable buffer of bytes; plain.

        Raises:
            WindowError: the window was freed.
        """
        self._epochs.alive(called("win.tomemory"))
        return self._part.memory.data

    def Get_group(self) -> Group:
        """Return the group of all ranks of the window; plain."""
        return Group(tuple(range(self._size)), self._rank)

    # ----------------------------------------------------------------------------------------------------------- access

    @public()
    def Put(self, origin: Any, target_rank: Any, target: Any = None) -> Any:
        """Begin to store elements in a rank's part; `origin` is in use until the epoch ends, or a flush.

        Args:
            origin: an array, [array, dtype], [array, count] or [array, count, dtype].
            target_rank: of the window.
            target: None, a displacement, (disp, count) or (disp, count, dtype).

        Raises:
            conduit.BadRequest: a wrong argument.
            WindowError: no epoch is open to that rank, or the access conflicts with an earlier one of this rank.
        """
        call = "win.Put"
        given = buffers.elements(call, "origin", origin)
        rank, start = self._target(call, target_rank, target, given)
        return self._access(self._operations.put(self._called(call), rank, start, given.view(np.uint8)), rank)

    @public()
    def Get(self, origin: Any, target_rank: Any, target: Any = None) -> Any:
        """Begin to read elements of a rank's part into `origin`, which is filled when the epoch ends, or by a flush.

        Args:
            origin: an array, [array, dtype], [array, count] or [array, count, dtype].
            target_rank: of the window.
            target: None, a displacement, (disp, count) or (disp, count, dtype).

        Raises:
            conduit.BadRequest: a wrong argument.
            WindowError: no epoch is open to that rank, or the access conflicts with an earlier one of this rank.
        """
        call = "win.Get"
        out = buffers.elements(call, "origin", origin, writable=True)
        rank, start = self._target(call, target_rank, target, out)
        return self._access(self._operations.get(self._called(call), rank, start, out.view(np.uint8)), rank)

    def _target(self, call: str, target_rank: Any, target: Any, given: Array) -> tuple[int, int]:
        """Return a rank, and where in its memory a target begins, bytes."""
        rank = self._member(call, "target_rank", target_rank, null=True)
        there = buffers.target(call, target, given)
        if rank == PROC_NULL:
            return rank, 0
        member = self._shape.members[rank]
        start = there.disp * member.disp_unit
        if start + there.nbytes > member.nbytes and there.nbytes:
            raise conduit.BadRequest(
                f"{call}: target={shown(target)} is bytes {start} to {start + there.nbytes - 1} of rank {rank}, whose "
                f"part has {member.nbytes} (disp_unit={member.disp_unit}); stay inside"
            )
        return rank, start

    def _member(self, call: str, name: str, rank: Any, *, null: bool = False) -> int:
        if null and rank == PROC_NULL:
            return PROC_NULL
        return integer(call, name, rank, 0, self._size - 1, f"a rank of the window, 0 to {self._size - 1}")

    def _access(self, begin: Any, rank: int) -> Any:
        if rank != PROC_NULL:
            return begin
        begin.close()
        return self._ep.poll()

    # ----------------------------------------------------------------------------------------------------------- fences

    @public()
    def Fence(self, assertion: Any = 0) -> Any:
        """Complete all accesses to and of this rank, and begin an epoch; collective.

        Cancelled while it waits for other ranks, it is ended by the next Fence.

        Args:
            assertion: of MODE_NOSTORE, MODE_NOPUT, MODE_NOPRECEDE (no accesses before), MODE_NOSUCCEED (none after).

        Raises:
            conduit.BadRequest: another assertion.
            WindowError: another kind of epoch is open.
        """
        call = "win.Fence"
        allowed = MODE.NOSTORE | MODE.NOPUT | MODE.NOPRECEDE | MODE.NOSUCCEED
        return self._fence(self._called(call), _assertion(call, assertion, allowed))

    async def _fence(self, call: Call, assertion: MODE) -> None:
        if not self._notified:
            self._epochs.check_fence(call, assertion)
            self._operations.charge("mpi_win_fence")
            if self._ep.rma is not None:
                await self._ep.rma.quiet()
            await self._operations.complete(call.name)
            await self._operations.tell_fence()
            await self._team.barrier_notify()
            self._notified = True
        await self._team.barrier_wait()
        self._notified = False
        self._operations.fenced()
        self._epochs.fenced(call, assertion)


def _assertion(call: str, assertion: Any, allowed: MODE) -> MODE:
    names = " | ".join(f"MODE_{one.name}" for one in MODE if one in allowed)
    number = integer(call, "assertion", assertion, 0, max(MODE) * 2 - 1, f"0, or of {names}")
    if number & ~int(allowed):
        raise conduit.BadRequest(f"{call}: assertion={MODE(number)!r} is not for this call; give 0, or of {names}")
    return MODE(number)
