"""Atomic operations on numbers in the segments of all ranks.

One short request carries the operands, a handler of the owner applies them, and a short reply brings back what was
there before.  The owner's own operations are done at once, between two of its awaits.  Handlers of a rank run one after
the other and never beside its program, so that all of these are atomic against each other.  Types that the network has
operations of its own for go by these alone (`extended.native`).

Source: GASNet-EX, remote atomics (`gex_AD_OpNB`).
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, overload

import conduit
from extended import accumulate
from extended.accumulate import Accumulates
from extended.arithmetic import BITWISE, TYPES, Number, Op, type_index
from extended.buffers import flat
from extended.calls import public
from extended.events import GET, PUT, Operation
from extended.handlers import high, joined, low

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import SupportsIndex

    from conduit import Endpoint, Token
    from extended.checks import Bounds
    from extended.events import Events, Handle
    from extended.native import NativeAtomics
    from extended.transfers import Transfers
    from extended.vis.places import Offsets

# A request's code: the operation in bits 0-3, whether the reply brings the old number, the type from bit 5 on.
_OP = 15
_FETCH = 1 << 4
_TYPE = 5


class AtomicOperation(Operation):
    """An atomic operation on another rank.

    Attributes:
        words: the number that was there before, as it came in the reply.
    """

    __slots__ = ("words",)

    words: tuple[int, ...]


class Atomics:
    """One rank's part in atomic operations: its own, and what it does for others.

    Args:
        ep: the rank's endpoint.
        events: its outstanding operations.
        transfers: what sends operations of several messages.
        native: what does those on types that the network has operations for.

    Attributes:
        events: as given.
        accumulates: the operations on many numbers.
        begin_accumulate: begins one of the program's, as `Accumulates.begin`: derived classes tell of it.
    """

    def __init__(self, ep: Endpoint, events: Events, transfers: Transfers, native: NativeAtomics) -> None:
        self._ep = ep
        self.events = self._events = events
        self._native = native
        self.accumulates = Accumulates(ep, events, transfers, native)
        self.begin_accumulate = self.accumulates.begin
        self._memory = flat(ep.segment)

    def table(self) -> tuple[Callable[..., None], ...]:
        """Return the handlers in the order in which every rank attaches them."""
        return self.atomic_apply, self.atomic_applied, self.accumulates.accumulate

    async def perform(self, call: str, code: int, dest: int, offset: int, operands: Sequence[Number]) -> Any:
        """Do one operation; return the number before it where `code` asks for that, else None."""
        kind = TYPES[code >> _TYPE]
        if self._native.has(kind):
            before = await self._native.perform(call, kind, code & _OP, dest, offset, operands)
            return before if code & _FETCH else None
        if dest == self._ep.rank:
            await self._ep.poll()
            old = kind.apply(code & _OP, self._memory, offset, operands)
            self._ep.charge(copied=kind.size)
            return old if code & _FETCH else None
        operation = AtomicOperation(GET if code & _OP == Op.GET else PUT, call, dest)
        number = self._events.enter(operation, 1)
        place = low(offset), high(offset)
        try:
            await self._ep.request_short(dest, self.atomic_apply, number, code, *place, *kind.to_words(operands))
        except BaseException:
            self._events.withdraw(number)
            raise
        await self._events.finish(operation)
        return kind.from_words(operation.words)[0] if code & _FETCH else None

    perform_untold = perform
    """The same where listeners are not to hear of it as a call of the program's: derived classes tell `perform`."""

    def atomic_apply(self, token: Token, number: int, code: int, low_word: int, high_word: int, *words: int) -> None:
        """Request: apply an operation, its operands in `words`."""
        kind = TYPES[code >> _TYPE]
        old = kind.apply(code & _OP, self._memory, joined(low_word, high_word), kind.from_words(words))
        self._ep.charge(copied=kind.size)
        token.reply_short(self.atomic_applied, number, *(kind.to_words((old,)) if code & _FETCH else ()))

    def atomic_applied(self, token: Token, number: int, *words: int) -> None:
        """Reply: an operation has been applied; `words` is the number before it, where that was asked for."""
        operation = self._events.operations[number]
        assert isinstance(operation, AtomicOperation)
        operation.words = words
        self._events.piece_done(number)


# -------------------------------------------------------------------------- the calls, made of what they have in common


