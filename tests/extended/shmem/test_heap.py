"""The symmetric heap: what arrays it gives, and which arrays calls take."""

import re

import numpy as np
import pytest

import conduit
from extended import shmem

SAME = "make the same calls with the same arguments in the same order on every PE"


def run(main, pes=2, **settings):
    return shmem.run(main, pes=pes, conduit="loggp", **settings).values


def test_arrays_are_as_numpy_makes_them():
    async def main(pe):
        made = [
            (await pe.zeros((2, 3), "i4"), np.zeros((2, 3), "i4")),
            (await pe.ones(4), np.ones(4)),
            (await pe.full((), 7), np.full((), 7)),
            (await pe.full(3, 1.5, "f4", align=16), np.full(3, 1.5, "f4")),
            (await pe.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]])),
            (await pe.array(np.arange(6).reshape(2, 3).T), np.arange(6).reshape(2, 3).T),
            (await pe.new_array((3, 2), "c16", "F"), np.zeros((3, 2), "c16", "F")),
            (await pe.new_signal(), np.zeros(1, "u8")),
            (await pe.zeros((0, 5)), np.zeros((0, 5))),
        ]
        for ours, theirs in made:
            assert ours.dtype == theirs.dtype
            assert ours.strides == theirs.strides or not ours.size
            np.testing.assert_array_equal(ours, theirs)
            assert pe.addr_accessible(ours, 0)
            assert ours.__array_interface__["data"][0] % 16 == 0
        empty = await pe.empty(8, "i2")
        for array, _ in reversed(made):
            await pe.free(array)
        return empty.shape

    assert run(main) == [(8,), (8,)]


def test_none_fills_as_numpy_has_it():
    async def main(pe):
        await pe.free(await pe.ones(4))
        return np.isnan(await pe.full(4, None, "f8")).tolist()

    assert run(main) == [[True] * 4] * 2


def test_memory_is_cleared_when_it_is_given_again():
    async def main(pe):
        a = await pe.ones(100)
        await pe.del_array(a)
        b = await pe.zeros(100)
        memory = await pe.alloc(4, 8)
        c = pe.fromalloc(memory, (2, 2), "i8", order="F")
        whole = pe.fromalloc(memory, dtype="i8")
        c[1, 0] = 5
        assert whole.tolist() == [0, 5, 0, 0]
        assert pe.fromalloc(memory[8:], 1, "i8").tolist() == [5]
        with pytest.raises(conduit.BadRequest, match="40 bytes, and mem has 32"):
            pe.fromalloc(memory, 5)
        with pytest.raises(conduit.BadRequest, match="no memoryview"):
            pe.fromalloc(c)
        with pytest.raises(conduit.BadRequest, match=r"\Ape\.free: mem is a part of an array"):
            pe.free(memory[:8])
        await pe.free(memory)
        with pytest.raises(conduit.BadRequest, match="mem was freed"):
            pe.fromalloc(memory)
        return float(b.sum())

    assert run(main) == [0, 0]


