"""Pictures: the same bytes each time, no text over another, what curves and bars show."""

import sys
from itertools import pairwise

import attrs
import matplotlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from conduit import ConduitError
from conduit.seeing.pictures import (
    AxisMark,
    BarPanel,
    Curve,
    LinePanel,
    MatrixPanel,
    Picture,
    StripPanel,
    check_drawing,
    draw,
    draw_svg,
    looks,
)
from conduit.seeing.pictures.apart import shifts
from conduit.seeing.pictures.draw import figure
from conduit.seeing.pictures.looks import letter, stretch

SIZES = (0.0, 1.0, 8.0, 64.0, 512.0, 4096.0, 65536.0, 1048576.0)


def curves(groups=2, styles=2):
    return tuple(
        Curve(x=SIZES, y=tuple(3.0 + group + style + size / 100 for size in SIZES), group=group, style=style)
        for group in range(groups)
        for style in range(styles)
    )


LINES = LinePanel(x_label="payload, bytes", y_label="time, µs", curves=curves(), scale="bytes")
BARS = BarPanel(x_label="time, µs", names=("one", "another"), values=((1.0, 2.5), (3.0, None)))
PICTURE = Picture(
    name="it",
    title="Round trip",
    panels=(LINES,),
    groups=("sci", "loggp"),
    styles=("medium", "long"),
    marks=(
        AxisMark(1024, "1024: largest medium message"),
        AxisMark(1100, "1100: by DMA"),
        AxisMark(1300, "1300: more"),
    ),
)


def test_the_same_picture_is_the_same_bytes():
    once = draw(PICTURE)
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "other", "lines.linewidth": 9}):
        assert draw(PICTURE) == once
        assert draw_svg(PICTURE) == once.svg
        assert matplotlib.rcParams["font.size"] == 20


def test_other_figures_are_other_bytes():
    changed = attrs.evolve(PICTURE, panels=(attrs.evolve(LINES, curves=curves(groups=1)),))
    assert draw(changed).svg != draw(PICTURE).svg


def test_svg_has_no_date_and_no_version():
    text = draw(PICTURE).svg.decode()
    assert "dc:date" not in text
    assert "Matplotlib v" not in text


MANY = tuple(
    f"loggp:L=3e-06,o_s=7e-07,o_r=1.9e-06,g=4.2e-06,G=3.1e-10,poll=5e-09,slots={number}" for number in range(8)
)


@pytest.mark.parametrize(
    "picture",
    [
        PICTURE,
        attrs.evolve(PICTURE, panels=(LINES,) * 2),
        attrs.evolve(PICTURE, panels=tuple(attrs.evolve(LINES, title=f"sci {number}") for number in range(3))),
        attrs.evolve(PICTURE, panels=(attrs.evolve(LINES, curves=curves(8, 3)),), groups=MANY, styles=("a", "b", "c")),
        attrs.evolve(PICTURE, panels=(attrs.evolve(LINES, y_label="messages per second"),), marks=()),
        Picture(name="bars", title="Barrier", panels=(BARS,), groups=("sci", "loggp")),
        Picture(
            name="bars",
            title="Barrier",
            panels=(
                attrs.evolve(
                    BARS, names=tuple(f"Barrier of a long name {n}" for n in range(12)), values=((7.0,) * 12,) * 4
                ),
            ),
            groups=MANY[:4],
        ),
    ],
    ids=["one", "two", "three", "long-names", "plain", "bars", "many-bars"],
)
def test_no_text_covers_another(picture, overlaps):
    assert overlaps(picture) == []


def test_overlaps_are_seen(overlaps):
    """The check itself."""
    ticks = ((0.0, "one"), (0.01, "another"))
    panel = attrs.evolve(LINES, scale="linear", ticks=ticks)
    assert overlaps(attrs.evolve(PICTURE, panels=(panel,))) == [("one", "another")]


def test_curves_differ_without_colour():
    """Each pair of group and style has a marker, a filling or dashes of its own."""
    with figure(PICTURE) as drawn:
        drawn_lines = [line for line in drawn.axes[0].get_lines() if len(line.get_xdata()) == len(SIZES)]
        seen = {(line.get_marker(), line.get_fillstyle(), line.get_linestyle()) for line in drawn_lines}
    assert len(seen) == 4


def test_many_styles_differ_in_a_legend_too():
    """Where there is no other marker, as in the legend, dashes and filling differ."""
    drawn = [looks.line(0, style) for style in range(42)]
    assert len({(each["linestyle"], each["fillstyle"]) for each in drawn}) == 42


