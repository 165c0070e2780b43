"""The pinned memory of a host, between which and the network the NIU moves blocks by itself."""

from __future__ import annotations

from conduit.errors import NetworkError
from conduit.sim.memory import Memory
from conduits.startx import constants as c

UNIT = c.whole(c.RDMA_UNIT)
REGION = c.whole(c.PINNED)


class StartXError(NetworkError):
    """The NIU or its driver refused something."""


class PinnedMemory:
    """The pinned region of a host: a finite one, of which processes get buffers.

    Args:
        host: its host.
    """

    __slots__ = ("_buffers", "_end", "host", "memory")

    def __init__(self, host: int) -> None:
        self.host = host
        self.memory = Memory(REGION)
        self._end = 0
        self._buffers: list[tuple[int, int]] = []

    def allocate(self, nbytes: int) -> int:
        """Pin a buffer and return its address.

        Raises:
            StartXError: the region has no room for it.
        """
        if nbytes < 1 or self._end + nbytes > REGION:
            raise StartXError(
                f"host {self.host} cannot pin {nbytes} bytes: {self._end} of the {REGION} bytes of the pinned region "
                "are taken; ask for fewer"
            )
        address = self._end
        self._end = address + nbytes + -nbytes % UNIT  # the next buffer is aligned
        self._buffers.append((address, nbytes))
        return address

    def check(self, address: int, nbytes: int) -> None:
        """Refuse what is not whole words inside one buffer.

        Raises:
            StartXError: it is not.
        """
        if address % UNIT or nbytes % UNIT or nbytes < 1:
            raise StartXError(
                f"host {self.host}: RDMA of {nbytes} bytes at address {address} refused; both must be multiples of "
                f"{UNIT} and the size not 0"
            )
        if not any(start <= address and address + nbytes <= start + size for start, size in self._buffers):
            raise StartXError(f"host {self.host}: RDMA of {nbytes} bytes at address {address}: not in a pinned buffer")
