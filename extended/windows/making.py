"""How the ranks of a team make a window together, and give back its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

import conduit
from conduit.words import is_a
from extended import Extended, Team
from extended.front_ends import integer, name_calls, shown
from extended.windows.buffers import MOST, array_of, dtype_of
from extended.windows.locks import WORDS
from extended.windows.service import attached

if TYPE_CHECKING:
    from extended.windows.calls import Call
    from extended.windows.service import Service

_ALIGNED = 8
"""What the words of a lock are aligned to, bytes."""

_ELSEWHERE = -1
"""In the place of an offset: the memory is not in the segment."""

_FREE = "win.Free"

for _call in ("split", "all_gather", "broadcast", "destroy"):
    name_calls(_call, ["Win.Allocate", "Win.Create"])
name_calls("destroy", [_FREE])


@attrs.frozen
class Wanted:
    """What a rank gives to a window.

    Attributes:
        call: that makes it.
        nbytes: of its memory.
        disp_unit: bytes of a displacement.
        array: the memory, None where it is to be allocated.
        checks: whether epochs and conflicts are checked.
    """

    call: str
    nbytes: int
    disp_unit: int
    array: npt.NDArray[np.uint8] | None
    checks: bool

    def words(self, offset: int, slot: int) -> list[int]:
        """Return what the other ranks are told of it."""
        return [self.array is None, self.checks, self.nbytes, self.disp_unit, offset, slot]


@attrs.frozen
class Member:
    """What is known of one rank's part in a window.

    Attributes:
        rank: of the job.
        slot: of the window there.
        nbytes: of its memory.
        disp_unit: bytes of a displacement.
        offset: of its memory in its segment, None where it is not there.
    """

    rank: int
    slot: int
    nbytes: int
    disp_unit: int
    offset: int | None


@attrs.frozen
class WindowShape:
    """A window, as all its ranks know it.

    Attributes:
        team: its ranks; only the window calls on it.
        members: its ranks' parts, by their number.
        memory: this rank's part.
        block: offset of what was taken of the symmetric heap.
        word: offset of the words of a rank's lock, in every segment.
    """

    team: Team
    members: tuple[Member, ...]
    memory: npt.NDArray[np.uint8]
    block: int
    word: int


@attrs.frozen
class Made:
    """A window, as one rank has it.

    Attributes:
        service: the rank's.
        shape: what all ranks know.
        slot: of the window here.
        call: that made it.
        checks: whether epochs and conflicts are checked.
    """

    service: Service
    shape: WindowShape
    slot: int
    call: Call
    checks: bool


OF_MAIN_EP = (
    'windows are for programs of `async def main(ep)`, without `api = "mpi"`: write `from extended import Extended`, '
    "then `x = await Extended.attach(ep)` and comm=x"
)
"""What to say to who has a communicator of MPI."""


def wanted(call: str, nbytes: Any, array: Any, disp_unit: Any, comm: Any, checks: Any) -> tuple[Team, Wanted]:
    """Check the arguments of a call that makes a window.

    Args:
        call: which.
        nbytes: of memory that is to be allocated.
        array: or the memory, None for none.
        disp_unit: bytes of a displacement.
        comm: the ranks.
        checks: whether epochs and conflicts are checked.

    Raises:
        conduit.BadRequest: one is wrong.
    """
    if not isinstance(comm, Team):
        instead = f"; {OF_MAIN_EP}" if is_a(comm) in ("is a Comm", "is an Intracomm") else ""
        raise conduit.BadRequest(
            f"{call}: comm={shown(comm)} {is_a(comm)}; give what Extended.attach returned, or a team{instead}"
        )
    comm.check_usable(call)
    unit = integer(call, "disp_unit", disp_unit, 1, MOST, "the bytes of a displacement, 1 or more")
    if not isinstance(checks, int | np.bool_) or checks not in (True, False):
        raise conduit.BadRequest(f"{call}: checks={shown(checks)} is neither True nor False; give one of them")
    if nbytes is not None:
        size = integer(call, "size", nbytes, 0, MOST, "a number of bytes, 0 or more")
        return comm, Wanted(call, size, unit, None, bool(checks))
    memory = np.empty(0, np.uint8) if array is None else _memory(call, array)
    return comm, Wanted(call, memory.nbytes, unit, memory, bool(checks))


def _memory(call: str, array: Any) -> npt.NDArray[np.uint8]:
    """Return the bytes of the memory that a window is made of."""
    try:
        given = array_of(array)
    except (TypeError, ValueError, BufferError):
        raise conduit.BadRequest(
            f"{call}: array={shown(array)} {is_a(array)}; give a numpy array or another buffer"
        ) from None
    dtype_of(call, "array", given.dtype)
    if not given.flags.c_contiguous:
        raise conduit.BadRequest(
            f"{call}: array is not C-contiguous (strides {given.strides}); give one that is, or use Win.Allocate"
        )
    if not given.flags.writeable:
        raise conduit.BadRequest(f"{call}: array is read-only; give one that others may write to")
    flat: npt.NDArray[np.uint8] = given.reshape(-1).view(np.uint8)
    return flat


async def make(comm: Team, mine: Wanted, call: Call) -> Made:
    """Make a window; collective over `comm`.

    Raises:
        conduit.BadRequest: ranks make different calls, or a segment has too little room; on all ranks.
    """
    x = await Extended.attach(comm.ep)
    service = await attached(x)
    team = await comm.split(0, comm.rank, called=mine.call)
    assert team is not None
    slot = service.open()
    try:
        words = np.array(mine.words(_place(x, mine.array), slot), np.int64)
        rows = await team.all_gather(words, called=mine.call)
        _agree(mine.call, rows)
        size = int(rows[:, 2].max()) if mine.array is None else 0
        block = await _allocate(x, team, mine.call, size)
    except conduit.BadRequest:
        await team.destroy(called=mine.call)
        raise
    word = block + -(-size // _ALIGNED) * _ALIGNED
    x.ep.segment[word : word + WORDS] = 0
    members = tuple(
        Member(team.job_rank(rank), int(row[5]), int(row[2]), int(row[3]), _offset(row, block))
        for rank, row in enumerate(rows)
    )
    memory = x.ep.segment[block : block + mine.nbytes] if mine.array is None else mine.array
    return Made(service, WindowShape(team, members, memory, block, word), slot, call, mine.checks)


def _place(x: Extended, array: npt.NDArray[np.uint8] | None) -> int:
    """Return where in this rank's segment memory lies."""
    if array is None or not array.nbytes:
        return _ELSEWHERE
    segment = x.ep.segment
    start: int = array.__array_interface__["data"][0] - segment.__array_interface__["data"][0]
    return start if 0 <= start <= segment.nbytes - array.nbytes else _ELSEWHERE


