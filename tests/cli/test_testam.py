"""`conduit testam`: every section, its figures, contents verified, sizes and segments that do not fit."""

import json
import re

import attrs
import pytest

import conduit
from conduit.benchmarks import Parameters, Progress
from conduit.commands import testam_program
from conduit.contract import Category
from conduit.launch.entry_points import CONDUITS
from conduit.launch.registry import parse_spec
from conduit.words import value_text
from conduits.loggp import Loggp

QUICK = ("--iterations", "2")


@pytest.fixture
def testam(command, tmp_path):
    """Run testam on loggp, and return its outcome and what it wrote as JSON."""

    def run(*words: str):
        path = tmp_path / "out.json"
        conduit = [] if "--conduit" in words else ["--conduit", "loggp"]
        outcome = command("testam", *conduit, "--json", str(path), *words)
        return outcome, json.loads(path.read_text()) if path.exists() else None

    return run


def rows(found, section):
    return [record for record in found["records"] if record["section"] == section]


def test_all_sections_in_json(testam):
    (status, _, err), [found] = testam("--max-size", "8", "--iterations", "3")
    assert status == 0
    assert re.fullmatch(r"wrote \S+out\.json\n", err)
    assert {key: found[key] for key in ("program", "conduit", "ranks", "clock")} == {
        "program": "testam",
        "conduit": "loggp",
        "ranks": 2,
        "clock": "virtual",
    }
    assert found["parameters"] == {
        "iterations": 3,
        "warmup": 1,
        "min_size": 0,
        "max_size": 8,
        "max_step": None,
        "sections": "ABCDEFGHIJK",
        "local": "out",
        "pairing": "next",
        "ranks_per_host": 1,
        "segment": 8,
    }
    entries = {"section", "operation", "bytes", "iterations", "microseconds", "mb_per_s", "driver_us"}
    assert all(set(record) == entries for record in found["records"])
    assert "".join(dict.fromkeys(record["section"] for record in found["records"])) == "ABCDEFGHIJK"
    assert [record["operation"] for record in rows(found, "A")] == [
        "AMShort ping-pong roundtrip ReqRep",
        "AMShort ping-pong roundtrip ReqReq",
        "AMShort flood one-way Req",
        "AMShort flood roundtrip ReqRep",
    ]
    for section in "BCDEFGHIJK":
        assert [record["bytes"] for record in rows(found, section)] == [0, 1, 2, 4, 8]
    assert all(record["iterations"] == 3 for record in found["records"])


def test_rates_follow_from_times(testam):
    _, [found] = testam("--max-size", "4096", "--min-size", "4096", "--sections", "BCDEFGHIJK")
    for record in found["records"]:
        payloads = 2 if record["section"] in "BCEGHJ" else 1
        assert record["mb_per_s"] == pytest.approx(4096 * payloads / 2**20 / (record["microseconds"] * 1e-6))
    _, [short] = testam("--sections", "a")
    assert [record["mb_per_s"] for record in short["records"]] == [None] * 4


def test_ping_pong_takes_what_the_model_says(testam):
    """A round trip is twice o_s + L + (n-1) G + o_r.

    A message is noticed within a poll, 1 ns; and the barrier before the first of the 20 may leave an automatic reply
    to be sent and one to be taken, 3 us.
    """
    spec = "loggp:L=10us,o_s=1us,o_r=2us,g=0,G=10ns,poll=1ns"
    _, [found] = testam("--conduit", spec, "--sections", "ABG", "--min-size", "101", "--max-size", "101")
    short, medium, long = rows(found, "A")[0], rows(found, "B")[0], rows(found, "G")[0]
    assert short["microseconds"] == pytest.approx(26, abs=3 / 20 + 0.002)
    assert medium["microseconds"] == pytest.approx(28, abs=3 / 20 + 0.002)
    assert long["microseconds"] == pytest.approx(28, abs=3 / 20 + 0.002)


