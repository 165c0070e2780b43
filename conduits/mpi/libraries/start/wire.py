"""What a control message looks like in StarT-X messages ("packets" here).

The software's header word of every packet, its *tag*:

    bits 0-15    source rank
    bits 16-20   which rank of the target host it is for
    bit  21      FIRST: it begins a control message
    bit  22      ASK: it asks for the right to send by RDMA, and belongs to no control message

A control message is a header of 28 bytes, and its data where the kind has any.  It is cut into packets of up to 84
bytes, each behind 4 that say how many packets went from that rank to this before; so the receiver finds out in which
order they were sent, whatever the network keeps.  The payload of an ASK is the number of the receive (4 bytes) and the
size of the transfer (4).  Little-endian; no I/O and no clock here.

Source: lengths sx.msg.header, sx.msg.payload; the fields are assumed.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

LARGEST = 88
"""Bytes of payload of a packet."""
ROOM = LARGEST - 4
"""Bytes of a control message in a packet."""
INLINE, REQUEST, OK, DATA, MATCHED, FREED = range(1, 7)
"""Kinds of control messages: a message with its data; one without, the request to send; the ok to send, its receive
has been found; the data of a short one that was requested; the receive of a synchronous one has been found; data
were taken, and nothing besides."""
MESSAGES = (INLINE, REQUEST)
WITH_DATA = (INLINE, DATA)

FIRST, ASK = 1 << 21, 1 << 22
_HEADER = Struct("<BBHIiQII")
HEADER = _HEADER.size
pack = _HEADER.pack
_NUMBER = Struct("<I")
_PAIR = Struct("<II")
_NUMBERS = 1 << 32
_tuple = tuple.__new__


class ControlHeader(NamedTuple):
    """What a control message says.

    Attributes:
        kind: see above.
        mode: of the send.
        source: the sender's number in the communicator.
        context: of the communicator; with OK and DATA number of the receive, at the receiver.
        tag: of the message.
        nbytes: of the message; with OK how many are wanted, with DATA how many these are.
        send: number of the send, at its sender.
        freed: bytes of INLINE messages of the other direction that were taken, since the beginning, of 32 bits.
    """

    kind: int
    mode: int
    source: int
    context: int
    tag: int
    nbytes: int
    send: int
    freed: int

    @property
    def size(self) -> int:
        """Bytes of the control message."""
        return HEADER + (self.nbytes if self.kind in WITH_DATA else 0)

    def pack(self) -> bytes:
        """Return the bytes."""
        return pack(*self)


def about(kind: int, send: int, nbytes: int = 0, receive: int = 0) -> ControlHeader:
    """Return the header of a control message that is no message but about one."""
    return ControlHeader(kind, 0, 0, receive, 0, nbytes, send, 0)


def unpack(stream: bytes | bytearray) -> ControlHeader:
    """Return the header with which a control message begins."""
    return _tuple(ControlHeader, _HEADER.unpack_from(stream))


def tag(source: int, local: int) -> int:
    """Return the header word of a packet of rank `source` for rank `local` of the target host."""
    return source | local << 16


def source_of(tag: int) -> int:
    """Return the rank that a packet comes from."""
    return tag & 0xFFFF


def local_in(packet: bytes) -> int:
    """Return which rank of the target host a packet is for, by its header, the tag included."""
    return packet[6] & 31


def cut(stream: bytes, number: int) -> list[bytes]:
    """Cut a control message into the payloads of its packets, of which the first has a number."""
    return [
        payload((number + place) % _NUMBERS, stream[start : start + ROOM])
        for place, start in enumerate(range(0, len(stream), ROOM))
    ]


def payload(number: int, part: bytes) -> bytes:
    """Return the payload of the packet with this number, which holds a part of a control message."""
    found = _NUMBER.pack(number) + part
    return found + bytes(-len(found) % 4)


def number_of(payload: bytes) -> int:
    """Return the number of a packet, of 32 bits."""
    number: int = _NUMBER.unpack_from(payload)[0]
    return number


def part_of(payload: bytes) -> bytes:
    """Return the part of a control message in a packet, perhaps padded."""
    return payload[4:]


def next_number(number: int) -> int:
    """Return the number of the packet behind one."""
    return (number + 1) % _NUMBERS


def ask(receive: int, nbytes: int) -> bytes:
    """Return the payload of a packet that asks for the right to send `nbytes` for a receive."""
    return _PAIR.pack(receive, nbytes)


def asked(payload: bytes) -> tuple[int, int]:
    """Return what a packet asks for: the receive, and how many bytes."""
    receive, nbytes = _PAIR.unpack_from(payload)
    return receive, nbytes
