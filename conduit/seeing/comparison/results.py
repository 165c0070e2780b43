"""Results of benchmarks as their `--json` has them, those of `conduit run` too."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from conduit.errors import BadRequest
from conduit.seeing.pictures import ShownList, Table, shown
from conduit.words import is_a, many, plain, value_text

UNKNOWN = "unknown"
"""The bound of a figure that cannot be told."""
_REMEDY = "give a file that --json of a benchmark or of conduit run has written"


@attrs.frozen(kw_only=True)
class Row:
    """One timed block.

    Attributes:
        section: its letter.
        operation: what was timed.
        nbytes: payload, bytes; 0 where there is none.
        microseconds: of one iteration, of several runs the median.
        mb_per_s: 2**20 bytes per second, None where that means nothing.
        least, most: microseconds in the fastest and the slowest of several runs, None for one run.
        bound: "at most" where the figure is an upper bound, "unknown" where it cannot be told; else "".
    """

    section: str
    operation: str
    nbytes: int
    microseconds: float
    mb_per_s: float | None
    least: float | None = None
    most: float | None = None
    bound: str = ""

    @property
    def known(self) -> float | None:
        """The microseconds, None where they cannot be told."""
        return None if self.bound == UNKNOWN else self.microseconds


_WALL = "wall"
_CHOOSE_ROWS = ("sections", "min_size", "max_size", "max_step", "segment")
"""Parameters of a benchmark that say what is measured, and no more; a segment is as large as what is measured needs."""


@attrs.frozen(kw_only=True)
class BenchmarkResult:
    """What a benchmark gave on one conduit.

    Attributes:
        program: the benchmark.
        conduit: the spec.
        ranks: how many.
        clock: of the seconds, virtual or wall.
        label: what legends call it.
        rows: in the order measured.
        views: title, quantity and operations of pictures, as the benchmark says; none of old files.
        marks: sizes, and what happens there.
        options: of the conduit, all.
        parameters: of the benchmark.
        swept: option, value, and the spec without it, where it is one of a sweep.
        interrupted: whether Ctrl-C has ended it, so that what followed is missing.
        file: name of that of several files which it was read from; "" where there was one.
        content: the JSON that it is made of.
    """

    program: str
    conduit: str
    ranks: int
    clock: str
    label: str
    rows: tuple[Row, ...]
    views: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    marks: tuple[tuple[int, str], ...] = ()
    options: Mapping[str, object] = attrs.field(factory=dict)
    parameters: Mapping[str, object] = attrs.field(factory=dict)
    swept: tuple[str, str, str] | None = None
    interrupted: bool = False
    file: str = ""
    content: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def arguments(self) -> str | None:
        """What the program was given, as a shell has it, "none" for nothing; None of a benchmark, which takes none."""
        given = self.content.get("arguments")
        return None if given is None else shlex.join(map(str, given)) or "none"

    @property
    def settings(self) -> dict[str, str]:
        """What times depend on beside conduit and ranks, as far as the file says: arguments, seed, iterations."""
        own = {name: self.content.get(name) for name in ("seed", "ranks_per_host")}
        own |= {name: value for name, value in self.parameters.items() if name not in _CHOOSE_ROWS}
        lists = {name: tuple(value) for name, value in own.items() if isinstance(value, list)}
        shown = {name: value_text(value) for name, value in {**own, **lists}.items() if value is not None}
        return shown if self.arguments is None else {"arguments": self.arguments, **shown}

    def to_json(self) -> str:
        """Return it as JSON, as `--json` writes it."""
        return json.dumps(self.content, indent=1)

    def to_frame(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each timed block.

        Where a figure is no more than a bound, or unknown, a column `bound` says so, and an unknown one is NaN.

        Raises:
            ConduitError: pandas is not installed.
        """
        return self._table().frame("BenchmarkResult.to_frame")

    def _repr_html_(self) -> str:
        """Return what notebooks show: the rows, and the options folded."""
        options = Table(("option", "value"), tuple((name, str(value)) for name, value in self.options.items()))
        title = f"{self.program} on {self.conduit}, {many(self.ranks, 'rank')}, {self.clock} time"
        return shown(title, self._table().html(), options.html(folded="Options of the conduit"))

    def _table(self) -> Table:
        titles = ("section", "operation", "bytes", "microseconds", "mb_per_s", "least_us", "most_us", "bound")
        rows = [
            (row.section, row.operation, row.nbytes, row.known, row.mb_per_s, row.least, row.most, row.bound)
            for row in self.rows
        ]
        if not any(row.bound for row in self.rows):
            return Table(titles[:-1], tuple(row[:-1] for row in rows))
        return Table(titles, tuple(rows))


def read_results(path: Path | str) -> list[BenchmarkResult]:
    """Read what `--json` of a benchmark or of `conduit run` has written, for a program or a notebook.

    A cell of a notebook shows all of the list.

    Args:
        path: the file.

    Raises:
        BadRequest: it cannot be read, or holds no results.
    """
    if not isinstance(path, str | os.PathLike):
        raise BadRequest(f"read_results: path={plain(path)} {is_a(path)}; pass the path of a file")
    return ShownList(_read("read_results:", Path(path)))


