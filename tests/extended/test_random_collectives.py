"""The suite's random collectives, many more of them, on any number of ranks and hosts, with small limits."""

from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from extended.conformance.test_random_collectives import play, scripts


@given(
    script=scripts(),
    ranks=st.sampled_from((1, 2, 3, 5, 6, 8, 11)),
    ranks_per_host=st.sampled_from((1, 2, 3, 4)),
    slots=st.sampled_from((1, 16)),
)
@settings(max_examples=60)
def test_any_calls_give_what_numpy_gives(script, ranks, ranks_per_host, slots):
    spec = f"loggp:max_medium=512,max_long=1000,order=weak,slots={slots}"
    result = conduit.run(play, script, ranks=ranks, ranks_per_host=ranks_per_host, conduit=spec)
    assert set(result.values) == {len(script)}