def test_a_freed_array_stays_refused_when_its_memory_is_given_again():
    async def main(pe):
        a = await pe.zeros(4)
        part = a[1:]
        await pe.free(a)
        b = await pe.zeros(4)
        assert b.__array_interface__["data"][0] == a.__array_interface__["data"][0]
        for freed in (a, part, a.reshape(2, 2)):
            with pytest.raises(conduit.BadRequest, match="target was freed"):
                pe.put(freed, b, 0)
            with pytest.raises(conduit.BadRequest, match="source was freed"):
                pe.put(b, freed, 0)
            with pytest.raises(conduit.BadRequest, match="target was freed"):
                pe.get(freed, b, 0)
        with pytest.raises(conduit.BadRequest, match="was freed"):
            pe.free(a)
        assert not pe.addr_accessible(a, 0)

    run(main)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda pe, a: pe.put(np.zeros(4), a, 0), "target is not symmetric"),
        (lambda pe, a: pe.put(a.copy(), a, 0), "target is not symmetric: it is no array"),
        (lambda pe, a: pe.put([1.0], a, 0), "target=.* is a list"),
        (lambda pe, a: pe.put(a[::2], a, 0), "not contiguous"),
        (lambda pe, a: pe.put(a, a.astype("f4"), 0), "target has dtype float64 and source float32"),
        (lambda pe, a: pe.put(a, a, 2), "pe=2"),
        (lambda pe, a: pe.put(a, a, 0.0), "pe=0.0 is a float"),
        (lambda pe, a: pe.put(a, a, 0, size=5), "size=5 is too much: target has room for 4"),
        (lambda pe, a: pe.put(a, a, 0, size=-1), "size=-1"),
        (lambda pe, a: pe.put(a, a, 0, ctx=3), "ctx=3 is no context"),
        (lambda pe, a: pe.put(a, a, 0, ctx=pe.CTX_INVALID), "context is invalid"),
        (lambda pe, a: pe.get(a, a.copy(), 0), "source is not symmetric"),
        (lambda pe, a: pe.get(np.broadcast_to(a, (2, 4)), a, 0), "read-only"),
        (lambda pe, a: pe.iput(a, a, 0, tst=0), "tst=0"),
        (lambda pe, a: pe.iput(a, a, 0, tst=2, size=3), "size=3 is too much: target has room for 2"),
        (lambda pe, a: pe.iget(a, a, 0, sst=2, size=3), "size=3 is too much: source has room for 2"),
        (lambda pe, a: pe.put_signal(a, a, 0, a, 1, 0), "signal has 4 elements"),
        (lambda pe, a: pe.zeros(-1), "shape=-1"),
        (lambda pe, a: pe.zeros(2, "O"), "no fixed size"),
        (lambda pe, a: pe.zeros(2, "nothing"), "no dtype"),
        (lambda pe, a: pe.zeros(2, align=8192), "align=8192"),
        (lambda pe, a: pe.zeros(2, align=3), "power of two"),
        (lambda pe, a: pe.zeros(2, order="K"), "order='K'"),
        (lambda pe, a: pe.full(2, "x", "i4"), "fill_value='x'"),
        (lambda pe, a: pe.full(2, None, "i4"), "pe.full: fill_value=None does not go into dtype int32"),
        (lambda pe, a: pe.full(2, [[1], [1, 2]]), r"pe.full: fill_value=\[\[1\], \[1, 2\]\] is no value of an array"),
        (lambda pe, a: pe.array([[1], [1, 2]]), r"pe.array: obj=\[\[1\], \[1, 2\]\] makes no array of dtype None \("),
        (lambda pe, a: pe.array(["x"], "i4"), r"pe.array: obj=\['x'\] makes no array of dtype 'i4' \("),
        (lambda pe, a: pe.array([1], order="X"), 'pe.array: order=\'X\' is not known; give "K", "A", "C" or "F"'),
        (lambda pe, a: pe.free(a[1:]), "a part of an array"),
        (lambda pe, a: pe.free(a[:2]), "pe.free: mem is a part of an array; give the whole"),
        (lambda pe, a: pe.del_array(a[:0]), "pe.del_array: mem is a part of an array; give the whole"),
        (lambda pe, a: pe.free(np.zeros(3)), "not symmetric"),
        (lambda pe, a: pe.set_lock(a), "lock has 4 elements"),
        (lambda pe, a: pe.ptr(a.copy(), 0), "pe.ptr: target is not"),
    ],
)
def test_misuse_is_refused_at_the_call(wrong, words):
    async def main(pe):
        a = await pe.zeros(4)
        with pytest.raises(conduit.BadRequest, match=words):
            wrong(pe, a)
        await pe.barrier_all()

    run(main)


def test_a_heap_that_is_used_up_is_refused_on_every_pe_and_goes_on():
    async def main(pe):
        with pytest.raises(conduit.BadRequest, match="8000"):
            await pe.zeros(1000)
        return (await pe.zeros(400)).size

    assert run(main, segment=4096) == [400, 400]


async def take(pe, blocking):
    """Take a lock."""
    lock = await pe.Lock()
    return await lock.acquire(blocking=blocking)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda pe: pe.new_array(4, clear=np.ones(4)), r"pe\.new_array: clear"),
        (lambda pe: pe.alloc(4, clear=None), r"pe\.alloc: clear"),
        (lambda pe: take(pe, "no"), r"lock\.acquire: blocking"),
    ],
)
def test_yes_or_no_is_true_or_false(call, name):
    async def main(pe):
        with pytest.raises(conduit.BadRequest, match=rf"\A{name}=.* is neither True nor False; give one of them"):
            await call(pe)

    run(main)


def test_pes_that_allocate_or_free_differently_are_refused():
    async def main(pe):
        with pytest.raises(conduit.BadRequest, match=r"\Ape\.zeros: PE 0 called pe\.zeros"):
            await pe.zeros(pe.my_pe() + 1)
        a, b = await pe.zeros(1), await pe.zeros(1)
        with pytest.raises(conduit.BadRequest, match="free"):
            await pe.free(b if pe.my_pe() else a)
        await pe.put(a, b, 0)

    run(main)


