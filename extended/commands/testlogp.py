"""`conduit testlogp`: the parameters of LogGP, measured between two ranks.

| section | what is shown                                                                                        |
|---------|------------------------------------------------------------------------------------------------------|
| A       | by size m: round trip RTT(m), send and receive overhead o_s(m) and o_r(m), gap g(m)                  |
| B       | L, o_s, o_r, g of a message of one byte, G of a byte of a large one, and the poll that is taken off  |

How they are measured says `extended.commands.logp`, with the source.
"""

from collections.abc import Iterator
from typing import Annotated

import attrs
from cyclopts import Parameter

from conduit import Endpoint
from conduit.benchmarks import (
    BenchmarkBarrier,
    BenchmarkOptions,
    Limits,
    Parameters,
    Program,
    Progress,
    Record,
    RecordList,
    View,
    execute,
    pair,
    sizes,
)
from extended.commands.logp import Figures, LogpTiming, Probe, measure

SIZES = (0, 1 << 20)
LEAST = 64
"""Bytes of the largest message at least, for G to be seen."""

_LESS = "it took no longer than what is taken off"
PARAMETERS = ("L", "o_s", "o_r", "g", "G")


async def main(ep: Endpoint, parameters: Parameters, progress: Progress) -> RecordList | None:
    """Measure on rank 0, with its partner; return its records, None on all others."""
    mine = pair(ep.rank, ep.size, parameters.pairing)
    source = ep.segment.data if parameters.local == "in" else memoryview(bytes(_segment(parameters, ep.limits)))
    probe, barrier = Probe(ep, mine.peer, parameters.iterations, source), BenchmarkBarrier(ep)
    await probe.attach()
    await ep.attach(barrier.on_arrival)
    records = None
    if ep.rank == 0:
        records = await _measured(probe, parameters, progress)
        await probe.stop()
    elif mine.peer == 0:
        await probe.serve()
    await barrier.wait()
    return records


async def _measured(probe: Probe, parameters: Parameters, progress: Progress) -> RecordList:
    limits = probe.ep.limits
    largest = min(parameters.max_size, *_limits(parameters, limits).values())
    shown = list(sizes(parameters.min_size, largest, parameters.max_step)) if "A" in parameters.sections else []
    progress.begin(len(shown) + 3)
    await probe.prepare(parameters.warmup)
    timings = {}
    for nbytes in dict.fromkeys((0, 1, *shown)):
        progress.advance(f"A {nbytes}")
        timings[nbytes] = await probe.timing(nbytes)
    progress.advance("B")
    figures = await measure(probe, timings[0], timings[1], largest)
    records = []
    for name in ("RTT(m)", "o_s(m)", "o_r(m)", "g(m)"):
        for nbytes in shown:
            seconds = _by_size(name, timings[nbytes], timings[0], figures)
            at_most = figures.at_most.get("g", "") if name == "g(m)" else ""
            unknown = "" if seconds > 0 or probe.ep.simulated else _LESS
            records.append(_record("A", name, nbytes, seconds, parameters.iterations, at_most, unknown))
    return records + (of_parameters(figures, parameters.iterations) if "B" in parameters.sections else [])


def of_parameters(figures: Figures, iterations: int) -> RecordList:
    """Return the records of section B."""
    values = attrs.asdict(figures)
    return [
        _record("B", name, None, values[name], iterations, figures.at_most.get(name, ""), figures.unknown.get(name, ""))
        for name in (*PARAMETERS, "poll")
    ]


def _by_size(name: str, timing: LogpTiming, none: LogpTiming, figures: Figures) -> float:
    return {
        "RTT(m)": timing.trip,
        "o_s(m)": timing.send - figures.poll,
        "o_r(m)": timing.receive - figures.poll,
        "g(m)": timing.trip - none.trip + figures.g,
    }[name]


def _record(
    section: str, name: str, nbytes: int | None, seconds: float, iterations: int, at_most: str, unknown: str
) -> Record:
    return Record(
        section=section,
        operation=name,
        nbytes=nbytes,
        iterations=iterations,
        seconds=0.0 if unknown else seconds * iterations,
        payloads=0,
        at_most="" if unknown else at_most,
        unknown=unknown,
        digits=6 if name == "G" else 3,  # the time of a byte is less than a nanosecond
    )


def notes(records: RecordList) -> Iterator[str]:
    """Yield the parameters as the conduit `loggp` takes them, and which of them are bounds, or unknown."""
    found = {record.operation: record for record in records if record.section == "B"}
    if not found:
        return
    figures = (f"{name}={_quantity(name, found[name].microseconds)}" for name in PARAMETERS)
    yield "loggp:" + ",".join(figures)
    for name in PARAMETERS:
        if found[name].at_most:
            yield f"{name} is at most that: {found[name].at_most}"
        if found[name].unknown:
            yield f"{name} is unknown, and 0 in the spec: {found[name].unknown}"


def _quantity(name: str, microseconds: float) -> str:
    least = 1e-9 if name == "G" else 1e-6  # of which the network keeps whole ones
    value = microseconds if microseconds >= least else 0.0  # differences of timings may also be below nothing
    return f"{value * 1e3:.4g}ns" if name == "G" else f"{value:.4g}us"


def _limits(parameters: Parameters, limits: Limits) -> dict[str, int]:
    return {"long message with an answer as long": min(limits.max_long_request, limits.max_long_reply)}


def _segment(parameters: Parameters, limits: Limits) -> int:
    return min(parameters.max_size, max(limits.max_long_request, limits.max_long_reply))


PROGRAM = Program(
    name="testlogp",
    main=main,
    sections="AB",
    sizes=SIZES,
    segment=_segment,
    fewest_ranks=2,
    least_size=LEAST,
    notes=notes,
    limits=_limits,
    totals=False,
    views=(
        View("Times by size", "time", ("RTT(m)", "o_s(m)", "o_r(m)", "g(m)"), "A"),
        View("Parameters of LogGP", "time", ("L", "o_s", "o_r", "g"), "B"),
        View("G of LogGP, of each byte", "time", ("G",), "B"),
    ),
)


def testlogp(options: Annotated[BenchmarkOptions, Parameter(name="*")] = BenchmarkOptions()) -> int:  # noqa: B008
    """The LogGP parameters L, o_s, o_r, g and G; G in microseconds per byte.

    Sections: A what they are made of, by size: round trip, o_s, o_r and g;
    B the parameters.
    """
    return execute(PROGRAM, options)
