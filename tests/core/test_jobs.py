"""Jobs beside other things: in threads, under asyncio, inside a Trio program, two at once."""

import asyncio
import linecache
import sys
import textwrap
import threading
import traceback
import warnings
from types import SimpleNamespace

import pytest
import trio

import conduit
from conduit.launch.oversights import unawaited


async def _exchange(ep, rounds=20):
    got = []

    def note(token, number):
        got.append(number)

    await ep.attach(note)
    async with trio.open_nursery() as nursery:
        for number in range(rounds):
            nursery.start_soon(ep.request_short, (ep.rank + 1) % ep.size, note, number)
            await trio.sleep(1e-5 * (1 + ep.random.randrange(3)))
    await ep.block_until(lambda: len(got) == rounds)
    return got


def test_run_refuses_inside_a_trio_program():
    async def main():
        with pytest.raises(conduit.BadRequest, match=r"\Arun: a Trio program is running in this thread; "):
            conduit.run(_exchange)

    trio.run(main)


def test_run_works_where_an_asyncio_loop_is_running():
    async def notebook():
        return conduit.run(_exchange, conduit="loggp").digest

    assert asyncio.run(notebook()) == conduit.run(_exchange, conduit="loggp").digest


async def test_run_async_gives_the_result_of_run():
    expected = await trio.to_thread.run_sync(lambda: conduit.run(_exchange, conduit="loggp", ranks=3, seed=2))
    result = await conduit.run_async(_exchange, conduit="loggp", ranks=3, seed=2)
    assert result == expected


async def test_run_async_passes_arguments_and_raises_the_same_object():
    error = KeyError("own")

    async def main(ep, given):
        raise given

    async def fail(ep):
        if ep.rank == 1:
            raise error

    with pytest.raises(KeyError, match=r"(?m)\A'other'$"):
        await conduit.run_async(main, KeyError("other"), conduit="loggp")
    with pytest.raises(KeyError) as caught:
        await conduit.run_async(fail, conduit="loggp")
    assert caught.value is error
    with pytest.raises(conduit.BadRequest, match=r"\Arun: ranks=0 is not allowed; "):
        await conduit.run_async(fail, conduit="loggp", ranks=0)


async def test_run_async_raises_an_exit():
    async def main(ep):
        ep.exit(6)

    with pytest.raises(SystemExit) as caught:
        await conduit.run_async(main, conduit="loggp")
    assert caught.value.code == 6


async def test_run_async_cancelled_ends_the_job():
    left = []
    token = trio.lowlevel.current_trio_token()

    async def main(ep):
        try:
            await ep.compute(1e-6)
            token.run_sync_soon(scope.cancel)
            while True:
                await ep.compute(1e-6)
        finally:
            left.append(ep.rank)

    with trio.CancelScope() as scope:
        await conduit.run_async(main, conduit="loggp")
    assert scope.cancelled_caught
    assert sorted(left) == [0, 1]


async def test_run_async_in_a_scope_that_is_cancelled_already():
    async def main(ep):
        while True:
            await ep.compute(1e-6)

    with trio.CancelScope() as scope:
        scope.cancel()
        await conduit.run_async(main, conduit="loggp", time_limit=1)
    assert scope.cancelled_caught


async def test_two_jobs_at_once_do_not_disturb_each_other():
    alone = await conduit.run_async(_exchange, conduit="sci", ranks=3)
    results = []

    async def one():
        results.append(await conduit.run_async(_exchange, conduit="sci", ranks=3))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(one)
    assert [result.digest for result in results] == [alone.digest] * 3