def test_many_curves_on_one_another_stay_close_to_their_values():
    many = tuple(attrs.evolve(curves(1, 1)[0], style=style) for style in range(6))
    with figure(attrs.evolve(PICTURE, panels=(attrs.evolve(LINES, curves=many),))) as drawn:
        drawn.canvas.draw()
        heights = [pixels(line)[0, 1] for line in drawn.axes[0].get_lines()[:6]]
        assert heights[5] - heights[0] == pytest.approx(9 / 72 * drawn.dpi)
        assert len({round(height, 3) for height in heights}) == 6


def pixels(line):
    """Where the points of a line of a figure are drawn."""
    return line.get_transform().transform(list(zip(line.get_xdata(), line.get_ydata(), strict=True)))


def test_curves_that_lie_on_one_another_are_all_seen():
    on_it = attrs.evolve(curves(1, 1)[0], style=1)
    point = Curve(x=(0.0,), y=(3.0,), style=2)
    panel = attrs.evolve(LINES, curves=(*curves(2, 1), on_it, point))
    with figure(attrs.evolve(PICTURE, panels=(panel,))) as drawn:
        drawn.canvas.draw()
        at, apart, above, highest = (pixels(line) for line in drawn.axes[0].get_lines()[:4])
        data = drawn.axes[0].transData.transform(list(zip(SIZES, panel.curves[0].y, strict=True)))
        assert at == pytest.approx(data)
        step = 4.5 / 72 * drawn.dpi
        assert above[:, 1] - at[:, 1] == pytest.approx([step] * len(SIZES))
        assert highest[0, 1] - at[0, 1] == pytest.approx(2 * step)
        assert apart[0, 1] - at[0, 1] > step  # another curve, at its own place
        assert drawn.axes[0].get_ylim()[1] < 20000  # where curves are drawn changes no axis
    texts = [text.get_text() for text in drawn.texts]
    assert "Curves that lie on one another are drawn side by side; the lowest one is at its place." in texts
    with figure(attrs.evolve(PICTURE, panels=(attrs.evolve(LINES, curves=curves(2, 1)),))) as plain:
        assert not any("side by side" in text.get_text() for text in plain.texts)


@given(st.lists(st.sampled_from([(1.0, 2.0, 4.0), (1.001, 2.001, 4.001), (1.0, 3.0, 9.0)]), max_size=6))
def test_of_curves_that_lie_on_one_another_each_has_a_place_of_its_own(values):
    found = shifts([Curve(x=(1.0, 2.0, 3.0), y=each) for each in values])
    for alike in ({(1.0, 2.0, 4.0), (1.001, 2.001, 4.001)}, {(1.0, 3.0, 9.0)}):
        places = [shift for shift, each in zip(found, values, strict=True) if each in alike]
        assert places == list(range(len(places)))


@pytest.mark.parametrize(
    ("sizes", "labels"),
    [
        ((8, 16, 32, 64), ["8", "16", "32", "64"]),
        ((0, 1, 64, 4096), ["0", "1", "4", "16", "64", "256", "1K", "4K"]),
        ((1024, 2048), ["1K", "2K"]),
        ((0,), ["0", "1"]),
        ((0, 1 << 20), ["0", "1", "16", "256", "4K", "64K", "1M"]),
        ((512, 1 << 17), ["512", "1K", "2K", "4K", "8K", "16K", "32K", "64K", "128K"]),
    ],
)
def test_sizes_are_named_as_far_as_there_is_room(sizes, labels):
    panel = attrs.evolve(LINES, curves=(Curve(x=tuple(map(float, sizes)), y=tuple(range(1, len(sizes) + 1))),))
    with figure(attrs.evolve(PICTURE, panels=(panel,), marks=())) as drawn:
        drawn.canvas.draw()
        assert [label.get_text() for label in drawn.axes[0].get_xticklabels()] == labels


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (6.7, 16.5, ["7", "10", "15"]),
        (6.7, 13.5, ["7", "8", "9", "10", "12"]),
        (2.1, 300, ["2", "5", "10", "20", "50", "100", "200"]),
        (0.0011, 0.009, ["0.001", "0.002", "0.005"]),
        (1.0, 10.0, ["1", "2", "5", "10"]),
        (3.0, 99.0, ["5", "10", "20", "50", "100"]),
        (3.0, 3000.0, ["10", "100", "1,000"]),
        (670, 1650, ["700", "1,000", "1,500"]),
    ],
)
def test_an_axis_of_a_logarithm_names_as_many_values_as_its_span_needs(low, high, labels):
    assert _labels_of(low, high) == labels


