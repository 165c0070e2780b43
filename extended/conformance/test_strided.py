"""Strided puts and gets: numpy arrays of any strides here, regular distances of any kind there."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from extended.conformance.programs import attached, left, right, room_for

BASE = 2048


def _block(*shape: int, dtype: str = "i4") -> npt.NDArray[Any]:
    return (np.arange(int(np.prod(shape))) * 3 + 1).astype(dtype).reshape(shape)


def _here() -> list[npt.NDArray[Any]]:
    """Give arrays of every kind of strides."""
    cube = _block(4, 5, 6)
    return [
        cube,
        cube.T,
        cube.transpose(1, 2, 0),
        cube[::-1],
        cube[::2, ::-2, 1:5],
        cube[:, :, ::-1],
        cube[1],
        cube[:, 2],
        cube[:, :, 3],
        cube[1:3, 1:3, 1:3],
        _block(7)[::-1],
        _block(1, 7, 1),
        np.asfortranarray(cube[0]),
        np.broadcast_to(np.arange(3, dtype="i2"), (4, 3)),
        _block(9, dtype="u1")[::3],
    ]


def _there(ep: Endpoint, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """Give this rank's elements at some strides from `BASE` on as an array."""
    return np.ndarray(shape, dtype, ep.segment.data, BASE, strides)


def _c_strides(shape: tuple[int, ...], itemsize: int, gap: int = 0) -> tuple[int, ...]:
    steps: list[int] = []
    step = itemsize + gap
    for count in reversed(shape):
        steps.insert(0, step)
        step *= count
    return tuple(steps)


@pytest.mark.rule("X44", "X41", "X3")
@pytest.mark.crowds
def test_arrays_of_any_strides_are_put(case: Case) -> None:
    """Transposed, reversed, sliced, broadcast: element [i, j, ...] here becomes element [i, j, ...] there."""
    puts = [(array, _c_strides(array.shape, array.itemsize, gap)) for array in _here() for gap in (0, 5)]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for number, (array, strides) in enumerate(puts):
            await x.put_strided_nbi(right(ep), BASE * number, strides, array)
        await x.sync()
        await x.barrier()
        for number, (array, strides) in enumerate(puts):
            there = np.ndarray(array.shape, array.dtype, ep.segment.data, BASE * number, strides)
            np.testing.assert_array_equal(there, array)
            there[...] = 0
        assert not ep.segment.any(), "something between the elements was written"

    case.run(main, segment=BASE * len(puts))


@pytest.mark.rule("X44", "X41", "X4")
@pytest.mark.crowds
def test_arrays_of_any_strides_are_filled(case: Case) -> None:
    """The elements of a slice, transpose or reversal of a larger array, and nothing beside them."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        rng = np.arange(ep.segment.nbytes - BASE)
        ep.segment[BASE:] = (rng * 7 + rng // 256 + ep.rank) % 251 + 1
        await x.barrier()
        memory = np.zeros_like(ep.segment)
        memory[BASE:] = (rng * 7 + rng // 256 + right(ep)) % 251 + 1
        for pick in (np.s_[:], np.s_[::-1], np.s_[::2, ::-2, 1:5], np.s_[2], np.s_[:, :, 3], np.s_[..., ::-1]):
            for turn in ((0, 1, 2), (2, 0, 1)):
                whole = np.zeros((4, 5, 6), "i4").transpose(turn)
                out = whole[pick]
                strides = _c_strides(out.shape, 4, 3)
                assert await x.get_strided(right(ep), BASE, strides, out=out) is out
                expected = np.zeros_like(whole)
                expected[pick] = np.ndarray(out.shape, "i4", memory.data, BASE, strides)
                np.testing.assert_array_equal(whole, expected)

    case.run(main, segment=1 << 13)


@pytest.mark.rule("X44", "X5")
@pytest.mark.parametrize(
    ("shape", "dtype", "strides"),
    [
        ((2, 3, 5), "u1", (-48, 8, -1)),
        ((5, 3, 5), "u1", (1, 40, 7)),
        ((2, 3, 5), "f4", (-300, -60, -12)),
        ((3, 4), "i4", (4, 12)),
        ((3, 4), "V3", (7, -21)),
        ((2,), "i8", (-1001,)),
        ((1, 1, 2), "i2", (1 << 70, -5, 2)),
    ],
    ids=str,
)
def test_strides_there_may_be_any_bytes(
    case: Case, shape: tuple[int, ...], dtype: str, strides: tuple[int, ...]
) -> None:
    """Negative, no multiples of the element, a transpose; what is put comes back, and no other byte changes."""
    step_by_step = [int(np.dot(place, strides)) for place in np.ndindex(*shape)]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        ep.segment[:] = 99
        await x.barrier()
        values = ((np.arange(len(step_by_step) * np.dtype(dtype).itemsize) + ep.rank) % 97).astype(np.uint8)
        array = values.view(dtype).reshape(shape)
        await x.put_strided(right(ep), BASE, strides, array)
        out = np.zeros_like(array)
        await x.get_strided(right(ep), BASE, strides, out)
        assert out.tobytes() == array.tobytes()
        await x.barrier()
        expected = np.full_like(ep.segment, 99)
        came = ((np.arange(values.size) + left(ep)) % 97).astype(np.uint8).reshape(-1, array.itemsize)
        for start, element in zip(step_by_step, came, strict=True):
            expected[BASE + start : BASE + start + array.itemsize] = element
        np.testing.assert_array_equal(ep.segment, expected)

    case.run(main, segment=1 << 12)


@pytest.mark.rule("X44", "X41")
@pytest.mark.crowds
def test_halo_faces_of_a_block_are_exchanged(case: Case) -> None:
    """Every face of a 3-D block goes into the halo of the next rank's, straight from array to array."""
    n = 6
    strides = tuple(8 * step for step in ((n + 2) ** 2, n + 2, 1))

    def offset(*place: int) -> int:
        return sum(i * step for i, step in zip(place, strides, strict=True))

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        block = np.ndarray((n + 2,) * 3, "f8", ep.segment.data)
        inner = block[1:-1, 1:-1, 1:-1]
        inner[...] = _block(n, n, n) + 1000 * ep.rank
        await x.barrier()
        for axis in range(3):
            face = [slice(1, -1)] * 3
            face[axis] = slice(n, n + 1)
            place = [1, 1, 1]
            place[axis] = 0
            await x.put_strided_nbi(right(ep), offset(*place), strides, block[tuple(face)])
        await x.sync_puts()
        await x.barrier()
        theirs = _block(n, n, n) + 1000 * left(ep)
        np.testing.assert_array_equal(block[0, 1:-1, 1:-1], theirs[-1])
        np.testing.assert_array_equal(block[1:-1, 0, 1:-1], theirs[:, -1])
        np.testing.assert_array_equal(block[1:-1, 1:-1, 0], theirs[:, :, -1])
        np.testing.assert_array_equal(inner, _block(n, n, n) + 1000 * ep.rank)
        assert not block[-1].any()
        low = np.zeros((n, n))
        await x.get_strided(left(ep), offset(1, 1, 1), (strides[0], strides[1]), low)
        np.testing.assert_array_equal(low, theirs[:, :, 0])

    case.run(main)


