"""Teams: some ranks of the job, numbered anew, with barriers and collectives of their own.

A team is told apart in messages by two numbers: its first rank in the job, and a number that this rank gives out once.
Every rank offers a number of its own in the all-gather of colors and keys by which a team is made, so that no further
message is needed.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, ClassVar

import numpy as np

import conduit
from conduit.words import many
from extended import checks
from extended.calls import public
from extended.collectives.call import Work
from extended.collectives.calls import Collectives
from extended.collectives.operands import ResultBuffer, as_bytes
from extended.of_others import OF_TEAMS
from extended.program_lines import program_line
from extended.sealed import refuse_copy
from extended.topology import topology

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any, NoReturn, SupportsIndex

    from conduit import Endpoint
    from extended.barrier import Barrier, Barriers
    from extended.collectives.engine import CollectiveEngine
    from extended.events import Events

WIDEST = 1 << 63


class SharedParts:
    """What all teams of one rank share.

    Attributes:
        ep: the rank's endpoint.
        events: its operations.
        collectives: its collective calls.
        barriers: its barriers.

    Args:
        ep: the rank's endpoint.
        events: its operations.
        collectives: its collective calls.
        barriers: its barriers.
    """

    def __init__(self, ep: Endpoint, events: Events, collectives: CollectiveEngine, barriers: Barriers) -> None:
        self.ep = ep
        self.events = events
        self.collectives = collectives
        self.barriers = barriers
        self._offered = 0

    def offer(self) -> int:
        """Return a number that this rank has not offered before."""
        self._offered += 1
        return self._offered


def _for_split(team: Team, color: object, key: object = 0, *, called: str = "") -> None:
    team.check_usable("split")
    for name, value in (("color", color), ("key", key)):
        if name == "key" or value is not None:
            number = checks.integer("split", name, value)
            if not -WIDEST <= number < WIDEST:
                raise conduit.BadRequest(
                    f"split: {name}={checks.shown(number)} is wider than 64 bits; give a smaller one"
                )


def _for_destroy(team: Team, *, called: str = "") -> None:
    team.check_usable("destroy")
    team.check_destructible()


def _for_barrier(call: str) -> Callable[..., None]:
    def check(team: Team, id: object = None, *, called: str = "") -> None:
        team.check_usable(called if called and call == "barrier" else call)  # of a notify it is the wait
        checks.barrier_id(call, id)

    return check


def _of_meetings(identity: tuple[int, int]) -> tuple[int, int]:
    """Return the identity of a team's barrier for calls of a layer above, by that of its barrier."""
    lead, count = identity
    return lead, ~count


