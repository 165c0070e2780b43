"""The benchmarks of MPI libraries: what they measure, show and refuse."""

import json
from types import SimpleNamespace

import pytest
from rich.console import Console

import conduit
from conduit.benchmarks import execute
from conduits.mpi import MPI
from conduits.mpi.collectives.algorithms import named
from conduits.mpi.commands import bandwidth, coll, logp, pingpong, traffic
from conduits.mpi.commands.logp import LogpMeasurement, LogpProbe, _notes, _records
from conduits.mpi.commands.options import MpiOptions
from conduits.mpi.commands.patterns import PATTERNS


def measured(tmp_path, module, **options):
    kind = {coll: coll.CollOptions, traffic: traffic.PatternOptions}.get(module, MpiOptions)
    chosen = kind(**{"iterations": 3, "json": tmp_path / "out.json"} | options)
    console = Console(record=True, width=160, quiet=True)
    assert execute(module.program(chosen), chosen, console) == 0
    return json.loads((tmp_path / "out.json").read_text())


def test_a_message_takes_half_a_round_trip_in_every_mode(tmp_path):
    (run,) = measured(tmp_path, pingpong, min_size=0, max_size=8)
    assert (run["program"], run["conduit"], run["clock"]) == ("mpi-pingpong", "mpi", "virtual")
    found = {(record["section"], record["bytes"]): record["microseconds"] for record in run["records"]}
    assert list(found) == [(letter, nbytes) for letter in "ABCDE" for nbytes in (0, 1, 2, 4, 8)]
    assert all(found["B", nbytes] > found["A", nbytes] for nbytes in (0, 1, 2, 4, 8))  # it hears of the match


async def blocking(comm, mode, nbytes, rounds):
    """Return half of a round trip of the calls that any program makes, microseconds; the first one does not count."""
    data, ep = bytearray(nbytes), conduit.current()
    send, times = getattr(comm, mode), []
    await comm.Barrier()
    for _ in range(1 + rounds):
        times.append(ep.now)
        if comm.rank:
            await comm.Recv(data, 0)
        await send(data, 1 - comm.rank)
        if not comm.rank:
            await comm.Recv(data, 1)
    times.append(ep.now)
    await comm.Barrier()  # as of the command: its first messages cross the last one of the ping-pong
    return (times[-1] - times[1]) / rounds / 2 * 1e6


LIBRARIES = ["scampi", "sunmpi:config=sis", "sunmpi:config=q", "start"]


def spec(library):
    name, _, options = library.partition(":")
    return f"mpi:library={name}{options and ','}{options}"


@pytest.mark.parametrize("nbytes", [0, 8, 1024])
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_calls_are_blocking_as_in_any_program(tmp_path, library, nbytes):
    """A receive that is posted ahead takes a call more for each message, and its poll: up to 13 % of a short one."""
    for section, mode in (("A", "Send"), ("B", "Ssend"), ("E", "Send")):
        (run,) = measured(
            tmp_path, pingpong, conduit=(spec(library),), min_size=nbytes, max_size=nbytes, sections=section
        )
        plain = MPI.run(blocking, mode, nbytes, 3, ranks=2, library=library).values[0]
        assert run["records"][0]["microseconds"] == pytest.approx(plain, rel=1e-6), section


@pytest.mark.parametrize(
    ("library", "nbytes", "latency", "apart"),
    [("sunmpi:config=sis", 0, 1.5, 0.05), ("sunmpi:config=q", 1, 2.8, 0.05), ("start", 0, 18, 0.18)],
)
def test_the_latencies_within_a_host_are_their_anchors(tmp_path, library, nbytes, latency, apart):
    """s.t1.lat.on, q.t4.on.1 and x.mpi.lat.shm, which calibrate and predict nothing."""
    (run,) = measured(
        tmp_path, pingpong, conduit=(spec(library),), ranks_per_host=2, iterations=100, sections="A",
        min_size=nbytes, max_size=nbytes,
    )  # fmt: skip
    assert run["records"][0]["microseconds"] == pytest.approx(latency, abs=apart)


def test_pairs_that_share_a_host_or_not_and_one_that_is_left_over(tmp_path):
    (near,) = measured(tmp_path, pingpong, max_size=0, sections="A", ranks=2, ranks_per_host=2)
    (far,) = measured(tmp_path, pingpong, max_size=0, sections="A", ranks=5)
    assert len(near["records"]) == len(far["records"]) == 1
    assert near["records"][0]["microseconds"] < far["records"][0]["microseconds"]


