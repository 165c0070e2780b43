"""Traces are right by the format, say of every message where it was sent and handled, and add up."""

import itertools
from collections import Counter
from decimal import Decimal

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

import conduit
from conduit.errors import ConduitError, Deadlock
from conduit.launch.traced import tracing
from conduit.seeing.timeline.recording import CpuSpan
from conduit.seeing.timeline.tracks import lanes

from .chrome_format import Loaded, check_nesting
from .programs import SIMULATED, everything

PARTS = ("start", "compute", "overhead", "copies", "handlers", "polling", "blocked", "idle")


@pytest.fixture(params=SIMULATED, scope="module")
def traced(request, tmp_path_factory):
    """A program's result without and with a trace, and the trace as it is read again."""
    plain = conduit.run(everything, ranks=3, conduit=request.param)
    found = conduit.run(everything, ranks=3, conduit=request.param, trace=True)
    path = tmp_path_factory.mktemp("traces") / "trace.json"
    found.trace.write(path)
    return plain, found, Loaded(path)


def test_nobody_notices_a_trace(traced):
    plain, found, _ = traced
    assert plain.trace is None
    assert found == plain  # values, seconds, digest, statistics


def test_every_message_is_linked_from_its_call_to_its_handler(traced):
    _, found, loaded = traced
    answers = Counter()
    for begin, end in loaded.flows.values():
        assert begin["cat"] == "send"
        assert end["cat"] == "handler"
        assert begin["args"]["message"] == end["args"]["message"]
        source, dest, _ = map(int, begin["args"]["message"].split("-"))
        kind = begin["name"].split()[0]
        places = [f"rank {source}", f"rank {dest}"]
        assert [loaded.processes[each["pid"]] for each in (begin, end)] == (
            places if kind == "request" else places[::-1]
        )
        assert (kind == "reply") == end["name"].startswith("answer")
        answers[begin["args"]["message"]] += 2 if kind == "reply" else 1
    # The program has sent so many requests, and of them so many were answered, each once.
    each = 4 + 2 * found.values[0][2]
    assert len(answers) == 9 * each
    assert Counter(answers.values()) == {1: 9 * 2, 3: 9 * (each - 2)}
    assert len(loaded.flows) == sum(2 if value == 3 else 1 for value in answers.values())


def test_the_time_of_each_rank_adds_up(traced):
    _, found, loaded = traced
    (job,) = loaded.other["jobs"]
    length = round(found.seconds * 1e12)
    assert job["length_ps"] == length == found.trace.length
    assert not job["failed"]
    for rank, told in enumerate(job["ranks_ps"]):
        track = loaded.track(f"rank {rank}", "CPU")
        assert all(one["ts"] + one["dur"] <= two["ts"] for one, two in itertools.pairwise(track)), (
            "spans of a CPU follow one another"
        )
        spent = Counter()
        for each in track:
            begin = each["args"]["begin_ps"]
            assert each["ts"] * 1000 == begin // 1000
            assert (each["ts"] + each["dur"]) * 1000 == (begin + each["args"]["ps"]) // 1000
            spent["blocked" if each["name"].startswith("blocked") else each["name"]] += each["args"]["ps"]
        assert sum(told.values()) == length
        assert told["idle"] == length - sum(spent.values()) >= 0
        assert told["blocked"] == spent.pop("blocked")
        assert told["compute"] == spent.pop("compute") == 3 * 3_000_000
        assert told["start"] == spent.pop("start", 0)
        assert told["polling"] == spent.pop("polling")
        assert told["copies"] == spent.pop("copy", 0)
        assert told["handlers"] == spent.pop("handler") == 3 * 4 * 100_000
        assert told["overhead"] == sum(spent.values())
        assert set(spent) <= {"send", "receive", "reply", "interrupt", "call"}


@pytest.mark.parametrize("network", [*SIMULATED, "mpi:library=start"])
def test_what_a_network_takes_before_main_is_its_start(network):
    async def now(ep):
        return round(ep.now * 1e12)

    found = conduit.run(now, conduit=network, trace=True)
    assert [attrs.asdict(each) for each in found.trace.accounts()] == [
        {**dict.fromkeys(PARTS, 0), "start": when, "idle": found.trace.length - when} for when in found.values
    ]


def test_tracks_are_one_a_rank_for_calls_and_handlers(traced):
    """Programs of one task need no second one."""
    _, _, loaded = traced
    for rank in range(3):
        names = {name for (pid, _), name in loaded.threads.items() if loaded.processes[pid] == f"rank {rank}"}
        assert names >= {"CPU", "calls", "handlers", "waits of task 0"}
        # What a rank sends to itself may take no time, and is then beside what happens at that time.
        assert names <= {
            "CPU",
            "calls",
            "handlers",
            "waits of task 0",
            *(f"handlers {number}" for number in range(2, 6)),
        }


def test_hardware_has_a_track_for_each_link(traced):
    _, found, loaded = traced
    name = f"{found.conduit} hardware"
    tracks = {thread: loaded.slices[key] for key, thread in loaded.threads.items() if loaded.processes[key[0]] == name}
    assert set(tracks) == set(found.trace.links)
    assert bool(tracks) != found.conduit.startswith("loggp")
    for thread, slices in tracks.items():
        assert sum(each["args"]["bytes"] for each in slices) == sum(found.trace.links[thread].column(2))


