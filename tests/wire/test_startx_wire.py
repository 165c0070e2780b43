"""Packets of StarT-X: what is written is what is read, in whatever order it arrives."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.contract import AUTO_REPLY, REQUEST, Category, Message, word_of
from conduits.startx import wire

ARGS = st.lists(st.integers(-(2**31), 2**31 - 1), max_size=16).map(lambda args: struct.pack(f"<{len(args)}i", *args))
CATEGORIES = st.sampled_from(list(Category))


def made(category, args=b"", payload=b"", offset=0, handler=7, is_request=True):
    return Message(word_of(handler, category, is_request=is_request), args, payload, offset, len(payload))


def same(found, expected):
    assert (found.word, found.args, found.nbytes) == (expected.word, expected.args, expected.nbytes)
    if expected.nbytes and expected.word >> 9 & 2:
        assert found.offset == expected.offset


@given(CATEGORIES, ARGS, st.binary(max_size=1500), st.integers(0, 2**40), st.integers(0, 254), st.booleans(), st.data())
def test_a_message_is_put_together_from_its_packets_in_any_order(
    category, args, payload, offset, handler, is_request, data
):
    if category == Category.SHORT:
        payload = b""
    message = made(category, args, payload, offset, handler, is_request)
    stream = wire.head(message) + payload
    packets = wire.cut(stream)
    assert len(packets) == wire.stream_packets(packets[0]) <= wire.packets(len(payload))
    assert all(8 <= len(packet) <= 88 and len(packet) % 4 == 0 for packet in packets)
    area = bytearray(wire.HEAD_BYTES + wire.MORE_BYTES * (len(packets) - 1))
    for index in data.draw(st.permutations(range(len(packets)))):
        packet = packets[index]
        at, part = (wire.place(packet), packet[4:]) if index else (0, packet)
        area[at : at + len(part)] = part
    found = wire.message(bytes(area), 300, 5, int(not is_request))
    same(found, message)
    assert bytes(found.payload) == payload
    assert (found.source, found.slot, found.is_request) == (300, 5, is_request)
    assert not wire.goes_by_rdma(packets[0])


@given(ARGS, st.integers(1, 2**31 - 1), st.integers(0, 2**40))
def test_a_head_by_rdma_fits_one_packet(args, nbytes, offset):
    message = Message(word_of(3, Category.LONG, is_request=True), args, b"", offset, nbytes)
    (packet,) = wire.cut(wire.head(message, by_rdma=True))
    assert wire.goes_by_rdma(packet)
    assert wire.stream_packets(packet) == 1
    found = wire.message(packet, 0, 0, 0)
    same(found, message)
    assert found.payload == b""


def test_a_bare_answer_stays_one():
    (packet,) = wire.cut(wire.head(Message(AUTO_REPLY)))
    found = wire.message(packet, 1, 2, 1)
    assert found.is_auto_reply
    assert not found.word & REQUEST


@given(
    st.integers(0, wire.MAX_RANKS - 1),
    st.integers(0, wire.MAX_SLOTS - 1),
    st.integers(0, 1),
    st.sampled_from([wire.HEAD, wire.MORE, wire.ASK]),
    st.integers(0, wire.MAX_LOCAL - 1),
)
def test_tags_keep_their_fields_apart(source, slot, is_reply, kind, local):
    tag = wire.tag(source, slot, is_reply, kind, local)
    assert 0 <= tag < 2**32
    assert (tag & 0xFFFF, tag >> 16 & 255, tag >> 24 & 1, tag >> 25 & 3, tag >> 27) == (
        source,
        slot,
        is_reply,
        kind,
        local,
    )


@pytest.mark.parametrize(
    ("nbytes", "packets"),
    [(0, 1), (8, 1), (9, 2), (92, 2), (93, 3), (1024, 14), (512, 7)],
)
def test_how_many_packets_the_largest_head_and_a_payload_take(nbytes, packets):
    """88 bytes in the first, 80 of them the head; 84 in each further one."""
    assert wire.packets(nbytes) == packets


def test_a_long_message_without_payload_carries_no_offset():
    """It may be any integer, for which no field would be wide enough."""
    message = made(Category.LONG, offset=-(10**30))
    assert len(wire.head(message)) == 8


def test_asks():
    assert wire.asked(wire.ask(3, 4096)) == (3, 4096)
    assert [wire.whole_words(n) for n in (1, 8, 9)] == [8, 8, 16]


@given(st.binary(min_size=8, max_size=88))
def test_any_bytes_are_a_message_or_refused(data):
    try:
        found = wire.message(data, 0, 0, 0)
    except wire.BadPacket:
        return
    assert len(found.args) <= 64


def test_refusals():
    with pytest.raises(
        wire.BadPacket, match=r"\Athe word 0x8800 begins no message: at most 16 arguments, bits 18 to 31"
    ):
        wire.stream_packets(struct.pack("<II", 17 << 11, 0))
    with pytest.raises(wire.BadPacket, match=r"\Aa message of 108 bytes in a stream of 8\Z"):
        wire.message(struct.pack("<II", Category.MEDIUM << 9, 100), 0, 0, 0)
