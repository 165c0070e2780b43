"""The parts of a simulated network, with each call looked at; `docs/writing_a_conduit.md` says what they keep."""

from typing import Any

import pytest
import trio

from conduit import Endpoint, Token
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import CATEGORIES, answer, attached, send

pytestmark = pytest.mark.simulated

ROUNDS = 4


def _few(case: Case) -> Case:
    """Give this case with two or three ranks: to look at each call takes long."""
    return case.at_least(2) if case.size <= 3 else case.with_ranks(3)


@pytest.mark.rule("R89", "R45")
def test_calls_of_messages_are_as_they_must_be(case: Case) -> None:
    """Floods of all kinds both ways, with answers and without, more than there is room for, some of them given up."""
    case = _few(case)
    most = min(case.limits.max_medium, 3000)
    long = min(case.longest(at_most=3000), case.longest(reply=True))

    async def main(ep: Endpoint) -> None:
        def ask(token: Token, *rest: Any) -> None:
            number = rest[-1]
            if number % 4 < 3:
                category = CATEGORIES[number % 4]
                answer(token, category, log[category], payload=pattern((0, most, long)[number % 4], number))

        log = await attached(ep, ask)

        async def flood(dest: int) -> None:
            for number in range(4 * ROUNDS):
                category = CATEGORIES[number % 3]
                payload = pattern((0, most, long)[number % 3] // (1 + number % 2), number)
                with trio.move_on_after(2e-6 if number % 5 == 4 else 1.0):
                    await send(ep, category, dest, ask, number, payload=payload)
                if number % 8 == 7:
                    await ep.compute(1e-4)

        async with trio.open_nursery() as nursery:
            for step in range(1, min(ep.size, 3)):
                nursery.start_soon(flood, (ep.rank + step) % ep.size)
        await ep.attach()

    case.run_watched(main)


@pytest.mark.rule("R89", "R82")
def test_calls_of_one_sided_operations_are_as_they_must_be(case: Case) -> None:
    """Each kind, to each rank, contiguous and not."""
    if not case.has_option("rma"):
        pytest.skip("this network has no native one-sided operations")

    async def main(ep: Any) -> None:
        await ep.attach()
        out = bytearray(9000)
        for dest in range(ep.size):
            await ep.rma.put(dest, 1000 * ep.rank, pattern(999, ep.rank))
            await ep.rma.put_strided(dest, 30_000, 9, (3, 5), (200, 24), pattern(135, ep.rank))
            await ep.rma.fence(dest)
            await ep.rma.fetch_add(dest, 20_000, 3)
            await ep.rma.compare_swap(dest, 20_008, 0, ep.rank)
            await ep.rma.get(dest, 0, out)
            await ep.rma.get_strided(dest, 30_000, 9, (3, 5), (200, 24), memoryview(out)[:135])
            await ep.rma.swap(dest, 20_008, ep.rank, lambda old: None)
        await ep.rma.quiet()
        await ep.attach()

    _few(case).option(rma="native").run_watched(main)
