"""Arguments of a wrong kind: each is refused at the call with a BadRequest that names it."""

import copy
import ctypes
import functools
import pickle
import threading
import warnings

import numpy as np
import pytest

import conduit
from conduit.words import is_a
from extended import Extended, shmem, upc
from extended.windows import Win

OBJECTS = {
    "array": np.array([object()], dtype=object),
    "matrix": np.full((2, 2), None),
    "record": np.zeros(1, dtype=[("a", "i4"), ("b", object)]),
    "nested": np.zeros(1, dtype=[("a", [("b", "i8"), ("c", object)])]),
    "subarray": np.zeros(1, dtype=[("a", object, (2,))]),
    "view": memoryview(np.array([None, 1])),
    "ctypes": (ctypes.py_object * 2)(1, 2),
}


def _box(ep):
    got = []

    def land(token, payload=b"", *args):
        got.append(bytes(payload))

    return got, land


@pytest.mark.parametrize("kind", OBJECTS)
def test_references_to_objects_are_no_payload(on_loggp, kind):
    async def main(ep):
        got, land = _box(ep)
        answered = []
        refused = "payload is a .*: its elements are references to objects, which mean nothing on another rank; pass"

        def ask(token):
            with pytest.raises(conduit.BadRequest, match=rf"\Atoken\.reply_medium: {refused}"):
                token.reply_medium(land, OBJECTS[kind])
            with pytest.raises(conduit.BadRequest, match=rf"\Atoken\.reply_long: {refused}"):
                token.reply_long(land, OBJECTS[kind], 0)
            answered.append(1)

        await ep.attach(land, ask)
        with pytest.raises(conduit.BadRequest, match=rf"\Aep\.request_medium: {refused}"):
            ep.request_medium(1 - ep.rank, land, OBJECTS[kind])
        with pytest.raises(conduit.BadRequest, match=rf"\Aep\.request_long: {refused}"):
            ep.request_long(1 - ep.rank, land, OBJECTS[kind], 0)
        await ep.request_short(1 - ep.rank, ask)
        await ep.block_until(lambda: answered)
        return got

    assert on_loggp.run(main).values == [[], []]


def test_a_field_may_have_any_name(on_loggp):
    async def main(ep):
        got, land = _box(ep)
        await ep.attach(land)
        record = np.zeros(2, dtype=[("O", "i4"), ("Ox", "f8"), ("in", [("O O", "u1")])])
        record["O"] = 7
        await ep.request_medium(1 - ep.rank, land, record)
        await ep.block_until(lambda: got)
        return got == [record.tobytes()]

    assert on_loggp.run(main).values == [True, True]


class _Raises:
    def __index__(self):
        raise TypeError("no index today")


@pytest.mark.parametrize(
    "value",
    [
        np.array([1]),
        np.array([1, 2]),
        np.zeros((0,), int),
        np.ma.masked,
        10**5000,
        -(10**5000),
        _Raises(),
        [1],
        np.float64(1),
    ],
    ids=["array", "pair", "empty", "masked", "huge", "minus", "raises", "list", "float64"],
)
def test_what_is_no_integer_is_no_argument(on_loggp, value):
    async def main(ep):
        got, land = _box(ep)
        answered = []

        def ask(token):
            with pytest.raises(conduit.BadRequest, match=r"\Atoken\.reply_short: args\[1\]="):
                token.reply_short(land, 1, value)
            with pytest.raises(conduit.BadRequest, match=r"\Atoken\.reply_medium: args\[0\]="):
                token.reply_medium(land, b"", value)
            answered.append(1)

        await ep.attach(land, ask)
        with pytest.raises(conduit.BadRequest, match=r"\Aep\.request_short: args\[1\]="):
            ep.request_short(1 - ep.rank, land, 1, value)
        with pytest.raises(conduit.BadRequest, match=r"\Aep\.request_medium: args\[0\]="):
            ep.request_medium(1 - ep.rank, land, b"", value)
        with pytest.raises(conduit.BadRequest, match=r"\Aep\.request_short: dest="):
            ep.request_short(value, land)
        await ep.request_short(1 - ep.rank, ask)
        await ep.block_until(lambda: answered)
        return got

    assert on_loggp.run(main).values == [[], []]