def test_waits_say_for_what_for_whom_and_where(traced):
    _, _, loaded = traced
    for rank in range(3):
        waits = loaded.track(f"rank {rank}", "waits of task 0")
        assert {"every rank to come to attach"} <= {each["name"] for each in waits}
        assert all(
            "in everything" in each["args"]["line"]
            for each in waits
            if each["name"] in ("the answers", "the questions")
        )
        blocked = [each for each in loaded.track(f"rank {rank}", "CPU") if each["name"].startswith("blocked: ")]
        assert {each["name"].removeprefix("blocked: ") for each in blocked} <= {each["name"] for each in waits}
        assert blocked


def test_counters_go_up_and_come_back(traced):
    _, found, loaded = traced
    for rank, pid in enumerate(loaded.other["jobs"][0]["pids"]):
        for name in ("occupied slots", "queue of messages"):
            found = loaded.counters[pid, name]
            assert all(one[0] < two[0] for one, two in itertools.pairwise(found))
            assert min(value for _, value in found) == 0 == found[-1][1], (rank, name)
            assert max(value for _, value in found) > 0


def test_tasks_of_a_rank_that_call_at_once_have_tracks_of_their_own(tmp_path):
    async def main(ep):
        got = []

        def ask(token):
            got.append(token.rank)

        await ep.attach(ask)
        if ep.rank:
            await ep.block_until(lambda: len(got) == 40)
            return
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(flood, ep, ask)

    async def flood(ep, ask):
        for _ in range(10):
            await ep.request_short(1, ask)

    found = conduit.run(main, conduit="sci", trace=True)
    found.trace.write(tmp_path / "trace.json")
    loaded = Loaded(tmp_path / "trace.json")
    assert len(loaded.flows) == 40
    names = [name for (pid, _), name in loaded.threads.items() if loaded.processes[pid] == "rank 0"]
    assert "calls 2" in names
    assert "waits of task 2" in names


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9))))
def test_lanes_keep_what_overlaps_apart(found):
    spans = [CpuSpan(begin, begin + ps, "") for begin, ps in found]
    made = lanes(spans)
    assert sorted(span for lane in made for span in lane) == sorted(spans)
    for lane in made:
        assert all(one.end <= two.begin for one, two in itertools.pairwise(lane))
        check_nesting([{"ts": span.begin, "dur": span.end - span.begin} for span in lane])
    at_once = [sum(one.begin <= span.begin < one.end for one in spans) for span in spans if span.end > span.begin]
    assert len(made) >= max(at_once, default=0)


async def standstill(ep):
    await ep.attach()
    await ep.compute(1e-6 * (1 + ep.rank))
    await ep.block_until(lambda: False, what="Godot", ranks=[1 - ep.rank])


def test_a_job_that_fails_leaves_its_trace(tmp_path):
    path = tmp_path / "trace.json"
    with pytest.raises(Deadlock), tracing(path):
        conduit.run(standstill, conduit="loggp")
    loaded = Loaded(path)
    (job,) = loaded.other["jobs"]
    assert job["failed"]
    assert all(sum(told.values()) == job["length_ps"] for told in job["ranks_ps"])
    last = loaded.track("rank 0", "CPU")[-1]
    assert last["name"] == "blocked: Godot"
    assert last["args"]["ranks"] == [1]
    assert last["ts"] + last["dur"] == Decimal(job["length_ps"]) / 1_000_000


def test_several_jobs_follow_one_another_in_a_file(tmp_path):
    path = tmp_path / "trace.json"
    with tracing(path):
        for spec in ("loggp", "sci"):
            conduit.run(everything, conduit=spec)
    loaded = Loaded(path)
    assert [job["conduit"] for job in loaded.other["jobs"]] == ["loggp", "sci"]
    assert loaded.track("rank 1", "CPU")
    assert loaded.track("sci: rank 1", "CPU")


async def job_in_job(ep):
    await ep.attach()
    if ep.rank == 0:
        await conduit.run_async(everything, conduit="startx")


def test_a_job_inside_a_job_is_traced_too(tmp_path):
    with tracing(tmp_path / "trace.json"):
        conduit.run(job_in_job, conduit="loggp")
    assert [job["conduit"] for job in Loaded(tmp_path / "trace.json").other["jobs"]] == ["startx", "loggp"]


def test_nothing_is_recorded_outside(tmp_path, capsys):
    with tracing(None):
        assert conduit.run(everything, conduit="loggp").trace is None
    with tracing(tmp_path / "trace.json"):
        pass
    assert not (tmp_path / "trace.json").exists()
    assert capsys.readouterr().err.endswith("trace.json: no job has handed over what it had recorded\n")
    assert conduit.run(everything, conduit="loggp").trace is None


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    with (
        pytest.raises(
            ConduitError,
            match=r"--trace .* cannot be made: No such file or directory; name a file in a folder that takes one",
        ),
        tracing(tmp_path / "no" / "trace.json"),
    ):
        conduit.run(everything, conduit="loggp")


def test_a_wait_within_a_wait_of_the_same_task_is_recorded():
    async def main(ep):
        seen = []

        def ask(token):
            token.reply_short(answer)

        def answer(token):
            seen.append(ep.now)
            ep.want_progress()

        async def progress():
            while len(seen) < 8:
                await ep.request_short(1, ask)  # waits for a slot

        await ep.attach(ask, answer)
        if ep.rank == 0:
            ep.on_progress(progress)
            await ep.request_short(1, ask)
            await ep.block_until(lambda: len(seen) >= 8)
        return len(seen)

    traced, plain = (conduit.run(main, conduit="loggp:slots=1", trace=trace) for trace in (True, None))
    assert traced.values[0] >= 8
    assert traced.digest == plain.digest