def test_jobs_in_two_threads_at_once_have_the_digests_they_have_alone():
    """Trio's order of tasks is drawn from one object for the whole process: each thread draws from its own job."""
    alone = [conduit.run(_exchange, 60, conduit="loggp", ranks=4, seed=seed) for seed in (1, 2)]
    together = [None, None]
    barrier = threading.Barrier(2)

    def job(index):
        barrier.wait()
        together[index] = conduit.run(_exchange, 60, conduit="loggp", ranks=4, seed=index + 1)

    threads = [threading.Thread(target=job, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    assert alone[0].digest != alone[1].digest


def test_a_job_inside_a_rank_of_another_job():
    """Not from its own thread, but from one that it starts."""

    async def outer(ep):
        inner = await trio.to_thread.run_sync(lambda: conduit.run(_exchange, conduit="loggp"))
        return inner.digest

    expected = conduit.run(_exchange, conduit="loggp").digest
    assert conduit.run(outer, conduit="loggp").values == [expected, expected]


def test_a_warning_is_issued_after_the_job_and_kept_in_the_result():
    async def main(ep):
        if ep.rank == 1:
            ep.warn("a text")

    with pytest.warns(conduit.ConduitWarning, match=r"\Arank 1: a text\Z") as caught:
        result = conduit.run(main, conduit="loggp")
    assert [list(texts) for texts in result.warnings] == [[], ["a text"]]
    assert caught[0].filename == __file__


def test_a_result_that_is_awaited_says_that_it_is_there():
    """As `await conduit.run(main)` in a notebook, which awaits what a cell says."""

    async def main(ep):
        await ep.poll()

    async def cell():
        await conduit.run(main)

    with pytest.raises(conduit.BadRequest) as caught:
        cell().send(None)
    assert str(caught.value) == (
        "a Result is there at once, and conduit.run is a plain function: write `result = conduit.run(main, ...)` "
        "without `await`; in a program of Trio's own `result = await conduit.run_async(main, ...)`"
    )
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "await conduit.run(main)"


def test_a_forgotten_call_of_ones_own_is_told_with_its_cell():
    names, said = {}, []
    file = "<ipython-input-9-b1197acc87a3>"
    source = "async def helper(ep): pass\nasync def main(ep):\n    helper(ep)\n"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    with warnings.catch_warnings():
        warnings.simplefilter("default", RuntimeWarning)
        warnings.simplefilter("ignore", conduit.ConduitWarning)
        with unawaited.told(file, said.append):
            result = conduit.run(names["main"], ranks=1)
    (text,) = result.warnings[0]
    assert text.startswith("helper(ep) at Cell In[9], line 3 was called but never awaited")


def test_a_cell_of_ipython_is_named_as_its_tracebacks_name_it():
    names = {}
    exec(
        compile(
            "async def main(ep):\n    await ep.block_until(lambda: False, what='nothing')",
            "<ipython-input-9-b1197acc87a3>",
            "exec",
        ),
        names,
    )
    with pytest.raises(conduit.Deadlock, match=r"Cell In\[9\], line 2 in main: waits for nothing") as caught:
        conduit.run(names["main"], ranks=1)
    assert "ipython-input" not in str(caught.value)


def _of_notebook(monkeypatch, text):
    """Return the names of a cell, a notebook's fourth, as the shell alone knows: its file is named by its text."""
    names, file = {}, "/tmp/ipykernel_22386/898916762.py"
    compiler = SimpleNamespace(format_code_name=lambda name: ("Cell", "In[4]") if name == file else None)
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=compiler))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    text = textwrap.dedent(text)
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(keepends=True), file))
    exec(compile(text, file, "exec"), names)
    return names


def test_a_cell_of_a_notebook_is_named_as_its_tracebacks_name_it(monkeypatch):
    names = _of_notebook(monkeypatch, "async def main(ep):\n    await ep.block_until(lambda: False, what='nothing')")
    with pytest.raises(conduit.Deadlock, match=r"Cell In\[4\], line 2 in main: waits for nothing") as caught:
        conduit.run(names["main"], ranks=1)
    assert "ipykernel" not in str(caught.value)


