"""Random programs of atomic operations on one number: some order explains what all ranks saw."""

from typing import Any

import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from extended.conformance.orders import CALLS, ObservedOperation, explained, operands
from extended.conformance.programs import attached

hypothesis: Any = pytest.importorskip("hypothesis")
strategies: Any = pytest.importorskip("hypothesis.strategies")

MOST_RANKS = 4
"""More have more orders than can be searched."""


async def _play(ep: Endpoint, script: list[list[tuple[str, int, int, int]]], dtype: str, owner: int) -> Any:
    x = await attached(ep)
    d = x.atomic(dtype)
    history = []
    for call, first, second, pause in script[ep.rank] if ep.rank < len(script) else []:
        await ep.compute(pause * 1e-6)
        begun = ep.now
        got = await getattr(d, call)(owner, 8, *operands(call, first, second))
        history.append(ObservedOperation(call, first, second, begun, ep.now, got))
    await x.barrier()
    return history, await d.get(owner, 8)


def _scripts(case: Case) -> Any:
    small = strategies.integers(-3, 3)
    step = strategies.tuples(strategies.sampled_from(CALLS), small, small, strategies.sampled_from((0, 0, 1, 3, 10)))
    steps = strategies.lists(step, min_size=1, max_size=4)
    ranks = min(case.size, MOST_RANKS)
    return strategies.tuples(
        strategies.lists(steps, min_size=ranks, max_size=ranks),
        strategies.sampled_from(("i4", "u4", "i8", "u8")),
        strategies.integers(0, case.size - 1),
    )


@pytest.mark.rule("X91", "X92", "X95", "X96", "X97")
@pytest.mark.simulated
@pytest.mark.crowds
def test_some_order_explains_what_all_ranks_saw(case: Case, request: pytest.FixtureRequest) -> None:
    """One that keeps apart what was apart in time; the last number is that of the model."""

    def check(drawn: tuple[list[list[tuple[str, int, int, int]]], str, int]) -> None:
        script, dtype, owner = drawn
        result = case.run(_play, script, dtype, owner)
        finals = {final for _, final in result.values}
        assert len(finals) == 1
        assert explained(dtype, [history for history, _ in result.values[: len(script)]], finals.pop())

    limits = hypothesis.settings(
        max_examples=40 if request.config.getoption("full") else 6,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.seed(case.seed)(limits(hypothesis.given(_scripts(case))(check)))()
