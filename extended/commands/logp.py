"""Timings from which the parameters of LogGP follow, and how they follow.

One rank of a pair measures, the other answers.  What is timed, in the words of parameterized LogP:

- RTT(m): a message of m bytes out, none back, until the answer has been handled;
- o_s(m): how long the call that sends it takes;
- o_r(m): a message of no bytes out, one of m bytes back; this rank is idle until that has come, and then polls once:
  how long that poll takes;
- g(0): how much a burst of messages of no bytes takes longer for each further message; the burst is doubled until that
  changes by less than 1 %.

A poll that finds nothing is timed as well, because every call polls: it is taken off.  A round trip has one at its
begin, one at each end that finds the message, and waits at each end half a poll on the average.  Messages start at
random instants of a poll for that reason, and after a pause in which the network gets free of those before.

Source: T. Kielmann, H. Bal and K. Verstoep, Fast measurement of LogP parameters for message passing platforms (2000),
as the evaluation of Sun Fire Link used it, with three differences.  Active Messages are answered by their handlers, so
that the other side adds no call of its own.  Bursts are no longer than the number of requests that the conduit lets be
under way, because a longer one measures round trips, and it is the growth from one burst to the next that counts, which
has no start-up in it.  G is the growth from one large message to one of twice the size, for the same reason.
"""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING

import attrs

from conduit.benchmarks import idle

if TYPE_CHECKING:
    from conduit import Endpoint, Token

MOST_SLOTS = 64
"""Requests under way that are tried at most; more make no difference to the method."""

FEWEST_SLOTS = 8
"""With fewer a burst is too short to show its pace."""

STEADY = 0.01
"""A pace that changes less than this from one burst to the next is steady."""

_CLEAR = 1.5 * 0.999  # times o_s + o_r: from there on it is the gap that a burst waits for
_SMALL = 0.01 * 1.001  # of o_s: a poll of that much blurs nothing; both leave room for the last digits of timings
_EVEN = 0.2  # of a growth: that much, its two steps may differ
_LONGEST_FLOOD = 1024
_OFTEN = 10
_FEW = 10  # polls that are timed together in real time
_REAL_BURSTS = (2, 4, 8)
_DISTURBED = 10  # times the least time: a turn of another program takes milliseconds, a message microseconds
_FAR = 5  # times the shortest round trip: so much longer are others where the ranks wait for processors
_TURNS = 21  # of what is timed once in virtual time
_IDLE = 1.2  # times the round trip: then the answer has come
_PATIENCE = 5  # how often the idle time is doubled, where it has not


@attrs.frozen
class Figures:
    """The parameters of LogGP, in seconds, and what was measured with them.

    Attributes:
        L, o_s, o_r, g, G: the parameters; G per byte.
        poll: a poll that finds nothing.
        slots: how many requests may be under way, as far as that was tried.
        at_most: for a parameter that is only bounded from above, why.
        unknown: for a parameter that cannot be told, why; it is 0 then.
    """

    L: float
    o_s: float
    o_r: float
    g: float
    G: float
    poll: float
    slots: int
    at_most: dict[str, str]
    unknown: dict[str, str] = attrs.Factory(dict)


@attrs.frozen
class LogpTiming:
    """What was measured with messages of one size; seconds.

    Attributes:
        nbytes: the size m.
        trip: RTT(m).
        send: o_s(m), its poll included.
        receive: o_r(m), its poll included.
        least: the shortest of the round trips.
    """

    nbytes: int
    trip: float
    send: float
    receive: float
    least: float


