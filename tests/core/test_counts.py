"""The core's counts in `result.statistics`; the conformance suite checks what they count."""

import pytest

import conduit


@pytest.mark.parametrize("network", ["loggp", "sci"])
def test_every_count_of_the_core_is_in_the_result_sorted_and_before_those_of_the_network(network):
    async def main(ep):
        served = []

        def request(token, data):
            served.append(len(data))
            token.reply_short(reply)

        def reply(token):
            served.append(0)

        await ep.attach(request, reply)
        if ep.rank == 0:
            await ep.request_medium(1, request, bytes(10))
            await ep.request_medium(0, request, bytes(5))
        await ep.block_until(lambda: len(served) == (3 if ep.rank == 0 else 1))

    first, second = conduit.run(main, conduit=network, ranks_per_host=1).statistics
    found = {name: (first[name], second[name]) for name in list(first)[:6]}
    assert list(found) == sorted(found) == list(second)[:6]
    assert found == {
        "payload_bytes_off_host": (10, 0),
        "payload_bytes_sent": (15, 0),
        "replies_handled": (2, 0),
        "replies_sent": (1, 1),
        "requests_handled": (1, 1),
        "requests_sent": (2, 0),
    }


@pytest.mark.parametrize(
    ("name", "whose"), [("requests_sent", "core"), ("polls", "network"), ("sci_messages_sent", "network")]
)
def test_a_name_that_is_counted_already_is_refused(name, whose):
    async def main(ep):
        ep.count(name)

    words = rf"^ep\.count: name='{name}' is counted by the {whose} itself; pass a name of the layer's own"
    with pytest.raises(conduit.BadRequest, match=words):
        conduit.run(main, conduit="sci")
