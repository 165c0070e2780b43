"""Barriers, and what all PEs of a team do together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import trio

import conduit
import extended
from conduit.words import many
from extended.front_ends import integer, name_calls, public, shown
from extended.mistaken_operations import write_instead
from extended.shmem import arguments
from extended.shmem.constants import OP
from extended.shmem.meetings import meet
from extended.shmem.teams import ShmemTeam, check_team
from extended.shmem.transfers import Base

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from extended.shmem.arguments import Array

_KINDS = {"and": "iu", "or": "iu", "xor": "iu", "max": "iuf", "min": "iuf", "sum": "iufc", "prod": "iufc"}

name_calls("broadcast", ["pe.broadcast"])
name_calls("all_gather", ["pe.fcollect", "pe.collect(...)"])
name_calls("all_to_all", ["pe.alltoall", "pe.alltoalls"])
name_calls("all_reduce", ["pe.reduce", *(f"pe.{name}_reduce" for name in _KINDS)])


async def _in_step(members: extended.Team, call: str, part: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do this PE's part of a call; cancelled, even where it is over, all are told.

    Made again, it would be one call ahead of those of the others.
    """
    try:
        await part()
    except trio.Cancelled:
        members.give_up(call)
        raise


class ShmemCollectives(Base):
    """Calls that all PEs of a team make in the same order, on symmetric arrays of one dtype; `team` None: all PEs."""

    TEAM_WORLD: ShmemTeam

    def _team(self, call: str, team: Any) -> extended.Team:
        return (self.TEAM_WORLD if team is None else check_team(call, team)).members(call)

    def _both(self, call: str, target: Any, source: Any) -> tuple[Array, Array]:
        there = self._blocks.symmetric(call, "target", target)[1]
        here = self._blocks.symmetric(call, "source", source)[1]
        orders = [arguments.in_fortran_order(each) for each in (target, source)]
        if target.ndim > 1 and source.ndim > 1 and orders[0] != orders[1]:
            words = ["Fortran" if each else "C" for each in orders]
            raise conduit.BadRequest(
                f"{call}: target lies in {words[0]} order and source in {words[1]} order; give two arrays of one order"
            )
        arguments.same_dtype(call, there, here)
        return there, here

    @public("pe")
    def barrier_all(self) -> Any:
        """Complete what was begun on the default context, and wait until all PEs are here."""

        async def complete() -> None:
            await self.CTX_DEFAULT.stream("ctx.quiet").complete("pe.barrier_all")
            await meet(self._x, "pe.barrier_all")

        return complete()

    @public("pe")
    def sync_all(self) -> Any:
        """Wait until all PEs are here; completes no put."""
        return meet(self._x, "pe.sync_all")

    @public("pe")
    def sync(self, team: Any = None) -> Any:
        """Wait until all PEs of a team are here; completes no put."""
        return meet(self._team("pe.sync", team), "pe.sync")

    @public("pe")
    def broadcast(self, target: Any, source: Any, root: Any, size: Any = None, team: Any = None) -> Any:
        """Copy the first `size` elements of the root's `source` into `target` on all PEs, the root too.

        Args:
            target: symmetric array.
            source: symmetric array; the root's counts.
            root: a PE of the team.
            size: number of elements; None for as many as both have.
            team: None for all PEs.

        Raises:
            conduit.BadRequest: a wrong argument.
            extended.CollectiveMismatch: the root has another number of elements.
        """
        call = "pe.broadcast"
        members = self._team(call, team)
        there, here = self._both(call, target, source)
        first = arguments.pe_number(call, root, members.size, "root")
        count = arguments.elements(call, size, {"target": there.size, "source": here.size})

        async def copy() -> None:
            found = await members.broadcast(here[:count] if members.rank == first else None, first, called=call)
            if found.size != count or found.dtype != there.dtype:
                raise extended.CollectiveMismatch(
                    f"{call}: PE {members.rank} wants {many(count, 'element')} of dtype {there.dtype}, and the root, "
                    f"PE {first}, gives {found.size} of dtype {found.dtype}; give the same size on every PE"
                )
            self._x.ep.charge(copied=found.nbytes)
            there[:count] = found

        return _in_step(members, call, copy)

    @public("pe")
    def fcollect(self, target: Any, source: Any, size: Any = None, team: Any = None) -> Any:
        """Concatenate `size` elements of each PE in `target`, on all PEs.

        Args:
            target: symmetric array with room for all.
            source: symmetric array.
            size: number of elements of each PE, the same on all; None for the whole `source`.
            team: None for all PEs.

        Raises:
            conduit.BadRequest: a wrong argument.
            extended.CollectiveMismatch: sizes differ.
        """
        call = "pe.fcollect"
        members = self._team(call, team)
        there, here = self._both(call, target, source)
        count = arguments.elements(call, here.size if size is None else size, {"source": here.size})
        arguments.elements(call, count, {"target": there.size}, members.size)
        out = there[: count * members.size].reshape(members.size, count)

        async def gather() -> None:
            await members.all_gather(here[:count], out=out, called=call)

        return _in_step(members, call, gather)

    @public("pe")
    def collect(self, target: Any, source: Any, size: Any = None, team: Any = None) -> Any:
        """As `fcollect`, with a size of each PE's own; a `target` that is too short is refused on all PEs."""
        call = "pe.collect"
        members = self._team(call, team)
        there, here = self._both(call, target, source)
        count = arguments.elements(call, here.size if size is None else size, {"source": here.size})

        async def gather() -> None:
            # The room as well: a PE that refused alone would leave the others in the second exchange.
            mine = np.array([count, there.size], np.int64)
            counts, rooms = (await members.all_gather(mine, called=f"{call}(...)")).T
            total, most = int(counts.sum()), int(counts.max())
            if total > rooms.min():
                short = members.rank if total > there.size else int(rooms.argmin())
                raise conduit.BadRequest(
                    f"{call}: target{'' if short == members.rank else f' of PE {short}'} has room for "
                    f"{many(int(rooms[short]), 'element')}, and the PEs give {total}; give a longer one"
                )
            padded = np.zeros(most, here.dtype)  # the layer below gathers rows of one size
            padded[:count] = here[:count]
            rows = await members.all_gather(padded, called=f"{call}(..., {here.dtype})")
            self._x.ep.charge(copied=total * here.itemsize)
            there[:total] = np.concatenate([row[:many] for row, many in zip(rows, counts, strict=True)])

        return _in_step(members, call, gather)

    @public("pe")
    def alltoall(self, target: Any, source: Any, size: Any = None, team: Any = None) -> Any:
        """Give each PE its `size` elements of `source`.

        Args:
            target: symmetric array; those of PE k come at ``k * size``.
            source: symmetric array; those for PE k are at ``k * size``.
            size: number of elements for each PE; None for as many as there are.
            team: None for all PEs.

        Raises:
            conduit.BadRequest: a wrong argument.
            extended.CollectiveMismatch: sizes differ.
        """
        return self._exchange("pe.alltoall", target, source, 1, 1, size, team)

    @public("pe")
    def alltoalls(
        self, target: Any, source: Any, tst: Any = 1, sst: Any = 1, size: Any = None, team: Any = None
    ) -> Any:
        """As `alltoall`, of every `sst`-th element of `source`, to every `tst`-th place of `target`."""
        return self._exchange("pe.alltoalls", target, source, tst, sst, size, team)

    def _exchange(self, call: str, target: Any, source: Any, tst: Any, sst: Any, size: Any, team: Any) -> Any:
        members = self._team(call, team)
        there, here = self._both(call, target, source)
        what = "a distance of elements, 1 or more"
        there = there[:: integer(call, "tst", tst, 1, arguments.MOST, what)]
        here = here[:: integer(call, "sst", sst, 1, arguments.MOST, what)]
        if size is None and min(there.size, here.size) % members.size:
            raise conduit.BadRequest(
                f"{call}: {min(there.size, here.size)} elements do not divide by {members.size} PEs; give size="
            )
        rooms = {"target": there.size, "source": here.size}
        count = arguments.elements(call, size, rooms, members.size)
        shape = members.size, count
        out, given = (each[: members.size * count].reshape(shape) for each in (there, here))

        async def exchange() -> None:
            await members.all_to_all(given, out=out, called=call)

        return _in_step(members, call, exchange)

    def _reduce(self, call: str, target: Any, source: Any, op: Any, size: Any, team: Any) -> Any:
        members = self._team(call, team)
        there, here = self._both(call, target, source)
        name = str(op).lower() if isinstance(op, str) else ""
        if name not in _KINDS:
            raise conduit.BadRequest(
                f"{call}: op={shown(op)} is not known; {write_instead(op, _KINDS)}give one of {', '.join(_KINDS)}"
            )
        if here.dtype.kind not in _KINDS[name]:
            raise conduit.BadRequest(f"{call}: {name} is not defined on dtype {here.dtype}; give numbers that have it")
        count = arguments.elements(call, size, {"target": there.size, "source": here.size})
        arguments.same_or_apart(call, there[:count], here[:count])

        async def reduce() -> None:
            await members.all_reduce(here[:count], name, out=there[:count], called=call)

        return _in_step(members, call, reduce)

    @public("pe")
    def reduce(self, target: Any, source: Any, op: Any = OP.SUM, size: Any = None, team: Any = None) -> Any:
        """Combine the first `size` elements of all PEs into `target`, in the order of the PEs.

        Args:
            target: symmetric array, which may be `source`, but not overlap it otherwise.
            source: symmetric array.
            op: one of `OP`.
            size: number of elements; None for as many as both have.
            team: None for all PEs.

        Raises:
            conduit.BadRequest: a wrong argument.
            extended.CollectiveMismatch: sizes or operations differ.
        """
        return self._reduce("pe.reduce", target, source, op, size, team)

    @public("pe")
    def and_reduce(self, target: Any, source: Any, size: Any = None, team: Any = None) -> Any:
        """`reduce` by and."""
        return self._reduce("pe.and_reduce", target, source, "and", size, team)

    @public("pe")
    def or_reduce(self, target: Any, source: Any, size: Any = None, team: Any = None) -> Any:
        """`reduce` by or."""
        return self._reduce("pe.or_reduce", target, source, "or", size, team)

    @public("pe")
    def xor_reduce(self, target: Any, source: Any, size: Any = None, team: Any = None) -> Any:
        """`reduce` by xor."""
        return self._reduce("pe.xor_reduce", target, source, "xor", size, team)

    @public("pe")
    def max_reduce(self, target: Any, source: Any, size: Any = None, team: Any = None) -> Any:
        """`reduce` by max."""
        return self._reduce("pe.max_reduce", target, source, "max", size, team)

    @public("pe")
    def min_reduce(self, target: Any, source: Any, size: Any = None, team: Any = None) -> Any:
        """`reduce` by min."""
        return self._reduce("pe.min_reduce", target, source, "min", size, team)

    @public("pe")
    def sum_reduce(self, target: Any, source: Any, size: Any = None, team: Any = None) -> Any:
        """`reduce` by sum."""
        return self._reduce("pe.sum_reduce", target, source, "sum", size, team)

    @public("pe")
    def prod_reduce(self, target: Any, source: Any, size: Any = None, team: Any = None) -> Any:
        """`reduce` by prod."""
        return self._reduce("pe.prod_reduce", target, source, "prod", size, team)