class Probe:
    """One rank's side of the measurement.

    Args:
        ep: this rank's endpoint.
        peer: the rank on the other side.
        iterations: how often each thing is timed.
        source: the bytes that are sent, as many as the largest message has.

    Attributes:
        ep: this rank's endpoint.
        poll: a poll that finds nothing, seconds, once prepared.
    """

    def __init__(self, ep: Endpoint, peer: int, iterations: int, source: memoryview) -> None:
        self.ep = ep
        self._source = source
        self._peer = peer
        self._iterations = iterations
        self._answers = 0
        self._warmup = 0
        self._pause = 0.0
        self.poll = 0.0
        self._hold = 0  # microseconds for which the other side is to be away
        self._stopped = False

    async def attach(self) -> None:
        """Register the handlers (collective)."""
        await self.ep.attach(
            self.ask_short, self.ask_medium, self.ask_long, self.ask_back, self.ask_hold, self.ask_stop,
            self.answer_short, self.answer_medium, self.answer_long,
        )  # fmt: skip

    # Handlers: ask is answered, with as many bytes as it wants.

    def ask_short(self, token: Token) -> None:
        """Answer."""
        token.reply_short(self.answer_short)

    def ask_medium(self, token: Token, payload: memoryview) -> None:
        """Answer."""
        token.reply_short(self.answer_short)

    def ask_long(self, token: Token, payload: memoryview) -> None:
        """Answer."""
        token.reply_short(self.answer_short)

    def ask_back(self, token: Token, nbytes: int) -> None:
        """Answer with that many bytes."""
        if not nbytes:
            token.reply_short(self.answer_short)
        elif nbytes <= self.ep.limits.max_medium:
            token.reply_medium(self.answer_medium, bytes(nbytes))
        else:
            token.reply_long(self.answer_long, bytes(nbytes), 0)

    def ask_hold(self, token: Token, microseconds: int) -> None:
        """Answer, and be away for a time."""
        self._hold = microseconds
        token.reply_short(self.answer_short)

    def ask_stop(self, token: Token) -> None:
        """Take note that all is measured."""
        self._stopped = True

    def answer_short(self, token: Token) -> None:
        """Count an answer."""
        self._answers += 1

    def answer_medium(self, token: Token, payload: memoryview) -> None:
        """Count an answer."""
        self._answers += 1

    def answer_long(self, token: Token, payload: memoryview) -> None:
        """Count an answer."""
        self._answers += 1

    # The passive side.

    async def serve(self) -> None:
        """Answer until the other side has measured all."""
        while not self._stopped:
            await self.ep.block_until(
                lambda: self._stopped or self._hold, what="the other side's measurements", ranks=(self._peer,)
            )
            if self._hold:
                seconds, self._hold = self._hold * 1e-6, 0
                await self.ep.compute(seconds)

    # The active side.

    async def prepare(self, warmup: int) -> None:
        """Time polls, and work out how long the network takes to get free; to be called first.

        Args:
            warmup: messages of each kind that are sent before any is timed.
        """
        self._warmup = warmup
        self._turns = 1 if self.ep.simulated else _TURNS
        for _ in range(warmup + 1):
            await self._trip(0)
        self.poll = await self._polls()
        # In real time of the quickest: after a pause in which others had the processor, the next trips are slow too.
        trip = min([(await self._trip(0))[0] for _ in range(self._turns)])
        first, second = [min([await self._burst(count) for _ in range(self._turns)]) for count in (1, 2)]
        self._pause = 2 * (trip + max(second - first, 0.0))

    async def _polls(self) -> float:
        """Return what a poll takes."""
        if self.ep.simulated:
            return await self._some_polls(self._iterations)
        return self._usual([await self._some_polls(_FEW) for _ in range(self._iterations)])

    async def _some_polls(self, count: int) -> float:
        begun = self.ep.now
        for _ in range(count):
            await self.ep.poll()
        return (self.ep.now - begun) / count

    async def stop(self) -> None:
        """Let the other side go."""
        await self.ep.request_short(self._peer, self.ask_stop)

    async def timing(self, nbytes: int) -> LogpTiming:
        """Time messages of one size: medium ones as far as they go, then long ones."""
        await self._warm(nbytes)
        trips, sends = [], []
        for _ in range(self._count(nbytes)):
            trip, send = await self._trip(nbytes)
            trips.append(trip)
            sends.append(send)
        trip = self._usual(trips)
        receives = [await self._receive(nbytes, trip) for _ in range(self._iterations)]
        return LogpTiming(nbytes, trip, self._usual(sends), self._usual(receives), min(trips))

    def _usual(self, times: list[float]) -> float:
        """Return the mean; in real time the usual one of the undisturbed: other programs take the processor too."""
        return sum(times) / len(times) if self.ep.simulated else usual(times)

    async def growth(self, nbytes: int) -> tuple[float, str]:
        """Return how much longer a byte takes, and why that is only a bound.

        From long messages of half a size to those of the whole size, by way of three quarters: where the second step
        is not like the first, the network sends large messages in another way than small ones, and no line fits both.
        """
        half, middle = nbytes // 2, nbytes - nbytes // 4
        first, between, last = [await self.long_trip(size) for size in (half, middle, nbytes)]
        grown = last - first
        bend = (last - between) / (nbytes - middle) - (between - first) / (middle - half)
        uneven = abs(bend) * (nbytes - half)
        if uneven > _EVEN * abs(grown) and not self.blurred(uneven, nbytes):
            why = f"from {half} to {nbytes} bytes the time does not grow evenly; give a larger --max-size"
            return last / nbytes, why  # a line from nothing on, whose slope no start-up makes less
        if self.blurred(grown, nbytes):
            bound = (max(grown, 0.0) + 2 * self.poll) / (nbytes - half)
            return bound, f"{nbytes - half} bytes take no longer than some polls"
        return grown / (nbytes - half), ""

    async def long_trip(self, nbytes: int) -> float:
        """Return the round trip of long messages of one size."""
        await self._warm(nbytes, long=True)
        return self._usual([(await self._trip(nbytes, long=True))[0] for _ in range(self._iterations)])

    async def _warm(self, nbytes: int, *, long: bool = False) -> None:
        # The first message of a kind may have to open connections, or map memory: that is no time of a byte.
        for _ in range(self._warmup):
            await self._trip(nbytes, long=long)

    def _count(self, nbytes: int) -> int:
        # The smallest messages are timed more often: of them L is made, the smallest of all differences.
        return self._iterations * (_OFTEN if nbytes <= 1 else 1)

    def blurred(self, seconds: float, nbytes: int) -> bool:
        """Say whether waits for polls may make up 5 % of a difference of mean round trips of about that size.

        A mean of n round trips has two waits in it, each spread evenly over a poll: a deviation of 0.41 polls over the
        root of n, of which four may be met by chance, in either mean.
        """
        return seconds < 50 * self.poll / sqrt(self._count(nbytes))

    async def pace(self) -> tuple[float, int, str]:
        """Return the time from one message of a burst to the next, the slots, and why the time is only a bound."""
        slots = await self._slots()
        longest = slots if slots >= FEWEST_SLOTS else _LONGEST_FLOOD
        count, last, pace, times = 4, 0.0, 0.0, await self._usual_burst(2)
        while count <= longest:
            time = await self._usual_burst(count)
            last, pace = pace, (time - times) / (count - count // 2)
            times = time
            if last and abs(pace - last) < STEADY * pace:
                break
            count *= 2
        if slots < FEWEST_SLOTS:
            return pace, slots, f"a flood waits for answers: no more than {slots} requests to a rank may be under way"
        if abs(pace - last) >= STEADY * pace:
            return pace, slots, f"a burst of {count // 2} messages has no steady pace yet"
        return pace, slots, ""

    async def real_pace(self) -> float:
        """Return the time from one message of a short burst to the next: the least, as answers come in between."""
        bursts = [(count, await self._usual_burst(count)) for count in _REAL_BURSTS]
        steps = pairwise(bursts)
        return max(min((after - before) / (more - count) for (count, before), (more, after) in steps), 0.0)

    async def _slots(self) -> int:
        # A peer that is away frees none: the call that has to wait takes about as long as it is away.
        away = 100 * self._pause
        await self._idle()
        await self.ep.request_short(self._peer, self.ask_hold, int(away * 1e6) + 1)
        await self._until(self._answers + 1)
        before, sent = self._answers, 0
        while sent < MOST_SLOTS:
            begun = self.ep.now
            await self.ep.request_short(self._peer, self.ask_short)
            if self.ep.now - begun > away / 4:
                break
            sent += 1
        await self._until(before + sent + (sent < MOST_SLOTS))
        return sent

    async def _usual_burst(self, count: int) -> float:
        return self._usual([await self._burst(count) for _ in range(self._turns)])

    async def _burst(self, count: int) -> float:
        await self._idle()
        before = self._answers
        begun = self.ep.now
        for _ in range(count):
            await self.ep.request_short(self._peer, self.ask_short)
        time = self.ep.now - begun
        await self._until(before + count)
        return time

    async def _trip(self, nbytes: int, *, long: bool = False) -> tuple[float, float]:
        data = self._source[:nbytes]
        await self._idle()
        wanted = self._answers + 1
        begun = self.ep.now
        if long or nbytes > self.ep.limits.max_medium:
            await self.ep.request_long(self._peer, self.ask_long, data, 0)
        elif nbytes:
            await self.ep.request_medium(self._peer, self.ask_medium, data)
        else:
            await self.ep.request_short(self._peer, self.ask_short)
        sent = self.ep.now
        await self._until(wanted)
        return self.ep.now - begun, sent - begun

    async def _receive(self, nbytes: int, trip: float) -> float:
        away = _IDLE * trip + self._pause
        for _ in range(_PATIENCE):
            await self._idle()
            wanted = self._answers + 1
            await self.ep.request_short(self._peer, self.ask_back, nbytes)
            await idle(self.ep, away)
            begun = self.ep.now
            await self.ep.poll()
            time = self.ep.now - begun
            if self._answers == wanted:
                return time
            await self._until(wanted)
            time = self.ep.now - begun
            away *= 2
        return time

    async def _until(self, answers: int) -> None:
        await self.ep.block_until(lambda: self._answers >= answers, what="an answer", ranks=(self._peer,))

    async def _idle(self) -> None:
        await idle(self.ep, self._pause + self.ep.random.random() * self.poll)


def usual(times: list[float]) -> float:
    """Return the lower quartile of those times in which no other program had the processor: they are far longer."""
    longest = _DISTURBED * min(times)
    undisturbed = sorted(time for time in times if time <= longest)
    return undisturbed[len(undisturbed) // 4]


async def measure(probe: Probe, none: LogpTiming, one: LogpTiming, largest: int) -> Figures:
    """Work out the parameters on the active side.

    Args:
        probe: that has been prepared.
        none: timings of messages without bytes.
        one: timings of messages of one byte.
        largest: size in bytes of the largest message to be used.
    """
    if not probe.ep.simulated:
        return await _measure_real(probe, none, largest)
    pace, slots, reason = await probe.pace()
    poll = probe.poll
    send, receive = one.send - poll, one.receive - poll
    at_most = {}
    if not reason and pace < max(_CLEAR * (send + receive), 1.2 * (send + receive + 2 * poll)):
        reason = "the CPU may be what a burst waits for: it is less than 1.5 (o_s + o_r)"
    if reason:
        at_most["g"] = reason
    # L = RTT(0)/2 - g(0) + g(1) - o_s(1) - o_r(1), where g(1) - g(0) = RTT(1) - RTT(0); less of polls, and of waits.
    longer = one.trip - none.trip
    latency = none.trip / 2 + longer - send - receive - 2 * poll
    if poll > _SMALL * send or probe.blurred(latency, 1):
        latency = none.trip / 2 + max(longer, 0.0) - send - receive - 1.5 * poll
        at_most["L"] = f"messages wait up to a poll ({poll * 1e6:.3f} us) until they are found"
    per_byte, reason = await probe.growth(largest)
    if reason:
        at_most["G"] = reason
    return Figures(latency, send, receive, pace, per_byte, poll, slots, at_most)


def _shared(*timings: LogpTiming) -> str:
    """Return why timings of the same are not those of ranks that had processors to themselves, "" if they may be."""
    least, usual = min(each.least for each in timings), [each.trip for each in timings]
    if max(usual) - min(usual) <= _EVEN / 2 * min(usual) and max(usual) <= _FAR * least:
        return ""
    times = f"{(least if max(usual) > _FAR * least else min(usual)) * 1e6:.1f} us to {max(usual) * 1e6:.1f} us"
    return f"round trips took from {times}, as the ranks did not have their processors to themselves; measure again"


async def _measure_real(probe: Probe, none: LogpTiming, largest: int) -> Figures:
    """Work out the parameters in real time, so that they add up to what round trips take.

    Software is nearly all of a round trip on one host, and short messages have less of it than medium ones, so that
    the overheads are those of short messages, and never more than half a round trip.  L has the polls in it that the
    messages wait for, since the model's take no time.  A long message has a start-up of its own, which the model has
    not: G is the line from a short message to the largest, and holds best for sizes near that one.
    """
    again = await probe.timing(0)  # what others take of the processor comes and goes
    at_most, unknown = {}, {}
    half = min(none.trip, again.trip) / 2
    send = max(min(none.send, again.send) - probe.poll, 0.0)
    receive = max(min(none.receive, again.receive) - probe.poll, 0.0)
    for name, seconds in (("o_s", send), ("o_r", receive)):
        if not seconds:
            unknown[name] = "such a call took no longer than a poll that finds nothing"
    share = min(1.0, half / (send + receive)) if send or receive else 1.0
    latency = half - send - receive
    if latency <= 0:
        latency, unknown["L"] = 0.0, "the overheads alone, each timed by itself, make up a round trip"
    elif shared := _shared(none, again):
        at_most["L"] = shared
    pace = await probe.real_pace()
    if pace:
        at_most["g"] = "the CPU is what a burst of short messages waits for"
    else:
        unknown["g"] = "longer bursts took no longer: other programs had the processor meanwhile"
    per_byte = max(await probe.long_trip(largest) - 2 * half, 0.0) / largest
    if not per_byte:
        unknown["G"] = f"{largest} bytes took no longer than none; give a larger --max-size"
    return Figures(latency, send * share, receive * share, pace, per_byte, probe.poll, MOST_SLOTS, at_most, unknown)