def _named(method: Callable[..., Any], name: str, text: str, arguments: Sequence[str], *, fetch: bool) -> str:
    # Give a call its name and docstring, and return the name by which errors call it.
    lines = [
        f"{text}; return the number before." if fetch and name != "get" else f"{text}.",
        "",
        "Args:",
        "    dest: rank whose segment holds the number.",
        "    offset: in that segment, bytes; a multiple of the type's size.",
        *(f"    {argument}: a number; an integer is taken modulo 2**bits." for argument in arguments),
        "",
        *(["Returns:", "    the number before.", ""] if fetch else []),
        "Raises:",
        "    conduit.BadRequest: a wrong argument, or a bitwise operation on floats.",
    ]
    method.__name__ = name
    method.__doc__ = "\n".join(lines)
    return f"atomic.{name}"


R = TypeVar("R", covariant=True)  # None, or Any for a number


class OnPlace(Protocol[R]):
    """A call that takes a place alone, as type checkers see it: a method of `Atomic`."""

    def __call__(self, dest: SupportsIndex, offset: SupportsIndex) -> Coroutine[Any, Any, R]:
        """Do the operation."""


class OnOperand(Protocol[R]):
    """A call that takes a place and an operand."""

    def __call__(self, dest: SupportsIndex, offset: SupportsIndex, v: Number) -> Coroutine[Any, Any, R]:
        """Do the operation."""


@overload
def _on_place(name: str, op: Op, text: str, *constants: int, fetch: Literal[True]) -> OnPlace[Any]: ...
@overload
def _on_place(name: str, op: Op, text: str, *constants: int, fetch: Literal[False]) -> OnPlace[None]: ...
def _on_place(name: str, op: Op, text: str, *constants: int, fetch: bool) -> Any:
    # Make a call that takes a place alone.
    async def method(self: Atomic, dest: SupportsIndex, offset: SupportsIndex) -> Any:
        return await self._perform(call, op, dest, offset, constants, fetch=fetch)

    def check(self: Atomic, dest: object, offset: object) -> None:
        self.check(call, op, dest, offset)

    call = _named(method, name, text, (), fetch=fetch)
    return public(check, owner="atomic")(method)


@overload
def _on_operand(name: str, op: Op, text: str, *, fetch: Literal[True]) -> OnOperand[Any]: ...
@overload
def _on_operand(name: str, op: Op, text: str, *, fetch: Literal[False]) -> OnOperand[None]: ...
def _on_operand(name: str, op: Op, text: str, *, fetch: bool) -> Any:
    # Make a call that takes a place and an operand.
    async def method(self: Atomic, dest: SupportsIndex, offset: SupportsIndex, v: Number) -> Any:
        return await self._perform(call, op, dest, offset, (self.number(call, "v", v),), fetch=fetch)

    def check(self: Atomic, dest: object, offset: object, v: object) -> None:
        self.check(call, op, dest, offset, v=v)

    call = _named(method, name, text, ("v",), fetch=fetch)
    return public(check, owner="atomic")(method)


def _for_accumulate(call: str) -> Callable[..., tuple[Any, ...]]:
    def check(self: Atomic, dest: object, offsets: object, values: object, op: object = "add") -> tuple[Any, ...]:
        # Every operation goes on with its arguments checked and copied, in the place of those that were given.
        return self, accumulate.checked(call, self.bounds, self.kind, dest, offsets, values, op), None, None

    return check


def _for_compare_swap(self: Atomic, dest: object, offset: object, expected: object, new: object) -> None:
    self.check("atomic.compare_swap", Op.COMPARE_SWAP, dest, offset, expected=expected, new=new)