@pytest.mark.rule("X44", "X45")
@pytest.mark.crowds
def test_a_matrix_dealt_out_by_rows_is_transposed(case: Case) -> None:
    """Every rank puts a block into every other, turned round on the way."""
    n = 5

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        whole = _block(n * ep.size, n * ep.size, dtype="i8")
        mine = whole[n * ep.rank : n * (ep.rank + 1)]
        row = 8 * n * ep.size
        for dest in range(ep.size):
            block = mine[:, n * dest : n * (dest + 1)]
            await x.put_strided_nbi(dest, 8 * n * ep.rank, (row, 8), block.T)
        await x.sync()
        await x.barrier()
        held = ep.segment[: n * row].view("i8").reshape(n, n * ep.size)
        np.testing.assert_array_equal(held, whole.T[n * ep.rank : n * (ep.rank + 1)])

    case.run(main)


@pytest.mark.rule("X44", "X9")
def test_elements_may_be_of_any_plain_type(case: Case) -> None:
    """Records, dates, text, foreign byte orders, bools: the bytes of each are what travels."""
    kinds: list[npt.NDArray[Any]] = [
        np.arange(12, dtype=">i4"),
        np.arange(12) % 2 == 0,
        np.arange(12) * (1 - 2j),
        np.arange(12).astype("M8[s]"),
        np.arange(12).astype("m8[h]"),
        np.array([f"a{n}" for n in range(12)], "S5"),
        np.array([f"ä{n}" for n in range(12)], "U3"),
        np.array([(n, n / 2) for n in range(12)], dtype=[("a", "i2"), ("b", ">f8")]),
        np.frombuffer(bytes(range(84)), "V7"),
        # What numpy does not export as a buffer.
        np.frombuffer(bytes(range(192)), [("t", "M8[s]"), ("v", "f8")]),
        np.frombuffer(bytes(range(48)), {"names": ["b", "a"], "formats": ["i2", "i2"], "offsets": [2, 0]}),
        np.frombuffer(bytes(range(48)), {"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 1]}),
    ]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for values in kinds:
            array = values.reshape(3, 4)[::-1, ::2]
            strides = (7 * array.itemsize + 1, 3 * array.itemsize)
            await x.put_strided(right(ep), BASE, strides, array)
            out = np.zeros((2, 3), array.dtype).T
            assert await x.get_strided(right(ep), BASE, strides, out) is out
            assert out.tobytes() == array.tobytes()
            whole = np.zeros(12, array.dtype)  # contiguous here and there
            await x.put_strided(right(ep), BASE, (array.itemsize,), values)
            await x.get_strided(right(ep), BASE, (array.itemsize,), whole)
            assert whole.tobytes() == values.tobytes()
            await x.put_strided(right(ep), BASE, (), array[1, 1, ...])
            single = np.zeros((), array.dtype)
            await x.get_strided(right(ep), BASE, (), single)
            assert single.tobytes() == array[1:2, 1:2].tobytes()
            await x.barrier()

    case.with_ranks(min(case.size, 3)).run(main, segment=1 << 13)


@pytest.mark.rule("X47", "X8")
def test_arrays_without_elements_are_nothing(case: Case) -> None:
    """Offset and strides may be any; nothing is sent, and all is complete at once."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for array in (
            np.zeros(0),
            np.zeros((3, 0, 2)),
            np.zeros((2, 2), "S0").reshape(2, 2)[:0],
            np.zeros((4, 4))[2:2],
        ):
            strides = (-(1 << 80),) * array.ndim
            await x.put_strided(right(ep), 1 << 70, strides, array)
            assert await x.get_strided(right(ep), -1, strides, array) is array
            assert (await x.put_strided_nb(right(ep), -1, strides, array)).done
            assert (await x.get_strided_nb(right(ep), -1, strides, array)).done
            await x.put_strided_nbi(right(ep), -1, strides, array)
            await x.get_strided_nbi(right(ep), -1, strides, array)
        await x.sync()

    result = case.run(main, segment=64)
    assert [counts["requests_sent"] for counts in result.statistics] == [0] * case.size


@pytest.mark.rule("X48", "X44")
def test_elements_of_a_get_may_lie_on_one_another(case: Case) -> None:
    """With a stride of 0 one row fills all, with a small one windows slide over the data."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        ep.segment[:64].view("i4")[:] = _block(16) + 100 * ep.rank
        await x.barrier()
        there = _block(16) + 100 * right(ep)
        rows = np.zeros((5, 4), "i4")
        await x.get_strided(right(ep), 8, (0, 4), rows)
        np.testing.assert_array_equal(rows, np.broadcast_to(there[2:6], (5, 4)))
        windows = np.zeros((10, 3), "i4")
        await x.get_strided(right(ep), 0, (4, 4), windows)
        np.testing.assert_array_equal(windows, np.lib.stride_tricks.sliding_window_view(there, 3)[:10])
        same = np.zeros((3, 3), "i4")
        await x.get_strided(right(ep), 60, (0, 0), same)
        assert (same == there[15]).all()

    case.run(main)


@pytest.mark.rule("X44", "X50")
def test_there_is_no_largest_number_of_dimensions(case: Case) -> None:
    """As many as numpy has, most of them of one element; ten of two, none of which can be joined."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        thin = _block(*([1] * 31), 3)
        await x.put_strided(right(ep), BASE, (5,) * 31 + (8,), thin)
        back = np.zeros_like(thin)
        await x.get_strided(right(ep), BASE, (-5,) * 31 + (8,), back)
        np.testing.assert_array_equal(back, thin)
        await x.barrier()
        cube = _block(*([2] * 10), dtype="u2").transpose(*reversed(range(10)))
        strides = tuple(3 * 2**axis for axis in (3, 8, 0, 5, 9, 1, 7, 2, 6, 4))
        await x.put_strided(right(ep), BASE, strides, cube)
        turned = np.zeros_like(cube)
        await x.get_strided(right(ep), BASE, strides, turned)
        np.testing.assert_array_equal(turned, cube)
        await x.barrier()
        np.testing.assert_array_equal(_there(ep, cube.shape, strides, "u2"), cube)

    case.run(main, segment=1 << 13)


@pytest.mark.rule("X44", "X51", "X6")
@pytest.mark.parametrize("where", ["in", "out"])
def test_long_rows_are_moved_too(case: Case, where: str) -> None:
    """Rows around the largest medium message, with gaps here, there and on both sides."""
    most = room_for(case, 8)
    widths = [most - 1, most, most + 1]
    segment = 4096 + 3 * 2 * (most + 9) + 2 * 3 * (most + 9)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for width in widths:
            span = 2 * 3 * (most + 9)
            memory = ep.segment[4096 + span :] if where == "in" else np.zeros(span, np.uint8)
            wide = memory[: 2 * (width + 5)].reshape(2, width + 5)
            wide[...] = (np.arange(wide.size) * 11 % 253 + ep.rank % 3).reshape(wide.shape)
            sent = wide[:, 2 : width + 2].copy()
            for step in (width, width + 7):
                await x.put_strided(right(ep), 64, (step, 1), wide[:, 2 : width + 2])
                out = np.zeros((2, width), np.uint8)
                await x.get_strided(right(ep), 64, (step, 1), out)
                np.testing.assert_array_equal(out, sent)
                wide[:, 2 : width + 2] = 0
                await x.get_strided(right(ep), 64, (step, 1), wide[:, 2 : width + 2])
                np.testing.assert_array_equal(wide[:, 2 : width + 2], sent)

    case.with_ranks(min(case.size, 2)).run(main, segment=segment)
