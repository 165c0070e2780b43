"""Short messages that take most of the time: counted where their time is, and the calls that they are for are named."""

import re

import numpy as np
import pytest

import conduit
from conduit.launch.tracing import reporting
from extended import Extended

FEWER_BARRIERS = (
    "Call fewer barriers: do more between two of them, and leave out those on which no access of another rank depends."
)
FEWER_COLLECTIVES = (
    "Make fewer collective calls: give several numbers to one of them, as an array, and do more between two of them."
)
PUTS, EACH = 20, 10


async def meeting(ep):
    """Each rank puts a number now and then, and meets the others over and over."""
    x = await Extended.attach(ep)
    for _ in range(PUTS):
        await x.put((ep.rank + 1) % ep.size, 0, bytes(8))
        for _ in range(EACH):
            await x.barrier()


def reported(main, network):
    with reporting() as reports:
        result = conduit.run(main, ranks=4, conduit=network)
    return reports[0], result


@pytest.mark.parametrize("network", ["origin"])  # t3e has barriers of its own, without puts
def test_barriers_of_native_puts_are_named_and_their_puts_are_counted(network):
    found, result = reported(meeting, network)
    (told,) = found.advice
    line = meeting.__code__.co_firstlineno + 6
    said = re.fullmatch(
        r"Rank \d, like 3 other ranks, spends \d\d % of its time after the start in sending and receiving, not in "
        r"waits: (\d+) messages and native operations of 8 bytes on the average, 1\.\d µs of its processor for each\. "
        rf"Most of them are for 200 barriers, at \S*test_short_messages\.py:{line} in meeting\.",
        told.what,
    )
    assert said, told.what
    assert told.remedy == FEWER_BARRIERS
    puts = [each["rma_puts"] for each in result.statistics]
    assert set(puts) == {PUTS + 2 * (PUTS * EACH - 1)}  # two signals a barrier; the first one's are messages
    assert 0 <= int(said[1]) - puts[0] < 16  # and what messages there are
    sizes = found.profile.sizes
    assert sizes["native operations"] == {8: 4 * PUTS}
    assert sizes["signals of barriers"] == {8: sum(puts) - 4 * PUTS}
    assert sum(found.profile.messages.values()) == sum(puts) + len(found.profile.lives)
    assert sum(found.profile.nbytes.values()) >= 8 * sum(puts)
    (use,) = [each for each in found.profile.lines if f":{line} " in each.place]
    assert use.requests >= 4 * 2 * PUTS * EACH


def test_the_page_counts_them(tmp_path):
    found, result = reported(meeting, "t3e")
    found.write(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert f" and {sum(each['rma_puts'] for each in result.statistics)} native operations; the job ended well." in page


@pytest.mark.parametrize("network", ["sci", "t3e:rma=am"])
def test_barriers_of_messages_are_named(network):
    found, _ = reported(meeting, network)
    (told,) = found.advice
    assert re.search(
        r" messages of 0 bytes on the average, \d\.\d µs of its processor for each\. Most of them are for 200 "
        r"barriers, at \S*test_short_messages\.py:\d+ in meeting\.$",
        told.what,
    )
    assert told.remedy == FEWER_BARRIERS
    assert "signals of barriers" not in found.profile.sizes


def test_collective_calls_are_named():
    async def main(ep):
        x = await Extended.attach(ep)
        for _ in range(50):
            await x.all_reduce(np.arange(2))
        await x.broadcast(np.arange(2), 0)

    found, _ = reported(main, "t3e")
    (told,) = found.advice
    line = main.__code__.co_firstlineno + 3
    assert re.search(
        rf" Most of them are for 51 collective calls, 50 of them at \S*test_short_messages\.py:{line} in main\.$",
        told.what,
    )
    assert told.remedy == FEWER_COLLECTIVES
