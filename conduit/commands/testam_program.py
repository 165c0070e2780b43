"""The program behind `conduit testam`: latency and bandwidth of Active Messages, contents verified.

Sections, each once per size and `iterations` times; a letter stands for one kind of exchange:

| sections | what is timed                                                                           | payloads |
|----------|-----------------------------------------------------------------------------------------|----------|
| A        | short messages: ping-pong of both kinds, one-way flood, flood with replies              | none     |
| B, G     | medium, long: request, wait for the reply                                               | 2        |
| C, H     | request each way; both sides wait for a request and answer with a request               | 2        |
| D, I     | the active side issues all requests, the other waits for them, both meet in a barrier   | 1        |
| E, J     | issue all requests, wait for all replies                                                | 2        |
| F, K     | both sides issue all requests and wait for as many                                      | 1        |

A barrier precedes every block.  The closing barrier of the one-way floods is timed with them; short ping-pong by
requests and the short one-way flood time the opening barrier too.  Handlers of the measured messages take no
arguments.  In virtual time checking costs nothing, so that every message is checked; on a real network one more
exchange after each timed block is.

Written on the public core alone.  Source: the GASNet benchmark of the same name.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import attrs
import numpy as np
import numpy.typing as npt

from conduit import ConduitError, Endpoint, Token
from conduit.benchmarks import (
    TURNS,
    BenchmarkBarrier,
    Limits,
    Parameters,
    Progress,
    Record,
    RecordList,
    View,
    lower_quartile,
    pair,
    rounds_of_a_turn,
    sizes,
)

SECTIONS = "ABCDEFGHIJK"
SIZES = (0, 2 << 20)

Category = Literal["short", "medium", "long"]
Exchange = Literal["request-reply", "request-request", "one-way", "replies", "two-way"]

_NAMES: dict[Exchange, str] = {
    "request-reply": "ping-pong roundtrip ReqRep",
    "request-request": "ping-pong roundtrip ReqReq",
    "one-way": "flood one-way Req",
    "replies": "flood roundtrip ReqRep",
    "two-way": "flood two-way Req",
}
_SHORT: tuple[Exchange, ...] = ("request-reply", "request-request", "one-way", "replies")
_LETTERS: dict[Category, str] = {"short": "AAAA", "medium": "BCDEF", "long": "GHIJK"}
_ROUND_TRIPS, _FLOODS = (
    tuple(f"AM{category} {_NAMES[exchange]}" for category in ("Medium", "Long", "Short"))
    for exchange in ("request-reply", "one-way")
)
VIEWS = (
    View("Round trip", "time", _ROUND_TRIPS, "ABG"),
    View("Bandwidth, flood one way", "rate", _FLOODS[:2], "DI"),
    View("Message rate, flood one way", "messages", _FLOODS, "ADI"),
)
_SALTS = 251


@attrs.frozen
class TestamBlock:
    """One timed block.

    Attributes:
        section: its letter.
        category: of the messages.
        exchange: who sends what and waits for what.
        nbytes: payload of each message, None for short ones.
        at_limit: the size is the largest and not one of the regular ones.
    """

    section: str
    category: Category
    exchange: Exchange
    nbytes: int | None = None
    at_limit: bool = False

    @property
    def operation(self) -> str:
        """Describe the block as tables do."""
        return f"AM{self.category.capitalize()} {_NAMES[self.exchange]}"

    @property
    def payloads(self) -> int:
        """Count the payloads of one iteration that the rate is about; both ways of a two-way flood count as one."""
        if self.category == "short":
            return 0
        return 1 if self.exchange in ("one-way", "two-way") else 2

    @property
    def times_opening_barrier(self) -> bool:
        """Tell whether the barrier before the block is timed with it."""
        return self.category == "short" and self.exchange in ("request-request", "one-way")


def kinds() -> Iterator[TestamBlock]:
    """Yield every kind of block, without a size, in the order of the sections."""
    for category, letters in _LETTERS.items():
        exchanges = _SHORT if category == "short" else tuple(_NAMES)
        yield from (
            TestamBlock(letter, category, exchange) for letter, exchange in zip(letters, exchanges, strict=True)
        )


def segment_needed(parameters: Parameters, max_long: int) -> int:
    """Return the bytes of segment: where long payloads land, and as much for their source if that is in the segment."""
    if not set(_LETTERS["long"]) & set(parameters.sections):
        return 0
    return min(parameters.max_size, max_long) * (2 if parameters.local == "in" else 1)


def plan(ep: Endpoint, parameters: Parameters) -> list[TestamBlock]:
    """Return the blocks to be timed, in order."""
    return [block for kind in kinds() if kind.section in parameters.sections for block in _sized(ep, parameters, kind)]


def _sized(ep: Endpoint, parameters: Parameters, kind: TestamBlock) -> Iterator[TestamBlock]:
    """Yield a kind of block in all its sizes; one that is no doubling is the limit's."""
    if kind.category == "short":
        yield kind
        return
    most = min(parameters.max_size, _limit(ep.limits, kind))
    regular = set(_regular(parameters))
    for nbytes in sizes(parameters.min_size, most, parameters.max_step):
        yield attrs.evolve(kind, nbytes=nbytes, at_limit=nbytes not in regular)


