"""The parts of collectives by themselves: trees, signatures, operators; and what teams and calls leave behind."""

import gc
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conduit
from extended import Extended
from extended.collectives import team_calls, trees
from extended.collectives.algorithms import TABLE, pick
from extended.collectives.operators import Operator
from extended.collectives.signature import (
    ALGORITHMS,
    CALLS,
    HEAD_WORDS,
    NAMES,
    PLACED,
    TEXT_BYTES,
    CollectiveMismatch,
    chosen_of,
    describe,
    described,
    flags_of,
    key,
    line_of,
    name_of,
    named,
    read_description,
    sign,
    text_of,
    with_name,
    with_piece,
)
from extended.collectives.team_calls import TeamTable
from extended.program_lines import line_word, read_line_word
from extended.topology import Topology

hosts = st.lists(st.integers(0, 5), min_size=1, max_size=30)
OVERLAPPING = np.dtype({"names": ["a", "b"], "formats": ["<i4", ">i2"], "offsets": [0, 2], "itemsize": 8})
NESTED = np.dtype([("x", ">f8"), (("title", "é"), "S3", (2,)), ("z", [("q", "M8[ns]")], (3,))], align=True)
PARTS = np.dtype(("<i4", {"lo": ("<i2", 0), "hi": ("<i2", 2)}))
RECORD = np.dtype((np.record, [("a", PARTS), ("b", "M8[s]")]))
NAMED = np.dtype([("x", RECORD, (2,)), ("y", np.dtype(("S4", [("first", "u1"), ("rest", "S3")])))])
DTYPES = (
    "u1", ">i4", "<f8", "S3", "<U2", "M8[25us]", "V7", "i4,>f8", "(2,3)u1,S1", "?", "c16",
    OVERLAPPING, NESTED, PARTS, RECORD, NAMED,
)  # fmt: skip
SHAPES = (trees.flat, trees.halving, trees.binomial, trees.two_level, trees.chain, trees.arms)
IN_ORDER = (trees.flat, trees.halving, trees.arms)  # two_level too, where hosts are in order


def _nodes(shape, hosts, root):
    topology = Topology(tuple(hosts))
    return topology, [shape(topology, root, rank) for rank in range(topology.size)]


@pytest.mark.parametrize("shape", SHAPES)
@given(hosts=hosts, data=st.data())
def test_trees_reach_everybody_once(shape, hosts, data):
    root = data.draw(st.integers(0, len(hosts) - 1))
    _, nodes = _nodes(shape, hosts, root)
    assert [rank for rank, node in enumerate(nodes) if node.parent is None] == [root]
    for rank, node in enumerate(nodes):
        assert node.order[node.position] == rank
        for child in node.children:
            assert nodes[child.rank].parent == rank
            assert (nodes[child.rank].low, nodes[child.rank].high) == (child.low, child.high)
    below = [child.rank for node in nodes for child in node.children]
    assert sorted([root, *below]) == list(range(len(hosts)))


@pytest.mark.parametrize("shape", SHAPES)
@given(hosts=hosts, data=st.data())
def test_subtrees_are_ranges_that_adjoin(shape, hosts, data):
    root = data.draw(st.integers(0, len(hosts) - 1))
    _, nodes = _nodes(shape, hosts, root)
    for node in nodes:
        low, high = node.position, node.position + 1
        for child in reversed(node.children):
            assert child.high == low or child.low == high
            low, high = min(low, child.low), max(high, child.high)
        assert (low, high) == (node.low, node.high)


@pytest.mark.parametrize("shape", IN_ORDER)
@given(hosts=hosts, data=st.data())
def test_trees_for_operands_keep_the_order_of_ranks(shape, hosts, data):
    root = data.draw(st.integers(0, len(hosts) - 1))
    _, nodes = _nodes(shape, hosts, root)
    assert all(list(node.order) == list(range(len(hosts))) for node in nodes)


