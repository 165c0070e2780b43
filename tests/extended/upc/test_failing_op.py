"""A function of the program's that fails in a call of all threads: all are told, and no thread goes on alone."""

import re

import numpy as np
import pytest

import conduit
from extended import upc

CALLS = {
    "t.all_reduce": lambda t, a, b, op: t.all_reduce((b, 0), a, op),
    "t.all_prefix_reduce": lambda t, a, b, op: t.all_prefix_reduce(b, a, op),
}


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("call", CALLS)
def test_an_op_that_raises_on_one_thread_is_told_to_all(call, threads):
    """That thread catches it, and makes other calls: none may be taken for a part of this one."""

    async def main(t):
        a, b = [await t.all_alloc(4 * t.THREADS, dtype="i8", block=4) for _ in range(2)]
        a.local[:] = np.arange(4)

        def op(one, other):
            if t.MYTHREAD == 1:
                raise ValueError("no")
            return one + other

        said = []
        for make in (lambda: CALLS[call](t, a, b, op), t.barrier):
            try:
                await make()
            except Exception as error:
                said.append(f"{type(error).__name__}: {error}")
        return said

    told = f"this team is broken: {call} raised ValueError: no, on thread 1 of the job, and the threads no longer "
    told += "agree on what comes next; let op raise nothing"
    for thread, said in enumerate(upc.run(main, threads=threads, conduit="loggp").values):
        if thread == 1:
            assert said == ["ValueError: no", f"BadRequest: t.barrier: {told}"]
        else:
            assert re.fullmatch(rf"\w+: ({re.escape(call)}|gather).*: {re.escape(told)}", said[0])
            assert said[1:] == [f"BadRequest: t.barrier: {told}"]


def test_an_op_that_raises_on_all_threads_is_told_once():
    async def main(t):
        a, b = [await t.all_alloc(4 * t.THREADS, dtype="i8", block=4) for _ in range(2)]
        await t.all_reduce((b, 0), a, lambda one, other: one / None)

    with pytest.raises(TypeError, match="unsupported operand"):
        upc.run(main, threads=3, conduit="loggp")


def refusing(one, other):
    raise conduit.BadRequest("mine")


@pytest.mark.parametrize(
    ("op", "why"),
    [
        (refusing, "mine"),
        (
            lambda one, other: np.zeros(99),
            "op: the function made shape (99,) of two arrays of shape (1, 1); it combines them element by element",
        ),
    ],
)
@pytest.mark.parametrize("call", CALLS)
def test_an_op_that_is_refused_on_one_thread_is_told_to_all(call, op, why):
    """Thread 1 has one element, and nothing to combine: it waits for thread 0."""

    async def main(t):
        a, b = [await t.all_alloc(3, dtype="i8", block=2) for _ in range(2)]
        said = []
        for make in (lambda: CALLS[call](t, a, b, op), t.barrier):
            with pytest.raises(conduit.ConduitError) as refused:
                await make()
            said.append(f"{refused.type.__name__}: {refused.value}")
        return said

    told = f"this team is broken: {call} raised BadRequest: {why}, on thread 0 of the job, and the threads no longer "
    told += "agree on what comes next; let op raise nothing"
    waits = call if call == "t.all_reduce" else f"{call}((1,), int64)"
    assert upc.run(main, threads=2, conduit="loggp").values == [
        [f"BadRequest: {why}", f"BadRequest: t.barrier: {told}"],
        [f"ConduitError: {waits}: {told}", f"BadRequest: t.barrier: {told}"],
    ]
