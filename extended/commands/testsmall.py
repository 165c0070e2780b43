"""`conduit testsmall`: latency and throughput of small puts and gets, non-bulk, contents verified.

| section | what is timed                                           | shown   |
|---------|---------------------------------------------------------|---------|
| A       | blocking operations                                     | latency |
| B       | blocking operations                                     | rate    |
| C       | implicit operations, each synced by itself              | latency |
| D       | implicit operations, all synced together                | rate    |
| E       | operations with handles, each waited for by itself      | latency |
| F       | operations with handles, all waited for together        | rate    |

The time of a block is that of issuing all operations and of the waits.  Non-blocking puts are non-bulk: their source
may change once the call has returned.  Source: GASNet's benchmark of that name.
"""

from typing import Annotated

from cyclopts import Parameter

from conduit import Endpoint
from conduit.benchmarks import BenchmarkOptions, Parameters, Program, Progress, RecordList, View, execute
from extended.commands.blocks import BlockKind, measure, segment_needed

SIZES = (1, 2048)

KINDS = (
    BlockKind(section="A", name="PutBlocking latency", direction="put", form="blocking", rated=False),
    BlockKind(section="A", name="GetBlocking latency", direction="get", form="blocking", rated=False),
    BlockKind(section="B", name="PutBlocking throughput", direction="put", form="blocking", rated=True),
    BlockKind(section="B", name="GetBlocking throughput", direction="get", form="blocking", rated=True),
    BlockKind(section="C", name="PutNBI+NOW latency", direction="put", form="nbi each", rated=False),
    BlockKind(section="C", name="GetNBI latency", direction="get", form="nbi each", rated=False),
    BlockKind(section="D", name="PutNBI+NOW throughput", direction="put", form="nbi", rated=True),
    BlockKind(section="D", name="GetNBI throughput", direction="get", form="nbi", rated=True),
    BlockKind(section="E", name="PutNB+NOW latency", direction="put", form="nb each", rated=False),
    BlockKind(section="E", name="GetNB latency", direction="get", form="nb each", rated=False),
    BlockKind(section="F", name="PutNB+NOW throughput", direction="put", form="nb", rated=True),
    BlockKind(section="F", name="GetNB throughput", direction="get", form="nb", rated=True),
)


async def main(ep: Endpoint, parameters: Parameters, progress: Progress) -> RecordList | None:
    """Measure on one rank; return its records, None on a passive one."""
    return await measure(ep, parameters, progress, KINDS, bulk=False)


PROGRAM = Program(
    name="testsmall",
    main=main,
    sections="ABCDEF",
    sizes=SIZES,
    segment=lambda parameters, limits: segment_needed(parameters),
    rate="KB/s",
    views=(
        View("Blocking puts and gets", "time", ("PutBlocking latency", "GetBlocking latency"), "A"),
        View("Rate, all begun at once", "messages", ("PutNBI+NOW throughput", "GetNBI throughput"), "D"),
    ),
)


def testsmall(options: Annotated[BenchmarkOptions, Parameter(name="*")] = BenchmarkOptions()) -> int:  # noqa: B008
    """Latency and throughput of small puts and gets, in KB (2**10 bytes) per second.

    Sections: A latency and B throughput of blocking ones; C and D the same
    with implicit handles (NBI); E and F with explicit ones (NB).
    """
    return execute(PROGRAM, options)
