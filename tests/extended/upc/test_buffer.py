"""The write buffer against a dictionary."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from extended.upc.buffer import Pending

place = st.integers(0, 9)
step = st.one_of(
    st.tuples(st.just("one"), place),
    st.tuples(st.just("many"), st.lists(place, max_size=5)),
    st.tuples(st.sampled_from(("compact", "take", "arrived", "back", "look")), st.just(0)),
)
send, cancelled = ("take", 0), ("back", 0)


@given(st.lists(step, max_size=30))
@example([("one", 3), send, ("one", 3), cancelled])
@example([("many", [3, 4]), send, ("many", [4, 5]), cancelled, send])
def test_the_latest_value_of_each_element_is_found_whatever_is_under_way(steps):
    pending, model, sent = Pending(np.dtype("i8")), {}, {}
    for value, (what, argument) in enumerate(steps):
        if what == "one":
            pending.put(argument, np.int64(value).tobytes())
            model[argument] = value
        elif what == "many":
            pending.put_many(np.array(argument, np.int64), 100 * value + np.arange(len(argument)))
            model |= {at: 100 * value + number for number, at in enumerate(argument)}
        elif what == "compact":
            assert pending.compact() == 8 * len(model)
        elif what == "take" and pending.leaving is None:
            flat, values = pending.take()
            assert dict(zip(flat.tolist(), values.tolist(), strict=True)) == model
            sent, model = model, {}
        elif what == "arrived" and pending.leaving is not None:
            pending.leaving, sent = None, {}
        elif what == "back" and pending.leaving is not None:
            pending.put_back()
            sent, model = {}, sent | model
        known, values = pending.lookup(np.arange(10))
        seen = sent | model
        assert {at: values[at] for at in np.flatnonzero(known).tolist()} == seen
        assert all((found := pending.find(at)) is None or np.frombuffer(found, "i8")[0] == seen[at] for at in range(10))
        assert all(pending.find(at) is not None for at in seen)