@given(st.floats(1e-3, 1e6), st.floats(2.0, 1e5))
@settings(max_examples=10)
def test_an_axis_of_a_logarithm_names_three_values_at_least(low, factor):
    assert 3 <= len(_labels_of(low, low * factor)) <= 10


@pytest.mark.parametrize(("low", "high"), [(6.7, 13.5), (1.0, 1e5), (1.01, 999.0)])
def test_the_values_that_an_axis_names_do_not_cover_one_another(overlaps, low, high):
    assert overlaps(_spanning(low, high)) == []


def _spanning(low, high):
    panel = attrs.evolve(LINES, curves=(Curve(x=(1.0, 2.0), y=(low, high)),))
    return attrs.evolve(PICTURE, panels=(panel,), marks=())


def _labels_of(low, high):
    """Return the labels that can be seen on a y axis whose curve has two values."""
    with figure(_spanning(low, high)) as drawn:
        drawn.canvas.draw()
        axis = drawn.axes[0].yaxis
        least, most = axis.get_view_interval()
        return [tick.label1.get_text() for tick in axis.get_major_ticks() if least <= tick.get_loc() <= most]


def test_stretches_differ_without_colour():
    """Those without a hatch are light, grey and dark; each other one has a hatch of its own."""
    plain = [stretch(number)["facecolor"] for number in range(8) if not stretch(number)["hatch"]]
    hatches = [stretch(number)["hatch"] for number in range(8) if stretch(number)["hatch"]]
    assert len(set(hatches)) == len(hatches) == 5
    light = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(to_rgb, plain))
    assert all(more - less > 0.2 for less, more in pairwise(light))


def test_what_has_no_logarithm_is_drawn_linear():
    panel = attrs.evolve(LINES, curves=(Curve(x=(1.0, 2.0), y=(0.0, 5.0)),))
    with figure(attrs.evolve(PICTURE, panels=(panel,))) as drawn:
        assert drawn.axes[0].get_yscale() == "linear"
        assert drawn.axes[0].get_ylabel() == "time, µs (linear)"
    with figure(PICTURE) as drawn:
        assert drawn.axes[0].get_yscale() == "log"
        assert drawn.axes[0].get_ylabel() == "time, µs"


def test_spread_of_several_runs():
    panel = attrs.evolve(LINES, curves=(Curve(x=(1.0, 2.0), y=(3.0, 5.0), low=(2.0, 4.0), high=(9.0, 5.0)),))
    with figure(attrs.evolve(PICTURE, panels=(panel,), groups=("udp",), styles=(), marks=())) as drawn:
        (bars,) = drawn.axes[0].containers
        ends = [tuple(segment[:, 1]) for segment in bars.lines[2][0].get_segments()]
    assert ends == [(2.0, 9.0), (4.0, 5.0)]


def test_bars_of_bounds_and_of_what_is_unknown_say_so():
    bounds = (("at most", ""), ("", "unknown"))
    with figure(attrs.evolve(PICTURE, panels=(attrs.evolve(BARS, bounds=bounds),))) as drawn:
        (axes,) = drawn.axes
        texts = {text.get_text(): text.xy for text in axes.texts}
        assert list(texts) == ["≤ 1", "3", "2.5", "unknown"]
        x, y = texts["unknown"]
        bottom, top = axes.get_ylim()
        assert x == 0
        assert top < y < bottom


def test_bars_of_one_name_stand_about_it_however_many_there_are():
    panel = BarPanel(x_label="count", names=("one", "both"), values=((None, 2.0), (1.0, 2.0)))
    with figure(attrs.evolve(PICTURE, panels=(panel,), styles=(), marks=())) as drawn:
        middles = [bar.get_y() + bar.get_height() / 2 for bar in drawn.axes[0].patches]
    assert middles == pytest.approx([0, 0.8, 1.2])


def test_bars_of_several_runs_say_which_figure_is_which():
    spread = (((1.0, 2.0), (2.5, 2.5)), ((2.0, 9000.0), None))
    with figure(attrs.evolve(PICTURE, panels=(attrs.evolve(BARS, spread=spread),), styles=(), marks=())) as drawn:
        assert [text.get_text() for text in drawn.axes[0].texts] == ["1 (1 to 2)", "3 (2 to 9,000)", "2.5"]


def test_the_axis_of_bars_writes_numbers_as_the_bars_do():
    panel = BarPanel(x_label="bytes", names=("one",), values=((131072.0,),))
    with figure(attrs.evolve(PICTURE, panels=(panel,), groups=("it",), styles=(), marks=())) as drawn:
        drawn.canvas.draw()
        labels = [label.get_text() for label in drawn.axes[0].get_xticklabels()]
        assert [text.get_text() for text in drawn.axes[0].texts] == ["131,072"]
    assert labels[:3] == ["0", "30,000", "60,000"]