def test_bandwidth_is_the_sum_of_the_pairs(tmp_path):
    (one,) = measured(tmp_path, bandwidth, min_size=4096, max_size=4096, ranks=2)
    (two,) = measured(tmp_path, bandwidth, min_size=4096, max_size=4096, ranks=4)
    for run, pairs in ((one, 1), (two, 2)):
        for record, ways in zip(run["records"], (1, 2), strict=True):
            expected = pairs * ways * 4096 / 2**20 / (record["microseconds"] * 1e-6)
            assert record["mb_per_s"] == pytest.approx(expected)
    assert [record["operation"] for record in one["records"]] == ["one way", "ping and pong"]
    assert two["records"][0]["mb_per_s"] > 1.5 * one["records"][0]["mb_per_s"]


def test_every_algorithm_of_every_collective_has_its_rows(tmp_path):
    (run,) = measured(tmp_path, coll, ranks=4, ranks_per_host=2, iterations=1, max_size=8, algorithms="all")
    calls = {f"{call}{' round' * (letter == 'K')}": named(call) for letter, call in coll.CALLS.items()}
    expected = {f"{call} {name}" for call, names in calls.items() for name in names}
    assert {record["operation"] for record in run["records"]} == expected
    assert all(record["microseconds"] > 0 for record in run["records"])


@pytest.mark.parametrize("section", [each for each in coll.CALLS if each != "A"])
def test_ranks_have_met_before_the_clock_starts(tmp_path, section):
    """Connections of Sun MPI take hundreds of microseconds when they are first used, the barrier's too."""
    (run,) = measured(
        tmp_path, coll, conduit=("mpi:library=sunmpi",), ranks=4, iterations=1, max_size=16, sections=section
    )
    first, later = (record["microseconds"] for record in run["records"])
    assert first < 2 * later  # polls stand elsewhere


def test_usual_algorithms_and_odd_sizes(tmp_path):
    spec = "mpi:collectives=nodes"
    runs = measured(tmp_path, coll, conduit=("mpi", spec), ranks=3, iterations=2, min_size=7, max_size=9, max_step=1)
    assert [run["conduit"] for run in runs] == ["mpi", spec]
    for run in runs:
        names = [record["operation"] for record in run["records"] if record["bytes"] in (0, 7)]
        assert names == [*list(coll.CALLS.values())[:-1], "Bcast round"]


@pytest.mark.parametrize(
    ("module", "options", "match"),
    [
        (pingpong, {"conduit": ("sci",)}, "--conduit sci: mpi-pingpong measures MPI libraries; give mpi:library="),
        (bandwidth, {"local": "in"}, "--local in means nothing to mpi-bandwidth"),
        (bandwidth, {"ranks": 1}, "--ranks 1 is too few for mpi-bandwidth; give at least 2"),
        (coll, {"pairing": "cross"}, "--pairing cross means nothing to mpi-coll"),
        (logp, {"pairing": "cross"}, "--pairing cross means nothing to mpi-logp"),
        (logp, {"max_size": 63}, "--max-size 63 is too small for what mpi-logp measures; give at least 64"),
        (traffic, {"ranks": 6}, "--ranks 6 is no power of 2, and all patterns but uniform .* or --patterns uniform"),
        (traffic, {"patterns": "ring"}, "--patterns 'ring' is not known; give all, or some of uniform,baseline,"),
        (traffic, {"offered": "8,much"}, "--offered '8,much' are no rates; give MB per second above 0, as 8,32,128"),
        (traffic, {"offered": "0"}, "--offered '0' are no rates"),
        (traffic, {"min_size": 0}, "--min-size 0 is no mean of sizes; give at least 1"),
        (coll, {"algorithms": "ring,fast"}, "--algorithms 'fast' is not known; give all, or some of binomial,"),
        (
            coll,
            {"sections": "A", "algorithms": "ring"},
            "--algorithms 'ring' is not known; .* dissemination,tree,two-l",
        ),
    ],
)
def test_what_is_refused(tmp_path, module, options, match):
    with pytest.raises(conduit.BadRequest, match=match):
        measured(tmp_path, module, **options)


