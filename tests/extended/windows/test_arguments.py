"""Buffers and targets in all forms of mpi4py, and what is refused: each with the message that says so."""

import re

import numpy as np
import pytest

import conduit
from extended import Extended, windows
from extended.windows import LOCK_SHARED, MODE_NOCHECK, NO_OP, SUM, Win


async def made(ep, **options):
    return await Win.Allocate(64, 8, comm=await Extended.attach(ep), **options)


@pytest.mark.parametrize(
    ("origin", "target", "expected"),
    [
        (np.arange(1, 4.0), None, [1, 2, 3, 0, 0]),
        (np.arange(1, 4.0), 2, [0, 0, 1, 2, 3]),
        (np.arange(1, 4.0), (1, 3), [0, 1, 2, 3, 0]),
        (np.arange(1, 4.0), [1, 3, "f8"], [0, 1, 2, 3, 0]),
        (np.arange(1, 4.0), (1, 24, np.uint8), [0, 1, 2, 3, 0]),
        (np.asfortranarray(np.arange(1, 5.0).reshape(2, 2)), (0,), [1, 3, 2, 4, 0]),
        ([np.arange(1, 4.0), 2], None, [1, 2, 0, 0, 0]),
        ([np.arange(1, 4.0), "f8"], None, [1, 2, 3, 0, 0]),
        ([np.arange(1, 4.0), (2, 1)], None, [2, 3, 0, 0, 0]),
        ([np.arange(1, 4.0), (2, 1), np.float64], 1, [0, 2, 3, 0, 0]),
        ([np.arange(1, 4.0), None, np.dtype("f8")], 1, [0, 1, 2, 3, 0]),
        ([np.arange(1, 4.0), 16, np.dtype("u1")], (0, 2, "f8"), [1, 2, 0, 0, 0]),
        (np.arange(1, 4.0).tobytes(), None, [1, 2, 3, 0, 0]),
        (bytearray(np.ones(1)), 4, [0, 0, 0, 0, 1]),
        (np.float64(7), 1, [0, 7, 0, 0, 0]),
        ([np.float64(7), 1], 1, [0, 7, 0, 0, 0]),
        (np.zeros(0), 8, [0, 0, 0, 0, 0]),
        (np.array(5.0), 0, [5, 0, 0, 0, 0]),
    ],
)
def test_forms_of_buffers_and_targets(origin, target, expected):
    async def main(ep):
        win = await made(ep)
        await win.Fence()
        if ep.rank == 0:
            await win.Put(origin, 1, target)
        await win.Fence()
        found = np.frombuffer(win.tomemory(), "f8")[:5].tolist()
        await win.Free()
        return found

    assert conduit.run(main, conduit="loggp").values[1] == expected