@given(hosts=hosts, data=st.data())
def test_two_levels_and_chains_enter_each_host_once(hosts, data):
    root = data.draw(st.integers(0, len(hosts) - 1))
    for shape in (trees.two_level, trees.chain):
        topology, nodes = _nodes(shape, hosts, root)
        crossings = sum(hosts[rank] != hosts[child.rank] for rank, node in enumerate(nodes) for child in node.children)
        assert crossings == len(set(hosts)) - 1
        assert topology.contiguous == (list(topology.order) == list(range(len(hosts))))


@given(size=st.integers(1, 300), data=st.data())
def test_binomial_trees_have_few_levels(size, data):
    root = data.draw(st.integers(0, size - 1))
    _, nodes = _nodes(trees.binomial, range(size), root)
    deepest = 0
    for node in nodes:
        levels = 0
        while node.parent is not None:
            node, levels = nodes[node.parent], levels + 1
        deepest = max(deepest, levels)
    assert deepest <= (size - 1).bit_length()


@given(
    call=st.sampled_from(CALLS), algorithm=st.sampled_from(ALGORITHMS), root=st.integers(0, 2**31 - 1),
    text=st.text(max_size=60), number=st.booleans(), description=st.binary(max_size=60),
    line=st.sampled_from([0, line_word(("prog.py", 17)), 2**31 - 1]),
)  # fmt: skip
def test_signatures_travel_as_words(call, algorithm, root, text, number, description, line):
    signature = sign(call, algorithm, root, text, line)
    room = TEXT_BYTES - 4 * bool(line)
    assert line_of(signature.words) == line
    assert len(signature.words) <= HEAD_WORDS + TEXT_BYTES // 4
    assert all(-(2**31) <= word < 2**31 for word in signature.words)
    assert text_of(signature.words) == text.encode()[:room]
    assert named(signature.words).startswith(f"{call}(")
    with_data = described(signature, "tree", description, number=number)
    assert line_of(with_data.words) == line_of(with_piece(with_data.words, 3, 99)) == line
    assert len(with_data.words) <= HEAD_WORDS + TEXT_BYTES // 4
    assert with_data.key == signature.key == key(with_data.words)
    assert chosen_of(with_data.words) == "tree"
    assert bool(flags_of(with_data.words) & 1) == number
    fits = len(description) <= room
    assert bool(flags_of(with_data.words) & 2) != fits
    assert text_of(with_data.words) == (description if fits else b"")


def test_a_mismatch_names_lines_of_other_processes():
    """Two ranks that share no memory: what one knows of the other is in the message."""
    mine, other = (("work/prog.py", 12), ("elsewhere/prog.py", 9))
    table = TeamTable(object(), 1)
    team_calls = table.find(0, 0)
    call = SimpleNamespace(sequence=0, signature=sign("all_reduce", "", 0, "op=sum; (2,)", line_word(mine)))
    team_calls.enter(1, call, mine)
    words = sign("all_reduce", "", 0, "op=sum; (3,)", line_word(other)).words
    expected = (
        r"\Acollective call 1 of their team: rank 0 called all_reduce\(op=sum, \(3,\)\) at work/prog.py:9, "
        r"but rank 1 called all_reduce\(op=sum, \(2,\)\) at work/prog.py:12; all ranks"
    )
    with pytest.raises(CollectiveMismatch, match=expected):
        team_calls.unexpected(1, 0, 0, words)


def test_lines_travel_as_a_word():
    for line in (1, 17, 2**18 - 1):
        word = line_word(("some/where.py", line))
        assert 0 < word < 2**31
        assert read_line_word(word, ["a.py", "else/where.py"]) == f"else/where.py:{line}"
        assert read_line_word(word, []) == f"line {line} of its program"
    assert read_line_word(line_word(("x.py", 2**20)), ["x.py"]) == f"x.py:{2**18 - 1}"  # no file is as long


