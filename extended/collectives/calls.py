"""The collective calls, on the layer itself and on teams, blocking and with handles.

Made when called: every argument is checked then, and again looked at when the call begins.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import trio

from extended.calls import public
from extended.collectives import plans
from extended.dropped import warn_of_dropped_result

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import SupportsIndex

    import numpy.typing as npt

    from conduit import Endpoint
    from extended.collectives.algorithms.model import Model
    from extended.collectives.engine import CollectiveEngine
    from extended.collectives.plans import Plan
    from extended.collectives.team_calls import TeamCalls
    from extended.events import Events, Handle
    from extended.topology import Topology

    Op = str | Callable[[Any, Any], Any]


def _kind(call: str) -> str:
    return call.removesuffix("_nb")


def _from_root(call: str) -> Callable[..., Plan]:
    def plan(
        team: Collectives,
        array: object = None,
        root: object = 0,
        *,
        out: object = None,
        algorithm: object = None,
        called: str = "",
    ) -> Plan:
        team.check_usable(called or call)
        return plans.from_root(team, call, _kind(call), array, root, out, algorithm)

    return plan


def _of_rooted_blocks(call: str) -> Callable[..., Plan]:
    def plan(
        team: Collectives,
        array: object,
        root: object = 0,
        *,
        out: object = None,
        algorithm: object = None,
        called: str = "",
    ) -> Plan:
        team.check_usable(called or call)
        return plans.of_blocks(team, call, _kind(call), array, out, algorithm, root)

    return plan


def _of_blocks(call: str) -> Callable[..., Plan]:
    def plan(
        team: Collectives, array: object, *, out: object = None, algorithm: object = None, called: str = ""
    ) -> Plan:
        team.check_usable(called or call)
        return plans.of_blocks(team, call, _kind(call), array, out, algorithm)

    return plan


def _of_rooted_operands(call: str) -> Callable[..., Plan]:
    def plan(
        team: Collectives,
        array: object,
        op: object = "sum",
        root: object = 0,
        *,
        out: object = None,
        algorithm: object = None,
    ) -> Plan:
        team.check_usable(call)
        return plans.of_operands(team, call, _kind(call), array, op, out, algorithm, root)

    return plan


def _of_operands(call: str) -> Callable[..., Plan]:
    def plan(
        team: Collectives,
        array: object,
        op: object = "sum",
        *,
        out: object = None,
        algorithm: object = None,
        called: str = "",
    ) -> Plan:
        team.check_usable(called or call)
        return plans.of_operands(team, call, _kind(call), array, op, out, algorithm)

    return plan


# How the arguments of each call become a plan: first when it is made, to refuse wrong ones, and again when it begins.
_broadcast = _from_root("broadcast")
_broadcast_nb = _from_root("broadcast_nb")
_scatter = _from_root("scatter")
_scatter_nb = _from_root("scatter_nb")
_gather = _of_rooted_blocks("gather")
_gather_nb = _of_rooted_blocks("gather_nb")
_all_gather = _of_blocks("all_gather")
_all_gather_nb = _of_blocks("all_gather_nb")
_all_to_all = _of_blocks("all_to_all")
_all_to_all_nb = _of_blocks("all_to_all_nb")
_reduce = _of_rooted_operands("reduce")
_reduce_nb = _of_rooted_operands("reduce_nb")
_all_reduce = _of_operands("all_reduce")
_all_reduce_nb = _of_operands("all_reduce_nb")
_scan = _of_operands("scan")
_scan_nb = _of_operands("scan_nb")


class Collectives:
    """The collective calls of one team; a base of `Team`.

    Attributes:
        ep: the rank's endpoint.
        topology: the team's ranks by host.
    """

    ep: Endpoint
    topology: Topology
    _events: Events
    _collectives: CollectiveEngine
    _team_calls: TeamCalls

    @property
    def rank(self) -> int:
        """This rank's number in the team."""
        raise NotImplementedError

    @property
    def eager_bytes(self) -> int:
        """The largest data that collectives send at once, bytes."""
        return self._collectives.send_queue.eager_bytes

    @property
    def model(self) -> Model | None:
        """What the network says of its messages, by which algorithms are chosen; None where it says nothing."""
        return self._collectives.model

    def check_usable(self, call: str) -> None:
        """Refuse a call on a team that is no more; see `Team`."""
        raise NotImplementedError

    async def _poll_alone(self, call: str) -> None:
        """Poll before a call of a team of one, which sends nothing and waits for none.

        So its calls too can be cancelled before they have done anything, and take time and turns.

        Raises:
            conduit.BadRequest: another task has ended the team meanwhile.
        """
        if self.topology.size == 1:
            await self.ep.poll()
            self.check_usable(call)

    async def _do(self, plan: Plan, called: str = "") -> Any:
        return await self._collectives.finish(self._team_calls, await self._begin(plan, called, waited=True))

    async def _begin(self, plan: Plan, called: str = "", *, waited: bool = False) -> Any:
        await self._poll_alone(plan.kind)
        work, copied = plan.build()
        self._collectives.send_queue.charge(0, copied)
        return await self._collectives.begin(
            self._team_calls,
            plan.kind,
            work,
            root=plan.root,
            asked=plan.asked,
            used=plan.used,
            text=plan.text,
            waited=waited,
            called=called,
        )

    async def _begin_with_handle(self, call: str, plan: Plan) -> Handle[Any]:
        begun = await self._begin(plan)
        await trio.lowlevel.checkpoint_if_cancelled()  # not before, since other ranks depend on this one's part
        return self._events.handle(call, begun, begun.outcome)

    @public(_broadcast)
    async def broadcast(
        self,
        array: npt.ArrayLike | None = None,
        root: SupportsIndex = 0,
        *,
        out: Any = None,
        algorithm: str | None = None,
        called: str = "",
    ) -> Any:
        """Give the root's array to all ranks.

        Args:
            array: what the root sends: an array, a number, a list; ignored elsewhere.
            root: rank of the team.
            out: where the result goes, which may be `array`; by default a new array.
            algorithm: one of "eager", "flat", "tree", "two_level", "pipelined"; by default chosen.
            called: of a front end: what its user has called, as "pe.fcollect", which reports are to name.

        Returns:
            the root's array, on every rank; a number in gives a numpy scalar.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        result = await self._do(_broadcast(self, array, root, out=out, algorithm=algorithm, called=called), called)
        # As after MPI_Bcast the array would be the result, it is looked at whether the program takes it for that.
        if out is None and self.rank != index(root):
            warn_of_dropped_result(self.ep, "broadcast", array, result)
        return result

    @public(_broadcast_nb)
    async def broadcast_nb(
        self,
        array: npt.ArrayLike | None = None,
        root: SupportsIndex = 0,
        *,
        out: Any = None,
        algorithm: str | None = None,
    ) -> Handle[Any]:
        """Begin a broadcast and return its handle, which gives the result; arguments as `broadcast`.

        Arrays stay in use until the handle is done.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        plan = _broadcast_nb(self, array, root, out=out, algorithm=algorithm)
        return await self._begin_with_handle("broadcast_nb", plan)

    @public(_scatter)
    async def scatter(
        self,
        array: npt.ArrayLike | None = None,
        root: SupportsIndex = 0,
        *,
        out: Any = None,
        algorithm: str | None = None,
        called: str = "",
    ) -> Any:
        """Give each rank its row of the root's array.

        Args:
            array: at the root, an array with one row for each rank; ignored elsewhere.
            root: rank of the team.
            out: where the result goes; by default a new array.
            algorithm: one of "flat", "tree", "two_level"; by default chosen.
            called: of a front end: what its user has called, as "pe.fcollect", which reports are to name.

        Returns:
            this rank's row.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        return await self._do(_scatter(self, array, root, out=out, algorithm=algorithm, called=called), called)

    @public(_scatter_nb)
    async def scatter_nb(
        self,
        array: npt.ArrayLike | None = None,
        root: SupportsIndex = 0,
        *,
        out: Any = None,
        algorithm: str | None = None,
    ) -> Handle[Any]:
        """Begin a scatter and return its handle, which gives the result; arguments as `scatter`.

        Arrays stay in use until the handle is done.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        plan = _scatter_nb(self, array, root, out=out, algorithm=algorithm)
        return await self._begin_with_handle("scatter_nb", plan)

    @public(_gather)
    async def gather(
        self,
        array: npt.ArrayLike,
        root: SupportsIndex = 0,
        *,
        out: Any = None,
        algorithm: str | None = None,
        called: str = "",
    ) -> Any:
        """Collect the arrays of all ranks at the root.

        Args:
            array: of the same shape and dtype on every rank.
            root: rank of the team.
            out: where the result goes at the root; by default a new array.
            algorithm: one of "flat", "tree", "two_level"; by default chosen.
            called: of a front end: what its user has called, as "pe.fcollect", which reports are to name.

        Returns:
            at the root an array with one row for each rank, None elsewhere.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        return await self._do(_gather(self, array, root, out=out, algorithm=algorithm, called=called), called)

    @public(_gather_nb)
    async def gather_nb(
        self, array: npt.ArrayLike, root: SupportsIndex = 0, *, out: Any = None, algorithm: str | None = None
    ) -> Handle[Any]:
        """Begin a gather and return its handle, which gives the result; arguments as `gather`.

        Arrays stay in use until the handle is done.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        plan = _gather_nb(self, array, root, out=out, algorithm=algorithm)
        return await self._begin_with_handle("gather_nb", plan)

    @public(_all_gather)
    async def all_gather(
        self, array: npt.ArrayLike, *, out: Any = None, algorithm: str | None = None, called: str = ""
    ) -> Any:
        """Collect the arrays of all ranks on every rank.

        Args:
            array: of the same shape and dtype on every rank.
            out: where the result goes; by default a new array.
            algorithm: one of "dissemination", "ring", "tree", "two_level"; by default chosen.
            called: of a front end: what its user has called, as "pe.fcollect", which reports are to name.

        Returns:
            an array with one row for each rank.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        return await self._do(_all_gather(self, array, out=out, algorithm=algorithm, called=called), called)

    @public(_all_gather_nb)
    async def all_gather_nb(
        self, array: npt.ArrayLike, *, out: Any = None, algorithm: str | None = None
    ) -> Handle[Any]:
        """Begin an all_gather and return its handle, which gives the result; arguments as `all_gather`.

        Arrays stay in use until the handle is done.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        plan = _all_gather_nb(self, array, out=out, algorithm=algorithm)
        return await self._begin_with_handle("all_gather_nb", plan)

    @public(_all_to_all)
    async def all_to_all(
        self, array: npt.ArrayLike, *, out: Any = None, algorithm: str | None = None, called: str = ""
    ) -> Any:
        """Send each rank its row, and collect the rows that all ranks have for this one.

        Args:
            array: one row for each rank; of the same shape and dtype on every rank.
            out: where the result goes, which may be `array`; by default a new array.
            algorithm: one of "pairwise", "dissemination", "spread"; by default chosen.
            called: of a front end: what its user has called, as "pe.fcollect", which reports are to name.

        Returns:
            an array with one row from each rank.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        return await self._do(_all_to_all(self, array, out=out, algorithm=algorithm, called=called), called)

    @public(_all_to_all_nb)
    async def all_to_all_nb(
        self, array: npt.ArrayLike, *, out: Any = None, algorithm: str | None = None
    ) -> Handle[Any]:
        """Begin an all_to_all and return its handle, which gives the result; arguments as `all_to_all`.

        Arrays stay in use until the handle is done.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        plan = _all_to_all_nb(self, array, out=out, algorithm=algorithm)
        return await self._begin_with_handle("all_to_all_nb", plan)

    @public(_reduce)
    async def reduce(
        self,
        array: npt.ArrayLike,
        op: Op = "sum",
        root: SupportsIndex = 0,
        *,
        out: Any = None,
        algorithm: str | None = None,
    ) -> Any:
        """Combine the arrays of all ranks at the root, in rank order.

        Args:
            array: of the same shape and dtype on every rank.
            op: sum, prod, min, max, and, or, xor (numpy's operations in the dtype of `array`), a binary ufunc, or an
                associative function of two whole arrays.  A sum of booleans is a boolean; count with `.astype(int)`.
            root: rank of the team.
            out: where the result goes at the root, which may be `array`; by default a new array.
            algorithm: one of "flat", "tree", "two_level", "pipelined"; by default chosen.

        Returns:
            at the root the combined array, a numpy scalar where `array` is a number; None elsewhere.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        return await self._do(_reduce(self, array, op, root, out=out, algorithm=algorithm))

    @public(_reduce_nb)
    async def reduce_nb(
        self,
        array: npt.ArrayLike,
        op: Op = "sum",
        root: SupportsIndex = 0,
        *,
        out: Any = None,
        algorithm: str | None = None,
    ) -> Handle[Any]:
        """Begin a reduce and return its handle, which gives the result; arguments as `reduce`.

        Arrays stay in use until the handle is done.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        plan = _reduce_nb(self, array, op, root, out=out, algorithm=algorithm)
        return await self._begin_with_handle("reduce_nb", plan)

    @public(_all_reduce)
    async def all_reduce(
        self, array: npt.ArrayLike, op: Op = "sum", *, out: Any = None, algorithm: str | None = None, called: str = ""
    ) -> Any:
        """Combine the arrays of all ranks, in rank order, on every rank.

        Args:
            array: of the same shape and dtype on every rank.
            op: sum, prod, min, max, and, or, xor (numpy's operations in the dtype of `array`), a binary ufunc, or an
                associative function of two whole arrays.  A sum of booleans is a boolean; count with `.astype(int)`.
            out: where the result goes, which may be `array`; by default a new array.
            algorithm: one of "dissemination", "tree", "two_level", "pipelined"; by default chosen.
            called: of a front end: what its user has called, as "pe.fcollect", which reports are to name.

        Returns:
            the combined array, the same bits on every rank; a numpy scalar where `array` is a number.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        result = await self._do(_all_reduce(self, array, op, out=out, algorithm=algorithm, called=called), called)
        if out is None:
            warn_of_dropped_result(self.ep, "all_reduce", array, result)
        return result

    @public(_all_reduce_nb)
    async def all_reduce_nb(
        self, array: npt.ArrayLike, op: Op = "sum", *, out: Any = None, algorithm: str | None = None
    ) -> Handle[Any]:
        """Begin an all_reduce and return its handle, which gives the result; arguments as `all_reduce`.

        Arrays stay in use until the handle is done.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        plan = _all_reduce_nb(self, array, op, out=out, algorithm=algorithm)
        return await self._begin_with_handle("all_reduce_nb", plan)

    @public(_scan)
    async def scan(self, array: npt.ArrayLike, op: Op = "sum", *, out: Any = None, algorithm: str | None = None) -> Any:
        """Combine the arrays of this rank and the ranks before it, in rank order.

        Args:
            array: of the same shape and dtype on every rank.
            op: sum, prod, min, max, and, or, xor (numpy's operations in the dtype of `array`), a binary ufunc, or an
                associative function of two whole arrays.  A sum of booleans is a boolean; count with `.astype(int)`.
            out: where the result goes, which may be `array`; by default a new array.
            algorithm: one of "dissemination", "pipelined"; by default chosen.

        Returns:
            the combined array of ranks 0 to this one; a numpy scalar where `array` is a number.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        return await self._do(_scan(self, array, op, out=out, algorithm=algorithm))

    @public(_scan_nb)
    async def scan_nb(
        self, array: npt.ArrayLike, op: Op = "sum", *, out: Any = None, algorithm: str | None = None
    ) -> Handle[Any]:
        """Begin a scan and return its handle, which gives the result; arguments as `scan`.

        Arrays stay in use until the handle is done.

        Raises:
            conduit.BadRequest: a wrong argument, or a team that is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.
        """
        plan = _scan_nb(self, array, op, out=out, algorithm=algorithm)
        return await self._begin_with_handle("scan_nb", plan)