@pytest.mark.parametrize("ranks", [3, None, 0, True, object()], ids=["int", "none", "zero", "bool", "object"])
def test_ranks_that_are_no_ranks_are_refused(on_loggp, ranks):
    async def main(ep):
        with pytest.raises(
            conduit.BadRequest, match=rf"\Aep\.block_until: ranks=.* {is_a(ranks)}; pass ranks, such as"
        ):
            ep.block_until(lambda: True, ranks=ranks)

    on_loggp.run(main)


def test_ranks_may_be_any_iterable_of_integers(on_loggp):
    async def main(ep):
        for ranks in ([0, 1], range(2), {1}, iter([0]), np.array([0, 1]), (np.int64(1),)):
            await ep.block_until(lambda: True, ranks=ranks)

    on_loggp.run(main)


@pytest.mark.parametrize("value", [np.zeros(2), np.zeros(1), np.zeros(0), [1.0], 1j, "1"], ids=repr)
@pytest.mark.parametrize("name", ["seconds", "flops"])
def test_what_is_no_number_is_no_amount(on_loggp, name, value):
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=rf"\Aep\.compute: {name}="):
            ep.compute(**{name: value})
        with pytest.raises(conduit.BadRequest, match=rf"\Aep\.charge: {name}="):
            ep.charge(**{name: value})

    on_loggp.run(main)


def test_numbers_of_other_kinds_are_amounts(on_loggp):
    async def main(ep):
        before = ep.now
        for seconds in (np.float64(1e-6), np.float32(0), 0, np.array(1e-6), True):
            await ep.compute(seconds)
        await ep.compute(flops=np.int64(1000))
        return round(ep.now - before, 9)

    assert on_loggp.run(main).values == [pytest.approx(1 + 3e-6 + 2e-9)] * 2


@pytest.mark.parametrize("value", [1 << 63, 10**5000], ids=["word", "unprintable"])
@pytest.mark.parametrize("name", ["ranks", "segment", "ranks_per_host"])
def test_counts_beyond_a_machine_word_are_refused(name, value):
    async def main(ep):
        pass

    with pytest.raises(conduit.BadRequest, match=rf"\Arun: {name}=.* is not allowed; pass .* most 9223372036854775807"):
        conduit.run(main, conduit="loggp", **{name: value})


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_argument_that_cannot_be_copied_is_refused_before_anything_runs(place):
    ran = []

    async def main(ep, *args):
        ran.append(ep.rank)

    args = [[1], {"a": 2}, "three"]
    args[place] = [threading.Lock()]
    message = (
        rf"\Arun: args\[{place}\]=\[<unlocked.*\] cannot be copied \(TypeError: cannot pickle .*\), but every rank gets"
    )
    with pytest.raises(conduit.BadRequest, match=message) as caught:
        conduit.run(main, *args, conduit="loggp")
    assert ran == []
    assert not hasattr(caught.value, "__notes__")


STAYS = (
    "cannot pickle or copy <Endpoint of rank {} of 2>: it stays on its rank, as layers do and all else that has it; "
    "give values or arrays in its place"
)


@pytest.mark.parametrize("call", [pickle.dumps, copy.deepcopy])
def test_endpoints_and_what_has_one_are_neither_pickled_nor_copied(on_loggp, call):
    async def main(ep):
        x = await Extended.attach(ep)
        told = []
        for each in (ep, x, [x], await x.split(0), x.lock("a"), await shmem.attach(ep)):
            with pytest.raises(TypeError) as caught:
                call(each)
            told.append(str(caught.value))
        return set(told)

    assert on_loggp.run(main).values == [{STAYS.format(rank)} for rank in range(2)]


def test_what_programs_are_given_is_no_copy_of_one_level_either(on_loggp):
    async def main(ep):
        x, pe, t = await Extended.attach(ep), await shmem.attach(ep), await upc.attach(ep)
        win = await Win.Allocate(8, comm=x)
        told = []
        for each in (ep, x, await x.split(0), pe, t, await t.all_alloc(4), win):
            with pytest.raises(TypeError) as caught:
                copy.copy(each)
            told.append(str(caught.value))
        await win.Free()
        return set(told)

    assert on_loggp.run(main).values == [{STAYS.format(rank)} for rank in range(2)]


