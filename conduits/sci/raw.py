"""The driver's own benchmarks, as `conduit raw sci` shows them: no conduit, no messages.

Two neighbouring hosts with nothing else on the torus.  PIO ping-pong after `scipp`: store, spin on
the last byte, store back; half the round trip counts.  DMA after `dma_bench`: one way, until the
completion.  Remote reads: until the bytes are here.  Then the calls of RSMAPI on this driver, each timed
from its beginning until the CPU goes on, and its put and get by size.

Source: the conduit's paper, section 5.1.2; Table I of the RSMAPI papers for the calls.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from conduit.contract import RawTable
from conduit.sim import Cpu, Kernel, Waiter, simulate
from conduit.sim.units import seconds
from conduit.simnet.bench import until_done
from conduits.rsm.bench import Bench, every_call
from conduits.sci import constants as c
from conduits.sci.driver import Segment, SegmentMapping
from conduits.sci.machine import SciMachine, build
from conduits.sci.rsm import SciRsm

POLL_PS = c.ps(c.POLL_MISS)
PIO_SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
DMA_SIZES = (8, 64, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
READ_SIZES = (4, 8, 64, 256, 1024)
RSM_SIZES = (8, 64, 512, 1024, 2048, 4096, 8192, 16384)
RSM_BYTES = 16384
"""Of the segment, and of what is put and got, where each call is timed."""


def neighbours(options: SciMachine) -> SciMachine:
    """Return the machine of a benchmark for the options of a job: the same torus, as two hosts have it."""
    return SciMachine(torus=options.shape(2), piece=options.piece, patched=True)


def tables(options: SciMachine) -> Sequence[RawTable]:
    """Return the tables for two neighbours on that machine; those of RSM only where there are two hosts."""
    machine = neighbours(options)
    columns = ("bytes", "us", "MB/s")
    driver = (
        RawTable(
            "PIO ping-pong (scipp)", columns,
            [_row(size, one_way(machine, size, by_dma=False)) for size in PIO_SIZES],
            "half a round trip; MB = 2**20 bytes",
        ),
        RawTable(
            "DMA, one way (dma_bench)", columns,
            [_row(size, one_way(machine, size, by_dma=True)) for size in DMA_SIZES],
            "until the completion, set-up included; MB = 2**20 bytes",
        ),
        RawTable(
            "Remote read", columns, [_row(size, read(machine, size)) for size in READ_SIZES],
            "until the bytes are here; MB = 2**20 bytes",
        ),
    )  # fmt: skip
    return driver if machine.max_hosts == 1 else (*driver, *_rsm_tables(machine))


def _rsm_tables(machine: SciMachine) -> Sequence[RawTable]:
    return (
        RawTable(
            "RSMAPI, each call", ("call", "us"),
            [(name, round(took * 1e6, 3)) for name, took in rsm_calls(machine).items()],
            "segment and data of 16 KB; the software of the calls is assumed, see conduit show, and accesses take what "
            "the card takes",
        ),
        RawTable(
            "RSMAPI, put and get", ("bytes", "put us", "put and barrier us", "MB/s", "get us", "get MB/s"),
            [_transfers(size, *rsm_transfers(machine, size)) for size in RSM_SIZES],
            "put: until the CPU goes on; and barrier: open, put and close, until all is in remote memory; MB = 2**20 "
            "bytes",
        ),
    )  # fmt: skip


def _transfers(nbytes: int, put: float, closed: float, got: float) -> tuple[int, float, float, float, float, float]:
    return nbytes, round(put * 1e6, 3), *_row(nbytes, closed)[1:], *_row(nbytes, got)[1:]


def _row(nbytes: int, took: float) -> tuple[int, float, float]:
    return nbytes, round(took * 1e6, 3), round(nbytes / took / 2**20, 3)


@functools.lru_cache(maxsize=1024)
def one_way(machine: SciMachine, nbytes: int, *, by_dma: bool) -> float:
    """Return the seconds that `nbytes` take to a neighbour by PIO or DMA.

    Nothing is sent for less than one byte, and DMA rounds up to 8: the least that the hardware does.
    """
    if by_dma:
        return _dma(machine, max(8, -(-nbytes // 8) * 8))
    return _ping_pong(machine, max(1, nbytes)) / 2


@functools.lru_cache(maxsize=64)
def read(machine: SciMachine, nbytes: int) -> float:
    """Return the seconds that a read of `nbytes` from a neighbour takes."""
    bench = _Bench(machine, nbytes)

    async def body() -> None:
        await until_done(bench.kernel, lambda then: bench.near.read(bench.there, 0, nbytes, lambda _, when: then(when)))

    simulate(bench.kernel, body)
    return seconds(bench.kernel.now)


def _ping_pong(machine: SciMachine, nbytes: int) -> float:
    """Return the seconds of a round trip of PIO stores."""
    bench = _Bench(machine, nbytes)
    data = b"\1" * nbytes

    async def ping() -> None:
        await until_done(bench.kernel, lambda then: bench.near.store(bench.there, 0, data, then))
        await bench.spin(bench.here_segment)

    async def pong() -> None:
        await bench.spin(bench.there_segment)
        await until_done(bench.kernel, lambda then: bench.far.store(bench.here, 0, data, then))

    simulate(bench.kernel, ping, pong)
    return seconds(bench.kernel.now)


def _dma(machine: SciMachine, nbytes: int) -> float:
    """Return the seconds of one DMA until its completion."""
    bench = _Bench(machine, nbytes)
    data = memoryview(bytes(nbytes))

    async def body() -> None:
        await until_done(bench.kernel, lambda then: bench.near.dma(data, 0, bench.remote, 0, then))

    simulate(bench.kernel, body)
    return seconds(bench.kernel.now)


@functools.lru_cache(maxsize=64)
def rsm_calls(machine: SciMachine) -> dict[str, float]:
    """Return the seconds of every call of RSMAPI by its name."""
    return every_call(_rsm(machine), RSM_BYTES)


@functools.lru_cache(maxsize=64)
def rsm_transfers(machine: SciMachine, nbytes: int) -> tuple[float, float, float]:
    """Return the seconds of a put of `nbytes`, of a put between opening and closing a barrier, and of a get."""
    bench = _rsm(machine)
    took: list[float] = []

    async def body() -> None:
        imported, _ = await bench.connect(nbytes)
        took.extend(await bench.closed_put(imported, bytes(nbytes)))
        took.append(await bench.until(bench.near, lambda then: imported.get(0, nbytes, then)))

    bench.run(body)
    return took[0], took[1], took[2]


def _rsm(machine: SciMachine) -> Bench:
    """Return two neighbours with RSM."""
    kernel = Kernel()
    cluster = build(kernel, (0, 1), machine)
    return Bench(SciRsm(cluster, 0, Cpu(kernel, 0)), SciRsm(cluster, 1, Cpu(kernel, 1)))


class _Bench:
    """Two neighbouring hosts, each with a segment that the other has mapped."""

    def __init__(self, machine: SciMachine, nbytes: int) -> None:
        self.kernel = Kernel()
        neighbour = min(1, machine.max_hosts - 1)
        cluster = build(self.kernel, (0, neighbour), machine)
        self.near, self.far = cluster.process(0), cluster.process(1)
        self.here_segment = self.near.create_segment(1, nbytes)
        self.there_segment = self.far.create_segment(2, nbytes)
        self.here_segment.export()
        self.there_segment.export()
        self.remote = self.near.connect(neighbour, 2)
        self.there: SegmentMapping = self.near.map(self.remote)
        self.here: SegmentMapping = self.far.map(self.far.connect(0, 1))

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
