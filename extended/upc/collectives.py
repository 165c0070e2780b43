"""The collectives of UPC, on bytes and on elements.

All have UPC's strictest synchronisation (`UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC`, its default): no data move before all
threads have come, and none returns before all data have arrived.  `dst` and `src` without an index are arrays of which
each thread's part is meant, from its first element on.

Source: UPC Language Specifications 1.3, 7.3 (collective library), for what each call means.
"""

from __future__ import annotations

from functools import wraps
from hashlib import blake2b
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import trio

import conduit
from conduit.words import many
from extended.front_ends import integer, name_calls, public, shown
from extended.upc import operators
from extended.upc.agreement import END, Argument, agree
from extended.upc.array import SharedArray, refuse_read
from extended.upc.places import Spot, check_array, size, spot
from extended.upc.sort import sort

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import numpy.typing as npt

    from extended.upc.runtime import Runtime

    Values = npt.NDArray[Any]


Together = TypeVar("Together", bound="Callable[..., Coroutine[Any, Any, None]]")


def _parts(call: str, t: UpcCollectives, name: str, a: Any, nbytes: int) -> SharedArray:
    """Return an array of which every thread's part has that many bytes."""
    array = check_array(call, t.runtime, name, a)
    for thread in range(t.runtime.ep.size):
        if array.memory.part_bytes(thread) < nbytes:
            raise conduit.BadRequest(
                f"{call}: {name} has {array.memory.part_bytes(thread)} bytes on thread {thread}, but {nbytes} are "
                "needed on every thread; give a smaller nbytes, or an array with a larger part of each thread"
            )
    return array


def _from_one(call: str, times: bool) -> Any:
    def check(t: UpcCollectives, dst: Any, src: Any, nbytes: Any) -> tuple[Any, ...]:
        number = size(call, nbytes)
        total = number * t.runtime.ep.size if times else number
        return t, _parts(call, t, "dst", dst, number), spot(call, t.runtime, "src", src, total), number

    return check


def _for_all_gather(t: UpcCollectives, dst: Any, src: Any, nbytes: Any) -> tuple[Any, ...]:
    number = size("t.all_gather", nbytes)
    place = spot("t.all_gather", t.runtime, "dst", dst, number * t.runtime.ep.size)
    return t, place, _parts("t.all_gather", t, "src", src, number), number


def _among_all(call: str, both: bool) -> Any:
    def check(t: UpcCollectives, dst: Any, src: Any, nbytes: Any) -> tuple[Any, ...]:
        number = size(call, nbytes)
        all_of_them = number * t.runtime.ep.size
        source = _parts(call, t, "src", src, all_of_them if both else number)
        return t, _parts(call, t, "dst", dst, all_of_them), source, number

    return check


def _for_all_permute(t: UpcCollectives, dst: Any, src: Any, perm: Any, nbytes: Any) -> tuple[Any, ...]:
    call, threads = "t.all_permute", t.runtime.ep.size
    number = size(call, nbytes)
    if isinstance(perm, SharedArray):
        check_array(call, t.runtime, "perm", perm)
        if perm.shape != (threads,) or perm.dtype.kind not in "iu":
            raise conduit.BadRequest(
                f"{call}: perm has shape {perm.shape} and dtype {perm.dtype}; give an array of "
                f"{many(threads, 'integer')}, one "
                "for each thread"
            )
    else:
        refuse_read(perm)
        perm = _permutation(perm, threads)
    return t, _parts(call, t, "dst", dst, number), _parts(call, t, "src", src, number), perm, number


def _permutation(perm: Any, threads: int) -> list[int]:
    several = isinstance(perm, list | tuple) or (isinstance(perm, np.ndarray) and perm.ndim)
    given = list(perm) if several else None
    what = f"a thread, 0 to {threads - 1}"
    if given is not None:
        given = [
            integer("t.all_permute", f"perm[{place}]", each, 0, threads - 1, what) for place, each in enumerate(given)
        ]
    if given is None or sorted(given) != list(range(threads)):
        raise conduit.BadRequest(
            f"t.all_permute: perm={shown(perm)} is no permutation; give each of the threads 0 to "
            f"{threads - 1} once: perm[i] is where thread i's bytes go"
        )
    return given


