"""The driver's own benchmarks, as `conduit raw startx` shows them: no conduit, no active messages.

Two hosts, nothing else on the network.  A message: from the beginning of the send until the receiver
has loaded it; the receiver looks at the instant of arrival, so no turn of a polling loop is in it.
RDMA: a request for the receiver and its grant, two messages of 16 bytes, then the block.

Source: the paper, Table 1 and section 2.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

from conduit.contract import RawTable
from conduit.sim import Kernel, Waiter
from conduit.sim.run import simulate
from conduit.sim.units import seconds
from conduits.startx.driver import LOW, PAYLOAD_MAX, Access, access_cost, tag_of
from conduits.startx.hardware.niu import HEADER
from conduits.startx.hardware.pinned import UNIT
from conduits.startx.hardware.rdma import LARGEST
from conduits.startx.machine import StartXMachine, build

RDMA_SIZES = (8, 64, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 16777216)
TABLE_1: tuple[tuple[str, Access, int, tuple[float, ...]], ...] = (
    ("a", "word", 16, (0.6, 26.6, 3.0, 5.3, 5.5)),
    ("b", "word", 64, (1.4, 45.7, 11.3, 5.7, 14.6)),
    ("c", "block", 64, (0.4, 160.0, 3.5, 18.3, 5.6)),
)
"""The rows of the paper's Table 1, with `FIGURES`; facts sx.pio.*."""

FIGURES = ("send us", "send MB/s", "receive us", "receive MB/s", "one way us")


def tables(piece: int) -> Sequence[RawTable]:
    """Return the tables for two hosts."""
    return (
        RawTable(
            "Messages (Table 1 of the paper)", ("row", "access", "bytes", "what", "here", "paper"),
            [row for which in TABLE_1 for row in _rows(*which)],
            "bytes include the header; MB = 10**6 bytes; word: ldd and std, block: ldda and stda; the receiver looks "
            "at the instant of the arrival, so that no rest of a poll is in it",
        ),
        RawTable(
            "RDMA", ("bytes", "us", "MB/s"), [_rdma_row(size, piece) for size in RDMA_SIZES],
            "from the request for the receiver until the last byte is in its pinned memory; MB = 10**6 bytes; "
            "the paper: approaches 60 MB/s for blocks over 16 KByte",
        ),
    )  # fmt: skip


def _rows(name: str, access: Access, nbytes: int, paper: tuple[float, ...]) -> Iterator[list[object]]:
    took = message(access, nbytes)
    found = (took.send, nbytes / took.send, took.receive, nbytes / took.receive, took.one_way)
    for what, value, printed in zip(FIGURES, found, paper, strict=True):
        yield [name, access, nbytes, what, value, printed]


def _rdma_row(nbytes: int, piece: int) -> tuple[int, float, float]:
    took = rdma(nbytes, piece) * 1e6
    return nbytes, round(took, 3), round(nbytes / took, 3)


class MessageTiming:
    """What one message took, in microseconds, measured on the driver.

    Attributes:
        send: of the sender's processor.
        receive: of the receiver's.
        one_way: from the beginning of the one to the end of the other.
    """

    def __init__(self) -> None:
        self.send = self.receive = self.one_way = 0.0


@functools.lru_cache(maxsize=256)
def message(access: Access, nbytes: int) -> MessageTiming:
    """Send a message of `nbytes`, header included, and receive it."""
    bench, took = _Bench(4096, access), MessageTiming()

    def arrived() -> None:
        now = bench.kernel.now
        data, loading = bench.far.receive(LOW, now)
        assert len(data) == nbytes
        assert tag_of(data) == 7
        took.receive = loading / 1e6
        took.one_way = (now + loading) / 1e6
        bench.over.wake()

    bench.far.niu.on_arrival.append(arrived)
    bench.run(lambda: setattr(took, "send", bench.near.send(LOW, 1, 7, bytes(nbytes - HEADER)) / 1e6))
    return took


@functools.lru_cache(maxsize=256)
def rdma(nbytes: int, piece: int) -> float:
    """Return the seconds that an RDMA of `nbytes` takes, its request and grant included."""
    bench = _Bench(piece, "word")
    source, sink = bench.near.pin(nbytes), bench.far.pin(nbytes)

    def ask() -> None:
        bench.near.arm(3, 1, source, nbytes, lambda: None)
        bench.near.send(LOW, 1, 7, bytes(8))

    def asked() -> None:
        _, loading = bench.far.receive(LOW, bench.kernel.now)
        bench.kernel.at(bench.kernel.now + loading, grant)

    def grant() -> None:
        bench.far.accept(0, 3, sink, nbytes, lambda start, size: None, bench.over.wake)

    bench.far.niu.on_arrival.append(asked)
    bench.run(ask)
    return seconds(bench.kernel.now)


@functools.lru_cache(maxsize=1024)
def one_way(access: Access, nbytes: int, piece: int, *, by_rdma: bool) -> float:
    """Return the seconds that `nbytes` take to another host, in messages or by RDMA.

    Messages follow one another as fast as the slower of the two processors goes; what is over the largest RDMA goes
    in several, one after the other.  Nothing is sent for less than the least that the hardware does.
    """
    if by_rdma:
        whole, rest = divmod(max(nbytes, 1), LARGEST)
        return sum(rdma(size + -size % UNIT, piece) for size in [LARGEST] * whole + [rest] * bool(rest))
    whole, rest = divmod(max(nbytes, 1), PAYLOAD_MAX)
    sizes = [HEADER + PAYLOAD_MAX] * whole + ([HEADER + max(8, rest + -rest % 4)] if rest else [])
    first = message(access, sizes[0]).one_way
    later = [access_cost(access, size) for size in sizes[1:]]
    return (first + sum(max(cost.send, cost.receive) for cost in later) / 1e6) / 1e6


class _Bench:
    """Two hosts, each with a process that has opened its NIU."""

    def __init__(self, piece: int, access: Access) -> None:
        self.kernel = Kernel()
        cluster = build(self.kernel, (0, 1), StartXMachine(access=access, piece=piece))
        self.near, self.far = cluster.process(0), cluster.process(1)
        self.over = Waiter()

    def run(self, start: Callable[[], object]) -> None:
        """Start, and let events run until `over` is woken."""

        async def body() -> None:
            start()
            await self.kernel.wait(self.over)

        simulate(self.kernel, body)
