"""What the benchmarks of bare drivers wait with (`conduit raw`)."""

from __future__ import annotations

from collections.abc import Callable

from conduit.sim import Kernel, Waiter

Tell = Callable[[int], None]


async def until_done(kernel: Kernel, start: Callable[[Tell], int | None]) -> None:
    """Make a call of a driver and wait until it is done.

    Args:
        kernel: the clock that they pass on.
        start: the call, given what to tell the time of its end in picoseconds; it returns that time instead where it
            knows it at once, else 0 or None.
    """
    waiter = Waiter()

    def tell(when: int) -> None:
        kernel.at(when, waiter.wake)

    known = start(tell)
    if known:
        tell(known)
    await kernel.wait(waiter)