def test_warnings_name_cells_of_notebooks(monkeypatch):
    names = _of_notebook(
        monkeypatch,
        """\
        from extended import Extended
        async def main(ep):
            x = await Extended.attach(ep)
            await x.put_nb(0, 0, b"a")
        """,
    )
    with pytest.warns(conduit.ConduitWarning, match=r"put_nb, made at Cell In\[4\], line 4, never waited for"):
        result = conduit.run(names["main"], ranks=1)
    assert "made at Cell In[4], line 4" in result.warnings[0][0]


def test_errors_name_cells_of_notebooks(monkeypatch):
    names = _of_notebook(
        monkeypatch,
        """\
        from extended import Extended
        async def main(ep):
            x = await Extended.attach(ep)
            if ep.rank == 0:
                await x.all_reduce(1)
            else:
                await x.all_gather(1)
        """,
    )
    with pytest.raises(conduit.ConduitError, match=r"all_reduce\(.*\) at Cell In\[4\], line 5, but") as caught:
        conduit.run(names["main"], ranks=2)
    assert "rank 1 called all_gather((), int64) at Cell In[4], line 7; " in str(caught.value)
    assert "ipykernel" not in str(caught.value)


def test_reports_name_cells_of_notebooks_also_where_a_lock_was_taken(monkeypatch):
    names = _of_notebook(
        monkeypatch,
        """\
        from extended import Extended
        async def main(ep):
            x = await Extended.attach(ep)
            async with x.lock(ep.rank):
                await ep.compute(1e-4)
                await x.lock(1 - ep.rank).acquire()
        """,
    )
    with pytest.raises(conduit.Deadlock, match=r"rank 0: holds lock 0, taken at Cell In\[4\], line 4\n") as caught:
        conduit.run(names["main"], ranks=2)
    assert "898916762" not in str(caught.value)


@pytest.mark.parametrize("limit", [None, 1e-2])
def test_the_structure_of_a_report_names_cells_of_notebooks_too(monkeypatch, limit):
    names = _of_notebook(
        monkeypatch,
        """\
        from extended import Extended
        async def main(ep):
            def note(token):
                pass
            x = await Extended.attach(ep)
            await ep.attach(note)
            if ep.rank == 1:
                await ep.request_short(0, note)
                await x.lock(0).acquire()
                await ep.block_until(lambda: False)
            await trio.sleep_forever()
        """,
    )
    names["trio"] = trio
    with pytest.raises((conduit.Deadlock, conduit.TimeLimit)) as caught:
        conduit.run(names["main"], ranks=2, conduit="loggp", time_limit=limit)
    report = caught.value.report
    first, second = (rank.tasks[0] for rank in report.ranks)
    assert (first.place.file, first.place.line, str(first.place)) == ("Cell In[4]", 11, "Cell In[4], line 11 in main")
    assert str(report.ranks[0].unhandled[0].place) == "Cell In[4], line 3 in main.<locals>.note"
    assert [hold.place for hold in second.holds] == ["Cell In[4], line 9"]
    assert "898916762" not in report.to_json()


def test_traces_name_cells_of_notebooks(monkeypatch):
    names = _of_notebook(
        monkeypatch,
        """\
        async def main(ep):
            got = []
            await ep.attach()
            with trio.move_on_after(1e-6):
                await ep.block_until(lambda: got)
        """,
    )
    names["trio"] = trio
    (last,) = conduit.run(names["main"], ranks=1, trace=True).trace.waits[0][-1:]
    assert last.place == "Cell In[4], line 5 in main"


def test_a_call_handed_on_in_a_cell_is_told_once(monkeypatch):
    """What it was handed to says what to write, and nothing is said of its missing `await`."""
    names = _of_notebook(
        monkeypatch,
        """\
        import trio
        async def main(ep):
            await ep.attach()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ep.poll())
        """,
    )
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - which, is Trio's affair
        conduit.run(names["main"], ranks=1)
    assert "never awaited" not in "".join(traceback.format_exception(caught.value))
