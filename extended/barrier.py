"""The barrier: combining inside each host first, dissemination between hosts, all by short messages.

On a host the ranks form a tree: each waits for its children's parts, then sends up.  The first rank of each host joins
the dissemination between the H hosts: in step s host h signals host h + 2**s modulo H, for ceil(log2 H) steps, and when
all steps have arrived everybody has.  Then it releases its tree.

With the signals travels the consensus of ids seen so far.  Merging is idempotent, commutative and associative, so it
does not matter that dissemination brings some parts more than once, nor in which order signals come.

Two phases alternate.  A rank's signal for phase p + 1 may arrive while this rank is still in phase p, and is kept
apart; one for phase p + 2 cannot, because nobody leaves p + 1 before this rank has begun it.  Within a phase each step
has its own bit, because signals of different steps may overtake one another.

Handlers cannot send.  They put what is to be sent next into a list and ask for progress, and the progress function
sends it at that same poll.

Source: reference/gasnet.md B.6 (dissemination after Hensgen, Finkel and Manber).
"""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from typing import TYPE_CHECKING

import trio

import conduit

if TYPE_CHECKING:
    from conduit import Endpoint, Token

FAN_IN = 4
"""Children of one rank in its host's tree."""

_UP, _DOWN = 62, 63  # step numbers of the signals inside a host; 62 steps would do for 2**62 hosts


class BarrierMismatch(conduit.ConduitError):
    """Ranks gave different ids to one barrier; all ranks hear of it, and the barrier can be used again."""


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


