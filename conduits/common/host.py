"""The host that ranks share: what copying, computing and passing a line between CPUs cost."""

from __future__ import annotations

import attrs

from conduit.sim.units import PS_PER_S, duration


@attrs.frozen
class HostModel:
    """Costs of a host, given by each network from its own constants.

    Attributes:
        copy_bytes_per_s: rate of a memory-to-memory copy.
        copy_call_ps: what a copy costs before its first byte, picoseconds.
        flops_per_s: floating-point operations per second of one CPU.
        line_ps: time until another CPU sees a store, picoseconds.
        poll_ps: one look at a flag in shared memory that is not set, picoseconds.
        message_ps: building, or decoding and dispatching, one message in shared memory, picoseconds.
    """

    copy_bytes_per_s: float
    copy_call_ps: int
    flops_per_s: float
    line_ps: int
    poll_ps: int
    message_ps: int

    def copy_ticks(self, nbytes: int) -> int:
        """Return what copying `nbytes` costs, picoseconds."""
        return self.copy_call_ps + duration(nbytes, self.copy_bytes_per_s) if nbytes else 0

    def work_ticks(self, flops: int, threads: int, copied: int) -> int:
        """Return what `flops` operations on `threads` CPUs and a copy of `copied` bytes cost, picoseconds."""
        worked = round(flops * PS_PER_S / (self.flops_per_s * threads)) if flops else 0
        return worked + self.copy_ticks(copied)
