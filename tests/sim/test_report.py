"""What reports say of ranks that run, start, end or serve: the same whoever drives."""

import os
import re

import pytest
import trio

import conduit
from conduit.sim import livelock
from extended import Extended

NETWORKS = ["loggp", "sci", "sunfire", "startx"]


def _report(error, main, network, **options):
    """Return the lines of the report of a job that ends with `error`, the same both ways."""
    texts = []
    for inline in ("yes", "no"):
        with pytest.raises(error) as caught:
            conduit.run(main, conduit=f"{network}:inline={inline}", **options)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    return texts[0].splitlines()


@pytest.mark.parametrize("network", NETWORKS)
def test_D5_a_rank_that_computes_or_polls_at_the_limit_is_shown_at_its_line(network):
    async def main(ep):
        if ep.rank == 0:
            while True:
                await ep.compute(1e-5)
        while True:
            await ep.poll()

    async def nothing(ep):
        pass

    start = main.__code__.co_firstlineno
    limit = conduit.run(nothing, conduit=network).seconds + 1e-4
    assert _report(conduit.TimeLimit, main, network, time_limit=limit)[1:] == [
        f"rank 0: {__file__}:{start + 3} in main: is in ep.compute",
        "    does not poll",
        f"rank 1: {os.path.basename(__file__)}:{start + 5} in main: is in ep.poll",
    ]


def test_D5_a_task_of_a_nursery_that_runs_at_the_limit_is_shown_at_its_line():
    async def main(ep):
        async def work():
            while True:
                await ep.compute(1e-5)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)

    start = main.__code__.co_firstlineno
    assert _report(conduit.TimeLimit, main, "loggp", ranks=1, time_limit=1e-3)[1:] == [
        f"rank 0: {__file__}:{start + 3} in work: is in ep.compute",
        "    does not poll",
        f"    main is at the end of the nursery of test_report.py:{start + 5} in main and waits for its tasks",
    ]


def test_D2_the_nursery_that_main_waits_at_the_end_of_is_named():
    async def main(ep):
        async def receive():
            await ep.block_until(lambda: False, what="a message")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive)

    async def in_the_body(ep):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            await ep.block_until(lambda: False, what="a message")

    start = main.__code__.co_firstlineno
    lines = _report(conduit.Deadlock, main, "loggp", ranks=2)[1:]
    assert re.sub(r"[\d.]+ us", "1 us", "\n".join(lines)) == (
        f"ranks 0-1, each: {__file__}:{start + 2} in receive: waits for a message since 1 us\n"
        f"    main is at the end of the nursery of test_report.py:{start + 4} in main and waits for its tasks"
    )
    assert "the end of the nursery" not in "\n".join(_report(conduit.Deadlock, in_the_body, "loggp", ranks=2))


def test_D5_a_rank_that_is_starting_is_said_to_be():
    async def main(ep):
        pass

    assert _report(conduit.TimeLimit, main, "sci", time_limit=1e-4)[1:] == [
        "ranks 0-1, each: is starting: it has not come to its main yet"
    ]


def test_D5_a_limit_that_passes_while_the_job_ends_is_not_mentioned(both_ways):
    async def main(ep):
        await ep.compute(1e-6)
        if ep.rank == 0:
            raise ValueError("the reason")
        try:
            await trio.sleep(1)
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(5)

    error = both_ways.fails(ValueError, main, time_limit=2)
    assert len(error.__notes__) == 1, error.__notes__


def test_T6_the_head_of_a_livelock_names_the_line_of_the_program(monkeypatch):
    monkeypatch.setattr(livelock, "STILL", 10_000)

    async def main(ep):
        while True:
            await ep.block_until(lambda: True)

    line = main.__code__.co_firstlineno + 2
    head, where = _report(conduit.Livelock, main, "sci", ranks=1)[:2]
    assert head.endswith(f": time does not pass any more (task rank 0 at {__file__}:{line} in main)")
    assert where == (
        f"rank 0: test_report.py:{line} in main: lets no time pass, in ep.block_until, which polls nothing where its "
        "predicate is true at once, or raises (`await ep.poll()` does)"
    )


def test_D1_ranks_that_serve_one_another_when_the_time_is_over_are_no_certain_cycle():
    async def main(ep):
        x = await Extended.attach(ep)
        while ep.rank == 1:
            await x.get(0, 0, 8)
        await x.barrier()

    lines = _report(conduit.TimeLimit, main, "udp", ranks=2, segment=64, time_limit=2e-3)
    line = main.__code__.co_firstlineno + 3
    asks = rf"rank 1: \S*test_report\.py:{line} in main: awaits x\.get\(0, 0, 8\), of rank 0, again and again"
    assert re.match(asks + r", in a loop that asks for nothing else \(\d+ requests", lines[1])
    assert "cycle" not in "".join(lines)


def test_D1_what_blocks_after_the_end_is_shown_at_its_line_too():
    async def main(ep):
        async def progress():
            await ep.block_until(lambda: False, what="x")

        await ep.attach()
        ep.on_progress(progress)
        if ep.rank == 1:
            ep.want_progress()

    line = main.__code__.co_firstlineno + 2
    report = _report(conduit.Deadlock, main, "loggp", ranks=3)
    assert re.fullmatch(rf"rank 1: {re.escape(__file__)}:{line} in progress: waits for x since [0-9.]+ us", report[1])
    assert report[2].startswith("ranks 0, 2, each: its main has returned: waits for the other ranks to return since ")


def test_a_report_that_is_cut_keeps_what_is_to_be_done():
    async def main(ep):
        if ep.rank:
            await trio.sleep_forever()
        async with trio.open_nursery() as nursery:
            for letter in "abcdefghijklmnopqrstuvwxyz":
                nursery.start_soon(wait, ep, letter, name=letter)

    async def wait(ep, letter):
        await ep.block_until(lambda: False, what=letter, ranks=[1])

    lines = _report(conduit.Deadlock, main, "loggp", ranks=2)
    assert len(lines) == 25
    assert lines[-2] == (
        "... and 7 lines more; `conduit run --full-report FILE` writes all, and the error's `report` has it"
    )
    assert lines[-1] == (
        "in a wait of Trio's own nothing is polled, and only a poll runs handlers: wait with `await "
        "ep.block_until(predicate)`, for an event with `await ep.block_until(event.is_set)`"
    )
