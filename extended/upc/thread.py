"""A thread of a UPC program: what main is called with."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import conduit
from extended import BarrierMismatch, Extended
from extended.dropped import refuse_dropped
from extended.front_ends import barrier_id, integer, public
from extended.of_others import OPERATIONS
from extended.sealed import Sealed
from extended.upc import arguments
from extended.upc.allocation import UpcAllocation
from extended.upc.array import SharedArray
from extended.upc.collectives import UpcCollectives
from extended.upc.locks import SharedLock
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

    _instead: ClassVar = {
        **dict.fromkeys(("rank", "my_rank", "my_thread", "mynode", "me", "id"), "write `t.MYTHREAD`"),
        **dict.fromkeys(
            ("size", "nthreads", "n_threads", "num_threads", "nprocs", "num_procs", "nranks", "num_ranks"),
            "write `t.THREADS`",
        ),
        "rank_me": "write `t.MYTHREAD`",
        "rank_n": "write `t.THREADS`",
        **dict.fromkeys(
            ("addrfield", "resetphase"), "there are no pointers-to-shared: an index of a shared array stands for one"
        ),
        "global_exit": "write `t.ep.exit(code)`",
        "ticks_now": "write `t.ep.now`, in seconds",
        **dict.fromkeys(("poll", "progress"), "write `await t.ep.poll()`"),
        **dict.fromkeys(
            ("init", "finalize"), "leave it out: the job begins before main and ends when all have returned"
        ),
        "COMM_WORLD": "a program has all threads: write `t.MYTHREAD`, `t.THREADS`, `await t.barrier()`",
        **OPERATIONS,
        **dict.fromkeys(
            (f"UPC_{end}_{kind}SYNC" for end in ("IN", "OUT") for kind in ("ALL", "MY", "NO")),
            "leave it out: collectives have UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC",
        ),
        **dict.fromkeys(
            ("atomic_relaxed", "atomic_strict", "all_atomicdomain_alloc", "atomic_domain"),
            "write `await a.add_at(i, v)`, `await a.fetch_add(i, v)` or `await a.compare_swap(i, expected, new)`, of a "
            "shared array `a`",
        ),
        "rput": "write `a[i] = value`, of a shared array `a`",
        "rget": "write `await a[i]`, of a shared array `a`",
        **dict.fromkeys(("dist_object", "new_array", "shared"), "write `a = await t.all_alloc(shape, dtype)`"),
        **dict.fromkeys(("zeros", "empty"), "write `a = await t.all_alloc(shape, dtype)`: a new array is zero"),
        **dict.fromkeys(
            ("ones", "full"),
            "write `a = await t.all_alloc(shape, dtype)`: a new array is zero; then `a.local[:] = value`, and `await "
            "t.barrier()`",
        ),
        **dict.fromkeys(
            ("rpc", "rpc_ff"), "write a handler, `await t.ep.attach(f)`, and `await t.ep.request_short(dest, f, *args)`"
        ),
        **dict.fromkeys(("allocate", "new_"), "write `a = await t.alloc(shape, dtype)`: elements on this thread alone"),
        **dict.fromkeys(("deallocate", "delete_", "delete_array"), "write `await t.free(a)`, of a shared array `a`"),
        "global_ptr": "there are no pointers-to-shared: a shared array and an index stand for one",
        "local_team": "a program has all threads: those on this thread's host are `t.ep.ranks_on_host`",
        "when_all": "write `await t.fence()`: what this thread has written is done then",
        **dict.fromkeys(("rput_irregular", "rput_strided"), "write `a[indices] = values`, of a shared array `a`"),
        **dict.fromkeys(("rget_irregular", "rget_strided"), "write `await a[indices]`, of a shared array `a`"),
        "cast": "write `a.local`, of a shared array `a`: the elements on this thread",
        "affinitysize": "write `a.local.nbytes`, of a shared array `a`: the bytes on this thread",
        "localsizeof": "write `a.local.nbytes`, of a shared array `a`",
        "blocksizeof": "write `a.block`, of a shared array `a`: in elements",
        "elemsizeof": "write `a.dtype.itemsize`, of a shared array `a`",
        **dict.fromkeys(
            ("all_lock_alloc", "global_lock_alloc", "lock_alloc", "upc_lock"),
            "locks are made by their names: write `async with t.lock(name):` around what it is held for",
        ),
        "barrier_notify": "write `await t.notify()`",
        "barrier_wait": "write `await t.wait()`",
        **{
            call: f"for values of each thread write `await t.extended.{call}(...)`, for shared arrays `await "
            f"t.all_{call}(...)`"
            for call in ("broadcast", "gather", "scatter", "reduce")
        },
        "all_reduce()": "for a number of each thread write `await t.extended.all_reduce(value)`",
        "lock_attempt": "write `await t.lock(name).try_acquire()`",
        "lock_free": "locks are by their names, and none is freed",
        "unlock": "write `await t.lock(name).release()`, or `async with t.lock(name):` around what it is held for",
    }

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
