"""A barrier on short messages, for benchmarks of the core itself."""

from conduit import Endpoint, Token


class BenchmarkBarrier:
    """The dissemination barrier: in round k every rank tells the one 2**k further on, and waits for its own news.

    Attach its `on_arrival`, then await `wait()` on every rank.

    Args:
        ep: this rank's endpoint.
    """

    def __init__(self, ep: Endpoint) -> None:
        self._ep = ep
        self._rounds = (ep.size - 1).bit_length()
        self._arrived = [0] * self._rounds
        self._generation = 0

    def on_arrival(self, token: Token, step: int) -> None:
        """Count news of one round (handler).  A neighbour is at most one barrier ahead, so counts suffice."""
        self._arrived[step] += 1

    async def wait(self) -> None:
        """Wait until every rank has come as far."""
        self._generation += 1
        for step in range(self._rounds):
            await self._ep.request_short((self._ep.rank + (1 << step)) % self._ep.size, self.on_arrival, step)
            await self._news(step)

    async def _news(self, step: int) -> None:
        origin = (self._ep.rank - (1 << step)) % self._ep.size
        await self._ep.block_until(
            lambda: self._arrived[step] >= self._generation, what=f"barrier, round {step}", ranks=(origin,)
        )
