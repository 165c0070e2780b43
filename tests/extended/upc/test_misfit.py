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
        (0, "abc", "v is 'abc', which is no number, and the index selects an element of dtype float64; give a number"),
        (7, 1 + 2j, f"v is (1+2j), which is no real number, {ONE.replace('one value', 'a real number')}"),
        (0, [1, [2]], f"v has parts of different lengths, {ONE}"),
        (slice(0, 2), [1, 2, 3], f"v has shape (3,), {SOME}"),
        (
            slice(0, 2),
            ["a", "b"],
            f"v has elements of dtype <U1, which are no numbers, {SOME.partition('give')[0]}give n",
        ),
        (slice(0, 2), [2j, 1], f"v has elements of dtype complex128, which are no real numbers, {SOME[:40]}"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_what_would(index, value, said):
    async def main(t):
        a = await t.all_alloc(8)
        if t.MYTHREAD == 0:
            a[index] = value

    with pytest.raises(conduit.BadRequest, match=re.escape(f"a[i] = v: {said}")):
        upc.run(main, threads=2, conduit="loggp")


@pytest.mark.parametrize("call", ["assign", "write"])
@pytest.mark.parametrize(
    ("index", "value", "said"),
    [
        (
            0,
            "abc",
            "value is 'abc', which is no number, and the index selects an element of dtype float64; give a number",
        ),
        (7, np.arange(3), f"value has shape (3,), {ONE}"),
        (slice(0, 2), [1, 2, 3], f"value has shape (3,), {SOME}"),
    ],
)
def test_calls_that_write_refuse_it_when_they_are_made(call, index, value, said):
    async def main(t):
        a = await t.all_alloc(8)
        with pytest.raises(conduit.BadRequest) as refused:
            getattr(a, call)(index, value)  # not awaited
        return str(refused.value), (await a[:]).any()

    assert upc.run(main, threads=2, conduit="loggp").values == [(f"a.{call}: {said}", False)] * 2


@pytest.mark.parametrize("call", ["assign", "write", "read"])
def test_calls_on_a_freed_array_are_named(call):
    async def main(t):
        a = await t.all_alloc(8)
        await t.all_free(a)
        with pytest.raises(
            conduit.BadRequest, match=rf"^a\.{call}: the array of shape \(8,\) and dtype float64 was freed "
        ):
            getattr(a, call)(*(0, 1)[: 1 if call == "read" else 2])

    upc.run(main, threads=1, conduit="loggp")


def test_a_value_that_is_written_is_that_of_the_call():
    async def main(t):
        a = await t.all_alloc(8, block=4)
        if t.MYTHREAD == 0:
            value = np.ones(8)
            for call in (a.write(slice(None), value), a.assign(slice(None), value + 1)):
                value[:] = 7
                await call
        await t.barrier()
        return (await a[:]).tolist()

    assert upc.run(main, threads=2, conduit="loggp").values == [[2.0] * 8] * 2


def test_a_number_that_the_dtype_cannot_hold_is_told():
    async def main(t):
        a = await t.all_alloc(8, "i8")
        a[t.MYTHREAD] = 2**70

    said = f"a[i] = v: v is {2**70}, which is out of range, and the index selects an element of dtype int64; give "
    said += "-9223372036854775808 to 9223372036854775807"
    with pytest.raises(conduit.BadRequest, match=re.escape(said)):
        upc.run(main, threads=2, conduit="loggp")


ADDED = "and the index selects elements of dtype int64, in shape (2,); give values of shape (2,), or one for all"


@pytest.mark.parametrize(
    ("index", "value", "said"),
    [
        (slice(0, 2), [1, 2, 3], f"v has shape (3,), {ADDED}"),
        (0, [1, 2], "v has shape (2,), and the index selects an element of dtype int64; give one value"),
        (slice(0, 2), [[1], [2, 3]], f"v has parts of different lengths, {ADDED}"),
        (
            slice(0, 2),
            2**70,
            f"v is {2**70}, which is out of range, {ADDED.partition('give')[0]}give {-(2**63)} to {2**63 - 1}",
        ),
        (slice(0, 2), None, f"v is None, which is no number, {ADDED.partition('give')[0]}give numbers"),
        (slice(0, 2), "abc", "v has dtype <U3, which cannot be added to dtype int64 as it is; convert it"),
        (0, 1.5, "v has dtype float64, which cannot be added to dtype int64 as it is; convert it"),
    ],
)
def test_what_cannot_be_added_is_told_as_what_cannot_be_assigned(index, value, said):
    async def main(t):
        a = await t.all_alloc(8, "i8")
        await a.add_at(index, value)

    with pytest.raises(conduit.BadRequest, match=f"(?m)^{re.escape(f'a.add_at: {said}')}$"):
        upc.run(main, threads=2, conduit="loggp")


LARGE = np.array([1, 2**40])


@pytest.mark.parametrize(
    ("call", "dtype", "said"),
    [
        (lambda a: a.add_at(0, 2**31), "i4", "a.add_at: v is 2147483648, which is out of range"),
        (lambda a: a.add_at(0, np.int64(-(2**31) - 1)), "i4", "a.add_at: v is np.int64(-2147483649), which is out of"),
        (lambda a: a.add_at([0, 3], [2**32, 1]), "u4", "a.add_at: v is [4294967296, 1], which is out of range"),
        (lambda a: a.add_at([0, 3], LARGE), "i4", f"a.add_at: v is {LARGE!r}, which is out of range"),
        (lambda a: a.add_at(0, 2**63), "i8", "a.add_at: v is 9223372036854775808, which is out of range"),
        (lambda a: a.add_at(3, -1), "u8", "a.add_at: v is -1, which is out of range"),
        (lambda a: a.fetch_add(0, 2**31), "i4", "a.fetch_add: v is 2147483648, which is out of range"),
        (lambda a: a.fetch_add(3, -1), "u4", "a.fetch_add: v is -1, which is out of range"),
        (lambda a: a.fetch_add(3, 2**64), "i8", "a.fetch_add: v is 18446744073709551616, which is out of range"),
        (lambda a: a.compare_swap(3, 2**31, 1), "i4", "a.compare_swap: expected is 2147483648, which is out of range"),
        (lambda a: a.compare_swap(3, 1, -1), "u8", "a.compare_swap: new is -1, which is out of range"),
    ],
)
def test_an_integer_that_the_dtype_cannot_hold_is_told_by_atomic_operations(call, dtype, said):
    async def main(t):
        a = await t.all_alloc(8, dtype)
        await call(a)

    with pytest.raises(conduit.BadRequest, match=f"(?m)^{re.escape(said)}.* dtype {np.dtype(dtype)}"):
        upc.run(main, threads=2, conduit="loggp")


def test_the_largest_and_smallest_integers_are_added():
    async def main(t):
        a = await t.all_alloc(2, "i4", block=1)
        b = await t.all_alloc(2, "u8", block=1)
        if t.MYTHREAD == 0:
            await a.add_at([0, 1], [2**31 - 1, -(2**31)])
            await b.fetch_add(1, 2**64 - 1)
            await b.add_at(0, 2**64 - 1)
            assert await b.compare_swap(0, 2**64 - 1, 2**63) == 2**64 - 1
        await t.barrier()
        return (await a[:]).tolist() + (await b[:]).tolist()

    assert upc.run(main, threads=2, conduit="loggp").values[1] == [2**31 - 1, -(2**31), 2**63, 2**64 - 1]


@pytest.mark.parametrize("dtype", ["i4", "u8", "f4", "f8"])
@pytest.mark.parametrize("value", [True, np.True_, np.array(True), np.array(3), np.int8(3)], ids=repr)
def test_every_atomic_operation_takes_what_numpy_takes_for_a_number(value, dtype):
    async def main(t):
        a = await t.all_alloc(4, dtype, block=2)
        if t.MYTHREAD == 0:
            for i in (0, 3):  # of this thread, and of another
                await a.add_at(i, value)
                assert await a.fetch_add(i, value) == value
                assert await a.compare_swap(i, value, 7) == 2 * int(value)
                assert await a.compare_swap(i, 2 * int(value), value) == 2 * int(value)
        await t.barrier()
        return (await a[:]).tolist()

    whole = np.zeros(4, dtype)
    np.add.at(whole, [0, 3], value)
    assert upc.run(main, threads=2, conduit="loggp").values[0] == whole.tolist()


@pytest.mark.parametrize("call", ["add_at", "fetch_add"])
def test_a_float_in_an_array_of_no_dimension_is_a_float(call):
    async def main(t):
        a, b = await t.all_alloc(2, "f8", block=1), await t.all_alloc(2, "i8", block=1)
        await getattr(a, call)(1, np.array(1.5))
        with pytest.raises(conduit.BadRequest, match=f"a.{call}: v"):
            await getattr(b, call)(1, np.array(1.5))
        await t.barrier()
        return await a[1]

    assert upc.run(main, threads=2, conduit="loggp").values == [3.0, 3.0]


def test_an_integer_of_more_than_64_bits_is_added_to_floats():
    async def main(t):
        a = await t.all_alloc(2, "f8", block=1)
        if t.MYTHREAD == 0:
            await a.add_at([0, 1], 2**70)
        await t.barrier()
        return (await a[:]).tolist()

    assert upc.run(main, threads=2, conduit="loggp").values[1] == [2.0**70] * 2


@pytest.mark.parametrize(
    ("value", "said"),
    [("abc", "is 'abc'"), ((1, 2, 3), "has shape (3,)")],
)
def test_what_is_no_element_of_several_fields_is_told_with_their_names(value, said):
    async def main(t):
        a = await t.all_alloc(8, [("n", "i4"), ("x", "f8")])
        a[0] = value

    dtype = "[('n', '<i4'), ('x', '<f8')]"
    said = f"a[i] = v: v {said}, and the index selects an element of dtype {dtype}; give a tuple of 2 fields, n, x"
    with pytest.raises(conduit.BadRequest, match=f"(?m)^{re.escape(said)}$"):
        upc.run(main, threads=1, conduit="loggp")
