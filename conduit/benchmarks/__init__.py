"""The parts of which benchmark commands are made: options, sizes, pairing, records, tables, JSON.

A benchmark is a `Program`: an `async def main(ep, parameters, progress)` that measures on `ep.now` and returns its
`Record`s, and a few facts about it.  `execute` runs it on every conduit that the user named and shows the figures.

```python
from conduit.benchmarks import BenchmarkOptions, Program, execute

def testsmall(options: Annotated[BenchmarkOptions, Parameter(name="*")] = BenchmarkOptions()) -> int:
    return execute(Program(name="testsmall", main=main, sections="ABCDEF", sizes=(1, 2048), segment=needed), options)
```
"""

from conduit.benchmarks.barrier import BenchmarkBarrier
from conduit.benchmarks.execute import Program, execute, measure
from conduit.benchmarks.idle import idle
from conduit.benchmarks.operation import ExplainedOperation, Mark
from conduit.benchmarks.options import BenchmarkOptions, Parameters
from conduit.benchmarks.pairs import BenchmarkPair, pair
from conduit.benchmarks.progress import Progress
from conduit.benchmarks.record import Record, RecordList
from conduit.benchmarks.sizes import sizes
from conduit.benchmarks.turns import TURNS, lower_quartile, rounds_of_a_turn
from conduit.benchmarks.views import SizeMark, View
from conduit.contract import Limits

__all__ = [
    "TURNS",
    "BenchmarkBarrier",
    "BenchmarkOptions",
    "BenchmarkPair",
    "ExplainedOperation",
    "Limits",
    "Mark",
    "Parameters",
    "Program",
    "Progress",
    "Record",
    "RecordList",
    "SizeMark",
    "View",
    "execute",
    "idle",
    "lower_quartile",
    "measure",
    "pair",
    "rounds_of_a_turn",
    "sizes",
]