D, I, RO = np.zeros(2), np.zeros(1, "i8"), np.frombuffer(bytes(16))  # noqa: E741
ARGUMENTS = [
    ("Put(3, 1)", r"win\.Put: origin=3 is an int, which is no buffer; give an array, \[array, dtype\], \[array,"),
    (
        "Accumulate([1.0, 2.0], 1)",
        r"win\.Accumulate: origin=\[1\.0, 2\.0\] is a list of numbers, which has no bytes to send or to receive into; "
        r"give an array: numpy\.array\(\[1\.0, 2\.0\]\)",
    ),
    ("Put((3, 4), 1)", r"win\.Put: origin=\(3, 4\) is a tuple of numbers, .* numpy\.array\(\(3, 4\)\)"),
    ("Put([[1, 2], [3, 4]], 1)", r"win\.Put: origin=\[\[1, 2\], \[3, 4\]\] is a list of numbers, which has no bytes"),
    ("Put([D], 1)", r"win\.Put: origin is a list of 1; give an array, "),
    ("Put([D, 2, 'f8', 0], 1)", r"win\.Put: origin is a list of 4; give an array"),
    ("Put([D, 3], 1)", r"origin stands for 3 elements of dtype float64 from element 0 on, but the array has 16"),
    ("Put([D, (2, 1)], 1)", r"origin stands for 2 elements of dtype float64 from element 1 on"),
    ("Put([D, (1, 2, 3)], 1)", r"origin has \(1, 2, 3\) for a count; give one, or \(count, displ\)"),
    ("Put([D, -1], 1)", r"origin=-1 is not possible; give a number of elements, 0 or more"),
    ("Put([D, 'nothing'], 1)", r"origin has 'nothing' for a dtype, which numpy does not know; give \"f8\""),
    ("Put([D, 'O'], 1)", r"origin has dtype object, whose elements are no bytes of a fixed size"),
    ("Put(np.zeros(4)[::2], 1)", r"win\.Put: origin is not contiguous \(strides \(16,\)\); give numpy\.asc"),
    ("Get(np.zeros(4)[::2], 1)", r"win\.Get: origin is not contiguous .*; fill a contiguous array, and copy from that"),
    ("Get(RO, 1)", r"win\.Get: origin is read-only, and is to be filled; give an array that may be written"),
    ("Put(D, 2)", r"win\.Put: target_rank=2 is not possible; give a rank of the window, 0 to 1"),
    ("Put(D, -1)", r"win\.Put: target_rank=-1 is not possible"),
    ("Put(D, 1.0)", r"win\.Put: target_rank=1\.0 is a float; give an integer, a rank of the window"),
    ("Put(D, 1, 'a')", r"win\.Put: target='a' is a str; give an integer, a displacement, 0 or more; a target is"),
    ("Put(D, 1, (0, 2, 'f8', 1))", r"win\.Put: target=\(0, 2, 'f8', 1\) has 4 parts; give None, a displacement, "),
    ("Put(D, 1, -1)", r"win\.Put: target=-1 is not possible; give a displacement"),
    ("Put(D, 1, (0, 1))", r"target=\(0, 1\) is 1 element of dtype float64, which are 8 bytes, but the buffer here"),
    ("Put(D, 1, (0, 2, 'i8'))", r"target=.* has dtype int64 and the buffer here float64; give one dtype, or u1 for"),
    ("Put(D, 1, 7)", r"win\.Put: target=7 is bytes 56 to 71 of rank 1, whose part has 64 \(disp_unit=8\); stay"),
    ("Accumulate(D, 1, (0, 16, 'u1'))", r"has dtype uint8 and the elements here float64; an accumulate is on"),
    ("Accumulate(D, 1, 0, 'sum')", r"win\.Accumulate: op='sum' is no operation of extended\.windows; give one of"),
    ("Accumulate(D, 1, 0, windows.BAND)", r"win\.Accumulate: op=BAND is not for dtype float64; it is for integers,"),
    ("Accumulate(D.astype('>f8'), 1)", r"dtype >f8 is no type of number in this machine's order of bytes; give f8,"),
    ("Accumulate(np.zeros(1, 'M8[s]'), 1)", r"dtype datetime64\[s\] is no type of number"),
    ("Get_accumulate(I, D, 1)", r"origin has 1 element of dtype int64 and result 2 of float64; give as many of"),
    ("Get_accumulate(None, D, 1)", r"win\.Get_accumulate: origin=None is no value, which is no buffer"),
    ("Get_accumulate(D, D, 1)", r"win\.Get_accumulate: origin and result share memory; give arrays that do not"),
    ("Fetch_and_op(D, D.copy(), 1)", r"win\.Fetch_and_op: result has 2 elements; give one, such as a\[3:4\]"),
    ("Fetch_and_op(I, I.copy(), 1, None)", r"win\.Fetch_and_op: target_disp=None is no value; give an integer"),
    ("Compare_and_swap(np.zeros(1), np.ones(1), D[:1], 1)", r"win\.Compare_and_swap: .* not for dtype float64; it"),
    ("Compare_and_swap(I, I, np.zeros(1, 'i4'), 1)", r"origin has 1 element of dtype int64 and result 1 of int32"),
    ("Fence(1)", r"win\.Fence: assertion=<MODE\.NOCHECK: 1> is not for this call; give 0, or of MODE_NOSTORE"),
    ("Fence(99)", r"win\.Fence: assertion=99 is not possible; give 0, or of MODE_NOSTORE \| MODE_NOPUT"),
    ("Start(3)", r"win\.Start: group=3 is an int; give win\.Get_group\(\), what its Incl and Excl return, or a list"),
    ("Start(np.array(1))", r"group=array\(1\) is a ndarray; give win\.Get_group\(\), what its Incl and Excl return,"),
    ("Get_group().Excl(np.array(0))", r"Group\.Excl: ranks=array\(0\) is a ndarray; give win\.Get_group\(\), what its"),
    ("Start([0, 0])", r"win\.Start: group=\[0, 0\] names a rank twice; name each once"),
    ("Post([2])", r"win\.Post: group=2 is not possible; give ranks of the window, 0 to 1"),
    ("Lock(0, 3)", r"win\.Lock: lock_type=3 is not known; give LOCK_EXCLUSIVE or LOCK_SHARED"),
    ("Lock(0, D)", r"win\.Lock: lock_type=array\(.*\) is not known; give LOCK_EXCLUSIVE or LOCK_SHARED"),
    ("Put(D, D)", r"win\.Put: target_rank=array\(.*\) is a ndarray; give an integer, a rank of the window, 0 to 1"),
    ("Lock(5)", r"win\.Lock: rank=5 is not possible; give a rank of the window, 0 to 1"),
    ("Unlock('a')", r"win\.Unlock: rank='a' is a str; give an integer, a rank of the window, 0 to 1"),
    ("Get_group().Incl([4])", r"Group\.Incl: ranks=4 is not possible; give ranks of the group, 0 to 1"),
]  # fmt: skip


