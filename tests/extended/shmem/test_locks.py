"""What errors and reports call locks, which are arrays: by where they lie, and where they were made."""

import inspect
import re

import numpy as np
import pytest
import trio

import conduit
from extended import shmem

HERE = r"\S*test_locks\.py"
TOP = 1 << 20  # the size of segments: the heap grows from the end


async def made(pe):
    """Return two locks, and one of a larger array."""
    first = await pe.new_lock()
    second = await pe.Lock()
    several = await pe.zeros(4, "i8")
    return first, second, several[1:2]


def line_of(main, text):
    """Return the number of the line of a function that has a text."""
    lines, first = inspect.getsourcelines(main)
    return first + next(number for number, line in enumerate(lines) if text in line)


FIRST = rf"the lock at offset {TOP - 16} of the symmetric heap \(pe\.new_lock at {HERE}:{line_of(made, 'new_lock')}\)"
SECOND = rf"the lock at offset {TOP - 32} of the symmetric heap \(pe\.Lock at {HERE}:{line_of(made, 'pe.Lock')}\)"
THIRD = rf"the lock at offset {TOP - 64 + 8} of the symmetric heap"


def run(main, pes=2):
    return shmem.run(main, pes=pes, conduit="loggp", segment=TOP)


def test_a_lock_that_the_task_has_is_named_by_its_call_and_place():
    async def main(pe):
        first, _, _ = await made(pe)
        await pe.set_lock(first)
        await pe.set_lock(first)  # again

    words = (
        rf"\Ape\.set_lock: this task holds {FIRST} already, since {HERE}:\d+; release it first, or let the code that "
        r"needs it be called with it held\nraised by rank \d at"
    )
    with pytest.raises(conduit.BadRequest, match=words):
        run(main)


def test_a_lock_that_is_an_object_is_named_by_its_own_call():
    async def main(pe):
        _, second, _ = await made(pe)
        await second.acquire()
        await second.acquire()

    with pytest.raises(conduit.BadRequest, match=rf"\Alock\.acquire: this task holds {SECOND} already, since {HERE}:"):
        run(main)


@pytest.mark.parametrize("as_object", [True, False])
def test_a_lock_that_nobody_has_is_named_when_it_is_released(as_object):
    async def main(pe):
        _, second, third = await made(pe)
        await (second.release() if as_object else pe.clear_lock(third))

    call, lock = (r"lock\.release", SECOND) if as_object else (r"pe\.clear_lock", THIRD)
    words = (
        rf"\A{call}: this task does not hold {lock}, no task of this PE holds it; release it once, in the task that "
        r"took it\nraised by"
    )
    with pytest.raises(conduit.BadRequest, match=words):
        run(main)


def test_the_report_of_a_deadlock_names_locks_at_every_rank():
    async def main(pe):
        first, _, third = await made(pe)
        mine, others = (first, third) if pe.my_pe() == 0 else (third, first)
        if pe.my_pe() < 2:
            await pe.set_lock(mine)
        await pe.barrier_all()
        await pe.set_lock(others)

    with pytest.raises(conduit.Deadlock) as caught:
        run(main, pes=4)
    report = str(caught.value)
    assert "'shmem" not in report
    assert re.search(rf"main: waits for {THIRD}, held by rank 1, which", report), report
    short = FIRST.partition(" of the symmetric heap")[0]
    assert len(re.findall(FIRST, report)) == 1, report
    assert re.search(rf"rank 0: holds {short}, taken at {HERE}:", report), report
    assert re.search(rf"keeps the queue of {short}, held by rank 0: 3 ranks, in this order", report), report


def test_a_lock_that_is_still_held_at_the_end_is_named():
    async def main(pe):
        _, second, _ = await made(pe)
        if pe.my_pe() == 0:
            await second.acquire()

    words = (
        rf"\A{SECOND}, taken at {HERE}:\d+, is still held although main has returned: release it, best by "
        r"`async with`, else no PE ever gets it\Z"
    )
    with pytest.warns(conduit.ConduitWarning):
        (text,) = run(main).warnings[0]
    assert re.match(words, text), text


def test_a_lock_whose_array_is_no_more_is_said_to_be_that():
    async def main(pe):
        lock = await pe.new_lock()
        if pe.my_pe() == 0:
            await pe.set_lock(lock)
        await pe.del_lock(lock)

    with pytest.warns(conduit.ConduitWarning):
        (text,) = run(main).warnings[0]
    assert text.startswith("a lock of the symmetric heap whose array is no more, taken at ")


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        ("set_lock", "`await lock.acquire()`, or `async with lock:`"),
        ("test_lock", "`await lock.acquire(blocking=False)`, which says whether it has taken it"),
        ("clear_lock", "`await lock.release()`"),
        ("del_lock", "nothing in its place: it goes with the job"),
    ],
)
def test_a_lock_in_the_place_of_an_array_is_told_what_is_written_of_it(call, instead):
    async def main(pe):
        lock = await pe.Lock()
        with pytest.raises(conduit.BadRequest) as caught:
            await getattr(pe, call)(lock)
        return str(caught.value)

    said = shmem.run(main, pes=2, conduit="loggp").values
    assert (
        said == [f"pe.{call}: lock is of pe.Lock, and this call takes what pe.new_lock returned; write {instead}"] * 2
    )


async def entered(lock, pe, work):
    async with lock:
        await work()


async def called(lock, pe, work):
    await lock.acquire()
    try:
        await work()
    finally:
        await lock.release()


async def of_an_array(lock, pe, work):
    await pe.set_lock(lock)
    try:
        await work()
    finally:
        await pe.clear_lock(lock)


@pytest.mark.parametrize("how", [entered, called, of_an_array])
def test_a_lock_is_released_by_a_task_that_is_cancelled_too(how):
    """After what it has begun is complete: the next to have the lock sees it."""
    taken = trio.Event()

    async def main(pe):
        lock = await (pe.new_lock() if how is of_an_array else pe.Lock())
        there = await pe.zeros(4000, "i8")
        if pe.my_pe() == 0:
            with trio.CancelScope() as scope:

                async def work():
                    taken.set()
                    await pe.put_nbi(there, np.full(4000, 7, "i8"), 1)
                    scope.cancel()
                    await trio.lowlevel.checkpoint()

                await how(lock, pe, work)
            assert scope.cancelled_caught
            await pe.barrier_all()
            return None
        await conduit.current().block_until(taken.is_set)
        seen = []

        async def look():
            seen.append(set(there.tolist()))

        await how(lock, pe, look)
        await pe.barrier_all()
        return seen

    assert run(main).values == [None, [{7}]]