def _offset(row: Any, block: int) -> int | None:
    if row[0]:
        return block
    return int(row[4]) if row[4] != _ELSEWHERE else None


def _agree(call: str, rows: npt.NDArray[np.int64]) -> None:
    for column, name, values in ((0, "call", ("Win.Create", "Win.Allocate")), (1, "checks", ("False", "True"))):
        other = np.flatnonzero(rows[:, column] != rows[0, column])
        if len(other):
            first, second = values[rows[0, column]], values[rows[other[0], column]]
            said = f"{name}=" if column else "called "
            raise conduit.BadRequest(
                f"{call}: rank 0 {said}{first} and rank {other[0]} {said}{second}; let all ranks make the same call"
            )


async def _allocate(x: Extended, team: Team, call: str, nbytes: int) -> int:
    """Take memory and the words of a lock of every rank's symmetric heap; return its offset, the same on all ranks."""
    size = -(-nbytes // _ALIGNED) * _ALIGNED + WORDS
    try:
        if team.size == x.size:
            return await x.all_alloc(size, called=f"{call}({nbytes})")
        # One rank takes it for the team, of all segments of the job: others know nothing of the window.
        told = np.array([_ELSEWHERE], np.int64)
        if team.rank == 0:
            try:
                told[0] = await x.global_alloc(size, called=f"{call}({nbytes})")
            finally:
                offset = int(await team.broadcast(told[0], root=0, called=call))
        else:
            offset = int(await team.broadcast(None, root=0, called=call))
    except conduit.BadRequest as error:
        if str(error).startswith(f"{call}: "):  # of something else
            raise
        raise conduit.BadRequest(f"{call}: no room for {nbytes} bytes on each rank: {error}") from None
    if offset == _ELSEWHERE:
        raise conduit.BadRequest(
            f"{call}: no room for {nbytes} bytes on each rank; start the job with a larger segment="
        )
    return offset


async def give_back(x: Extended, shape: WindowShape) -> None:
    """Free the memory of a window and end its team, after a barrier; collective."""
    team = shape.team
    await team.barrier(called=_FREE)
    if team.size == x.size:
        await x.free(shape.block, called=f"{_FREE}()")
    elif team.rank == 0:
        await x.global_free(shape.block)
    await team.destroy(called=_FREE)
