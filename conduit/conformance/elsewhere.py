"""A job that is run in another process as well: `python -m conduit.conformance.elsewhere SPEC SEED` prints its digest.

Nothing of pytest is imported, to spare the time.
"""

import sys

import conduit
from conduit import Endpoint, Token
from conduit.conformance.programs import attached

RANKS = 3


async def crowded(ep: Endpoint) -> None:
    """Let many messages wait at once at each rank, which then takes them; what comes first decides what is answered."""
    order = 0

    def ask(token: Token, payload: memoryview, number: int) -> None:
        nonlocal order
        order = (order * 31 + token.rank * 7 + number) % 1000
        token.reply_medium(log.medium, bytes(order % 300), order)

    log = await attached(ep, ask)
    for number in range(8):
        for step in range(1, ep.size):
            await ep.request_medium((ep.rank + step) % ep.size, ask, bytes(number * 30), number)
        await ep.compute(2e-5)
    await log.until(8 * (ep.size - 1))


def digest(spec: str, seed: int) -> str:
    """Return the digest of the job on a conduit."""
    found: str | None = conduit.run(crowded, ranks=RANKS, conduit=spec, seed=seed).digest
    assert found is not None
    return found


if __name__ == "__main__":
    print(digest(sys.argv[1], int(sys.argv[2])))