def test_the_algorithms_of_mpi_itself_are_there_where_real_mpi_is_asked_for(tmp_path):
    def program(*specs, text="library"):
        return coll.program(coll.CollOptions(conduit=specs, sections="A", algorithms=text))

    real = "mpi:credits=4, library=mpi4py"
    for specs in ((real,), ("mpi", real)):
        assert program(*specs).views[0].operations == ("Barrier library",)
    everything = ("Barrier dissemination", "Barrier library", "Barrier tree", "Barrier two-level")
    assert program(real, text="all").views[0].operations == everything
    assert program("mpi", text="all").views[0].operations == (everything[0], *everything[2:])
    others = "give all, or some of dissemination,library,tree,two-level$"
    with pytest.raises(conduit.BadRequest, match=rf"\A--algorithms 'ring' is not known; {others}"):
        program("mpi", real, text="ring")
    only = (
        r"\A--algorithms 'library': MPI's own collectives, which no simulated library has; add --conduit "
        r"mpi:library=mpi4py, or give all, or some of dissemination,tree,two-level\Z"
    )
    for text in ("library", "tree,library", "library,ring"):
        with pytest.raises(conduit.BadRequest, match=only):
            program("mpi:library=start", text=text)
    with pytest.raises(conduit.BadRequest, match=r"\A--algorithms 'ring' is not known; give all, or some of diss"):
        program("mpi:library=sunmpi", text="ring,library")


def test_the_algorithms_through_shared_buffers_are_there_where_sun_mpi_is_asked_for(tmp_path):
    def operations(*specs, text="all"):
        return coll.program(coll.CollOptions(conduit=specs, sections="A", algorithms=text)).views[0].operations

    others = ("Barrier dissemination", "Barrier tree", "Barrier two-level")
    for spec in ("mpi:library=sunmpi", "mpi:config=q, library=sunmpi", "mpi:library=sunmpi,collectives=exchange"):
        assert operations(spec) == (others[0], "Barrier local-exchange", *others[1:])
    for spec in ("mpi", "mpi:library=start", "mpi:library=sunmpi,collectives=nodes"):
        assert operations(spec) == others
    options = {"min_size": 64, "max_size": 64, "iterations": 1, "ranks": 4, "ranks_per_host": 4, "sections": "BCH"}
    (run,) = measured(
        tmp_path, coll, conduit=("mpi:library=sunmpi",), algorithms="local-exchange,two-level,two-stage", **options
    )
    assert {record["operation"] for record in run["records"]} == {
        "Bcast local-exchange", "Bcast two-stage", "Scatter two-level", "Allreduce local-exchange",
        "Allreduce two-level",
    }  # fmt: skip


def test_the_parameters_of_logp_are_those_of_their_formulas(tmp_path):
    (run,) = measured(tmp_path, logp, conduit=("mpi:library=sunmpi",), min_size=0, max_size=64, iterations=2)
    found = {(record["operation"], record["bytes"]): record["microseconds"] for record in run["records"]}
    trips = [found["RTT(m)", nbytes] for nbytes in (0, 1, 64)]
    gaps = [found["g(m)", nbytes] for nbytes in (0, 1, 64)]
    assert [gap - gaps[0] for gap in gaps] == pytest.approx([trip - trips[0] for trip in trips])
    both = found["o_s(m)", 1] + found["o_r(m)", 1]
    latency = trips[0] / 2 - gaps[0]
    assert found["L of parameterized LogP", 0] == pytest.approx(latency)
    assert found["L", 0] == pytest.approx(latency + gaps[1] - both)
    assert (found["o", 0], found["g", 0], found["G", 0]) == pytest.approx((both / 2, gaps[1], gaps[2] / 64))
    assert 0 < gaps[0] < trips[0] / 2  # messages overlap

    async def main(comm):
        ep, nothing = conduit.current(), bytearray(0)
        for count in (1, 2000):
            began = ep.now
            for _ in range(count):
                await (comm.Recv if comm.rank else comm.Send)(nothing, 1 - comm.rank)
        return (ep.now - began) / count * 1e6

    assert gaps[0] == pytest.approx(max(MPI.run(main, ranks=2, library="sunmpi").values), rel=0.05)


@pytest.mark.parametrize("library", LIBRARIES)
def test_all_of_the_receiving_is_in_the_receive(tmp_path, library):
    """Nobody polls while the message comes: its entry, its line and its copy are left to the call that is timed."""
    (run,) = measured(tmp_path, logp, conduit=(spec(library),), min_size=1, max_size=1024, iterations=5)
    found = {(record["operation"], record["bytes"]): record["microseconds"] for record in run["records"]}

    async def main(comm, nbytes, away):
        data, nothing, ep, times = bytearray(nbytes), bytearray(0), conduit.current(), []
        await comm.Barrier()
        for _ in range(6):
            if comm.rank:
                await comm.Recv(nothing, 0)
                await comm.Send(data, 0)
                continue
            await comm.Send(nothing, 1)
            await ep.compute(away)
            times.append(ep.now)
            await comm.Recv(data, 1)
            times.append(ep.now)
        return sum(times[3::2]) - sum(times[2::2])

    for nbytes in (1, 1024):
        away = 2 * found["RTT(m)", nbytes] * 1e-6
        plain = MPI.run(main, nbytes, away, ranks=2, library=library).values[0]
        expected = pytest.approx(plain / 5 * 1e6, abs=0.1)  # the end of Sun MPI's queue cuts lines in two elsewhere
        assert found["o_r(m)", nbytes] == expected


