"""The digest of a job: a hash of what its ranks observably did (rule E6).

Acts, not kernel events, so that a faster simulation of the same machine has the same digest.  Each
rank hashes its own stream; the job's digest joins them in rank order.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable

from conduit.errors import ConduitError

SEND, HANDLE, WAKE = 1 << 20, 2 << 20, 3 << 20
BEGIN, LAND, COMPLETE = 4 << 20, 5 << 20, 6 << 20  # of native one-sided operations
FLUSH = 90
"""Integers in a log from which on they are hashed.

More at once take fewer steps, but each is an object: of 64 ranks with 300 each many are no longer in a processor's own
cache when they are hashed.
"""
_USUAL = 320
"""Lengths of logs up to which, exclusively, a packer is there: some networks let logs grow longer."""


class _Packers(dict[int, Callable[..., bytes]]):
    """By a number of integers, what packs so many of 8 bytes; those of the usual lengths of a log are there."""

    def __init__(self) -> None:
        super().__init__((count, struct.Struct(f"{count}q").pack) for count in range(_USUAL))

    def __missing__(self, count: int) -> Callable[..., bytes]:
        return struct.Struct(f"{count}q").pack


_pack = _Packers()


class DigestLog(list[int]):
    """The acts of one rank, those that are not hashed yet: plain integers, appended in place.

    A message: time in ps, SEND or HANDLE with the message's word, the other rank, size, checksum of
    arguments and payload.  A `block_until` that is over: time, WAKE.  A native one-sided operation: time, BEGIN, at its
    target LAND, and COMPLETE, the other rank, size, checksum.

    WAKE is logged here and not taken from `conduit.core.observer.WaitListener`, because the two differ: that listener
    also hears waits for slots and at start-up, which depend on how the machine is simulated and so must not be in the
    digest; and it does not hear a `block_until` that was true at once, whose time the program does see.
    """

    __slots__ = ("_hash",)

    def __init__(self) -> None:
        super().__init__()
        self._hash = hashlib.blake2b(digest_size=16)

    def flush(self) -> None:
        """Hash what is there."""
        try:
            self._hash.update(_pack[len(self)](*self))
        except struct.error:
            for each in self:
                if not isinstance(each, int):
                    raise ConduitError(
                        f"the time of a rank has become {each!r} ps, a {type(each).__name__}: the network has "
                        "picoseconds that are no int; `python -X dev -m conduit ...` shows the line that schedules it"
                    ) from None
            # Times of more than some hundred days.
            self._hash.update(b"".join(each.to_bytes(16, "little") for each in self))
        self.clear()

    def digest(self) -> bytes:
        """Return the hash of all acts."""
        self.flush()
        return self._hash.digest()


def job_digest(logs: Iterable[DigestLog]) -> str:
    """Return the digest of a job from the logs of its ranks, hexadecimal."""
    whole = hashlib.blake2b(digest_size=16)
    for log in logs:
        whole.update(log.digest())
    return whole.hexdigest()