class Team(Collectives):
    """Some ranks of the job; made by `split`, and `Extended` is the team of all.

    Attributes:
        ep: the rank's endpoint.
        topology: the team's ranks by host.
    """

    _instead: ClassVar = OF_TEAMS
    _called: ClassVar = "x"
    _for_layers: ClassVar = frozenset(
        {
            "begin_barrier",
            "check_destructible",
            "check_usable",
            "eager_bytes",
            "end_barrier",
            "give_up",
            "meet",
            "model",
            "refuse_between",
            "title_barriers",
        }
    )
    """Public for layers above, not for programs: no hint names them."""

    def __init__(self, parts: SharedParts, identity: tuple[int, int], members: Sequence[int]) -> None:
        ep = parts.ep
        self.ep = ep
        self._parts = parts
        self._events = parts.events
        self._collectives = parts.collectives
        self._members = members
        self._ranks: dict[int, int] | None = None  # made at first use
        self._rank = members.index(ep.rank)
        hosts = ep.hosts
        self.topology = topology(hosts if isinstance(members, range) else tuple(hosts[rank] for rank in members))
        self._team_calls = parts.collectives.open(identity, members, self.topology, self._rank)
        self._barrier = parts.barriers.make(identity, members, self.topology, self._rank)
        self._meetings: Barrier | None = None  # of calls of a layer above
        self._ending = False  # a task of this rank is in `destroy`
        self._destroyed = False

    def __repr__(self) -> str:
        if self._destroyed:
            return f"<{type(self).__name__}, destroyed>"
        return f"<{type(self).__name__} of {many(len(self._members), 'rank')}, here rank {self._rank}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be copied or pickled, as the endpoint is.

        Raises:
            TypeError: always.
        """
        refuse_copy(self.ep)

    # ---------------------------------------------------------------------------------------------------------- ranks

    @property
    def rank(self) -> int:
        """This rank's number in the team.

        Raises:
            conduit.BadRequest: the team is destroyed.
        """
        self._check_alive("rank")
        return self._rank

    @property
    def size(self) -> int:
        """The number of ranks of the team.

        Raises:
            conduit.BadRequest: the team is destroyed.
        """
        self._check_alive("size")
        return len(self._members)

    def job_rank(self, rank: SupportsIndex) -> int:
        """Return the rank in the job of a rank of the team.

        Raises:
            conduit.BadRequest: `rank` is none of the team's, or the team is destroyed.
        """
        self._check_alive("job_rank")
        number = checks.integer("job_rank", "rank", rank)
        if not 0 <= number < len(self._members):
            raise conduit.BadRequest(
                f"job_rank: rank={checks.shown(number)} is no rank of this team; its ranks are 0 to "
                f"{len(self._members) - 1}"
            )
        return self._members[number]

    def rank_of(self, job_rank: SupportsIndex) -> int | None:
        """Return the rank in the team of a rank of the job, None for one that is no member.

        Raises:
            conduit.BadRequest: `job_rank` is no rank of the job, or the team is destroyed.
        """
        self._check_alive("rank_of")
        number = checks.integer("rank_of", "job_rank", job_rank)
        if not 0 <= number < self.ep.size:
            raise conduit.BadRequest(
                f"rank_of: job_rank={checks.shown(number)} is no rank of this job; its ranks are 0 to "
                f"{self.ep.size - 1}"
            )
        if self._ranks is None:
            self._ranks = {member: rank for rank, member in enumerate(self._members)}
        return self._ranks.get(number)

    # --------------------------------------------------------------------------------------------------------- refusals

    def check_usable(self, call: str) -> None:
        """Refuse a call on a team that is destroyed or broken.

        Raises:
            conduit.BadRequest: it is.
            conduit.ConduitError: another rank has broken it, and this call is the first that tells.
        """
        self._check_alive(call)
        if self._team_calls.broken is not None and self._team_calls.is_broken():
            known = self._team_calls.told_broken
            error = self._broken_error(call)
            raise conduit.BadRequest(str(error)) if known else error

    def check_destructible(self) -> None:
        """Refuse to destroy a team between notify and wait, and the team of all.

        Raises:
            conduit.BadRequest: it is one of these.
        """
        if isinstance(self._members, range):
            raise conduit.BadRequest(
                "destroy: the team of all ranks lasts as long as the job; destroy teams made by split"
            )
        if self._barrier.notified:
            raise conduit.BadRequest("destroy: this rank has notified the team's barrier and not waited; wait first")

    def _broken_error(self, call: str) -> conduit.ConduitError:
        """Return what is raised in a call that meets ranks who do not come; from now on the program knows it."""
        assert self._team_calls.broken is not None
        self._team_calls.told_broken = True
        return conduit.ConduitError(f"{call.partition('(')[0]}: this team is broken: {self._team_calls.broken.text}")

    def _check_alive(self, call: str) -> None:
        if self._destroyed or (self._ending and call not in ("rank", "size", "job_rank", "rank_of")):
            raise conduit.BadRequest(f"{call}: this team was destroyed; make a new one with split")

    # ----------------------------------------------------------------------------------------------- making and ending

    @public(_for_split)
    async def split(self, color: SupportsIndex | None, key: SupportsIndex = 0, *, called: str = "") -> Team | None:
        """Make new teams of this one's ranks, one for each color; collective over this team.

        Args:
            color: ranks that give the same integer form a team; None: no member of any.
            key: ranks of the new team are in the order of their keys, then of their ranks in this one.
            called: of a front end: what its user has called, for reports.

        Returns:
            the team, None where color is None.

        Raises:
            conduit.BadRequest: a wrong argument, or this team is broken or destroyed.
            extended.CollectiveMismatch: ranks make different calls.

        Source: GASNet-EX, `gex_TM_Split`.
        """
        _for_split(self, color, key)
        await self._poll_alone("split")
        mine = np.array([color is not None, index(color or 0), index(key), self._parts.offer()], np.int64)
        result = ResultBuffer(mine.dtype, (len(self._members), 4), None, number=False)
        made = as_bytes(result.array).reshape(len(self._members), mine.nbytes)
        work = Work(given=as_bytes(mine), made=made, result=result)
        call = await self._collectives.begin(self._team_calls, "split", work, used="dissemination", called=called)
        rows: list[list[int]] = (await self._collectives.finish(self._team_calls, call)).tolist()
        if color is None:
            return None
        chosen = [rank for rank, (member, other, _, _) in enumerate(rows) if member and other == index(color)]
        chosen.sort(key=lambda rank: rows[rank][2])  # stable: of equal keys the lower rank comes first
        members = tuple(self._members[rank] for rank in chosen)
        return Team(self._parts, (members[0], rows[chosen[0]][3]), members)

    @public(_for_destroy)
    async def destroy(self, *, called: str = "") -> None:
        """End the team, after all that was begun on it; collective, and every later use is refused.

        Args:
            called: of a front end: what its user has called, for reports.

        Raises:
            conduit.BadRequest: the team of all, a broken or destroyed team, or one between notify and wait.
            extended.CollectiveMismatch: ranks make different calls.
        """
        await self._poll_alone("destroy")
        _for_destroy(self)
        self._ending = True
        try:
            await self._collectives.settle(self._team_calls)
            call = await self._collectives.begin(
                self._team_calls, "destroy", Work(), used="dissemination", called=called
            )
            await self._collectives.finish(self._team_calls, call)
        finally:
            self._ending = False
        self._destroyed = True
        self._collectives.close(self._team_calls)
        self._parts.barriers.drop(self._team_calls.identity)
        if self._meetings is not None:
            self._parts.barriers.drop(_of_meetings(self._team_calls.identity))

    # --------------------------------------------------------------------------------------------------------- barrier

    @public(_for_barrier("barrier"))
    async def barrier(self, id: SupportsIndex | None = None, *, called: str = "") -> None:
        """Wait until all ranks of the team have come here; cancelled in its wait, it is ended by `barrier_wait`.

        Args:
            id: 32 bits, signed or unsigned, the same on all ranks; None matches any.
            called: of a front end: the call that its user made, as "a.gather_to", for which reports say it waits.

        Raises:
            conduit.BadRequest: `id` is no such integer, or this rank is between notify and wait.
            conduit.ConduitError: a collective call broke the team, and some ranks do not come.
            extended.BarrierMismatch: ranks gave different ids; the barrier can be used again.

        Source: GASNet specification 1.8, `gasnet_barrier_notify` and `gasnet_barrier_wait`.
        """
        call = called.partition("(")[0] or "barrier"
        self.check_usable(called or "barrier")
        name = checks.barrier_id("barrier", id)
        await self._barrier.notify(call, name, called)
        await self._end_barrier(call, name)

    @public(_for_barrier("barrier_notify"))
    async def barrier_notify(self, id: SupportsIndex | None = None, *, called: str = "") -> None:
        """Say that this rank has come; may wait for a slot of the conduit, never for other ranks.

        It cannot be cancelled.  Any later poll of this rank carries the barrier forward.

        Args:
            id: as for `barrier`.
            called: of a front end: the call in which its user waits for the others, as "t.wait", for reports.

        Raises:
            conduit.BadRequest: `id` is no such integer, or this rank has notified and not waited.
        """
        self.check_usable("barrier_notify")
        await self._barrier.notify("barrier_notify", checks.barrier_id("barrier_notify", id), called)
        self._barrier.notified_at = program_line()

    @public(_for_barrier("barrier_wait"))
    async def barrier_wait(self, id: SupportsIndex | None = None) -> None:
        """Wait until all ranks have notified; cancelled, it can be called again.

        Args:
            id: as for `barrier`; compared with the id that the ranks notified with.

        Raises:
            conduit.BadRequest: `id` is no such integer, or this rank has not notified.
            conduit.ConduitError: a collective call broke the team, and some ranks do not come.
            extended.BarrierMismatch: ranks gave different ids, or this call another one.
        """
        self.check_usable("barrier_wait")
        await self._end_barrier("barrier_wait", checks.barrier_id("barrier_wait", id))

    @public(_for_barrier("barrier_try"))
    async def barrier_try(self, id: SupportsIndex | None = None) -> bool:
        """Poll once, and end the barrier if all ranks have notified.

        Args:
            id: as for `barrier_wait`.

        Returns:
            whether the barrier has ended.

        Raises:
            conduit.BadRequest: as `barrier_wait`.
            extended.BarrierMismatch: as `barrier_wait`.
        """
        self.check_usable("barrier_try")
        return await self._barrier.attempt("barrier_try", checks.barrier_id("barrier_try", id))

    def title_barriers(self, title: Callable[[], tuple[str, str]]) -> None:
        """Let reports tell of barriers that are parts of calls of a layer above where ranks differ in their number.

        Args:
            title: returns what these calls are, and the last that this rank has made, "" for none; called for reports.
        """
        self._barrier.title = title

    def begin_barrier(self, called: str) -> Coroutine[Any, Any, None]:
        """Do as `barrier_notify` without an id, in the midst of a call of a layer above.

        Args:
            called: the call in which the user waits for the others, as "win.Fence", for errors and reports.
        """
        self.check_usable(called)
        return self._barrier.notify(called, None, called)

    def end_barrier(self, cancelled: str = "", by: str = "") -> Coroutine[Any, Any, None]:
        """Do as `barrier_wait` without an id, in the midst of a call of a layer above.

        Args:
            cancelled: the call that has begun the barrier, with its line, where that was cancelled; for reports.
            by: the call that ends it in the place of that one.
        """
        self.check_usable("barrier_wait")
        if cancelled:
            self._barrier.repeated = f"{cancelled} was cancelled, and {by} ends it: the two are one call for the others"
        return self._end_barrier("barrier_wait", None)

    def meet(self, id: int, called: str) -> Coroutine[Any, Any, None]:
        """Wait until all ranks have come to a call of a layer above, of which no barrier of the program is a part.

        Args:
            id: 32 bits, signed or unsigned, the same on all ranks.
            called: the call that the user made, as "a.gather_to".

        Raises:
            conduit.BadRequest: this rank is in a barrier, or between notify and wait.
            conduit.ConduitError: a collective call broke the team, and some ranks do not come.
            extended.BarrierMismatch: on all ranks, since they gave different ids.
        """
        self.check_usable(called)
        self.refuse_between(called)
        return self._meet(checks.barrier_id(called, id), called)

    def refuse_between(self, called: str) -> None:
        """Refuse a call of a layer above that has a barrier in it, where this rank has come to another one.

        Raises:
            conduit.BadRequest: this rank is in a barrier, or between notify and wait.
        """
        if self._barrier.notified:
            self._barrier.refuse_another(called)

    async def _meet(self, name: int | None, called: str) -> None:
        if self._meetings is None:
            identity = _of_meetings(self._team_calls.identity)
            self._meetings = self._parts.barriers.make(identity, self._members, self.topology, self._rank, named=True)
        await self._meetings.notify(called, name, called)
        if not await self._meetings.wait(called, name, self._team_calls):
            raise self._broken_error(called)

    async def _end_barrier(self, call: str, name: int | None) -> None:
        if not await self._barrier.wait(call, name, self._team_calls):
            raise self._broken_error(self._barrier.called or call)

    def give_up(self, called: str, error: Exception | None = None) -> None:
        """Break the team: a call of a layer above, in which ranks meet more than once, has ended in their midst.

        Made again, it would meet those that are in another part of it.

        Args:
            called: the call, as its user made it.
            error: of a function of the program's that it has called; None: it was cancelled.
        """
        self._collectives.give_up(self._team_calls, called, error)