@pytest.mark.parametrize("count", [1, 2, 3, 12, 13])
def test_the_axis_of_counts_names_whole_numbers(count):
    labels = _bar_labels(float(count))
    assert all(float(label).is_integer() for label in labels)
    assert len(labels) > 1


@pytest.mark.parametrize("nbytes", [163_840, 12_000_000, 4_500_000_000, 7 * 10**12])
def test_the_numbers_below_bars_have_room(overlaps, nbytes):
    panel = BarPanel(title="by bytes", x_label="bytes", names=("262144 to 524287",), values=((float(nbytes),),))
    assert overlaps(Picture(name="bars", title="Sizes", panels=(panel, panel), groups=("messages",))) == []
    assert len(_bar_labels(float(nbytes))) > 1


def _bar_labels(value):
    panel = BarPanel(x_label="count", names=("one",), values=((value,),))
    with figure(attrs.evolve(PICTURE, panels=(panel,), groups=("it",), styles=(), marks=())) as drawn:
        drawn.canvas.draw()
        return [label.get_text().replace(",", "") for label in drawn.axes[0].get_xticklabels()]


@pytest.mark.parametrize("ranks", [1, 16, 17, 33, 64, 100, 128, 1000, 1024])
def test_the_ranks_beside_a_matrix_have_room(overlaps, ranks):
    values = tuple(tuple(float(x == y) for x in range(ranks)) for y in range(ranks))
    panel = MatrixPanel(title="messages", x_label="to rank", y_label="from rank", values=values)
    assert overlaps(Picture(name="matrix", title="Who sends to whom", panels=(panel, panel))) == []


@pytest.mark.parametrize(("ranks", "title"), [(16, "bytes"), (17, "bytes; black: 3K"), (0, "bytes")])
def test_a_matrix_without_numbers_says_what_its_darkest_shade_is(overlaps, ranks, title):
    values = tuple(tuple(3072.0 * (x == y) for x in range(ranks)) for y in range(ranks))
    panel = MatrixPanel(title="bytes", x_label="to rank", y_label="from rank", values=values or ((0.0,),), unit=1024)
    picture = Picture(name="matrix", title="Who sends to whom", panels=(panel, panel))
    with figure(picture) as drawn:
        assert drawn.axes[0].get_title(loc="left") == title
    assert overlaps(picture) == []


def test_a_matrix_of_nothing_says_so():
    panel = MatrixPanel(title="bytes", x_label="to", y_label="from", values=((0.0, 0.0), (0.0, 0.0)))
    with figure(attrs.evolve(PICTURE, panels=(panel,), groups=(), styles=(), marks=())) as drawn:
        assert [text.get_text() for text in drawn.axes[0].texts] == ["none"]


@pytest.mark.parametrize(("rows", "above"), [(16, False), (17, True)])
def test_times_stand_above_many_rows_too(overlaps, rows, above):
    strips = (((0.0, 1.0, 0), (1.0, 2.5, 1)),) * rows
    panel = StripPanel(x_label="time, µs", names=tuple(f"rank {row}" for row in range(rows)), strips=strips)
    picture = Picture(name="timeline", title="When", panels=(panel,), groups=("compute", "blocked"))
    with figure(picture) as drawn:
        drawn.canvas.draw()
        assert {tick.label2.get_visible() for tick in drawn.axes[0].xaxis.get_major_ticks()} == {above}
    assert overlaps(picture) == []


@pytest.mark.parametrize(("unit", "texts"), [(1000, ["1.02k", "1.02k", "1.05M"]), (1024, ["1023", "1K", "1M"])])
def test_bytes_in_a_matrix_are_in_powers_of_two(unit, texts):
    panel = MatrixPanel(
        title="it", x_label="to", y_label="from", values=((0.0, 1023.0), (1024.0, float(1 << 20))), unit=unit
    )
    with figure(attrs.evolve(PICTURE, panels=(panel,), groups=(), styles=(), marks=())) as drawn:
        assert [text.get_text() for text in drawn.axes[0].texts] == texts


def test_letters_of_marks():
    assert [letter(number) for number in (0, 25, 26, 27, 52, 701, 702)] == ["a", "z", "aa", "ab", "ba", "zz", "aaa"]


def test_without_matplotlib_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConduitError) as caught:
        check_drawing("it")
    assert str(caught.value) == (
        "it needs matplotlib for its pictures; install it with: pip install 'conduit-am[plot]', in a clone of the "
        "project pip install '.[plot]'"
    )
