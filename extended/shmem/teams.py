"""Teams: some of the PEs, numbered anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

import conduit
import extended
from conduit.words import is_a, many
from extended.front_ends import integer, name_calls, public, shown
from extended.shmem import arguments
from extended.shmem.meetings import meet

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import TracebackType


_CONFIG = ("num_contexts",)

name_calls("split", ["team.split_strided"])
name_calls("destroy", ["team.destroy"])


@attrs.define(eq=False)
class TeamState:
    """What all aliases of a team share.

    Attributes:
        members: the team of the extended layer.
        x: the extended layer.
        open: makes a context of a team; takes the name of the call, options and the team.
        config: as given when it was made.
        predefined: whether it cannot be destroyed.
        ended: whether it was destroyed.
    """

    members: extended.Team
    x: extended.Extended
    open: Callable[[str, Any, ShmemTeam], Any]
    config: dict[str, int]
    predefined: bool = False
    ended: bool = False


class ShmemTeam:
    """Some PEs; get one by ``await team.split_strided(...)``, from `pe.TEAM_WORLD` on.

    Args:
        state: what its aliases share; None of the invalid team.
    """

    _instead: ClassVar = {
        **dict.fromkeys(("split", "split_2d"), "write `await team.split_strided(start, stride, size)`"),
        **dict.fromkeys(("rank", "my_rank"), "write `team.my_pe()`"),
        **dict.fromkeys(("size", "num_pes"), "write `team.n_pes()`"),
        "barrier": "write `await team.sync()`",
        "free": "write `await team.destroy()`",
    }

    def __init__(self, state: TeamState | None = None) -> None:
        self._state = state

    def _live(self) -> TeamState | None:
        return None if self._state is None or self._state.ended else self._state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShmemTeam) and self._live() is other._live()

    def __hash__(self) -> int:
        return hash(id(self._live()))

    def __bool__(self) -> bool:
        return self._live() is not None

    def __repr__(self) -> str:
        state = self._live()
        return f"<Team, PE {state.members.rank} of {state.members.size}>" if state else "<Team invalid>"

    def alias(self) -> ShmemTeam:
        """Return another name of the same team."""
        return ShmemTeam(self._state)

    def _valid(self, call: str) -> TeamState:
        state = self._live()
        if state is None:
            why = "is invalid on this PE" if self._state is None else "was destroyed"
            raise conduit.BadRequest(f"{call}: the team {why}; ask `if team:` before its use")
        return state

    def members(self, call: str) -> extended.Team:
        """Return the team of the extended layer.

        Raises:
            conduit.BadRequest: invalid, or destroyed.
        """
        return self._valid(call).members

    def my_pe(self) -> int:
        """Return the number of this PE in the team; plain."""
        return self.members("team.my_pe").rank

    def n_pes(self) -> int:
        """Return the number of PEs of the team; plain."""
        return self.members("team.n_pes").size

    def get_config(self) -> dict[str, int]:
        """Return what the team was made with; plain."""
        return dict(self._valid("team.get_config").config)

    def translate_pe(self, pe: Any = None, team: ShmemTeam | None = None) -> int:
        """Return the number that a PE of this team has in another one, -1 where it is no member; plain.

        Args:
            pe: in this team; None for this PE.
            team: the other team; None for all PEs.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        call = "team.translate_pe"
        state = self._valid(call)
        here = state.members
        number = here.rank if pe is None else arguments.pe_number(call, pe, here.size)
        there = state.x if team is None else check_team(call, team).members(call)
        found = there.rank_of(here.job_rank(number))
        return -1 if found is None else found

    @public("team")
    def split_strided(
        self,
        start: Any = 0,
        stride: Any = 1,
        size: Any = None,
        config: Mapping[str, int] | None = None,
        **kwargs: int,
    ) -> Coroutine[Any, Any, ShmemTeam]:
        """Make a team of some PEs of this one, all of which call it with the same arguments.

        Args:
            start: the first PE.
            stride: from one PE to the next; 0 for a team of size=1 alone.
            size: number of PEs; None for as many as there are.
            config: of it num_contexts, which changes nothing.
            **kwargs: the same.

        Returns:
            the team, a false one on a PE that is no member.

        Raises:
            conduit.BadRequest: a wrong argument; or PEs gave different ones.
        """
        call = "team.split_strided"
        state = self._valid(call)
        members = state.members
        first = arguments.pe_number(call, start, members.size, "start")
        step = integer(call, "stride", stride, -arguments.MOST, arguments.MOST, "a distance of PEs, not 0")
        if not step and size is None:
            raise conduit.BadRequest(f"{call}: stride=0 names one PE again and again; give another, or size=1")
        possible = range(first, members.size if step > 0 else -1, step) if step else range(first, first + 1)
        what = f"1 to {len(possible)}, the PEs that there are from {first} on by {step}"
        if len(possible) == 1:
            what = f"1: there is no PE but {first} from {first} on by {step}" if step else "1, as with stride=0"
        count = len(possible) if size is None else integer(call, "size", size, 1, len(possible), what)
        if not isinstance(config, Mapping | None):
            raise conduit.BadRequest(f"{call}: config={shown(config)} {is_a(config)}; give a dict with num_contexts")
        made = {"num_contexts": 0}
        for name, value in {**(config or {}), **kwargs}.items():
            if str(name).lower() not in _CONFIG:
                raise conduit.BadRequest(f"{call}: there is no {shown(name)} in config; give num_contexts")
            key = str(name).lower()
            made[key] = integer(call, key, value, 0, arguments.MOST, "a number of contexts, 0 or more")
        chosen = possible[:count]
        return _split(state, chosen, made)

    @public("team")
    def create_ctx(self, options: Any = 0) -> Any:
        """Make a context that counts PEs in this team; arguments as of `pe.Ctx.create`."""
        return self._valid("team.create_ctx").open("team.create_ctx", options, self)

    @public("team")
    def sync(self) -> Any:
        """Wait until all PEs of the team are here; completes no put."""
        return meet(self.members("team.sync"), "team.sync")

    @public("team")
    def destroy(self) -> Any:
        """End the team and all its aliases; collective.  The predefined ones stay."""
        return self._destroy(self._live())

    async def _destroy(self, state: TeamState | None) -> None:
        if state is not None and not state.predefined:
            state.ended = True
            await state.members.destroy(called="team.destroy")

    async def __aenter__(self) -> ShmemTeam:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._destroy(self._live())


