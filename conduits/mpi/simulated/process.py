"""A rank of a program of MPI in virtual time, as the awaited names use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from conduit import BadRequest
from conduit.contract import Awaited
from conduit.words import many
from conduits.mpi.awaited.open_requests import OpenRequests
from conduits.mpi.awaited.process import Both, Process, RequestPlace, Told, TransferComm, Words
from conduits.mpi.awaited.status import Status
from conduits.mpi.crossed_sends import Unasked
from conduits.mpi.simulated.port import SimulatedMpiPort
from conduits.mpi.simulated.unreceived import (
    never_given,
    never_received,
    never_taken,
    of_collectives,
    senders_wait,
    unexpected,
)
from conduits.mpi.simulated.waits import ForExchange, ForTransfer

_WAKE = 3 << 20  # as the core logs it


class SimulatedProcess(Process):
    """A simulated rank, as the awaited names use it.

    Args:
        port: the rank's.
    """

    def __init__(self, port: SimulatedMpiPort) -> None:
        super().__init__(port.library, port.rank, port.hosts)
        self.collectives = port.conduit.options.collectives
        self.same_calls = port.conduit.same_calls
        self._port = port
        self.call = port.call  # every call of MPI takes this way
        self._note = port.last_sends.append
        self._waiting: dict[object, OpenRequests] = {}
        self._warn: Callable[[str], None] | None = None  # where the program is one of MPI alone

    def end(self) -> None:
        """Refuse every further call: programs may have kept a communicator or a request.

        Where the job has ended well, warn of what was sent to this rank and never received, which MPI forbids.
        """
        self._refuse_calls()
        if self._warn is not None and self._port.conduit.over():
            self._warn_of_unreceived(self._warn)

    def _warn_of_unreceived(self, warn: Callable[[str], None]) -> None:
        port, conduit = self._port, self._port.conduit
        for text in never_received(port):
            warn(text)
        if self.rank == 0:  # what is of no rank alone
            for text in conduit.same_calls.unmatched():
                warn(text)
            if (count := conduit.on_their_way()) > 0:
                warn(f"{many(count, 'message')} of any ranks still on the way when all had returned, never received")

    def _refuse_calls(self) -> None:
        """Let every call be refused, without a test in those of a job that goes on."""
        self.same_calls = None
        self.ended = True
        for name in ("call", "exchanged", "finished", "wait", "wait_for", "poll"):
            setattr(self, name, self._refuse)
        for name in ("_guarded_send", "_guarded_receive"):
            setattr(self, name, self._refuse_guarded)

    async def _refuse(self, *_: Any) -> NoReturn:
        raise BadRequest(
            f"this call of MPI is of rank {self.rank} of a job that is over; make calls while main runs, and return "
            "from it what is wanted afterwards"
        )

    async def _refuse_guarded(self, unused: list[Any], *_: Any) -> NoReturn:
        unused.clear()
        await self._refuse()

    async def finished(self, request: Any, comm: Words, call: str, peer: int, tag: int) -> None:
        """Poll until a send or a receive is over."""
        port = self._port
        await port._block(ForTransfer(port.kernel, request, comm, call, peer, tag))
        digest_log = port.core.digest_log
        if digest_log is not None:
            digest_log.extend((port.ticks(), _WAKE))

    async def exchanged(self, exchange: Both) -> None:
        """Poll until a send and a receive are over, in one wait."""
        port = self._port
        await port._block(ForExchange(port.kernel, exchange))
        digest_log = port.core.digest_log
        if digest_log is not None:
            digest_log.extend((port.ticks(), _WAKE))

    async def wait_for(self, over: Callable[[], object], requests: OpenRequests) -> None:
        """Poll until `over()`; a report names those of the requests that are open when it is made."""
        task = self._port.kernel.task
        self._waiting[task] = requests
        try:
            await self.wait(over, requests.words(), list(requests))
        finally:
            del self._waiting[task]

    async def wait(self, over: Callable[[], object], what: str, ranks: Sequence[int]) -> None:
        """Poll until `over()`."""
        await self._port.block_until(over, what, ranks)
        digest_log = self._port.core.digest_log
        if digest_log is not None:
            digest_log.extend((self._port.ticks(), _WAKE))

    # What programs call most: as `Process` has them, in one coroutine, since a coroutine in a coroutine costs.

    async def _guarded_send(self, unused: list[Any], comm: TransferComm, data: memoryview, dest: int, tag: int) -> None:
        place = unused.pop()
        port = self._port
        if not port.begin_call_at_once():
            await port.begin_call()
        try:
            begun = comm.plain.send_bytes(data, dest, tag)
            self._note((place, comm, dest, tag))
            if not (port.worker.idle or port.worker.at_once()):
                await port.stores_over()
        finally:
            port.end_call()
        if not begun.over:  # no send of the engine has an error
            await self.sent(begun, comm, "Send", dest, tag)

    async def _guarded_receive(
        self, unused: list[Any], comm: TransferComm, data: memoryview, source: int, tag: int, status: Status | None
    ) -> None:
        unused.clear()
        port = self._port
        if not port.begin_call_at_once():
            await port.begin_call()
        try:
            begun = comm.plain.receive_bytes(data, source, tag)
            if not (port.worker.idle or port.worker.at_once()):
                await port.stores_over()
        finally:
            port.end_call()
        if not begun.over:
            try:
                await port._block(ForTransfer(port.kernel, begun, comm, "Recv", source, tag))
            except BaseException as error:
                words = comm.words("Recv", source, tag)
                if await self.taken_back(error, begun, lambda: begun.over, words, comm.ranks_of(source)):
                    raise
            digest_log = port.core.digest_log
            if digest_log is not None:
                digest_log.extend((port.ticks(), _WAKE))
        if status is not None:
            status.fill(begun)
        if begun.error is not None:
            raise begun.error

    def has_sent(self, comm: TransferComm, call: str, dest: int, tag: int) -> None:
        """Take note of a send of the program's that has begun, but for `Send`, which does so by itself."""
        self._note((RequestPlace.here(call), comm, dest, tag))

    async def poll(self) -> None:
        """Poll once."""
        await self._port.poll()

    def go_alone(self, warn: Callable[[str], None]) -> None:
        """The program is one of MPI alone: its sends and receives are what the digest is of."""
        self._warn = warn
        self._port.conduit.alone = True
        self._port.library.engine.digest_log = self._port.core.digest_log

    def tell(self, told: Told) -> None:
        """Tell which messages are here that no receive asks for: it may have asked for another tag.

        Of those that their sender waits for in a send its wait tells.  Tell also which collective calls it is in.
        """
        super().tell(told)
        for task, requests in self._waiting.items():
            told.waits_now(task, requests.words(), requests)
        waited_for = senders_wait(self._port)
        told_by_calls, others = of_collectives(self._port)
        told_elsewhere = sum(waited_for.values()) + told_by_calls
        told.told_by_waits(told_elsewhere)
        for count, messages in others:
            told.note(messages, count)
        left = self._port.library.engine.unexpected() - told_elsewhere - sum(count for count, _ in others)
        for count, messages in unexpected(self._port, waited_for):
            told.note(f"{messages}: no receive asks for {'them' if count > 1 else 'it'}", count)
            left -= count
        if left > 0:
            told.note(f"{many(left, 'message')} of collective calls, or of other communicators", left)
        for wait in self._port.waits():
            if wait.kind is Awaited.RETURN and (sends := never_taken(self._port)):
                told.waits_now(wait.task, sends)
        if extracted := self._port.library.engine.extracted():
            told.note(never_given(extracted))
        told.clue(Unasked(frozenset(origin for origin, _ in self._port.library.engine.unexpected_by())))
        for part in self._port.conduit.same_calls.parts_of(self.rank):
            told.part(part.name, part.group, part.come, part.waits, everybody=part.everybody)

    def copied(self, nbytes: int) -> None:
        """Take the CPU for a copy of `nbytes` bytes."""
        self._port.worker.spend(self._port.conduit.host_model.copy_ticks(nbytes))

    def worked(self, nbytes: int) -> None:
        """Take the CPU for combining two operands of `nbytes` bytes each: as long as a copy of one."""
        self.copied(nbytes)
