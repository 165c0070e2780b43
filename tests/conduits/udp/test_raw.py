"""The benchmarks of bare sockets, against the formula of docs/models/udp.md and the law that no datagram just goes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduits.udp.port import UdpOptions
from conduits.udp.raw import FLOOD, SIZES, flood, one_way, tables


@pytest.mark.parametrize("nbytes", SIZES)
@pytest.mark.parametrize("rate", [125e6, 12.5e6])
def test_a_datagram_takes_the_sum_of_its_parts(nbytes, rate):
    took = one_way(UdpOptions(rate=rate, loss=0.5, reorder=0.5), nbytes)  # chances are left out
    wire = max(84, nbytes + 66) / rate * 1e6
    copy = 0.05 + nbytes / 1500
    assert took.send / 1e6 == pytest.approx(4 + copy, abs=1e-5)
    assert took.way / 1e6 == pytest.approx(1 + 2 * wire + 0.1 + 2 + 0.1 + 1 + 3, abs=1e-5)
    assert took.receive / 1e6 == pytest.approx(2 + copy, abs=1e-5)


@settings(max_examples=12)
@given(
    senders=st.integers(1, 3),
    nbytes=st.integers(1, 1472),
    chances=st.tuples(*[st.sampled_from([0.0, 0.2, 1.0])] * 3),
    buffer=st.sampled_from([1472, 4096, 262144]),
    queue=st.sampled_from([1538, 4096, 131072]),
    order=st.sampled_from(["strict", "weak"]),
)
def test_no_datagram_just_goes(senders, nbytes, chances, buffer, queue, order):
    loss, dup, reorder = chances
    found = flood(
        UdpOptions(loss=loss, dup=dup, reorder=reorder, buffer=buffer, queue=queue, order=order), senders, nbytes
    )
    assert found.sent == senders * FLOOD
    gone = found.lost + found.adapter + found.switch + found.socket
    assert found.sent + found.doubled == gone + found.received
    assert bool(found.received) is (loss < 1)
    assert found.doubled >= found.received / 2 or dup < 1


def test_one_sender_fills_the_link_and_three_lose_at_the_switch():
    one, three = (flood(UdpOptions(), senders, 1472) for senders in (1, 3))
    assert one.received == one.sent == FLOOD
    link = 1472 / (1472 + 66) * 125
    for found in (one, three):
        assert found.received * 1472 / found.ticks * 1e6 == pytest.approx(link, rel=0.01)
    assert three.switch == three.sent - three.received > FLOOD


def test_a_receiver_with_little_room_loses_small_datagrams_that_its_interrupts_keep_it_from():
    found = flood(UdpOptions(buffer=1472), 3, 64)
    assert found.socket == found.sent - found.received > found.received


def test_the_tables_have_a_row_for_each_size_and_number_of_senders():
    single, floods = tables(UdpOptions(loss=1.0))
    assert [row[0] for row in single.rows] == list(SIZES)
    assert [row[:2] for row in floods.rows] == [[senders, size] for senders in (1, 3) for size in (64, 512, 1472)]
    assert {row[-1] for row in floods.rows} == {0.0}  # MB/s, where all is lost
