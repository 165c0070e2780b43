"""testlogp against the parameters that loggp was given, and what it says where it cannot know them."""

import io
import json
import re
from types import SimpleNamespace

import pytest
import trio
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rich.console import Console

import conduit
from conduit.benchmarks import BenchmarkOptions, execute
from conduit.launch.registry import parse_spec
from extended.commands.logp import LogpTiming, measure, usual
from extended.commands.testlogp import PROGRAM, notes, of_parameters

# A set that fails is as good as a simpler one, and each takes a whole benchmark to try.
PHASES = (Phase.generate,)
NAMES = ("L", "o_s", "o_r", "g", "G")


def _measured(tmp_path, spec, **options):
    path = tmp_path / "out.json"
    shown = io.StringIO()
    console = Console(file=shown, width=160)
    assert (
        execute(PROGRAM, BenchmarkOptions(**{"conduit": (spec,), "json": path, "sections": "B"} | options), console)
        == 0
    )
    (run,) = json.loads(path.read_text())
    return {record["operation"]: record for record in run["records"]}, shown.getvalue()


def _spec(poll, slots=64, **values):
    given = ",".join(f"{name}={value!r}" for name, value in values.items())
    return f"loggp:{given},poll={poll!r},slots={slots}"


micro = st.floats(0.1e-6, 50e-6)
sets = st.fixed_dictionaries(
    {
        "L": st.floats(0.05, 100),  # times the larger overhead
        "o_s": micro,
        "o_r": micro,
        "g": st.floats(1.5, 6),  # times their sum
        "G": st.floats(0.05e-9, 200e-9),
        "poll": st.floats(0.001, 0.01),  # times o_s
        "slots": st.sampled_from((64, 100, 1000)),
    }
)


@pytest.mark.slow
@given(drawn=sets)
@settings(max_examples=25, phases=PHASES)
def test_what_loggp_was_given_is_recovered_within_5_percent(tmp_path_factory, drawn):
    o_s, o_r = drawn["o_s"], drawn["o_r"]
    values = {"L": drawn["L"] * max(o_s, o_r), "o_s": o_s, "o_r": o_r, "g": drawn["g"] * (o_s + o_r), "G": drawn["G"]}
    poll = max(1e-9, drawn["poll"] * o_s)
    found, text = _measured(tmp_path_factory.mktemp("logp"), _spec(poll, drawn["slots"], **values))
    for name, value in values.items():
        assert found[name]["microseconds"] * 1e-6 == pytest.approx(value, rel=0.05), name
        assert "bound" not in found[name], name
    assert "at most" not in text


SETS = [
    {"L": 3e-6, "o_s": 0.7e-6, "o_r": 1.9e-6, "g": 4.2e-6, "G": 0.31e-9},
    {"L": 250e-6, "o_s": 11e-6, "o_r": 4e-6, "g": 23e-6, "G": 85e-9},
    {"L": 0.4e-6, "o_s": 0.5e-6, "o_r": 0.2e-6, "g": 9e-6, "G": 6e-9},  # the gap is longer than a round trip
    {"L": 900e-6, "o_s": 0.3e-6, "o_r": 0.3e-6, "g": 1e-6, "G": 1e-9},  # 64 requests do not fill the network
]


@pytest.mark.slow
@pytest.mark.parametrize("values", SETS, ids=["usual", "slow", "gap", "far"])
def test_sets_of_every_kind_are_recovered(tmp_path, values):
    found, text = _measured(tmp_path, _spec(2e-9, **values))
    for name, value in values.items():
        assert found[name]["microseconds"] * 1e-6 == pytest.approx(value, rel=0.05), name
    assert found["poll"]["microseconds"] == pytest.approx(2e-3)
    assert "at most" not in text


