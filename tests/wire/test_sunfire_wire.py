"""Postboxes of Sun Fire Link: messages round trip, old and foreign lines are told apart, payloads are cut at lines."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.contract import AUTO_REPLY, LONG, REQUEST, Category, Message, word_of
from conduit.simnet import header
from conduits.sunfire import wire

arguments = st.lists(st.integers(-(2**31), 2**31 - 1), max_size=16).map(
    lambda values: struct.pack(f"<{len(values)}i", *values)
)
sequences = st.one_of(st.integers(0, 300), st.integers(2**32 - 80, 2**32 + 80), st.integers(0, 2**70))


def lines(data):
    assert len(data) % 64 == 0
    return [data[start : start + 64] for start in range(0, len(data), 64)]


@given(
    st.integers(0, 254), st.sampled_from([Category.SHORT, Category.MEDIUM]), st.booleans(), arguments,
    st.binary(max_size=4000), sequences,
)  # fmt: skip
def test_inline_messages_round_trip(handler, category, is_request, args, payload, sequence):
    payload = b"" if category == Category.SHORT else payload
    message = Message(word_of(handler, category, is_request=is_request), args, payload, 0, len(payload))
    data = wire.pack(header.pack(message) + payload, wire.Form.INLINE, sequence)
    postboxes = lines(data)
    assert len(postboxes) == max(1, -(-(16 + len(args) + len(payload)) // 56))
    assert all(wire.is_new(line, sequence + place) for place, line in enumerate(postboxes))
    found, form, blocks = wire.unpack(postboxes, 5, sequence)
    assert (found.handler, found.category, found.is_request, found.source) == (handler, category, is_request, 5)
    assert (found.args, bytes(found.payload), found.nbytes) == (args, payload, len(payload))
    assert (form, blocks) == (wire.Form.INLINE, ())


@given(arguments, st.lists(st.integers(0, 2**31), max_size=40), sequences, st.integers(0, 2**31))
def test_pointers_round_trip(args, blocks, sequence, nbytes):
    message = Message(REQUEST | Category.MEDIUM << 9 | 3, args, b"unused", 0, nbytes)
    data = wire.pack(header.pack(message) + wire.pointers(blocks), wire.Form.BLOCKS, sequence)
    found, form, found_blocks = wire.unpack(lines(data), 1, sequence)
    assert (found.args, found.nbytes, found.payload) == (args, nbytes, b"")
    assert (form, found_blocks) == (wire.Form.BLOCKS, tuple(blocks))


@given(arguments, sequences, st.integers(0, 2**31), st.integers(0, 2**62))
def test_edges_round_trip(args, sequence, nbytes, offset):
    edges = bytes(range(1, 1 + wire.cut(offset, nbytes).edges))
    message = Message(REQUEST | LONG | 3, args, b"unused", offset, nbytes)
    data = wire.pack(header.pack(message) + edges, wire.Form.STRAIGHT, sequence)
    found, form, blocks = wire.unpack(lines(data), 1, sequence)
    assert (found.args, found.nbytes, found.offset, found.payload) == (args, nbytes, offset, edges)
    assert (form, blocks) == (wire.Form.STRAIGHT, ())


@given(st.integers(0, 254), st.booleans(), arguments, st.binary(max_size=60), sequences)
def test_messages_of_one_postbox_are_packed_at_once(handler, is_request, args, payload, sequence):
    message = Message(word_of(handler, Category.MEDIUM, is_request=is_request), args, payload, 0, len(payload))
    data = wire.pack(header.pack(message) + payload, wire.Form.INLINE, sequence)
    assert (len(args) + len(payload) <= wire.SINGLE) == (len(data) == 64)
    if len(data) == 64:
        assert wire.pack_single(message, sequence) == data
        flag, form, count, number, _, nbytes, offset, behind = wire.fields_of(data)
        assert (flag, form, count, number) == (wire.FIRST, wire.Form.INLINE, 1, sequence % 2**32)
        assert (nbytes, offset, behind) == (len(payload), 0, (args + payload).ljust(wire.SINGLE, b"\0"))


def test_the_bare_answer_is_one_postbox():
    data = wire.pack(header.pack(Message(AUTO_REPLY)), wire.Form.INLINE, 9)
    assert len(data) == 64
    assert wire.unpack([data], 2, 9)[0].is_auto_reply


@given(sequences, st.integers(1, 1000))
def test_empty_and_older_postboxes_are_not_new(sequence, uses):
    old = wire.pack(bytes(16), wire.Form.INLINE, sequence)
    assert wire.is_new(old, sequence)
    assert not wire.is_new(old, sequence + uses)
    assert not wire.is_new(bytes(64), sequence)


@given(st.binary(min_size=64, max_size=64), st.lists(st.binary(min_size=64, max_size=64), max_size=3), sequences)
def test_any_bytes_are_a_message_or_refused(first, rest, sequence):
    try:
        message, form, _ = wire.unpack([first, *rest], 0, sequence)
    except wire.BadPostbox:
        assert first[:4] != b"\1\0\1\0" or rest or first[8:16] != bytes(8)
    else:
        assert first[0] == 1
        assert form <= 2
        assert len(message.args) <= 64


def test_lines_of_different_messages_are_refused():
    one = lines(wire.pack(bytes(100), wire.Form.INLINE, 4))
    other = lines(wire.pack(bytes(100), wire.Form.INLINE, 6))
    with pytest.raises(wire.BadPostbox, match="postbox 5 from rank 3 is not number 1 of its message"):
        wire.unpack([one[0], other[1]], 3, 4)
    with pytest.raises(wire.BadPostbox, match="flag 2"):
        wire.unpack([one[1], one[0]], 3, 5)


@given(st.integers(0, 2**40), st.integers(0, 10_000))
def test_a_long_payload_is_cut_at_lines(offset, nbytes):
    body = wire.cut(offset, nbytes)
    assert body.head + body.lines + body.tail == nbytes
    assert 0 <= body.head < 64
    assert 0 <= body.tail < 64
    assert body.lines % 64 == 0
    assert not body.lines or (offset + body.head) % 64 == 0
    assert body.lines or nbytes < 127


@given(st.integers(0, 10**6), st.integers(1, 500))
def test_acknowledgements_of_two_uses_of_a_line_differ(postbox, queue):
    assert 1 <= wire.ack_byte(postbox, queue) <= 255
    assert wire.ack_byte(postbox, queue) != wire.ack_byte(postbox + queue, queue)