def _regular(parameters: Parameters) -> Iterator[int]:
    """Yield the sizes that come of doubling, beyond every limit."""
    yield from sizes(parameters.min_size, 2 * parameters.max_size + 2, parameters.max_step)


def largest(parameters: Parameters, limits: Limits) -> Mapping[str, int]:
    """Return the longest payloads of the chosen sections in bytes, by what carries them."""
    found = {}
    for kind in kinds():
        if kind.section in parameters.sections and kind.category != "short":
            replied = kind.category == "long" and _limit(limits, kind) < limits.max_long_request
            found["long reply" if replied else f"{kind.category} message"] = _limit(limits, kind)
    return found


def _limit(limits: Limits, kind: TestamBlock) -> int:
    replies = kind.exchange in ("request-reply", "replies")
    if kind.category == "medium":
        return limits.max_medium
    return min(limits.max_long_request, limits.max_long_reply) if replies else limits.max_long_request


class TestamRank:
    """One rank's side of all exchanges: handlers, counters and payloads.

    A payload depends on the sender, on the position of each byte and on the block, so that neither a byte in the wrong
    place nor one left from an earlier block passes.

    Args:
        ep: this rank's endpoint.
        parameters: of the run.
    """

    def __init__(self, ep: Endpoint, parameters: Parameters) -> None:
        self.ep = ep
        self.pair = pair(ep.rank, ep.size, parameters.pairing)
        self.barrier = BenchmarkBarrier(ep)
        self.checking = ep.simulated
        self._local = parameters.local
        self._zone = segment_needed(parameters, ep.limits.max_long_request) // (2 if parameters.local == "in" else 1)
        most = max(parameters.max_size, ep.limits.max_medium)
        most = min(most, max(ep.limits.max_medium, self._zone)) + _SALTS
        self._mine = _pattern(ep.rank, most)
        self._theirs = _pattern(self.pair.peer, most).tobytes()
        self._blocks = 0
        self._block = TestamBlock("A", "short", "request-reply")
        self._source: npt.NDArray[np.uint8] = self._mine[:0]
        self._expected = b""
        self._arrived = 0
        self._replied = 0

    async def attach(self) -> None:
        """Register the handlers (collective)."""
        await self.ep.attach(
            self.barrier.on_arrival,
            self.ping_short,
            self.pong_short,
            self.count_short,
            self.ping_medium,
            self.pong_medium,
            self.count_medium,
            self.ping_long,
            self.pong_long,
            self.count_long,
        )

    # Handlers: ping is answered by pong; count has no answer.

    def ping_short(self, token: Token) -> None:
        """Answer."""
        token.reply_short(self.pong_short)

    def pong_short(self, token: Token) -> None:
        """Count a reply."""
        self._replied += 1

    def count_short(self, token: Token) -> None:
        """Count a request."""
        self._arrived += 1

    def ping_medium(self, token: Token, payload: memoryview) -> None:
        """Check the payload and answer with this side's own."""
        self._check(token, payload)
        token.reply_medium(self.pong_medium, self._source)

    def pong_medium(self, token: Token, payload: memoryview) -> None:
        """Check and count a reply."""
        self._check(token, payload)
        self._replied += 1

    def count_medium(self, token: Token, payload: memoryview) -> None:
        """Check and count a request."""
        self._check(token, payload)
        self._arrived += 1

    def ping_long(self, token: Token, payload: memoryview) -> None:
        """Check what landed and answer into the other side's segment."""
        self._check(token, payload)
        token.reply_long(self.pong_long, self._source, 0)

    def pong_long(self, token: Token, payload: memoryview) -> None:
        """Check what landed and count a reply."""
        self._check(token, payload)
        self._replied += 1

    def count_long(self, token: Token, payload: memoryview) -> None:
        """Check what landed and count a request."""
        self._check(token, payload)
        self._arrived += 1

    def _check(self, token: Token, payload: memoryview) -> None:
        if not self.checking:
            return
        if bytes(payload) != self._expected:
            raise ConduitError(_difference(self._block, token.rank, bytes(payload), self._expected))
        if self._block.category == "long" and self._block.exchange.startswith("request") and payload:
            # Nothing else lands here before this side's next message: spoil it, so that the next must really come.
            payload[0] ^= 0xFF
            payload[-1] ^= 0xFF

    # Exchanges

    async def measure(self, block: TestamBlock, iterations: int) -> float:
        """Time a block; collective.

        Returns:
            The seconds of all iterations, on the active side.
        """
        self._prepare(block)
        if self.ep.simulated or not block.exchange.startswith("request"):
            seconds = await self._exchange(block, iterations)
        else:
            turns = [await self._exchange(block, rounds_of_a_turn(iterations)) for _ in range(min(TURNS, iterations))]
            seconds = lower_quartile(turns, iterations)
        if not self.ep.simulated:
            self.checking = True
            await self._exchange(block, 1)
            self.checking = False
        return seconds

    def _prepare(self, block: TestamBlock) -> None:
        self._blocks += 1
        self._block = block
        nbytes, salt = block.nbytes or 0, self._blocks % _SALTS
        self._source = self._mine[salt : salt + nbytes]
        self._expected = self._theirs[salt : salt + nbytes]
        if self._local == "in" and block.category == "long":
            inside = self.ep.segment[self._zone : self._zone + nbytes]
            inside[:] = self._source
            self._source = inside

    async def _exchange(self, block: TestamBlock, iterations: int) -> float:
        self._arrived = self._replied = 0
        began = self.ep.now
        await self.barrier.wait()
        if not block.times_opening_barrier:
            began = self.ep.now
        match block.exchange:
            case "request-reply":
                await self._ping_pong_replies(iterations)
            case "request-request":
                await self._ping_pong_requests(iterations)
            case "replies":
                await self._flood_replies(iterations)
            case "one-way":
                await self._flood_one_way(iterations)
                await self.barrier.wait()
            case "two-way":
                await self._flood_two_way(iterations)
        seconds = self.ep.now - began
        await self.barrier.wait()  # the passive side must not turn to the next payloads before the last message
        return seconds

    async def _ping_pong_replies(self, iterations: int) -> None:
        for done in range(iterations * self.pair.sends):
            await self._request("ping")
            await self._replies(done + 1)

    async def _ping_pong_requests(self, iterations: int) -> None:
        for done in range(iterations):
            if self.pair.sends:
                await self._request("count")
            if self.pair.receives:
                await self._arrivals(2 * done + 1 if self.pair.sends else done + 1)
                await self._request("count")
            if self.pair.sends:
                await self._arrivals(2 * done + 2 if self.pair.receives else done + 1)

    async def _flood_replies(self, iterations: int) -> None:
        if self.pair.sends:
            for _ in range(iterations):
                await self._request("ping")
            await self._replies(iterations)

    async def _flood_one_way(self, iterations: int) -> None:
        if self.pair.sends:
            for _ in range(iterations):
                await self._request("count")
        if self.pair.receives:
            await self._arrivals(iterations)

    async def _flood_two_way(self, iterations: int) -> None:
        for _ in range(iterations):
            await self._request("count")
        await self._arrivals(iterations)

    async def _request(self, kind: Literal["ping", "count"]) -> None:
        ep, peer = self.ep, self.pair.peer
        match self._block.category:
            case "short":
                await ep.request_short(peer, self.ping_short if kind == "ping" else self.count_short)
            case "medium":
                await ep.request_medium(peer, self.ping_medium if kind == "ping" else self.count_medium, self._source)
            case "long":
                await ep.request_long(peer, self.ping_long if kind == "ping" else self.count_long, self._source, 0)

    async def _replies(self, count: int) -> None:
        await self.ep.block_until(lambda: self._replied >= count, what="replies", ranks=(self.pair.peer,))

    async def _arrivals(self, count: int) -> None:
        await self.ep.block_until(lambda: self._arrived >= count, what="requests", ranks=(self.pair.peer,))


