"""A timeline as a picture: a row for each rank, time from left to right, a line for each message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from conduit.seeing.pictures import HIGH_ROWS, TimeUnit, time_unit
from conduit.seeing.pictures.svg import Svg, width_of
from conduit.seeing.timeline.recording import NEVER, Recording
from conduit.words import many

_WIDTH, _LEFT, _ROW, _BAR, _TOP = 780.0, 66.0, 40.0, 20.0, 44.0
_SMALL = 12.0
_STRETCHES = 600
_MUCH_LESS = 0.01
_MOST_LINES = 400
"""Messages that are drawn; of more none is, because nobody could follow them."""
_SHADES = {
    "start": "white", "compute": "dark", "send": "warm", "receive": "warm", "reply": "warm", "move": "warm",
    "interrupt": "warm", "library": "warm", "handler": "green", "copy": "sand", "polling": "rose", "waiting": "grey",
}  # fmt: skip
_NAMES = {
    "dark": "compute", "warm": "overhead of messages", "green": "handlers", "sand": "copies", "rose": "polling",
    "grey": "blocked", "white": "start",
}  # fmt: skip


class _Stretch(NamedTuple):
    """What a CPU does for a while.

    Attributes:
        begin, end: when, picoseconds.
        shade: how it is drawn.
        mixed: whether other things fill a smaller part of it.
    """

    begin: int
    end: int
    shade: str
    mixed: bool = False


def draw_timeline(recording: Recording, begin: int | None = None, end: int | None = None) -> str:
    """Return a picture of a job that is over as SVG.

    Args:
        recording: the job.
        begin: from when on, picoseconds; None: from the end of the start, when the first rank has built its queues.
        end: until when; None: to the job's end.
    """
    last = recording.length if end is None else end
    first = connected(recording) if begin is None else begin
    whole = max(last - first, 1)
    scale = (_WIDTH - _LEFT - 16) / whole
    high = recording.ranks > HIGH_ROWS
    top = _TOP + (20 if high else 0)
    bottom = top + _ROW * recording.ranks
    drawing = Svg(_WIDTH, bottom + 78, f"what {many(recording.ranks, 'rank')} on {recording.conduit} did, and when")
    drawing.text(16, 24, f"{many(recording.ranks, 'rank')} on {recording.conduit}", size=15, bold=True)
    used: dict[str, None] = {}
    mixed = False
    for rank in range(recording.ranks):
        y = top + _ROW * rank
        drawing.text(16, y + _BAR / 2 + 5, f"rank {rank}", size=_SMALL)
        drawing.line([(_LEFT, y + _BAR / 2), (_WIDTH - 16, y + _BAR / 2)], thin=True)
        for start, stop, shade, is_mixed in _stretches(recording, rank, first, last):
            used[shade] = None
            mixed = mixed or is_mixed
            drawing.area(_LEFT + (start - first) * scale, y, (stop - start) * scale, _BAR, shade)
    messages = _messages(recording, first, last)
    if len(messages) > _MOST_LINES:
        left_out = f"{many(len(messages), 'message')}, more than lines could show: none is drawn"
        drawing.text(_WIDTH - 16, 24, left_out, anchor="end", size=_SMALL)
        messages = []
    for one, other, sent, noticed in messages:
        down = other > one
        ends = top + _ROW * one + (_BAR if down else 0), top + _ROW * other + (0 if down else _BAR)
        drawing.line(
            [(_LEFT + (sent - first) * scale, ends[0]), (_LEFT + (noticed - first) * scale, ends[1])], thin=True
        )
    _axis(drawing, bottom, first, last, scale)
    if high:
        _axis(drawing, top - 5, first, last, scale, above=True)
    if mixed:
        shortest = _roughly((last - first) // _STRETCHES, time_unit(last))
        rounded = f"what is shorter than {shortest} is drawn as what fills most of that time"
        drawing.text(_LEFT, bottom + 36, rounded, size=_SMALL)
    x = _LEFT
    for shade, name in _NAMES.items():
        if shade in used:
            drawing.area(x, bottom + 50, 22, 14, shade)
            drawing.text(x + 28, bottom + 62, name, size=_SMALL)
            x += 44 + width_of(name, _SMALL)
    return drawing.render()


def connected(recording: Recording) -> int:
    """Return when the first rank has built its queues, picoseconds."""
    return min((_started(recording, rank) for rank in range(recording.ranks)), default=0)


def _started(recording: Recording, rank: int) -> int:
    return max((span.end for span in recording.cpu[rank] if span.why == "start"), default=0)


def _stretches(recording: Recording, rank: int, first: int, last: int) -> Iterator[_Stretch]:
    """Yield what a CPU does between two times: what is too short to be seen is put together by what fills most."""
    least = (last - first) // _STRETCHES
    open_: _Stretch | None = None
    for each in _put_together(_spans(recording, rank, first, last), least):
        same = open_ is not None and open_.shade == each.shade
        # A short one is alone: what follows it is long, or much later.
        if open_ and each.begin - open_.end <= least and (same or each.end - each.begin < least):
            open_ = _Stretch(open_.begin, each.end, open_.shade, open_.mixed or each.mixed or not same)
            continue
        if open_:
            yield open_
        open_ = each
    if open_:
        yield open_


def _spans(recording: Recording, rank: int, first: int, last: int) -> Iterator[_Stretch]:
    """Yield what a CPU does between two times, as it is recorded."""
    for begin, end, why in recording.cpu[rank]:
        begin, end = max(begin, first), min(end, last)
        if begin < end:
            yield _Stretch(begin, end, _SHADES.get(why, "warm"))


def _put_together(spans: Iterable[_Stretch], least: int) -> Iterator[_Stretch]:
    """Yield spans, successive ones that are shorter than `least` in stretches of that or twice that length."""
    short: list[_Stretch] = []
    for span in spans:
        is_short = span.end - span.begin < least
        if short and not (is_short and span.begin - short[0].begin < least):
            yield from _most_of(short)
            short = []
        if is_short:
            short.append(span)
        else:
            yield span
    yield from _most_of(short)


def _most_of(spans: Sequence[_Stretch]) -> Iterator[_Stretch]:
    """Yield the stretch of several spans, with the shade that fills most of it; none if nothing does, most of it."""
    if not spans:
        return
    begin, end = spans[0].begin, spans[-1].end
    filled = Counter[str]()
    for span in spans:
        filled[span.shade] += span.end - span.begin
    shade, most = filled.most_common(1)[0]
    if most >= end - begin - filled.total():
        yield _Stretch(begin, end, shade, len(filled) > 1)


def _messages(recording: Recording, first: int, last: int) -> list[tuple[int, int, int, int]]:
    """Return sender, receiver, when it was sent and when it was found, of messages between ranks."""
    found = []
    for life in recording.lives():
        message = life.message
        ends = (message.dest, message.source) if message.reply else (message.source, message.dest)
        if ends[0] != ends[1] and life.noticed != NEVER and life.begin >= first and life.noticed <= last:
            found.append((*ends, life.begin, life.noticed))
    return found


def _roughly(ticks: int, unit: TimeUnit) -> str:
    """Write a time with three digits that count, in the unit of the axis unless it is much less than that."""
    if ticks < _MUCH_LESS * unit.ticks:
        unit = time_unit(ticks)
    return f"{float(f'{ticks / unit.ticks:.3g}'):,g} {unit.name}"


def _axis(drawing: Svg, y: float, first: int, last: int, scale: float, *, above: bool = False) -> None:
    step = 10 ** (len(str(max((last - first) // 5, 1))) - 1)
    step *= next((by for by in (1, 2, 5) if (last - first) / (step * by) <= 8), 10)
    unit = time_unit(last)
    # As many as tell one place on the axis from the next, however late it begins.
    decimals = next(number for number in range(13) if step * 10**number % unit.ticks == 0)
    drawing.line([(_LEFT, y), (_WIDTH - 16, y)])
    tick, text = (-5, -8) if above else (5, 19)
    for when in range(-(-first // step) * step, last + 1, step):
        x = _LEFT + (when - first) * scale
        label = f"{when / unit.ticks:,.{decimals}f}"
        drawing.line([(x, y), (x, y + tick)])
        inside = _WIDTH - width_of(label, _SMALL) / 2
        drawing.text(min(x, inside), y + text, label, anchor="middle", size=_SMALL)
    if not above:
        drawing.text(_WIDTH - 16, y + 36, f"time, {unit.name}", anchor="end", size=_SMALL)