def test_signatures_tell_calls_apart():
    base = ("all_reduce", "tree", 0, "op=sum; (3,); float64")
    others = [
        ("scan", *base[1:]), ("all_reduce", "", *base[2:]), (*base[:2], 1, base[3]), (*base[:3], base[3] + " "),
        (*base[:3], "x" * TEXT_BYTES + "a"), (*base[:3], "x" * TEXT_BYTES + "b"),
    ]  # fmt: skip
    assert len({sign(*each).key for each in (base, *others)}) == 7


@given(
    dtype=st.sampled_from(DTYPES),
    shape=st.lists(st.integers(0, 2**40), max_size=5).map(tuple),
)
def test_descriptions_give_back_dtype_and_shape(dtype, shape):
    kind = np.dtype(dtype)
    found = read_description(describe(kind, shape))
    assert found == (kind, shape)
    assert (found[0].fields, found[0].isalignedstruct) == (kind.fields, kind.isalignedstruct)
    assert found[0].type is kind.type
    for name in kind.names or ():
        assert found[0][name].type is kind[name].type


def test_a_dtype_that_cannot_be_described_is_told():
    class Own(np.void):
        pass

    titled = np.dtype({"names": ["a"], "formats": ["i4"], "titles": [frozenset([1])]})
    for kind in (np.dtype((Own, [("a", "i4")])), titled):
        with pytest.raises(ValueError, match="dtype"):
            describe(kind, (3,))


def test_every_algorithm_has_a_number_in_messages():
    names = {name for table in TABLE.values() for name in table}
    assert names == set(ALGORITHMS) - {""}
    assert len(ALGORITHMS) < 32
    assert set(TABLE) == set(CALLS)
    for table in TABLE.values():
        assert all(name == algorithm.name for name, algorithm in table.items())


@given(
    call=st.sampled_from([call for call in CALLS if call not in ("fence", "destroy", "split")]),
    hosts=hosts, nbytes=st.integers(0, 1 << 24), op=st.sampled_from(("sum", "function")),
)  # fmt: skip
def test_what_is_chosen_can_do_the_call(call, hosts, nbytes, op):
    topology = Topology(tuple(hosts))
    operator = None
    if call in ("reduce", "all_reduce", "scan"):
        operator = Operator(call, (lambda left, right: left) if op == "function" else op, np.dtype("u1"), (nbytes,))
    chosen = pick(call, topology, nbytes, operator)
    assert TABLE[call][chosen].refusal(topology, nbytes, operator, 512) == ""


