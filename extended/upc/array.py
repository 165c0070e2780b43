"""Shared arrays: one array over the segments of all threads."""

from __future__ import annotations

import inspect
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import trio

import conduit
from extended.as_meant import as_number
from extended.front_ends import integer, public, shown
from extended.numpy_warnings import warn_at
from extended.program_lines import program_line
from extended.sealed import refuse_copy
from extended.upc import selection
from extended.upc.agreement import END, Argument, agree
from extended.upc.buffer import Pending
from extended.upc.errors import NotAwaited, WrongIndex
from extended.upc.memory import ArrayMemory
from extended.upc.misfit import misfit, out_of_range
from extended.upc.of_others import OF_ARRAYS
from extended.upc.picture import picture
from extended.upc.reads import ARITHMETIC, Read, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import SupportsIndex

    import numpy.typing as npt

    from extended import Atomic
    from extended.upc.keys import Description
    from extended.upc.layout import Indices
    from extended.upc.runtime import Runtime

    Values = npt.NDArray[Any]


class SharedArray:
    """An array over the segments of all threads; get it by an allocation or ``t.array(key)``.

    Indices mean what they mean in numpy.  ``await a[i]`` reads, ``a[i] = v`` writes (relaxed both); a slice, an index
    array or a mask makes one message for each thread that has some of the elements, in each direction, where the
    conduit's limits allow.

    Attributes:
        description: what its key says.
        memory: where its elements lie.
        pending: its entries in the write buffer.
        made: the call that gave it and where, as "t.all_alloc(shape=(4,), dtype=float64, block=None) at heat.py:4".
    """

    _instead: ClassVar = OF_ARRAYS
    _called: ClassVar = "a"

    def __init__(self, runtime: Runtime, description: Description, made: str) -> None:
        self.description = description
        self.made = made
        layout = description.layout(runtime.ep.size)
        self.memory = ArrayMemory(runtime.x, layout, description.dtype, description.offset)
        self.pending = Pending(self.memory.moved)
        self._runtime = runtime
        self._layout = layout
        self._rank = runtime.ep.rank
        self._indices: Indices | None = None
        self._value = np.zeros(1, description.dtype)  # where single values get the array's type

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be copied or pickled, as the endpoint is.

        Raises:
            TypeError: always.
        """
        refuse_copy(self._runtime.ep)

    # ---------------------------------------------------------------------------------------------------- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self.description.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.description.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._layout.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self.description.dtype

    @property
    def block(self) -> int | str:
        """Elements of a block, or "indefinite"."""
        return "indefinite" if self._layout.indefinite else self._layout.block

    @property
    def key(self) -> bytes:
        """Bytes by which any thread opens the same array, ``t.array(key)``: 128 of them, as of every other array.

        A shape of many dimensions, or a dtype of many fields, takes a multiple of that.
        """
        return self.description.key()

    def __len__(self) -> int:
        if not self.shape:
            raise NotAwaited("len(a): the array has no dimensions; its one element is `await a[()]`")
        return self.shape[0]

    def __repr__(self) -> str:
        state = ", freed" if self.description.id in self._runtime.freed else ""
        head = f"<SharedArray shape={self.shape} dtype={self.dtype} block={self.block} threads={self._layout.threads}"
        return f"{head}{state}\n{picture(self.shape, self._layout)}>"

    def check_alive(self, call: str, with_what: str = "") -> None:
        """Refuse what comes after the array was freed.

        Raises:
            conduit.BadRequest: it was.
        """
        if self._runtime.freed:
            what = f"the array of shape {self.shape} and dtype {self.dtype}"
            self._runtime.check_alive(self.description.id, f"{what} {with_what}".rstrip(), call)

    # ----------------------------------------------------------------------------------------------------- affinity

    def _flat(self, call: str, index: Any) -> tuple[Any, tuple[int, ...] | None]:
        # One flattened index and None, or several and their shape.
        flat = selection.single("a", self.shape, index)
        if flat is not None:
            return flat, None
        chosen = self._select(index)
        return (int(chosen.flat[0]), None) if chosen.single else (chosen.flat, chosen.shape)

    def threadof(self, index: Any) -> Any:
        """Return the thread that an element belongs to.

        Args:
            index: an index, a tuple of one for each dimension, or arrays of integers.

        Returns:
            an int, or an array of them.

        Raises:
            WrongIndex: it is out of range.
        """
        flat, shape = self._flat("threadof", index)
        owner = self._layout.owner(flat)
        return owner if shape is None else owner.reshape(shape)

    def phaseof(self, index: Any) -> Any:
        """Return the place of an element in its block; as `threadof`.  It is 0 in a block without end, as in UPC."""
        flat, shape = self._flat("phaseof", index)
        phase = self._layout.phase(flat)
        return phase if shape is None else phase.reshape(shape)

    @property
    def local(self) -> Values:
        """This thread's elements: a view of its memory, of one dimension; reading and writing it sends nothing."""
        self.check_alive("a.local")
        return self.memory.local

    @local.setter
    def local(self, value: Any) -> None:
        self.check_alive("a.local")
        refuse_read(value)
        try:
            self.memory.local[...] = value
        except RuntimeWarning as warning:
            self.memory.local[...] = self._all_the_same(warning, value)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._refused(error, value, self.memory.local.shape, "a.local = v", "this thread has") from None

    @property
    def local_index(self) -> Indices:
        """The flattened index of each element of `local`: read-only, 8 bytes for each, kept from the first look on."""
        if self._indices is None:
            self._indices = self._layout.indices(self._rank)
            self._indices.flags.writeable = False
        return self._indices

    def forall(self, *arguments: Any, flat: bool = False) -> Iterator[Any]:
        """Return the indices with affinity to this thread, in order.

        Args:
            *arguments: start, stop and step as `range` takes them, for arrays of one dimension; none: all.
            flat: give flattened indices where there are several dimensions.

        Returns:
            an iterator of ints, or of tuples for several dimensions.

        Raises:
            conduit.BadRequest: arguments that `range` does not take, or of an array of several dimensions.
            WrongIndex: an index that the array does not have.
        """
        self.check_alive("a.forall")
        mine = self._layout.indices(self._rank)
        if arguments:
            return iter(_among(self.shape, mine, arguments).tolist())
        if flat or self.ndim == 1:
            return iter(mine.tolist())
        return (
            zip(*(axis.tolist() for axis in np.unravel_index(mine, self.shape)), strict=True)
            if self.shape
            else (() for _ in mine)
        )

    # ------------------------------------------------------------------------------------------------- reads, relaxed

    def _for_getitem(self, index: Any) -> tuple[Any, ...]:
        self.check_alive("a[i]")
        refuse_read(index)
        flat = selection.single("a", self.shape, index)
        if flat is None:
            return self, self._select(index)
        if self._layout.owner(flat) != self._rank:
            self._runtime.watch.read()
        return self, flat

    async def _getitem(self, chosen: int | selection.Selection) -> Any:
        if isinstance(chosen, int):
            return await self._read_one(chosen)
        return await self._read(chosen)

    _getitem.__qualname__ = "a[i]"
    __getitem__ = conduit.checked_call(_for_getitem, wrap=Read)(_getitem)

    async def _read_one(self, flat: int) -> Any:
        await self._runtime.writes.make_room()
        owner, offset = self.memory.place(flat)
        if owner == self._rank:
            await self._runtime.ep.poll()
            place = self._layout.local(flat)
            if self.dtype.names:  # of elements with fields numpy gives a view
                return self.memory.own_moved[place : place + 1].copy().view(self.dtype)[0]
            return self.memory.local[place]
        value = self.pending.find(flat)
        if value is None:
            value = await self.memory.read_one(owner, offset)
        else:
            await self._runtime.ep.poll()
        return np.frombuffer(bytearray(value) if self.dtype.names else value, self.dtype)[0]

    async def _read(self, chosen: selection.Selection, call: str = "a[i]") -> Any:
        await self._runtime.writes.make_room()
        if self.pending:
            known, values = self.pending.lookup(chosen.flat)
            values[~known] = await self.memory.read(chosen.flat[~known], call)
        else:
            values = await self.memory.read(chosen.flat, call)
        values = values.view(self.dtype)
        return values[0] if chosen.single else values.reshape(chosen.shape)

    # ------------------------------------------------------------------------------------------------ writes, relaxed

    def __setitem__(self, index: Any, value: Any) -> None:
        self.check_alive("a[i] = v")
        refuse_read(index)
        refuse_read(value)
        flat = selection.single("a", self.shape, index)
        if flat is None:
            self._write(self._select(index), value)
        else:
            self._write_one(flat, value)

    def _write_one(self, flat: int, value: Any) -> None:
        try:
            if self._layout.owner(flat) == self._rank:
                self.memory.local[self._layout.local(flat)] = value
                return
            self._value[0] = value
        except RuntimeWarning as warning:
            self._write_one(flat, self._all_the_same(warning, value)[()])
            return
        except (ValueError, TypeError, OverflowError) as error:
            raise self._refused(error, value, ()) from None
        self.pending.put(flat, self._value.tobytes())
        self._runtime.writes.added(self, self.dtype.itemsize)

    def _write(self, chosen: selection.Selection, value: Any) -> None:
        self._store(chosen.flat, self._elements(chosen.shape, value))

    def _elements(self, shape: tuple[int, ...], value: Any, call: str = "a[i] = v", name: str = "v") -> Values:
        """Return what is assigned to elements of a shape, as elements of this array."""
        values = (np.zeros if self.dtype.names else np.empty)(shape, self.dtype)
        try:
            values[...] = value
        except RuntimeWarning as warning:
            values[...] = self._all_the_same(warning, value)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._refused(error, value, shape, call, name=name) from None
        return values

    def _element(self, value: Any, call: str) -> Any:
        """Return what a call assigns to one element, likewise."""
        values = np.zeros(1, self.dtype)
        try:
            values[0] = value
        except RuntimeWarning as warning:
            values[0] = self._all_the_same(warning, value)[()]
        except (ValueError, TypeError, OverflowError) as error:
            raise self._refused(error, value, (), call, name="value") from None
        return values[0]

    def _store(self, flat: Indices, values: Values) -> None:
        values = values.reshape(-1).view(self.memory.moved)
        mine = self.memory.own(flat)
        if mine.any():
            self.memory.own_moved[self._layout.local(flat[mine])] = values[mine]
            flat, values = flat[~mine], values[~mine]
        if len(flat):
            self.pending.put_many(flat, values)
            self._runtime.writes.added(self, values.nbytes)

    def _all_the_same(self, warning: Warning, value: Any) -> Values:
        """Return values, of which numpy warns, as what it makes of them; warn of the program's line."""
        warn_at(warning, program_line())
        with np.errstate(all="ignore"):
            is_complex = isinstance(warning, np.exceptions.ComplexWarning)
            return np.array(np.real(value) if is_complex else value, self.dtype)

    def _refused(
        self,
        error: Exception,
        value: Any,
        shape: tuple[int, ...],
        call: str = "a[i] = v",
        who: str = "the index selects",
        name: str = "v",
    ) -> conduit.BadRequest:
        if isinstance(error, NotAwaited):
            return error
        element = f"{'an element' if shape == () else 'elements'} of dtype {self.dtype}"
        where = f"{who} {element}" + (f", in shape {shape}" if shape else "")
        wrong = misfit(error, value, shape, self.dtype)
        return conduit.BadRequest(f"{call}: {name} {wrong.why}, and {where}; give {wrong.give}")

    def _select(self, index: Any) -> selection.Selection:
        return selection.select("a", self.shape, index, self.dtype.names or ())

    # ------------------------------------------------------------------------------------------ assigned, and strictly

    def _for_write(self, call: str, index: Any, value: Any) -> tuple[Any, ...]:
        # The call goes on with what is selected, and with elements of the array.
        self.check_alive(call)
        refuse_read(index)
        refuse_read(value)
        flat = selection.single("a", self.shape, index)
        if flat is not None:
            return self, flat, self._element(value, call)
        chosen = self._select(index)
        return self, chosen, self._elements(chosen.shape, value, call, "value")

    def _for_assign(self, index: Any, value: Any) -> tuple[Any, ...]:
        return self._for_write("a.assign", index, value)

    def _for_strict_write(self, index: Any, value: Any) -> tuple[Any, ...]:
        return self._for_write("a.write", index, value)

    def _write_checked(self, chosen: int | selection.Selection, value: Any) -> None:
        if isinstance(chosen, int):
            self._write_one(chosen, value)
        else:
            self._store(chosen.flat, value)

    def _for_read(self, index: Any) -> tuple[Any, ...]:
        self.check_alive("a.read")
        refuse_read(index)
        flat = selection.single("a", self.shape, index)
        return self, self._select(index) if flat is None else flat

    @public("a", _for_assign)
    async def assign(self, index: Any, value: Any) -> None:
        """Write relaxed, as ``a[index] = value``, and send the write buffer if it is full.

        Args:
            index: as numpy takes it.
            value: as numpy assigns it.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        self.check_alive("a.assign")
        self._write_checked(index, value)
        await self._runtime.writes.make_room()
        await self._runtime.ep.poll()

    @public("a", _for_strict_write)
    async def write(self, index: Any, value: Any) -> None:
        """Write strictly: after all earlier accesses of this thread, and complete when it returns.

        Args:
            index: as numpy takes it.
            value: as numpy assigns it.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._runtime.fence()
        self.check_alive("a.write")
        self._write_checked(index, value)
        await self._runtime.writes.complete()

    @public("a", _for_read)
    async def read(self, index: Any) -> Any:
        """Read strictly: after this thread's earlier writes are complete.

        Args:
            index: as numpy takes it.

        Returns:
            the element, or an array.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._runtime.fence()
        if isinstance(index, int):
            return await self._read_one(index)
        return await self._read(index, "a.read")

    # -------------------------------------------------------------------------------------------------------- atomics

    def _for_add(self, index: Any, v: Any) -> tuple[Any, ...]:
        self._check_atomic("a.add_at", index, v)
        chosen = self._select(index)
        try:
            given = np.asarray(v)
            if given.dtype.kind == "O":  # what numpy has no dtype for: no number, or one that is too large
                fitted = given.astype(self.dtype)
                given = fitted if all(isinstance(each, int) for each in given.flat) else given
            if out_of_range(given, self.dtype):
                raise OverflowError
            operands = np.broadcast_to(given, chosen.shape).reshape(-1)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._refused(error, v, chosen.shape, "a.add_at") from None
        if given.dtype.kind not in ("iubf" if self.dtype.kind == "f" else "iub"):
            raise conduit.BadRequest(
                f"a.add_at: v has dtype {given.dtype}, which cannot be added to dtype {self.dtype} as it is; convert it"
            )
        return self, chosen.flat, operands

    @public("a", _for_add)
    async def add_at(self, index: Any, v: Any) -> None:
        """Add to elements, each addition atomic, repeated indices repeatedly; complete when it returns.

        Args:
            index: as numpy takes it.
            v: numbers, broadcast to what the index selects.

        Raises:
            conduit.BadRequest: a wrong argument, or a dtype without atomic operations.
        """
        await self._runtime.writes.settle(self)
        await self._runtime.writes.left.begun(self.memory.add(index, v, "a.add_at"))

    def _for_fetch_add(self, i: Any, v: Any) -> tuple[Any, ...]:
        self._check_atomic("a.fetch_add", i, v)
        place = self.memory.place(selection.one("a.fetch_add", "a", self.shape, i))
        return self, place, self._number("a.fetch_add", "v", v)

    @public("a", _for_fetch_add)
    async def fetch_add(self, i: Any, v: Any) -> Any:
        """Add to one element and return its value before, in one atomic step.

        Args:
            i: the index of one element.
            v: a number.

        Returns:
            the value before, of the array's dtype.

        Raises:
            conduit.BadRequest: a wrong argument, or a dtype without atomic operations.
        """
        await self._runtime.writes.settle(self)
        fetch = self._atomic("a.fetch_add").fetch_add(i[0], i[1], v)
        return self.dtype.type(await self._runtime.writes.left.begun(fetch))

    def _for_compare_swap(self, i: Any, expected: Any, new: Any) -> tuple[Any, ...]:
        call = "a.compare_swap"
        self._check_atomic(call, i, expected, new)
        place = self.memory.place(selection.one(call, "a", self.shape, i))
        return self, place, self._number(call, "expected", expected), self._number(call, "new", new)

    @public("a", _for_compare_swap)
    async def compare_swap(self, i: Any, expected: Any, new: Any) -> Any:
        """Store `new` in one element where it is `expected`, in one atomic step.

        Args:
            i: the index of one element.
            expected: a number.
            new: a number.

        Returns:
            the value before, of the array's dtype.

        Raises:
            conduit.BadRequest: a wrong argument, or a dtype without atomic operations.
        """
        await self._runtime.writes.settle(self)
        swap = self._atomic("a.compare_swap").compare_swap(i[0], i[1], expected, new)
        return self.dtype.type(await self._runtime.writes.left.begun(swap))

    def _check_atomic(self, call: str, *values: Any) -> None:
        self.check_alive(call)
        for each in values:
            refuse_read(each)
        self._atomic(call)

    def _number(self, call: str, name: str, value: Any) -> Any:
        number = self._atomic(call).number(call, name, value)
        if self.dtype.kind in "iu" and number != index(as_number(value)):  # elsewhere it is taken modulo 2**bits
            raise self._refused(OverflowError(), value, (), call, name=name)
        return number

    def _atomic(self, call: str) -> Atomic:
        try:
            return self.memory.x.atomic(self.dtype)
        except conduit.BadRequest:
            raise conduit.BadRequest(
                f"{call}: an array of dtype {self.dtype} has no atomic operations; allocate it as i4, u4, i8, u8, f4 "
                "or f8, or use a lock"
            ) from None

    # ------------------------------------------------------------------------------------------------ the whole array

    def _for_to_numpy(self) -> None:
        self.check_alive("a.to_numpy")

    @public("a", _for_to_numpy)
    async def to_numpy(self) -> Values:
        """Return the whole array, read by this thread alone; its own writes to it are complete first.

        Returns:
            a new array.
        """
        await self._runtime.writes.settle(self)
        return (await self.memory.read_all("a.to_numpy")).view(self.dtype).reshape(self.shape)

    def as_argument(self) -> Argument:
        """Return how the array is compared between threads, as an argument of a call that all make."""
        return Argument(str(self.description.checksum()), f"the array of {self.made}")

    def _for_gather_to(self, thread: Any) -> tuple[Any, ...]:
        self.check_alive("a.gather_to")
        threads = self._layout.threads
        what = f"a thread, 0 to {threads - 1}, the same on all"
        return self, integer("a.gather_to", "thread", thread, 0, threads - 1, what)

    @public("a", _for_gather_to)
    async def gather_to(self, thread: int) -> Values | None:
        """Bring the whole array to one thread, by a tree where that is faster; collective, and a fence.

        Args:
            thread: which, the same on all threads.

        Returns:
            a new array there, None elsewhere.

        Raises:
            conduit.BadRequest: no thread.
        """
        await self._runtime.fence()
        try:
            await agree(
                self._runtime, "a.gather_to", {"a": self.as_argument(), "thread": Argument(str(thread), str(thread))}
            )
            whole = await self.memory.gather(thread, "a.gather_to")
            await self._runtime.x.meet(END, "a.gather_to")
        except trio.Cancelled:
            self._runtime.x.give_up("a.gather_to")
            raise
        return None if whole is None else whole.view(self.dtype).reshape(self.shape)

    def store(self, flat: Indices, values: Values) -> None:
        """Write elements relaxed, by their flattened indices; for the calls that all threads make together."""
        self._write(selection.Selection(flat, flat.shape, False), values)

    # ------------------------------------------------------------------------------- what an array that lies here does

    def __iter__(self) -> NoReturn:
        raise NotAwaited(
            "a shared array was iterated, which would read its elements one by one; iterate over `a.forall()` for the "
            "indices of this thread's, over `a.local` for their values, or over `await a[:]`"
        )

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise NotAwaited(_HERE.format("as a numpy array"))

    def __array_ufunc__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise NotAwaited(_HERE.format("in arithmetic of numpy"))

    def __eq__(self, other: object) -> bool:
        # Python would say False of values too, and `a[a == 2] = 1` then write nothing.
        if isinstance(other, _VALUES):
            raise NotAwaited(_HERE.format(_COMPARED))
        return NotImplemented

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise NotAwaited(_HERE.format("as a truth value"))

    def __contains__(self, value: object) -> NoReturn:
        self.__iter__()


_COMPARED = "in a comparison"
_VALUES = (int, float, complex, np.generic, np.ndarray, list, tuple)
"""What numpy compares an array's elements with."""
_HERE = "a shared array was used {}; write `a.local` for this thread's elements, `await a[:]` for all"


