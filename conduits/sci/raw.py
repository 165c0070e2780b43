"""The driver's own benchmarks, as `conduit raw sci` shows them: no conduit, no messages.

Two neighbouring hosts with nothing else on the torus.  PIO ping-pong after `scipp`: store, spin on
the last byte, store back; half the round trip counts.  DMA after `dma_bench`: one way, until the
completion.  Remote reads: until the bytes are here.

Source: the conduit's paper, section 5.1.2.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from conduit.contract import RawTable
from conduit.sim.kernel import Kernel
from conduit.sim.run import simulate
from conduit.sim.topology import Torus
from conduit.sim.units import seconds
from conduit.sim.waiter import Waiter
from conduit.simnet.bench import until_done
from conduits.sci import constants as c
from conduits.sci.driver import Mapping, Segment, Sisci
from conduits.sci.hardware import Fabric

POLL_PS = c.ps(c.POLL_MISS)
PIO_SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
DMA_SIZES = (8, 64, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
READ_SIZES = (4, 8, 64, 256, 1024)


def tables(torus: tuple[int, ...], piece: int) -> Sequence[RawTable]:
    """Return the tables for two neighbours on a torus of that shape."""
    columns = ("bytes", "us", "MB/s")
    return (
        RawTable(
            "PIO ping-pong (scipp)", columns,
            [_row(size, one_way(torus, piece, size, by_dma=False)) for size in PIO_SIZES],
            "half a round trip; MB = 2**20 bytes",
        ),
        RawTable(
            "DMA, one way (dma_bench)", columns,
            [_row(size, one_way(torus, piece, size, by_dma=True)) for size in DMA_SIZES],
            "until the completion, set-up included; MB = 2**20 bytes",
        ),
        RawTable(
            "Remote read", columns, [_row(size, read(torus, piece, size)) for size in READ_SIZES],
            "until the bytes are here; MB = 2**20 bytes",
        ),
    )  # fmt: skip


def _row(nbytes: int, took: float) -> tuple[int, float, float]:
    return nbytes, round(took * 1e6, 3), round(nbytes / took / 2**20, 3)


@functools.lru_cache(maxsize=1024)
def one_way(torus: tuple[int, ...], piece: int, nbytes: int, *, by_dma: bool) -> float:
    """Return the seconds that `nbytes` take to a neighbour by PIO or DMA.

    Nothing is sent for less than one byte, and DMA rounds up to 8: the least that the hardware does.
    """
    if by_dma:
        return _dma(torus, piece, max(8, -(-nbytes // 8) * 8))
    return _ping_pong(torus, piece, max(1, nbytes)) / 2


@functools.lru_cache(maxsize=64)
def read(torus: tuple[int, ...], piece: int, nbytes: int) -> float:
    """Return the seconds that a read of `nbytes` from a neighbour takes."""
    bench = _Bench(torus, piece, nbytes)

    async def body() -> None:
        await until_done(bench.kernel, lambda then: bench.near.read(bench.there, 0, nbytes, lambda _, when: then(when)))

    simulate(bench.kernel, body)
    return seconds(bench.kernel.now)


def _ping_pong(torus: tuple[int, ...], piece: int, nbytes: int) -> float:
    """Return the seconds of a round trip of PIO stores."""
    bench = _Bench(torus, piece, nbytes)
    data = b"\1" * nbytes

    async def ping() -> None:
        await until_done(bench.kernel, lambda then: bench.near.store(bench.there, 0, data, then))
        await bench.spin(bench.here_segment)

    async def pong() -> None:
        await bench.spin(bench.there_segment)
        await until_done(bench.kernel, lambda then: bench.far.store(bench.here, 0, data, then))

    simulate(bench.kernel, ping, pong)
    return seconds(bench.kernel.now)


def _dma(torus: tuple[int, ...], piece: int, nbytes: int) -> float:
    """Return the seconds of one DMA until its completion."""
    bench = _Bench(torus, piece, nbytes)
    data = memoryview(bytes(nbytes))

    async def body() -> None:
        await until_done(bench.kernel, lambda then: bench.near.dma(data, 0, bench.remote, 0, then))

    simulate(bench.kernel, body)
    return seconds(bench.kernel.now)


class _Bench:
    """Two neighbouring hosts, each with a segment that the other has mapped."""

    def __init__(self, torus: tuple[int, ...], piece: int, nbytes: int) -> None:
        self.kernel = Kernel()
        fabric = Fabric(self.kernel, Torus(torus), piece=piece)
        neighbour = min(1, fabric.torus.nodes - 1)
        self.near, self.far = Sisci(fabric, 0, patched=True), Sisci(fabric, neighbour, patched=True)
        self.here_segment = self.near.create_segment(1, nbytes)
        self.there_segment = self.far.create_segment(2, nbytes)
        self.here_segment.export()
        self.there_segment.export()
        self.remote = self.near.connect(neighbour, 2)
        self.there: Mapping = self.near.map(self.remote)
        self.here: Mapping = self.far.map(self.far.connect(0, 1))

    async def spin(self, segment: Segment) -> None:
        """Look at the last byte of a segment until it is set."""
        begun, last = self.kernel.now, segment.nbytes - 1
        waiter = Waiter()

        def look() -> None:
            if segment.memory.read(last, 1) != b"\0":
                waiter.wake()

        segment.on_landing = look
        look()
        await self.kernel.wait(waiter)
        looks = -(-(self.kernel.now - begun) // POLL_PS)
        await self.kernel.until(max(begun + looks * POLL_PS, self.kernel.now + 1))
