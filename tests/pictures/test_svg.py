"""Drawings that are written as SVG: well formed, escaped, everything inside, no text over another."""

import itertools
from collections import Counter
from xml.etree import ElementTree

import pytest

import conduit
from conduit.launch.explanation import explained
from conduit.seeing.pictures.sketch import JOINED, HostPart, MachineSketch, draw_sketch
from conduit.seeing.pictures.svg import SHADES, Svg, width_of
from conduit.seeing.timeline.sequence import draw_sequence
from conduit.seeing.timeline.steps import HARDWARE, MessageStep

NAMES = "{http://www.w3.org/2000/svg}"


def texts(svg):
    """The texts of a drawing with their boxes, as wide as the drawing takes them for; all inside of it."""
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    found = []
    for each in root.iter(f"{NAMES}text"):
        size = float(each.get("font-size", 13))
        long = width_of(each.text, size)
        x = float(each.get("x")) - {"start": 0, "middle": long / 2, "end": long}[each.get("text-anchor", "start")]
        y = float(each.get("y"))
        assert x >= 0, each.text
        assert x + long <= width + 1, each.text
        assert size <= y <= height, each.text
        found.append((each.text, (x, y - size, x + long, y)))
    return found


def overlaps(svg):
    return [
        (one, other)
        for (one, a), (other, b) in itertools.combinations(texts(svg), 2)
        if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1
    ]


def test_texts_are_escaped_and_patterns_are_there():
    drawing = Svg(100, 50, 'a "title" <&>')
    drawing.text(5, 20, "1 < 2 & 3")
    for shade in SHADES:
        drawing.area(1, 1, 5, 5, shade)
    root = ElementTree.fromstring(drawing.render())
    assert root.find(f"{NAMES}title").text == root.get("aria-label") == 'a "title" <&>'
    assert root.find(f".//{NAMES}text").text == "1 < 2 & 3"
    made = {each.get("id") for each in root.iter(f"{NAMES}pattern")}
    used = {each.get("fill") for each in root.iter(f"{NAMES}rect")}
    assert made == {name for name, (_, pattern) in SHADES.items() if pattern}
    assert {f"url(#{name})" for name in made} <= used


@pytest.mark.parametrize("joined", JOINED)
def test_a_sketch_has_all_texts_beside_one_another(joined):
    parts = [HostPart(f"part {number}", ["one line", "another line"][:number], "onward") for number in range(3)]
    drawn = draw_sketch(MachineSketch(title="It", host="a host", parts=parts, joined=joined, network=["a", "b", "c"]))
    assert not overlaps(drawn)
    assert {text for text, _ in texts(drawn)} >= {
        "It",
        "a host",
        "part 0",
        "part 2",
        "one line",
        "onward",
        "a",
        "b",
        "c",
    }


def step(where, what, ticks, name="", leg="request"):
    return MessageStep(leg, where, what, name, "", 0, ticks, 1)


def test_a_sequence_has_a_row_for_what_looks_alike():
    drawn = draw_sequence(
        "It",
        [
            step(0, "polling", 1_000_000),
            step(0, "send", 5_000_000, "a very long name of a step that has no room"),
            step(0, "send", 7_000_000, "a very long name of a step that has no room"),
            step(HARDWARE, "wire", 2_000_000),
            step(HARDWARE, "wire", 3_000_000, "store"),
            step(1, "notice", 4_000_000),
            step(1, "polling", 4_000_000),
            step(HARDWARE, "timer", 500_000_000, leg="reply"),
        ],
    )
    assert not overlaps(drawn)
    shown = [text for text, _ in texts(drawn)]
    assert "12.000 µs" in shown
    assert "wire: store, 5.000 µs" in shown
    assert shown.count("8.000 µs") == 1
    assert "timer, 500.000 µs" in shown
    assert any(text.startswith("send: a very long") and text.endswith("…") for text in shown)


@pytest.mark.parametrize("spec", ["udp:loss=0.5", "mpi:library=sunmpi"])
def test_sequences_of_long_exchanges(spec):
    assert not overlaps(explained(spec, 100).svg())


async def chatter(ep, turns):
    got = []

    def take(token):
        got.append(token.rank)

    await ep.attach(take)
    for turn in range(turns):
        await ep.request_short((ep.rank + 1) % ep.size, take)
        await ep.block_until(lambda turn=turn: len(got) > turn)
    await ep.compute(20e-6)


@pytest.mark.parametrize("network", ["loggp", "sci", "sunfire"])
def test_a_timeline_shows_ranks_and_messages_from_the_start_on(network):
    trace = conduit.run(chatter, 3, ranks=3, conduit=network, trace=True).trace
    drawn = trace.svg()
    assert not overlaps(drawn)
    shown = [text for text, _ in texts(drawn)]
    assert shown[0] == f"3 ranks on {network}"
    assert {"rank 0", "rank 2", "time, µs", "compute", "blocked"} <= set(shown)
    between = sum(life.message.source != life.message.dest for life in trace.lives() if life.noticed >= 0)
    lines = [each for each in ElementTree.fromstring(drawn).iter(f"{NAMES}path") if each.get("stroke-width") == ".7"]
    assert len(lines) == 3 + between


