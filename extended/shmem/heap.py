"""The symmetric heap: which array belongs to which allocation, and where it lies in every PE's segment."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary, ref

import attrs
import numpy as np
import trio

import conduit
from extended.front_ends import flag, integer, public, shown
from extended.program_lines import made_here
from extended.shmem import arguments

if TYPE_CHECKING:
    from extended import Extended
    from extended.shmem.arguments import Array
    from extended.shmem.contexts import Ctx

ALIGNED = 16
"""What the addresses of all arrays are multiples of, bytes: as what the allocator of numpy gives."""

PAGE = 4096
"""What the addresses of all segments are multiples of, bytes, on every network."""

_ORDERS = ("K", "A", "C", "F")
_WHERE = "allocate it with pe.zeros, pe.array and so on"
_MAKE = {"lock": "make one with pe.new_lock", "signal": "make one with pe.new_signal"}


@attrs.define(eq=False, weakref_slot=True)
class Allocation:
    """One block of the heap.

    Attributes:
        root: weak reference to the array of its bytes, which all arrays of the block are views of.
        offset: in every segment, bytes.
        nbytes: of it, as asked for.
        serial: number of the allocation, the same on all PEs.
        made: the call that made it and where, as "pe.new_lock at heat.py:4".
        freed: whether it was given back.
        array: weak reference to the array that the program was given, None where it was given bytes.
    """

    root: ref[Array]
    offset: int
    nbytes: int
    serial: int
    made: str
    freed: bool = False
    array: ref[Array] | None = None


class Allocations:
    """The allocations of one PE.

    Args:
        segment: the PE's segment.
    """

    def __init__(self, segment: Array) -> None:
        self._memory = memoryview(segment.data)
        self._start = _address(segment)
        self._serial = 0
        self._by_serial: WeakValueDictionary[int, Allocation] = WeakValueDictionary()
        # By the identity of the root, which lives as long as any array of the block: freed ones are known as well.
        self._blocks: dict[int, Allocation] = {}
        self._kept: dict[int, Array] = {}  # the roots of those that are not freed

    def add(self, offset: int, nbytes: int, made: str) -> Array:
        """Take note of a block; return its root."""
        root = np.frombuffer(self._memory[offset : offset + max(nbytes, 1)], np.uint8)
        key = id(root)
        block = Allocation(ref(root, lambda _: self._blocks.pop(key, None)), offset, nbytes, self._serial, made)
        self._by_serial[self._serial] = block
        self._serial += 1
        self._blocks[key] = block
        self._kept[key] = root
        return root

    def title(self, name: str) -> str:
        """Return what errors and reports call the lock whose name is a serial number and bytes from the start."""
        serial, _, place = name.partition(" ")
        block = self._by_serial.get(int(serial))
        if block is None:
            return "a lock of the symmetric heap whose array is no more"
        made = f" ({block.made})" if place == "0" else ""
        return f"{self.short_title(name)} of the symmetric heap{made}"

    def short_title(self, name: str) -> str:
        """Return what a report calls such a lock that has said its title."""
        serial, _, place = name.partition(" ")
        block = self._by_serial.get(int(serial))
        return self.title(name) if block is None else f"the lock at offset {block.offset + int(place)}"

    def given(self, root: Array, array: Array) -> None:
        """Take note of the array that the program gets of a root."""
        self._blocks[id(root)].array = ref(array)

    def drop(self, block: Allocation) -> None:
        """Take note that a block was given back: the program can write to its array no more."""
        block.freed = True
        root = block.root()
        assert root is not None
        root.flags.writeable = False
        if block.array is not None and (array := block.array()) is not None:
            array.flags.writeable = False
        del self._kept[id(root)]

    def find(self, array: Array) -> Allocation | None:
        """Return the allocation of which an array is a view, None where there is none."""
        owner: Any = array
        while owner is not None:
            block = self._blocks.get(id(owner)) if isinstance(owner, np.ndarray) else None
            if block is not None:
                return block
            owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
        return None

    def offset(self, block: Allocation, array: Array) -> int:
        """Return where an array of a block begins in the segment."""
        return _address(array) - self._start if array.size else block.offset

    def symmetric(self, call: str, name: str, value: Any) -> tuple[Allocation, Array]:
        """Return the allocation of a symmetric array, and its elements in the order of memory.

        Raises:
            conduit.BadRequest: no array, not symmetric, freed, or not contiguous.
        """
        array = arguments.array_of(call, name, value)
        block = self.find(array)
        if block is None:
            raise conduit.BadRequest(
                f"{call}: {name} is not symmetric: it is no array of the symmetric heap, nor a view of one; {_WHERE}"
            )
        if block.freed:
            make, what = _MAKE.get(name, _WHERE), f"{name}s" if name in _MAKE else "arrays"
            raise conduit.BadRequest(f"{call}: {name} was freed; use {what} before they are freed, or {make}")
        elements = arguments.flat(array)
        if elements is None:
            raise conduit.BadRequest(
                f"{call}: {name} is a view that is not contiguous (strides {array.strides}); give a contiguous one, or "
                "use pe.iput and pe.iget"
            )
        return block, elements

    def place(self, call: str, name: str, value: Any) -> tuple[int, Array]:
        """Return where a symmetric array begins in every segment, and its elements."""
        block, elements = self.symmetric(call, name, value)
        return self.offset(block, elements), elements


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


class ShmemAllocation:
    """Allocation: all PEs make these calls, with the same arguments and in the same order."""

    _x: Extended
    _blocks: Allocations
    CTX_DEFAULT: Ctx

    async def _new(self, call: str, given: list[str], nbytes: int, align: int, *, filled: bool) -> Array:
        if align > ALIGNED:
            given.append(f"align={align}")
        alike = f"{given} {filled}"  # where some fill it, and others do not, those would wait for these
        if not filled and call != "pe.empty":
            given.append("clear=False")
        called = f"{call}({', '.join(given)})"
        offset = await self._x.all_alloc(nbytes, align=max(align, ALIGNED), called=called, alike=alike)
        return self._blocks.add(offset, nbytes, made_here(called))

    async def _made(
        self,
        call: str,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        order: Any,
        align: int,
        fill: Any,
        *,
        filled: bool = True,
    ) -> Array:
        given = [f"shape={shape}", f"dtype={dtype}"]
        if order == "F" and sum(size > 1 for size in shape) > 1:
            given.append("order='F'")
        with trio.CancelScope(shield=True):  # the others are to come out of it together with this one
            root = await self._new(call, given, prod(shape) * dtype.itemsize, align, filled=filled)
            made: Array = np.ndarray(shape, dtype, buffer=root, order=order)
            self._blocks.given(root, made)
            if filled:
                self._x.ep.charge(copied=made.nbytes)
                made[...] = fill
                await self._x.barrier(called=call)  # or a put of another PE could come before
        return made

    @public("pe")
    def alloc(self, count: Any, size: Any = 1, align: Any = None, hints: Any = None, clear: Any = True) -> Any:
        """Allocate memory; collective.

        Args:
            count: of elements.
            size: bytes of each.
            align: power of two that its address is to be a multiple of, at most 4096.
            hints: of `MALLOC`; they change nothing.
            clear: whether it is filled with zeros.

        Returns:
            a memoryview of its bytes.

        Raises:
            conduit.BadRequest: a wrong argument; or, on every PE, too little room.
        """
        call = "pe.alloc"
        many = integer(call, "count", count, 0, arguments.MOST, "a number of elements, 0 or more")
        each = integer(call, "size", size, 1, arguments.MOST, "the bytes of an element, 1 or more")
        multiple, zeros = _align(call, align), flag(call, "clear", clear)

        async def allocate() -> memoryview:
            given = [f"count={many}", f"size={each}"]
            with trio.CancelScope(shield=True):  # as in `_made`
                root = await self._new(call, given, many * each, multiple, filled=zeros)
                if zeros:
                    self._x.ep.charge(copied=many * each)
                    root[:] = 0
                    await self._x.barrier(called=call)
            whole: Any = root  # a memoryview of which `obj` is the root
            return memoryview(whole)[: many * each]

        return allocate()

    def fromalloc(self, mem: Any, shape: Any = None, dtype: Any = None, order: Any = "C") -> Array:
        """Return an array of memory that `alloc` gave; plain.

        Args:
            mem: the memoryview.
            shape: None for one dimension with as many elements as fit.
            dtype: None for f8.
            order: "C" or "F".

        Raises:
            conduit.BadRequest: no such memory, or one that is too small.
        """
        call = "pe.fromalloc"
        kind = arguments.dtype_of(call, dtype)
        if not isinstance(mem, memoryview):
            raise conduit.BadRequest(f"{call}: mem={shown(mem)} is no memoryview; give what pe.alloc returned")
        whole = np.asarray(mem)
        block, _ = self._blocks.symmetric(call, "mem", whole)
        sizes = (mem.nbytes // kind.itemsize,) if shape is None else arguments.shape_of(call, shape)
        if prod(sizes) * kind.itemsize > mem.nbytes:
            raise conduit.BadRequest(
                f"{call}: an array of shape {sizes} and dtype {kind} has {prod(sizes) * kind.itemsize} bytes, and mem "
                f"has {mem.nbytes}; give a smaller shape"
            )
        root = block.root()
        assert root is not None
        start = self._blocks.offset(block, whole) - block.offset
        return np.ndarray(sizes, kind, buffer=root, offset=start, order=_order(call, order))

    @public("pe")
    def free(self, mem: Any) -> Any:
        """Free an array or memory; collective.  It completes what this PE has begun on the default context.

        Args:
            mem: what an allocation returned.

        Raises:
            conduit.BadRequest: not symmetric, freed before, a part of an allocation; or PEs free different ones.
        """
        return self._free("pe.free", mem)

    @public("pe")
    def del_array(self, a: Any) -> Any:
        """As `free`."""
        return self._free("pe.del_array", a)

    def _free(self, call: str, mem: Any) -> Any:
        given = np.asarray(mem) if isinstance(mem, memoryview) else mem
        block, elements = self._blocks.symmetric(call, "mem", given)
        # An array that `fromalloc` made of memory may be smaller than that.
        whole = block.array is not None or isinstance(mem, memoryview)
        if self._blocks.offset(block, elements) != block.offset or (whole and elements.nbytes != block.nbytes):
            raise conduit.BadRequest(f"{call}: mem is a part of an array; give the whole array that was allocated")

        async def release() -> None:
            await self.CTX_DEFAULT.stream("ctx.quiet").complete(call)
            await self._x.free(block.offset, called=f"{call}(what {block.made} gave)")
            self._blocks.drop(block)

        return release()

    @public("pe")
    def new_array(
        self,
        shape: Any,
        dtype: Any = float,
        order: Any = "C",
        *,
        align: Any = None,
        hints: Any = None,
        clear: Any = True,
    ) -> Any:
        """Allocate an array; collective.

        Args:
            shape: an integer or a tuple of them.
            dtype: any of a fixed size.
            order: "C" or "F".
            align: power of two that its address is to be a multiple of, at most 4096.
            hints: of `MALLOC`; they change nothing.
            clear: whether it is filled with zeros.

        Raises:
            conduit.BadRequest: a wrong argument; or, on every PE, too little room.
        """
        zeros = flag("pe.new_array", "clear", clear)
        return self._array("pe.new_array", shape, dtype, order, align, 0, filled=zeros)

    @public("pe")
    def empty(self, shape: Any, dtype: Any = float, order: Any = "C", *, align: Any = None, hints: Any = None) -> Any:
        """Allocate an array that is not filled; collective, arguments as `new_array`."""
        return self._array("pe.empty", shape, dtype, order, align, None, filled=False)

    @public("pe")
    def zeros(self, shape: Any, dtype: Any = float, order: Any = "C", *, align: Any = None, hints: Any = None) -> Any:
        """Allocate an array of zeros; collective, arguments as `new_array`."""
        return self._array("pe.zeros", shape, dtype, order, align, 0)

    @public("pe")
    def ones(self, shape: Any, dtype: Any = float, order: Any = "C", *, align: Any = None, hints: Any = None) -> Any:
        """Allocate an array of ones; collective, arguments as `new_array`."""
        return self._array("pe.ones", shape, dtype, order, align, 1)

    @public("pe")
    def full(
        self,
        shape: Any,
        fill_value: Any,
        dtype: Any = None,
        order: Any = "C",
        *,
        align: Any = None,
        hints: Any = None,
    ) -> Any:
        """Allocate an array filled with one value, whose dtype it has by default; collective, else as `new_array`."""
        call = "pe.full"
        kind = dtype
        if dtype is None:
            try:
                kind = np.asarray(fill_value).dtype
            except ValueError as error:
                raise conduit.BadRequest(
                    f"{call}: fill_value={shown(fill_value)} is no value of an array ({error})"
                ) from None
        return self._array(call, shape, kind, order, align, fill_value)

    @public("pe")
    def array(self, obj: Any, dtype: Any = None, *, order: Any = "K", align: Any = None, hints: Any = None) -> Any:
        """Allocate an array with the contents of `obj`, on each PE its own; collective, the shape the same on all."""
        call = "pe.array"
        kind = None if dtype is None else arguments.dtype_of(call, dtype)
        if not _among(order, _ORDERS):
            raise conduit.BadRequest(f'{call}: order={shown(order)} is not known; give "K", "A", "C" or "F"')
        try:
            given = np.array(obj, kind, order=order)
        except Exception as error:
            raise conduit.BadRequest(
                f"{call}: obj={shown(obj)} makes no array of dtype {shown(dtype)} ({error})"
            ) from None
        arguments.dtype_of(call, given.dtype)
        made = "F" if arguments.in_fortran_order(given) else "C"
        return self._made(call, given.shape, given.dtype, made, _align(call, align), given)

    def _array(
        self, call: str, shape: Any, dtype: Any, order: Any, align: Any, fill: Any, *, filled: bool = True
    ) -> Any:
        sizes, kind = arguments.shape_of(call, shape), arguments.dtype_of(call, dtype)
        if filled:
            try:
                np.empty(1, kind)[...] = fill
            except Exception as error:
                raise conduit.BadRequest(
                    f"{call}: fill_value={shown(fill)} does not go into dtype {kind} ({error})"
                ) from None
        return self._made(call, sizes, kind, _order(call, order), _align(call, align), fill, filled=filled)


def _among(order: Any, known: tuple[str, ...]) -> bool:
    return isinstance(order, str) and order in known


def _order(call: str, order: Any) -> Any:
    if not _among(order, ("C", "F")):
        raise conduit.BadRequest(f'{call}: order={shown(order)} is not known; give "C" or "F"')
    return order


def _align(call: str, align: Any) -> int:
    if align is None:
        return 1
    what = f"a power of two up to {PAGE}, a page, of which the memories of all PEs begin at a multiple"
    multiple = integer(call, "align", align, 1, PAGE, what)
    if multiple & (multiple - 1):
        raise conduit.BadRequest(f"{call}: align={multiple} is no power of two; give {what}")
    return multiple
