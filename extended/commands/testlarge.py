"""`conduit testlarge`: throughput of large puts and gets, bulk, contents verified.

| section | what is timed                                      |
|---------|----------------------------------------------------|
| A       | blocking operations                                |
| B       | implicit operations, all synced together           |
| C       | operations with handles, all waited for together   |

The time of a block is that of issuing all operations and of the waits.  Non-blocking puts are bulk: their source stays
in use until they are synced.  GASNet's sections D and E wait for local completion by itself, which the extended API
does not offer.  Source: GASNet's benchmark of that name.
"""

from typing import Annotated

from cyclopts import Parameter

from conduit import Endpoint
from conduit.benchmarks import BenchmarkOptions, Parameters, Program, Progress, RecordList, View, execute
from extended.commands.blocks import BlockKind, measure, segment_needed

SIZES = (16, 2 << 20)

KINDS = (
    BlockKind(section="A", name="PutBlocking", direction="put", form="blocking", rated=True),
    BlockKind(section="A", name="GetBlocking", direction="get", form="blocking", rated=True),
    BlockKind(section="B", name="PutNBI+DEFER", direction="put", form="nbi", rated=True),
    BlockKind(section="B", name="GetNBI", direction="get", form="nbi", rated=True),
    BlockKind(section="C", name="PutNB+DEFER", direction="put", form="nb", rated=True),
    BlockKind(section="C", name="GetNB", direction="get", form="nb", rated=True),
)


async def main(ep: Endpoint, parameters: Parameters, progress: Progress) -> RecordList | None:
    """Measure on one rank; return its records, None on a passive one."""
    return await measure(ep, parameters, progress, KINDS, bulk=True)


PROGRAM = Program(
    name="testlarge",
    main=main,
    sections="ABC",
    sizes=SIZES,
    segment=lambda parameters, limits: segment_needed(parameters),
    views=(
        View("Bandwidth, blocking", "rate", ("PutBlocking", "GetBlocking"), "A"),
        View("Bandwidth, all begun at once", "rate", ("PutNBI+DEFER", "GetNBI"), "B"),
    ),
)


def testlarge(options: Annotated[BenchmarkOptions, Parameter(name="*")] = BenchmarkOptions()) -> int:  # noqa: B008
    """Throughput of large puts and gets, in MB (2**20 bytes) per second.

    Sections: A blocking; B with implicit handles (NBI); C with explicit ones (NB).
    """
    return execute(PROGRAM, options)
