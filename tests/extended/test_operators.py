"""What is refused as an operation of collectives."""

import functools
import re

import numpy as np
import pytest

import conduit
from extended import Extended, shmem, upc


@pytest.mark.parametrize(
    ("op", "name", "meant"),
    [
        (sum, "sum", "sum"), (np.sum, "sum", "sum"), (np.prod, "prod", "prod"), (np.max, "a?max", "max"),
        (np.amin, "a?min", "min"),
    ],
    ids=["sum", "numpy.sum", "numpy.prod", "numpy.max", "numpy.amin"],
)  # fmt: skip
@pytest.mark.parametrize("call", ["all_reduce", "reduce", "scan"])
def test_what_reduces_one_array_is_no_operation(call, op, name, meant):
    """`sum` of two arrays is the sum of one of them beside the other: a wrong result, if it were taken."""

    async def main(ep):
        x = await Extended.attach(ep)
        await getattr(x, call)(np.ones(2), op)

    said = rf"\A{call}: op={name} reduces a single array, and an operation makes one of two; write op='{meant}'"
    with pytest.raises(conduit.BadRequest, match=said):
        conduit.run(main, conduit="loggp")


@pytest.mark.parametrize(("op", "name"), [(sum, "sum"), (np.prod, "prod")])
def test_nor_is_it_one_of_shared_arrays(op, name):
    async def main(t):
        a = await t.all_alloc(8)
        b = await t.all_alloc(1)
        await t.all_reduce((b, 0), a, op)

    said = rf"\At\.all_reduce: op={name} reduces a single array, and an operation makes one of two; write op='{name}'"
    with pytest.raises(conduit.BadRequest, match=said):
        upc.run(main, conduit="loggp")


def test_functions_of_numpy_that_take_two_arrays_are():
    async def main(ep):
        x = await Extended.attach(ep)
        return (await x.all_reduce(np.eye(2) * (ep.rank + 1), np.dot)).tolist()

    assert conduit.run(main, conduit="loggp").values == [[[2, 0], [0, 2]]] * 2


class Failing:
    """Operations in Python that are no functions, and fail at a line of their own."""

    def __call__(self, left, right):
        raise KeyError("oops")

    def method(self, left, right):
        raise KeyError("oops")


@pytest.mark.parametrize("op", [Failing(), Failing().method, functools.partial(Failing.method, None)])
def test_an_operation_in_python_that_fails_keeps_its_error_and_line(op):
    async def main(ep):
        x = await Extended.attach(ep)
        await x.all_reduce(np.arange(2), op)

    with pytest.raises(KeyError, match="oops") as caught:
        conduit.run(main, conduit="loggp")
    assert caught.traceback[-1].frame.code.raw.co_qualname.startswith("Failing.")


@pytest.mark.parametrize("op", [np.concatenate, functools.partial(int, 3)])
def test_an_operation_in_c_that_fails_is_told_what_it_was_given(op):
    async def main(ep):
        x = await Extended.attach(ep)
        await x.all_reduce(np.arange(2), op)

    said = r"\Aall_reduce: op=.* fails on two arrays of shape \(2,\) and dtype int64: TypeError: .*; give a function"
    with pytest.raises(conduit.BadRequest, match=said):
        conduit.run(main, conduit="loggp")


@pytest.mark.parametrize(
    ("op", "meant"),
    [("add", "sum"), ("SUM", "sum"), ("maximum", "max"), ("band", "and"), ("prd", "prod"), ("*", "prod")],
)
def test_a_word_of_others_is_told_the_name_here(op, meant):
    async def of_arrays(t):
        a = await t.all_alloc(8)
        b = await t.all_alloc(1)
        await t.all_reduce((b, 0), a, op)

    async def of_pes(pe):
        a = await pe.zeros(1)
        await pe.reduce(a, a, op)

    said = rf"\At\.all_reduce: op={re.escape(repr(op))} is none; write '{meant}', or give one of sum prod "
    with pytest.raises(conduit.BadRequest, match=said):
        upc.run(of_arrays, conduit="loggp")
    if op != "SUM":  # which is taken there
        said = rf"\Ape\.reduce: op={re.escape(repr(op))} is not known; write '{meant}', or give one of and, or, "
        with pytest.raises(conduit.BadRequest, match=said):
            shmem.run(of_pes, conduit="loggp")
