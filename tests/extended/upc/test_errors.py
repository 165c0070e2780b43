"""What a program of arrays is told that goes wrong: the error, its words, and the line."""

import inspect
import re

import numpy as np
import pytest

import conduit
from extended import upc


def run(main, **settings):
    return upc.run(main, threads=3, conduit="loggp", **settings)


async def made(t):
    return await t.all_alloc((4, 5), dtype="i8", block=1)


async def beyond_the_end(t):
    await (await made(t))[4, 0]


async def before_the_beginning(t):
    (await made(t))[1, -6] = 1


async def unknown_dtype(t):
    await t.all_alloc(10, dtype="f9")


async def no_block(t):
    await t.all_alloc(10, block=0)


async def after_free(t):
    a = await made(t)
    await t.all_free(a)
    a.local[0] = 1


async def key_after_free(t):
    a = await made(t)
    await t.all_free(a)
    t.array(a.key)


async def permutation_of_no_dimension(t):
    a = await made(t)
    await t.all_permute(a, a, np.array(3), 8)


async def strings_joined(t):
    a = await t.all_alloc(6, dtype="S3", block=1)
    await t.all_reduce((a, 0), a)


async def strings_joined_up_to_each(t):
    a = await t.all_alloc(6, dtype="U3", block=1)
    await t.all_prefix_reduce(a, a, np.add)


WRONG = [
    (permutation_of_no_dimension, conduit.BadRequest, "t.all_permute: perm=array(3) is no permutation; give each of"),
    (strings_joined, conduit.BadRequest, "t.all_reduce: op='sum' makes longer strings than dtype |S3 holds; give"),
    (strings_joined_up_to_each, conduit.BadRequest, "t.all_prefix_reduce: op=<ufunc 'add'> makes longer strings than"),
    (beyond_the_end, IndexError, "a[4, 0]: index 4 is out of range for axis 0 of an array of shape (4, 5)"),
    (before_the_beginning, IndexError, "a[1, -6]: index -6 is out of range for axis 1"),
    (unknown_dtype, conduit.BadRequest, "t.all_alloc: dtype='f9' is no dtype that numpy knows; give one"),
    (no_block, conduit.BadRequest, "t.all_alloc: block=0 is not possible; give 1 or more; None for one block a thread"),
    (after_free, conduit.BadRequest, "a.local: the array of shape (4, 5) and dtype int64 was freed by t.all_free"),
    (key_after_free, conduit.BadRequest, "t.array: the array of shape (4, 5) and dtype int64 was freed by t.all_free"),
]  # fmt: skip


@pytest.mark.parametrize(("main", "error", "words"), WRONG, ids=lambda each: getattr(each, "__name__", ""))
def test_what_is_wrong_is_refused_with_what_is_allowed(main, error, words):
    with pytest.raises(error, match=re.escape(words)) as caught:
        run(main)
    assert isinstance(caught.value, conduit.BadRequest)


def test_an_array_that_does_not_fit_says_which_segment_would_do():
    async def main(t):
        await t.all_alloc((300, 300), dtype="f8")
        return t.MYTHREAD

    with pytest.raises(conduit.BadRequest, match="takes 240000 bytes of every thread's segment") as caught:
        run(main, segment=1000)
    advice = re.search(r"start the job with segment=(\d+) or more", str(caught.value))
    assert run(main, segment=int(advice[1])).values == [0, 1, 2]


FORGOTTEN = {
    "in arithmetic": (lambda a: a[3] + 1, lambda a: 2 * a[3], lambda a: -a[3]),
    "in a comparison": (lambda a: a[3] == 1, lambda a: a[3] < 2),
    "as a truth value": (lambda a: not a[3], lambda a: bool(a[3])),
    "as a sequence": (lambda a: list(a[3]), lambda a: 1 in a[3]),
    "as a number": (lambda a: int(a[3]), lambda a: range(a[3])),
    "as an array": (lambda a: np.asarray(a[3]),),
    "as a value or an index": (lambda a: a.__setitem__(2, a[3]), lambda a: a[a[3]], lambda a: a.assign(1, a[3])),
    "in an assignment with an operator": (lambda a: a[3].__iadd__(1),),
}
"""Uses of a read that was not awaited, by the words in which each is refused."""


@pytest.mark.parametrize(("use", "number"), [(use, k) for use, forms in FORGOTTEN.items() for k in range(len(forms))])
def test_a_read_without_await_is_no_value(use, number):
    async def main(t):
        FORGOTTEN[use][number](await t.all_alloc(10, dtype="i8"))

    words = f"a[3] was used {use}, but it is a read that has not been awaited; write `await a[3]` for the value"
    added = ", and `await a.add_at(i, v)` where `a[i] += v` was meant" if "operator" in use else ""
    with pytest.raises(TypeError, match=re.escape(words + added) + r"\n"):
        run(main)


