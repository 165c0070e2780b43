"""Predicates that another task of the rank makes true are noticed, however that task goes on (P3)."""

import pytest
import trio

import conduit


@pytest.mark.parametrize("inline", ["yes", "no"])
@pytest.mark.parametrize("then", ["call", "sleep", "return"])
def test_P3_predicate_made_true_between_two_calls_of_one_step(inline, then):
    async def main(ep):
        flags = []
        times = []

        async def sibling():
            await ep.compute(1e-6)  # driven inline, in the same step as what follows
            await ep.compute(1e-6)
            flags.append(ep.now)
            if then == "call":
                await ep.compute(1e-3)
            elif then == "sleep":
                await trio.sleep(1e-3)

        await ep.attach()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            await ep.block_until(lambda: flags)
            times.append(ep.now - flags[0])
        return times[0]

    result = conduit.run(main, conduit=f"loggp:inline={inline}", ranks=2)
    # A sibling's compute keeps the CPU, so that the other task goes on after it; a sleep does not.
    assert all(value < (1.1e-3 if then == "call" else 1e-6) for value in result.values)
