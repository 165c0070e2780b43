"""Many numbers of other ranks changed by one message: the batched form of atomic operations.

A message carries offsets and operands; a handler of the owner applies them one after the other, so that each is atomic
against all operations of `x.atomic`, and an offset that is given twice is changed twice.
"""

from __future__ import annotations

from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from extended import checks
from extended.arithmetic import BITWISE, TYPES, Op
from extended.buffers import flat
from extended.transfers import LARGEST_PIECE
from extended.vis import places

if TYPE_CHECKING:
    import numpy.typing as npt

    from conduit import Endpoint, Token
    from extended.arithmetic import NumberType
    from extended.events import Events, Operation
    from extended.native import NativeAtomics
    from extended.transfers import Send, Transfers

    Numbers = npt.NDArray[Any]
    Integers = npt.NDArray[np.int64]

OPS = {
    "add": Op.ADD, "sub": Op.SUB, "mul": Op.MUL, "min": Op.MIN, "max": Op.MAX, "and_": Op.AND, "or_": Op.OR,
    "xor": Op.XOR,
}  # fmt: skip
"""What can be accumulated, by name."""

_UFUNCS: dict[int, np.ufunc] = {
    Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.MIN: np.minimum, Op.MAX: np.maximum,
    Op.AND: np.bitwise_and, Op.OR: np.bitwise_or, Op.XOR: np.bitwise_xor,
}  # fmt: skip

_TYPE = 4  # a request's code: the operation in bits 0-3, the type from there on


