"""Collective calls that differ between threads are refused on all of them, and end no barrier of the program."""

import re

import numpy as np
import pytest

import conduit
from extended import CollectiveMismatch, upc


async def arrays(t):
    a, b = await t.all_alloc(24, dtype="i8", block=8), await t.all_alloc(24, dtype="i8", block=8)
    a.local[:] = np.arange(8) + t.MYTHREAD
    return a, b


CALLS = {
    "t.all_broadcast": (lambda t, a, b, odd: t.all_broadcast(b, (a, 0), 16 if odd else 8), "nbytes=8", "nbytes=16"),
    "t.all_scatter": (lambda t, a, b, odd: t.all_scatter(b, (a, 0), 16 if odd else 8), "nbytes=8", "nbytes=16"),
    "t.all_gather": (
        lambda t, a, b, odd: t.all_gather((b, 8 if odd else 0), a, 8),
        "dst=a place (thread 0, byte #) of the array of t.all_alloc(shape=(24,), dtype=int64, block=8) at FILE",
        "dst=a place (thread 1, byte #) of the array of t.all_alloc(shape=(24,), dtype=int64, block=8) at FILE",
    ),
    "t.all_gather_all": (lambda t, a, b, odd: t.all_gather_all(b, a, 16 if odd else 8), "nbytes=8", "nbytes=16"),
    "t.all_exchange": (lambda t, a, b, odd: t.all_exchange(b, a, 16 if odd else 8), "nbytes=8", "nbytes=16"),
    "t.all_permute": (
        lambda t, a, b, odd: t.all_permute(b, a, [0, 1, 2] if odd else [1, 2, 0], 8),
        "perm=[1, 2, 0]", "perm=[0, 1, 2]",
    ),
    "t.all_reduce": (lambda t, a, b, odd: t.all_reduce((b, 0), a, "max" if odd else "sum"), "op='sum'", "op='max'"),
    "t.all_prefix_reduce": (
        lambda t, a, b, odd: t.all_prefix_reduce(b, a, np.minimum if odd else "sum"), "op='sum'", "op='min'",
    ),
    "t.all_sort": (
        lambda t, a, b, odd: t.all_sort(b if odd else a),
        "a=the array of t.all_alloc(shape=(24,), dtype=int64, block=8) at FILE",
        "a=another one, the array of t.all_alloc(shape=(24,), dtype=int64, block=8) at FILE",
    ),
    "a.gather_to": (lambda t, a, b, odd: a.gather_to(2 if odd else 0), "thread=0", "thread=2"),
}  # fmt: skip
"""Each with what thread 1 gives otherwise, and how both are told."""


@pytest.mark.parametrize("network", ["loggp", "sci", "t3e"])
@pytest.mark.parametrize("call", CALLS)
def test_arguments_that_differ_are_told_to_all_with_their_lines(call, network):
    make, first, other = CALLS[call]

    async def main(t):
        a, b = await arrays(t)
        with pytest.raises(CollectiveMismatch) as caught:
            await make(t, a, b, t.MYTHREAD == 1)
        await make(t, a, b, False)  # they can go on
        await t.barrier()
        return re.sub(r"byte \d+", "byte #", re.sub(r"\S*test_agreement\.py:\d+", "FILE", str(caught.value)))

    said = f"{call}: at FILE thread 0 gave {first}, but at FILE thread 1 gave {other}; give the same on every thread"
    assert list(upc.run(main, threads=3, conduit=network).values) == [said] * 3


@pytest.mark.parametrize("call", CALLS)
def test_a_barrier_of_some_threads_ends_with_no_collective_of_others(call):
    make, *_ = CALLS[call]
    over = []

    async def main(t):
        a, b = await arrays(t)
        if t.MYTHREAD == 1:
            await make(t, a, b, False)
        else:
            await t.barrier()
        over.append(t.MYTHREAD)

    with pytest.raises(conduit.Deadlock) as caught:
        upc.run(main, threads=3, conduit="loggp")
    assert not over
    last = str(caught.value).splitlines()[-1]
    line = main.__code__.co_firstlineno + 3
    assert last == (
        f"ranks 0, 2 are in t.barrier at test_agreement.py:{line + 2}, rank 1 is in {call} at test_agreement.py:{line}"
        ": all of them must make the same calls in the same order"
    )


def test_other_calls_are_told():
    async def main(t):
        a, b = await arrays(t)
        await (t.all_sort(a) if t.MYTHREAD == 2 else t.all_reduce((b, 0), a))

    with pytest.raises(CollectiveMismatch) as caught:
        upc.run(main, threads=3, conduit="loggp")
    assert re.fullmatch(
        r"t\.all_\w+: thread 0 called t\.all_reduce at \S+:\d+, but thread 2 called t\.all_sort at \S+:\d+; make the "
        r"same calls in the same order on every thread",
        str(caught.value).splitlines()[0],
    )


def test_functions_of_one_line_are_the_same_and_others_are_not():
    async def main(t):
        a, b = await arrays(t)
        add = lambda one, two: one + two  # noqa: E731
        await t.all_reduce((b, 0), a, add)
        with pytest.raises(CollectiveMismatch, match=r"gave op=<lambda> of line \d+, but .* thread 1 gave op='sum'; "):
            await t.all_reduce((b, 0), a, "sum" if t.MYTHREAD == 1 else add)
        return int(await b[0])

    total = sum(range(8)) * 3 + 8 * (0 + 1 + 2)
    assert list(upc.run(main, threads=3, conduit="loggp").values) == [total] * 3


def test_many_calls_in_turn_with_barriers_between():
    async def main(t):
        a, b = await arrays(t)
        for turn in range(20):
            await t.all_reduce((b, 0), a, ["sum", "max", "min"][turn % 3])
            if turn % 2:
                await t.barrier()
            if turn % 5 == 0:
                await a.gather_to(turn % 3)
        return int(await b[0])

    assert len(set(upc.run(main, threads=3, conduit="loggp").values)) == 1
