"""The barrier: combining inside each host first, dissemination between hosts, by short messages or native puts.

On a host the ranks form a tree: each waits for its children's parts, then sends up.  The first rank of each host joins
the dissemination between the H hosts: in step s host h signals host h + 2**s modulo H, for ceil(log2 H) steps, and when
all steps have arrived everybody has.  Then it releases its tree.

With the signals travels the consensus of ids seen so far.  Merging is idempotent, commutative and associative, so it
does not matter that dissemination brings some parts more than once, nor in which order signals come.

Every team has a barrier of its own, and each signal names its team.  A signal may come before this rank has learned
that it is in the team, and is kept for it.

Two phases alternate.  A rank's signal for phase p + 1 may arrive while this rank is still in phase p, and is kept
apart; one for phase p + 2 cannot, because no rank leaves p + 1 before this rank has begun it.  Within a phase each step
has its own bit, because signals of different steps may overtake one another.

Where the network has native puts, signals are words in memory (`extended.barrier_words`).  Ranks then combine in parts
of the team that need not be hosts, and but for that nothing is different.

Where the network has barriers of its own, those of all ranks go by these (`extended.network_barrier`).

Handlers cannot send.  They list what is to be sent next and ask for progress, which sends it at that same poll.

Source: GASNet specification 1.8, `gasnet_barrier_notify` and `gasnet_barrier_wait`, for ids and phases; dissemination
after D. Hensgen, R. Finkel and U. Manber, Two algorithms for barrier synchronization (1988).
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

import trio

import conduit
from extended.barrier_words import WORD, BarrierWords, Edge, packed, parts_of
from extended.kary_tree import children_of, parent_of
from extended.missing import Missing
from extended.outgoing import RequestQueue
from extended.program_lines import line_here, lines_in
from extended.reporting import RANK, team_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conduit import Endpoint, Token
    from extended.program_lines import SourceLine
    from extended.reporting import ReportSink
    from extended.topology import Topology

    Identity = tuple[int, int]

_NAMED = 3 << 1  # in a signal's code: not 0 where its part has an id
_UP, _DOWN = 62, 63  # step numbers of the signals inside a host; 62 steps would do for 2**62 hosts


class BarrierMismatch(conduit.ConduitError):
    """Ranks gave different ids to one barrier; all ranks hear of it, and the barrier can be used again."""

    __module__ = "extended"  # as programs import it, and as tracebacks are to name it


class Agreement(IntEnum):
    """What the parts of a barrier that were merged so far say of its id."""

    ANONYMOUS = 0
    NAMED = 1
    MISMATCH = 2


class Consensus:
    """The merged ids of some ranks: none, one, or two that differ, of which it keeps an example."""

    __slots__ = ("agreement", "first", "second")

    def __init__(self) -> None:
        self.agreement = Agreement.ANONYMOUS
        self.first = 0
        self.second = 0

    def merge(self, agreement: int, first: int, second: int) -> None:
        """Take in the consensus of others."""
        if agreement == Agreement.ANONYMOUS or self.agreement == Agreement.MISMATCH:
            return
        if self.agreement == Agreement.ANONYMOUS or agreement == Agreement.MISMATCH:
            self.agreement, self.first, self.second = Agreement(agreement), first, second
        elif first != self.first:
            self.agreement, self.second = Agreement.MISMATCH, first


class Breakable(Protocol):
    """What a barrier asks of its team's collective calls.

    Attributes:
        broken: what broke the team, None while it is whole.
    """

    broken: Any

    def is_broken(self) -> bool:
        """Say whether this rank can make calls no more."""


class Phase:
    """What this rank knows of one of the two phases that may be under way.

    Attributes:
        consensus: of all parts that have arrived.
        notified: whether this rank has given its own.
        id: the id it gave.
        children: the ranks below that have sent up, as ranks of the job.
        steps: a bit for each dissemination step that has arrived.
        sent: how many dissemination steps, or signals up, have been sent.
        done: whether all ranks have notified, as far as this rank is to know.
    """

    __slots__ = ("children", "consensus", "done", "id", "notified", "sent", "steps")

    def __init__(self) -> None:
        self.consensus = Consensus()
        self.notified = False
        self.id: int | None = None
        self.children: list[int] = []
        self.steps = 0
        self.sent = 0
        self.done = False

    def arrived(self, source: int, code: int, first: int, second: int) -> None:
        """Take in a signal of a rank of the job."""
        if code & _NAMED:
            self.consensus.merge(code >> 1 & 3, first, second)
        step = code >> 3
        if step == _DOWN:
            self.done = True
        elif step == _UP:
            self.children.append(source)
        else:
            self.steps |= 1 << step

    def steps_in_order(self) -> int:
        """Return how many dissemination steps have arrived with all before them."""
        return (~self.steps & self.steps + 1).bit_length() - 1

    def missing(self, places: BarrierPeers, members: Sequence[int]) -> tuple[int, ...]:
        """Return the ranks of the job whose signals this rank waits for before it can do anything else."""
        if self.done:
            return ()
        if len(self.children) < len(places.children):
            children = (members[child] for child in places.children)
            return tuple(child for child in children if child not in self.children)
        if places.parent is not None:
            return (members[places.parent],)
        # Those of later steps may wait for this rank in turn.
        return tuple(members[origin] for step, origin in enumerate(places.origins) if not self.steps >> step & 1)[:1]


class BarrierPeers:
    """The ranks that a rank sends signals to and gets them from, numbered within the team.

    Attributes:
        parent: the rank above in the host's tree, None for the first of the host.
        children: the ranks below.
        to: the ranks that the first of a host signals, one in each step.
        origins: the ranks that it awaits a signal of, one in each step.

    Args:
        topology: which ranks share a host.
        rank: this rank.
    """

    def __init__(self, topology: Topology, rank: int) -> None:
        groups, here = topology.groups, topology.group_of[rank]
        peers, place = groups[here], topology.place_of[rank]
        parent = parent_of(place)
        self.parent = None if parent is None else peers[parent]
        self.children = tuple(peers[child] for child in children_of(place, len(peers)))
        self.to: tuple[int, ...] = ()
        self.origins: tuple[int, ...] = ()
        if self.parent is None:
            strides = [1 << step for step in range((len(groups) - 1).bit_length())]
            self.to = tuple(groups[(here + stride) % len(groups)][0] for stride in strides)
            self.origins = tuple(groups[(here - stride) % len(groups)][0] for stride in strides)

    def edges(self, members: Sequence[int]) -> list[Edge]:
        """Return the signals that others send this rank; `members` are the team's ranks in the job."""
        from_parent = [] if self.parent is None else [(members[self.parent], _DOWN)]
        from_children = [(members[child], _UP) for child in self.children]
        return [*from_parent, *from_children, *((members[origin], step) for step, origin in enumerate(self.origins))]


