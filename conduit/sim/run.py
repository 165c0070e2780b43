"""Runs tasks in virtual time, from the first event to the last."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import trio

from conduit import trio_private
from conduit.sim.collector import PatientCollector
from conduit.sim.kernel import Kernel
from conduit.sim.waiter import Ending, Waiter

Body = Callable[[], Awaitable[object]]


def run_tasks(kernel: Kernel, bodies: Sequence[Body]) -> None:
    """Run one task for each of `bodies`, started by events at time 0 in their order.

    Errors of a task end all of them and are kept in `kernel.end.errors`; so is a stall.

    Raises:
        KeyboardInterrupt: the job was interrupted.
    """

    @trio.lowlevel.enable_ki_protection  # a Ctrl-C comes in its wait, with all tasks there
    async def main() -> None:
        running = len(bodies)

        async def run_one(rank: int, body: Body, start: Waiter) -> None:
            nonlocal running
            try:
                await kernel.wait(start)
                await body()
            except trio.Cancelled:
                if not kernel.ending:
                    raise
            except BaseException as error:
                news = _news(kernel, error)
                if news is not None:
                    kernel.fail(news, rank)
                del news  # its traceback has this frame
            finally:
                running -= 1
                if not running:
                    kernel.finish()

        async with trio.open_nursery() as nursery:
            for rank, body in enumerate(bodies):
                start = Waiter()
                kernel.at(0, start.wake)
                nursery.start_soon(run_one, rank, body, start, name=f"rank {rank}")
            if not bodies:
                kernel.finish()
            kernel.watch_messengers()
            await kernel.guard()
            if kernel.ending:
                nursery.cancel_scope.cancel()

    order = trio_private.job_order()
    previous = order.enter(lambda: kernel.seed * 1_000_003 + kernel.now)
    try:
        with PatientCollector(len(bodies)):
            trio.run(main, clock=kernel, instruments=[kernel], strict_exception_groups=True)
    except trio.TrioInternalError:
        # A wait that was ended by force can upset Trio; what ended the job is what matters.
        if not kernel.end.errors:
            raise
    except BaseExceptionGroup as group:
        # An interrupt at the first step of a task, before it could keep what it raises.
        if group.subgroup(KeyboardInterrupt) is None:
            raise
        raise KeyboardInterrupt from None
    finally:
        order.leave(previous)


def _news(kernel: Kernel, error: BaseException) -> BaseException | None:
    """Return what of a task's error is neither the ending itself nor known already, None if nothing is."""
    if not kernel.ending:
        return error
    known = [entry[2] for entry in kernel.end.errors]

    def is_old(part: BaseException) -> bool:
        return isinstance(part, (Ending, trio.Cancelled)) or any(part is each for each in known)

    if isinstance(error, BaseExceptionGroup):
        return error.split(is_old)[1]
    return None if is_old(error) else error


def simulate(kernel: Kernel, *bodies: Body) -> None:
    """Run async functions of no arguments as tasks in virtual time; for drivers and hardware tests.

    Raises:
        BaseException: the first error of a task or of an event, or a stall.
    """
    run_tasks(kernel, bodies)
    if kernel.end.errors:
        raise min(kernel.end.errors, key=lambda entry: entry[:2])[2]
