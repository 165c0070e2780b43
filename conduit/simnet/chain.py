"""Chains of acts: what a rank does to the hardware in one send, written as a generator.

An *act* is one access to something shared: a store, a DMA request, a barrier.  The generator yields one act after the
other, each a function of `done`.  An act begins in an event at the time at which the CPU is free (rule T2), and calls
`done(when, outcome)` when the CPU may go on at `when`.  The outcome is what `yield` gives.  CPU time between acts is
spent by adding to `cpu.free`.

A generator, because a send then reads from top to bottom although each act is another event.  It costs an event and a
step of the generator for each act, so sends without a payload are written as plain callbacks instead.

    def steps():
        yield partial(adapter.store, offset, data)           an act: adapter.store(offset, data, done)
        error = yield adapter.barrier                        adapter.barrier(done), which calls done(when, error)
        ...
    Chain(kernel, cpu, steps(), then)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeAlias

from conduit.errors import ConduitError, NetworkError
from conduit.sim import Cpu, Kernel
from conduit.simnet.transport import Then
from conduit.words import plain

Done: TypeAlias = Callable[..., object]
Act: TypeAlias = Callable[[Done], object]
Steps: TypeAlias = Generator[Act, Any, None]


class Chain:
    """Runs the steps of one send of a rank, then calls `then()`.

    Args:
        kernel: the job's time.
        cpu: the rank's, which is taken until the end.
        steps: the acts.
        then: to be called when only CPU time is left.

    Raises:
        NetworkError: what the first step raises; what a later one does ends the job.
        TypeError: steps is no generator.

    Attributes:
        rank: its rank, for errors.
    """

    __slots__ = ("_act", "_cpu", "_kernel", "_steps", "_then", "rank")

    def __init__(self, kernel: Kernel, cpu: Cpu, steps: Steps, then: Then) -> None:
        self._kernel = kernel
        self._cpu = cpu
        self._steps = steps
        self._then = then
        self.rank = cpu.rank
        try:
            self._act = next(steps)
        except StopIteration:  # without an act it ends in an event all the same, when what it charges is over
            kernel.call(max(cpu.free, kernel.now), then)
        except TypeError:
            if isinstance(steps, Iterator):
                raise  # by its first step
            raise TypeError(
                f"Chain: steps={plain(steps)} is no generator; give what a method with a `yield` in it returns: "
                "self.steps(arguments)"
            ) from None
        else:
            kernel.call(max(cpu.free, kernel.now), self._begin)

    def _go_on(self, outcome: Any) -> None:
        try:
            self._act = self._steps.send(outcome)
        except StopIteration:
            pass
        else:
            self._kernel.call(max(self._cpu.free, self._kernel.now), self._begin)
            return
        self._then()  # not above: what a program raises in it would come while an error of ours is handled

    def _begin(self) -> None:
        self._act(self._done)

    def error_of_event(self, error: BaseException) -> BaseException:
        """Return what an event of this chain has raised; where its act cannot be called, what to yield instead."""
        act: Any = self._act
        if callable(act):
            return error
        steps: Any = self._steps
        while getattr(steps.gi_yieldfrom, "gi_frame", None) is not None:
            steps = steps.gi_yieldfrom
        where = f"{steps.gi_code.co_filename}:{steps.gi_frame.f_lineno}"
        return ConduitError(
            f"Chain: {steps.__qualname__} yielded {plain(act)} at {where}, which cannot be called; yield "
            "partial(f, x), which the chain calls as f(x, done); f(x) would be called at once"
        )

    def _done(self, when: int, outcome: Any = None) -> None:
        if when > self._cpu.free:
            self._cpu.free = when
        try:
            self._go_on(outcome)
        except NetworkError as error:
            self._kernel.fail(error, self.rank)  # in an event of the hardware, which is no rank's


def sleep_until(kernel: Kernel, when: int) -> Act:
    """Return an act that lasts until `when`, picoseconds."""

    def act(done: Done) -> None:
        if when > kernel.now:
            kernel.at(when, done, when)
        else:
            done(kernel.now)

    return act