@pytest.mark.parametrize("ranks", [4, 8, 64])
def test_all_reduce_of_much_is_no_chain_where_the_network_does_not_say_what_messages_cost(ranks):
    operator = Operator("all_reduce", "sum", np.dtype("u1"), (1 << 20,))
    # Of a network that says something: no more is looked at here.
    known = type("Known", (), {"eager_bytes": 4096})()
    for hosts in ((0,) * ranks, tuple(range(ranks))):
        assert pick("all_reduce", Topology(hosts), 1 << 20, operator) == "dissemination"
        assert pick("all_reduce", Topology(hosts), 1 << 20, operator, known) == "pipelined"
        assert pick("reduce", Topology(hosts), 1 << 20, operator) == "pipelined"
    levels = Topology(tuple(rank // 2 for rank in range(ranks)))
    assert pick("all_reduce", levels, 1 << 20, operator) == "pipelined"


def _growth(step, unmeasured, measured):
    """Run a step many times on two ranks; give the bytes that the last of them have left allocated."""
    grown = []

    async def main(ep):  # a closure, because arguments are copied for every rank
        x = await Extended.attach(ep)
        for turn in range(unmeasured + measured):
            if (ep.rank, turn) == (0, unmeasured):
                gc.collect()
                tracemalloc.start()
            await step(x, turn)
        await x.barrier()
        if ep.rank == 0:
            gc.collect()
            grown.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()

    conduit.run(main, ranks=2, conduit="loggp")
    return grown[0]


async def _team(x, turn):
    team = await x.split(x.rank % 2 if turn % 2 else 0, turn % 3)
    await team.all_reduce(1)
    await team.barrier()
    await team.destroy()


async def _epoch(x, turn):
    team = await x.split(0)
    for _ in range(team_calls.EPOCH - 1):
        await team.all_reduce(1)
    await team.destroy()


async def _call(x, turn):
    await x.broadcast(turn)


@pytest.mark.slow
@pytest.mark.parametrize(("step", "unmeasured", "measured"), [(_team, 100, 256), (_epoch, 30, 128), (_call, 160, 640)])
def test_teams_and_calls_leave_nothing_behind(monkeypatch, step, unmeasured, measured):
    monkeypatch.setattr(team_calls, "EPOCH", 8)  # of its 32: as many epochs with fewer calls
    # What is there in exchange for what was there before: signatures of an epoch, the log of acts.
    assert _growth(step, unmeasured, measured) < 65_000


def test_the_same_program_has_the_same_digest():
    async def main(ep):
        x = await Extended.attach(ep)
        team = await x.split(ep.rank % 2)
        records = np.zeros(40, np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 8]}))[::2]
        await team.all_gather(records)  # the gaps between fields are sent too
        await x.broadcast(records)
        await x.all_reduce(np.arange(700.0))

    digests = {conduit.run(main, ranks=6, conduit="loggp:order=weak", seed=5).digest for _ in range(3)}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("name", "who"), [("all_reduce", r"all_reduce\(op=sum, \(\), int64\)"), ("broadcast", r"broadcast\(root=0\)")]
)
def test_a_deadlock_names_the_call_and_the_rank_that_has_not_come(name, who):
    def never(token):
        """Nobody sends this."""

    async def main(ep):
        x = await Extended.attach(ep)
        await ep.attach(never)
        if ep.rank:
            await getattr(x, name)(1)
        else:
            await ep.block_until(lambda: False, what="something else")

    with pytest.raises(conduit.Deadlock, match=rf"(?s)rank 1: .*waits for {who}.* rank 0") as caught:
        conduit.run(main, ranks=2, conduit="loggp")
    assert "something else" in str(caught.value)


def test_names_of_front_ends_for_one_call_are_told_apart_in_messages():
    import extended.shmem
    import extended.upc
    import extended.windows  # noqa: F401

    assert "pe.sum_reduce" in NAMES["all_reduce"]
    for call, names in NAMES.items():
        for name in names:
            words = with_name(sign(call, "", 0, "(4,)", 7), name).words
            assert words[0] < 1 << 31
            assert name_of(words) == name
            assert key(words) == key(sign(call, "", 0, "(4,)", 7).words)
            assert (line_of(words), text_of(words), flags_of(words)) == (7, b"(4,)", PLACED)


def test_the_name_stays_where_the_root_adds_a_description():
    words = described(with_name(sign("broadcast", "", 2, ""), "pe.broadcast"), "tree", b"x", number=True).words
    assert named(words) == "pe.broadcast(root=2)"
    assert (chosen_of(words), text_of(words)) == ("tree", b"x")


def test_a_name_that_this_process_does_not_know_is_told_as_the_call():
    assert named(with_name(sign("scan", "", 0, "(4,)"), "z.scan").words) == "scan((4,))"


@pytest.mark.parametrize(("network", "nbytes"), [("t3e", 65536), ("origin", 262144), ("sci", 131072)])
def test_a_scatter_of_large_blocks_takes_what_its_best_algorithm_takes(network, nbytes):
    """Flat and tree come to the same by the estimate, to the last bits of a float: these must not decide."""

    async def main(ep):
        x = await Extended.attach(ep)
        blocks, times = np.zeros((ep.size, nbytes), "u1") if ep.rank == 0 else None, {}
        for name in (None, "flat", "tree"):
            for _ in range(2):
                await x.barrier()
                begun = ep.now
                await x.scatter(blocks, algorithm=name)
                await x.barrier()
            times[name] = ep.now - begun
        return times

    times = conduit.run(main, ranks=16, conduit=network).values[0]
    assert times["flat"] < times["tree"]
    assert times[None] == pytest.approx(times["flat"], rel=0.01)