def _for_all_reduce(t: UpcCollectives, dst: Any, src: Any, op: Any = "sum") -> tuple[Any, ...]:
    call = "t.all_reduce"
    array = check_array(call, t.runtime, "src", src)
    if not array.size:
        raise conduit.BadRequest(f"{call}: src has no elements, and nothing is the reduction of none")
    place = spot(call, t.runtime, "dst", dst, array.dtype.itemsize)
    _same_type(call, place.array, array)
    return t, place, array, operators.operator(call, op, array.dtype)


def _for_all_prefix_reduce(t: UpcCollectives, dst: Any, src: Any, op: Any = "sum") -> tuple[Any, ...]:
    call = "t.all_prefix_reduce"
    target, array = check_array(call, t.runtime, "dst", dst), check_array(call, t.runtime, "src", src)
    _same_type(call, target, array)
    if target.size != array.size:
        raise conduit.BadRequest(
            f"{call}: dst has {many(target.size, 'element')}, src {array.size}; give arrays of as many elements"
        )
    return t, target, array, operators.operator(call, op, array.dtype)


def _same_type(call: str, target: SharedArray, source: SharedArray) -> None:
    if target.dtype != source.dtype:
        raise conduit.BadRequest(f"{call}: dst has dtype {target.dtype}, src {source.dtype}; give arrays of one dtype")


def _for_all_sort(t: UpcCollectives, a: Any) -> tuple[Any, ...]:
    array = check_array("t.all_sort", t.runtime, "a", a)
    if array.dtype.kind == "V":
        raise conduit.BadRequest(f"t.all_sort: dtype {array.dtype} has no order; sort an array of keys")
    return t, array


def _argument(value: Any) -> Argument:
    """Return how a checked argument is compared between threads."""
    match value:
        case SharedArray():
            return value.as_argument()
        case Spot(array=array):
            whole = array.as_argument()
            place = f"thread {value.owner}, byte {value.offset}"
            return Argument(f"{whole.identity} {place}", f"a place ({place}) of {whole.said}")
        case operators.UpcOperator():
            return Argument(value.name, value.name)
        case _:
            return Argument(blake2b(repr(value).encode(), digest_size=8).hexdigest(), shown(value))


def _together(call: str, check: Callable[..., object]) -> Callable[[Together], Together]:
    """Turn what all threads do in one of these calls into that call: with a fence, and barriers before and after.

    In the place of the first barrier they find out whether all have given the same arguments.
    """

    def whole(part: Together) -> Together:
        names = list(signature(part).parameters)[1:]

        @wraps(part)
        async def method(t: UpcCollectives, *arguments: Any) -> None:
            await t.runtime.fence()
            try:
                await agree(t.runtime, call, dict(zip(names, map(_argument, arguments), strict=False)))
                await part(t, *arguments)
                await t.runtime.writes.complete()
                await t.runtime.x.meet(END, call)
            except trio.Cancelled:
                t.runtime.x.give_up(call)
                raise
            except conduit.ConduitError as error:
                # The calls that this one makes tell what there is to tell; op's errors, or those for it, nobody does.
                if any(isinstance(each, operators.UpcOperator) and each.failed is error for each in arguments):
                    t.runtime.x.give_up(call, error)
                raise
            except Exception as error:  # of the user's op
                t.runtime.x.give_up(call, error)
                raise

        return public("t", check)(method)  # type: ignore[return-value]

    return whole


name_calls("broadcast", ["t.all_broadcast"])
name_calls("scatter", ["t.all_scatter(...)"])
name_calls("gather", ["t.all_gather(...)", "t.all_reduce(...)", "a.gather_to(...)"])
name_calls("all_to_all", ["t.all_exchange(...)"])
name_calls("all_gather", ["t.all_gather_all", "t.all_prefix_reduce"])


