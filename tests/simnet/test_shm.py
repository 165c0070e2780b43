"""The inbox of arrived messages in a host's shared memory."""

from hypothesis import given
from hypothesis import strategies as st

from conduit.simnet.shm import SLOTS, _Inbox
from conduit.simnet.simulated import MAX_RANKS

arrivals = st.tuples(st.integers(0, MAX_RANKS - 1), st.booleans(), st.integers(0, SLOTS - 1))


@given(st.lists(st.one_of(arrivals, st.none()), max_size=60), st.integers(1, 5))
def test_an_inbox_gives_what_was_put_in_order_for_every_rank_of_the_largest_job(digest_log, capacity):
    inbox, expected = _Inbox(capacity), []
    for act in [*digest_log, *[None] * capacity]:
        if act is not None and len(expected) < capacity:
            inbox.put(*act)
            expected.append(act)
        elif act is None and expected:
            assert inbox.get() == expected.pop(0)
        assert inbox.tail - inbox.head == len(expected)