class Barrier:
    """A split-phase barrier of the ranks of a team; `Barriers.make` makes it.

    Attributes:
        phases: the two that may be under way.
        here: where words are for the signals of others.
        there: where they are for those of this rank, as far as it has been told.
        called: what the user of a front end waits in, where this is part of another call; "" elsewhere.
        title: returns what its turns are for who uses a layer above, and the last that this rank knows; None elsewhere.
        notified_at: the program's line that has given this rank's part by itself, None where it has waited for it too.
        repeated: which call was cancelled last that another one has ended, in words; "" for none.
    """

    # Of the class, since every barrier is made at the start.
    title: Callable[[], tuple[str, str]] | None = None
    repeated = ""
    _cancelled_at = ""  # the program's line whose wait was

    def __init__(
        self,
        ep: Endpoint,
        barriers: Barriers,
        phases: list[Phase],
        identity: Identity,
        members: Sequence[int],
        places: BarrierPeers,
    ) -> None:
        self._ep = ep
        self._barriers = barriers
        self._identity = identity
        self._members = members
        self._places = places
        self.phases = phases
        edges = places.edges(members)
        self.here: dict[Edge, int] = dict(
            zip(edges, barriers.words.lend(self.arrived, [source for source, _ in edges]), strict=False)
        )
        self.there: dict[Edge, int] = {}
        self._parity = 0
        self._waiting = False  # a task of this rank waits for the phase
        self._tried = -1  # how often this rank had notified when barrier_try ended a phase
        self.called = ""
        self.notified_at: SourceLine | None = None
        self._come = 0  # how often this rank has notified
        self._team: str | None = None

    def tell(self, sink: ReportSink) -> None:
        """Tell how often this rank has come, and for which turn it waits."""
        name = f"barriers{self._name()}, led by {self._identity}"
        waits = {self._what(): self._come - 1} if self._waiting else {}
        called, last = ("", "") if self.title is None else self.title()
        sink.part(name, self._members, self._come, waits, everybody=True, called=called, last=last)
        if self.repeated and not self._waiting:  # so that others may wait for one more of its calls
            sink.note(self.repeated)

    def _what(self) -> str:
        id = self.phases[self._parity].id
        if self.called and len(self._members) == self._ep.size:  # a front end may have a team of all ranks of its own
            return self.called
        return (self.called or ("a barrier" if id is None else f"barrier {id}")) + self._name()

    def _name(self) -> str:
        """What the team is called; each wait says it, and it takes a look at all members."""
        if self._team is None:
            self._team = team_name(self._members)
        return self._team

    @property
    def notified(self) -> bool:
        """Whether this rank has given its part and not yet waited."""
        return self.phases[self._parity].notified

    # ----------------------------------------------------------------------------------------------------------- calls

    async def notify(self, call: str, id: int | None, called: str = "") -> None:
        """Give this rank's part, and send what follows from it.

        Args:
            call: the public call.
            id: compared with that of the others.
            called: what reports name in the place of this barrier.

        Raises:
            conduit.BadRequest: this rank has given its part already and not waited.
        """
        phase = self.phases[self._parity]
        if phase.notified:
            self.refuse_another(call)
        phase.notified = True
        self._come += 1
        phase.id = id
        self.called = called
        self.notified_at = None
        if id is not None:
            phase.consensus.merge(Agreement.NAMED, id, 0)
        self._give(self._parity)
        await self._barriers.outgoing.send_at_once()

    def refuse_another(self, call: str) -> NoReturn:
        """Refuse a call that cannot be made before the barrier that this rank has come to is over.

        Raises:
            conduit.BadRequest: always.
        """
        phase = self.phases[self._parity]
        word = self._barriers.rank_word
        if others := lines_in(self, self._ep):
            here = line_here()
            team = ", or give each task a team of its own, by split" if word == RANK else ""
            raise conduit.BadRequest(
                f"{call}: this {word} is in a barrier{self._name()} already, in another task, at {others[0]}, and "
                f"calls one more at {here}; let one task of a {word} come to each barrier: write one, after the "
                f"nursery{team}"
            )
        named = "" if phase.id is None else f" (id {phase.id})"
        if self.notified_at is None and not self._waiting:
            named += f", in a barrier that was cancelled{self._cancelled_at},"
        wait = (self.called if self.notified_at is not None else "") or "barrier_wait or barrier_try"
        raise conduit.BadRequest(
            f"{call}: this {word} has notified the barrier{named} and not yet waited for it; call {wait} first"
        )

    async def wait(self, call: str, id: int | None, team: Breakable) -> bool:
        """Wait until all ranks have given their parts, and end the phase; return False where the team broke before.

        Args:
            call: the public call.
            id: compared with that of the others.
            team: its collective calls.

        Raises:
            conduit.BadRequest: this rank has not given its part, or another of its tasks waits.
            BarrierMismatch: the ids differ.
        """
        phase = self._enter(call)
        self.notified_at = None
        try:
            if phase.done:
                await self._ep.poll()
            else:
                missing = Missing(lambda: self._missing(phase))
                await self._ep.block_until(
                    # To the barrier of a broken team some ranks do not come.
                    lambda: phase.done or (team.broken is not None and team.is_broken()),
                    what=self._what(),
                    ranks=missing,
                )
        except trio.Cancelled:
            self._cancelled_at = f" at {line_here()}"
            raise
        finally:
            self._waiting = False
        if phase.done:
            self._end(call, id)
        return phase.done

    async def attempt(self, call: str, id: int | None) -> bool:
        """Poll once; where all ranks have given their parts, end the phase and return True.

        Raises:
            conduit.BadRequest: as `wait`.
            BarrierMismatch: the ids differ.
        """
        phase = self._enter(call)
        try:
            await self._ep.poll()
        finally:
            self._waiting = False
        if phase.done:
            self._end(call, id)
            self._tried = self._come
        return phase.done

    def _missing(self, phase: Phase) -> Sequence[int]:
        """Return the ranks of the job for which this rank waits."""
        return phase.missing(self._places, self._members)

    def _enter(self, call: str) -> Phase:
        phase = self.phases[self._parity]
        if not phase.notified or self._waiting:
            self._refuse_entry(call, phase)
        self._waiting = True
        return phase

    def _refuse_entry(self, call: str, phase: Phase) -> NoReturn:
        word = self._barriers.rank_word
        if phase.notified:
            raise conduit.BadRequest(f"{call}: another task of this {word} waits for this barrier; let one task do it")
        over = (
            ", since barrier_try, which returned True, has ended its last barrier" if self._tried == self._come else ""
        )
        raise conduit.BadRequest(
            f"{call}: this {word} has not notified{over}; call barrier_notify first, or barrier for both"
        )

    def _end(self, call: str, id: int | None) -> None:
        phase, consensus = self.phases[self._parity], self.phases[self._parity].consensus
        self.phases[self._parity] = Phase()
        self._parity ^= 1
        if consensus.agreement == Agreement.MISMATCH:
            raise BarrierMismatch(
                f"{call}: {self._barriers.rank_word}s gave ids {consensus.first} and {consensus.second} to one "
                f"barrier, this one {phase.id}; {self._same_id()}"
            )
        if consensus.agreement == Agreement.NAMED and id is not None and id != consensus.first:
            raise BarrierMismatch(f"{call}: id={id}, but the barrier's id is {consensus.first}; {self._same_id()}")

    def _same_id(self) -> str:
        return f"give the same id on every {self._barriers.rank_word}, or None"

    # --------------------------------------------------------------------------------------------------------- signals

    def arrived(self, source: int, code: int, first: int, second: int = 0) -> None:
        """Take in a signal of a rank of the job, and list what follows from it."""
        phase = self.phases[code & 1]
        phase.arrived(source, code, first, second)
        if phase.notified:
            self.advance(code & 1)
            self._barriers.outgoing.ask()

    def advance(self, parity: int) -> None:
        """List the signals that what has arrived in a phase allows to send."""
        phase, places = self.phases[parity], self._places
        if len(phase.children) < len(places.children):
            return
        if places.parent is not None:
            if not phase.sent:
                phase.sent = 1
                self._signal(places.parent, parity, _UP)
        else:
            self._disseminate(parity)
        if phase.done:
            for child in places.children:
                self._signal(child, parity, _DOWN)

    _give = advance
    """List what this rank's own part allows to send."""

    def _disseminate(self, parity: int) -> None:
        phase, to = self.phases[parity], self._places.to
        come = phase.steps_in_order()
        phase.done = come == len(to)
        for step in range(phase.sent, come + (not phase.done)):
            self._signal(to[step], parity, step)
            phase.sent = step + 1

    def _signal(self, dest: int, parity: int, step: int) -> None:
        consensus = self.phases[parity].consensus
        code = step << 3 | consensus.agreement << 1 | parity
        barriers, rank = self._barriers, self._members[dest]
        place = self.there.get((rank, step)) if self.there else None
        if place is not None and consensus.agreement != Agreement.MISMATCH:  # two ids are too much for a word
            barriers.outgoing.add_put(rank, place + WORD * parity, packed(code, consensus.first))
            return
        ids = (consensus.first, consensus.second)[: consensus.agreement]
        barriers.outgoing.add(rank, barriers.barrier_signal, *self._identity, code, *ids)


