"""A thread of a UPC program: what main is called with."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import conduit
from extended import BarrierMismatch, Extended
from extended.dropped import refuse_dropped
from extended.front_ends import barrier_id, integer, public
from extended.sealed import Sealed
from extended.upc import arguments
from extended.upc.allocation import UpcAllocation
from extended.upc.array import SharedArray
from extended.upc.collectives import UpcCollectives
from extended.upc.locks import SharedLock
from extended.upc.of_others import OF_THREADS
from extended.upc.places import Bytes
from extended.upc.reads import Read
from extended.upc.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WRITE_BUFFER = 65536
"""Bytes of the write buffer unless told otherwise."""


_WORDS = {
    "barrier_notify": "t.notify",
    "barrier_wait or barrier_try": "t.wait",
    "barrier_wait": "t.wait",
    "barrier for both": "t.barrier for both",
}
"""What a program of threads calls what the layer below names in its errors; longer ones come first."""


@contextmanager
def _own_words() -> Iterator[None]:
    """Let what is refused about a barrier in two steps name the calls that programs of threads have."""
    try:
        yield
    except (conduit.BadRequest, BarrierMismatch) as error:
        raise _in_own_words(error) from None


def _in_own_words(error: conduit.ConduitError) -> conduit.ConduitError:
    text = str(error)
    for theirs, own in _WORDS.items():
        text = text.replace(theirs, own)
    return type(error)(text)


def _for_barrier(call: str) -> Callable[..., None]:
    def check(t: Thread, id: Any = None) -> None:
        barrier_id(call, id)

    return check


class Thread(Sealed, UpcAllocation, Bytes, UpcCollectives):
    """One thread; `upc.run` gives it to main.

    Attributes:
        MYTHREAD: this thread, from 0.
        THREADS: number of threads.
        ep: the endpoint.
        extended: the extended layer.
    """

    _instead: ClassVar = OF_THREADS
    _called: ClassVar = "t"
    _values: ClassVar = frozenset({"MYTHREAD", "THREADS", "ep", "extended", "runtime"})

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.ep = runtime.ep
        self.extended: Extended = runtime.x
        self.MYTHREAD: int = runtime.ep.rank
        self.THREADS: int = runtime.ep.size

    def __repr__(self) -> str:
        return f"<Thread {self.MYTHREAD} of {self.THREADS}>"

    def forall(self, *range_arguments: Any) -> Iterator[int]:
        """Return those of a range with ``i % THREADS == MYTHREAD``, in its order.

        Args:
            *range_arguments: start, stop and step, as `range` takes them.

        Raises:
            conduit.BadRequest: `range` does not take them.
        """
        for each in range_arguments:
            if isinstance(each, Read):
                raise each.refusal("as a number")
            if isinstance(each, SharedArray):
                raise conduit.BadRequest(
                    "t.forall: it takes start, stop and step, and this is a shared array; write `a.forall()` of the "
                    "array for the indices of its elements on this thread"
                )
        try:
            wanted = range(*range_arguments)
        except (TypeError, ValueError) as error:
            raise conduit.BadRequest(f"t.forall: {error}; give start, stop and step as `range` takes them") from None
        return (i for i in wanted if i % self.THREADS == self.MYTHREAD)

    # ------------------------------------------------------------------------------------------------ synchronisation

    @public("t")
    async def fence(self) -> None:
        """Complete all writes of this thread before what follows."""
        await self.runtime.fence()

    @public("t", _for_barrier("t.barrier"))
    async def barrier(self, id: int | None = None) -> None:
        """Wait until all threads are here, their writes complete.

        Args:
            id: an integer of 32 bits, the same on all threads; None agrees with all.

        Raises:
            conduit.BadRequest: no such id.
            extended.BarrierMismatch: threads gave different ids.
        """
        await self.runtime.fence()
        try:
            await self.extended.barrier(id, called="t.barrier" if id is None else f"t.barrier({id})")
        except (conduit.BadRequest, BarrierMismatch) as error:
            raise _in_own_words(error) from None

    @public("t", _for_barrier("t.notify"))
    async def notify(self, id: int | None = None) -> None:
        """Say that this thread has come to a barrier, its writes complete, and go on; the first half of a barrier."""
        await self.runtime.fence()
        with _own_words():
            await self.extended.barrier_notify(id, called="t.wait")

    @public("t", _for_barrier("t.wait"))
    async def wait(self, id: int | None = None) -> None:
        """Wait until all threads have notified; the second half of a barrier."""
        self.runtime.watch.synchronised()
        await self.runtime.writes.make_room()
        with _own_words():
            await self.extended.barrier_wait(id)

    def lock(self, name: str | int) -> SharedLock:
        """Return a lock, one for all threads by its name; taking and releasing it are fences.

        Args:
            name: a str or an int.

        Raises:
            conduit.BadRequest: another name, or a line that throws the lock away without taking it.
        """
        lock = self.extended.lock(name)
        refuse_dropped("t", lock.name)
        return SharedLock(self.runtime, lock)


def check_buffer(call: str, write_buffer: Any) -> int:
    """Return the size of a write buffer.

    Raises:
        conduit.BadRequest: no number of bytes.
    """
    return integer(call, "write_buffer", write_buffer, 0, arguments.MOST, "a number of bytes, 0 or more")


def _for_attach(ep: conduit.Endpoint, write_buffer: Any = WRITE_BUFFER) -> tuple[Any, ...]:
    return ep, check_buffer("upc.attach", write_buffer)


@public("upc", _for_attach)
async def attach(ep: conduit.Endpoint, write_buffer: int = WRITE_BUFFER) -> Thread:
    """Make the thread of an endpoint; collective.  `upc.run` does it for its program.

    Args:
        ep: the endpoint.
        write_buffer: bytes of relaxed writes from which on they are sent.

    Raises:
        conduit.BadRequest: a wrong argument.
    """
    x = await Extended.attach(ep)
    x.call_ranks("thread")
    runtime = Runtime(x, write_buffer)
    await runtime.connect()
    return Thread(runtime)
