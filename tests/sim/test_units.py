"""Times: whole picoseconds inside, seconds outside."""

import math
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from conduit.sim.units import deadline_ps, duration, ps, seconds

DEADLINES = st.floats(min_value=0, max_value=1e3, allow_nan=False)


@given(DEADLINES)
@example(131.661e-6)
@example(0.0)
@example(5e-324)
def test_a_deadline_is_the_first_picosecond_that_is_not_before_it(deadline):
    """Not before and not after: Trio and the kernel must agree on the instant at which it is due."""
    ticks = deadline_ps(deadline)
    assert seconds(ticks) >= deadline
    assert seconds(ticks - 1) < deadline


@given(st.integers(min_value=0, max_value=10**15))
def test_a_time_survives_the_way_to_seconds_and_back(ticks):
    assert ps(seconds(ticks)) == ticks
    assert deadline_ps(seconds(ticks)) == ticks


@given(st.integers(min_value=0, max_value=10**9), st.integers(min_value=1, max_value=10**10))
def test_a_duration_is_rounded_up(nbytes, rate):
    assert duration(nbytes, rate) == math.ceil(Fraction(nbytes * 10**12, rate))