async def main(ep: Endpoint, parameters: Parameters, progress: Progress) -> RecordList | None:
    """Time every block of the plan (collective).

    Returns:
        The records of an active rank.  A passive one has none, nor has one paired with itself if there are others.
    """
    side = TestamRank(ep, parameters)
    await side.attach()
    blocks = plan(ep, parameters)
    if ep.rank == 0:
        progress.begin(len(blocks))
    records = progress.keep(ep.rank) if side.pair.measures else []
    warm = ""
    for block in blocks:
        if block.category != warm and parameters.warmup:
            warm = block.category
            await _warm_up(side, [each for each in blocks if each.category == warm], parameters.warmup)
        if ep.rank == 0:
            progress.advance(block.operation)
        seconds = await side.measure(block, parameters.iterations)
        records.append(_record(block, parameters.iterations, seconds))
    return records if side.pair.measures else None


async def _warm_up(side: TestamRank, blocks: list[TestamBlock], iterations: int) -> None:
    """Run a flood with replies at the largest size of a category, then one ping-pong, untimed."""
    category = blocks[0].category
    most = min(max(block.nbytes or 0 for block in blocks), _limit(side.ep.limits, TestamBlock("", category, "replies")))
    nbytes = None if category == "short" else most
    await side.measure(TestamBlock("", category, "replies", nbytes), iterations)
    await side.measure(TestamBlock("", category, "request-reply", nbytes), 1)


def _record(block: TestamBlock, iterations: int, seconds: float) -> Record:
    return Record(
        section=block.section,
        operation=block.operation,
        nbytes=block.nbytes,
        iterations=iterations,
        seconds=seconds,
        payloads=block.payloads,
        at_limit=block.at_limit,
    )


def _pattern(rank: int, nbytes: int) -> npt.NDArray[np.uint8]:
    """Return bytes that tell rank and position apart, also across multiples of 256."""
    position = np.arange(nbytes, dtype=np.uint32)
    mixed: npt.NDArray[np.uint32] = position * 131 + (position >> 8) * 17 + (position >> 16) * 5 + rank * 29 + 1
    return (mixed & 0xFF).astype(np.uint8)


def _difference(block: TestamBlock, sender: int, got: bytes, expected: bytes) -> str:
    head = f"{block.operation}, {block.nbytes} bytes from rank {sender}: the contents are not what was sent"
    if len(got) != len(expected):
        return f"{head}: {len(got)} bytes arrived"
    where = next(index for index, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b)
    return f"{head}, first at byte {where}: {got[where]} instead of {expected[where]}"