def test_a_host_s_ranks_do_not_measure_among_themselves_where_there_are_others(tmp_path):
    (near,) = measured(tmp_path, logp, ranks=2, ranks_per_host=2, sections="B", max_size=64)
    (far,) = measured(tmp_path, logp, ranks=4, ranks_per_host=2, sections="B", max_size=64)
    latency = [run["records"][0]["microseconds"] for run in (near, far)]
    assert 0 < latency[0] < latency[1]


def test_traffic_is_what_was_drawn_and_no_more_gets_through_than_is_offered(tmp_path):
    options = {"ranks": 8, "ranks_per_host": 2, "patterns": "all", "offered": "40,400", "iterations": 3, "seed": 3}
    (run,) = measured(tmp_path, traffic, sections="D", **options)
    hosts = [rank // 2 for rank in range(8)]
    rows = {(record["section"], record["operation"]): record for record in run["records"]}
    for section in "D":
        for pattern in (traffic.UNIFORM, *PATTERNS):
            for rate in (40, 400):
                plans = [traffic.draw(rank, 8, pattern, section, 4096, rate, 3, 3) for rank in range(8)]
                moved, last = [0, 0], max(plan.times[-1] for plan in plans)
                for rank, plan in enumerate(plans):
                    for size, dest in zip(plan.sizes, plan.dests, strict=True):
                        assert pattern != traffic.UNIFORM or dest != rank
                        moved[hosts[rank] != hosts[dest]] += size
                for where, nbytes in zip(("on-node", "off-node"), moved, strict=True):
                    record = rows.pop((section, f"{pattern} {where} at {rate}"), None)
                    assert (record is not None) == (nbytes > 0)
                    if record:
                        seconds = record["microseconds"] * record["iterations"] * 1e-6
                        assert record["mb_per_s"] == pytest.approx(nbytes / 2**20 / seconds)
                        assert record["offered_mb_per_s"] == pytest.approx(nbytes / 2**20 / last)
                        assert record["mb_per_s"] < record["offered_mb_per_s"]
    assert not rows


def test_what_is_drawn_has_its_means():
    for section, spread in (("A", 1 / 3), ("D", 1)):
        plan = traffic.draw(1, 4, traffic.UNIFORM, section, 1000, 10, 4000, 0)
        gaps = [after - before for before, after in zip((0, *plan.times), plan.times, strict=False)]
        assert sum(plan.sizes) / 4000 == pytest.approx(1000, rel=0.05)
        assert sum(gaps) / 4000 == pytest.approx(1000 / (10 * 2**20), rel=0.05)
        variance = sum((size - 1000) ** 2 for size in plan.sizes) / 4000 / 1000**2
        assert variance == pytest.approx(spread, rel=0.1)
        assert {dest: plan.dests.count(dest) / 4000 for dest in (0, 2, 3)} == pytest.approx(
            dict.fromkeys((0, 2, 3), 1 / 3), rel=0.1
        )


def test_each_rank_broadcasts_in_its_turn_and_messages_are_counted(tmp_path):
    algorithms = "binomial,scatter-allgather"
    options = {"ranks": 4, "ranks_per_host": 2, "iterations": 2, "min_size": 100, "max_size": 100}
    (run,) = measured(tmp_path, coll, sections="BK", algorithms=algorithms, profile=True, **options)
    found = {record["operation"]: record for record in run["records"]}
    assert list(found) == [
        "Bcast binomial", "Bcast scatter-allgather", "Bcast round binomial", "Bcast round scatter-allgather"
    ]  # fmt: skip

    def counts(name):
        return {
            (each["level"], each["from"], each["to"]): (each["messages"], each["bytes"])
            for each in found[name]["messages"]
        }

    calls, sends = 4 * 2, 3 * 2  # of all ranks; down a tree
    assert counts("Bcast binomial") == {
        ("collective", 64, 127): (calls, calls * 100), ("channel", 64, 127): (sends, sends * 100),
    }  # fmt: skip
    assert counts("Bcast round binomial") == {
        ("collective", 64, 127): (4 * calls, 4 * calls * 100), ("channel", 64, 127): (4 * sends, 4 * sends * 100),
    }  # fmt: skip
    # A quarter or half of the data down the tree, then three quarters round the ring of each of four.
    assert counts("Bcast scatter-allgather")["channel", 16, 31] == (2 * (2 + 12), 2 * (2 + 12) * 25)
    assert counts("Bcast scatter-allgather")["channel", 32, 63] == (2, 2 * 50)
    one, all_ = found["Bcast binomial"]["microseconds"], found["Bcast round binomial"]["microseconds"]
    assert 2 * one < all_ < 5 * one


@pytest.mark.parametrize("apart", [True, False])
def test_the_time_of_a_collective_is_that_of_its_last_rank_call_by_call(tmp_path, apart):
    """Calls one behind the other take less each: a root that runs ahead does not wait for the last rank."""
    (run,) = measured(
        tmp_path, coll, sections="B", ranks=8, iterations=10, min_size=1024, max_size=1024, algorithms="binomial"
    )

    async def main(comm):
        ep, data, times = conduit.current(), bytearray(1024), []
        for each in range(11):
            if apart or each < 2:
                await comm.Barrier()
            times.append(ep.now)
            await comm.Bcast(data, algorithm="binomial")
            times[-1] = times[-1], ep.now
        return times[1:]  # without the warm-up

    of_ranks = MPI.run(main, ranks=8).values
    if apart:
        longest = [max(end - begin for begin, end in calls) for calls in zip(*of_ranks, strict=True)]
        assert run["records"][0]["microseconds"] == pytest.approx(sum(longest) / 10 * 1e6, rel=0.02)
    else:
        behind = max(calls[-1][1] - calls[0][0] for calls in of_ranks) / 10
        assert run["records"][0]["microseconds"] > 1.2 * behind * 1e6


def test_polling_is_an_option_of_the_library(tmp_path):
    general, directed = measured(
        tmp_path, pingpong, sections="A", min_size=8, max_size=8, ranks=4,
        conduit=("mpi:library=sunmpi", "mpi:library=sunmpi,poll=directed"),
    )  # fmt: skip
    assert directed["records"][0]["microseconds"] < general["records"][0]["microseconds"]


@pytest.mark.parametrize(
    ("module", "options", "apart"),
    [
        (pingpong, {"min_size": 8, "max_size": 8}, []),
        (bandwidth, {"min_size": 8, "max_size": 8}, []),
        (coll, {"min_size": 8, "max_size": 8, "algorithms": "binomial,linear"}, []),
        (logp, {"min_size": 64, "max_size": 64}, ["G"]),  # microseconds per byte
        (traffic, {"sections": "A", "patterns": "uniform,transpose", "ranks": 4, "ranks_per_host": 2}, []),
    ],
)
def test_pictures_show_each_operation_once(tmp_path, module, options, apart):
    (run,) = measured(tmp_path, module, **{"iterations": 1} | options)
    shown = [name for view in run["views"] for name in view["operations"]]
    assert sorted([*shown, *apart]) == sorted({record["operation"] for record in run["records"]})
    titles = [view["title"] for view in run["views"]]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(("simulated", "figure"), [(True, 13.0), (False, 1.0)])
def test_in_real_time_one_disturbed_round_trip_does_not_count(simulated, figure):
    """What stands for several times is their mean in virtual time, else their lower quartile."""
    probe = LogpProbe(SimpleNamespace(simulated=simulated), None, 1, 4, 0)
    assert probe._typical([1.0, 2.0, 1.0, 48.0]) == figure


@pytest.mark.parametrize("exact", [True, False])
def test_a_difference_below_nothing_is_unknown_in_real_time(exact):
    parameters = SimpleNamespace(iterations=10, max_size=64, sections="B")
    timings = {nbytes: LogpMeasurement(3e-6, 2e-6, 2e-6) for nbytes in (0, 1, 64)}
    found = {each.operation: each for each in _records(parameters, [0, 1, 64], timings, 1e-6, exact=exact)}
    assert found["L of parameterized LogP"].microseconds == pytest.approx(0.5)
    latency = found["L"]
    if exact:
        assert (latency.unknown, latency.microseconds) == ("", pytest.approx(-2.5))
    else:
        assert latency.microseconds == 0
        assert latency.unknown == "the times whose difference it is lie no further apart than other programs move them"
    assert not any(each.unknown for name, each in found.items() if name != "L")
    notes = (
        []
        if exact
        else ["unknown: L, for the times whose difference it is lie no further apart than other programs move them"]
    )
    assert list(_notes(list(found.values()))) == notes