async def _split(state: TeamState, chosen: range, config: dict[str, int]) -> ShmemTeam:
    rank = state.members.rank
    inside = rank in chosen
    made = await state.members.split(
        0 if inside else None, key=chosen.index(rank) if inside else 0, called="team.split_strided"
    )
    if made is None:
        return ShmemTeam()
    if found := _other_than(made, state.members, chosen):
        raise conduit.BadRequest(
            f"team.split_strided: this PE asked for {found}; give the same start, stride and size on every PE of the "
            "team"
        )
    return ShmemTeam(TeamState(made, state.x, state.open, config))


def _other_than(made: extended.Team, members: extended.Team, chosen: range) -> str:
    """Return what a PE asked for and what came, where these are not the same PEs in the same order; else ""."""
    if made.size != len(chosen):
        return f"{many(len(chosen), 'PE')} and {made.size} came"
    place = chosen.index(members.rank)
    if made.rank != place:
        return f"another order of the PEs: it would be PE {place} of the team, and is PE {made.rank}"
    for number, asked in enumerate(chosen):
        if made.job_rank(number) != members.job_rank(asked):
            came = members.rank_of(made.job_rank(number))
            return f"PE {asked} as PE {number} of the team, and PE {came} came"
    return ""


def check_team(call: str, team: Any) -> ShmemTeam:
    """Return a team.

    Raises:
        conduit.BadRequest: none.
    """
    if not isinstance(team, ShmemTeam):
        raise conduit.BadRequest(f"{call}: team={shown(team)} is no team; give one, or None")
    return team
