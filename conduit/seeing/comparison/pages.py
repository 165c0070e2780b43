"""The pages of `conduit compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conduit.seeing.comparison.differences import Difference
from conduit.seeing.comparison.results import BenchmarkResult, Row, cut_short, labelled
from conduit.seeing.pictures import Page, Picture
from conduit.words import many, value_text

_MOST = 10
"""Rows of the table of what differs most."""


def comparison_page(
    results: Sequence[BenchmarkResult], made: Sequence[tuple[Picture, bytes]], commands: Sequence[str]
) -> str:
    """Return the page of results side by side.

    Args:
        results: what was measured.
        made: the pictures and their SVG.
        commands: what was called to measure it, none where files were read.
    """
    page = Page("conduit compare")
    if commands:
        page.code("\n".join(commands))
    for program in dict.fromkeys(result.program for result in results):
        own = [result for result in results if result.program == program]
        page.heading(program)
        page.text(_about(own))
        if missing := cut_short(own):
            page.text(missing)
        for picture, svg in made:
            if picture.title.startswith(f"{program}: "):
                page.picture(svg, picture.title)
        _figures(page, own)
        _options(page, own)
    return page.html()


def _about(results: Sequence[BenchmarkResult]) -> str:
    """Say what was measured, and with what."""
    clocks = dict.fromkeys(result.clock for result in results)
    ranks = dict.fromkeys(result.ranks for result in results)
    given: Mapping[str, Any] = results[0].parameters
    shown = [f"{name}={given[name]}" for name in ("iterations", "seed", "repeat") if given.get(name) is not None]
    counts = " and ".join(filter(None, (", ".join(map(str, [*ranks][:-1])), many([*ranks][-1], "rank"))))
    parts = [f"{counts}, {' and '.join(clocks)} time.", _arguments(results), f"{', '.join(shown)}." if shown else ""]
    return " ".join(filter(None, parts))


def _arguments(results: Sequence[BenchmarkResult]) -> str:
    """Say what a program was given, with the files where that differs; "" where it was nothing."""
    given = dict.fromkeys((result.arguments, result.file) for result in results if result.arguments)
    texts = dict.fromkeys(text for text, _ in given)
    if not texts or [*texts] == ["none"]:
        return ""
    if len(texts) == 1:
        return f"Arguments: {next(iter(texts))}."
    return f"Arguments: {', '.join(f'{text} ({file})' for text, file in given)}."


def _figures(page: Page, results: Sequence[BenchmarkResult]) -> None:
    """Add the table of all figures, folded."""
    rows: list[tuple[object, ...]] = []
    spread = any(row.least is not None for result in results for row in result.rows)
    for result in labelled(results):
        for row in result.rows:
            ends = (row.least, row.most) if spread else ()
            rows.append((result.label, row.operation, row.nbytes, _figure(row), *ends, row.mb_per_s))
    titles = ("conduit", "operation", "bytes", "µs", *(("least µs", "most µs") if spread else ()), "MB/s")
    page.table(titles, rows, folded=f"All figures ({len(rows)})")


def _figure(row: Row) -> object:
    """Return the microseconds of a row as a table has them."""
    return row.bound if row.known is None else f"≤ {row.microseconds}" if row.bound else row.microseconds


def _options(page: Page, results: Sequence[BenchmarkResult]) -> None:
    """Add the table of the options in effect, folded."""
    rows = [
        (result.conduit, result.ranks, name, value_text(_tuple(value)))
        for result in results
        for name, value in result.options.items()
    ]
    if rows:
        page.table(("conduit", "ranks", "option", "value"), rows, folded="Options in effect")


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def difference_page(
    found: Sequence[Difference],
    alone: int,
    made: Sequence[tuple[Picture, bytes]],
    files: tuple[str, str],
    missing: str = "",
    unknown: int = 0,
) -> str:
    """Return the page of two files' ratios.

    Args:
        found: what is in both.
        alone: how many blocks only one has.
        made: the pictures and their SVG.
        files: names of the files.
        missing: which results one of them has alone, and what they lack for an interruption, in sentences.
        unknown: how many blocks have no figure in one or both.
    """
    page = Page("conduit compare --diff")
    page.text(f"First {files[0]}, second {files[1]}. {summary(found, alone, unknown)}{missing and f' {missing}'}")
    for picture, svg in made:
        page.picture(svg, picture.title)
    page.heading("What differs most")
    titles = ("program", "conduit", "operation", "bytes", "first µs", "second µs", "ratio")
    page.table(titles, [_cells(each) for each in most_changed(found)])
    page.table(titles, [_cells(each) for each in found], folded=f"All figures ({len(found)})")
    return page.html()


def _cells(each: Difference) -> tuple[object, ...]:
    return each.program, each.label, each.operation, each.nbytes, each.before, each.after, each.ratio


def most_changed(found: Sequence[Difference]) -> list[Difference]:
    """Return what differs most, the largest change first; what is the same is left out."""
    changed = [each for each in found if each.before != each.after]
    return sorted(changed, key=lambda each: -max(each.ratio, 1 / each.ratio if each.ratio else float("inf")))[:_MOST]


def summary(found: Sequence[Difference], alone: int, unknown: int = 0) -> str:
    """Say in some sentences how two files differ.

    Args:
        found: what is in both.
        alone: how many blocks only one has.
        unknown: how many have no figure in one or both.
    """
    same = sum(each.before == each.after for each in found)
    slower = sum(each.after > each.before for each in found)
    text = (
        f"Of {many(len(found), 'figure')} in both, {same} {_is(same)} the same, {slower} larger, "
        f"{len(found) - same - slower} smaller."
    )
    text += f" {alone} {_is(alone)} in one file alone." if alone else ""
    return text + (f" {unknown} {_is(unknown)} unknown in one of them or both." if unknown else "")


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
