"""Ibel's designs: what they do, and that the split queue's deadlock is found and explained."""

import pytest

import conduit
from conduit.errors import Deadlock


async def both_ways(ep, messages):
    """Each of two ranks sends requests with replies to the other as fast as it can."""
    got = []

    def request(token):
        token.reply_short(reply)

    def reply(token):
        got.append(1)

    await ep.attach(request, reply)
    for _ in range(messages):
        await ep.request_short(1 - ep.rank, request)
    await ep.block_until(lambda: len(got) == messages, what="all replies")
    return len(got)


@pytest.mark.parametrize("slots", [1, 2])
def test_two_floods_block_each_other_in_split_queues(slots):
    """Each ring is full of requests, and each rank sits in a handler whose reply needs a slot."""
    with pytest.raises(Deadlock) as caught:
        conduit.run(both_ways, 10, conduit=f"sci:queue=split,slots={slots}", time_limit=1)
    report = str(caught.value)
    assert caught.value.report.head.partition("every rank waits ")[2] == (
        "(the reply of rank 0 to rank 1 waits for a free slot at rank 1: this queue can deadlock (sci:queue=paired "
        "cannot); as much on rank 1)"
    )
    assert "a mistake of the network" not in report
    for rank, other in ((0, 1), (1, 0)):
        assert f"{slots} of {slots} slots of the queue at rank {other}, which requests and replies share" in report
        assert f"a reply to rank {rank} waits for a slot of its queue there; nothing is handled meanwhile" in report


@pytest.mark.parametrize("queue", ["paired", "single"])
def test_the_same_program_ends_with_the_other_disciplines(queue):
    assert conduit.run(both_ways, 10, conduit=f"sci:queue={queue},slots=1").values == [10, 10]


def test_split_queues_are_enough_for_one_way_traffic():
    assert conduit.run(both_ways, 10, conduit="sci:queue=split,slots=16").values == [10, 10]


def test_the_single_buffer_has_one_request_outstanding_in_the_whole_network():
    """A flood to three ranks takes as long as one to a single rank; with paired slots it overlaps."""

    def seconds(queue, targets):
        async def main(ep):
            got = []

            def request(token):
                token.reply_short(reply)

            def reply(token):
                got.append(1)

            await ep.attach(request, reply)
            begun = ep.now
            if ep.rank == 0:
                for turn in range(12):
                    await ep.request_short(1 + turn % targets, request)
                await ep.block_until(lambda: len(got) == 12)
            return ep.now - begun

        return conduit.run(main, ranks=4, conduit=f"sci:queue={queue},slots=1").values[0]

    # Three ranks share the handling, but each request waits for the reply to the one before.
    assert seconds("single", 3) == pytest.approx(seconds("single", 1), rel=0.05)
    assert seconds("paired", 3) < 0.9 * seconds("paired", 1)


@pytest.mark.parametrize("queue", ["single", "split"])
def test_a_poll_looks_at_every_queue(queue):
    """A miss costs 50 ns and 10 ns for every rank."""

    async def main(ep):
        await ep.attach()
        begun = ep.now
        for _ in range(100):
            await ep.poll()
        return (ep.now - begun) / 100 * 1e9

    for ranks in (2, 8):
        found = conduit.run(main, ranks=ranks, conduit=f"sci:queue={queue}").values[0]
        assert found == pytest.approx(50 + 10 * ranks)
    assert conduit.run(main, ranks=8, conduit="sci").values[0] == pytest.approx(50)


@pytest.mark.parametrize("queue", ["single", "split"])
@pytest.mark.parametrize("order", ["strict", "weak"])
def test_bulk_data_go_through_the_buffer_and_are_copied(queue, order):
    async def main(ep):
        got = []

        def request(token, payload, start):
            assert bytes(payload) == bytes((start + index) % 251 for index in range(len(payload)))
            token.reply_medium(reply, payload[:100])

        def reply(token, payload):
            got.append(bytes(payload))

        await ep.attach(request, reply)
        for turn, nbytes in enumerate((1, 100, 2047, 2048, 4095, 4096)):
            data = bytes((turn + index) % 251 for index in range(nbytes))
            await ep.request_long(1 - ep.rank, request, data, turn, turn)
            await ep.block_until(lambda turn=turn: len(got) > turn)
            assert got[-1] == data[:100]

    conduit.run(main, conduit=f"sci:queue={queue},order={order},slots=4")