def test_wrong_arguments_are_refused_at_the_call_and_the_window_goes_on():
    async def main(ep):
        win = await made(ep)
        await win.Fence()
        for call, match in ARGUMENTS:
            with pytest.raises(conduit.BadRequest, match=match):
                eval(f"win.{call}")
        await win.Fence()
        await win.Free()

    conduit.run(main, conduit="loggp")


@pytest.mark.parametrize(
    ("make", "match"),
    [
        ("Win.Allocate(64, comm=ep)", r"Win\.Allocate: comm=.* is an Endpoint; give what Extended\.attach returned,"),
        ("Win.Allocate(-1, comm=x)", r"Win\.Allocate: size=-1 is not possible; give a number of bytes, 0 or more"),
        ("Win.Allocate(8.0, comm=x)", r"Win\.Allocate: size=8\.0 is a float; give an integer, a number of bytes"),
        ("Win.Allocate(8, 0, comm=x)", r"Win\.Allocate: disp_unit=0 is not possible; give the bytes of a"),
        ("Win.Allocate(8, comm=x, checks=3)", r"Win\.Allocate: checks=3 is neither True nor False"),
        ("Win.Allocate(8, comm=x, checks=D)", r"Win\.Allocate: checks=array\(.*\) is neither True nor False"),
        ("Win.Create(3, comm=x)", r"Win\.Create: array=3 is an int; give a numpy array or another buffer"),
        ("Win.Create(bytes(8), comm=x)", r"Win\.Create: array is read-only; give one that others may write to"),
        ("Win.Create(np.zeros((4, 4))[:, 1], comm=x)", r"Win\.Create: array is not C-contiguous \(strides \(32,\)\)"),
        ("Win.Create(np.zeros(2, 'O'), comm=x)", r"Win\.Create: array has dtype object"),
        ("Win(8)", r"Win: windows are not made by calling it; write `await Win\.Allocate\(\.\.\.\)`"),
        ("windows.attach(ep)", r"windows\.attach: x=.* is an Endpoint; give what Extended\.attach returned"),
    ],
)  # fmt: skip
def test_a_window_is_made_of_what_it_can_be(make, match):
    async def main(ep):
        x = await Extended.attach(ep)
        assert x
        with pytest.raises(conduit.BadRequest, match=match):
            eval(make)

    conduit.run(main, conduit="loggp")


@pytest.mark.parametrize(
    ("make", "match"),
    [
        ("Win.Create(D, comm=x) if ep.rank else Win.Allocate(8, comm=x)", "rank 0 called Win.Allocate and rank 1"),
        ("Win.Allocate(8, comm=x, checks=bool(ep.rank))", "rank 0 checks=False and rank 1 checks=True; let all"),
    ],
)  # fmt: skip
def test_ranks_that_make_different_windows_are_told_so_and_go_on(make, match):
    async def main(ep):
        x = await Extended.attach(ep)
        with pytest.raises(conduit.BadRequest, match=re.escape(match)):
            await eval(make, {**globals(), "x": x, "ep": ep})
        await (await made(ep)).Free()

    conduit.run(main, ranks=3, conduit="loggp")


