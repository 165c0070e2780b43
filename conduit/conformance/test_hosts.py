"""Which rank runs on which host."""

from typing import Any

import pytest

from conduit import BadRequest, Endpoint
from conduit.conformance.cases import PLACED, Case
from conduit.conformance.programs import names, refusal


@pytest.mark.rule("R58")
@pytest.mark.crowds
def test_all_ranks_agree_on_the_hosts(case: Case) -> None:
    """Hosts are small numbers from 0 up; every rank knows its own, its neighbours' and everyone's."""

    async def main(ep: Endpoint) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        return ep.host, tuple(ep.host_of(rank) for rank in range(ep.size)), tuple(ep.ranks_on_host)

    values = case.run(main).values
    hosts = values[0][1]
    for rank, (host, table, together) in enumerate(values):
        assert table == hosts
        assert host == hosts[rank]
        assert together == tuple(peer for peer in range(case.size) if hosts[peer] == host)
    assert min(hosts) == 0


@pytest.mark.rule("R59")
def test_ranks_per_host_places_consecutive_ranks(case: Case) -> None:
    """K consecutive ranks share a host, as many hosts as it takes."""
    if not case.together:
        pytest.skip(PLACED)
    for per_host in (1, 2, 3):
        try:
            case.cls.placement(case.options, case.size, per_host)
        except BadRequest as refused:
            names(str(refused), "ranks_per_host", per_host)
            continue

        async def main(ep: Endpoint) -> int:
            return ep.host

        result = case.run(main, ranks_per_host=per_host)
        hosts = list(result.values)
        groups = [hosts[start : start + per_host] for start in range(0, case.size, per_host)]
        assert all(len(set(group)) == 1 for group in groups)
        assert len(set(hosts)) == len(groups)


@pytest.mark.rule("R59", "R60")
@pytest.mark.parametrize("value", [0, -1, 1.5, "2"], ids=str)
def test_ranks_per_host_of_the_wrong_kind_is_refused(case: Case, value: Any) -> None:
    """At least one, and an integer."""

    async def main(ep: Endpoint) -> None:
        """Never runs."""

    with pytest.raises(BadRequest, match=r"\A(?s:.*)ranks_per_host"):
        case.run(main, ranks_per_host=value)


@pytest.mark.rule("R59")
def test_messages_cross_hosts_and_stay_on_them_alike(case: Case) -> None:
    """One program, whatever the placement: the same values come out."""

    async def main(ep: Endpoint) -> list[int]:
        got: list[int] = []

        def ask(token: Any, payload: memoryview, number: int) -> None:
            token.reply_medium(back, payload, number * 2)

        def back(token: Any, payload: memoryview, number: int) -> None:
            got.append(number + payload[0])

        await ep.attach(ask, back)
        for step in range(ep.size):
            await ep.request_medium((ep.rank + step) % ep.size, ask, bytes([step]), step)
        await ep.block_until(lambda: len(got) == ep.size)
        return sorted(got)

    expected = [[3 * step for step in range(case.size)]] * case.size
    assert list(case.run(main).values) == expected
    for per_host in (1, 2):
        if _fits(case, per_host):
            assert list(case.run(main, ranks_per_host=per_host).values) == expected


def _fits(case: Case, per_host: int) -> bool:
    if not case.together:
        return False
    try:
        case.cls.placement(case.options, case.size, per_host)
    except BadRequest:
        return False
    return True


@pytest.mark.rule("R58", "R60")
def test_host_of_wants_a_rank(case: Case) -> None:
    """Of the job, and an integer."""

    async def main(ep: Endpoint) -> None:
        names(refusal(lambda: ep.host_of(ep.size)), "rank", ep.size)
        names(refusal(lambda: ep.host_of(-1)), "rank", -1)
        names(refusal(lambda: ep.host_of(0.0)), "rank", "float")  # type: ignore[arg-type]

    case.run(main)
