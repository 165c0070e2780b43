"""What the benchmarks of bare drivers wait with."""

import pytest

from conduit.sim import Kernel, simulate
from conduit.simnet.bench import until_done


def known_at_once(kernel, tell):
    return kernel.now + 70


def told_later(kernel, tell):
    kernel.at(kernel.now + 40, lambda: tell(kernel.now + 30))


def told_at_once(kernel, tell):
    tell(kernel.now + 70)
    return 0


@pytest.mark.parametrize("start", [known_at_once, told_later, told_at_once])
def test_a_call_takes_until_the_time_that_it_gives(start):
    kernel = Kernel()

    async def body():
        for turn in (1, 2, 3):
            await until_done(kernel, lambda tell: start(kernel, tell))
            assert kernel.now == 70 * turn

    simulate(kernel, body)
    assert kernel.now == 210