class UpcCollectives:
    """The calls that all threads make together; each is a fence, and a barrier before and after.

    Attributes:
        runtime: what the thread's arrays and calls share.
    """

    runtime: Runtime

    def _bytes(self, spot: Spot) -> npt.NDArray[np.uint8]:
        return self.runtime.ep.segment[spot.offset : spot.offset + spot.nbytes]

    def _own(self, array: SharedArray, nbytes: int) -> npt.NDArray[np.uint8]:
        start = array.memory.offset
        return self.runtime.ep.segment[start : start + nbytes]

    @_together("t.all_broadcast", _from_one("t.all_broadcast", False))
    async def all_broadcast(self, dst: Any, src: Any, nbytes: Any) -> None:
        """Copy bytes from a place to the beginning of each thread's part.

        Args:
            dst: an array.
            src: the place, ``(a, i)``.
            nbytes: how many, each thread.

        Raises:
            conduit.BadRequest: a wrong argument, or a part that is too short.
        """
        me = self.runtime.ep.rank
        data = self._bytes(src) if me == src.owner else None
        self._own(dst, nbytes)[...] = await self.runtime.x.broadcast(data, root=src.owner, called="t.all_broadcast")

    @_together("t.all_scatter", _from_one("t.all_scatter", True))
    async def all_scatter(self, dst: Any, src: Any, nbytes: Any) -> None:
        """Copy the k-th `nbytes` bytes from a place on to the beginning of thread k's part.

        Args:
            dst: an array.
            src: the place, ``(a, i)``, whose owner has THREADS * nbytes from there on.
            nbytes: how many, each thread.

        Raises:
            conduit.BadRequest: a wrong argument, or a part that is too short.
        """
        me = self.runtime.ep.rank
        data = self._bytes(src).reshape(self.runtime.ep.size, nbytes) if me == src.owner else None
        self._own(dst, nbytes)[...] = await self.runtime.x.scatter(data, root=src.owner, called="t.all_scatter(...)")

    @_together("t.all_gather", _for_all_gather)
    async def all_gather(self, dst: Any, src: Any, nbytes: Any) -> None:
        """Copy the first bytes of each thread's part to a place, one after the other.

        Args:
            dst: the place, ``(a, i)``, whose owner has THREADS * nbytes from there on.
            src: an array.
            nbytes: how many, each thread.

        Raises:
            conduit.BadRequest: a wrong argument, or a part that is too short.
        """
        found = await self.runtime.x.gather(self._own(src, nbytes), root=dst.owner, called="t.all_gather(...)")
        if found is not None:
            self._bytes(dst)[...] = found.reshape(-1)

    @_together("t.all_gather_all", _among_all("t.all_gather_all", False))
    async def all_gather_all(self, dst: Any, src: Any, nbytes: Any) -> None:
        """Copy the first bytes of each thread's part to the beginning of every thread's part, one after the other.

        Args:
            dst: an array with THREADS * nbytes on each thread.
            src: an array.
            nbytes: how many, each thread.

        Raises:
            conduit.BadRequest: a wrong argument, or a part that is too short.
        """
        found = await self.runtime.x.all_gather(self._own(src, nbytes), called="t.all_gather_all")
        self._own(dst, found.size)[...] = found.reshape(-1)

    @_together("t.all_exchange", _among_all("t.all_exchange", True))
    async def all_exchange(self, dst: Any, src: Any, nbytes: Any) -> None:
        """Copy the k-th `nbytes` bytes of thread i's part to the i-th of thread k's.

        Args:
            dst: an array with THREADS * nbytes on each thread.
            src: another.
            nbytes: how many, each pair of threads.

        Raises:
            conduit.BadRequest: a wrong argument, or a part that is too short.
        """
        threads = self.runtime.ep.size
        mine = self._own(src, threads * nbytes).reshape(threads, nbytes)
        found = await self.runtime.x.all_to_all(mine, called="t.all_exchange(...)")
        self._own(dst, found.size)[...] = found.reshape(-1)

    @_together("t.all_permute", _for_all_permute)
    async def all_permute(self, dst: Any, src: Any, perm: Any, nbytes: Any) -> None:
        """Copy the first bytes of thread i's part to the beginning of thread ``perm[i]``'s.

        Args:
            dst: an array.
            src: another.
            perm: a shared array of THREADS integers, or a list that is the same on all threads.
            nbytes: how many, each thread.

        Raises:
            conduit.BadRequest: a wrong argument, no permutation, or a part that is too short.
        """
        me, mine, over = self.runtime.ep.rank, self._own(src, nbytes), dst is src or dst is perm
        if isinstance(perm, SharedArray):
            perm = _permutation(await perm.to_numpy(), self.runtime.ep.size)
        if over:  # puts of other threads may come before this one has read what they are put over
            mine = mine.copy()
            await self.runtime.x.meet(END, "t.all_permute")
        await self.runtime.x.put(perm[me], dst.memory.offset, mine)

    @_together("t.all_reduce", _for_all_reduce)
    async def all_reduce(self, dst: Any, src: Any, op: Any = "sum") -> None:
        """Combine all elements of an array, and store the result in one element.

        Args:
            dst: the place, ``(a, i)``, of the same dtype.
            src: the array.
            op: sum prod min max and or xor, a binary ufunc (these in any order), or any associative function of two
                arrays (in the order of the elements).

        Raises:
            conduit.BadRequest: a wrong argument, or an operation that numpy does not have for the dtype.
        """
        layout = src.memory.layout
        own = operators.totals(op, src.memory.local, layout.block)
        if op.any_order and len(own) > 1:
            own = op.fold(own)
        blocks = np.array([-(-layout.count(thread) // layout.block) for thread in range(layout.threads)])
        given = np.minimum(blocks, 1) if op.any_order else blocks
        found = await self.runtime.x.gather(_padded(own, int(given.max())), root=dst.owner, called="t.all_reduce(...)")
        if found is not None:
            # A row for each turn of the blocks, the thread of the first one first.
            there = np.arange(given.max())[:, None] < np.roll(given, -layout.first)[None, :]
            operands = np.roll(found, -layout.first, 0).swapaxes(0, 1)[there]
            self._bytes(dst).view(src.dtype)[...] = op.fold(operands)

    @_together("t.all_prefix_reduce", _for_all_prefix_reduce)
    async def all_prefix_reduce(self, dst: Any, src: Any, op: Any = "sum") -> None:
        """Store in each element the combination of all elements of another array up to that place, itself included.

        Args:
            dst: an array of as many elements and the same dtype, of any layout.
            src: the array.
            op: as for `all_reduce`; operands are in the order of the elements.

        Raises:
            conduit.BadRequest: a wrong argument, or an operation that numpy does not have for the dtype.
        """
        me = self.runtime.ep.rank
        layout = src.memory.layout
        if layout.size:
            own = operators.totals(op, src.memory.local, layout.block)
            most = -(-layout.most() // layout.block)
            rows = await self.runtime.x.all_gather(_padded(own, most), called="t.all_prefix_reduce")
            found = np.roll(rows, -layout.first, 0)
            blocks = -(-layout.size // layout.block)
            before = op.scan(np.ascontiguousarray(found.swapaxes(0, 1)).reshape(-1)[:blocks])
            turn = (me - layout.first) % layout.threads
            mine = np.arange(len(own)) * layout.threads + turn
            dst.store(layout.indices(me), operators.continued(op, src.memory.local, layout.block, before, mine))

    @_together("t.all_sort", _for_all_sort)
    async def all_sort(self, a: Any) -> None:
        """Sort the elements of an array in place, ascending as `numpy.sort`.

        It needs memory beside the array for a while: about as much as a thread's part, more where values are unevenly
        spread.

        Args:
            a: the array.

        Raises:
            conduit.BadRequest: no array, of a dtype without order, or too little room.
        """
        await sort(self.runtime, a)


def _padded(own: Values, length: int) -> Values:
    padded = np.zeros(length, own.dtype)
    padded[: len(own)] = own
    return padded