@given(drawn=sets, share=st.floats(0, 1.4), poll=st.floats(0.001, 2), slots=st.sampled_from((1, 2, 7, 8, 16, 64)))
@settings(max_examples=25, phases=PHASES)
def test_elsewhere_what_is_not_recovered_is_called_a_bound_and_is_one(tmp_path_factory, drawn, share, poll, slots):
    o_s, o_r = drawn["o_s"], drawn["o_r"]
    g = round(share * (o_s + o_r), 12)  # loggp refuses what is less than a picosecond
    values = {"L": drawn["L"] * max(o_s, o_r), "o_s": o_s, "o_r": o_r, "g": g, "G": drawn["G"]}
    spec = _spec(max(1e-9, poll * o_s), slots, **values)
    found, text = _measured(tmp_path_factory.mktemp("logp"), spec, max_size=1 << 18)
    for name, value in values.items():
        seconds = found[name]["microseconds"] * 1e-6
        if "bound" in found[name]:
            assert found[name]["bound"] == "at most"
            assert found[name]["because"]
            assert f"{name} is at most that: {found[name]['because']}" in text
            assert seconds >= value * (1 - 1e-6) - 1e-12, name  # loggp counts picoseconds
        else:
            assert seconds == pytest.approx(value, rel=0.05), name
    assert "bound" in found["g"]


def test_few_slots_bound_the_gap(tmp_path):
    given_set = {"L": 20e-6, "o_s": 1e-6, "o_r": 1e-6, "g": 4e-6, "G": 4e-9}
    for slots, bound in ((1, True), (2, True), (7, True), (8, False), (16, False)):
        found, text = _measured(tmp_path, _spec(1e-9, slots, **given_set))
        assert ("bound" in found["g"]) == bound
        assert (f"no more than {slots} requests to a rank may be under way" in text) == bound
        if not bound:
            assert found["g"]["microseconds"] == pytest.approx(4.0, rel=0.01)


def test_the_poll_for_which_messages_wait_is_that_of_the_conduit(tmp_path):
    given_set = {"L": 2e-6, "o_s": 1e-6, "o_r": 1e-6, "g": 4e-6, "G": 4e-9}
    found, text = _measured(tmp_path, _spec(1.234e-6, **given_set))
    assert found["L"]["because"] == "messages wait up to a poll (1.234 us) until they are found"
    assert " B   poll                     1.234\n" in text


def test_the_time_of_all_iterations_is_not_shown_and_every_figure_has_its_digits(tmp_path):
    for poll in (9e-9, 10e-9, 11e-9):
        _, text = _measured(tmp_path, _spec(poll, L=5e-6, o_s=2e-6, o_r=1e-6, g=6e-6, G=4e-9), iterations=2)
        assert "total s" not in text
        assert re.search(rf"^ B   G +0\.00400\d *\n B   poll +{poll * 1e6:.3f} *$", text, re.MULTILINE)


def test_connections_that_the_first_message_opens_are_no_time_of_a_byte(tmp_path):
    """The first long message of sunfire takes eight times the others; of 8192 bytes G is that of a megabyte."""
    found, text = _measured(tmp_path, "sunfire", max_size=8192)
    large, _ = _measured(tmp_path, "sunfire", max_size=1 << 20)
    assert "bound" not in found["G"]
    assert found["G"]["microseconds"] == pytest.approx(large["G"]["microseconds"], rel=0.02)
    assert "G is" not in text


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("sunfire", {"max_size": 8192, "warmup": False}),  # the connection is opened at the smaller size
        ("sci", {"max_size": 2048}),  # DMA begins there
        ("startx", {"max_size": 8192}),  # RDMA begins in between
    ],
)
def test_a_time_that_grows_unevenly_gives_a_bound_of_g(tmp_path, spec, options):
    found, text = _measured(tmp_path, spec, **options)
    large, _ = _measured(tmp_path, spec, max_size=1 << 20)
    assert found["G"]["microseconds"] >= large["G"]["microseconds"] > 0
    size = options["max_size"]
    assert f"G is at most that: from {size // 2} to {size} bytes the time does not grow evenly; give a larger" in text


