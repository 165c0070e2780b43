"""The options that all benchmark commands share, and what they come to for one conduit."""

from typing import Annotated, Literal

import attrs
from cyclopts import Parameter

from conduit import BadRequest
from conduit.benchmarks.columns import Columns
from conduit.commandline.files import File, Trace
from conduit.commandline.integers import Integer, RankCount, Size, at_least
from conduit.commandline.names import ConduitNames

SIMULATED_ITERATIONS = 20
REAL_ITERATIONS = 1000
SIMULATED_RANKS = 2
LARGEST = 2**31 - 1
"""Bytes of the largest payload that can be asked for; no message of any conduit is longer."""

REAL_WARMUP = 10_000
"""Most warm-up operations on a real network; simulated ones have nothing to warm up beyond their first message."""


@attrs.frozen(kw_only=True)
class BenchmarkOptions:
    """What users may ask of a benchmark."""

    conduit: ConduitNames = ("sci",)
    """Conduit to measure, as NAME or NAME:option=value,...; repeat it to compare several. [default: sci]"""

    ranks: RankCount | None = None
    """Number of ranks; by default 2, or as many as there are processes."""

    ranks_per_host: Integer | None = None
    """Consecutive ranks on each host; by default the fewest that the network's hosts allow."""

    iterations: Integer | None = None
    """How often each operation is done; by default 20, in real time 1000."""

    min_size: Size | None = None
    """Smallest payload in bytes; K, M and G stand for powers of 2."""

    max_size: Size | None = None
    """Largest payload in bytes; a note says if it is lowered to what messages, or by default segments, can hold."""

    max_step: Size | None = None
    """Largest difference in bytes from one size to the next; by default sizes double."""

    sections: str | None = None
    """Letters of the sections to run, as AB or a,b; by default all."""

    drawn: Annotated[bool, Parameter(negative="")] = False
    """Run only the sections that `conduit compare` draws, unless --sections says which."""

    local: Literal["in", "out"] = "out"
    """Where the local side of a transfer lies: in or out of the segment."""

    pairing: Literal["next", "cross"] = "next"
    """Partner of a rank: the neighbour, or the one half the job away."""

    warmup: bool = True
    """Run some operations untimed first."""

    seed: Integer = 0
    """Of everything random; the first of several runs."""

    repeat: Integer = 1
    """Run so often, with one seed after the other; tables show the median, the least and the most of each figure."""

    columns: Columns = ()
    """Columns of the tables, as average,MB/s: total, average, median, least, most, MB/s, KB/s, offered, driver,
    difference; by default all that there is room for."""

    json: File | None = None
    """File for the results as JSON, an object per conduit in a list; - prints them, and tables go to standard error."""

    csv: File | None = None
    """File for the results as CSV, a line for each row of a table; - prints them, and tables go to standard error."""

    trace: Trace | None = None
    """File for what happened and when, as JSON that Perfetto and chrome://tracing open; runs follow one another in
    it."""


@attrs.frozen(kw_only=True)
class Parameters:
    """What a benchmark's program runs with on one conduit.

    Attributes:
        iterations: how often each operation is timed.
        warmup: untimed operations before, 0 for none.
        min_size: smallest payload, bytes.
        max_size: largest payload, bytes, before the conduit's own limits.
        max_step: largest difference of two sizes, None for any.
        sections: letters of the sections to run, upper case.
        local: where the local side of a transfer lies.
        pairing: how partners are found.
    """

    iterations: int
    warmup: int
    min_size: int
    max_size: int
    max_step: int | None
    sections: str
    local: Literal["in", "out"]
    pairing: Literal["next", "cross"]


def parameters_for(
    options: BenchmarkOptions, simulated: bool, sections: str, default_sizes: tuple[int, int]
) -> Parameters:
    """Work out what the options mean on a conduit.

    Args:
        options: what the user asked for.
        simulated: whether the conduit is.
        sections: all letters that the benchmark has.
        default_sizes: its smallest and largest payload, bytes.

    Raises:
        BadRequest: an option is out of its range.
    """
    for name, given in (("ranks", options.ranks), ("ranks-per-host", options.ranks_per_host)):
        if given is not None:
            at_least(1, name, given)
    at_least(1, "repeat", options.repeat)
    iterations = options.iterations
    if iterations is None:
        iterations = SIMULATED_ITERATIONS if simulated else REAL_ITERATIONS
    at_least(1, "iterations", iterations)
    least, most = _sizes(options, default_sizes)
    if options.max_step is not None:
        at_least(1, "max-step", options.max_step)
    warmup = (1 if simulated else min(iterations, REAL_WARMUP)) if options.warmup else 0
    return Parameters(
        iterations=iterations,
        warmup=warmup,
        min_size=least,
        max_size=most,
        max_step=options.max_step,
        sections=_letters(options.sections, sections),
        local=options.local,
        pairing=options.pairing,
    )


def _sizes(options: BenchmarkOptions, default_sizes: tuple[int, int]) -> tuple[int, int]:
    least = default_sizes[0] if options.min_size is None else options.min_size
    most = max(default_sizes[1], least) if options.max_size is None else options.max_size
    at_least(0, "min-size", least)
    for name, given in (("min-size", least), ("max-size", most)):
        if given > LARGEST:
            raise BadRequest(f"--{name} {given} is too large; it must be at most {LARGEST}")
    if options.min_size is None:
        least = min(least, max(most, 0))
    if most < least:
        raise BadRequest(f"--max-size {most} is below the smallest size of {least} bytes; raise it to at least that")
    return least, most


def _letters(asked: str | None, known: str) -> str:
    if asked is None:
        return known
    letters = set(asked.upper()) - {","}
    unknown = sorted(letters - set(known))
    if unknown or not letters:
        some = len(unknown) < len(letters)
        what = f"has '{unknown[0]}' in it, which is no section" if some else "names no section"
        raise BadRequest(f"--sections '{asked}' {what}; give letters out of {known}")
    return "".join(letter for letter in known if letter in letters)
