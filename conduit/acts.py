"""The digest of a job: a hash of what its ranks observably did (rules.md E6).

Acts, not kernel events, so that a faster simulation of the same machine has the same digest.  Each
rank hashes its own stream; the job's digest joins them in rank order.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections.abc import Iterable

from conduit.contract import Message

SEND, HANDLE, WAKE = 0, 1, 2
_FLUSH = 64 * 6


class ActLog:
    """The acts of one rank: (time, kind, peer, category, size, checksum) each."""

    __slots__ = ("_hash", "_pending")

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._pending: list[int] = []

    def message(self, kind: int, time: int, peer: int, message: Message, payload: bytes | bytearray | memoryview) -> None:
        """Record that `message` was sent to, or handled from, rank `peer` at `time` picoseconds."""
        pending = self._pending
        checksum = zlib.crc32(payload, zlib.crc32(message.args, message.handler))
        pending.extend((time, kind << 8 | message.is_request << 4 | message.category, peer, message.nbytes, checksum))
        if len(pending) > _FLUSH:
            self._flush()

    def wake(self, time: int) -> None:
        """Record that a wait of the rank ended at `time` picoseconds."""
        self._pending.extend((time, WAKE << 8))
        if len(self._pending) > _FLUSH:
            self._flush()

    def digest(self) -> bytes:
        """Return the hash so far."""
        self._flush()
        return self._hash.digest()

    def _flush(self) -> None:
        self._hash.update(array("q", self._pending).tobytes())
        self._pending.clear()


def job_digest(logs: Iterable[ActLog]) -> str:
    """Return the digest of a job from the logs of its ranks, hexadecimal."""
    whole = hashlib.blake2b(digest_size=16)
    for log in logs:
        whole.update(log.digest())
    return whole.hexdigest()