def test_a_size_above_what_is_measured_is_told(tmp_path):
    _, text = _measured(tmp_path, "loggp:max_long=1000", max_size=5000, iterations=2)
    assert (
        "  note: no long message with an answer as long holds more than 1000 bytes here: max_size lowered for these\n"
        in text
    )


def test_sizes_have_their_round_trips_overheads_and_gaps(tmp_path):
    """The gap grows by G for each byte after the first, the overheads do not."""
    values = {"L": 5e-6, "o_s": 1e-6, "o_r": 2e-6, "g": 6e-6, "G": 10e-9}
    path = tmp_path / "out.json"
    options = BenchmarkOptions(conduit=(_spec(1e-9, **values),), json=path, sections="a", max_size=1024)
    assert execute(PROGRAM, options, Console(quiet=True)) == 0
    (run,) = json.loads(path.read_text())
    rows = {(record["operation"], record["bytes"]): record["microseconds"] for record in run["records"]}
    sizes = [0, *(1 << step for step in range(11))]
    assert set(rows) == {(name, nbytes) for name in ("RTT(m)", "o_s(m)", "o_r(m)", "g(m)") for nbytes in sizes}
    for nbytes in sizes:
        train = max(0, nbytes - 1) * 0.01
        assert rows["RTT(m)", nbytes] == pytest.approx(16 + train, abs=0.01)
        assert rows["o_s(m)", nbytes] == pytest.approx(1.0, abs=0.002)
        assert rows["o_r(m)", nbytes] == pytest.approx(2.0, abs=0.002)
        assert rows["g(m)", nbytes] == pytest.approx(6 + train, abs=0.01)


@pytest.mark.parametrize("spec", ["loggp:max_medium=512,max_long=1000", "sci", "loggp:slots=1", "loggp:order=weak"])
@pytest.mark.parametrize("ranks", [2, 5])
def test_it_measures_any_conduit_with_any_number_of_ranks(tmp_path, spec, ranks):
    for pairing, local in (("next", "in"), ("cross", "out")):
        options = {"pairing": pairing, "local": local, "iterations": 2, "sections": "AB", "max_size": 3000}
        found, _ = _measured(tmp_path, spec, ranks=ranks, **options)
        assert set(found) == {"RTT(m)", "o_s(m)", "o_r(m)", "g(m)", *NAMES, "poll"}
        assert all(found[name]["microseconds"] > 0 for name in ("o_s", "o_r", "g", "G", "poll"))


