"""Times: whole picoseconds inside, seconds outside."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conduit.sim.units import deadline_ps, duration, ps, seconds

# Up to the largest whose time in picoseconds is a float.
DEADLINES = st.floats(min_value=0, max_value=1e3, allow_nan=False) | st.floats(min_value=0, max_value=1e296)


@given(DEADLINES)
@example(131.661e-6)
@example(0.0)
@example(5e-324)
@example(9007.199254740992)  # 2**53 ps
@example(math.nextafter(9007.199254740992, 0))
@example(math.nextafter(9007.199254740992, 1e9))
@example(18014.398509481984)
@example(1e10)
@example(1e296)
def test_a_deadline_is_the_first_picosecond_that_is_not_before_it(deadline):
    """Not before and not after: Trio and the kernel must agree on the instant at which it is due."""
    ticks = deadline_ps(deadline)
    assert seconds(ticks) >= deadline
    assert seconds(ticks - 1) < deadline


@pytest.mark.parametrize("deadline", [1e297, 1.7e308])
def test_a_deadline_past_all_times_is_past_all_times(deadline):
    assert deadline_ps(deadline) == int(deadline) * 10**12


@pytest.mark.parametrize("deadline", [-5e-324, -1e-12, -1.0, -1e300, -math.inf])
def test_a_deadline_before_the_start_is_due_at_the_start(deadline):
    assert deadline_ps(deadline) == 0


@given(st.integers(min_value=0, max_value=10**15))
def test_a_time_survives_the_way_to_seconds_and_back(ticks):
    assert ps(seconds(ticks)) == ticks
    assert deadline_ps(seconds(ticks)) == ticks


@given(st.integers(min_value=0, max_value=10**9), st.integers(min_value=1, max_value=10**10))
def test_a_duration_is_rounded_up(nbytes, rate):
    assert duration(nbytes, rate) == math.ceil(Fraction(nbytes * 10**12, rate))