def test_a_part_of_a_timeline():
    trace = conduit.run(chatter, 3, ranks=2, conduit="loggp", trace=True).trace
    end = trace.length / 1e12
    drawn = trace.svg(end - 10e-6, end)
    bars = [each for each in ElementTree.fromstring(drawn).iter(f"{NAMES}rect") if each.get("height") == "20"]
    assert all(float(each.get("x")) >= 66 and float(each.get("x")) + float(each.get("width")) <= 764.2 for each in bars)
    assert not overlaps(drawn)


@pytest.mark.parametrize(
    ("seconds", "window", "unit", "labels"),
    [
        (3e-9, None, "ns", {"1.0", "1.5", "4.0"}),
        (30e-6, None, "µs", {"5", "10", "30"}),
        (0.5, None, "ms", {"100", "500"}),
        (100, None, "s", {"20", "100"}),
        (100, (99.99999, 100), "s", {"99.999990", "99.999992", "100.000000"}),
        (0.02, (0.0123456, 0.0123457), "µs", {"12,345.60", "12,345.62", "12,345.70"}),
    ],
)
def test_the_times_of_a_timeline_are_told_apart_in_a_unit_that_keeps_them_short(seconds, window, unit, labels):
    async def work(ep):
        await ep.attach()
        await ep.compute(seconds)

    drawn = conduit.run(work, ranks=1, conduit="loggp", trace=True).trace.svg(*(window or ()))
    assert not overlaps(drawn)
    shown = [text for text, _ in texts(drawn)]
    assert f"time, {unit}" in shown
    places = [text for text in shown if text[0].isdigit() and text[-1].isdigit()]
    assert labels <= set(places)
    assert len(set(places)) == len(places) > 2


def test_messages_that_nobody_could_follow_are_not_drawn():
    trace = conduit.run(chatter, 150, ranks=3, conduit="loggp", trace=True).trace
    lines = [
        each for each in ElementTree.fromstring(trace.svg()).iter(f"{NAMES}path") if each.get("stroke-width") == ".7"
    ]
    assert len(lines) == 3


@pytest.mark.parametrize("spec", ["loggp", "sci", "sunfire", "startx", "t3e", "origin", "udp", "mpi:library=scampi"])
def test_no_arrow_crosses_a_text(spec):
    """Arrows end below the text of their row and begin below it; what stands above ends before it."""
    drawn = ElementTree.fromstring(explained(spec, 100).svg())
    arrows = [each.get("d") for each in drawn.iter(f"{NAMES}path") if each.get("marker-end")]
    assert arrows
    spans = []
    for path in arrows:
        begin, end = (float(point.split()[1]) for point in path[1:].split("L"))
        assert begin < end
        spans.append((begin, end + 3.5))  # with its head
    labels = [float(each.get("y")) for each in drawn.iter(f"{NAMES}text") if (each.text or "").startswith("wire")]
    assert len(labels) == len(spans)
    for base in labels:
        assert not any(begin < base + 3 and base - 10 < end for begin, end in spans)


def test_what_was_lost_does_not_arrive_in_a_picture():
    drawn = explained("udp:loss=0.5", 100).svg()
    shown = [text for text, _ in texts(drawn)]
    assert shown.count("wire, 7.880 µs") == 3
    assert "Dashed: on its way when a timer had it sent again." in shown
    ways = [each for each in ElementTree.fromstring(drawn).iter(f"{NAMES}path") if "L" in each.get("d")]
    assert sum("marker-end" in each.attrib for each in ways) == 2
    lost = [each for each in ways if each.get("stroke-dasharray") and not each.get("stroke-width")]
    assert len(lost) == 1
    assert not any("Dashed" in text for text, _ in texts(explained("udp", 100).svg()))


async def crowd(ep, turns):
    """Rank 0 answers all the time, the others wait for answers most of theirs; every span is short."""
    answered = 0

    def ask(token):
        token.reply_short(answer)

    def answer(token):
        nonlocal answered
        answered += 1

    await ep.attach(ask, answer)
    for turn in range(turns):
        await ep.request_short(0, ask)
        await ep.block_until(lambda turn=turn: answered > turn)
    await ep.block_until(lambda: ep.rank or answered == turns)


@pytest.mark.parametrize("network", ["loggp", "sci"])
def test_a_timeline_of_short_spans_shows_what_fills_most_of_each_stretch(network):
    trace = conduit.run(crowd, 1200, ranks=6, conduit=network, trace=True).trace
    drawn = trace.svg()
    assert not overlaps(drawn)
    assert any("is drawn as what fills most of that time" in text for text, _ in texts(drawn))
    tree = ElementTree.fromstring(drawn)
    keys = [each.get("fill") for each in tree.iter(f"{NAMES}rect") if each.get("height") == "14"]
    names = [text for text, _ in texts(drawn) if text in ("overhead of messages", "handlers", "polling", "blocked")]
    shades = dict(zip(names, keys, strict=True))
    rows = {}
    for each in tree.iter(f"{NAMES}rect"):
        if each.get("height") == "20":
            row = rows.setdefault(each.get("y"), Counter())
            row[each.get("fill")] += float(each.get("width"))
    for account, row in zip(trace.accounts(), rows.values(), strict=True):
        most = {"overhead of messages": account.overhead, "handlers": account.handlers, "blocked": account.blocked}
        assert row.most_common(1)[0][0] == shades[max(most, key=most.get)]