def test_the_note_is_a_spec_that_loggp_takes(tmp_path):
    _, text = _measured(tmp_path, _spec(1e-9, L=5e-6, o_s=1e-6, o_r=1e-6, g=4e-6, G=4e-9))
    (spec,) = (line.strip() for line in text.splitlines() if line.startswith("  loggp:L="))
    found, _ = _measured(tmp_path, f"{spec},poll=1ns,slots=64")
    assert found["g"]["microseconds"] == pytest.approx(4.0, rel=0.01)
    assert list(notes([])) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranks": 1}, r"\A--ranks 1 is too few for testlogp; give at least 2\Z"),
        ({"max_size": 63}, r"\A--max-size 63 is too small for what testlogp measures; give at least 64\Z"),
        ({"max_size": 0}, r"\A--max-size 0 is too small for what testlogp measures; give at least 64\Z"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_the_job(options, message):
    shown = io.StringIO()
    with pytest.raises(conduit.BadRequest, match=message) as refused:
        execute(PROGRAM, BenchmarkOptions(conduit=("loggp",), **options), Console(file=shown))
    assert not hasattr(refused.value, "__notes__")  # which would make it a failure of a job, not a wrong call
    assert shown.getvalue() == ""


class Real:
    """A probe of real time that has found what it is given; seconds."""

    def __init__(self, *, again, least, poll=1e-6, pace=3e-6, long=1e-3):
        self.ep = SimpleNamespace(simulated=False)
        self.poll, self.again, self.least, self.pace, self.long = poll, again, least, pace, long

    async def timing(self, nbytes):
        return LogpTiming(nbytes, *self.again, self.least)

    async def real_pace(self):
        return self.pace

    async def long_trip(self, nbytes):
        return self.long


def _real(none=(20e-6, 4e-6, 5e-6), again=None, least=18e-6, **found):
    timing = LogpTiming(0, *none, least)
    probe = Real(again=none if again is None else again, least=least, **found)
    return trio.run(measure, probe, timing, timing, 1 << 20)


def _noted(figures):
    return list(notes(of_parameters(figures, 10)))


def test_real_figures_add_up_to_a_round_trip():
    found = _real()
    assert (found.L, found.o_s, found.o_r) == pytest.approx((3e-6, 3e-6, 4e-6))
    assert found.unknown == {}
    assert _noted(found) == [
        "loggp:L=3us,o_s=3us,o_r=4us,g=3us,G=0.9346ns",
        "g is at most that: the CPU is what a burst of short messages waits for",
    ]


def test_of_two_measurements_the_undisturbed_one_counts_and_a_difference_is_told():
    found = _real(again=(90e-6, 40e-6, 50e-6))
    assert (found.L, found.o_s, found.o_r) == pytest.approx((3e-6, 3e-6, 4e-6))
    told = "L is at most that: round trips took from {} us to {} us, as the ranks did not have their processors to "
    assert f"{told.format('20.0', '90.0')}themselves; measure again" in _noted(found)
    found = _real(none=(1e-3, 4e-6, 5e-6))
    assert pytest.approx(493e-6) == found.L
    assert f"{told.format('18.0', '1000.0')}themselves; measure again" in _noted(found)


@pytest.mark.parametrize(
    ("found", "spec", "unknown"),
    [
        (
            {"none": (20e-6, 12e-6, 10e-6)},
            "loggp:L=0us,o_s=5.5us,o_r=4.5us,",
            {"L": "the overheads alone, each timed by itself, make up a round trip"},
        ),
        (
            {"none": (20e-6, 0.5e-6, 0.9e-6)},
            "loggp:L=10us,o_s=0us,o_r=0us,",
            dict.fromkeys(("o_s", "o_r"), "such a call took no longer than a poll that finds nothing"),
        ),
        (
            {"pace": 0.0, "long": 15e-6},
            "loggp:L=3us,o_s=3us,o_r=4us,g=0us,G=0ns",
            {
                "g": "longer bursts took no longer: other programs had the processor meanwhile",
                "G": "1048576 bytes took no longer than none; give a larger --max-size",
            },
        ),
    ],
)
def test_what_cannot_be_told_in_real_time_is_called_unknown_and_no_bound(found, spec, unknown):
    figures = _real(**found)
    first, *rest = _noted(figures)
    assert first.startswith(spec)
    assert figures.unknown == unknown
    assert [line for line in rest if "unknown" in line] == [
        f"{name} is unknown, and 0 in the spec: {unknown[name]}" for name in NAMES if name in unknown
    ]
    for record in of_parameters(figures, 10):
        assert ("unknown" in record.as_json()) == (record.operation in unknown)
        assert ("bound" in record.as_json()) == (record.operation in figures.at_most)


times = st.floats(0, 100)


@given(st.tuples(times, times, times), st.tuples(times, times, times), times, times, times, times)
def test_whatever_was_measured_the_spec_is_one(none, again, least, poll, pace, long):
    figures = _real(none, again, least, poll=poll, pace=pace, long=long)
    spec, *_ = _noted(figures)
    options = parse_spec(spec).options
    assert all(getattr(options, name) >= 0 for name in NAMES)


def test_times_in_which_others_had_the_processor_do_not_count():
    assert usual([30e-6] * 5 + [2e-3] * 95) == 30e-6
    assert usual([10.0, 11.0, 12.0, 13.0]) == 11.0
    assert usual([0.0, 0.0, 1.0]) == 0.0
