"""The fixture of docs/writing_a_conduit.md: a kernel is the clock of a test, and its own instrument."""

import pytest
import trio

from conduit.sim import Kernel
from conduit.sim.units import US


@pytest.fixture
def kernel() -> Kernel:
    return Kernel(seed=1)


async def test_a_chain_of_events_takes_its_time(kernel: Kernel) -> None:
    await kernel.chain(lambda then: kernel.at(kernel.now + 7 * US, then))
    assert kernel.now == 7 * US


async def test_bare_waits_and_timeouts_are_virtual(kernel: Kernel) -> None:
    ended: list[tuple[str, int]] = []

    async def until(name: str, when: int) -> None:
        await kernel.until(when)
        ended.append((name, kernel.now))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(until, "late", 2 * US)
        nursery.start_soon(until, "early", 1 * US)
    with trio.move_on_after(3600):
        await trio.sleep_forever()
    assert ended == [("early", 1 * US), ("late", 2 * US)]
    assert kernel.now == 2 * US + 3_600 * 10**12
