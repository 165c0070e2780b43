"""Two files of results as ratios of their times."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import attrs

from conduit.errors import BadRequest
from conduit.seeing.comparison.charts import SIZES, file_name
from conduit.seeing.comparison.results import UNKNOWN, BenchmarkResult, Row
from conduit.seeing.pictures import BarPanel, Curve, LinePanel, Picture
from conduit.words import many

_PANELS = 4
"""Of one picture."""
_RATIO = "time by time before"
_TITLE = "times of the second file by those of the first"


@attrs.frozen(kw_only=True)
class Difference:
    """One timed block in both files.

    Attributes:
        program: the benchmark.
        label: the conduit, or both where they differ.
        section: its letter.
        operation: what was timed.
        nbytes: payload, bytes.
        before: microseconds in the first file.
        after: microseconds in the second.
    """

    program: str
    label: str
    section: str
    operation: str
    nbytes: int
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """How often the first time is in the second: below 1 is faster; infinite where the first alone is 0."""
        if self.before == self.after:
            return 1.0
        return self.after / self.before if self.before else inf


def differences(first: Sequence[BenchmarkResult], second: Sequence[BenchmarkResult]) -> tuple[list[Difference], int]:
    """Return the blocks that two files have in common, and how many only one of them has.

    Blocks of results that are compared with none, as of a conduit that one file has alone, are among the latter.

    Results of the same program, conduit and number of ranks are compared, those of other numbers where there is one of
    the conduit; where each file has one conduit for a program, these two.

    Raises:
        BadRequest: nothing is in both.
    """
    found: list[Difference] = []
    pairs = _pairs(first, second)
    alone = sum(len(_keyed(each)) for own in _unpaired(first, second, pairs) for each in own)
    for one, other in pairs:
        label = one.conduit if one.conduit == other.conduit else f"{one.conduit} to {other.conduit}"
        if one.ranks != other.ranks:
            label += f", {one.ranks} to {other.ranks} ranks"
        before, after = _keyed(one), _keyed(other)
        alone += len(before.keys() ^ after.keys())
        found += [
            Difference(
                program=one.program, label=label, section=row.section, operation=row.operation, nbytes=row.nbytes,
                before=row.microseconds, after=after[key].microseconds,
            )
            for key, row in before.items()
            if key in after and row.known is not None and after[key].known is not None
        ]  # fmt: skip
    if not found:
        same = {each.program for each in first} & {each.program for each in second}
        instead = "conduits, or files with one conduit each" if same and not pairs else "benchmark"
        raise BadRequest(
            f"--diff: the files have nothing in common: {_contents(first)} and {_contents(second)}; give results of "
            f"the same {instead}"
        )
    return found, alone


def unknown_in(first: Sequence[BenchmarkResult], second: Sequence[BenchmarkResult]) -> int:
    """Return how many blocks that two files have in common have no figure in one of them or both."""
    count = 0
    for one, other in _pairs(first, second):
        before, after = _keyed(one), _keyed(other)
        count += sum(UNKNOWN in (row.bound, after[key].bound) for key, row in before.items() if key in after)
    return count


def only_in_one(first: Sequence[BenchmarkResult], second: Sequence[BenchmarkResult]) -> str:
    """Say in a sentence which results of two files are compared with none; "" where there is no such result."""
    told = []
    for which, own in zip(("first", "second"), _unpaired(first, second, _pairs(first, second)), strict=True):
        named = dict.fromkeys(f"{each.program} on {each.conduit} ({many(each.ranks, 'rank')})" for each in own)
        if named:
            told.append(f"{', '.join(named)} {'is' if len(named) == 1 else 'are'} in the {which} file alone.")
    return " ".join(told)


def called_otherwise(first: Sequence[BenchmarkResult], second: Sequence[BenchmarkResult]) -> str:
    """Say in sentences what the calls of what is compared differ in beside conduits and ranks; "" where in nothing."""
    told: dict[str, dict[str, None]] = {}
    for one, other in _pairs(first, second):
        before, after = one.settings, other.settings
        said = [f"{name} {was}, then {after[name]}" for name, was in before.items() if after.get(name, was) != was]
        told.setdefault(one.program, {}).update(dict.fromkeys(said))
    return " ".join(f"{program} was called otherwise: {'; '.join(said)}." for program, said in told.items() if said)


def _unpaired(
    first: Sequence[BenchmarkResult],
    second: Sequence[BenchmarkResult],
    pairs: Sequence[tuple[BenchmarkResult, BenchmarkResult]],
) -> tuple[list[BenchmarkResult], list[BenchmarkResult]]:
    """Return what each of two files has that is in no pair."""
    taken = {id(each) for pair in pairs for each in pair}
    return [each for each in first if id(each) not in taken], [each for each in second if id(each) not in taken]


def _contents(results: Sequence[BenchmarkResult]) -> str:
    return ", ".join(dict.fromkeys(f"{result.program} on {result.conduit}" for result in results))


def _pairs(
    first: Sequence[BenchmarkResult], second: Sequence[BenchmarkResult]
) -> list[tuple[BenchmarkResult, BenchmarkResult]]:
    """Return which results are compared."""
    pairs: list[tuple[BenchmarkResult, BenchmarkResult]] = []
    for program in dict.fromkeys(result.program for result in first):
        ours = [result for result in first if result.program == program]
        theirs = [result for result in second if result.program == program]
        if len(ours) == len(theirs) == 1:
            pairs.append((ours[0], theirs[0]))
            continue
        left = list(theirs)
        for one in ours:
            same = [other for other in left if (other.conduit, other.ranks) == (one.conduit, one.ranks)]
            if not same and _is_alone(one, ours):  # their numbers of ranks differ
                same = [other for other in left if other.conduit == one.conduit and _is_alone(other, theirs)]
            if same:
                left.remove(same[0])
                pairs.append((one, same[0]))
    return pairs


def _is_alone(one: BenchmarkResult, results: Sequence[BenchmarkResult]) -> bool:
    return sum(each.conduit == one.conduit for each in results) == 1


def _keyed(result: BenchmarkResult) -> dict[tuple[str, str, int], Row]:
    return {(row.section, row.operation, row.nbytes): row for row in result.rows}


def ratio_pictures(found: Sequence[Difference]) -> list[Picture]:
    """Return pictures of ratios: curves over size, and bars of what has no size."""
    made: list[Picture] = []
    for program in dict.fromkeys(each.program for each in found):
        own = [each for each in found if each.program == program]
        labels = tuple(dict.fromkeys(each.label for each in own))
        sized = list(dict.fromkeys(each.operation for each in own if each.nbytes))
        parts = [sized[begin : begin + _PANELS] for begin in range(0, len(sized), _PANELS)]
        made += [_curves(program, own, labels, part, number) for number, part in enumerate(parts, 1)]
        others = list(dict.fromkeys(each.operation for each in own if each.operation not in sized))
        if others:
            made.append(_bars(program, own, labels, others))
    return made


def _curves(
    program: str, found: Sequence[Difference], labels: Sequence[str], operations: Sequence[str], number: int
) -> Picture:
    """Return a picture with a panel for each operation and a curve for each conduit."""
    panels = []
    for operation in operations:
        curves = []
        for group, label in enumerate(labels):
            own = sorted(
                (each for each in found if (each.label, each.operation) == (label, operation) and each.ratio < inf),
                key=lambda each: each.nbytes,
            )
            if own:
                x, y = tuple(float(each.nbytes) for each in own), tuple(each.ratio for each in own)
                curves.append(Curve(x=x, y=y, group=group))
        panels.append(
            LinePanel(title=operation, x_label=SIZES, y_label=_RATIO, curves=tuple(curves), scale="bytes", level=1.0)
        )
    title = f"{program}: {_TITLE}"
    return Picture(name=file_name(program, f"ratio {number}"), title=title, panels=tuple(panels), groups=tuple(labels))


def _bars(program: str, found: Sequence[Difference], labels: Sequence[str], operations: Sequence[str]) -> Picture:
    """Return a picture with a bar for each operation and conduit."""
    ratios = {(each.label, each.operation): each.ratio for each in found if each.ratio < inf}
    values = tuple(tuple(ratios.get((label, operation)) for operation in operations) for label in labels)
    panel = BarPanel(x_label=_RATIO, names=tuple(operations), values=values)
    title = f"{program}: {_TITLE}, without payload"
    return Picture(name=file_name(program, "ratio"), title=title, panels=(panel,), groups=tuple(labels))