class Barriers:
    """The barriers of all teams of one rank.

    Args:
        ep: the rank's endpoint.

    Attributes:
        outgoing: signals to be sent.
        rank_word: what errors call a rank.
    """

    rank_word = RANK
    kind: ClassVar[type[Barrier]] = Barrier
    """Of the barriers that it makes."""
    whole: ClassVar[type[Barrier]] = Barrier
    """Of those of all ranks of the job, without an id as a rule."""

    def __init__(self, ep: Endpoint) -> None:
        self._ep = ep
        self._barriers: dict[Identity, Barrier] = {}
        self._early: dict[Identity, list[Phase]] = {}  # of teams that this rank does not know of yet
        self.outgoing = RequestQueue(ep)
        self.words = BarrierWords(ep)

    def make(
        self, identity: Identity, members: Sequence[int], topology: Topology, rank: int, *, named: bool = False
    ) -> Barrier:
        """Make the barrier of a team.

        Args:
            identity: the team's, two arguments of every signal.
            members: the team's ranks in the job.
            topology: its ranks by host.
            rank: this rank in it.
            named: ranks give an id each time.
        """
        phases = self._early.pop(identity, None) or [Phase(), Phase()]
        peers = BarrierPeers(parts_of(len(members)) if self.words.native else topology, rank)
        kind = self.whole if len(members) == self._ep.size and not named else self.kind
        barrier = kind(self._ep, self, phases, identity, members, peers)
        self._barriers[identity] = barrier
        return barrier

    def table(self) -> tuple[Callable[..., None], ...]:
        """Return the handlers that all ranks attach: that of words where there are any."""
        return (self.barrier_signal, self.barrier_place) if self.words.native else (self.barrier_signal,)

    def drop(self, identity: Identity) -> None:
        """Forget the barrier of a team that is no more."""
        self.words.give_back(self._barriers.pop(identity).here.values())

    def warn_unwaited(self) -> None:
        """Warn of each barrier that this rank has notified and not waited for."""
        for barrier in self._barriers.values():
            if barrier.notified and barrier.notified_at is not None:
                file, line = barrier.notified_at
                self._ep.warn(
                    f"a barrier was notified at {file}:{line} and never waited for: `await "
                    f"{barrier.called or 'x.barrier_wait'}()` waits until all {self.rank_word}s have come"
                )

    def tell(self, sink: ReportSink) -> None:
        """Tell how often this rank has come to the barrier of each of its teams."""
        for barrier in self._barriers.values():
            barrier.tell(sink)

    def barrier_signal(self, token: Token, lead: int, count: int, code: int, first: int = 0, second: int = 0) -> None:
        """Request: the part of others; `code` packs parity (1 bit), agreement (2), step (6)."""
        barrier = self._barriers.get((lead, count))
        if barrier is None:
            phases = self._early.setdefault((lead, count), [Phase(), Phase()])
            phases[code & 1].arrived(token.rank, code, first, second)
            return
        barrier.arrived(token.rank, code, first, second)
        place = barrier.here.get((token.rank, code >> 3))
        if place is not None:
            token.reply_short(self.barrier_place, lead, count, code >> 3, place)

    def barrier_place(self, token: Token, lead: int, count: int, step: int, place: int) -> None:
        """Reply: where the words are for this signal from now on."""
        barrier = self._barriers.get((lead, count))
        if barrier is not None:  # else the team has ended
            barrier.there[token.rank, step] = place
