"""The layout against UPC's definition, transcribed element by element."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extended.upc.layout import Layout
from extended.upc.selection import select, single


def _dealt(size, block, threads, first):
    """Deal elements as UPC's specification says: blocks in turn, each element behind the last of its thread."""
    owners, places, phases = [], [], []
    filled = [0] * threads
    thread, phase = first, 0
    for _ in range(size):
        if block is not None and phase == block:
            thread, phase = (thread + 1) % threads, 0
        owners.append(thread)
        places.append(filled[thread])
        phases.append(phase if block is not None else 0)
        filled[thread] += 1
        phase += 1
    return owners, places, phases, filled


blocks = st.one_of(st.none(), st.integers(1, 45))


@given(st.integers(0, 40), blocks, st.integers(1, 7), st.data())
def test_every_function_is_that_of_the_definition(size, block, threads, data):
    first = data.draw(st.integers(0, threads - 1))
    layout = Layout(size, block, threads, first)
    owners, places, phases, filled = _dealt(size, block, threads, first)
    flat = np.arange(size)
    assert layout.owner(flat).tolist() == owners == [layout.owner(i) for i in range(size)]
    assert layout.local(flat).tolist() == places == [layout.local(i) for i in range(size)]
    assert layout.phase(flat).tolist() == phases == [layout.phase(i) for i in range(size)]
    assert [layout.count(thread) for thread in range(threads)] == filled
    assert layout.most() == max(filled)
    for thread in range(threads):
        assert layout.indices(thread).tolist() == [i for i in range(size) if owners[i] == thread]


@given(st.integers(1, 40), blocks, st.integers(1, 7), st.data())
def test_indices_are_parted_by_owner_in_their_order(size, block, threads, data):
    layout = Layout(size, block, threads, data.draw(st.integers(0, threads - 1)))
    flat = np.array(data.draw(st.lists(st.integers(0, size - 1), max_size=60)), np.int64)
    parts = {owner: flat[positions].tolist() for owner, positions in layout.by_owner(flat)}
    assert parts == {
        owner: mine for owner in range(threads) if (mine := [i for i in flat.tolist() if layout.owner(i) == owner])
    }


@st.composite
def _indexed(draw):
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=0, max_size=3)))
    each = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        number = st.integers(-size - 1, size)
        each.append(
            draw(
                st.one_of(
                    number,
                    st.slices(size),
                    st.lists(number, max_size=3).map(lambda given: np.array(given, int)),
                    st.lists(st.booleans(), min_size=size, max_size=size).map(lambda given: np.array(given, bool)),
                )
            )
        )
    if draw(st.booleans()):
        each.insert(draw(st.integers(0, len(each))), ...)
    alone = len(each) == 1 and draw(st.booleans())  # an index that is no tuple
    return shape, each[0] if alone else tuple(each)


@given(_indexed())
def test_an_index_selects_what_it_selects_in_numpy(drawn):
    shape, index = drawn
    model = np.arange(int(np.prod(shape))).reshape(shape)
    try:
        wanted = model[index]
    except IndexError:
        wanted = None
    try:
        flat = single("a", shape, index)
        chosen = select("a", shape, index)
    except IndexError:
        assert wanted is None
        return
    assert wanted is not None
    assert chosen.shape == np.shape(wanted)
    assert chosen.flat.tolist() == np.ravel(wanted).tolist()
    assert chosen.single == isinstance(wanted, np.generic)
    assert flat is None or flat == wanted


@pytest.mark.parametrize("shape", [(5,), (5, 2)])
@pytest.mark.parametrize("dtype", ["i8", "i4", "u8"])
def test_an_array_of_indices_stays_as_it_was(shape, dtype):
    """Indices from the end are counted from the beginning in a copy."""
    index = np.array([3, -1, 0, -5] if dtype[0] == "i" else [3, 4, 0, 0], dtype)
    before = index.copy()
    chosen = select("a", shape, index)
    assert chosen.flat.tolist() == np.arange(np.prod(shape)).reshape(shape)[before].ravel().tolist()
    chosen.flat[:] = 0
    assert index.tolist() == before.tolist()