def test_an_endpoint_of_another_job_is_no_argument():
    async def main(ep, *args):
        return [ep]

    given = conduit.run(main, conduit="loggp").values[1]
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(main, 1, given, conduit="loggp")
    words = "but every rank gets a deep copy of the arguments; pass plain data, and make the rest in main"
    told = f"run: args[1]=[<Endpoint of rank 1 of 2>] cannot be copied (TypeError: {STAYS.format(1)}), {words}"
    assert str(caught.value) == told


def test_every_rank_gets_a_copy_of_its_own(on_loggp):
    given = [[0]]

    async def main(ep, mine, same):
        mine[0][0] += ep.rank
        await ep.compute(1e-6)
        return mine is not given, mine is same, mine[0][0]

    assert on_loggp.run(main, given, given, ranks=3).values == [(True, True, rank) for rank in range(3)]
    assert given == [[0]]


async def _async(*unused):
    return False


def _async_call():
    return _async()


class _AsyncCall:
    async def __call__(self):
        return False


class _Object:
    async def wait(self):
        return False


@pytest.mark.parametrize(
    "predicate",
    [functools.partial(_async, 1), functools.partial(functools.partial(_async, 1), 2), _AsyncCall(), _Object().wait,
     functools.partial(_AsyncCall())],
    ids=["partial", "partial_of_partial", "object", "method", "partial_of_object"],
)  # fmt: skip
def test_a_predicate_that_is_async_in_disguise_is_refused(on_loggp, predicate):
    async def main(ep):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(conduit.BadRequest, match=r"\Aep\.block_until: predicate=.* is async or a generator"):
                ep.block_until(predicate)

    on_loggp.run(main)


@pytest.mark.parametrize(("name", "of"), [("_async", " of '_async'"), ("Endpoint._poll", "")])
def test_a_predicate_that_returns_a_coroutine_is_refused(both_ways, name, of):
    async def main(ep):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await ep.block_until(_async_call if name == "_async" else lambda: ep.poll())

    error = both_ways.fails(conduit.BadRequest, main)
    assert str(error) == (
        f"ep.block_until: the predicate returned a coroutine{of}, which is always true; pass a plain function that "
        "returns the answer itself"
    )


@pytest.mark.parametrize("answer", [True, 1, "text", [0], object()], ids=lambda answer: type(answer).__name__)
def test_any_true_answer_will_do(on_loggp, answer):
    async def main(ep):
        await ep.block_until(lambda: answer)
        return ep.now

    assert on_loggp.run(main).values == [1e-9] * 2  # no poll was made


class _Call:
    def __call__(self):
        return True


@pytest.mark.parametrize(
    "predicate",
    [functools.partial(bool, 1), _Call(), threading.Event, [1].__len__, functools.partial(_Call()), "x".isalpha],
    ids=["partial", "object", "class", "builtin", "partial_of_object", "method_of_builtin"],
)
def test_a_predicate_is_whatever_can_be_called(on_loggp, predicate):
    async def main(ep):
        await ep.block_until(predicate)

    on_loggp.run(main)


class _NoRepr:
    def __repr__(self):
        raise RuntimeError("no repr today")


@pytest.mark.parametrize(
    "call",
    [
        lambda ep, value: ep.attach(value),
        lambda ep, value: ep.request_short(0, value),
        lambda ep, value: ep.block_until(value),
        lambda ep, value: ep.block_until(bool, what=value),
        lambda ep, value: ep.compute(value, flops=1),
        lambda ep, value: ep.warn(value),
        lambda ep, value: ep.on_exit(value),
        lambda ep, value: setattr(ep, "segment", value),
        lambda ep, value: conduit.checked_call(value),
    ],
    ids=["attach", "handler", "predicate", "what", "compute", "warn", "on_exit", "segment", "checked_call"],
)
def test_what_cannot_be_shown_is_refused_in_our_words(call):
    async def main(ep):
        for value in (10**5000, _NoRepr(), [["x" * 100_000]]):
            with pytest.raises(conduit.BadRequest, match=r"\A(ep\.\w+|attach|checked_call)(:| = )") as caught:
                call(ep, value)
            assert len(str(caught.value)) < 700

    conduit.run(main, ranks=1, conduit="loggp")


@pytest.mark.parametrize("value", [10**5000, _NoRepr()], ids=["huge", "unprintable"])
def test_a_spec_that_cannot_be_shown_is_refused_in_our_words(value):
    with pytest.raises(conduit.BadRequest, match=r"\Arun: conduit=an? .*; give a spec string "):
        conduit.run(repr, conduit=value)
