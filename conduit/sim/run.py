"""Runs tasks in virtual time, from the first event to the last."""

from __future__ import annotations

import gc
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import trio

from conduit.sim import trio_private
from conduit.sim.interrupts import interruptible
from conduit.sim.kernel import Kernel
from conduit.sim.waiter import Ending, Waiter

Body = Callable[[], Awaitable[object]]


def run_tasks(kernel: Kernel, bodies: Sequence[Body]) -> None:
    """Run one task for each of `bodies`, started by events at time 0 in their order.

    Errors of a task end all of them and are kept in `kernel.end.errors`; so is a stall.

    Raises:
        KeyboardInterrupt: the job was interrupted.
    """

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
            await kernel.guard()
            if kernel.ending:
                nursery.cancel_scope.cancel()

    order = trio_private.job_order()
    previous = order.enter(lambda: kernel.seed * 1_000_003 + kernel.now)
    try:
        with interruptible(), _patient_collector(len(bodies)):
            trio.run(main, clock=kernel, instruments=[kernel], strict_exception_groups=True)
    except trio.TrioInternalError:
        # A wait that was ended by force can upset Trio; what ended the job is what matters.
        if not (kernel.end.abandoned and kernel.end.errors):
            raise
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


_collector_lock = threading.Lock()
_collector_jobs = 0
_collector_before = (700, 10, 10)
_YOUNG = 1_000_000
_YOUNG_PER_TASK = 4_000  # what a rank makes when it first talks to some twenty others, twice over


@contextmanager
def _patient_collector(tasks: int) -> Iterator[None]:
    """Look for garbage in cycles less often while jobs run.

    Messages and events leave none, but at a thousand ranks so much is alive that looking at it again and again takes
    as long as the simulation.
    """
    global _collector_jobs, _collector_before
    with _collector_lock:
        if not _collector_jobs:
            _collector_before = gc.get_threshold()
        young, *older = gc.get_threshold()
        if young:  # 0: somebody has turned it off
            gc.set_threshold(max(_YOUNG + tasks * _YOUNG_PER_TASK, young), *older)
        _collector_jobs += 1
    try:
        yield
    finally:
        with _collector_lock:
            _collector_jobs -= 1
            if not _collector_jobs:
                gc.set_threshold(*_collector_before)


def simulate(kernel: Kernel, *bodies: Body) -> None:
    """Run async functions of no arguments as tasks in virtual time; for drivers and hardware tests.

    Raises:
        BaseException: the first error of a task or of an event, or a stall.
    """
    run_tasks(kernel, bodies)
    if kernel.end.errors:
        raise min(kernel.end.errors, key=lambda entry: entry[:2])[2]
