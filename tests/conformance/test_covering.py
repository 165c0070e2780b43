"""Covering arrays against their definition."""

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduit.conformance.covering import covering_array, full_product

factors_of = st.lists(st.integers(1, 5), min_size=1, max_size=6).map(
    lambda sizes: {f"f{number}": tuple(range(size)) for number, size in enumerate(sizes)}
)


def missing(rows, factors, strength, allowed=lambda row: True):
    """Give the combinations that some allowed row of the product holds and no row given does."""
    everything = [
        row for row in (dict(zip(factors, v, strict=True)) for v in product(*factors.values())) if allowed(row)
    ]

    def held(rows):
        return {tuple((f, row[f]) for f in names) for row in rows for names in combinations(factors, strength)}

    return held(everything) - held(rows)


@given(factors_of, st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=60)
def test_every_combination_occurs(factors, strength, seed):
    strength = min(strength, len(factors))
    rows = covering_array(factors, strength, seed=seed)
    assert missing(rows, factors, strength) == set()
    assert all(row.keys() == factors.keys() for row in rows)


@given(factors_of, st.integers(0, 99))
@settings(max_examples=60)
def test_rows_are_allowed_and_cover_what_allowed_rows_can(factors, seed):
    def allowed(row):
        return sum(row.values()) % 3 != 1

    rows = covering_array(factors, 2, allowed=allowed, seed=seed)
    assert all(allowed(row) for row in rows)
    assert missing(rows, factors, min(2, len(factors)), allowed) == set()


def test_pairs_need_far_fewer_rows_than_the_product():
    factors = {f"f{number}": ("a", "b", "c") for number in range(8)}
    assert len(covering_array(factors)) <= 24
    assert len(full_product({"a": (1, 2), "b": (1, 2, 3)})) == 6


def test_the_seed_decides():
    factors = {f"f{number}": (0, 1, 2) for number in range(5)}
    assert covering_array(factors, seed=3) == covering_array(factors, seed=3)
    assert covering_array(factors, seed=3) != covering_array(factors, seed=4)


def test_wrong_questions_are_refused():
    with pytest.raises(ValueError, match=r"\Afactor 'x' has no values"):
        covering_array({"x": ()})
    with pytest.raises(ValueError, match=r"\Astrength is 0"):
        covering_array({"x": (1,)}, 0)
