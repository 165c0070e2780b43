"""Calls of a job that are made where nobody can await them: in threads without a rank."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import trio

import conduit
from extended import Extended

WHERE = (
    "in the thread '{}', which runs no rank; await it in a task of the rank; a function that `await "
    "trio.to_thread.run_sync(...)` runs can make it by `trio.from_thread.run(...)`"
)


def test_E4_a_call_in_a_thread_of_its_own_is_refused():
    async def main(ep):
        x = await Extended.attach(ep)
        with ThreadPoolExecutor(1, f"mine{ep.rank}") as threads:
            return str(threads.submit(x.put, 1 - ep.rank, 0, b"a").exception())

    assert conduit.run(main).values == ["Extended.put: called " + WHERE.format(f"mine{rank}_0") for rank in range(2)]


def test_E4_so_is_one_that_checks_its_arguments_itself():
    async def main(ep):
        x = await Extended.attach(ep)
        with ThreadPoolExecutor(1, "mine") as threads:
            return str(threads.submit(x.barrier_try).exception())

    assert conduit.run(main, ranks=1).values == ["Extended.barrier_try: called " + WHERE.format("mine_0")]


def test_E4_a_call_given_to_a_thread_of_trios_is_told_by_its_name_and_not_by_trios_line():
    async def main(ep):
        x = await Extended.attach(ep)
        await trio.to_thread.run_sync(x.put, 0, 0, b"a")

    with pytest.raises(TypeError, match="Trio expected a sync function") as caught:
        conduit.run(main, ranks=1)
    assert caught.value.__notes__[1:] == ["Extended.put did nothing: it was called " + WHERE.format("put from rank 0")]


def test_a_thread_of_trios_makes_calls_of_its_rank():
    async def main(ep):
        x = await Extended.attach(ep)
        await trio.to_thread.run_sync(trio.from_thread.run, x.put, 1 - ep.rank, 0, b"a")
        await x.barrier()
        return bytes(ep.segment[:1])

    assert conduit.run(main).values == [b"a", b"a"]


def test_a_job_in_a_thread_makes_its_calls_there_while_another_one_runs():
    async def inner(ep):
        x = await Extended.attach(ep)
        return int(await x.all_reduce(1))

    async def main(ep):
        found = []
        thread = threading.Thread(target=lambda: found.extend(conduit.run(inner, ranks=3).values))
        thread.start()
        thread.join()
        return found

    assert conduit.run(main, ranks=1).values == [[3, 3, 3]]