def test_ping_pong_by_requests_is_as_long_as_by_replies(testam):
    spec = "loggp:L=10us,o_s=1us,o_r=2us,g=0,G=10ns,poll=1ns"
    _, [found] = testam("--conduit", spec, "--sections", "CH", "--min-size", "101", "--max-size", "101")
    # A reply that only frees the slot goes each way too and costs its sender o_s; it may be taken while waiting.
    for record in found["records"]:
        assert 28 <= record["microseconds"] <= 28 + 4 * 3


def test_flood_is_bound_by_the_gap(testam):
    spec = "loggp:L=1us,o_s=1us,o_r=1us,g=100us,slots=64"
    _, [found] = testam("--conduit", spec, "--sections", "D", "--max-size", "0", "--iterations", "50")
    assert rows(found, "D")[0]["microseconds"] == pytest.approx(100, rel=0.05)


def test_limit_that_is_no_power_of_two_has_a_line_of_its_own(testam):
    outcome, [found] = testam("--conduit", "loggp:max_medium=1000", "--max-size", "2048", "--sections", "BG")
    assert [record["bytes"] for record in rows(found, "B")] == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]
    assert rows(found, "G")[-1]["bytes"] == 2048
    assert re.search(r"^ *B +max: 1000 ", outcome.out, re.MULTILINE)
    assert "max: 2048" not in outcome.out


def test_reply_limit_counts_where_there_are_replies(testam, install):
    class Lopsided(Loggp):
        name = "lopsided"

        @classmethod
        def limits(cls, options):
            return attrs.evolve(super().limits(options), max_long_reply=700)

    install(CONDUITS, "lopsided", Lopsided)
    _, [found] = testam("--conduit", "lopsided", "--min-size", "512", "--max-size", "1024", "--sections", "GHIJK")
    largest = {section: rows(found, section)[-1]["bytes"] for section in "GHIJK"}
    assert largest == {"G": 700, "H": 1024, "I": 1024, "J": 700, "K": 1024}


def test_side_by_side(testam):
    words = ["--conduit", "loggp", "--conduit", "loggp:set=ethernet100", "--sections", "B", "--max-size", "1"]
    outcome, found = testam(*words)
    assert [each["conduit"] for each in found] == ["loggp", "loggp:set=ethernet100"]
    slow, fast = rows(found[1], "B")[0]["microseconds"], rows(found[0], "B")[0]["microseconds"]
    assert slow > 5 * fast
    shown = re.search(r" 0 ([\d.]+) ([\d.]+)", " ".join(outcome.out.split()))
    assert list(map(float, shown.groups())) == pytest.approx([fast, slow], abs=0.000501)  # three decimals are shown


def test_parameters_stand_before_the_results(testam):
    out = testam("--sections", "A", "--conduit", "loggp:slots=4", "--iterations", "7")[0].out
    head, _, tail = out.partition("AMShort")
    assert head.startswith("testam on loggp:slots=4: 2 ranks, virtual time\n")
    assert "iterations=7 warmup=1 min_size=0" in head
    assert "slots=4" in head
    assert "order=strict inline=yes" in head
    assert tail


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("pairing", ["next", "cross"])
def test_any_number_of_ranks(testam, ranks, pairing):
    outcome, [found] = testam(
        "--ranks", str(ranks), "--pairing", pairing, "--max-size", "4", "--iterations", "2", "--local", "in"
    )
    assert outcome.status == 0
    assert found["ranks"] == ranks
    assert len(rows(found, "K")) == 4


def test_inside_and_outside_source_take_the_same_contents(testam):
    inside = testam("--local", "in", "--sections", "GHIJK", "--max-size", "64")[0]
    outside = testam("--local", "out", "--sections", "GHIJK", "--max-size", "64")[0]
    assert (inside.status, outside.status) == (0, 0)
    assert "segment=128" in inside.out
    assert "segment=64" in outside.out