def test_an_assignment_with_an_operator_is_refused_where_it_stands():
    async def main(t):
        a = await t.all_alloc(10, dtype="i8")
        a[3] += 1

    with pytest.raises(TypeError, match=re.escape("in an assignment with an operator, but it is a read that has not")):
        run(main)


WHOLE = {
    "a shared array was iterated": (lambda a: list(a), lambda a: 3 in a),
    "a shared array was used as a numpy array": (lambda a: np.asarray(a), lambda a: a.__setitem__(0, a)),
    "a shared array was used in arithmetic of numpy": (lambda a: np.sqrt(a), lambda a: np.ones(10) + a),
    "a shared array was used in arithmetic": (lambda a: a + 1,),
    "a shared array was used in a comparison": (
        lambda a: a.__setitem__(a > 2, 1),
        lambda a: a == 2,
        lambda a: a != np.ones(10),
        lambda a: a >= 3,
        lambda a: a.__setitem__(a == 2, 1),
        lambda a: a < a,
    ),
    "a shared array was used as a truth value": (lambda a: bool(a),),
}
"""Uses of a whole array as if it lay here."""


@pytest.mark.parametrize(("words", "number"), [(words, k) for words, forms in WHOLE.items() for k in range(len(forms))])
def test_a_whole_array_is_not_silently_converted(words, number):
    async def main(t):
        WHOLE[words][number](await t.all_alloc(10, dtype="i8"))

    with pytest.raises(TypeError, match=re.escape(words)) as caught:
        run(main)
    assert "`a.local`" in str(caught.value)
    assert "`await a[:]`" in str(caught.value)


def line_of(main, text):
    """Return the line of a program that has some text."""
    lines, first = inspect.getsourcelines(main)
    return first + next(number for number, line in enumerate(lines) if text in line)


async def drops_a_read(t):
    a = await t.all_alloc(10)
    a[3]
    await t.barrier()


async def drops_a_call(t):
    t.barrier()
    await t.fence()


@pytest.mark.parametrize(
    ("main", "text", "call"), [(drops_a_read, "  a[3]", "a[3]"), (drops_a_call, "  t.b", "t.barrier()")]
)
def test_a_call_that_is_dropped_is_named_with_its_line(main, text, call):
    place = f"{call} at {__file__}:{line_of(main, text)}"
    words = f"{place} was called but never awaited, so it did nothing; write `await {call}`"
    with pytest.raises(conduit.BadRequest, match=re.escape(words)):
        run(main)


def test_a_collective_that_a_thread_skips_names_it_and_the_lines_of_the_others():
    async def main(t):
        a = await t.all_alloc(10)
        if t.MYTHREAD == 0:
            await t.all_sort(a)  # one waits here
        elif t.MYTHREAD == 2:
            await a.gather_to(0)  # and one there

    with pytest.raises(conduit.Deadlock) as caught:
        run(main)
    report = str(caught.value)
    assert "rank 1: its main has returned" in report
    for rank, text in ((0, "t.all_sort"), (2, "a.gather_to")):
        place = rf"rank {rank}: \S*test_errors.py:{line_of(main, text)} in "
        assert re.search(place + rf"\S*main: waits for {text}, to which rank 1 has not come", report), report


@pytest.mark.parametrize(
    ("network", "segment", "size", "advice"),
    [
        ("loggp", 4096, 1000, "start the job with segment=8064 or more (--segment)"),
        (
            "sci",
            1 << 20,
            10**6,
            "take less, or use sci:patched=yes with segment=8000064 or more (--segment): the network gives a thread at "
            "most 2097152 bytes as it is",
        ),
        (
            "sci",
            1 << 20,
            10**9,
            "take less, or run on a network that has larger segments: this network gives a thread "
            "at most 2097152 bytes",
        ),
        (
            "sci:patched=yes",
            1 << 20,
            10**9,
            "take less, or run on a network that has larger segments: this network gives a thread "
            "at most 1073741824 bytes",
        ),
        (
            "sunfire",
            1 << 20,
            10**12,
            "take less, or run on a network that has larger segments: this network gives a thread "
            "at most 17179869184 bytes",
        ),
    ],
)
def test_advice_on_too_little_room_knows_how_large_a_segment_can_be(network, segment, size, advice):
    async def main(t):
        await t.all_alloc(size, dtype="f8", block="indefinite")

    words = (
        rf"\At\.all_alloc\(shape=\({size},\), dtype=float64, block=indefinite\) takes {8 * size} bytes of every "
        rf"thread's segment, of whose {segment} bytes {segment} are left; {re.escape(advice)}\nraised by"
    )
    with pytest.raises(conduit.BadRequest, match=words):
        upc.run(main, threads=2, conduit=network, segment=segment)


def test_what_other_arrays_have_is_counted():
    """The advice holds: with so much more the program runs."""

    async def main(t):
        await t.all_alloc(1000, dtype="u1", block="indefinite")
        await t.all_alloc(4000, dtype="u1", block="indefinite")

    with pytest.raises(
        conduit.BadRequest, match="are left, 3072 of them together; free what is no longer used, or start the job"
    ) as caught:
        upc.run(main, threads=2, conduit="loggp", segment=4096)
    advised = int(re.search(r"segment=(\d+)", str(caught.value))[1])
    assert advised < 4096 + 4000
    upc.run(main, threads=2, conduit="loggp", segment=advised)


