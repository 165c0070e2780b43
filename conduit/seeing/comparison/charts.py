"""From results to pictures: time, rate and messages over size, over ranks, or over an option that was swept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

import attrs

from conduit.seeing.comparison.results import BenchmarkResult, Row, labelled, of_clock
from conduit.seeing.pictures import AxisMark, BarPanel, Curve, LinePanel, Picture
from conduit.seeing.pictures.chart import Scale

SIZES = "payload, bytes (K = 2**10)"
"""The x axis of what is drawn over sizes."""
_UNITS = {"time": "time, µs", "rate": "MB/s (2**20 bytes)", "messages": "messages per second"}


class _View(NamedTuple):
    title: str
    quantity: str
    operations: tuple[str, ...]


def pictures(results: Sequence[BenchmarkResult]) -> list[Picture]:
    """Return the pictures of results, program by program.

    Sizes are on the x axis where messages have some; results of a sweep are drawn over the option as well.
    """
    made: list[Picture] = []
    for program in dict.fromkeys(result.program for result in results):
        own = [result for result in results if result.program == program]
        swept = [result for result in own if result.swept is not None]
        plain = [result for result in own if result.swept is None]
        for view in views_of(own):
            if plain:
                made += _plain(program, view, labelled(plain))
            if swept:
                made += _swept(program, view, swept)
    return _of_names_apart(made)


def _of_names_apart(made: Sequence[Picture]) -> list[Picture]:
    """Return pictures of which no two have the same name: those of G and g would be one file."""
    names: set[str] = set()
    found = []
    for picture in made:
        ways = (picture.name if number == 1 else f"{picture.name}-{number}" for number in count(1))
        name = next(way for way in ways if way not in names)
        names.add(name)
        found.append(attrs.evolve(picture, name=name))
    return found


def views_of(results: Sequence[BenchmarkResult]) -> list[_View]:
    """Return what is to be drawn of results of one program: as it says, else each operation that there is."""
    told = dict.fromkeys(_View(*view) for result in results for view in result.views)
    if told:
        return list(told)
    rows = [row for result in results for row in result.rows]
    sized = list(dict.fromkeys(row.operation for row in rows if row.nbytes))
    others = tuple(dict.fromkeys(row.operation for row in rows if row.operation not in sized))
    rated = [name for name in sized if any(row.mb_per_s is not None for row in rows if row.operation == name)]
    return [
        *([_View("Times", "time", others)] if others else []),
        *(_View(f"{name}: time", "time", (name,)) for name in sized),
        *(_View(f"{name}: rate", "rate", (name,)) for name in rated),
    ]


def quantity(name: str, row: Row) -> float | None:
    """Return what is drawn of a row, None where it has no such figure."""
    if name == "rate":
        return row.mb_per_s
    if name == "messages":
        return 1e6 / row.microseconds if row.microseconds > 0 else None
    return row.known


def _spread(name: str, row: Row) -> tuple[float, float] | None:
    """Return the least and the most of that figure in several runs."""
    value = quantity(name, row)
    if row.least is None or row.most is None or value is None or row.least <= 0 or row.most <= 0:
        return None
    if name == "time":
        return row.least, row.most
    return value * row.microseconds / row.most, value * row.microseconds / row.least


def _plain(program: str, view: _View, results: Sequence[BenchmarkResult]) -> list[Picture]:
    """Return the picture of a view, nothing where it was not measured."""
    found = [[_rows(result, name) for name in view.operations] for result in results]
    chosen = [index for index in range(len(view.operations)) if any(rows[index] for rows in found)]
    if not chosen:
        return []
    groups = tuple(result.label for result in results)
    if not any(row.nbytes for rows in found for each in rows for row in each):
        names = tuple(view.operations[index] for index in chosen)
        chosen_rows = [[rows[index] for index in chosen] for rows in found]
        return [_bars(program, view, _unit(view, results), names, groups, chosen_rows)]
    curves = [
        curve
        for group, rows in enumerate(found)
        for style, index in enumerate(chosen)
        for curve in _curve(view.quantity, rows[index], group, style)
    ]
    if not curves:  # no figure that there is can be told
        return []
    panel = LinePanel(x_label=SIZES, y_label=_unit(view, results), curves=tuple(curves), scale="bytes")
    return [
        Picture(
            name=file_name(program, view.title),
            title=f"{program}: {view.title}",
            panels=(panel,),
            groups=groups,
            styles=tuple(view.operations[index] for index in chosen),
            marks=_marks(results, curves),
        )
    ]


def _rows(result: BenchmarkResult, operation: str) -> list[Row]:
    return sorted((row for row in result.rows if row.operation == operation), key=lambda row: row.nbytes)


def _curve(name: str, rows: Iterable[Row], group: int, style: int) -> list[Curve]:
    points = [(row, value) for row in rows for value in [quantity(name, row)] if value is not None]
    if not points:
        return []
    spreads = [spread for row, _ in points for spread in [_spread(name, row)] if spread is not None]
    whole = len(spreads) == len(points)
    return [
        Curve(
            x=tuple(float(row.nbytes) for row, _ in points),
            y=tuple(value for _, value in points),
            low=tuple(low for low, _ in spreads) if whole else (),
            high=tuple(high for _, high in spreads) if whole else (),
            group=group,
            style=style,
        )
    ]


def _bars(
    program: str,
    view: _View,
    unit: str,
    names: tuple[str, ...],
    groups: tuple[str, ...],
    found: Sequence[Sequence[Sequence[Row]]],
) -> Picture:
    rows = [[each[0] if each else None for each in per_group] for per_group in found]
    panel = BarPanel(
        x_label=unit,
        names=names,
        values=tuple(tuple(None if row is None else quantity(view.quantity, row) for row in each) for each in rows),
        spread=tuple(tuple(None if row is None else _spread(view.quantity, row) for row in each) for each in rows),
        bounds=tuple(tuple("" if row is None else row.bound for row in each) for each in rows),
    )
    return Picture(
        name=file_name(program, view.title), title=f"{program}: {view.title}", panels=(panel,), groups=groups
    )


def _marks(results: Sequence[BenchmarkResult], curves: Iterable[Curve]) -> tuple[AxisMark, ...]:
    """Return the sizes that some result marks and that are in sight, what is said of one size together."""
    most = max(curve.x[-1] for curve in curves)
    found: dict[int, dict[str, list[str]]] = {}
    for result in results:
        for nbytes, what in result.marks:
            if 0 < nbytes <= most:
                labels = found.setdefault(nbytes, {}).setdefault(what, [])
                if result.label not in labels:
                    labels.append(result.label)
    several = len(results) > 1
    return tuple(
        AxisMark(
            nbytes, f"{nbytes}: " + "; ".join(_said(what, labels, several) for what, labels in found[nbytes].items())
        )
        for nbytes in sorted(found)
    )


def _said(what: str, labels: Sequence[str], several: bool) -> str:
    return f"{what} ({', '.join(labels)})" if several else what


def _unit(view: _View, results: Sequence[BenchmarkResult]) -> str:
    repeated = any(row.least is not None for result in results for row in result.rows)
    return _UNITS[view.quantity] + (" (median, least, most)" if repeated else "")


def file_name(program: str, title: str) -> str:
    """Return a name for the files of a picture."""
    return re.sub(r"[^a-z0-9]+", "-", f"{program} {title}".lower()).strip("-")


# Sweeps


class _Swept(NamedTuple):
    """Results of a sweep of one option.

    Attributes:
        option: which.
        bases: the specs without it.
        values: of the option, ascending where they are numbers, else in the order given.
        found: result by spec and value.
    """

    option: str
    bases: tuple[str, ...]
    values: tuple[str, ...]
    found: Mapping[tuple[str, str], BenchmarkResult]

    def rows(self, base: str, value: str, operation: str) -> list[Row]:
        """Return what one result has of an operation, sizes ascending."""
        result = self.found.get((base, value))
        return [] if result is None else _rows(result, operation)

    def label(self, base: str) -> str:
        """Return what legends call the results of a spec."""
        result = next(each for (own, _), each in self.found.items() if own == base)
        return of_clock(base, result, self.found.values())

    def measured(self, operations: Iterable[str]) -> list[str]:
        """Return those of some operations that some result has."""
        return [name for name in operations if any(_rows(result, name) for result in self.found.values())]


def _swept(program: str, view: _View, results: Sequence[BenchmarkResult]) -> list[Picture]:
    """Return a picture over size, each conduit with a panel and each value with a curve, and one over the values."""
    made: list[Picture] = []
    for option in dict.fromkeys(result.swept[0] for result in results if result.swept is not None):
        found = {(told[2], told[1]): each for each in results for told in [each.swept] if told and told[0] == option}
        places, _ = _places(tuple(dict.fromkeys(value for _, value in found)))
        values = tuple(sorted(places, key=places.__getitem__))
        sweep = _Swept(option, tuple(dict.fromkeys(base for base, _ in found)), values, found)
        if any(row.nbytes for each in found.values() for name in view.operations for row in _rows(each, name)):
            made += _by_size(program, view, sweep)
        made += _by_value(program, view, sweep)
    return made


def _by_size(program: str, view: _View, sweep: _Swept) -> list[Picture]:
    styles = sweep.measured(view.operations)
    unit = _unit(view, list(sweep.found.values()))
    panels: list[LinePanel] = []
    for base in sweep.bases:
        curves = [
            curve
            for group, value in enumerate(sweep.values)
            for style, name in enumerate(styles)
            for curve in _curve(view.quantity, sweep.rows(base, value, name), group, style)
        ]
        if curves:
            panels.append(
                LinePanel(title=sweep.label(base), x_label=SIZES, y_label=unit, curves=tuple(curves), scale="bytes")
            )
    if not panels:
        return []
    title = f"{view.title}, by {sweep.option}" + (f" on {panels[0].title}" if len(panels) == 1 else "")
    return [
        Picture(
            name=file_name(program, f"{view.title} by {sweep.option}"),
            title=f"{program}: {title}",
            panels=tuple(panels),
            groups=tuple(f"{sweep.option}={value}" for value in sweep.values),
            styles=tuple(styles),
        )
    ]


def _by_value(program: str, view: _View, sweep: _Swept) -> list[Picture]:
    """Return the picture over the values of an option, with panels for at most four sizes from least to largest."""
    places, scale = _places(sweep.values)
    styles = sweep.measured(view.operations)
    unit = _unit(view, list(sweep.found.values()))
    sizes = sorted({row.nbytes for result in sweep.found.values() for name in styles for row in _rows(result, name)})
    last = len(sizes) - 1
    shown = sorted({sizes[last * part // 3] for part in range(4)}) if last > 3 else sizes  # as many as two rows hold
    left_out = f", for {len(shown)} of {len(sizes)} sizes" if len(shown) < len(sizes) else ""
    panels: list[LinePanel] = []
    for nbytes in shown:
        curves = [
            curve
            for group, base in enumerate(sweep.bases)
            for style, name in enumerate(styles)
            for curve in _over(view.quantity, sweep, places, (base, name, nbytes), (group, style))
        ]
        if curves:
            title = f"{nbytes} bytes" if len(shown) > 1 or nbytes else ""
            ticks = tuple((place, value) for value, place in places.items())
            panels.append(
                LinePanel(
                    title=title, x_label=sweep.option, y_label=unit, curves=tuple(curves), scale=scale, ticks=ticks
                )
            )
    if not panels:
        return []
    return [
        Picture(
            name=file_name(program, f"{view.title} over {sweep.option}"),
            title=f"{program}: {view.title}, over {sweep.option}{left_out}",
            panels=tuple(panels),
            groups=tuple(map(sweep.label, sweep.bases)),
            styles=tuple(styles),
        )
    ]


def _over(
    name: str, sweep: _Swept, places: Mapping[str, float], what: tuple[str, str, int], look: tuple[int, int]
) -> list[Curve]:
    """Return the curve of one conduit, operation and size over the values of the option."""
    base, operation, nbytes = what
    points = sorted(
        (
            (places[value], row)
            for value in sweep.values
            for row in sweep.rows(base, value, operation)
            if row.nbytes == nbytes and quantity(name, row) is not None
        ),
        key=lambda point: point[0],
    )
    made = _curve(name, [row for _, row in points], *look)
    return [attrs.evolve(curve, x=tuple(place for place, _ in points)) for curve in made]


def _places(values: Sequence[str]) -> tuple[dict[str, float], Scale]:
    """Return where values stand on an axis: numbers at themselves, others in the order given."""
    try:
        places = {value: float(value) for value in values}
    except ValueError:
        return {value: float(place) for place, value in enumerate(values)}, "linear"
    least, most = min(places.values()), max(places.values())
    return places, "log" if least > 0 and most >= 4 * least else "linear"