def test_no_warmup(testam):
    outcome, _ = testam("--no-warmup", "--sections", "AB", "--max-size", "1")
    assert outcome.status == 0
    assert "warmup=0" in outcome.out


class Meddling:
    """Stands between a port and the core, and changes what was received."""

    def __init__(self, core, conduit, rank):
        self._core, self._conduit, self._rank = core, conduit, rank

    def __getattr__(self, name):
        return getattr(self._core, name)

    def deliver(self, message):
        if message.nbytes >= 64:
            segment = self._conduit.ports[self._rank].segment
            self.meddle(message, segment[message.offset : message.offset + message.nbytes])
        return self._core.deliver(message)


class FlipLast(Meddling):
    """Flips a bit of the last byte."""

    def meddle(self, message, landed):
        if message.category == Category.LONG:
            landed[-1] ^= 1
        else:
            message.payload = message.payload[:-1] + bytes([message.payload[-1] ^ 1])


class KeepFirst(Meddling):
    """Puts the first long payload that arrived in the place of each later one."""

    first = None

    def meddle(self, message, landed):
        if message.category == Category.LONG:
            if self.first is None:
                self.first = landed.copy()
            landed[: len(self.first)] = self.first[: len(landed)]


class Corrupting(Loggp):
    name = "corrupting"

    def port(self, rank, core):
        return super().port(rank, FlipLast(core, self, rank))


class Forgetful(Loggp):
    name = "forgetful"

    def port(self, rank, core):
        return super().port(rank, KeepFirst(core, self, rank))


@pytest.mark.parametrize("section", "BCDEFGHIJK")
def test_contents_that_do_not_arrive_as_sent_fail_the_run(testam, install, section):
    install(CONDUITS, "corrupting", Corrupting)
    outcome, found = testam("--conduit", "corrupting", "--sections", section, "--max-size", "64", "--no-warmup")
    assert (outcome.status, found) == (1, None)
    assert re.match(
        r"conduit testam: AM(Medium|Long) .*, 64 bytes from rank [01]: the contents are not what was sent, "
        r"first at byte 63: \d+ instead of \d+\n",
        outcome.err,
    )


@pytest.mark.parametrize("section", "GHIJK")
def test_contents_of_an_earlier_message_do_not_pass(testam, install, section):
    install(CONDUITS, "forgetful", Forgetful)
    outcome, _ = testam("--conduit", "forgetful", "--sections", section, "--min-size", "64", "--max-size", "256")
    assert outcome.status == 1
    assert "the contents are not what was sent, first at byte 0: " in outcome.err


def test_results_before_a_failure_are_shown(testam, install):
    install(CONDUITS, "corrupting", Corrupting)
    words = ["--conduit", "loggp", "--conduit", "corrupting", "--sections", "B", "--max-size", "64"]
    outcome, found = testam(*words)
    assert outcome.status == 1
    assert "AMMedium ping-pong roundtrip ReqRep" in outcome.out
    assert [each["conduit"] for each in found] == ["loggp"]


class Small(Loggp):
    """Has small segments."""

    name = "small"

    @classmethod
    def max_segment(cls, options):
        return 5000


@pytest.mark.parametrize(("local", "largest"), [("out", 4096), ("in", 2048)])
def test_size_is_lowered_to_what_the_segment_holds(testam, install, local, largest):
    install(CONDUITS, "small", Small)
    outcome, [found] = testam("--conduit", "small", "--local", local, "--sections", "G", "--iterations", "2")
    assert outcome.status == 0
    assert (
        f"note: small gives segments of at most 5000 bytes: largest size lowered from 2097152 to {largest} bytes"
        in outcome.out
    )
    assert rows(found, "G")[-1]["bytes"] == largest


def test_size_that_was_given_is_not_lowered(testam, install):
    install(CONDUITS, "small", Small)
    outcome, _ = testam("--conduit", "small", "--sections", "G", "--max-size", "8192")
    assert outcome.status == 2
    assert "segment=8192 bytes is over the 5000 that 'small' can give" in outcome.err


