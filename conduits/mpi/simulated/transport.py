"""Active Messages on a simulated MPI library, and the library's own progress, as a rank's port polls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conduit.contract import LONG, Message, Unhandled
from conduit.simnet import SimulatedPort, Transport
from conduit.simnet.transport import LATER, Then
from conduits.mpi.engine.device import MORE, NOTHING, Device
from conduits.mpi.engine.plain import EngineLibrary
from conduits.mpi.libraries.layer import LayerCosts
from conduits.mpi.messages import Messages, SlotRecord
from conduits.mpi.wire import word_of

_STEPS = 10  # of the library in one pass, as messages


class LibraryTransport(Transport):
    """The library as a rank's port polls it.

    Args:
        port: the rank's port.
        library: the rank's library.
        layer: what the messages cost beside MPI's own calls.
        options: of the network.

    Attributes:
        messages: Active Messages, None before the first attach.
    """

    def __init__(self, port: SimulatedPort, library: EngineLibrary, layer: LayerCosts, options: Any) -> None:
        super().__init__(port)
        self._library = library
        self._engine = library.engine
        self._worker = self._engine.worker
        self._options = options
        self._layer = layer
        world = library.world
        self._comms = (world.Dup(), world.Dup())
        self._held: Message | None = None
        self._resume = port.resume_pass
        self._steps = 0  # how many the pass may still make; where it has made all there may be more
        device = self._engine.device
        self._begins = type(device).begin_pass is not Device.begin_pass
        self._ends = type(device).end_pass is not Device.end_pass
        self.messages: Messages | None = None
        self.miss_changed()

    def miss_changed(self) -> None:
        """Take note of what a poll in vain costs by now."""
        tests = 0 if self.messages is None else 2 * self._engine.software.test_ps
        self.miss_ps = max(1_000, self._engine.device.miss_ps + tests)

    def attach(self) -> None:
        """Post what is to receive; a plain call of MPI."""
        port = self.port
        options = self._options
        self.messages = Messages(
            self._library, self._comms, memoryview(port.memory.view), [None] * len(port.hosts),
            credits=options.credits, medium=options.medium,
        )  # fmt: skip
        port.miss_changed()

    def begin_pass(self) -> None:
        """Begin a pass, which takes at most this many steps."""
        self._steps = _STEPS
        self._worker.passing = True
        if self._begins:
            self._engine.device.begin_pass()

    def take(self) -> Message | None:
        """Let the library make a step; return the next Active Message that has come by now."""
        worker, engine = self._worker, self._engine
        while True:
            if not (worker.idle or (worker.passing and worker.at_once())):
                worker.passing = False  # it goes on inside an act of the hardware, which is not over
                worker.when_idle(self._resume)
                return LATER
            most = steps = self._steps
            if self.messages is not None:
                message = self._held
                if message is None:
                    message = self._held = self.messages.take()
                    if not worker.idle:
                        continue
                if message is not None:
                    self._held = None
                    ticks = self._layer.receive
                    if message.word & LONG and message.nbytes:
                        ticks += self._copy_ps(message.nbytes)  # out of where it was received, into the segment
                        self._show(message)
                    engine.charge(ticks)
                    return message
                most = 1
            if not steps:
                return None
            left = engine.progress() if engine.schedules else engine.device.progress(most)
            if left < MORE and (left == NOTHING or self.messages is None):
                return None
            self._steps = steps - 1

    def _copy_ps(self, nbytes: int) -> int:
        """Return what the layer's own copy of a payload takes, one where it travels behind a header; see `Messages`."""
        return self._engine.host.copy_ticks(nbytes) if nbytes <= self._options.medium else 0

    def _show(self, message: Message) -> None:
        """Let who listens to landings hear of a payload that MPI has put into the segment."""
        memory, end = self.port.memory, message.offset + message.nbytes
        memory.write(message.offset, bytes(memory.view[message.offset : end]))

    def end_pass(self) -> None:
        """Let the next pass go on where there is more."""
        engine = self._engine
        if self._ends:
            engine.device.end_pass()
        if not self._steps and (engine.pending() if engine.schedules else engine.device.pending()):
            self.port.notify()

    def acquire(self, dest: int) -> SlotRecord | None:
        """Take a slot to `dest`."""
        assert self.messages is not None
        return self.messages.acquire(dest)

    def send_request(self, dest: int, slot: SlotRecord, message: Message, then: Then) -> None:
        """Send a request."""
        assert self.messages is not None
        self._engine.charge(self._layer.request + self._copy_ps(message.nbytes))
        self.messages.send_request(dest, slot, message)
        self._end_send(then)

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Send a reply."""
        assert self.messages is not None
        self._engine.charge(self._layer.reply + self._copy_ps(reply.nbytes))
        self.messages.send_reply(request, reply)
        self._end_send(then)

    def _end_send(self, then: Then) -> None:
        """Call `then()` when what the send stores is stored; a message that waits for room takes CPU time alone."""
        if self._worker.idle:
            kernel, cpu = self._engine.kernel, self._engine.cpu
            kernel.call(max(cpu.free, kernel.now), then)
        else:
            self._worker.when_idle(then)

    def unhandled(self) -> list[Unhandled]:
        """Return the Active Messages among what the library has and no poll has taken, as far as they have begun."""
        mine = [comm.context for comm in self._comms]
        return [
            Unhandled(each.origin, word_of(each.begin))
            for each in self._engine.device.untaken()
            if each.context in mine and each.begin
        ]

    def slots_in_use(self) -> list[str]:
        """Describe the slots in use, and what waits in the library."""
        lines = list(self._engine.device.slots_in_use())
        if self.messages is not None:
            most = self._options.credits
            used = self.messages.slots_in_use()
            lines += [f"{count} of {most} slots to rank {dest} in use" for dest, count in used.items() if count]
        return lines

    def statistics(self) -> Mapping[str, int]:
        """Return what the library has done."""
        return self._engine.statistics()
