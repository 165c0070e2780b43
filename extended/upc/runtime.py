"""What one thread's arrays and calls share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import conduit
from extended.upc.watch import Watch
from extended.upc.writes import Writes

if TYPE_CHECKING:
    from extended import Extended


class Runtime:
    """One thread's part in the shared arrays.

    Args:
        x: the extended layer.
        write_buffer: bytes of relaxed writes that are kept at most.

    Attributes:
        x: as given.
        ep: the endpoint.
        writes: the write buffer.
        watch: notices reads of single elements.
        freed: ids of the arrays that were freed, with who did it.
    """

    def __init__(self, x: Extended, write_buffer: int) -> None:
        self.x = x
        self.ep = x.ep
        self.writes = Writes(x, write_buffer)
        self.watch = Watch(x.ep)
        self.freed: dict[int, str] = {}

    async def connect(self) -> None:
        """Attach what this layer adds, on all ranks, and see to the end of main."""
        self.ep.on_exit(self.finish)

    async def finish(self) -> None:
        """Complete what main has left in the write buffer."""
        await self.fence()

    async def fence(self) -> None:
        """Complete all writes of this thread; polls at least once."""
        self.watch.synchronised()
        await self.writes.complete()

    def check_alive(self, id: int, what: str, using: str) -> None:
        """Refuse the use of an array that was freed.

        Raises:
            conduit.BadRequest: it was.
        """
        who = self.freed.get(id)
        if who is not None:
            raise conduit.BadRequest(
                f"{using}: {what} was freed {who}; use arrays before they are freed, and free them after a barrier"
            )
