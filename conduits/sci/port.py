"""The conduit proper: its options, limits and placement; the messages are `protocol`'s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import attrs

from conduit.contract import Category, Constant, Costs, JobSetup, Limits, MessageCosts, RawTable
from conduit.errors import BadRequest
from conduit.options import option
from conduit.sim.units import duration, seconds
from conduit.simnet import HostModel, SimulatedConduit, SimulatedPort, Transport
from conduits.sci import constants as c
from conduits.sci import raw, rsm
from conduits.sci.driver import MAP_PS, segment_limit
from conduits.sci.machine import CPUS, SciMachine, build, host_model
from conduits.sci.protocol import DISCIPLINES, SciConfig
from conduits.sci.wire import PairedLayout, QueueLayout

HEADER_BYTES = 16
"""Of a message without arguments, as it is stored."""
_BULK = c.whole(c.IBEL_BULK)


@attrs.frozen(kw_only=True)
class SciOptions(SciMachine):
    """The options of `sci`: the machine's, and the protocol's as the paper or its authors' code have them."""

    slots: int = option(
        c.whole(c.SLOTS),
        "request slots per pair of ranks, each with its reply slot",
        validator=[attrs.validators.ge(1), attrs.validators.le(1024)],
        conformance=(c.whole(c.SLOTS), 1),
    )
    slot_payload: int = option(
        c.whole(c.SLOT_PAYLOAD),
        "bytes of medium payload that a slot holds",
        validator=[attrs.validators.ge(512), attrs.validators.le(1 << 20)],
        conformance=(c.whole(c.SLOT_PAYLOAD), 512),
    )
    transactions: Literal[1, 2] = option(2, "stores of a medium message: header and payload, or one copied together")
    dma_threshold: int = option(
        c.whole(c.DMA_THRESHOLD),
        "long payloads of at least this many bytes go by DMA; so do all that no slot holds",
        validator=attrs.validators.ge(0),
        conformance=(c.whole(c.DMA_THRESHOLD), 0),
    )
    dynamic_mapping: bool = option(False, "map the target for unaligned data instead of bouncing them through the slot")
    queue: Literal["paired", "single", "split"] = option(
        "paired",
        "queue discipline: the paper's, Ibel's single buffer, or Ibel's split queue (can deadlock)",
        conformance=("paired", "single"),
    )

    def __attrs_post_init__(self) -> None:
        """Check that the driver can give the command segments, or the queues of Ibel's designs."""
        largest, way = self.max_segment, "" if self.patched else ", or use sci:patched=yes"
        if self.queue == "paired":
            size = PairedLayout(1, self.slots, self.slot_payload).command_bytes
            if size > largest:
                raise ValueError(
                    f"slots={self.slots} with slot_payload={self.slot_payload} needs command segments of {size} bytes, "
                    f"the driver gives {largest}; lower one of them{way}"
                )
        elif self.queue == "split":  # the single buffer has one slot, whatever `slots` is
            size = QueueLayout(self.slots, _BULK).queue_bytes
            if size > largest:
                raise ValueError(
                    f"slots={self.slots} with queue=split needs queues of {size} bytes, the driver gives {largest}; "
                    f"lower slots{way}"
                )


def effective_threshold(options: SciOptions) -> int:
    """Return the size from which a long payload cannot or must not go through a slot."""
    return min(options.dma_threshold, options.slot_payload + 1)


