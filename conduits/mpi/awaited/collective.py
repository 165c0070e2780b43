"""The calls in which all processes of a communicator take part.

Each takes `algorithm=` beside mpi4py's arguments: one of `conduits.mpi.collectives.algorithms`, the same on all ranks;
empty for the library's usual one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from conduit import checked_call
from conduits.mpi.awaited import staging
from conduits.mpi.awaited.base import CommBase
from conduits.mpi.awaited.buffers import Span, equal_parts, parts, span
from conduits.mpi.awaited.collective_arguments import (
    algorithm_of,
    collected,
    exchanged,
    given,
    operands,
    root_of,
    rooted,
    scattered_operands,
)
from conduits.mpi.awaited.elements import combined, moved
from conduits.mpi.awaited.failed_calls import FailedCall
from conduits.mpi.awaited.lent import BytesOfCall
from conduits.mpi.awaited.operators import SUM, ReductionOp
from conduits.mpi.awaited.process import Process, RequestPlace
from conduits.mpi.awaited.request import Request
from conduits.mpi.awaited.same_calls import Given, StillToCome, all_do
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.errors import ErrorClass, MpiError


class Beginning(NamedTuple):
    """What begins a collective on one rank.

    Attributes:
        begin: takes a channel, and returns the steps of an algorithm.
        given: what is compared of the call.
        reads: the bytes of the program's that the rank sends.
        writes: those that it receives into; it may read them, too.
    """

    begin: Callable[[CollectiveChannel], Steps]
    given: Given
    reads: BytesOfCall = None
    writes: BytesOfCall = None


def _size(data: memoryview | Blocks | None) -> int:
    """Return how many bytes are meant."""
    if isinstance(data, Blocks):
        return sum(size for _, size in data.places)
    return 0 if data is None else len(data)


def _moved(comm: CommBase, own: memoryview | None, blocks: Blocks | None) -> Blocks | None:
    """Return the blocks of a rank that a call moves: its own stays where it is in place."""
    if own is not None or blocks is None:
        return blocks
    mine = comm.Get_rank()
    return blocks.some([rank for rank in range(len(blocks.places)) if rank != mine])


def _bytes(data: Span | None) -> memoryview | None:
    return None if data is None else data.view


def _combined(operand: Span | None, op: ReductionOp, algorithm: str, root: int | None = None) -> Given:
    """Return what is compared of a reduction."""
    assert operand is not None
    return Given(len(operand.view), root, op.compared, combined(operand), algorithm)


def _barrier(call: str) -> Any:
    def check(self: Collective, algorithm: str = "") -> tuple[Any, ...]:
        self._alive(call)
        chosen = algorithm_of(self, call, algorithm)
        return self, Beginning(chosen.run, Given(0, algorithm=chosen.name))

    return check


def _bcast(call: str) -> Any:
    def check(self: Collective, buf: Any, root: int = 0, algorithm: str = "") -> tuple[Any, ...]:
        chief = root_of(self, call, root)
        writable = self.Get_rank() != chief
        data = span(given(buf, call, "buf", in_place=False), f"Comm.{call}: buf", writable=writable)
        name, run = algorithm_of(self, call, algorithm)
        compared = Given(len(data.view), chief, elements=moved(data), algorithm=name)
        reads, writes = (None, data.view) if writable else (data.view, None)
        return self, Beginning(lambda channel: run(channel, data.view, chief), compared, reads, writes)

    return check


def _scatter(call: str, divided: Any) -> Any:
    def check(
        self: Collective, sendbuf: Any, recvbuf: Any, root: int = 0, algorithm: str = ""
    ) -> tuple[Any, ...]:  # fmt: skip
        chief = root_of(self, call, root)
        blocks, mine, elements = rooted(self, call, sendbuf, recvbuf, chief, divided, gathers=False)
        name, run = algorithm_of(self, call, algorithm)
        compared = Given(_size(blocks or mine), chief, elements=elements, algorithm=name)
        reads = _moved(self, mine, blocks)
        return self, Beginning(lambda channel: run(channel, blocks, mine, chief), compared, reads, mine)

    return check


def _gather(call: str, divided: Any) -> Any:
    def check(
        self: Collective, sendbuf: Any, recvbuf: Any, root: int = 0, algorithm: str = ""
    ) -> tuple[Any, ...]:  # fmt: skip
        chief = root_of(self, call, root)
        blocks, mine, elements = rooted(self, call, recvbuf, sendbuf, chief, divided, gathers=True)
        name, run = algorithm_of(self, call, algorithm)
        nbytes = _size(blocks.one(chief) if blocks is not None else mine)
        compared = Given(nbytes, chief, elements=elements, algorithm=name)
        writes = _moved(self, mine, blocks)
        return self, Beginning(lambda channel: run(channel, mine, blocks, chief), compared, mine, writes)

    return check


def _allgather(call: str, divided: Any) -> Any:
    def check(self: Collective, sendbuf: Any, recvbuf: Any, algorithm: str = "") -> tuple[Any, ...]:
        mine, blocks, elements = collected(self, call, sendbuf, recvbuf, divided)
        name, run = algorithm_of(self, call, algorithm)
        own = blocks.one(self.Get_rank())
        compared = Given(len(own), elements=elements, algorithm=name)
        reads, writes = own if mine is None else mine, _moved(self, mine, blocks)
        return self, Beginning(lambda channel: staging.collected(channel, run, mine, blocks), compared, reads, writes)

    return check


def _alltoall(call: str, divided: Any) -> Any:
    def check(self: Collective, sendbuf: Any, recvbuf: Any, algorithm: str = "") -> tuple[Any, ...]:
        out, into, elements = exchanged(self, call, sendbuf, recvbuf, divided)
        name, run = algorithm_of(self, call, algorithm)
        compared = Given(_size(out or into), elements=elements, algorithm=name)
        return self, Beginning(lambda channel: staging.exchanged(channel, run, out, into), compared, out, into)

    return check


def _reduce(
    self: Collective, sendbuf: Any, recvbuf: Any, op: ReductionOp = SUM, root: int = 0, algorithm: str = ""
) -> tuple[Any, ...]:
    chief = root_of(self, "Reduce", root)
    mine, into, operator = operands(self, "Reduce", sendbuf, recvbuf, op, result=self.Get_rank() == chief)
    name, run = algorithm_of(self, "Reduce", algorithm, operator)
    return self, Beginning(
        lambda channel: staging.reduced(channel, run, mine, into, operator, chief),
        _combined(mine or into, operator, name, chief),
        _bytes(mine),
        _bytes(into),
    )


def _allreduce(call: str) -> Any:
    def check(
        self: Collective, sendbuf: Any, recvbuf: Any, op: ReductionOp = SUM, algorithm: str = ""
    ) -> tuple[Any, ...]:
        mine, into, operator = operands(self, call, sendbuf, recvbuf, op)
        name, run = algorithm_of(self, call, algorithm, operator)
        return self, Beginning(
            lambda channel: staging.reduced(channel, run, mine, into, operator),
            _combined(mine or into, operator, name),
            _bytes(mine),
            _bytes(into),
        )

    return check


def _scan(call: str) -> Any:
    own = call == "Scan"

    def check(
        self: Collective, sendbuf: Any, recvbuf: Any, op: ReductionOp = SUM, algorithm: str = ""
    ) -> tuple[Any, ...]:
        mine, into, operator = operands(self, call, sendbuf, recvbuf, op)
        assert into is not None
        name, run = algorithm_of(self, call, algorithm, operator)
        result = into if own or self.Get_rank() else None
        return self, Beginning(
            lambda channel: staging.scanned(channel, run, mine, into, operator, own),
            _combined(mine or into, operator, name),
            (mine or into).view,
            _bytes(result),
        )

    return check


def _reduce_scatter_block(
    self: Collective, sendbuf: Any, recvbuf: Any, op: ReductionOp = SUM, algorithm: str = ""
) -> tuple[Any, ...]:
    call = "Reduce_scatter_block"
    operand, into, counts, operator = scattered_operands(self, call, sendbuf, recvbuf, None, op, equal=True)
    name, run = algorithm_of(self, call, algorithm, operator)
    return self, Beginning(
        lambda channel: staging.reduced_scattered(channel, run, operand, into, counts, operator, call),
        _combined(operand, operator, name),
        operand.view,
        into,
    )


def _reduce_scatter(
    self: Collective, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: ReductionOp = SUM,
    algorithm: str = "",
) -> tuple[Any, ...]:  # fmt: skip
    call = "Reduce_scatter"
    operand, into, counts, operator = scattered_operands(self, call, sendbuf, recvbuf, recvcounts, op, equal=False)
    name, run = algorithm_of(self, call, algorithm, operator)
    return self, Beginning(
        lambda channel: staging.reduced_scattered(channel, run, operand, into, counts, operator, call),
        _combined(operand, operator, name),
        operand.view,
        into,
    )


class Collective(CommBase):
    """The collectives of a communicator.

    The checks turn the first argument of each into what begins it; the others are used up.
    """

    __slots__ = ()

    @checked_call(_barrier("Barrier"))
    async def Barrier(self, algorithm: Any = "") -> None:
        """Wait until all processes have come."""
        await self._run("Barrier", algorithm)

    @checked_call(_bcast("Bcast"))
    async def Bcast(self, buf: Any, root: int = 0, algorithm: str = "") -> None:
        """Send the root's data to all."""
        await self._run("Bcast", buf)

    @checked_call(_scatter("Scatter", equal_parts))
    async def Scatter(self, sendbuf: Any, recvbuf: Any = None, root: int = 0, algorithm: str = "") -> None:
        """Send each a block of the root's data, of one size."""
        await self._run("Scatter", sendbuf)

    @checked_call(_scatter("Scatterv", parts))
    async def Scatterv(self, sendbuf: Any, recvbuf: Any = None, root: int = 0, algorithm: str = "") -> None:
        """Send each a block of the root's data."""
        await self._run("Scatterv", sendbuf)

    @checked_call(_gather("Gather", equal_parts))
    async def Gather(self, sendbuf: Any, recvbuf: Any = None, root: int = 0, algorithm: str = "") -> None:
        """Collect a block of each at the root, of one size."""
        await self._run("Gather", sendbuf)

    @checked_call(_gather("Gatherv", parts))
    async def Gatherv(self, sendbuf: Any, recvbuf: Any = None, root: int = 0, algorithm: str = "") -> None:
        """Collect a block of each at the root."""
        await self._run("Gatherv", sendbuf)

    @checked_call(_allgather("Allgather", equal_parts))
    async def Allgather(self, sendbuf: Any, recvbuf: Any = None, algorithm: str = "") -> None:
        """Collect a block of each everywhere, of one size."""
        await self._run("Allgather", sendbuf)

    @checked_call(_allgather("Allgatherv", parts))
    async def Allgatherv(self, sendbuf: Any, recvbuf: Any = None, algorithm: str = "") -> None:
        """Collect a block of each everywhere."""
        await self._run("Allgatherv", sendbuf)

    @checked_call(_alltoall("Alltoall", equal_parts))
    async def Alltoall(self, sendbuf: Any, recvbuf: Any = None, algorithm: str = "") -> None:
        """Send a block to each, of one size."""
        await self._run("Alltoall", sendbuf)

    @checked_call(_alltoall("Alltoallv", parts))
    async def Alltoallv(self, sendbuf: Any, recvbuf: Any = None, algorithm: str = "") -> None:
        """Send a block to each."""
        await self._run("Alltoallv", sendbuf)

    @checked_call(_reduce)
    async def Reduce(
        self, sendbuf: Any, recvbuf: Any = None, op: ReductionOp = SUM, root: int = 0, algorithm: str = ""
    ) -> None:  # fmt: skip
        """Combine the data of all at the root."""
        await self._run("Reduce", sendbuf)

    @checked_call(_allreduce("Allreduce"))
    async def Allreduce(self, sendbuf: Any, recvbuf: Any = None, op: ReductionOp = SUM, algorithm: str = "") -> None:
        """Combine the data of all everywhere, to the same bits."""
        await self._run("Allreduce", sendbuf)

    @checked_call(_reduce_scatter_block)
    async def Reduce_scatter_block(
        self, sendbuf: Any, recvbuf: Any = None, op: ReductionOp = SUM, algorithm: str = ""
    ) -> None:
        """Combine the data of all; each gets a block of the result, of one size."""
        await self._run("Reduce_scatter_block", sendbuf)

    @checked_call(_reduce_scatter)
    async def Reduce_scatter(
        self, sendbuf: Any, recvbuf: Any = None, recvcounts: Sequence[int] | None = None, op: ReductionOp = SUM,
        algorithm: str = "",
    ) -> None:  # fmt: skip
        """Combine the data of all; each gets a block of the result, of `recvcounts` elements by rank.

        Without counts those of the receive buffers, which the ranks tell each other.
        """
        await self._run("Reduce_scatter", sendbuf)

    @checked_call(_scan("Scan"))
    async def Scan(self, sendbuf: Any, recvbuf: Any = None, op: ReductionOp = SUM, algorithm: str = "") -> None:
        """Combine the data of the ranks up to this one."""
        await self._run("Scan", sendbuf)

    @checked_call(_scan("Exscan"))
    async def Exscan(self, sendbuf: Any, recvbuf: Any = None, op: ReductionOp = SUM, algorithm: str = "") -> None:
        """Combine the data of the ranks before this one; the buffer of rank 0 stays as it is."""
        await self._run("Exscan", sendbuf)

    @checked_call(_barrier("Ibarrier"))
    async def Ibarrier(self, algorithm: Any = "") -> Request:
        """Begin a barrier."""
        return await self._begin("Ibarrier", algorithm)

    @checked_call(_bcast("Ibcast"))
    async def Ibcast(self, buf: Any, root: int = 0, algorithm: str = "") -> Request:
        """Begin a broadcast."""
        return await self._begin("Ibcast", buf)

    @checked_call(_allreduce("Iallreduce"))
    async def Iallreduce(
        self, sendbuf: Any, recvbuf: Any = None, op: ReductionOp = SUM, algorithm: str = ""
    ) -> Request:
        """Begin to combine the data of all everywhere."""
        return await self._begin("Iallreduce", sendbuf)

    @checked_call(_alltoall("Ialltoall", equal_parts))
    async def Ialltoall(self, sendbuf: Any, recvbuf: Any = None, algorithm: str = "") -> Request:
        """Begin to send a block to each, of one size."""
        return await self._begin("Ialltoall", sendbuf)

    # -- inside ------------------------------------------------------------------------------------------

    async def _run(self, call: str, beginning: Beginning) -> Any:
        """Run an algorithm to its end; return its result.

        Raises:
            MpiError: a collective that has failed, or was cancelled, has broken the communicator.
        """
        begin = self._beginning(call, beginning)
        self._running().lent.look(call, beginning.reads, beginning.writes)
        try:
            return await self._all(begin, call, self.plain.group)
        except BaseException as error:
            self._break(RequestPlace.here(call), error)
            raise

    async def _begin(self, call: str, beginning: Beginning) -> Request:
        """Begin an algorithm; return the request for its end.

        Raises:
            MpiError: as of `_run`.
        """
        process, plain = self._running(), self.plain
        others: Iterable[int] = self._others(plain.group)
        if process.same_calls is not None:
            others = StillToCome(process.same_calls, plain.context, plain.group, self._calls, others)
        begin = self._beginning(call, beginning)
        try:
            begun = await process.call(begin)
        except BaseException as error:
            self._break(RequestPlace.here(call), error)
            raise
        request = Request.begun(
            process, begun, self._all_do(call), others, reads=beginning.reads, writes=beginning.writes
        )
        begun.when_failed(partial(self._break, request.place))
        return request

    def _beginning(self, call: str, beginning: Beginning) -> Callable[[], Any]:
        """Return the plain call that begins an algorithm."""
        if self._broken:
            raise MpiError(
                ErrorClass.ERR_COMM,
                f"Comm.{call}: {self.Get_name()} is broken, its {self._broken.call} at {self._broken.at} "
                f"{self._broken.on('this rank')}; make another by Create_group on all its ranks, as Dup and Split are "
                "calls of this one",
            )
        process, plain = self._running(), self._alive(call)
        tag = self._next_tag()
        if process.same_calls is not None:
            process.same_calls.called(
                plain.context, plain.group, self._calls, call, beginning.given, process.rank, plain.name
            )
        self._calls += 1

        def begin() -> Any:
            hosts = [process.hosts[each] for each in plain.group]
            channel = CollectiveChannel(plain, plain.HIDDEN, tag, hosts, process)
            return process.library.schedule(channel.checked(beginning.begin(channel), self._all_do(call)), call)

        begun: list[Any] = []
        self._to_begin.append((begin, begun))
        return partial(self._begin_in_order, begun)

    def _begin_in_order(self, begun: list[Any]) -> Any:
        """Begin a call after those that other tasks have made before, which may get here later.

        Libraries want one order on all ranks, and know nothing of tasks.

        Args:
            begun: has what began the call, or an error, once it has begun.
        """
        while not begun:
            begin, made = self._to_begin.popleft()
            try:
                made.append(begin())
            except Exception as error:
                made.append(error)
        if isinstance(begun[0], Exception):
            raise begun[0]
        return begun[0]

    async def _all(self, begin: Callable[[], Any], call: str, ranks: Sequence[int]) -> Any:
        process: Process = self._running()
        begun = await process.call(begin)
        if not begun.over:
            try:
                await process.wait(lambda: begun.over, self._all_do(call), self._others(ranks))
            except BaseException:  # it goes on without its task, and may fail yet
                begun.when_failed(partial(self._failed, RequestPlace.here(call)))
                raise
        if begun.error is not None:
            raise begun.error
        return begun.result

    def _break(self, place: RequestPlace, error: BaseException) -> None:
        """Refuse every further collective, since a call at a line has failed or was cancelled."""
        failed = self._failed(place, error)
        if self._broken is None and not self._running().ended:
            self._broken = failed

    def _failed(self, place: RequestPlace, error: BaseException) -> FailedCall:
        """Take note for reports of a call that has failed or was cancelled."""
        call, file, line = place
        failed = FailedCall.of(call, self._known().name, f"{file}:{line}", error)
        self._running().failed_calls.append(failed)
        return failed

    def _next_tag(self) -> int:
        """Return the tag of the messages of the next call."""
        tags: int = self._running().library.tags
        return self._calls % tags

    def _all_do(self, call: str) -> str:
        return all_do(call, self._known().name)

    def _others(self, ranks: Sequence[int]) -> list[int]:
        return [each for each in ranks if each != self._running().rank]
