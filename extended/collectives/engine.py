"""Begins and ends collective calls, and carries their algorithms on at every poll.

Handlers cannot send.  They store what has come and ask for progress; algorithms run, and send, in a task of the rank.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import trio

import conduit
from extended.collectives import signature as signatures
from extended.collectives.algorithms import TABLE
from extended.collectives.algorithms.model import model_of
from extended.collectives.arrivals import Arrivals
from extended.collectives.call import CollectiveCall, Work
from extended.collectives.send_queue import SendQueue
from extended.collectives.signature import CollectiveMismatch, Signature, described, sign, with_name
from extended.collectives.team_calls import Broken, TeamCalls, TeamTable
from extended.missing import Missing
from extended.program_lines import line_here, line_word, program_line
from extended.reporting import team_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conduit import Endpoint
    from extended.collectives.call import Steps
    from extended.events import Events
    from extended.program_lines import SourceLine
    from extended.reporting import ReportSink
    from extended.topology import Topology

    Identity = tuple[int, int]


class CollectiveEngine:
    """All collective calls of one rank.

    Attributes:
        ready: the calls that have got what they waited for.
        send_queue: what they have to send.
        model: what the network says of its messages, None where it says nothing.
        handlers: of their messages.

    Args:
        ep: the rank's endpoint.
        events: told when a call is over.
    """

    def __init__(self, ep: Endpoint, events: Events) -> None:
        self._ep = ep
        self._events = events
        self._team_table = TeamTable(ep.hosts, ep.rank)
        self.ready: deque[CollectiveCall] = deque()
        self.send_queue = SendQueue(ep)
        self.model = model_of(ep, self.send_queue.medium_bytes, self.send_queue.eager_bytes, self.send_queue.staging)
        self.handlers = self.send_queue.handlers = Arrivals(ep, self._team_table, self.send_queue, self)

    # ----------------------------------------------------------------------------------------------------------- teams

    def open(self, identity: Identity, members: Sequence[int], topology: Topology, rank: int) -> TeamCalls:
        """Let a team make calls; messages for it may have come before.

        Args:
            identity: the team's, two arguments of every message.
            members: its ranks in the job.
            topology: its ranks by host.
            rank: this rank in it.
        """
        team_calls = self._team_table.find(*identity)
        team_calls.members, team_calls.topology, team_calls.rank = members, topology, rank
        return team_calls

    def close(self, team_calls: TeamCalls) -> None:
        """Forget a team whose ranks have all finished all calls."""
        self._team_table.drop(team_calls.identity)

    def call_ranks(self, word: str) -> None:
        """Let errors call a rank that."""
        self._team_table.call_ranks(word)

    def tell(self, sink: ReportSink) -> None:
        """Tell how many calls of each team this rank has begun, and for which it waits."""
        for team_calls in self._team_table.known():
            team_calls.tell(sink)

    def make_no_more(self) -> None:
        """Take note that this rank's main has returned, and warn of calls that others make without it."""
        for team_calls in self._team_table.known():
            team_calls.make_no_more(self._warn)

    def _warn(self, text: str) -> None:
        if text not in self._ep.warnings:
            self._ep.warn(text)

    # ----------------------------------------------------------------------------------------------------------- calls

    async def begin(
        self,
        team_calls: TeamCalls,
        kind: str,
        work: Work,
        *,
        root: int = 0,
        asked: str = "",
        used: str = "",
        text: str = "",
        waited: bool = False,
        called: str = "",
    ) -> CollectiveCall:
        """Begin a call and send what follows from it; polls, and may wait for slots, never for other ranks.

        Args:
            team_calls: the team's.
            kind: the call's name.
            work: its memory.
            root: rank of the team.
            asked: the algorithm that the user named, "" for none.
            used: the algorithm, "" where the root of a broadcast or scatter tells.
            text: what else must be the same on all ranks.
            waited: whether `finish` follows.
            called: what the user of a front end has called, "" for the call itself.

        Raises:
            CollectiveMismatch: another rank makes another call.
        """
        place = program_line()
        # The program's line, for errors.  Simulated ranks find it in this process, real ones in messages.
        signature = sign(kind, asked, root, text, 0 if self._ep.simulated else line_word(place))
        if called and not self._ep.simulated:
            signature = with_name(signature, called)
        if work.description:
            signature = described(signature, used, work.description, number=work.number)
        if work.operator is not None:
            work.operator.line = place
        call = self._call_of(team_calls, team_calls.next, signature, work)
        call.waited = waited
        if called:
            call.rename(called)
            team_calls.named(team_calls.next, called)
        team_calls.next += 1
        try:
            self._enter(team_calls, call, used, place)
        except CollectiveMismatch as error:
            await self._end_job(team_calls, error)
            raise
        # Other ranks depend on this one's part: no cancellation may come before it is sent.
        with trio.CancelScope(shield=True):
            if self.send_queue or self.ready:
                await self.progress()
            else:
                await self._ep.poll()
        return call

    async def _end_job(self, team_calls: TeamCalls, error: CollectiveMismatch) -> None:
        """End the job because of an error that was found where a call begins.

        Raised by the call alone, a program could catch it.  So this rank sends
        itself a message, whose handler raises it.
        """
        self.handlers.mismatch = error
        with trio.CancelScope(shield=True):
            await self._ep.request_medium(self._ep.rank, self.handlers.collective_broken, b"", *team_calls.identity, 0)
            await self._ep.poll()

    async def finish(self, team_calls: TeamCalls, call: CollectiveCall) -> Any:
        """Wait for a call and return its result; cancelled before the call is over, its team is broken.

        Raises:
            conduit.ConduitError: the team was broken by another rank.
        """
        try:
            if call.is_done:
                await trio.lowlevel.checkpoint_if_cancelled()
            else:
                what = call.text + team_name(team_calls.members)
                await self._ep.block_until(call.done, what=what, ranks=Missing(lambda: team_calls.missing(call)))
        except trio.Cancelled:
            call.waited = False
            if not call.is_done:
                # It goes on, and ends for the others.
                self._cancelled(team_calls, call.sequence, call.text, last=call.sequence)
            raise
        finally:
            if call.failed:
                self._failed(team_calls, call)
        return call.outcome()

    async def settle(self, team_calls: TeamCalls) -> None:
        """Wait until nothing of a team's calls is under way at this rank; cancelled, the team is broken.

        Raises:
            conduit.ConduitError: the team was broken by another rank.
        """

        def settled() -> bool:
            return team_calls.is_broken() or not (team_calls.calls or team_calls.waiting or team_calls.greeted)

        try:
            what = f"the collective calls{team_name(team_calls.members)} to end"
            await self._ep.block_until(settled, what=what, ranks=Missing(team_calls.missing))
        except trio.Cancelled:
            # This rank has given no part of it, so that it ends for none.
            self._cancelled(team_calls, team_calls.next, "destroy()", last=team_calls.next - 1)
            raise
        if team_calls.is_broken():
            assert team_calls.broken is not None
            team_calls.told_broken = True
            raise conduit.ConduitError(f"destroy(): this team is broken: {team_calls.broken.text}")

    def _enter(self, team_calls: TeamCalls, call: CollectiveCall, used: str, place: SourceLine | None = None) -> None:
        team_calls.enter(self._ep.rank, call, place)
        if used:
            algorithm = TABLE[call.kind][used]
            call.steps, call.greets = algorithm.run(call), algorithm.greets(call)
        else:
            call.steps = self._as_root_says(call)
        if team_calls.may_begin(call.sequence):
            self._start(team_calls, call)
        else:
            team_calls.waiting.append(call)

    def _start(self, team_calls: TeamCalls, call: CollectiveCall) -> None:
        self.ready.append(call)
        if call.greets is not None and call.size > 1:
            self.send_queue.greet(team_calls, call, call.members[call.greets])

    def _as_root_says(self, call: CollectiveCall) -> Steps:
        head, work = call.unexpected.head, call.work
        yield head
        elsewhere = signatures.flags_of(head.words) & signatures.ELSEWHERE
        work.description = head.payload if elsewhere else signatures.text_of(head.words)
        work.number = bool(signatures.flags_of(head.words) & signatures.NUMBER)
        assert work.accept is not None
        work.accept(work, work.description, work.number)
        used = signatures.chosen_of(head.words)
        call.signature = described(call.signature, used, work.description, number=work.number)
        yield from TABLE[call.kind][used].run(call)

    async def progress(self) -> None:
        """Carry on calls that have got what they waited for, and send what they post, one message of each in turn."""
        while self.ready or self.send_queue:
            while self.ready:
                self._advance(self.ready.popleft())
            if self.send_queue:
                # Taken off before the send, during which another task may come here too.
                sending = self.send_queue.take()
                await sending.next()
                if sending.more():
                    self.send_queue.back(sending)
                elif sending.call is not None:
                    sending.call.unsent -= 1
                    self._end_if_over(sending.call)

    # ---------------------------------------------------------------------------------------------- carrying calls on

    def _advance(self, call: CollectiveCall) -> None:
        # Runs the algorithm up to the next receive that has not come; it must not be entered twice.
        if call.is_done or call.steps is None or (call.awaited is not None and not call.awaited.done):
            return
        steps, call.steps = call.steps, None
        try:
            for awaited in steps:
                if not awaited.done:
                    call.awaited, call.steps = awaited, steps
                    return
        except Exception as error:  # of the user's op: its caller gets it
            call.error, call.failed = error, True
        call.exhausted = True
        self._end_if_over(call)
        if call.failed and not call.waited:
            self._failed(self._team_table.find(*call.team), call)

    def _end_if_over(self, call: CollectiveCall) -> None:
        if call.is_done or not call.exhausted or (call.unsent and call.error is None):
            return
        team_calls = self._team_table.find(*call.team)
        call.error = call.error or call.work.refused
        result = call.work.result
        if result is not None and call.error is None:
            call.value = result.deliver()
            self.send_queue.charge(0, result.copied)
        call.end()
        self._events.completed += 1
        fence = team_calls.finish(call)
        while team_calls.waiting and team_calls.may_begin(team_calls.waiting[0].sequence):
            self._start(team_calls, team_calls.waiting.popleft())
        if fence is not None:
            self._fence(team_calls, fence)

    def _fence(self, team_calls: TeamCalls, epoch: int) -> None:
        """Begin the hidden barrier after an epoch of calls, which keeps ranks from running far ahead (`team_calls`).

        Its number is negative, so that it is none of a program's calls.
        """
        call = self._call_of(team_calls, -1 - epoch, sign("fence", "", 0, ""), Work())
        self._enter(team_calls, call, "dissemination")

    def _call_of(self, team_calls: TeamCalls, sequence: int, signature: Signature, work: Work) -> CollectiveCall:
        """Return a new call of a team."""
        assert team_calls.topology is not None
        return CollectiveCall(
            self.send_queue,
            team_calls.identity,
            team_calls.members,
            team_calls.topology,
            team_calls.rank,
            sequence,
            signature,
            work,
        )

    # --------------------------------------------------------------------------------------------------- broken teams

    def _cancelled(self, team_calls: TeamCalls, sequence: int, text: str, *, last: int) -> None:
        advice = "keep timeouts away from blocking collectives (a wait for the handle of an _nb call can be cancelled)"
        here = line_here()
        what = f"its collective call {sequence + 1}, {text}, was cancelled"
        self._break(team_calls, last, what, f"use another team, and {advice}", here)

    def give_up(self, team_calls: TeamCalls, text: str, error: Exception | None = None) -> None:
        """Break a team because a call of a layer above was cancelled or failed, in which its ranks meet more than once.

        What this rank has given its part of ends for the others.
        """
        if team_calls.is_broken():  # that was what was cancelled, or is the error
            return
        if error is None:
            here = line_here()
            advice = f"do not cancel calls that all {team_calls.rank_word}s make together"
            self._break(team_calls, team_calls.next - 1, f"{text} was cancelled", advice, here)
        else:
            what = f"{text} raised {type(error).__name__}: {error},"
            self._break(team_calls, team_calls.next - 1, what, "let op raise nothing")

    def _failed(self, team_calls: TeamCalls, call: CollectiveCall) -> None:
        # The others cannot end this call either: they wait for what this rank does not make.
        error = call.error
        what = f"its collective call {call.sequence + 1}, {call.text}, raised {type(error).__name__}: {error},"
        self._break(team_calls, call.sequence - 1, what, "use another team, and let op raise nothing")

    def _break(self, team_calls: TeamCalls, sequence: int, what: str, advice: str, here: str = "") -> None:
        word = team_calls.rank_word
        where = f" on {word} {self._ep.rank} of the job"
        rest = f", and the {word}s no longer agree on what comes next; {advice}"
        team_calls.told_broken = True
        self.broken(team_calls, sequence, f"{what}{where}{f' at {here}' if here else ''}{rest}")
        # Without the line: what is sent, and with it the digest, does not depend on where the program's file is.
        self.send_queue.tell_broken(team_calls, sequence, f"{what}{where}{rest}")
        self._ep.want_progress()

    def broken(self, team_calls: TeamCalls, sequence: int, why: str) -> None:
        """Mark a team as broken: end all calls with numbers above `sequence`, which cannot complete any more."""
        for call in team_calls.breaks(Broken(sequence, why)):
            call.error = conduit.ConduitError(f"{call.text}: this team is broken: {why}")
            call.end()
            self._events.completed += 1
