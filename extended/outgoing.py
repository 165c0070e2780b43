"""Messages that handlers have listed, because they cannot send, until a poll of their rank sends them."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conduit import Endpoint


class RequestQueue(deque[Callable[[], Awaitable[None]]]):
    """Requests, native puts and arrivals that are still to be sent, in order; the calls that send them.

    Args:
        ep: the rank's endpoint.
    """

    __slots__ = ("_ep",)

    def __init__(self, ep: Endpoint) -> None:
        super().__init__()
        self._ep = ep

    def add(self, dest: int, handler: Callable[..., None], *args: int) -> None:
        """List a request; plain."""
        self.append(partial(self._ep.request_short, dest, handler, *args))

    def add_medium(self, dest: int, handler: Callable[..., None], payload: bytes, *args: int) -> None:
        """List a request with a payload; plain."""
        self.append(partial(self._ep.request_medium, dest, handler, payload, *args))

    def add_put(self, dest: int, offset: int, data: bytes) -> None:
        """List a native put into the auxiliary memory of a rank, on a network that has them; plain."""
        assert self._ep.rma is not None
        self.append(partial(self._ep.rma.put, dest, offset, data, auxiliary=True))

    def add_arrival(self, barrier: tuple[int, int], marked: bool, then: Callable[[bool], object]) -> None:
        """List an arrival at a barrier of the network's own, where it has them; plain."""
        assert self._ep.rma is not None
        self.append(partial(self._ep.rma.arrive, barrier, marked, then))

    def ask(self) -> None:
        """Ask for progress if anything is listed; plain."""
        if self:
            self._ep.want_progress()

    async def send(self) -> None:
        """Send what is listed, also what is added meanwhile."""
        while self:
            # Taken off the list before the send, during which another task may come here too.
            send = self.popleft()
            await send()

    async def send_at_once(self) -> None:
        """Send what is listed, or poll where that is nothing; without a point where it can be cancelled.

        For a rank's part in what all ranks do: once it has decided to give it, the others depend on it.
        """
        await self._ep.shielded(self.send if self else self._ep.poll)
