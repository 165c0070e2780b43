"""The map of the heap against a list that says of every byte whether it is taken."""

from hypothesis import given
from hypothesis import strategies as st

from extended.heap.map import HeapMap

SIZE = 200

steps = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 80), st.sampled_from((1, 2, 4, 8, 64))),
        st.integers(0, 20),  # which block to free
    ),
    max_size=30,
)


def _highest(taken, nbytes, align):
    places = (at for at in range(SIZE - nbytes, -1, -1) if at % align == 0 and not any(taken[at : at + nbytes]))
    return next(places, None)


@given(steps)
def test_blocks_take_the_highest_place_with_room(steps):
    heap, taken, blocks = HeapMap(SIZE), [False] * SIZE, {}
    for step in steps:
        if isinstance(step, tuple):
            nbytes, align = step
            size = max(nbytes, 1)
            expected = _highest(taken, size, align)
            assert heap.allocate(nbytes, align) == expected
            if expected is not None:
                taken[expected : expected + size] = [True] * size
                blocks[expected] = size
        elif blocks:
            offset = sorted(blocks)[step % len(blocks)]
            size = blocks.pop(offset)
            taken[offset : offset + size] = [False] * size
            assert heap.free(offset)
            assert not heap.free(offset)
        gaps = "".join(".#"[used] for used in taken).split("#")
        assert heap.left() == (sum(map(len, gaps)), max(map(len, gaps)))
        assert heap.low == (taken.index(True) if any(taken) else SIZE)


def test_what_is_no_block_is_not_freed():
    heap = HeapMap(SIZE)
    offset = heap.allocate(16, 1)
    assert not heap.free(offset + 1)
    assert not heap.free(0)
    assert heap.left() == (SIZE - 16, SIZE - 16)


def test_an_empty_segment_has_no_room():
    heap = HeapMap(0)
    assert heap.allocate(0, 1) is None
    assert heap.left() == (0, 0)
    assert heap.low == 0
