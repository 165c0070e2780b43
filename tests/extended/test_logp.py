"""testlogp against the parameters that loggp was given, and what it says where it cannot know them."""

import io
import json
import re

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rich.console import Console

import conduit
from conduit.benchmarks import BenchmarkOptions, execute
from extended.commands.testlogp import PROGRAM, notes

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
    values = {"L": drawn["L"] * max(o_s, o_r), "o_s": o_s, "o_r": o_r, "g": share * (o_s + o_r), "G": drawn["G"]}
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
    assert " B   poll                     1.234 " in text


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
