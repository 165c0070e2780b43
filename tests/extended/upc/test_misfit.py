"""What is said of a value that cannot be assigned to elements of a shared array."""

import re

import numpy as np
import pytest

import conduit
from extended import upc

ONE = "and the index selects an element of dtype float64; give one value"
SOME = "and the index selects elements of dtype float64, in shape (2,); give values of shape (2,), or one for all"


@pytest.mark.parametrize(
    ("index", "value", "said"),
    [
        (0, [1, 2, 3], f"v has shape (3,), {ONE}"),
        (7, np.arange(3), f"v has shape (3,), {ONE}"),
        (0, "abc", f"v is 'abc', {ONE}"),
        (7, 1 + 2j, f"v is (1+2j), {ONE}"),
        (0, [1, [2]], f"v has parts of different lengths, {ONE}"),
        (slice(0, 2), [1, 2, 3], f"v has shape (3,), {SOME}"),
        (slice(0, 2), ["a", "b"], f"v has elements of dtype <U1, {SOME}"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_what_would(index, value, said):
    async def main(t):
        a = await t.all_alloc(8)
        if t.MYTHREAD == 0:
            a[index] = value

    with pytest.raises(conduit.BadRequest, match=re.escape(f"a[i] = v: {said}")):
        upc.run(main, threads=2, conduit="loggp")


def test_a_number_that_the_dtype_cannot_hold_is_told():
    async def main(t):
        a = await t.all_alloc(8, "i8")
        a[t.MYTHREAD] = 2**70

    said = f"a[i] = v: v is {2**70}, which is out of range, and the index selects an element of dtype int64; give one"
    with pytest.raises(conduit.BadRequest, match=re.escape(said)):
        upc.run(main, threads=2, conduit="loggp")
