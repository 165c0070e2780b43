"""What the processes of a job have recorded of it, on its way to where it is joined.

Each rank records for itself, by a clock of its own.  Where this package has started the processes, each hands over what
it has to who has started them, also when the job fails; else they give it to one another when the job is over.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence

import attrs

from conduit.contract import Hooks, JobSetup, Processes
from conduit.core.observer import CallListener, Failure, LandingListener, hooks_to
from conduit.errors import BadRequest
from conduit.launch.observing import observers_of
from conduit.launch.printing.output import Speech
from conduit.launch.registry import Spec, parse_spec
from conduit.launch.timelines import timeline_of
from conduit.launch.tracing import HandedOver, report_recording
from conduit.seeing.report import ReportRecording, join_report_parts, report_part_of
from conduit.seeing.timeline import RankPart, Recording, join_parts, part_of
from conduit.wall import (
    Alignment,
    Counted,
    Offset,
    WallPort,
    counted_of,
    found_number,
    measure_offsets,
    one_clock_a_host,
)


@attrs.frozen
class Crossing:
    """What one process hands over of one job.

    Attributes:
        number: of the job, among those of its processes that are recorded.
        rank: the process.
        conduit: the conduit's spec.
        setup: the job.
        zero: what `time.perf_counter_ns` showed here at the start of the job.
        offsets: of the clocks of all ranks, measured before the job, and after it if it has ended well.
        counted: of the requests in this rank's slots.
        part: what was recorded.
    """

    number: int
    rank: int
    conduit: str
    setup: JobSetup
    zero: int
    offsets: tuple[tuple[Offset, ...], ...]
    counted: Counted
    part: RankPart


_JOBS: list[int] = [0]
"""How many jobs of this process were recorded."""


class ProcessRecording:
    """The recording of a job in one of its processes.

    Args:
        spec: the network.
        setup: the job.
        processes: those of all ranks, every one of which makes this at the same time.
        observers: who wants to have it.

    Raises:
        BadRequest: one of them wants to hear what is known only where all ranks are one process.
    """

    def __init__(self, spec: Spec, setup: JobSetup, processes: Processes, observers: Sequence[object]) -> None:
        self._recordings: list[Recording] = []
        for each in observers:
            if not isinstance(each, Recording) or isinstance(each, LandingListener):
                raise BadRequest(
                    f"run: the ranks of conduit={spec.text!r} are processes, each of which tells only of itself while "
                    f"the job runs; an observer like {type(each).__name__} needs a simulated conduit"
                )
            self._recordings.append(each)
        self._spec = spec
        self._setup = setup
        self._processes = processes
        reported = any(isinstance(each, CallListener) for each in observers)
        self._own = (report_recording if reported else timeline_of)(spec, setup)
        self._offsets: tuple[tuple[Offset, ...], ...] = (measure_offsets(processes),)
        self._number = _JOBS[0]
        _JOBS[0] += 1

    def hooks(self) -> Hooks | None:
        """Return whom the job is to tell."""
        return hooks_to([self._own])

    def failed_with(self, failure: Failure) -> None:
        """Take note of what this rank ends the job with."""
        self._own.failed_with(failure)

    def ended(self, port: WallPort, zero: int, ticks: int, speech: Speech, *, failed: bool) -> None:
        """Hand over what was recorded; join it here, where that is wanted and all processes still answer.

        Args:
            port: the rank's.
            zero: what `time.perf_counter_ns` showed at the start of the job.
            ticks: the rank's time at its end, picoseconds.
            speech: how this process speaks.
            failed: whether the job has not ended well; then every process may be at another place.
        """
        self._own.ended([ticks], failed=failed)
        if not failed:
            self._offsets += (measure_offsets(self._processes),)
        rank = self._processes.rank
        own = self._own
        part = report_part_of(own, rank) if isinstance(own, ReportRecording) else part_of(own, rank)
        mine = Crossing(self._number, rank, self._spec.text, self._setup, zero, self._offsets, counted_of(port), part)
        here = [each for each in self._recordings if not isinstance(each, HandedOver)]
        if len(here) < len(self._recordings):
            speech.recording(pickle.dumps(mine))
        if here and not failed:
            given = [pickle.loads(data) for data in self._processes.gather(pickle.dumps(mine))]
            for recording in here:
                _join(recording, given)


def hear(recorded: Iterable[bytes]) -> None:
    """Let who listens to the jobs that start here hear of those that processes have handed over."""
    jobs: dict[int, list[Crossing]] = {}
    for data in recorded:
        crossing: Crossing = pickle.loads(data)
        jobs.setdefault(crossing.number, []).append(crossing)
    for _, given in sorted(jobs.items()):
        for observer in observers_of(parse_spec(given[0].conduit), given[0].setup):
            if isinstance(observer, Recording):
                _join(observer, given)


def _join(recording: Recording, given: Sequence[Crossing]) -> None:
    by_rank = {crossing.rank: crossing for crossing in given}
    measured = max((crossing.offsets for crossing in given), key=len)
    alignment = Alignment(*(one_clock_a_host(offsets, given[0].setup.hosts) for offsets in measured))
    zero = min(alignment.on_first(rank, crossing.zero) for rank, crossing in by_rank.items())

    def moved(rank: int, ticks: int) -> int:
        return (alignment.on_first(rank, by_rank[rank].zero + ticks // 1000) - zero) * 1000

    def counted(rank: int) -> Counted | None:
        return by_rank[rank].counted if rank in by_rank else None

    parts = {rank: crossing.part for rank, crossing in by_rank.items()}
    if isinstance(recording, ReportRecording):
        join_report_parts(recording, parts, moved)
    join_parts(
        recording,
        parts,
        moved,
        lambda rank, number: found_number(rank, number, counted),
        [alignment.within(rank) * 1000 for rank in range(given[0].setup.ranks)],
    )