def test_threads_that_allocate_different_sizes_are_named():
    async def main(t):
        await t.all_alloc(20 - t.MYTHREAD, dtype="f8", block="indefinite")

    words = (
        r"\At\.all_alloc: thread 0 called t\.all_alloc\(shape=\(20,\), .* at .*test_errors.py:\d+, but thread 1 called"
    )
    with pytest.raises(conduit.BadRequest, match=words):
        upc.run(main, threads=2)


def test_two_calls_of_all_alloc_that_differ_and_take_the_same_room_are_told_with_their_lines():
    async def main(t):
        await t.all_alloc(10 + t.MYTHREAD, dtype="f8")

    with pytest.raises(conduit.BadRequest) as caught:
        upc.run(main, threads=3)
    at = f"at {__file__}:{main.__code__.co_firstlineno + 1}"
    assert str(caught.value) == (
        f"t.all_alloc: thread 0 called t.all_alloc(shape=(10,), dtype=float64, block=4) {at}, but thread 1 called "
        f"t.all_alloc(shape=(11,), dtype=float64, block=4) {at}; make the same calls with the same "
        "arguments in the same order on every thread"
    )


TAKES = "and takes what numpy takes: integers, slices, ..., index arrays and masks"
FIELD = (
    "and an index chooses whole elements; write `(await a[:])['n']` for all, or `a.local['n']`, which can be assigned "
)


@pytest.mark.parametrize(
    ("fields", "index", "words"),
    [
        (True, "n", f"a['n']: 'n' is a field of each element, {FIELD}to, for this thread's"),
        (True, "m", f"a['m']: 'm' is none of the elements' fields n, x, {FIELD}to, for this thread's"),
        (False, "n", f"a['n']: 'n' is a str; the array has shape (6,), {TAKES}"),
        (False, 1.0, f"a[1.0]: 1.0 is a float; the array has shape (6,), {TAKES}"),
        (False, slice(1, 2.5), f"a[1:2.5]: 2.5 is a float; the array has shape (6,), {TAKES}"),
        (False, slice(None, None, 0), f"a[::0]: slice step cannot be zero; the array has shape (6,), {TAKES}"),
        (False, [0, 9], "a[[0, 9]]: index 9 is out of bounds for axis 0 with size 6; the array has shape (6,)"),
        (False, [1, [2]], f"a[[1, [2]]]: [1, [2]] has parts of different lengths; the array has shape (6,), {TAKES}"),
    ],
)
def test_what_is_no_index_is_told_once_with_what_is(fields, index, words):
    async def main(t):
        a = await t.all_alloc(6, [("n", "i4"), ("x", "f8")] if fields else "f8")
        await a[index]

    with pytest.raises(IndexError, match=f"(?m)^{re.escape(words)}$"):
        upc.run(main, threads=1, conduit="loggp")


def test_what_numpy_cannot_combine_is_told_with_the_dtype_once():
    async def main(t):
        await t.extended.all_reduce(np.zeros(2, [("n", "i4")]))

    words = (
        "t.extended.all_reduce: op=sum cannot combine arrays of dtype [('n', '<i4')] into one of that dtype; convert "
        "the array or give another operation"
    )
    with pytest.raises(conduit.BadRequest) as caught:
        upc.run(main, threads=1, conduit="loggp")
    assert str(caught.value).splitlines()[0].endswith(words.partition(": ")[2])


@pytest.mark.parametrize("call", ["barrier", "notify", "wait"])
def test_an_id_that_is_none_is_refused_at_the_call(call):
    async def main(t):
        with pytest.raises(conduit.BadRequest) as refused:
            getattr(t, call)("x")  # not awaited
        return str(refused.value)

    assert run(main).values == [f"t.{call}: id='x' is a str; it must be an integer"] * 3


def test_writes_to_an_array_that_another_thread_has_freed_are_told_once():
    """Those to other arrays arrive: the thread that catches it can go on."""

    async def main(t):
        a, b = [await t.all_alloc(6, dtype="i8") for _ in range(2)]
        told = ""
        if t.MYTHREAD == 0:
            a[5], b[5] = 5, 7
            await t.ep.block_until(lambda: bool(t.runtime.freed), what="the end of the array")
            with pytest.raises(conduit.BadRequest) as refused:
                await t.fence()
            told = str(refused.value)
        if t.MYTHREAD == 1:
            await t.free(a)
        await t.barrier()
        return told, int(await b[5])

    told = (
        "the write buffer: the array of shape (6,) and dtype int64 with 8 bytes written by `a[i] = v` and not sent was "
        "freed by t.free of thread 1; use arrays before they are freed, and free them after a barrier"
    )
    assert run(main).values == [(told, 7), ("", 7), ("", 7)]
