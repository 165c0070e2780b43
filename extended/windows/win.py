"""Windows: memory that the ranks of a team read and write, with MPI's calls."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, ClassVar

import trio

from conduit.words import many
from extended.front_ends import public
from extended.sealed import refuse_copy
from extended.windows.access import Access
from extended.windows.active import Active
from extended.windows.calls import Call, called
from extended.windows.groups import WindowGroup
from extended.windows.making import give_back, make, wanted
from extended.windows.passive import Passive

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import NoReturn, SupportsIndex

    from extended import Team


class Win(Access, Active, Passive):
    """One rank's end of a window; made by ``await Win.Allocate(...)`` or ``await Win.Create(...)``.

    Calls, arguments and defaults are mpi4py's, awaited.  Ranks are those of the team that made the window.
    """

    _instead: ClassVar = {
        **dict.fromkeys(("size", "nbytes"), "this rank's part has `len(win.tomemory())` bytes"),
        **dict.fromkeys(("memory", "buffer", "array"), "write `win.tomemory()` for this rank's part, bytes"),
        **dict.fromkeys(("rank", "Get_rank"), "write `win.Get_group().rank`"),
        "Get_size": "write `win.Get_group().size` for the number of ranks",
        **{
            f"{call}()": f"write `await Win.{call}({what}, disp_unit, comm=x)`, where `x = await Extended.attach(ep)`, "
            "or a team in place of x"
            for call, what in (("Allocate", "size"), ("Create", "array"))
        },
        "async with": "write `win = await Win.Allocate(...)`, and after its last use `await win.Free()`",
        **{
            f"R{call.lower()}": f"it is not offered: write `await win.{call}(...)`, which returns before the access is "
            "complete, and then `await win.Flush(rank)` in a passive epoch, or end the epoch"
            for call in ("Put", "Get", "Accumulate", "Get_accumulate")
        },
        **dict.fromkeys(
            ("Allocate_shared", "Shared_query"),
            "it is not offered: write `win = await Win.Allocate(size, disp_unit, comm=x)`, and `await win.Get(...)` "
            "and `await win.Put(...)` for the parts of others",
        ),
        **dict.fromkeys(
            ("Create_dynamic", "Attach", "Detach"),
            "it is not offered: write `win = await Win.Create(array, disp_unit, comm=x)` for memory that there is",
        ),
        **dict.fromkeys(
            ("Set_errhandler", "Get_errhandler", "Call_errhandler"),
            "it is not offered: what is wrong is raised, as `extended.windows.WindowError` or `conduit.BadRequest`",
        ),
        **dict.fromkeys(
            ("Set_name", "Get_name", "Set_attr", "Get_attr", "Delete_attr", "Create_keyval", "Free_keyval"),
            "it is not offered: keep what belongs to a window in a variable of the program's",
        ),
    }
    _called: ClassVar = "win"

    def __repr__(self) -> str:
        state = "freed" if self._epochs.freed is not None else f"{self._part.memory.nbytes} bytes here"
        return f"<Win of {many(self._size, 'rank')}, here rank {self._rank}, {state}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be copied or pickled, as the endpoint is.

        Raises:
            TypeError: always.
        """
        refuse_copy(self._ep)

    # ----------------------------------------------------------------------------------------------- making and ending

    @classmethod
    @public("Win")
    def Allocate(
        cls, size: Any, disp_unit: Any = 1, *, comm: Team, info: Any = None, checks: Any = True
    ) -> Coroutine[Any, Any, Win]:
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
    def Create(
        cls, array: Any, disp_unit: Any = 1, *, comm: Team, info: Any = None, checks: Any = True
    ) -> Coroutine[Any, Any, Win]:
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
        window = await make(comm, mine, made)
        win = cls(window)
        await window.shape.team.barrier(called=made.name)  # nobody sends before all can serve
        return win

    @public("win")
    def Free(self) -> Coroutine[Any, Any, None]:
        """Free the window; collective, and every later call is refused.

        Cancelled before the others can know of it, it can be called again; later it goes to its end.

        Raises:
            WindowError: an epoch is open that has something in it, or the window was freed before.
        """
        return self._free(called("win.Free"))

    async def _free(self, call: Call) -> None:
        self._epochs.check_free(call)
        self._epochs.freed = call
        try:
            if self._notified:  # by a Fence that was cancelled, and not called again
                await self._team.end_barrier(str(self._notified), str(call))
                self._notified = None
            await self._operations.complete(call.name)
            await self._operations.leave_all(call.name)
        except BaseException:
            self._epochs.freed = None  # nobody has been told: it can be called again
            raise
        with trio.CancelScope(shield=True):  # from here on the others free it too
            await give_back(self._service.x, self._shape)
        self._service.close(self._slot)

    # ------------------------------------------------------------------------------------------------------ what it is

    def tomemory(self) -> memoryview:
        """Return this rank's part, a writable buffer of bytes; plain.

        Raises:
            WindowError: the window was freed.
        """
        self._epochs.alive(called("win.tomemory"))
        return self._part.memory.data

    def Get_group(self) -> WindowGroup:
        """Return the group of all ranks of the window; plain."""
        return WindowGroup(tuple(range(self._size)), self._rank)
