"""The formats of SCI memory: headers round trip, any bytes are taken or refused, regions do not overlap."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.contract import AUTO_REPLY, REQUEST, Category, Message, word_of
from conduits.sci import wire

arguments = st.lists(st.integers(-(2**31), 2**31 - 1), max_size=16).map(
    lambda values: struct.pack(f"<{len(values)}i", *values)
)


@given(
    st.integers(0, 255), st.sampled_from(Category), st.booleans(), arguments, st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1), st.integers(0, 2**16 - 1),
)  # fmt: skip
def test_headers_round_trip(handler, category, is_request, args, nbytes, offset, slot):
    is_request = is_request or category == Category.LONG_ASYNC
    message = Message(word_of(handler, category, is_request=is_request), args, b"", offset, nbytes)
    data = wire.pack(message, slot)
    assert len(data) == 16 + len(args) <= 80
    found = wire.unpack(data.ljust(80, b"\xff"))
    assert (found.handler, found.category, found.is_request, found.is_auto_reply) == (
        handler,
        category,
        is_request,
        False,
    )
    assert (found.args, found.nbytes, found.offset, found.slot) == (args, nbytes, offset, slot)


@pytest.mark.parametrize("slot", [0, 1, 65535])
def test_the_control_message(slot):
    message = Message(word_of(7, Category.MEDIUM, is_request=False, auto_reply=True))
    found = wire.unpack(wire.pack(message, slot))
    assert found.is_auto_reply
    assert not found.is_request
    assert found.slot == slot
    assert (found.args, found.nbytes) == (b"", 0)


def test_the_first_word_is_packed_as_in_the_authors_code():
    """Handler 8 bits, request 1, category 2, number of arguments 5."""
    message = Message(word_of(0xAB, Category.LONG, is_request=True), bytes(4 * 13), b"", 0x1122334455667788, 0x99)
    data = wire.pack(message, 5)
    word, nbytes, offset = struct.unpack_from("<IIQ", data)
    assert word == 0xAB | 1 << 8 | 2 << 9 | 13 << 11 | 5 << 16
    assert (nbytes, offset) == (0x99, 0x1122334455667788)


def test_an_address_nobody_looks_at_may_be_any_integer():
    message = Message(REQUEST | Category.LONG << 9, b"", b"", -(2**70))
    assert wire.unpack(wire.pack(message, 0)).nbytes == 0


@given(st.binary(max_size=100))
def test_any_bytes_are_a_header_or_refused(data):
    try:
        message = wire.unpack(data)
    except wire.BadHeader:
        assert len(data) < 16 or len(data) < 16 + 4 * (data[1] >> 3) or data[1] >> 3 > 16
    else:
        assert len(message.args) % 4 == 0
        assert message.word & AUTO_REPLY or message.word < 1 << 11


def test_refusals_say_why():
    with pytest.raises(wire.BadHeader, match=r"\Aa header of 3 bytes is shorter than 16\Z"):
        wire.unpack(b"abc")
    with pytest.raises(wire.BadHeader, match=r"\Aa header of 80 bytes announces 17 arguments; at most 16 fit\Z"):
        wire.unpack(struct.pack("<I", 17 << 11).ljust(80, b"\0"))


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_the_cut_is_aligned_and_whole(offset, nbytes):
    head, body, tail = wire.cut(offset, nbytes)
    assert head + body + tail == nbytes
    assert 0 <= head < 8
    assert 0 <= tail < 8
    assert body % 8 == 0
    if body:
        assert (offset + head) % 8 == 0


@given(st.integers(8, 1000), st.integers(0, 63))
def test_the_body_is_as_long_as_can_be(nbytes, offset):
    aligned = [byte for byte in range(offset, offset + nbytes + 1) if byte % 8 == 0]
    assert wire.cut(offset, nbytes).body == (aligned[-1] - aligned[0] if aligned else 0)


layouts = st.builds(wire.PairedLayout, st.integers(1, 20), st.integers(1, 6), st.integers(512, 5000))


@given(layouts)
def test_no_two_slots_overlap(layout):
    places = [layout.slot(kind, slot) for kind in (wire.REQUEST, wire.REPLY) for slot in range(layout.slots)]
    assert places == sorted(places)
    ends = [place + wire.HEADER_MAX + layout.slot_payload for place in places]
    assert all(end <= following for end, following in zip(ends, places[1:], strict=False))
    assert ends[-1] <= layout.command_bytes


@given(layouts)
def test_every_slot_of_every_peer_has_its_flag(layout):
    flags = [
        layout.ready(peer, kind, slot)
        for peer in range(layout.ranks)
        for kind in (wire.REQUEST, wire.REPLY)
        for slot in range(layout.slots)
    ]
    assert flags == list(range(layout.READY, layout.control_bytes))
    assert len(flags) == layout.flags
    assert layout.EXIST not in flags


def test_a_slot_is_a_header_and_the_largest_medium_payload():
    assert wire.PairedLayout(2, 2, 2048).slot_bytes == 80 + 2048


queues = st.builds(wire.QueueLayout, st.integers(1, 6), st.integers(1, 600).map(lambda words: 8 * words))


@given(queues, st.data())
def test_a_block_ends_with_its_flag_where_the_slot_ends(layout, data):
    slot = data.draw(st.integers(0, layout.slots - 1))
    payload = data.draw(st.binary(max_size=min(layout.area, 100)))
    block = layout.join(b"h" * 20, payload)
    memory = bytearray(layout.queue_bytes)
    start = layout.start(slot, len(block))
    memory[start : start + len(block)] = block
    assert memory[layout.flag(slot)] == 1
    assert layout.flag(slot) == start + len(block) - 1 == (slot + 1) * layout.slot_bytes - 1
    header = layout.header(slot)
    assert memory[header : header + 20] == b"h" * 20
    assert memory[header - len(payload) : header] == payload
    assert start >= slot * layout.slot_bytes
