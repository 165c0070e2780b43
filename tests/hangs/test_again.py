"""A rank that asks another one again and again, until an answer comes that does not come, is told as that."""

import re

import pytest
import trio

import conduit
from extended import Extended, shmem, upc

NETWORKS = ["loggp", "sci", "t3e", "origin", "mpi:library=scampi"]


def report_of(run, main, network="loggp", limit=5e-3, **options):
    with pytest.raises(conduit.TimeLimit) as caught:
        run(main, conduit=network, time_limit=limit, **options)
    return caught.value


def check(error, call, names=""):
    """Check that rank 1 is the only cause, by this call; return how often it has asked."""
    assert [(cause.ranks, cause.cycle) for cause in error.report.causes] == [((1,), ())]
    line = str(error).splitlines()[1]
    said = re.fullmatch(
        r"rank 1: (\S+) in main: awaits (.*?)(, of rank 0,)? again and again, in a loop that asks for nothing else "
        r"\(([\d,]+) requests and native operations by now\)",
        line,
    )
    assert said, error
    assert said[2] == (f"{call} ({names})" if names else call)
    return int(said[4].replace(",", ""))


@pytest.mark.parametrize("network", NETWORKS)
def test_a_loop_of_gets_is_told_with_its_call(network):
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 1:
            while await x.get_value(0, 16) != 7:
                pass
        await x.barrier()

    error = report_of(conduit.run, main, network, ranks=3)
    assert check(error, "x.get_value(0, 16)") > 50
    if network == "loggp":
        assert ", of rank 0, again and again" in str(error)


@pytest.mark.parametrize("network", ["loggp", "t3e"])
def test_what_it_reads_and_what_it_has_got_is_told_too(network):
    async def main(ep):
        x = await Extended.attach(ep)
        peer, offset = 0, 24
        if ep.rank == 1:
            while True:
                value = await x.get_value(peer, offset)
                if value == 7:
                    break
                await trio.sleep(1e-6)
        await x.barrier()

    check(
        report_of(conduit.run, main, network, ranks=2),
        "x.get_value(peer, offset)",
        "peer is 0, offset is 24, value is 0",
    )


@pytest.mark.parametrize("network", ["loggp", "t3e"])
def test_of_shared_arrays(network):
    async def main(t):
        a = await t.all_alloc(8, dtype="i8")
        if t.MYTHREAD == 1:
            while await a[0] != 7:
                pass
        await t.barrier()

    check(report_of(upc.run, main, network, threads=2), "a[0]")


@pytest.mark.parametrize("network", ["loggp", "t3e"])
def test_of_symmetric_memory(network):
    async def main(pe):
        flag = await pe.array(1, "i8")
        if pe.my_pe() == 1:
            while await pe.atomic_fetch(flag, 0) != 7:
                pass
        await pe.barrier_all()

    check(report_of(shmem.run, main, network, pes=2), "pe.atomic_fetch(flag, 0)")


def test_who_asks_a_rank_that_does_not_poll_waits_for_it():
    async def main(ep):
        x = await Extended.attach(ep)
        while ep.rank == 0:  # noqa: ASYNC110  a ticker is the point
            await trio.sleep(1e-4)
        while await x.get_value(0, 0) != 7:
            pass

    error = report_of(conduit.run, main, ranks=3)
    assert [cause.ranks for cause in error.report.causes] == [(0,)]
    assert "again and again" not in str(error)


def test_at_rest_nobody_asks_again():
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 0:
            await trio.sleep_forever()
        while await x.get_value(0, 0) != 7:
            pass

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=3, conduit="loggp")
    assert [cause.ranks for cause in caught.value.report.causes] == [(0,)]
    assert "again and again" not in str(caught.value)


def test_a_loop_of_barriers_is_none():
    async def main(ep):
        x = await Extended.attach(ep)
        while ep.rank == 0:
            await ep.compute(1e-4)
        while True:
            await x.barrier()

    error = report_of(conduit.run, main, ranks=3)
    assert [cause.ranks for cause in error.report.causes] == [(0,)]
    assert "again and again" not in str(error)


def test_ranks_in_one_loop_are_told_together():
    async def main(ep):
        x = await Extended.attach(ep)
        while ep.rank and await x.get_value(0, 8) != 7:
            pass
        await x.barrier()

    lines = str(report_of(conduit.run, main, ranks=9)).splitlines()
    assert re.match(r"8 ranks \(1-8\): \S+ in main: awaits x\.get_value\(0, 8\).* again and again", lines[1]), lines
