"""All ranks give bytes to all, without a call that waits.

Bruck's way: in round k every rank passes all that it has on to the rank 2**k before it, so that after log2(n) rounds
everybody has everything.
"""

from __future__ import annotations

from collections.abc import Generator
from struct import Struct

from conduits.mpi.interface import PlainComm, PlainRequest

_LENGTH = Struct("<Q")
_ROUNDS = 64  # tags of one purpose


def all_gather(comm: PlainComm, data: bytes, purpose: int = 0) -> Generator[None, None, list[bytes]]:
    """Yield until it is over; return what every rank has given, by rank.

    Args:
        comm: among whom; nothing else is sent in it.
        data: what this rank gives.
        purpose: gathers of different purposes are never mixed up, those of one are in order.
    """
    rank, size = comm.Get_rank(), comm.Get_size()
    blocks = [data]  # of this rank, the next one and so on
    tag = purpose * _ROUNDS
    while len(blocks) < size:
        distance = len(blocks)
        there, here = (rank - distance) % size, (rank + distance) % size
        packed = _packed(blocks[: size - distance])
        sends = [comm.Isend(_LENGTH.pack(len(packed)), there, tag), comm.Isend(packed, there, tag)]
        length = bytearray(_LENGTH.size)
        yield from _over(comm.Irecv(length, here, tag))
        received = bytearray(_LENGTH.unpack(length)[0])
        yield from _over(comm.Irecv(received, here, tag))
        for send in sends:
            yield from _over(send)
        blocks += _unpacked(received)
        tag += 1
    return [blocks[(each - rank) % size] for each in range(size)]


def _over(request: PlainRequest) -> Generator[None, None, None]:
    while not request.Test():
        yield


def _packed(blocks: list[bytes]) -> bytes:
    return b"".join(part for block in blocks for part in (_LENGTH.pack(len(block)), block))


def _unpacked(data: bytearray) -> list[bytes]:
    blocks = []
    at = 0
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        blocks.append(bytes(data[at : at + length]))
        at += length
    return blocks