class Sci(SimulatedConduit):
    """GASNet's core over SCI, on a simulated cluster.

    Source: Su, Gordon, Oral, George (2004); see README.md beside this file.
    """

    name = "sci"
    alignment = c.whole(c.DMA_ALIGN)
    summary = "Dolphin SCI cards on a torus: PIO stores, DMA, remote flags; GASNet's sci-conduit"
    Options: ClassVar[type] = SciOptions
    constants: ClassVar[tuple[Constant, ...]] = (*c.CONSTANTS, *rsm.CONSTANTS)

    def __init__(self, options: SciOptions, setup: JobSetup, world: Any) -> None:
        super().__init__(options, setup, world)
        control = PairedLayout(setup.ranks, options.slots, options.slot_payload).control_bytes
        if options.queue == "paired" and control > options.max_segment:
            raise BadRequest(
                f"ranks={setup.ranks} with slots={options.slots} need control segments of {control} bytes, the SCI "
                f"driver gives {options.max_segment}; ask for fewer ranks, lower slots"
                + ("" if options.patched else ", or use sci:patched=yes")
            )
        self.cluster = build(self.kernel, setup.hosts, options)
        self.config = SciConfig(
            ranks=setup.ranks,
            slots=options.slots,
            slot_payload=options.slot_payload,
            transactions=options.transactions,
            dma_threshold=effective_threshold(options),
            dynamic_mapping=options.dynamic_mapping,
        )

    @classmethod
    def limits(cls, options: SciOptions) -> Limits:
        """Return the limits: a slot's payload, and what a segment can hold; with Ibel's queues 4 KiB."""
        longest = options.max_segment
        medium = options.slot_payload
        if options.queue != "paired":
            longest, medium = _BULK, min(medium, _BULK)
        return Limits(c.whole(c.MAX_ARGS), medium, longest, longest)

    @classmethod
    def max_segment(cls, options: SciOptions) -> int | None:
        """Return the contiguous memory that the driver gives."""
        return options.max_segment

    @classmethod
    def larger_segment(cls, options: SciOptions, segment: int) -> str:
        """Return the option by which the driver gives so much, if it ever does."""
        if options.patched or segment > segment_limit(patched=True):
            return ""
        return "use sci:patched=yes"

    @classmethod
    def check_segment(cls, options: SciOptions, segment: int) -> None:
        """Refuse a segment for which the driver has no contiguous memory."""
        largest = options.max_segment
        if segment > largest:
            way = cls.larger_segment(options, segment)
            instead = f"ask for at most {largest}" + (f", or {way}" if way else "")
            raise BadRequest(
                f"segment={segment}: the SCI driver gives at most {largest} bytes of contiguous memory; {instead}"
            )

    @classmethod
    def max_ranks_per_host(cls, options: SciOptions) -> int | None:
        """Return the CPUs of a host."""
        return CPUS

    @classmethod
    def max_hosts(cls, options: SciOptions) -> int | None:
        """Return the hosts of the torus, or what SCI can address."""
        return options.max_hosts

    @classmethod
    def thresholds(cls, options: SciOptions) -> tuple[int, ...]:
        """Return the payload size from which long messages go by DMA."""
        return (effective_threshold(options),) if options.queue == "paired" else ()

    @classmethod
    def costs(cls, options: SciOptions) -> Costs:
        """Return the sums of docs/models/sci.md for neighbours; Ibel's queues, which have others, say nothing."""
        host = host_model()
        on_host = host.message_costs(c.ps(c.POLL_MISS))
        copy = 1 / host.copy_bytes_per_s
        if options.queue != "paired":
            return Costs(on_host=on_host, copy_byte=copy)
        ring = 4 * c.ps(c.HOP)  # there and back around a ring of four, half of it each way on the average
        way = c.ps(c.SEND_LATENCY) + c.ps(c.RECEIVE_LATENCY) + ring // 2
        header = c.ps(c.PIO_START) + duration(HEADER_BYTES, c.bytes_per_s(c.PIO_RATE))
        barrier = c.ps(c.SEND_LATENCY) + c.ps(c.RECEIVE_LATENCY) + c.ps(c.RESPONSE_LATENCY) + ring
        flags = 2 * c.ps(c.PIO_START) + duration(2, c.bytes_per_s(c.PIO_RATE))
        software = c.ps(c.CHECK) + c.ps(c.BUILD)
        send = software + c.ps(c.SEARCH) + header + barrier + flags
        receive = 4 * options.slots * c.ps(c.SCAN_FLAG) + c.ps(c.UNPACK) + c.ps(c.DISPATCH)
        start = send - c.ps(c.SEARCH) // 2 + way + receive + 2 * c.ps(c.POLL_MISS)
        off_host = MessageCosts(
            start=seconds(start),
            send=seconds(send),
            receive=seconds(receive),
            medium_byte=1 / c.bytes_per_s(c.PIO_RATE) + (copy if options.transactions == 1 else 0),
            long_start=seconds(start + c.ps(c.DMA_SETUP)),
            long_byte=1 / c.bytes_per_s(c.DMA_RATE),
            poll=seconds(c.ps(c.POLL_MISS)),
        )
        return Costs(off_host=off_host, on_host=on_host, copy_byte=copy)

    @classmethod
    def raw_tables(cls, options: SciOptions) -> Sequence[RawTable]:
        """Return the driver's benchmarks."""
        return raw.tables(options)

    @classmethod
    def raw_time(cls, options: SciOptions, category: Category, nbytes: int, *, round_trip: bool) -> float | None:
        """Return what PIO, or from the threshold on DMA, takes between neighbours, in seconds."""
        by_dma = category in (Category.LONG, Category.LONG_ASYNC) and options.queue == "paired"
        by_dma = by_dma and nbytes >= effective_threshold(options)
        one_way = raw.one_way(raw.neighbours(options), nbytes, by_dma=by_dma)
        return 2 * one_way if round_trip else one_way

    def make_host(self) -> HostModel:
        """Return the costs of a dual Xeon node."""
        return host_model()

    def make_transport(self, port: SimulatedPort) -> Transport:
        """Return the network with the chosen queue discipline."""
        return DISCIPLINES[self.options.queue](port, self.cluster, self.config)

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what the cards, buses and links of the hosts have done."""
        return self.cluster.statistics()

    def start_ticks(self) -> int:
        """Return the cost of importing every peer's control segment and the own command segment there."""
        return 2 * (self.setup.ranks - 1) * MAP_PS

    def allgather_ticks(self) -> int:
        """Return the cost of an all-gather of identifiers: a round for each doubling."""
        return (self.setup.ranks - 1).bit_length() * c.ps(c.EXCHANGE_ROUND)
