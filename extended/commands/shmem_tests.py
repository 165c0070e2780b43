"""`conduit shmem-tests`: five tests of how one-sided communication scales, by SHMEM and by MPI-2.

Sections A to E are the tests: distant messages, circular right shift, naive broadcast, binary tree broadcast,
all-to-all.  The figure of each is the filtered mean of its trials (`extended.shmem.filtered_mean`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import numpy as np
from cyclopts import Parameter

from conduit import BadRequest
from conduit.benchmarks import BenchmarkOptions, Program, Record, View, measure
from conduit.benchmarks.report import runs_as_json
from conduit.commandline.console import make_console
from conduit.commandline.files import STANDARD_OUTPUT, File, check_files, write_file
from conduit.commandline.integers import Integer, Integers, Sizes
from conduit.commandline.names import ConduitNames
from extended import shmem
from extended.commands.shmem_tables import print_tests
from extended.scaling import harness
from extended.scaling.by_shmem import ByShmem
from extended.scaling.by_windows import ByWindows
from extended.scaling.plan import ITEM, LIBRARIES, TESTS, Library, ScalingBlock, Test, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conduit import Endpoint
    from conduit.benchmarks import Limits, Parameters, Progress, RecordList
    from conduit.benchmarks.report import ConduitResults

NAME = "shmem-tests"
PES = (16,)
TRIALS = 51
"""`sh.m.trials`."""

OWN = 8192
"""Bytes of a segment that the layers may keep for themselves, beside 64 a PE."""


@attrs.frozen(kw_only=True)
class ScalingOptions:
    """What users may ask of shmem-tests."""

    test: Annotated[tuple[Test, ...], Parameter(negative=(), show_default=False)] = TESTS
    """Test to run; repeat it for several. [default: all five]"""

    library: Annotated[tuple[Library, ...], Parameter(negative=(), show_default=False)] = LIBRARIES
    """What it is written with; repeat it for both. [default: both]"""

    form: Literal["get", "put"] | None = None
    """By gets or by puts; by default gets, but the tree by SHMEM, which has puts alone."""

    conduit: ConduitNames = ("origin", "t3e")
    """Machine, as NAME or NAME:option=value,...; repeat it to compare several. [default: origin and t3e]"""

    ranks: Integers = PES
    """Number of PEs; several, as 16,32,64, are run one after the other. [default: 16]"""

    ranks_per_host: Integer | None = None
    """Consecutive PEs on each host; by default as the machine has them."""

    sizes: Sizes = ()
    """Bytes of a message, as 8,10000; by default those of the paper."""

    trials: Integer = TRIALS
    """How often each test is timed; the first time does not count."""

    stagger: Annotated[bool, Parameter(negative="--no-stagger")] = True
    """All-to-all: each PE begins at its left neighbour, not all at PE 0."""

    whole: Annotated[bool, Parameter(negative="--no-whole")] = True
    """Tree by MPI-2: the barriers and fences with which it begins and ends are timed."""

    seed: Integer = 0
    """Of everything random."""

    drawn: Annotated[bool, Parameter(negative="", show=False)] = False
    """For `conduit compare`, which draws all tests."""

    json: File | None = None
    """File for the results as JSON, an object for each machine and number of PEs; - prints them."""


@attrs.frozen(kw_only=True)
class ScalingRecord(Record):
    """One test.

    Attributes:
        test, library, form: what it was.
        trials: seconds of each trial.
        partners: of distant messages the seconds with each partner, from PE 1 on.
    """

    test: str
    library: str
    form: str
    trials: tuple[float, ...]
    partners: tuple[float, ...] = ()

    def as_json(self) -> dict[str, object]:
        """As `Record.as_json`, with all trials, in microseconds."""
        own = {"test": self.test, "library": self.library, "form": self.form}
        times = {"trials_us": [time * 1e6 for time in self.trials]}
        if self.partners:
            times["partners_us"] = [time * 1e6 for time in self.partners]
        return {**super().as_json(), **own, **times}


async def main(
    ep: Endpoint, parameters: Parameters, progress: Progress, plan: Sequence[ScalingBlock], options: ScalingOptions
) -> RecordList | None:
    """Run the tests on one rank; the records are the same on all."""
    pe = await shmem.attach(ep)
    arrays = await pe.zeros(2 * max(block.room(ep.size) for block in plan))
    libraries = {
        name: await (ByShmem if name == "shmem" else ByWindows).made(pe, arrays)
        for name in dict.fromkeys(block.library for block in plan)
    }
    if ep.rank == 0:
        progress.begin(len(plan))
    records = progress.keep(ep.rank)
    for block in plan:
        if ep.rank == 0:
            progress.advance(f"{block.test} {block.library} {block.form} {block.nbytes}")
        library = libraries[block.library]
        library.use(block.room(ep.size))
        records.append(await _run(library, block, options))
    return records


async def _run(library: ByShmem | ByWindows, block: ScalingBlock, options: ScalingOptions) -> Record:
    count, trials = block.count, options.trials
    partners: tuple[float, ...] = ()
    if block.test == "distant":
        each = await harness.distant(library, count, trials)
        partners = tuple(shmem.filtered_mean(column) for column in each.T)
        taken, seconds = each.mean(axis=1), float(np.mean(partners))
    else:
        taken = await _series(library, block, options)
        seconds = shmem.filtered_mean(taken)
    return ScalingRecord(
        section="ABCDE"[TESTS.index(block.test)],
        operation=f"{block.test} {block.library} {block.form}",
        nbytes=block.nbytes,
        iterations=1,
        seconds=seconds,
        test=block.test,
        library=block.library,
        form=block.form,
        trials=tuple(map(float, taken)),
        partners=partners,
    )


async def _series(library: ByShmem | ByWindows, block: ScalingBlock, options: ScalingOptions) -> Any:
    count, trials = block.count, options.trials
    if block.test == "shift":
        return await harness.shift(library, count, block.form, trials)
    if block.test == "naive":
        return await harness.naive(library, count, trials)
    if block.test == "tree":
        return await harness.tree(library, count, block.form, trials, whole=options.whole)
    return await harness.alltoall(library, count, trials, stagger=options.stagger)


def shmem_tests(options: Annotated[ScalingOptions, Parameter(name="*")] = ScalingOptions()) -> int:
    """Five tests of how one-sided communication scales, by SHMEM and by MPI-2.

    Distant messages, circular right shift, naive broadcast, binary tree broadcast
    and all-to-all, each timed in many trials and filtered as their paper does.
    """
    plan = blocks(options.test, options.library, options.form, options.sizes)
    _check(options)
    console = make_console(stderr=options.json == STANDARD_OUTPUT)
    runs: list[ConduitResults] = []
    try:
        for pes in options.ranks:
            before = len(runs)
            runs.extend(measure(_program(plan, options, pes), _asked(options, pes), console))
            if len(runs) == before:
                return 0  # a rank in a process of its own
    finally:
        if runs:
            print_tests(console, runs)
            if options.json is not None:
                write_file("json", options.json, runs_as_json(runs))
    return 0


def _check(options: ScalingOptions) -> None:
    if options.trials < 2:
        raise BadRequest(f"--trials {options.trials} is too small; the first one does not count, so give at least 2")
    for pes in options.ranks:
        if pes < 2:
            raise BadRequest(f"--ranks {pes} is too few for {NAME}; give at least 2")
    if not options.ranks:
        raise BadRequest("--ranks names no number of PEs; give some, as 16,32")
    if options.json is not None:
        check_files({"json": options.json})


def _program(plan: Sequence[ScalingBlock], options: ScalingOptions, pes: int) -> Program:
    def segment(parameters: Parameters, limits: Limits) -> int:
        return 2 * ITEM * max(block.room(pes) for block in plan) + OWN + 64 * pes

    largest = max(block.nbytes for block in plan)
    return Program(
        name=NAME,
        main=partial(main, plan=plan, options=options),
        sections="ABCDE",
        sizes=(ITEM, largest),
        segment=segment,
        fewest_ranks=2,
        settings={"trials": options.trials, "stagger": options.stagger, "whole": options.whole},
        shown=(),
        shorter="`--trials` or `--ranks`",
        views=tuple(_views(plan)),
        marks=lambda spec: (),
    )


def _views(plan: Sequence[ScalingBlock]) -> Iterator[View]:
    """Yield a picture for each test, with a curve for each library."""
    for letter, test in zip("ABCDE", TESTS, strict=True):
        names = dict.fromkeys(f"{test} {block.library} {block.form}" for block in plan if block.test == test)
        if names:
            yield View(test, "time", tuple(names), letter)


def _asked(options: ScalingOptions, pes: int) -> BenchmarkOptions:
    return BenchmarkOptions(
        conduit=options.conduit, ranks=pes, ranks_per_host=options.ranks_per_host, seed=options.seed, warmup=False
    )
