"""The counts in a job's result."""

import pytest

from conduit import Endpoint, Token
from conduit.conformance.cases import Case
from conduit.conformance.programs import attached, neighbour

COUNTS = (
    "requests_sent",
    "replies_sent",
    "requests_handled",
    "replies_handled",
    "payload_bytes_sent",
    "payload_bytes_off_host",
)


@pytest.mark.rule("R73")
def test_nothing_is_counted_that_the_program_did_not_ask_for(case: Case) -> None:
    """Attach and automatic empty replies are in no count."""

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        await ep.attach()
        if ep.rank == 0:
            await ep.request_short(neighbour(ep), log.short)

    result = case.run(main)
    sums = {name: sum(counts[name] for counts in result.statistics) for name in COUNTS}
    assert sums == dict.fromkeys(COUNTS, 0) | {"requests_sent": 1, "requests_handled": 1}


@pytest.mark.rule("R73")
def test_requests_replies_and_bytes_are_counted_where_they_happen(case: Case) -> None:
    """Senders count what they sent, receivers what they handled; bytes are payload alone."""

    async def main(ep: Endpoint) -> None:
        def ask(token: Token, payload: memoryview) -> None:
            token.reply_medium(log.medium, bytes(30), 1, 2, 3)

        log = await attached(ep, ask)
        await ep.request_medium(neighbour(ep), ask, bytes(100))
        await ep.request_long(neighbour(ep), ask, bytes(50), 0)
        await ep.request_short(neighbour(ep), log.short, 1, 2)
        await log.until(3)

    for counts in case.run(main).statistics:
        assert [counts[name] for name in COUNTS[:5]] == [3, 2, 3, 2, 100 + 50 + 60]


@pytest.mark.rule("R74")
def test_bytes_that_leave_the_host_are_counted_apart(case: Case) -> None:
    """Requests and replies to ranks of the own host, this one included, do not count."""

    async def main(ep: Endpoint) -> int:
        def ask(token: Token, payload: memoryview) -> None:
            token.reply_medium(log.medium, bytes(10))

        log = await attached(ep, ask)
        for dest in range(ep.size):
            await ep.request_medium(dest, ask, bytes(100))
        await log.until(ep.size)
        return sum(ep.host_of(rank) != ep.host for rank in range(ep.size))

    result = case.run(main)
    for away, counts in zip(result.values, result.statistics, strict=True):
        assert counts["payload_bytes_off_host"] == 110 * away
        assert counts["payload_bytes_sent"] == 110 * case.size


@pytest.mark.rule("R73")
def test_the_conduit_may_add_counts_but_not_change_them(case: Case) -> None:
    """Whatever else is there is a number by its name."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()

    for counts in case.run(main).statistics:
        assert set(COUNTS) <= set(counts)
        assert all(isinstance(name, str) and isinstance(value, int) for name, value in counts.items())