def results_of(option: str, path: Path) -> list[BenchmarkResult]:
    """Read a file of results.

    Args:
        option: which names it, for errors.
        path: the file.

    Raises:
        BadRequest: it cannot be read, or holds no results.
    """
    return _read(f"--{option}", path)


def results_of_files(option: str, paths: Sequence[Path]) -> list[BenchmarkResult]:
    """Read files of results; of several, each result has the name of its file, and what is saved of it too.

    Raises:
        BadRequest: one cannot be read, or holds no results.
    """
    if len(paths) == 1:
        return results_of(option, paths[0])
    names = [path.name for path in paths]
    short = len(set(names)) == len(names)
    return [
        from_json({**result.content, "file": path.name if short else str(path)})
        for path in paths
        for result in results_of(option, path)
    ]


def _read(who: str, path: Path) -> list[BenchmarkResult]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise BadRequest(f"{who} {path} cannot be read: {exc.strerror}; {_REMEDY}") from None
    except ValueError:
        raise BadRequest(f"{who} {path} is no JSON; {_REMEDY}") from None
    objects = content if isinstance(content, list) else [content]
    try:
        found = [from_json(each) for each in objects if "error" not in each]
    except (KeyError, TypeError, AttributeError, ValueError):
        found = []
    if not found:
        failed = next((each["error"] for each in objects if isinstance(each, dict) and "error" in each), "")
        why = f", for what it is of has failed: {failed}" if failed else ""
        raise BadRequest(f"{who} {path} holds no results{why}; {_REMEDY}")
    return found


def from_json(content: Mapping[str, Any]) -> BenchmarkResult:
    """Make a result of one object of JSON; that of `conduit run` is a benchmark of one row."""
    rows = [_row(each) for each in content["records"]] if "records" in content else [_run(content)]
    swept = content.get("swept")
    return BenchmarkResult(
        program=_text(content["program"]),
        conduit=str(content["conduit"]),
        ranks=int(content["ranks"]),
        clock=str(content["clock"]),
        label=str(content["conduit"]),
        rows=tuple(rows),
        views=tuple((str(v["title"]), str(v["quantity"]), tuple(v["operations"])) for v in content.get("views", ())),
        marks=tuple((int(mark["bytes"]), str(mark["what"])) for mark in content.get("marks", ())),
        options=dict(content.get("options", {})),
        parameters=dict(content.get("parameters", {})),
        swept=None if swept is None else (str(swept["option"]), str(swept["value"]), str(swept["conduit"])),
        interrupted=bool(content.get("interrupted", False)),
        file=_text(content.get("file", "")),
        content=content,
    )


def _text(name: object) -> str:
    """Return a name as pictures can show it: that of a file may be any bytes."""
    return str(name).encode(errors="backslashreplace").decode()


def _row(record: Mapping[str, Any]) -> Row:
    rate = record["mb_per_s"]
    least, most = record.get("least_us"), record.get("most_us")
    return Row(
        section=str(record["section"]),
        operation=str(record["operation"]),
        nbytes=int(record["bytes"]),
        microseconds=float(record["microseconds"]),
        mb_per_s=None if rate is None else float(rate),
        least=None if least is None else float(least),
        most=None if most is None else float(most),
        bound=UNKNOWN if record.get("unknown") else str(record.get("bound", "")),
    )


def _run(content: Mapping[str, Any]) -> Row:
    return Row(
        section="", operation="whole program", nbytes=0, microseconds=float(content["seconds"]) * 1e6, mb_per_s=None
    )


def labelled(results: Sequence[BenchmarkResult]) -> list[BenchmarkResult]:
    """Return results of one program with labels that differ: by spec, else by ranks too, else by file, else by number.

    Those of results that were interrupted say so, and those in real time among others that are not.
    """
    labels = [of_clock(label, result, results) for result, label in zip(results, _differing(results), strict=True)]
    return [
        attrs.evolve(result, label=f"{label} (interrupted)" if result.interrupted else label)
        for result, label in zip(results, labels, strict=True)
    ]


def of_clock(label: str, result: BenchmarkResult, results: Iterable[BenchmarkResult]) -> str:
    """Return the label of a result with its clock, where other results have another one."""
    alone = all(each.clock == result.clock for each in results)
    return label if alone or result.clock != _WALL else f"{label} (real time)"


def _differing(results: Sequence[BenchmarkResult]) -> list[str]:
    specs = [result.conduit for result in results]
    ranks = [many(result.ranks, "rank") for result in results]
    files = [result.file for result in results]
    ways = [zip(specs, strict=True), zip(specs, ranks, strict=True)]
    if any(files):
        ways += [zip(specs, files, strict=True), zip(specs, ranks, files, strict=True)]
    for way in ways:
        labels = [", ".join(filter(None, parts)) for parts in way]
        if len(set(labels)) == len(labels):
            return labels
    return [f"({number}) {label}" for number, label in enumerate(labels, 1)]


def cut_short(results: Iterable[BenchmarkResult]) -> str:
    """Say in a sentence which results were interrupted; "" where none was."""
    named = dict.fromkeys(f"{result.program} on {result.conduit}" for result in results if result.interrupted)
    return f"Ctrl-C has ended {' and '.join(named)}: what would have followed is missing." if named else ""