def test_sizes_above_every_limit_are_a_wrong_call(testam):
    outcome, _ = testam("--conduit", "loggp:max_medium=1000", "--sections", "BC", "--min-size", "1001")
    assert outcome.status == 2
    assert "--min-size 1001 leaves nothing to measure in sections BC on 'loggp:max_medium=1000'" in outcome.err


@pytest.fixture
def as_if_real():
    """Run sections B and K of 64 bytes, twice, telling the program that the network is a real one."""
    parameters = Parameters(
        iterations=2, warmup=0, min_size=64, max_size=64, max_step=None, sections="BK", local="out", pairing="next"
    )

    async def main(ep):
        object.__setattr__(ep, "simulated", False)  # read-only for programs
        return await testam_program.main(ep, parameters, Progress())

    return lambda name: conduit.run(main, conduit=name)


def test_real_network_sees_one_more_exchange_after_each_timed_block(as_if_real):
    result = as_if_real("loggp")
    # Of section B the active side sends 2 + 1 requests and gets as many replies, of section K both sides send.
    assert [each["payload_bytes_sent"] for each in result.statistics] == [64 * (3 + 3)] * 2
    assert [records and len(records) for records in result.values] == [2, None]


def test_contents_are_checked_on_a_real_network(as_if_real, install):
    install(CONDUITS, "corrupting", Corrupting)
    with pytest.raises(conduit.ConduitError, match=r"^AMMedium ping-pong .*: the contents are not what was sent, "):
        as_if_real("corrupting")


def test_no_segment_is_asked_for_without_long_messages(testam, install):
    install(CONDUITS, "small", Small)
    outcome, _ = testam("--conduit", "small", "--sections", "AB", "--max-size", "8192", "--iterations", "1")
    assert outcome.status == 0
    assert "segment=0" in outcome.out


class Driven(Loggp):
    """Has a bare driver that takes 5 us and a nanosecond for each byte, twice that there and back."""

    name = "driven"

    @classmethod
    def raw_time(cls, options, category, nbytes, *, round_trip):
        assert category is not Category.SHORT or nbytes == 0
        return None if category is Category.LONG else (5e-6 + nbytes * 1e-9) * (2 if round_trip else 1)


def test_driver_figures_stand_beside_ours(testam, install):
    install(CONDUITS, "driven", Driven)
    outcome, [found] = testam("--conduit", "driven", "--sections", "BDEG", "--min-size", "1000", "--max-size", "1000")
    ours = rows(found, "B")[0]["microseconds"]
    out = " ".join(outcome.out.split())
    assert "driver us difference" in out
    assert f"{ours:.3f} {rows(found, 'B')[0]['mb_per_s']:.3f} 12.000 {ours - 12:+.3f} D" in out
    assert re.search(r"D AMMedium flood one-way Req 1000 \S+ \S+ \S+ 6\.000 [-+]\S+ E", out)
    assert re.search(r"E AMMedium flood roundtrip ReqRep 1000 \S+ \S+ \S+ G", out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sections", "XY"], "--sections 'XY' names no section; give letters out of ABCDEFGHIJK"),
        (["--iterations", "0"], "--iterations 0 is too small; it must be at least 1"),
        (["--ranks", "0"], "--ranks 0 is too small; it must be at least 1"),
        (["--conduit", "loggp", "--conduit", "nosuch"], "there is no conduit 'nosuch'"),
        (["--json", "no/such/folder/out.json"], "--json no/such/folder/out.json cannot be written"),
        (
            ["--json", "no/out.json", "--csv", ".", "--trace", "no/trace"],
            "conduit testam: --json no/out.json cannot be written; name a file in a folder that exists\n"
            "  --csv . is a folder; name a file in it\n"
            "  --trace no/trace cannot be written; name a file in a folder that exists\n",
        ),
    ],
)
def test_wrong_call(command, words, message):
    conduit = [] if "--conduit" in words else ["--conduit", "loggp"]
    status, out, err = command("testam", *conduit, *words)
    assert status == 2
    assert message in err
    assert out == ""


