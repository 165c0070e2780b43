"""One processor's stores to one host: runs of lines over the stripes, and the memory barrier behind them.

A run of lines is stored at one CPU's pace and posted.  Line by line it goes over the stripes in turn.  A run
that finds every link free costs no event here.  All else is a `Stopped` or a `Flight`:

    end = channel.issue(lines) or channel.follow(lines, issued, landed)

A memory barrier is a message there and back behind all that was stored; it reports what went wrong since
the one before.

Source: Sistare and Jackson, sections 2.5, 2.8; docs/models/sunfire.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from conduits.sunfire.constants import (
    BARRIER_PS,
    LANDING_PS,
    LINE_PS,
    PATIENCE_PS,
    READ_LINE_PS,
    START_PS,
    TRANSIT_PS,
)  # fmt: skip
from conduits.sunfire.hardware.parts import LINE, ErrorStatus, Lane
from conduits.sunfire.hardware.roles import Issuer
from conduits.sunfire.hardware.runs import Flight, Landed, Read, Reading, Stopped
from conduits.sunfire.hardware.tables import TableEntry

Then: TypeAlias = Callable[[int], object]
Fenced: TypeAlias = Callable[[int, int], object]

_FIRST_PS = START_PS + LINE_PS
_LOST, _NO_PATH, _REFUSED = ErrorStatus.LOST, ErrorStatus.NO_PATH, ErrorStatus.REFUSED


class StoreChannel:
    """What one processor stores to one host, over all NIs or one of them.

    Attributes:
        may_fail: whether parts may fail: then every run is a `Flight`.
        pending: runs of which it is not known yet when they land.
        errors: what has gone wrong since the last barrier, a `ErrorStatus`.
    """

    __slots__ = (
        "_complete",
        "_end",
        "_kernel",
        "_most",
        "_piece",
        "_stopped",
        "_turn",
        "_waiting",
        "errors",
        "interface",
        "may_fail",
        "paths",
        "pending",
        "processor",
        "target",
    )  # fmt: skip

    def __init__(self, processor: Issuer, target: int, interface: int | None) -> None:
        fabric = processor.fabric
        self.processor = processor
        self.target = target
        self.interface = interface
        self.paths = fabric.paths(processor.host, target, interface)
        self.may_fail = fabric.may_fail
        self._kernel = processor.kernel
        self._piece = max(1, fabric.piece // LINE)
        self._most = 0 if self.may_fail else self._piece  # lines that may go at once
        self._turn = 0
        self._end = 0  # when the CPU has given away the last line that found every link free
        self._complete = 0  # when a barrier is back behind all others of which it is known, and behind earlier ones
        self._stopped: Stopped | None = None  # the run that has just been stopped
        self._waiting: list[Fenced] = []
        self.pending = 0
        self.errors = 0

    def issue(self, lines: int) -> int:
        """Store a run of lines, in an event, if nothing is in its way.

        Args:
            lines: how many, at least 1.

        Returns:
            When the CPU has given the last line away; it is in memory `LANDING_PS` later.  0 if something is in
            the way: `follow` must then be called at once.
        """
        if lines == 1 and not self.may_fail:
            return self.issue_line()
        return self._issue_striped(lines)

    def issue_line(self) -> int:
        """As `issue`, for a single line, where no part may fail."""
        if self.processor.held:
            return 0
        now = self._kernel.now
        end = now + _FIRST_PS
        lanes, turn = self.paths.lanes, self._turn
        self._turn = (turn + 1) % len(lanes)
        lane = lanes[turn]
        lane.lines += 1
        busy = lane.reserve_line(LINE, now, now + LINE_PS)  # the CPU's start lies behind the links (rule T7)
        if busy is None:
            self._end = end
            return end
        self._stopped = Stopped(self, end)
        self._stopped.wait_for(lane, busy, LINE, now)
        return 0

    def _issue_striped(self, lines: int) -> int:
        """As `issue`, for several lines."""
        if self.processor.held or lines > self._most:
            return 0
        now = self._kernel.now
        tail = now + lines * LINE_PS
        end = tail + START_PS  # the CPU's start lies behind the links
        for lane, share in self.stripe(lines):
            busy = lane.reserve(share << 6, now, tail)
            if busy is not None:  # the stripes behind it come after it there
                if self._stopped is None:
                    self._stopped = Stopped(self, end)
                self._stopped.wait_for(lane, busy, share << 6, now)
        if self._stopped is not None:
            return 0
        self._end = end
        return end

    def follow(self, lines: int, issued: Then, landed: Landed) -> int:
        """Go on with the run for which `issue` has just returned 0.

        Args:
            lines: as given to `issue`.
            issued: called as `issued(when)`: the CPU has given the last line away at `when`.
            landed: called as `landed(run)` in an event when it is known when the last line gets there; `run` is the
                `Stopped` or `Flight`.

        Returns:
            When the CPU has given the last line away, `issued` not being called, or 0 if it waits.
        """
        self.pending += 1
        stopped = self._stopped
        if stopped is None:
            flight = Flight(self, lines, self._piece)
            flight.tell(issued, landed)
            self.processor.begin(flight)
            return 0
        self._stopped = None
        stopped.landed = landed
        self.processor.held = True
        return stopped.end

    def stripe(self, lines: int) -> list[tuple[Lane, int]]:
        """Choose the lanes of the next lines, in turn, and how many lines each of them takes."""
        lanes, turn = self.paths.lanes, self._turn
        count = len(lanes)
        found = []
        for first in range(min(lines, count)):
            lane = lanes[(turn + first) % count]
            share = -(-(lines - first) // count)
            lane.lines += share
            found.append((lane, share))
        self._turn = (turn + lines) % count if count else 0
        return found

    def settle(self, arrival: int) -> None:
        """A run that was pending is in memory at `arrival`, or that much is known about what was lost of it."""
        self.pending -= 1
        back = arrival - LANDING_PS + BARRIER_PS
        if back > self._complete:
            self._complete = back
        if self._waiting and not self.pending:
            waiting, self._waiting = self._waiting, []
            if self.may_fail or self.errors:
                self._send_barrier(waiting)
            else:
                back = max(self._complete, self._kernel.now)
                for then in waiting:
                    then(back, 0)

    def landing(self, arrival: int) -> None:
        """Something that is not pending lands at `arrival`: a barrier is not back before that."""
        self._complete = max(self._complete, arrival - LANDING_PS + BARRIER_PS)

    def arrived(self, flight: Flight, lost: int, last: int) -> None:
        """A run of which `lost` lines are lost gets there, the others landing until `last`."""
        if not lost:
            self.settle(last)
            return
        self.count_errors(len(flight.stranded))
        status = _NO_PATH if flight.stranded else 0
        status |= _LOST if lost > len(flight.stranded) else 0
        # Without a path the own NI knows at once; else somebody must wait for an answer in vain.
        after = 0 if status == _NO_PATH else PATIENCE_PS
        self._kernel.at(self._kernel.now + after, self._missed, status, last)

    def refuse(self, lines: int) -> int:
        """Store lines that the receiving NI's tables do not let in; return when the CPU has given them away."""
        end = self._kernel.now + START_PS + lines * LINE_PS
        self.pending += 1
        self.count_errors(lines)
        self._kernel.at(end + LANDING_PS + TRANSIT_PS, self._missed, _REFUSED, 0)
        return end

    def _missed(self, status: int, last: int) -> None:
        self.fail(status)
        self.settle(last)

    def count_errors(self, lines: int) -> None:
        """Count lines that never got on a lane, or were refused, at the channel's NI or the host's first."""
        self.processor.fabric.inventory.interfaces[self.processor.host, self.interface or 0].errors += lines

    def fail(self, status: int) -> None:
        """Something of this channel went wrong: the processor's register says so, and the next barrier."""
        self.errors |= status
        self.processor.raise_error(status)

    # -- loads -------------------------------------------------------------------------------------

    def read(self, entry: TableEntry, offset: int, nbytes: int, then: Read) -> None:
        """Load lines, one at a time; `then(data, when, status)` in an event, with no data where there is an error."""
        if not entry.lets_read(self.processor.host):
            self.count_errors(1)
            self._kernel.at(self._kernel.now + READ_LINE_PS, self._unread, then, _REFUSED)
            return
        Reading(self, entry, offset, nbytes, self._piece * LINE, then).go_on()

    def _unread(self, then: Read, status: int) -> None:
        self.fail(status)
        then(b"", self._kernel.now, status)

    # -- the memory barrier ------------------------------------------------------------------------

    def fence(self, then: Fenced) -> int:
        """Wait until all that this channel has stored is in remote memory, or known to be lost.

        Args:
            then: called as `then(when, status)` in an event: it is known here at `when`, and what went wrong
                since the last barrier, 0 if nothing did.

        Returns:
            That time, if it is known at once and nothing can have gone wrong, and `then` is not called;
            else 0.
        """
        for interface in dict.fromkeys(lane.source for lane in self.paths.lanes):
            interface.barriers += 1
        # It goes behind what was stored, whether it is known yet when that lands or not.
        self._complete = max(self._complete, max(self._end, self._kernel.now) + BARRIER_PS)
        if self.pending:
            self._waiting.append(then)
            return 0
        if self.may_fail or self.errors:
            self._send_barrier([then])
            return 0
        return self._complete

    def _send_barrier(self, waiting: list[Fenced]) -> None:
        """Send the message over every stripe; what gets no answer is given up after a while."""
        lanes = [(lane, lane.failures) for lane in self.paths.lanes if lane.up]
        intact = len(lanes) == len(self.paths.lanes)
        self._kernel.at(max(self._complete, self._kernel.now), self._barrier_back, lanes, intact, waiting)

    def _barrier_back(self, lanes: list[tuple[Lane, int]], intact: bool, waiting: list[Fenced]) -> None:
        if not lanes and intact:
            self._barrier_over(waiting, _NO_PATH)
        elif intact and all(lane.up and lane.failures == failures for lane, failures in lanes):
            self._barrier_over(waiting, 0)
        else:
            self._kernel.at(self._kernel.now + PATIENCE_PS, self._barrier_over, waiting, _LOST)

    def _barrier_over(self, waiting: list[Fenced], status: int) -> None:
        if status:
            self.fail(status)
        errors, self.errors = self.errors, 0
        for then in waiting:
            then(self._kernel.now, errors)
