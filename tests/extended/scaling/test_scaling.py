"""The five tests move what they should, in times that repeat, by either library on any network."""

import json

import numpy as np
import pytest

import conduit
from conduit import BadRequest
from conduit.commands.cli import call
from conduits import origin, t3e
from extended import Extended
from extended.scaling.plan import FORMS, LIBRARIES, TESTS, blocks
from extended.windows import Win

ALL = ["loggp", "sci", "sunfire", "startx", "udp", "origin", "t3e", "origin:rma=am", "mpi:library=scampi"]
WITHOUT_NOISE = 1e-9


def measured(capsys, *words):
    """Run the command; return its results from JSON."""
    assert call(["shmem-tests", "--json", "-", *words]) == 0
    return json.loads(capsys.readouterr().out)


def forms_of():
    return [(test, library, form) for (test, library), forms in FORMS.items() for form in forms]


@pytest.mark.parametrize("spec", ALL)
def test_every_test_runs_on_every_network(capsys, spec):
    (run,) = measured(capsys, "--conduit", spec, "--ranks", "3", "--sizes", "8,4000", "--trials", "2")
    found = {(record["test"], record["library"], record["bytes"]) for record in run["records"]}
    assert found == {(test, library, nbytes) for test in TESTS for library in LIBRARIES for nbytes in (8, 4000)}
    assert all(record["microseconds"] >= 0 for record in run["records"])


@pytest.mark.parametrize(("test", "library", "form"), forms_of())
@pytest.mark.parametrize("ranks", ["2", "3", "8"])
def test_forms(capsys, test, library, form, ranks):
    words = ("--test", test, "--library", library, "--form", form, "--sizes", "8,10000", "--trials", "2")
    for run in measured(capsys, *words, "--ranks", ranks):
        assert [record["form"] for record in run["records"]] == [form, form]


@pytest.mark.parametrize("spec", ["origin", "t3e"])
def test_without_noise_all_trials_after_the_first_are_alike(capsys, spec):
    words = ("--conduit", spec, "--ranks", "4", "--sizes", "8,1000", "--trials", "4")
    (run,) = measured(capsys, *words)
    assert len(run["records"]) == 2 * len(TESTS) * len(LIBRARIES)
    for record in run["records"]:
        _, *later = record["trials_us"]
        assert later == pytest.approx([later[0]] * 3, rel=WITHOUT_NOISE), record["operation"]
        assert record["microseconds"] == pytest.approx(later[0], rel=WITHOUT_NOISE)


def test_distant_messages_tell_each_partner_and_their_mean(capsys):
    (run,) = measured(
        capsys, "--conduit", "origin", "--ranks", "6", "--test", "distant", "--sizes", "8", "--trials", "3"
    )
    for record in run["records"]:
        assert len(record["partners_us"]) == 5
        assert record["microseconds"] == pytest.approx(sum(record["partners_us"]) / 5)
    near, *_, far = run["records"][0]["partners_us"]
    assert near < far  # the other processor of the node


async def distant_fences(ep):
    """Rank 0 gets from each other one, with the fence of all; each rank's own microseconds from a common second on."""
    x = await Extended.attach(ep)
    win = await Win.Allocate(16, 8, comm=x, checks=False)
    await win.Fence()
    taken = []
    for partner in range(1, ep.size):
        await x.barrier()
        await ep.compute(partner - ep.now)
        if ep.rank == 0:
            await win.Get(np.zeros(1), partner)
        await win.Fence()
        taken.append((ep.now - partner) * 1e6)
    return taken


@pytest.mark.parametrize("spec", ["origin", "t3e"])
def test_distant_messages_of_mpi_take_as_long_as_the_pe_that_is_last_out_of_the_fence(capsys, spec):
    words = ("--test", "distant", "--library", "mpi2", "--sizes", "8", "--trials", "3")
    (run,) = measured(capsys, "--conduit", spec, "--ranks", "8", *words)
    last = np.array(conduit.run(distant_fences, ranks=8, conduit=spec).values).max(axis=0)
    assert run["records"][0]["partners_us"] == pytest.approx(last, rel=0.01)
    assert run["records"][0]["microseconds"] == pytest.approx(last.mean(), rel=0.01)


def test_a_hot_memory_is_worse_without_the_stagger(capsys):
    words = ("--conduit", "t3e", "--ranks", "16", "--test", "alltoall", "--library", "shmem", "--sizes", "1000")
    ((staggered,), (plain,)) = (
        measured(capsys, *words, "--trials", "2", *more) for more in (("--stagger",), ("--no-stagger",))
    )
    assert plain["records"][0]["microseconds"] > staggered["records"][0]["microseconds"]


def test_what_encloses_the_tree_of_mpi_can_be_left_out_of_the_clock(capsys):
    words = (
        "--conduit",
        "origin",
        "--ranks",
        "8",
        "--test",
        "tree",
        "--library",
        "mpi2",
        "--sizes",
        "8",
        "--trials",
        "2",
    )
    ((whole,), (inner,)) = (measured(capsys, *words, more) for more in ("--whole", "--no-whole"))
    assert inner["records"][0]["microseconds"] < whole["records"][0]["microseconds"] / 2


