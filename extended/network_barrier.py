"""Barriers of all ranks of the job, where the network has barriers of its own.

Those carry no id, but whether some rank has given one.  Where none has, all are here when the network says so.  Else
ranks compare ids then, by signals as elsewhere.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from extended.barrier import Barrier, Barriers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from extended.barrier import Phase


class NetworkBarrier(Barrier):
    """A barrier of all ranks by the network's own."""

    _comparing: Phase | None = None  # the last one in which ids are compared by signals

    def _give(self, parity: int) -> None:
        phase = self.phases[parity]
        self._barriers.outgoing.add_arrival(self._identity, phase.id is not None, partial(self._all_here, phase))

    def _all_here(self, phase: Phase, named: bool) -> None:
        """All ranks have notified; `named`: some with an id."""
        if not named:
            phase.done = True
            return
        self._comparing = phase
        self.advance(self._parity)  # no rank can be in the next phase before
        self._barriers.outgoing.ask()

    def advance(self, parity: int) -> None:
        """As `Barrier`, where ids are compared; signals of ranks that know it earlier wait."""
        if self.phases[parity] is self._comparing:
            super().advance(parity)

    def _missing(self, phase: Phase) -> Sequence[int]:
        if phase.done or phase is self._comparing:
            return super()._missing(phase)
        rma = self._ep.rma
        assert rma is not None
        return rma.missing(self._identity)


class NetworkBarriers(Barriers):
    """Barriers where the network has some of its own."""

    whole = NetworkBarrier
