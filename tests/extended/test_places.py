"""Places of non-contiguous transfers by themselves, against lists of the addresses of single bytes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extended.vis.items import Items
from extended.vis.local import Several, array
from extended.vis.region import StridedRegion, local_items
from extended.vis.runs import ArrivedRuns, Runs

SIZE = 4000

pieces = st.lists(
    st.tuples(st.integers(0, SIZE - 700), st.one_of(st.integers(0, 12), st.integers(0, 700))), min_size=1, max_size=40
)


def _memory():
    return (np.arange(SIZE) * 7 + np.arange(SIZE) // 256).astype(np.uint8)


def _addresses(starts, lengths):
    return [start + byte for start, length in zip(starts, lengths, strict=True) for byte in range(length)]


def _runs(listed):
    both = np.array(listed, np.int64)
    return Runs.of(both[:, 0], both[:, 1])


@st.composite
def lattices(draw):
    """Give base, shape, strides and size of elements that stay inside the memory."""
    shape = draw(st.lists(st.integers(1, 4), max_size=4))
    size = draw(st.integers(1, 9))
    room = SIZE // 2 // max(1, sum(shape))
    steps = draw(st.lists(st.integers(-room, room), min_size=len(shape), max_size=len(shape)))
    if draw(st.booleans()):  # often of some contiguous dimensions
        step = size
        for axis in reversed(range(len(shape))):
            steps[axis] = step
            step *= shape[axis]
            if draw(st.booleans()):
                break
    return SIZE // 2, shape, steps, size


def _lattice_addresses(base, shape, steps, size):
    return [
        base + sum(i * step for i, step in zip(place, steps, strict=True)) + byte
        for place in itertools.product(*map(range, shape))
        for byte in range(size)
    ]


@given(lattices())
def test_a_lattice_is_its_elements_in_order(drawn):
    lattice = StridedRegion.of(*drawn)
    addresses = _lattice_addresses(*drawn)
    memory = _memory()
    assert lattice.nbytes == len(addresses)
    assert lattice.extent() == (min(addresses), max(addresses) + 1)
    assert lattice.read(memory.data) == memory[addresses].tobytes()
    runs = lattice.runs()
    assert _addresses(runs.starts.tolist(), runs.lengths.tolist()) == addresses
    assert len(lattice.pack()) == lattice.packed_bytes
    assert StridedRegion.unpack(memoryview(lattice.pack())).runs().starts.tolist() == runs.starts.tolist()
    assert all(count > 1 for count in lattice.counts)
    if lattice.counts:
        assert lattice.strides[-1] != lattice.run  # else it could be said shorter


@given(lattices(), st.data())
def test_a_part_of_a_lattice_is_a_part_of_the_stream(drawn, data):
    lattice = StridedRegion.of(*drawn)
    addresses = _lattice_addresses(*drawn)
    start = data.draw(st.integers(0, len(addresses)))
    stop = data.draw(st.integers(start, len(addresses)))
    memory = _memory()
    items = lattice.items(memory.data)
    assert items.read(start, stop) == memory[addresses[start:stop]].tobytes()
    expected = memory.copy()
    if len(set(addresses)) == len(addresses):
        fresh = np.arange(stop - start).astype(np.uint8)
        expected[addresses[start:stop]] = fresh
        items.write(start, fresh.tobytes())
        np.testing.assert_array_equal(memory, expected)


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    dtype=st.sampled_from(("u1", ">i2", "<f8", "V3", "i4,f8", "M8[s]", "S5")),
    data=st.data(),
)
def test_an_array_of_any_strides_is_its_elements_in_order(shape, dtype, data):
    values = np.frombuffer(_memory().tobytes() * 2, np.dtype(dtype), 4**4 + 40).copy()[: int(np.prod(shape))]
    values = values.reshape(shape).transpose(data.draw(st.permutations(range(len(shape)))))
    steps = st.sampled_from((slice(None), slice(None, None, -1), slice(None, None, 2)))
    values = values[tuple(data.draw(steps) for _ in shape)]
    stream = array(values)
    flat = values.copy(order="C").view(f"V{values.itemsize}").tobytes()
    assert stream.nbytes == len(flat)
    start = data.draw(st.integers(0, len(flat)))
    stop = data.draw(st.integers(start, len(flat)))
    assert bytes(stream.read(start, stop)) == flat[start:stop]
    view = stream.view(start, stop)
    assert view is None or bytes(view) == flat[start:stop]
    fresh = bytes((3 * n + 1) % 256 for n in range(stop - start))
    stream.write(start, fresh)
    assert values.copy(order="C").tobytes() == flat[:start] + fresh + flat[stop:]


@given(st.lists(st.integers(0, 9), max_size=8), st.data())
def test_several_buffers_are_one_stream(sizes, data):
    parts = [bytearray(range(10 * n, 10 * n + size)) for n, size in enumerate(sizes)]
    flat = b"".join(parts)
    stream = Several([memoryview(part) for part in parts])
    start = data.draw(st.integers(0, len(flat)))
    stop = data.draw(st.integers(start, len(flat)))
    assert stream.nbytes == len(flat)
    assert bytes(stream.read(start, stop)) == flat[start:stop]
    stream.write(start, bytes(stop - start))
    assert b"".join(parts) == flat[:start] + bytes(stop - start) + flat[stop:]


@given(pieces)
def test_runs_are_their_pieces_in_order(listed):
    runs = _runs(listed)
    assert _addresses(runs.starts.tolist(), runs.lengths.tolist()) == _addresses(*zip(*listed, strict=True))
    assert (runs.lengths > 0).all()
    memory = _memory()
    if runs.nbytes:
        assert runs.read(memory.data) == memory[_addresses(*zip(*listed, strict=True))].tobytes()


def _fewest(runs, first, last, places, data, both):
    """Count the messages of a walk over the bytes that begins a new one only when it must."""
    entry = runs.entry()
    messages, entries, carried = 0, places + 1, 0
    for length in runs.lengths[first:last].tolist():
        fresh = True
        for _ in range(length):
            cost = entry if fresh else 0
            # A run that would not have room for a byte begins in the next message.
            if (entries + cost > places) or carried + 1 > data or entries + cost + carried + 1 > both:
                messages, entries, carried, cost = messages + 1, 0, 0, entry
            entries, carried, fresh = entries + cost, carried + 1, False
    return messages


@given(pieces, st.integers(20, 800), st.booleans())
def test_runs_are_cut_into_as_few_parts_as_possible(listed, most, get):
    runs = _runs(listed)
    if not runs.nbytes:
        return
    both = 2 * most if get else most
    cuts = list(runs.cuts(0, len(runs.starts), most, most, both))
    memory, at = _memory(), 0
    addresses = _addresses(runs.starts.tolist(), runs.lengths.tolist())
    for cut in cuts:
        packed = runs.pack(cut.first, cut.last)
        assert cut.at == at
        assert cut.nbytes > 0
        assert len(packed) <= most
        assert cut.nbytes <= most
        assert len(packed) + cut.nbytes <= both
        code = runs.code()
        where = ArrivedRuns(memoryview(packed), (code & 15, code >> 4), runs.length, cut.skip, cut.nbytes)
        assert where.read(memory.data) == memory[addresses[at : at + cut.nbytes]].tobytes()
        if len(set(addresses)) == len(addresses):
            fresh = (np.arange(cut.nbytes) + at).astype(np.uint8)
            where.write(memory.data, fresh.tobytes())
            np.testing.assert_array_equal(memory[addresses[at : at + cut.nbytes]], fresh)
        at += cut.nbytes
    assert at == runs.nbytes
    assert len(cuts) == _fewest(runs, 0, len(runs.starts), most, most, both)


@given(pieces, st.integers(100, 600))
def test_long_runs_go_by_themselves(listed, most):
    runs = _runs(listed)
    found = []
    for first, last in runs.groups(most):
        long = [length > most for length in runs.lengths[first:last].tolist()]
        assert long == [True] or not any(long)
        found += range(first, last)
    assert found == list(range(len(runs.starts)))
    for number in found:
        start, at, length = runs.run(number)
        assert (start, length) == (runs.starts[number], runs.lengths[number])
        assert at == sum(runs.lengths[:number].tolist())


def test_neighbours_are_joined_only_where_that_is_shorter():
    def runs(starts):
        return Runs.of(np.array(starts, np.int64), np.full(len(starts), 8, np.int64))

    assert runs([0, 8, 16, 100, 108]).lengths.tolist() == [24, 16]
    assert runs([0, 16, 32, 40, 60]).lengths.tolist() == [8] * 5  # five offsets are less than four offsets and lengths
    assert runs([0, 8, 16]).only() == 0


def test_an_element_by_itself_can_be_written():
    memory = np.zeros(16, np.uint8)
    items = Items(np.ndarray((), "V4", memory, 8, ()))
    items.write(1, b"ab")
    assert memory.tolist() == [0] * 9 + [97, 98] + [0] * 5
    assert items.read(1, 4) == b"ab\0"


@pytest.mark.parametrize("dtype", ["f8", ">i2", "V5"])
def test_a_transpose_is_read_by_columns(dtype):
    values = np.frombuffer(bytes(range(240)), dtype)[:20].reshape(4, 5)
    assert local_items(values.T).read(0, values.nbytes) == values.T.copy().tobytes()