@pytest.mark.parametrize("spec", ["origin", "t3e"])
def test_a_pe_of_the_tree_may_sleep_in_the_place_of_looks_in_vain(capsys, monkeypatch, spec):
    words = ("--test", "tree", "--library", "mpi2", "--form", "put", "--ranks", "4", "--sizes", "100000")

    def microseconds():
        (run,) = measured(capsys, "--conduit", spec, *words, "--trials", "3")
        _, *later = run["records"][0]["trials_us"]
        assert later == pytest.approx([later[0]] * 2, rel=WITHOUT_NOISE)
        return later[0]

    asleep = microseconds()
    monkeypatch.setattr("extended.scaling.by_windows.LOOKS", 1 << 30)
    assert asleep == pytest.approx(microseconds(), rel=1e-3)  # a look is some 1 to 2 us


def microseconds_of(capsys, spec, *words):
    (run,) = measured(capsys, "--conduit", spec, "--sizes", "8", "--trials", "3", *words)
    return [record["microseconds"] for record in run["records"]]


@pytest.mark.parametrize(("spec", "put"), [("origin", origin.constants.PUT), ("t3e", t3e.constants.PUT)])
def test_a_token_of_the_tree_costs_a_send_and_a_receive_beside_its_message(capsys, monkeypatch, spec, put):
    """Of 16 PEs the longest way is four tokens, one behind the other."""
    words = ("--ranks", "16", "--test", "tree", "--library", "mpi2", "--form", "get")
    (whole,) = microseconds_of(capsys, spec, *words)
    monkeypatch.setattr("extended.scaling.by_windows.SEND", "nothing")
    monkeypatch.setattr("extended.scaling.by_windows.RECV", "nothing")
    (bare,) = microseconds_of(capsys, spec, *words)
    assert whole - bare == pytest.approx(4 * 2 * put.value / 1000, abs=0.05)


@pytest.mark.parametrize(("spec", "cache"), [("origin", 8 * 2**20), ("t3e", 96 * 2**10)])
def test_the_flush_reads_and_writes_a_cache_outside_of_the_clock(capsys, monkeypatch, spec, cache):
    async def flush(ep):
        return ep.library_cost("cache_flush")

    assert conduit.run(flush, conduit=spec).values[0] == pytest.approx(cache / 300e6)
    words = ("--ranks", "4", "--test", "distant", "--test", "shift", "--library", "shmem")
    flushed = microseconds_of(capsys, spec, *words)
    monkeypatch.setattr("extended.scaling.library.FLUSH", "nothing")
    assert microseconds_of(capsys, spec, *words) == pytest.approx(flushed, rel=WITHOUT_NOISE)


def test_a_picture_for_each_test_has_what_was_measured(capsys):
    (run,) = measured(capsys, "--conduit", "t3e", "--ranks", "2", "--sizes", "8", "--trials", "2", "--test", "tree")
    (view,) = run["views"]
    assert (view["title"], view["quantity"]) == ("tree", "time")
    assert (
        view["operations"] == [record["operation"] for record in run["records"]] == ["tree shmem put", "tree mpi2 get"]
    )
    assert run["marks"] == []


def test_tables(capsys):
    words = ["--ranks", "2,4", "--test", "shift", "--sizes", "8", "--trials", "2", "--conduit", "t3e"]
    assert call(["shmem-tests", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    title = lines.index("circular right shift: every PE at once, microseconds")
    words = [line.split() for line in lines[title + 1 :] if line.strip(" ─")]
    assert words[:2] == [["t3e"], ["bytes", "PEs", "shmem", "get", "mpi2", "get", "ratio"]]
    assert words[2][:2] == ["8", "2"]
    assert words[3][:1] == ["4"]
    assert float(words[2][4]) == pytest.approx(float(words[2][3]) / float(words[2][2]), abs=0.01)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--test", "naive", "--form", "put"), "--form put: naive by shmem is made of gets alone"),
        (("--test", "tree", "--library", "shmem", "--form", "get"), "--form get: tree by shmem is made of puts alone"),
        (("--trials", "1"), "--trials 1 is too small; the first one does not count, so give at least 2"),
        (("--ranks", "1"), "--ranks 1 is too few for shmem-tests; give at least 2"),
        (("--sizes", "12"), "--sizes 12 is no number of 8-byte reals; give multiples of 8"),
        (("--sizes", "8,x"), "--sizes 'x' is no size; give bytes, or as 64K, 1M, 2G (powers of 2)"),
        (("--ranks", "4,x"), "'x' is no integer; give whole numbers, joined by commas"),
    ],
)
def test_wrong_calls(capsys, words, said):
    assert call(["shmem-tests", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_sizes_may_end_in_letters(capsys):
    assert call(["shmem-tests", "--test", "shift", "--sizes", "1K,2k", "--ranks", "2", "--trials", "2"]) == 0
    words = [line.split()[:1] for line in capsys.readouterr().out.splitlines()]
    assert ["1024"] in words
    assert ["2048"] in words


def test_the_plan_has_the_sizes_of_the_paper():
    plan = blocks(TESTS, ("shmem",), None, ())
    assert [(block.test, block.nbytes) for block in plan] == [
        ("distant", 8), ("distant", 10_000), ("distant", 1_000_000), ("shift", 8), ("shift", 10_000),
        ("shift", 1_000_000), ("naive", 8), ("naive", 10_000), ("tree", 8), ("tree", 10_000), ("tree", 1_000_000),
        ("alltoall", 8), ("alltoall", 1_000), ("alltoall", 10_000),
    ]  # fmt: skip
    with pytest.raises(BadRequest, match="made of gets alone"):
        blocks(("naive",), ("mpi2",), "put", ())