class Phase:
    """What this rank knows of one of the two phases that may be under way.

    Attributes:
        consensus: of all parts that have arrived.
        notified: whether this rank has given its own.
        id: the id it gave.
        children: the ranks below that have sent up.
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

    def has_steps(self, number: int) -> bool:
        """Say whether the first `number` dissemination steps have arrived."""
        first = (1 << number) - 1
        return self.steps & first == first

    def missing(self, places: Places) -> tuple[int, ...]:
        """Return the ranks whose signals this rank waits for."""
        if len(self.children) < len(places.children):
            return tuple(child for child in places.children if child not in self.children)
        if places.parent is not None:
            return (places.parent,)
        return tuple(origin for step, origin in enumerate(places.origins) if not self.steps >> step & 1)


class Places:
    """With whom a rank exchanges signals.

    Attributes:
        parent: the rank above in the host's tree, None for the first of the host.
        children: the ranks below.
        to: whom the first of a host signals in each step.
        origins: whose signals it awaits in each step.
    """

    def __init__(self, ep: Endpoint) -> None:
        peers = ep.ranks_on_host
        place = peers.index(ep.rank)
        self.parent = None if place == 0 else peers[(place - 1) // FAN_IN]
        self.children = peers[FAN_IN * place + 1 : FAN_IN * place + FAN_IN + 1]
        self.to: tuple[int, ...] = ()
        self.origins: tuple[int, ...] = ()
        if self.parent is None:
            hosts = list(map(ep.host_of, range(ep.size)))
            # The last to be put in is the first rank of its host.
            first_of = dict(zip(reversed(hosts), reversed(range(ep.size)), strict=True))
            firsts = sorted(first_of.values())
            here = firsts.index(ep.rank)
            strides = [1 << step for step in range((len(firsts) - 1).bit_length())]
            self.to = tuple(firsts[(here + stride) % len(firsts)] for stride in strides)
            self.origins = tuple(firsts[(here - stride) % len(firsts)] for stride in strides)


class Barrier:
    """A split-phase barrier of all ranks of a job.

    Args:
        ep: the rank's endpoint.
    """

    def __init__(self, ep: Endpoint) -> None:
        self._ep = ep
        self._phases = [Phase(), Phase()]
        self._parity = 0
        self._waiting = False  # a task of this rank waits for the phase
        self._places: Places | None = None  # found at the first use: it looks at every host
        self._outgoing: deque[tuple[int, int, int, int, int]] = deque()

    # ----------------------------------------------------------------------------------------------------------- calls

    async def notify(self, call: str, id: int | None) -> None:
        """Give this rank's part, and send what follows from it.

        Raises:
            conduit.BadRequest: this rank has given its part already and not waited.
        """
        phase = self._phases[self._parity]
        if phase.notified:
            raise conduit.BadRequest(
                f"{call}: this rank has notified the barrier (id {phase.id}) and not yet waited for it; call "
                "barrier_wait or barrier_try first"
            )
        phase.notified = True
        phase.id = id
        if id is not None:
            phase.consensus.merge(Agreement.NAMED, id, 0)
        self._advance(self._parity)
        # All ranks depend on this part: no cancellation may come between the decision to give it and the sending.
        with trio.CancelScope(shield=True):
            if self._outgoing:
                await self.progress()
            else:
                await self._ep.poll()

    async def wait(self, call: str, id: int | None) -> None:
        """Wait until all ranks have given their parts, and end the phase.

        Raises:
            conduit.BadRequest: this rank has not given its part, or another of its tasks waits.
            BarrierMismatch: the ids differ.
        """
        phase = self._enter(call)
        try:
            if phase.done:
                await self._ep.poll()
            else:
                what = "an anonymous barrier" if phase.id is None else f"barrier {phase.id}"
                await self._ep.block_until(lambda: phase.done, what=what, ranks=phase.missing(self._where()))
        finally:
            self._waiting = False
        self._end(call, id)

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
        return phase.done

    def _enter(self, call: str) -> Phase:
        phase = self._phases[self._parity]
        if not phase.notified:
            raise conduit.BadRequest(
                f"{call}: this rank has not notified; call barrier_notify first, or barrier for both"
            )
        if self._waiting:
            raise conduit.BadRequest(f"{call}: another task of this rank waits for this barrier; let one task do it")
        self._waiting = True
        return phase

    def _end(self, call: str, id: int | None) -> None:
        phase, consensus = self._phases[self._parity], self._phases[self._parity].consensus
        self._phases[self._parity] = Phase()
        self._parity ^= 1
        advice = "give the same id on every rank, or None"
        if consensus.agreement == Agreement.MISMATCH:
            raise BarrierMismatch(
                f"{call}: ranks gave ids {consensus.first} and {consensus.second} to one barrier, this one {phase.id}; "
                f"{advice}"
            )
        if consensus.agreement == Agreement.NAMED and id is not None and id != consensus.first:
            raise BarrierMismatch(f"{call}: id={id}, but the barrier's id is {consensus.first}; {advice}")

    # --------------------------------------------------------------------------------------------------------- signals

    def barrier_signal(self, token: Token, code: int, first: int = 0, second: int = 0) -> None:
        """Request: the part of others; `code` packs parity (1 bit), agreement (2), step (6)."""
        phase = self._phases[code & 1]
        step = code >> 3
        phase.consensus.merge(code >> 1 & 3, first, second)
        if step == _DOWN:
            phase.done = True
        elif step == _UP:
            phase.children.append(token.rank)
        else:
            phase.steps |= 1 << step
        if phase.notified:
            self._advance(code & 1)
            if self._outgoing:
                self._ep.want_progress()

    def _advance(self, parity: int) -> None:
        # List the signals that what has arrived in a phase allows to send.
        phase, places = self._phases[parity], self._where()
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

    def _disseminate(self, parity: int) -> None:
        phase, to = self._phases[parity], self._where().to
        while phase.sent < len(to) and phase.has_steps(phase.sent):
            self._signal(to[phase.sent], parity, phase.sent)
            phase.sent += 1
        phase.done = phase.sent == len(to) and phase.has_steps(len(to))

    def _signal(self, dest: int, parity: int, step: int) -> None:
        consensus = self._phases[parity].consensus
        code = step << 3 | consensus.agreement << 1 | parity
        self._outgoing.append((dest, code, consensus.first, consensus.second, consensus.agreement))

    async def progress(self) -> None:
        """Send the signals that handlers have listed."""
        while self._outgoing:
            # Taken off the list before the send, during which another task may come here too.
            dest, code, *ids, agreement = self._outgoing.popleft()
            await self._ep.request_short(dest, self.barrier_signal, code, *ids[:agreement])

    def _where(self) -> Places:
        if self._places is None:
            self._places = Places(self._ep)
        return self._places