def test_program_runs_on_the_public_core_alone():
    source = testam_program.__loader__.get_data(testam_program.__file__).decode()
    imported = set(re.findall(r"^(?:from|import) (\S+)", source, re.MULTILINE))
    assert imported <= {"collections.abc", "typing", "attrs", "numpy", "numpy.typing", "conduit", "conduit.benchmarks"}


def test_parameters_of_a_set_are_printed_as_they_are(testam):
    out = testam("--sections", "A", "--conduit", "loggp:set=ethernet100,L=7us")[0].out
    assert "set=ethernet100 L=7e-06 o_s=1.5e-05 o_r=2e-05 g=2.5e-05 G=9e-08" in out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--ranks", "2", "--ranks-per-host", "2"], "ranks 0 and 1 share one"),
        (["--ranks", "1"], "rank 0 is its own partner"),
        (["--ranks", "4", "--ranks-per-host", "3", "--pairing", "next"], "ranks 0 and 1 share one"),
        (["--ranks", "6", "--ranks-per-host", "5", "--pairing", "cross"], "ranks 0 and 3 share one"),
        (["--ranks", "4", "--ranks-per-host", "2", "--pairing", "cross"], ""),
        (["--ranks", "3"], ""),  # the last rank is its own partner, and is not measured
    ],
)
def test_no_driver_figures_unless_every_pair_is_on_two_hosts(testam, install, words, why):
    install(CONDUITS, "driven", Driven)
    outcome, _ = testam("--conduit", "driven", "--sections", "AE", "--max-size", "0", "--iterations", "2", *words)
    head, _, table = outcome.out.partition(" operation ")
    assert ("driver us" in table, "difference" in table) == (not why, not why)
    note = "note: no driver us, no difference: the driver's figures are between two hosts, and "
    assert (f"  {note}{why}" in head.splitlines()) == bool(why)
    assert (note in head) == bool(why)


def test_nothing_is_said_of_a_driver_where_nothing_compares(testam, install):
    assert "driver us" not in testam("--sections", "A", "--ranks", "1")[0].out
    install(CONDUITS, "driven", Driven)
    assert "driver us" not in testam("--conduit", "driven", "--sections", "E", "--max-size", "0", "--ranks", "1")[0].out


@pytest.mark.parametrize("spec", ["loggp:set=ethernet100,L=7us,slots=3", "sci:torus=4x2", "startx", "sunfire"])
def test_options_in_json_give_the_run_again(testam, spec):
    """What the options come to, those of a parameter set included, are the options of the same run."""
    _, [found] = testam("--conduit", spec, "--sections", "A", "--iterations", "2")
    name = spec.partition(":")[0]
    options = parse_spec(spec)
    assert set(found["options"]) == {field.name for field in attrs.fields(type(options.options))}
    texts = {option: value_text(tuple(v) if isinstance(v, list) else v) for option, v in found["options"].items()}
    again = ",".join(f"{option}={text}" for option, text in texts.items() if text != "")
    _, [repeated] = testam("--conduit", f"{name}:{again}", "--sections", "A", "--iterations", "2")
    assert repeated["records"] == found["records"]


def test_driver_time_in_json(testam, install):
    install(CONDUITS, "driven", Driven)
    words = ["--conduit", "driven", "--sections", "BEG", "--min-size", "1000", "--max-size", "1000"]
    _, [found] = testam(*words)
    assert [record["driver_us"] for record in found["records"]] == [pytest.approx(12), None, None]
    _, [found] = testam(*words, "--ranks-per-host", "2")
    assert [record["driver_us"] for record in found["records"]] == [None] * 3
    assert found["parameters"]["ranks_per_host"] == 2


