"""Runs tasks in real time, from the first to the last."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from conduit.contract.world import Body
from conduit.wall.clock import WallClock, WallEnding


def run_tasks(clock: WallClock, bodies: Sequence[Body], first: int = 0) -> None:
    """Run one task for each of `bodies`; errors of a task end all of them and are kept in `clock.end.errors`.

    Args:
        clock: the job's time.
        bodies: what the ranks of this process do.
        first: which rank the first of them is.
    """

    async def main() -> None:
        running = len(bodies)

        async def run_one(rank: int, body: Body) -> None:
            nonlocal running
            try:
                await body()
            except trio.Cancelled:
                if not clock.ending:
                    raise
            except BaseException as error:
                news = _news(clock, error)
                if news is not None:
                    clock.fail(news, rank)
                del news  # its traceback has this frame
            finally:
                running -= 1
                if not running:
                    clock.finish()

        async with trio.open_nursery() as nursery:
            for rank, body in enumerate(bodies, first):
                nursery.start_soon(run_one, rank, body, name=f"rank {rank}")
            if not bodies:
                clock.finish()
            await clock.guard()
            if clock.ending:
                nursery.cancel_scope.cancel()

    try:
        trio.run(main, clock=clock, instruments=[clock], strict_exception_groups=True)
    except trio.TrioInternalError:
        # A wait that was ended by force can upset Trio; what ended the job is what matters.
        if not (clock.end.abandoned and clock.end.errors):
            raise


def _news(clock: WallClock, error: BaseException) -> BaseException | None:
    """Return what of a task's error is neither the ending itself nor known already, None if nothing is."""
    if not clock.ending:
        return error
    known = [entry[2] for entry in clock.end.errors]

    def is_old(part: BaseException) -> bool:
        return isinstance(part, (WallEnding, trio.Cancelled)) or any(part is each for each in known)

    if isinstance(error, BaseExceptionGroup):
        return error.split(is_old)[1]
    return None if is_old(error) else error