def test_nobody_is_reached_by_the_null_rank():
    async def main(ep):
        win = await made(ep)
        out = np.full(1, 7, "i8")
        await win.Put(I, windows.PROC_NULL, 99)
        await win.Get(out, windows.PROC_NULL)
        await win.Accumulate(I, windows.PROC_NULL)
        await win.Fetch_and_op(None, out, windows.PROC_NULL, 0, NO_OP)
        await win.Free()
        return int(out[0])

    assert set(conduit.run(main, conduit="loggp").values) == {7}


def test_groups():
    async def main(ep):
        win = await made(ep)
        group = win.Get_group()
        some = group.Incl([3, 1])
        assert (group.size, group.rank, len(group), group.Get_size(), group.Get_rank()) == (4, ep.rank, 4, 4, ep.rank)
        assert list(some) == [3, 1]
        assert some.rank == {3: 0, 1: 1}.get(ep.rank)
        assert list(group.Excl([0, 2])) == [1, 3]
        assert list(some.Excl([0])) == [1]
        assert group.Excl([0, 2]) == group.Incl([1, 3]) != some
        assert len({group.Incl([1]), group.Incl([1])}) == 1
        assert repr(some) == "<Group of ranks 3, 1>"
        assert repr(win) == f"<Win of 4 ranks, here rank {ep.rank}, 64 bytes here>"
        await win.Free()
        assert repr(win) == f"<Win of 4 ranks, here rank {ep.rank}, freed>"

    conduit.run(main, ranks=4, conduit="loggp")


def test_a_call_that_is_not_awaited_is_named():
    async def main(ep):
        win = await made(ep)
        win.Lock(0, LOCK_SHARED, MODE_NOCHECK)
        await win.Fence()

    with pytest.raises(
        conduit.BadRequest, match=r"win\.Lock\(0, LOCK_SHARED, MODE_NOCHECK\) at .* was called but never"
    ):
        conduit.run(main, conduit="loggp")


def test_what_a_library_adds_is_charged(monkeypatch):
    """Every call by its name."""
    asked = []

    async def main(ep):
        cost = ep.library_cost
        monkeypatch.setattr(type(ep), "library_cost", lambda self, name: asked.append(name) or cost(name))
        win = await made(ep)
        a, b, c = (np.zeros(1, "i8") for _ in range(3))
        await win.Fence()
        for call in (win.Put(a, 0), win.Get(b, 0, 1), win.Accumulate(a, 0, 2), win.Get_accumulate(a, b, 0, 3)):
            await call
        await win.Fetch_and_op(a, b, 0, 4, SUM)
        await win.Compare_and_swap(a, b, c, 0, 5)
        await win.Fence()
        for call in ("Post([0])", "Start([0])", "Complete()", "Test()", "Post([])", "Wait()", "Lock(0)", "Flush(0)"):
            await eval(f"win.{call}")
        for call in ("Flush_local(0)", "Flush_all()", "Flush_local_all()", "Sync()", "Unlock(0)", "Lock_all()"):
            await eval(f"win.{call}")
        await win.Unlock_all()
        await win.Free()

    conduit.run(main, ranks=1, conduit="loggp")
    accesses = "put get accumulate get_accumulate fetch_and_op compare_and_swap"
    calls = (
        "fence fence_doubling post start complete test wait lock flush flush_local flush_all flush_local_all sync "
        "unlock lock_all unlock_all"
    )
    expected = {f"mpi_{name}" for name in accesses.split()} | {f"mpi_win_{name}" for name in calls.split()}
    assert set(asked) == expected


def test_a_target_without_a_dtype_has_that_of_the_buffer():
    async def main(ep):
        win = await Win.Allocate(16, 8, comm=await Extended.attach(ep))
        await win.Fence()
        await win.Put(np.array([ep.rank + 5]), 1 - ep.rank, (1, 1, None))
        await win.Fence()
        found = np.frombuffer(win.tomemory(), "i8").tolist()
        await win.Free()
        return found

    assert conduit.run(main, ranks=2, conduit="loggp").values == [[0, 6], [0, 5]]