def _refusing(use: str) -> Callable[..., NoReturn]:
    def method(self: SharedArray, *others: object) -> NoReturn:
        raise NotAwaited(_HERE.format(use))

    return method


refuse(SharedArray, ARITHMETIC, _refusing)
for _order in ("lt", "le", "gt", "ge"):
    setattr(SharedArray, f"__{_order}__", _refusing(_COMPARED))


def refuse_read(value: Any) -> None:
    """Refuse a read that was not awaited, or a whole array, in the place of a value.

    Raises:
        NotAwaited: so it is.
    """
    if isinstance(value, Read):
        raise value.refusal("as a value or an index")
    if inspect.iscoroutine(value):
        raise NotAwaited("a call was used as a value or an index, but it has not been awaited; write `await` before it")
    if isinstance(value, SharedArray):
        value.__array__()


def _among(shape: tuple[int, ...], mine: Indices, arguments: tuple[Any, ...]) -> Indices:
    # Those of ascending indices that a range has, in the order of the range.
    if len(shape) != 1:
        raise conduit.BadRequest(
            f"a.forall: start, stop and step are for arrays of one dimension, this has shape {shape}; call a.forall() "
            "and choose among the tuples, or use flat=True"
        )
    if any(isinstance(each, Read) for each in arguments):
        refuse_read(next(each for each in arguments if isinstance(each, Read)))
    try:
        wanted = range(*arguments)
    except (TypeError, ValueError) as error:
        raise conduit.BadRequest(f"a.forall: {error}; give start, stop and step as `range` takes them") from None
    if not wanted:
        return mine[:0]
    for end in (wanted[0], wanted[-1]):
        if not 0 <= end < shape[0]:
            raise WrongIndex(
                f"a.forall: {shown(wanted)} has index {shown(end)}, but the array takes 0 to {shape[0] - 1}; "
                "give a range inside"
            )
    ascending = wanted if wanted.step > 0 else wanted[::-1]
    first, step = ascending[0], min(ascending.step, shape[0])  # numpy takes no step that is wider than 64 bits
    found: Indices = mine[(mine >= first) & (mine <= ascending[-1]) & ((mine - first) % step == 0)]
    return found if wanted.step > 0 else found[::-1]