class Accumulates:
    """One rank's part in accumulates: its own, and what it does for others.

    Args:
        ep: the rank's endpoint.
        events: its outstanding operations.
        transfers: what sends operations of several messages.
        native: what does those on types that the network has operations for.
    """

    def __init__(self, ep: Endpoint, events: Events, transfers: Transfers, native: NativeAtomics) -> None:
        self._ep = ep
        self._events = events
        self._transfers = transfers
        self._native = native
        self._memory = flat(ep.segment)
        self._complete = transfers.handlers.complete
        self._max_medium = min(ep.limits.max_medium, LARGEST_PIECE)

    async def begin(
        self, operation: Operation, dest: int, kind: int, op: Op, starts: Integers, operands: Numbers
    ) -> None:
        """Begin an accumulate; return when all its messages are sent.

        Args:
            operation: counts the messages.
            dest: rank whose numbers change.
            kind: which of the types.
            op: the operation.
            starts: offsets of the numbers in its segment.
            operands: as many, in use until the operation is done.
        """
        size = TYPES[kind].size
        if len(starts) and self._native.has(TYPES[kind]):
            await self._native.accumulate(operation, TYPES[kind], op, dest, starts.tolist(), operands.tolist())
            return
        if dest == self._ep.rank or not len(starts):
            await self._ep.poll()
            self._apply(kind, op, starts, operands)
            return
        width = 4 if int(starts.max()) < 1 << 32 else 8
        room = max(self._max_medium // (width + size), 1)
        number = self._events.enter(operation, -(-len(starts) // room))

        def request(at: int) -> Send:
            some = slice(at, at + room)
            payload = starts[some].astype(f"<u{width}").tobytes() + operands[some].tobytes()
            self._ep.charge(copied=len(payload))
            words = number, op | kind << _TYPE, min(room, len(starts) - at)
            return partial(self._ep.request_medium, dest, self.accumulate, payload, *words)

        await self._transfers.issue(operation, number, map(request, range(0, len(starts), room)))

    def accumulate(self, token: Token, payload: memoryview, number: int, code: int, count: int) -> None:
        """Request: apply operands to numbers; the payload has `count` offsets, then the operands."""
        op, kind = code & (1 << _TYPE) - 1, code >> _TYPE
        size = TYPES[kind].size
        width = len(payload) // count - size
        starts = np.frombuffer(payload, f"<u{width}", count).astype(np.int64)
        operands = np.frombuffer(payload, f"<{TYPES[kind].name}", count, count * width).copy()
        self._apply(kind, op, starts, operands)
        token.reply_short(self._complete, number)

    def _apply(self, kind: int, op: int, starts: Integers, operands: Numbers) -> None:
        number = TYPES[kind]
        if number.floating and op in (Op.MIN, Op.MAX):  # numpy does not say which zero is the smaller one
            for start, operand in zip(starts.tolist(), operands.tolist(), strict=True):
                number.apply(op, self._memory, start, (operand,))
        elif len(starts):
            whole = len(self._memory) // number.size * number.size
            numbers = np.frombuffer(self._memory[:whole], f"<{number.name}")
            with np.errstate(all="ignore"):
                _UFUNCS[op].at(numbers, starts // number.size, operands)
        self._ep.charge(copied=2 * operands.nbytes)


def checked(
    call: str, bounds: checks.Bounds, kind: int, dest: object, offsets: object, values: Any, op: object
) -> tuple[int, Integers, Numbers, Op]:
    """Return the arguments of an accumulate: rank, offsets, operands of the type, operation; copies all of them.

    Raises:
        conduit.BadRequest: one is wrong.
    """
    number = TYPES[kind]
    if not isinstance(op, str) or op not in OPS:
        raise conduit.BadRequest(f"{call}: op={checks.shown(op)} is none; give one of {' '.join(OPS)}")
    if number.floating and OPS[op] in BITWISE:
        raise conduit.BadRequest(
            f"{call}: a number of dtype {number.name} has no bitwise operations; use x.atomic('u{number.size}')"
        )
    starts = places.offsets(call, offsets)
    owner = places.check_runs(bounds, call, "offsets", dest, starts, number.size)
    wrong = np.flatnonzero(starts % number.size)
    if len(wrong):
        raise conduit.BadRequest(
            f"{call}: offsets[{int(wrong[0])}]={int(starts[wrong[0]])} is not aligned to dtype {number.name}; give "
            f"multiples of {number.size}"
        )
    return owner, starts, _operands(call, kind, values, len(starts)), OPS[op]


def _operands(call: str, kind: int, values: Any, count: int) -> Numbers:
    number = TYPES[kind]
    try:
        given = np.asarray(values)
    except OverflowError:  # an integer beyond all floats, among floats
        given = np.asarray(values, object)
    except ValueError:
        raise conduit.BadRequest(
            f"{call}: values has parts of different lengths; give one number for each offset, or one for all"
        ) from None
    if given.dtype.kind == "O" and number.floating:
        given = _reals(call, number, given)
    elif given.dtype.kind in "fO" and not (number.floating or isinstance(values, np.ndarray)):
        given = _integers(values, given)
    if given.dtype.kind not in ("iubf" if number.floating else "iub") and given.size:
        raise conduit.BadRequest(
            f"{call}: values has dtype {given.dtype}, which is none for numbers of dtype {number.name}; give "
            f"{'real numbers' if number.floating else 'integers'}"
        )
    if given.shape not in ((), (count,)):
        raise conduit.BadRequest(
            f"{call}: values has shape {given.shape}, but offsets are {count}; give one number for each, or one for all"
        )
    with np.errstate(all="ignore"):
        operands: Numbers = np.full(count, given, given.dtype).astype(f"<{number.name}")
    return operands


def _reals(call: str, number: NumberType, given: Numbers) -> Numbers:
    """Return objects as floats of a type where they are real numbers, such as large integers; others as they are."""
    try:
        listed = [number.number(call, "values", each) for each in given.flat]
    except conduit.BadRequest:
        return given
    return np.array(listed, np.float64).reshape(given.shape)


def _integers(values: Any, given: Numbers) -> Numbers:
    """Return integers modulo 2**64 of which numpy makes floats or objects, as of `[2**63, -1]`; else what it makes."""
    try:
        listed = [index(each) & (1 << 64) - 1 for each in np.asarray(values, object).flat]
    except TypeError:
        return given
    return np.array(listed, np.uint64).reshape(given.shape)
