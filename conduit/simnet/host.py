"""The host that ranks share: what copying, computing and passing a line between CPUs cost."""

from __future__ import annotations

from functools import partial

import attrs

from conduit.contract import Constant, MessageCosts
from conduit.errors import BadRequest
from conduit.sim import Kernel
from conduit.sim.labels import Labelled
from conduit.sim.units import PS_PER_S, duration, seconds
from conduit.simnet.constants import bytes_per_s, number, ps

ASSUMED = (
    COPY_RATE := Constant("host.copy_rate", 1000, "MB/s", "assumed", "a round figure for a copy in memory"),
    FLOPS := Constant("host.flops", 1e9, "1/s", "assumed", "a round figure for one CPU"),
    LINE := Constant("host.line", 100, "ns", "assumed", "order of a cache line passed between two CPUs"),
    POLL := Constant("host.poll", 10, "ns", "assumed", "order of a load that misses no cache"),
    MESSAGE := Constant(
        "host.message", 300, "ns", "assumed", "order of building or dispatching a message in shared memory"
    ),
)
"""The defaults of `HostModel`, for the constants of networks that say nothing else of their hosts."""


def _ticks(host: object, field: attrs.Attribute[int], value: int) -> None:
    """Refuse what is no number of picoseconds: times are added up as integers."""
    if not isinstance(value, int) or value < 0:
        raise BadRequest(
            f"HostModel: {field.name}={value} is no int of picoseconds from 0 on; use conduit.sim.units.ps(seconds) or "
            "round"
        )


def _rate(host: object, field: attrs.Attribute[float], value: float) -> None:
    """Refuse what cannot be divided by."""
    if not value > 0:
        raise BadRequest(f"HostModel: {field.name}={value} is no rate; pass a number above 0")


@attrs.frozen
class HostModel:
    """Costs of a host, given by each network from its own constants; by default round figures, `ASSUMED`.

    Attributes:
        copy_bytes_per_s: rate of a memory-to-memory copy.
        copy_call_ps: what a copy costs before its first byte, picoseconds.
        flops_per_s: floating-point operations per second of one CPU.
        line_ps: time until another CPU sees a store, picoseconds.
        poll_ps: one look at a flag in shared memory that is not set, picoseconds.
        message_ps: building, or decoding and dispatching, one message in shared memory, picoseconds.
    """

    copy_bytes_per_s: float = attrs.field(factory=partial(bytes_per_s, COPY_RATE), validator=_rate)
    copy_call_ps: int = attrs.field(default=0, validator=_ticks)
    flops_per_s: float = attrs.field(factory=partial(number, FLOPS), validator=_rate)
    line_ps: int = attrs.field(factory=partial(ps, LINE), validator=_ticks)
    poll_ps: int = attrs.field(factory=partial(ps, POLL), validator=_ticks)
    message_ps: int = attrs.field(factory=partial(ps, MESSAGE), validator=_ticks)

    def on(self, kernel: Kernel) -> HostModel:
        """Return this host as the job of `kernel` uses it: where somebody listens to CPUs, its copies say so."""
        return _Telling(**attrs.asdict(self)) if kernel.tells_copies else self

    def copy_ticks(self, nbytes: int) -> int:
        """Return what copying `nbytes` costs, picoseconds."""
        return self.copy_call_ps + duration(nbytes, self.copy_bytes_per_s) if nbytes else 0

    def message_costs(self, look_ps: int = 0) -> MessageCosts:
        """Return what messages between two ranks of the host cost.

        Args:
            look_ps: what a poll of this rank takes beside its look at shared memory, which finds nothing either.
        """
        send, receive = self.message_ps, self.message_ps + self.line_ps
        start = seconds(send + receive + 2 * (self.poll_ps + look_ps))
        copy = 1 / self.copy_bytes_per_s  # by the sender, into the slot or to its place
        return MessageCosts(
            start=start,
            send=seconds(send),
            receive=seconds(receive),
            medium_byte=copy,
            long_start=start + seconds(self.copy_call_ps),
            long_byte=copy,
            poll=seconds(self.poll_ps + look_ps),
        )

    def work_ticks(self, flops: int, threads: int, copied: int) -> int:
        """Return what `flops` operations on `threads` CPUs and a copy of `copied` bytes cost, picoseconds."""
        worked = round(flops * PS_PER_S / (self.flops_per_s * threads)) if flops else 0
        return worked + self.copy_ticks(copied)


@attrs.frozen
class _Telling(HostModel):
    """A host model that names the time of copies, so that observers can tell it from other CPU time."""

    def copy_ticks(self, nbytes: int) -> int:
        """Return what copying `nbytes` costs, picoseconds."""
        ticks = HostModel.copy_ticks(self, nbytes)
        if isinstance(ticks, Labelled):  # of constants with their names
            return Labelled(ticks, tuple((part, f"copy{name}") for part, name in ticks.parts))
        return Labelled(ticks, ((ticks, "copy"),)) if ticks else 0