class Atomic:
    """Atomic operations on numbers of one type, anywhere in the segments; get it by ``x.atomic(dtype)``.

    Python numbers go in and come out.  Integers are taken modulo 2**bits, operands and results alike.  Floats follow
    IEEE 754 in their own width.  An operation on this rank's own segment sends no message.

    Args:
        atomics: the rank's part in them.
        bounds: how far the segments of the ranks reach.
        type_index: which of the types.
        told: whether listeners hear of them as the program's calls.

    Attributes:
        bounds: as given.
        kind: which of the types.
    """

    _instead: ClassVar = {
        **{
            name: f"write `await d.fetch_{operation}(dest, offset, v)`"
            for operation in ("add", "sub", "mul", "min", "max", "and", "or", "xor")
            for name in (
                f"fetch_and_{operation}",
                f"get_and_{operation}",
                f"f{operation}",
                f"test_and_{operation}",
                f"fetch_{operation}_",
            )
        },
        **{
            name: f"write `await d.fetch_{operation}(dest, offset)`"
            for operation in ("inc", "dec")
            for name in (f"fetch_and_{operation}", f"get_and_{operation}", f"f{operation}", f"fetch_{operation}rement")
        },
        **{f"{operation}rement": f"write `await d.{operation}(dest, offset)`" for operation in ("inc", "dec")},
        "subtract": "write `await d.sub(dest, offset, v)`",
        **dict.fromkeys(
            (
                "cas",
                "fcas",
                "fetch_cas",
                "cswap",
                "compare_and_swap",
                "compare_and_set",
                "compare_set",
                "compare_exchange",
                "compare_exchange_strong",
                "compare_exchange_weak",
                "cmpxchg",
            ),
            "write `await d.compare_swap(dest, offset, expected, new)`",
        ),
        **dict.fromkeys(
            (
                "exchange",
                "xchg",
                "fetch_set",
                "fetch_and_set",
                "get_and_set",
                "fetch_store",
                "fetch_and_store",
                "fswap",
            ),
            "write `await d.swap(dest, offset, v)`",
        ),
        "test_and_set": "write `await d.swap(dest, offset, 1)`",
        **dict.fromkeys(("load", "read", "fetch"), "write `await d.get(dest, offset)`"),
        **dict.fromkeys(("store", "write"), "write `await d.set(dest, offset, v)`"),
    }

    _called: ClassVar = "d"

    def __init__(self, atomics: Atomics, bounds: Bounds, type_index: int, *, told: bool = True) -> None:
        self._atomics = atomics
        self._perform_one = atomics.perform if told else atomics.perform_untold
        self._begin = atomics.begin_accumulate if told else atomics.accumulates.begin
        self.bounds = bounds
        self.kind = type_index
        self._kind = TYPES[type_index]
        self._code = type_index << _TYPE

    @property
    def dtype(self) -> str:
        """The type's name: i4, u4, i8, u8, f4 or f8."""
        return self._kind.name

    get = _on_place("get", Op.GET, "Read the number at a place", fetch=True)
    set = _on_operand("set", Op.SET, "Store `v` at a place", fetch=False)
    swap = _on_operand("swap", Op.SET, "Store `v` at a place", fetch=True)

    add = _on_operand("add", Op.ADD, "Add `v` to the number", fetch=False)
    sub = _on_operand("sub", Op.SUB, "Subtract `v` from the number", fetch=False)
    mul = _on_operand("mul", Op.MUL, "Multiply the number by `v`", fetch=False)
    min = _on_operand("min", Op.MIN, "Store `v` where it is smaller than the number", fetch=False)
    max = _on_operand("max", Op.MAX, "Store `v` where it is larger than the number", fetch=False)
    and_ = _on_operand("and_", Op.AND, "Keep those bits of the number that `v` has as well", fetch=False)
    or_ = _on_operand("or_", Op.OR, "Set those bits of the number that `v` has", fetch=False)
    xor = _on_operand("xor", Op.XOR, "Turn those bits of the number that `v` has", fetch=False)
    inc = _on_place("inc", Op.ADD, "Add 1 to the number", 1, fetch=False)
    dec = _on_place("dec", Op.SUB, "Subtract 1 from the number", 1, fetch=False)

    fetch_add = _on_operand("fetch_add", Op.ADD, "Add `v` to the number", fetch=True)
    fetch_sub = _on_operand("fetch_sub", Op.SUB, "Subtract `v` from the number", fetch=True)
    fetch_mul = _on_operand("fetch_mul", Op.MUL, "Multiply the number by `v`", fetch=True)
    fetch_min = _on_operand("fetch_min", Op.MIN, "Store `v` where it is smaller than the number", fetch=True)
    fetch_max = _on_operand("fetch_max", Op.MAX, "Store `v` where it is larger than the number", fetch=True)
    fetch_and = _on_operand("fetch_and", Op.AND, "Keep those bits of the number that `v` has as well", fetch=True)
    fetch_or = _on_operand("fetch_or", Op.OR, "Set those bits of the number that `v` has", fetch=True)
    fetch_xor = _on_operand("fetch_xor", Op.XOR, "Turn those bits of the number that `v` has", fetch=True)
    fetch_inc = _on_place("fetch_inc", Op.ADD, "Add 1 to the number", 1, fetch=True)
    fetch_dec = _on_place("fetch_dec", Op.SUB, "Subtract 1 from the number", 1, fetch=True)

    @public(_for_compare_swap, owner="atomic")
    async def compare_swap(self, dest: SupportsIndex, offset: SupportsIndex, expected: Number, new: Number) -> Any:
        """Store `new` where the number is `expected`; else leave it.  It never fails for another reason.

        Of floats, not a number is the same as itself, and 0.0 is not the same as -0.0.

        Args:
            dest: rank whose segment holds the number.
            offset: in that segment, bytes; a multiple of the type's size.
            expected: a number.
            new: a number.

        Returns:
            the number before.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        call = "atomic.compare_swap"
        operands = self.number(call, "expected", expected), self.number(call, "new", new)
        return await self._perform(call, Op.COMPARE_SWAP, dest, offset, operands, fetch=True)

    @public(_for_accumulate("atomic.accumulate"), owner="atomic")
    async def accumulate(self, dest: SupportsIndex, offsets: Offsets, values: Any, op: str = "add") -> None:
        """Apply an operation to many numbers of one rank, as few messages as the limits allow; return when it is done.

        Each is atomic by itself; an offset that is given twice is changed twice.  In which order, among those of one
        call too, is not said.

        Args:
            dest: rank whose segment holds the numbers.
            offsets: in that segment, bytes; multiples of the type's size.
            values: an operand for each, or one for all; integers are taken modulo 2**bits.
            op: add, sub, mul, min, max, `and_`, `or_` or xor.

        Raises:
            conduit.BadRequest: a wrong argument, or a bitwise operation on floats.
        """
        operation = await self._accumulate("atomic.accumulate", dest)
        await self._atomics.events.finish(operation)

    @public(_for_accumulate("atomic.accumulate_nb"), owner="atomic")
    async def accumulate_nb(self, dest: SupportsIndex, offsets: Offsets, values: Any, op: str = "add") -> Handle[None]:
        """Begin to apply an operation to many numbers; arguments as `accumulate`, which may be changed at once.

        Returns:
            the handle, which gives None.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        operation = await self._accumulate("atomic.accumulate_nb", dest)
        return self._atomics.events.handle("atomic.accumulate_nb", operation, lambda: None)

    async def _accumulate(self, call: str, checked: Any) -> Operation:
        dest, starts, operands, op = checked
        operation = Operation(PUT, call, dest)
        await self._begin(operation, dest, self.kind, op, starts, operands)
        return operation

    def number(self, call: str, name: str, value: object) -> Number:
        """Return an operand as a number of this type.

        Raises:
            conduit.BadRequest: it is none.
        """
        return self._kind.number(call, name, value)

    def check(self, call: str, op: Op, dest: object, offset: object, **operands: object) -> None:
        """Refuse a wrong call.

        Raises:
            conduit.BadRequest: a wrong argument, or a bitwise operation on floats.
        """
        kind = self._kind
        if kind.floating and op in BITWISE:
            raise conduit.BadRequest(
                f"{call}: a number of dtype {kind.name} has no bitwise operations; use x.atomic('u{kind.size}')"
            )
        self.bounds.check(call, dest, offset, kind.size)
        if (start := index(offset)) % kind.size:  # type: ignore[arg-type]
            below = start - start % kind.size
            raise conduit.BadRequest(
                f"{call}: offset={start} is not aligned to dtype {kind.name}; give a multiple of {kind.size}, such as "
                f"{below}"
            )
        for name, value in operands.items():
            kind.number(call, name, value)

    def _perform(
        self,
        call: str,
        op: Op,
        dest: SupportsIndex,
        offset: SupportsIndex,
        operands: Sequence[Number],
        *,
        fetch: bool,
    ) -> Coroutine[Any, Any, Any]:
        code = self._code | (_FETCH if fetch else 0) | op
        return self._perform_one(call, code, index(dest), index(offset), operands)

    def __repr__(self) -> str:
        return f"<Atomic of {self.dtype}>"


def atomic(atomics: Atomics, bounds: Bounds, dtype: object, *, told: bool = True) -> Atomic:
    """Return the atomic operations on numbers of a dtype.

    Raises:
        conduit.BadRequest: a dtype that has none.
    """
    return Atomic(atomics, bounds, type_index("atomic", dtype), told=told)