@pytest.mark.parametrize(
    ("words", "notes"),
    [
        (["--sections", "G", "--max-size", "4096"], [(2000, "long reply")]),
        (["--sections", "HI", "--max-size", "4096"], [(3000, "long message")]),
        (
            ["--sections", "AFJK", "--max-size", "4096"],
            [(1000, "medium message"), (2000, "long reply"), (3000, "long message")],
        ),
        (["--sections", "BG", "--max-size", "1024"], [(1000, "medium message")]),
        (["--sections", "BG", "--max-size", "1000"], []),
        (["--sections", "A", "--max-size", "4096"], []),
        (["--sections", "BG"], []),  # nobody asked for more
    ],
)
def test_a_size_that_was_given_is_not_cut_in_silence(testam, install, words, notes):
    class Limited(Loggp):
        name = "limited"

        @classmethod
        def limits(cls, options):
            return attrs.evolve(super().limits(options), max_medium=1000, max_long_request=3000, max_long_reply=2000)

    install(CONDUITS, "limited", Limited)
    outcome, _ = testam("--conduit", "limited", "--iterations", "1", *words)
    assert outcome.status == 0
    head = outcome.out.partition(" operation ")[0]
    assert [line for line in head.splitlines() if "note" in line] == [
        f"  note: no {what} holds more than {most} bytes here: max_size lowered for these" for most, what in notes
    ]


def test_sections_that_a_size_leaves_out_are_told(testam):
    sizes = ["--min-size", "5000", "--max-size", "6000"]
    outcome, _ = testam("--conduit", "sci", "--sections", "AB", *sizes, "--iterations", "1")
    assert outcome.status == 0
    assert "  note: no medium message holds more than 2048 bytes here: from 5000 on there are none" in outcome.out


def test_several_runs_show_median_least_and_most(tmp_path):
    import json

    from conduit.benchmarks import BenchmarkOptions
    from conduit.commands.testam import testam

    def records(**options):
        file = tmp_path / "out.json"
        common = {"conduit": ("udp:loss=0.1",), "sections": "A", "iterations": 3, "json": file}
        assert testam(BenchmarkOptions(**common, **options)) == 0
        (run,) = json.loads(file.read_text())
        return run["records"]

    several = records(seed=5, repeat=3)
    single = [records(seed=seed) for seed in (5, 6, 7)]
    for index, record in enumerate(several):
        times = sorted(run[index]["microseconds"] for run in single)
        assert [record["least_us"], record["microseconds"], record["most_us"]] == times
        assert "least_us" not in single[0][index]


def test_no_run_at_all_is_refused():
    import pytest

    import conduit
    from conduit.benchmarks import BenchmarkOptions
    from conduit.commands.testam import testam

    with pytest.raises(conduit.BadRequest, match=r"^--repeat 0 is too small; it must be at least 1$"):
        testam(BenchmarkOptions(conduit=("loggp",), repeat=0))


def test_a_time_whose_unit_was_forgotten_is_told_once_before_what_it_gives(testam):
    outcome, found = testam("--conduit", "loggp:L=1.2,g=1us", "--conduit", "loggp", "--sections", "A", *QUICK)
    assert (outcome.status, len(found)) == (0, 2)
    told, wrote = outcome.err.splitlines()
    assert told == (
        "warning: a round trip on 'loggp:L=1.2,g=1us' takes 2.4 s of virtual time, as a time without a unit is in "
        "seconds; where microseconds are meant write loggp:L=1.2us,g=1us"
    )
    assert wrote.startswith("wrote ")


@pytest.mark.parametrize("spec", ["loggp:L=1.2s", "loggp:L=1.2e-6", "udp:rto=2"])
def test_a_time_that_was_meant_is_not_told(testam, spec):
    outcome, _ = testam("--conduit", spec, "--sections", "A", *QUICK)
    assert outcome.status == 0
    assert re.fullmatch(r"wrote \S+out\.json\n", outcome.err)