def test_allocations_that_differ_are_named_as_the_program_made_them_with_their_lines():
    async def main(pe):
        first = pe.my_pe() == 0
        told = []
        if first:
            allocating = pe.zeros(4, dtype="i8"), pe.array([[1.0, 2.0]]), pe.alloc(10, 8), pe.zeros(3)
        else:
            allocating = pe.ones(5, dtype="i4"), pe.empty((3, 2), "f4"), pe.alloc(10), pe.free(blocks[1])
        for each in allocating:
            with pytest.raises(conduit.BadRequest) as caught:
                await each
            told.append(str(caught.value))
        return told

    blocks = {}

    async def with_a_block(pe):
        blocks[pe.my_pe()] = await pe.zeros(1)
        return await main(pe)

    here, wrong = rf" at {__file__}:\d+", SAME
    calls = [
        (r"pe\.zeros\(shape=\(4,\), dtype=int64\)", r"pe\.ones\(shape=\(5,\), dtype=int32\)"),
        (r"pe\.array\(shape=\(1, 2\), dtype=float64\)", r"pe\.empty\(shape=\(3, 2\), dtype=float32\)"),
        (r"pe\.alloc\(count=10, size=8\)", r"pe\.alloc\(count=10, size=1\)"),
        (
            r"pe\.zeros\(shape=\(3,\), dtype=float64\)",
            r"pe\.free\(what pe\.zeros\(shape=\(1,\), dtype=float64\) at test_heap\.py:\d+ gave\)",
        ),
    ]
    for told in run(with_a_block):
        for text, (one, other) in zip(told, calls, strict=True):
            assert re.fullmatch(rf"[\w.]+: PE 0 called {one}{here}, but PE 1 called {other}{here}; {wrong}", text), text


def test_allocations_that_differ_and_take_the_same_room():
    """Nothing has been allocated then, and the next call is as good as the first."""

    async def main(pe):
        first = pe.my_pe() == 0
        pairs = [
            lambda: pe.zeros(4, "i8" if first else "f8"),
            lambda: pe.zeros((2, 3) if first else (3, 2)),
            lambda: pe.array([1, 2] if first else [1.0, 2.0]),
            lambda: pe.new_array((2, 3), order="F" if first else "C"),
            lambda: pe.array(np.ones((2, 3)) if first else np.ones((3, 2)).T),
            lambda: pe.zeros(4) if first else pe.empty(4),
            lambda: pe.new_array(4, clear=first),
            lambda: pe.zeros(4, align=64 if first else 32),
            lambda: pe.alloc(4, 8) if first else pe.alloc(8, 4),
            lambda: pe.alloc(4, clear=first),
        ]
        told = []
        for allocating in pairs:
            with pytest.raises(conduit.BadRequest) as caught:
                await allocating()
            told.append(re.sub(rf" at {__file__}:\d+", "", str(caught.value)))
        a = await pe.zeros(4)
        await pe.put(a, np.ones(4), 1 - pe.my_pe())
        await pe.barrier_all()
        return told, a.tolist()

    calls = [
        ("zeros(shape=(4,), dtype=int64)", "zeros(shape=(4,), dtype=float64)"),
        ("zeros(shape=(2, 3), dtype=float64)", "zeros(shape=(3, 2), dtype=float64)"),
        ("array(shape=(2,), dtype=int64)", "array(shape=(2,), dtype=float64)"),
        ("new_array(shape=(2, 3), dtype=float64, order='F')", "new_array(shape=(2, 3), dtype=float64)"),
        ("array(shape=(2, 3), dtype=float64)", "array(shape=(2, 3), dtype=float64, order='F')"),
        ("zeros(shape=(4,), dtype=float64)", "empty(shape=(4,), dtype=float64)"),
        ("new_array(shape=(4,), dtype=float64)", "new_array(shape=(4,), dtype=float64, clear=False)"),
        ("zeros(shape=(4,), dtype=float64, align=64)", "zeros(shape=(4,), dtype=float64, align=32)"),
        ("alloc(count=4, size=8)", "alloc(count=8, size=4)"),
        ("alloc(count=4, size=1)", "alloc(count=4, size=1, clear=False)"),
    ]
    for told, a in run(main):
        assert a == [1] * 4
        for text, (one, other) in zip(told, calls, strict=True):
            names = [f"pe.{each.partition('(')[0]}" for each in (one, other)]
            assert text in [f"{name}: PE 0 called pe.{one}, but PE 1 called pe.{other}; {SAME}" for name in names]


def test_allocations_that_differ_in_nothing_that_counts():
    async def main(pe):
        first = pe.my_pe() == 0
        made = [
            await (pe.zeros(4) if first else pe.ones(4)),
            await (pe.full(4, pe.my_pe(), "f8") if first else pe.array([0.5] * 4)),
            await pe.zeros((1, 4), order="F" if first else "C"),
            await pe.zeros(4, "i8" if first else np.longlong),
            await pe.zeros(4, align=8 if first else None),
            await (pe.new_array(4, clear=False) if first else pe.empty(4)),
        ]
        return len(made)

    assert run(main) == [6, 6]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_as_any_array():
    """All views of it have two dimensions: a size that is given took all of its row."""

    async def main(pe):
        a, out = await pe.zeros(4, "i8"), np.matrix([[0, 0, 0]])
        if pe.my_pe() == 0:
            await pe.put(a[:1], np.matrix([[1, 2, 3, 4]]), 1)
            await pe.quiet()
            await pe.get(out, a, 1, size=2)
        await pe.barrier_all()
        return a.tolist(), out.tolist()

    assert run(main) == [([0, 0, 0, 0], [[1, 0, 0]]), ([1, 0, 0, 0], [[0, 0, 0]])]
