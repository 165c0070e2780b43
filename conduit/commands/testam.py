"""`conduit testam`."""

from typing import Annotated

from cyclopts import Parameter

from conduit.benchmarks import BenchmarkOptions, Parameters, Program, Record, execute
from conduit.commands.testam_program import SECTIONS, SIZES, VIEWS, kinds, largest, main, segment_needed
from conduit.contract import Category, Limits
from conduit.launch.registry import Spec

_COMPARED = {
    (kind.section, kind.operation): (Category[kind.category.upper()], kind.exchange != "one-way")
    for kind in kinds()
    if kind.exchange in ("request-reply", "request-request", "one-way")
}
"""Of which blocks the bare driver has a counterpart, and whether that is a round trip."""


def testam(options: Annotated[BenchmarkOptions, Parameter(name="*")] = BenchmarkOptions()) -> int:  # noqa: B008 - immutable
    """Measure latency and bandwidth of Active Messages, contents verified.

    Sections: A short; B-F medium; G-K long. Each of B-F and G-K in turn:
    ping-pong by request and reply, ping-pong by requests, one-way flood,
    flood with replies, two-way flood. A ping-pong's time is the full round trip.
    """
    program = Program(
        name="testam",
        main=main,
        sections=SECTIONS,
        sizes=SIZES,
        segment=_segment,
        raw=_driver_microseconds,
        limits=largest,
        views=VIEWS,
    )
    return execute(program, options)


def _segment(parameters: Parameters, limits: Limits) -> int:
    return segment_needed(parameters, limits.max_long_request)


def _driver_microseconds(spec: Spec, record: Record) -> float | None:
    """Ask the conduit what its bare driver takes for the same payload."""
    compared = _COMPARED.get((record.section, record.operation))
    if compared is None:
        return None
    category, round_trip = compared
    seconds = spec.cls.raw_time(spec.options, category, record.nbytes or 0, round_trip=round_trip)
    return None if seconds is None else seconds * 1e6
