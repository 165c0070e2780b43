"""Time in which a rank calls nothing, so that what arrives stays where it is until it is asked for."""

from conduit import Endpoint


async def idle(ep: Endpoint, seconds: float) -> None:
    """Be away for a time, without a poll.

    Args:
        ep: the rank's endpoint.
        seconds: how long.
    """
    until = ep.now + seconds
    await ep.compute(seconds)
    while not ep.simulated and ep.now < until:
        pass  # a real rank spins: what it computes takes no time of its own
