"""Collectives that move data: what arrives where, in every form, dtype and size."""

import re
from functools import partial
from typing import Any

import numpy as np
import pytest

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import linger, names, refusal
from extended.conformance.oracle import DTYPES, array, rows, same, stacked
from extended.conformance.programs import attached

SHAPES: tuple[Any, ...] = ((), (3,), (2, 0), (2, 3, 2))
# Around the size that is sent at once, and several messages of the smallest limit.
SIZES = (1, 511, 513, 4096, 4097, 9000)


def _roots(ep: Endpoint) -> list[int]:
    return sorted({0, ep.size // 2, ep.size - 1})


@pytest.mark.rule("X67", "X79")
@pytest.mark.crowds
def test_broadcast_gives_the_root_s_array(case: Case) -> None:
    """For roots first, middle and last; others may leave the argument out, or give anything."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for root in _roots(ep):
            for shape in SHAPES:
                sent = array(root, shape)
                given = sent if ep.rank == root else ("anything", object())[ep.rank % 2 :]
                found = await x.broadcast(given, root)
                assert same(found, sent)
                assert found is not sent
                assert same(await (x.broadcast(sent, root) if ep.rank == root else x.broadcast(root=root)), sent)

    case.run(main)


@pytest.mark.rule("X68", "X79")
@pytest.mark.crowds
def test_scatter_gives_each_rank_its_row(case: Case) -> None:
    """Rows of any shape."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for root in _roots(ep):
            for shape in SHAPES:
                sent = rows(ep.size, shape, key=root)
                found = await (x.scatter(sent, root) if ep.rank == root else x.scatter(root=root))
                assert same(found, sent[ep.rank])

    case.run(main)


@pytest.mark.rule("X69", "X79")
@pytest.mark.crowds
def test_gather_collects_at_the_root(case: Case) -> None:
    """A row for each rank there, None elsewhere."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for root in _roots(ep):
            for shape in SHAPES:
                found = await x.gather(array(ep.rank, shape), root)
                assert same(found, rows(ep.size, shape)) if ep.rank == root else found is None

    case.run(main)


@pytest.mark.rule("X70")
@pytest.mark.crowds
def test_all_gather_collects_everywhere(case: Case) -> None:
    """A row for each rank, on each rank."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for shape in SHAPES:
            assert same(await x.all_gather(array(ep.rank, shape)), rows(ep.size, shape))

    case.run(main)


@pytest.mark.rule("X71")
@pytest.mark.crowds
def test_all_to_all_exchanges_rows(case: Case) -> None:
    """Row d of rank s becomes row s of rank d."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for shape in SHAPES[1:]:
            found = await x.all_to_all(rows(ep.size, shape, key=ep.rank))
            assert same(found, stacked([rows(ep.size, shape, key=rank)[ep.rank] for rank in range(ep.size)]))

    case.run(main)


@pytest.mark.rule("X77")
def test_dtypes_keep_their_bytes(case: Case) -> None:
    """Numbers of either byte order, strings, dates, raw bytes, records, in all five calls."""

    async def main(ep: Endpoint, dtypes: Any) -> None:
        x = await attached(ep)
        last, everything = ep.size - 1, range(ep.size)
        for dtype in dtypes:
            mine, all_of_them = array(ep.rank, (3,), dtype), rows(ep.size, (3,), dtype)
            assert same(await x.broadcast(mine if ep.rank == last else None, last), all_of_them[last])
            assert same(await x.scatter(all_of_them if ep.rank == 0 else None), mine)
            gathered = await x.gather(mine, last)
            assert gathered is None or same(gathered, all_of_them)
            assert same(await x.all_gather(mine), all_of_them)
            blocks = stacked([rows(ep.size, (3,), dtype, key)[ep.rank] for key in everything])
            assert same(await x.all_to_all(rows(ep.size, (3,), dtype, ep.rank)), blocks)

    # Every dtype comes by in some case.
    chosen = DTYPES[case.seed % 4 :: 4]
    case.run(main, [np.dtype(dtype).descr if "," in dtype else dtype for dtype in chosen])


@pytest.mark.rule("X77")
def test_records_with_gaps_titles_and_parts(case: Case) -> None:
    """A dtype that no short text describes arrives as it was, on ranks that know nothing of it."""
    dtype = np.dtype(
        {
            "names": ["a long name for a field", "b", "c"],
            "formats": ["i4", ("f8", (2, 2)), [("x", ">i2"), ("y", "M8[s]")]],
            "offsets": [4, 16, 60],
            "itemsize": 80,
        }
    )

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        sent = np.zeros((ep.size, 2), dtype)
        sent["b"] = np.arange(8 * ep.size).reshape(ep.size, 2, 2, 2)
        sent["c"]["x"] = 5
        found = await x.broadcast(sent if ep.rank == 0 else None)
        assert found.dtype == dtype
        assert (found == sent).all()
        assert (await x.scatter(sent if ep.rank == 0 else None) == sent[ep.rank]).all()

    case.run(main)


@pytest.mark.rule("X77")
def test_records_of_any_number_of_fields(case: Case) -> None:
    """A description longer than a medium message comes in pieces, also down a tree, and before the call is made."""
    fields = case.limits.max_medium // 20 + 1  # each takes more than 20 bytes
    if fields > 1000:
        pytest.skip(f"max_medium={case.limits.max_medium} is larger than the description of a thousand fields")
    dtype = np.dtype([(f"field_{number}", "u1") for number in range(fields)])

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        sent = np.arange(ep.size * fields).astype("u1").view(dtype)
        for turn, algorithm in enumerate((None, "flat", "tree", "two_level")):
            root = turn % ep.size
            await linger(ep, 1e-4 * ep.rank)
            found = await x.broadcast(sent if ep.rank == root else None, root, algorithm=algorithm)
            assert same(found, sent)
            assert same(await x.scatter(sent if ep.rank == root else None, root, algorithm=algorithm), sent[ep.rank])

    case.run(main)


@pytest.mark.rule("X77")
def test_numbers_whose_parts_have_names(case: Case) -> None:
    """Such dtypes, and records that are known as attributes, arrive as what they are."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        parts = np.dtype(("<i4", {"lo": ("<i2", 0), "hi": ("<i2", 2)}))
        record = np.dtype((np.record, [("t", "<M8[s]"), ("v", ">f8")]))
        for dtype in (parts, record):
            sent = np.frombuffer(bytes(range(3 * dtype.itemsize)), dtype)
            found = await x.broadcast(sent if ep.rank == 0 else None)
            assert (found.dtype, found.dtype.type, found.dtype.fields) == (dtype, dtype.type, dtype.fields)
            assert found.tobytes() == sent.tobytes()

    case.run(main)


@pytest.mark.rule("X77")
def test_numbers_and_lists_are_taken_as_by_numpy(case: Case) -> None:
    """A number in gives a numpy scalar, on ranks without the number too; an array of no dimension stays one."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for number in (True, 7, -2.5, 1j, np.float32(3), "text"):
            found = await x.broadcast(number if ep.rank == 0 else None)
            assert isinstance(found, np.generic)
            assert found == number
            assert found.dtype == np.asarray(number).dtype
        found = await x.broadcast(np.array(5) if ep.rank == 0 else None)
        assert isinstance(found, np.ndarray)
        assert found.shape == ()
        assert same(await x.broadcast([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
        assert same(await x.all_gather(ep.rank), np.arange(ep.size))
        assert same(await x.all_to_all(range(ep.size)), np.full(ep.size, ep.rank))
        assert await x.scatter(list(range(ep.size)) if ep.rank == 0 else None) == ep.rank
        assert isinstance(await x.all_reduce(2), np.generic)
        assert isinstance(await x.scan(2.0), np.float64)
        assert isinstance(await x.all_reduce(np.array(2)), np.ndarray)

    case.run(main)


@pytest.mark.rule("X77")
def test_bytes_keep_their_zeros(case: Case) -> None:
    """Numpy's own kind of bytes loses those at the end."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        given = bytes([ep.rank + 1, 0, 0, 0])
        assert bytes(await x.broadcast(given if ep.rank == 0 else None)) == b"\1\0\0\0"
        rows = await x.all_gather(given)
        assert rows.dtype == np.uint8
        assert rows.tolist() == [[rank + 1, 0, 0, 0] for rank in range(ep.size)]

    case.run(main)


@pytest.mark.rule("X77", "X82")
def test_arrays_of_any_strides(case: Case) -> None:
    """Transposed, reversed, every other one, read-only, and from the segment."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        whole = array(ep.rank, (4, 6))
        frozen = whole.copy()
        frozen.flags.writeable = False
        inside = ep.segment[3:27].view("u1").reshape(4, 6)
        inside[:] = whole % 100
        cuts = (np.transpose, lambda a: a[::-1, ::-2], lambda a: a[:, 1:3], np.asfortranarray)
        for cut in cuts:
            expected = stacked([cut(array(rank, (4, 6))) for rank in range(ep.size)])
            assert same(await x.all_gather(cut(frozen)), expected)
            assert same(await x.all_reduce(cut(whole), "max"), expected.max(0))
            assert same(await x.broadcast(cut(whole) if ep.rank == 0 else None), expected[0])
        assert same((await x.all_gather(inside))[ep.rank], inside.copy())

    case.run(main)


@pytest.mark.rule("X78")
@pytest.mark.crowds
def test_out_is_filled_and_returned(case: Case) -> None:
    """A new array of the right kind, one with gaps, and a plain buffer."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        mine, everything = array(ep.rank, (3,)), rows(ep.size, (3,))
        plain, gaps, buffer = (
            np.empty((ep.size, 3), "i8"),
            np.empty((ep.size, 6), "i8")[:, ::2],
            bytearray(24 * ep.size),
        )
        for out in (plain, gaps, buffer):
            assert await x.all_gather(mine, out=out) is out
            assert np.asarray(memoryview(out)).tobytes() == everything.tobytes()
        sent = everything if ep.rank == 0 else None
        out = np.empty(3, "i8")
        assert await x.scatter(sent, out=out) is out
        assert same(out, mine)
        assert await x.broadcast(mine if ep.rank == 0 else None, out=out) is out
        assert same(out, array(0, (3,)))
        got = await x.gather(mine, out=plain if ep.rank == 0 else None)
        assert got is (plain if ep.rank == 0 else None)
        number = np.empty((), "i8")
        assert await x.all_reduce(1, out=number) is number
        assert number == ep.size

    case.run(main)


@pytest.mark.rule("X78")
def test_out_may_be_the_argument(case: Case) -> None:
    """Or a part of it, or hold it: the result is as if the argument had been copied."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        last = ep.size - 1
        for length in (2, 700)[: 2 if ep.size < 8 else 1]:
            here = array(ep.rank, (length,))
            assert await x.broadcast(here, last, out=here) is here
            assert same(here, array(last, (length,)))
            for call in (x.all_reduce, x.scan):
                here = array(ep.rank, (length,))
                assert await call(here, "max", out=here) is here
                below = rows(ep.size if call == x.all_reduce else ep.rank + 1, (length,))
                assert same(here, below.max(0))
            here = array(ep.rank, (length,))
            assert await x.reduce(here, "max", last, out=here) is (here if ep.rank == last else None)
            assert same(here, rows(ep.size, (length,)).max(0) if ep.rank == last else array(ep.rank, (length,)))
            grid = rows(ep.size, (length,), key=ep.rank)
            await x.all_to_all(grid, out=grid)
            assert same(grid, stacked([rows(ep.size, (length,), key=rank)[ep.rank] for rank in range(ep.size)]))
            grid = rows(ep.size, (length,))
            grid[: ep.rank] = grid[ep.rank + 1 :] = 0
            await x.all_gather(grid[ep.rank], out=grid)
            assert same(grid, rows(ep.size, (length,)))
            grid = rows(ep.size, (length,))
            assert same(await x.scatter(grid, out=grid[last]), array(ep.rank, (length,)))

    case.run(main)


@pytest.mark.rule("X78", "X88")
def test_an_out_that_does_not_fit_is_refused(case: Case) -> None:
    """Of another shape, dtype, byte order, size, or read-only: at the call, where the result is known there."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        frozen = np.empty((ep.size, 2))
        frozen.flags.writeable = False
        wrongs: list[Any] = [
            np.empty((ep.size, 3)),
            np.empty(2 * ep.size),
            np.empty((ep.size, 2), ">f8"),
            frozen,
            b"",
            5,
            [],
        ]
        for wrong in wrongs:
            message = refusal(partial(x.all_gather, np.zeros(2), out=wrong))
            assert message.startswith("all_gather: out ")
        names(refusal(partial(x.all_reduce_nb, np.zeros(2), out=bytearray(15))), "all_reduce_nb", "out", 15, 16)
        assert refusal(partial(x.broadcast, np.zeros(2), 0, out=frozen[0])).startswith("broadcast: out ")

    case.run(main)


@pytest.mark.rule("X78", "X88")
def test_the_out_that_a_refusal_advises_is_taken(case: Case) -> None:
    """The expression in the message gives an array that fits, of records too."""
    parts = np.dtype(("<i4", {"lo": ("<i2", 0), "hi": ("<i2", 2)}))
    gaps = {"names": ["b", "a"], "formats": ["<i2", ">f4"], "offsets": [4, 0], "itemsize": 16}
    kinds: list[Any] = [">f8", "M8[s]", "U3", [("t", "<i8"), ("v", "<f8")], gaps, (np.record, [("p", parts, (2,))])]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for kind in kinds:
            sent = np.zeros((2, 3), kind)
            message = refusal(partial(x.all_gather, sent, out=np.empty(1, "V3")))
            advised = re.search(r"give (numpy\.empty\(.*\)) or leave it out", message)
            assert advised is not None
            out = eval(advised[1], {"numpy": np})
            assert await x.all_gather(sent, out=out) is out

    case.run(main)


@pytest.mark.rule("X78")
def test_an_out_that_cannot_take_what_comes(case: Case) -> None:
    """In broadcast and scatter only the root knows what comes: the rank is told when it has, and others get theirs."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            await x.broadcast(np.zeros(3))
            await x.scatter(np.zeros((ep.size, 2)))
        elif ep.rank == 1:
            with pytest.raises(conduit.BadRequest, match=r"\Abroadcast: out of shape \(2,\) .*has shape \(3,\)"):
                await x.broadcast(out=np.zeros(2))
            with pytest.raises(conduit.BadRequest, match=r"\Ascatter: out has 17 bytes, but the result has 16"):
                await x.scatter(out=bytearray(17))
        else:
            assert same(await x.broadcast(), np.zeros(3))
            assert same(await x.scatter(), np.zeros(2))
        assert await x.all_reduce(1) == ep.size

    case.run(main)


@pytest.mark.rule("X80", "X81")
def test_sizes_at_which_protocols_change(case: Case) -> None:
    """Sent at once or asked for, in one piece or several, in and out of the segment."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for number, size in enumerate(SIZES):
            root = number % ep.size
            into = [None, np.empty(size, "u1"), ep.segment[5 : 5 + size]][number % 3]
            sent = array(root, (size,), "u1", number)
            assert same(await x.broadcast(sent if ep.rank == root else None, root, out=into), sent)
            everything = rows(ep.size, (size,), "u1", number)
            assert same(await x.scatter(everything if ep.rank == root else None, root, out=into), everything[ep.rank])
            if number % 2:
                assert same(await x.all_gather(everything[ep.rank]), everything)
            else:
                found = await x.gather(everything[ep.rank], root)
                assert found is None or same(found, everything)

    case.run(main)


@pytest.mark.rule("X88", "X79")
def test_wrong_arguments_are_refused_at_the_call(case: Case) -> None:
    """Roots, rows, missing and impossible arrays; each by name, with what is allowed."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for suffix in ("", "_nb"):
            for name in ("broadcast", "scatter", "gather", "reduce"):
                call = getattr(x, name + suffix)
                for place in (-1, ep.size, 0.0, "0", None):
                    names(refusal(partial(call, [1] * ep.size, root=place)), name + suffix, "root")
            for name in ("broadcast", "scatter"):
                names(refusal(partial(getattr(x, name + suffix), root=ep.rank)), name + suffix, "array")
            short: list[Any] = [5, np.zeros(ep.size + 1), np.zeros((ep.size + 1, ep.size))]
            for name in ("scatter", "all_to_all"):
                for wrong in short:
                    rest = (ep.rank,) if name == "scatter" else ()
                    message = refusal(partial(getattr(x, name + suffix), wrong, *rest))
                    names(message, name + suffix, "array", "first axis must be", ep.size)
            odd: list[Any] = [None, object(), [object()], np.zeros(2, []), [[1], [1, 2]]]
            for name in ("broadcast", "gather", "all_gather", "reduce", "all_reduce", "scan"):
                root = {"root": ep.rank} if name == "broadcast" else {}
                for wrong in odd:
                    names(refusal(partial(getattr(x, name + suffix), wrong, **root)), name + suffix, "array")

    case.run(main)


@pytest.mark.rule("X2", "X89")
@pytest.mark.simulated
def test_the_root_of_a_broadcast_waits_for_nobody(case: Case) -> None:
    """It may go on, and do other things with the others, before they have come."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> float:
        x = await attached(ep)
        while ep.rank and ep.now < 1.0:  # it polls, so that slots get free, but does not come
            await ep.compute(1e-2)
            await ep.poll()
        found = await x.broadcast(3 if ep.rank == 0 else None)
        left = ep.now
        assert found == 3
        return left

    root, *others = case.run(main).values
    assert root < 0.5
    assert min(others) >= 1.0


@pytest.mark.rule("X89")
def test_collectives_complete_no_put(case: Case) -> None:
    """What was begun before is still to be waited for, and a barrier in two phases goes on around them."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.barrier_notify(2)
        handle = await x.put_nb((ep.rank + 1) % ep.size, 0, b"put")
        assert await x.all_reduce(1) == ep.size
        assert await handle is None
        await x.barrier_wait(2)
        await x.barrier()
        assert bytes(ep.segment[:3]) == b"put"

    case.run(main)
