"""A job that has failed holds no memory once its error is dropped, without a look for cycles, which may be far off."""

import contextlib
import gc
import weakref

import numpy as np
import pytest
import trio

import conduit

NETWORKS = ["loggp", "mpi:library=scampi", "origin", "sci", "sunfire", "startx", "t3e", "udp"]


async def raises(ep):
    if ep.rank == 1:
        raise ValueError("the reason")


async def raises_in_a_handler(ep):
    def handler(token):
        raise ValueError("the reason")

    await ep.attach(handler)
    await ep.request_short(1 - ep.rank, handler)
    await ep.block_until(lambda: False)


async def raises_in_a_nursery(ep):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(raises, ep)
        await ep.block_until(lambda: False)


async def hangs(ep):
    await ep.block_until(lambda: False)


async def hangs_on_the_way_out(ep):
    try:
        await raises(ep)
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep_forever()


async def exits(ep):
    ep.exit(3)


FAILURES = [raises, raises_in_a_handler, raises_in_a_nursery, hangs, hangs_on_the_way_out, exits]


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_segments_go_with_the_error(network, failure):
    held = []

    async def main(ep):
        held.append(weakref.ref(ep.segment))
        await ep.attach()
        ep.segment[0] = 1
        await failure(ep)

    with contextlib.suppress(Exception, SystemExit):
        conduit.run(main, conduit=network)
    assert len(held) == 2
    assert [each() is None for each in held] == [True] * 2


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("network", NETWORKS)
def test_what_the_program_had_goes_with_the_error(network):
    held = []

    async def main(ep):
        mine, part = np.zeros(1000), ep.segment[:8]
        held.extend([weakref.ref(mine), weakref.ref(part)])
        await ep.compute(1e-6)
        await raises(ep)
        await hangs(ep)

    with pytest.raises(ValueError, match="the reason") as caught:
        conduit.run(main, conduit=network)
    assert "mine" in next(frame for frame in _frames(caught.value) if frame.f_code is main.__code__).f_locals
    del caught
    assert [each() is None for each in held] == [True] * 4


def _frames(error):
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def test_an_endpoint_kept_beyond_a_failed_job_has_an_empty_segment():
    kept = []

    async def main(ep):
        kept.append(ep)
        await raises(ep)

    with pytest.raises(ValueError, match="the reason"):
        conduit.run(main)
    assert [ep.segment.size for ep in kept] == [0, 0]
