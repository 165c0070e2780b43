"""Waiting until what others put has come, and looking whether it has."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import trio

import conduit
from conduit.words import many
from extended.front_ends import is_one_of, public, shown
from extended.shmem import arguments
from extended.shmem.constants import CMP
from extended.shmem.transfers import ShmemTransfers

if TYPE_CHECKING:
    from collections.abc import Callable

    from extended.reporting import ReportSink
    from extended.shmem.arguments import Array

_COMPARE: dict[CMP, Callable[[Any, Any], Any]] = {
    CMP.EQ: operator.eq,
    CMP.NE: operator.ne,
    CMP.GT: operator.gt,
    CMP.LE: operator.le,
    CMP.LT: operator.lt,
    CMP.GE: operator.ge,
}
_SIGNS = {"==": CMP.EQ, "!=": CMP.NE, ">": CMP.GT, "<=": CMP.LE, "<": CMP.LT, ">=": CMP.GE}
_SHOWN = 8  # elements
_SIGN_OF = {_COMPARE[cmp]: sign for sign, cmp in _SIGNS.items()}


@attrs.frozen
class Look:
    """A condition on the elements of an array.

    Attributes:
        elements: of the array.
        compare: with what.
        values: one, or one for each.
        counted: indices of those that are not excluded.
    """

    elements: Array
    compare: Callable[[Any, Any], Any]
    values: Array
    counted: Array

    def met(self) -> list[int]:
        """Return the indices of the elements that count and meet it."""
        meets = self.compare(self.elements, self.values)
        return [int(i) for i in self.counted[meets[self.counted]]]

    def all(self) -> bool:
        """Say whether all that count meet it."""
        return len(self.met()) == len(self.counted)

    def some(self) -> bool:
        """Say whether one of them does, or none counts."""
        return bool(self.met()) or not len(self.counted)

    def sought(self) -> str:
        """Return what is waited for, in words, and what is there when the wait begins."""
        condition = f"{_SIGN_OF[self.compare]} {self.values if self.values.ndim == 0 else 'those given'}"
        if self.elements.size == 1:
            return f"an element {condition}, which was {self.elements[0]} at first"
        return f"elements {condition}"

    def now(self) -> str:
        """Return what is there by now, in words that go behind these."""
        if self.elements.size == 1:
            return f" and is {self.elements[0]} now"
        more = ", ..." * (len(self.counted) > _SHOWN)
        return f", which are {', '.join(str(self.elements[i]) for i in self.counted[:_SHOWN])}{more} now"

    def first(self) -> int | None:
        """Return the first that does."""
        return next(iter(self.met()), None)


class Waits(ShmemTransfers):
    """Conditions on symmetric arrays of integers, on this PE.

    `cmp` is one of `CMP`, its name, or a sign such as ">=".  `status` excludes the elements where it is not 0.
    """

    _waiting: dict[object, tuple[str, Look]] | None = None  # what tasks wait for; None before the first wait

    def _look(
        self, call: str, ivars: Any, cmp: Any, values: Any, status: Any, *, vector: bool, name: str = "ivars"
    ) -> Look:
        _, elements = self._blocks.symmetric(call, name, ivars)
        if elements.dtype.kind not in "iu" or elements.itemsize < 2:
            raise conduit.BadRequest(f"{call}: {name} has dtype {elements.dtype}; give integers of 2, 4 or 8 bytes")
        given = list(values) if vector and np.iterable(values) else [values]
        if vector and len(given) < elements.size:
            raise conduit.BadRequest(
                f"{call}: values has {many(len(given), 'element')} and {name} {elements.size}; give one for each"
            )
        numbers = [arguments.number_for(call, "values" if vector else "value", each, elements.dtype) for each in given]
        bounds = np.iinfo(elements.dtype)
        for number in numbers:
            if not bounds.min <= number <= bounds.max:
                raise conduit.BadRequest(
                    f"{call}: {shown(number)} is compared with {name} of dtype {elements.dtype}, which cannot be that; "
                    f"give {bounds.min} to {bounds.max}"
                )
        counted = np.arange(elements.size)
        if status is not None:
            excluded = _numbers(call, "status", status)
            if excluded.size < elements.size:
                raise conduit.BadRequest(
                    f"{call}: status has {many(excluded.size, 'element')} and {name} {elements.size}; give one for each"
                )
            counted = counted[excluded[: elements.size] == 0]
        made = np.array(numbers, elements.dtype)
        return Look(elements, _COMPARE[_cmp(call, cmp)], made[: elements.size] if vector else made[0], counted)

    def _one(self, call: str, ivar: Any, cmp: Any, value: Any, name: str = "ivar") -> Look:
        look = self._look(call, ivar, cmp, value, None, vector=False, name=name)
        if look.elements.size != 1:
            count = many(look.elements.size, "element")
            raise conduit.BadRequest(f"{call}: {name} has {count}; give one, such as a[3:4]")
        return look

    async def _wait(self, call: str, look: Look, done: Callable[[], bool]) -> Look:
        """Wait; return what has ended it, which other tasks and PEs may have changed by then."""
        seen = look

        def over() -> bool:
            nonlocal seen
            if not done():
                return False
            seen = attrs.evolve(look, elements=look.elements.copy())
            return True

        await self._x.ep.poll()
        if self._waiting is None:
            self._waiting = {}
            self._x.ep.on_report(self._tell_waits)
        task = trio.lowlevel.current_task()
        what = f"{call}: {look.sought()}"
        self._waiting[task] = what, look
        try:
            await self._x.ep.block_until(over, what=what)
        finally:
            del self._waiting[task]
        return seen

    def _tell_waits(self, sink: ReportSink) -> None:
        """Tell what is there by now, for the report of a job that gets no further."""
        for task, (what, look) in (self._waiting or {}).items():
            sink.waits_now(task, what + look.now())

    async def _wait_all(self, call: str, look: Look) -> None:
        await self._wait(call, look, look.all)

    async def _wait_any(self, call: str, look: Look) -> int | None:
        return (await self._wait(call, look, look.some)).first()

    async def _wait_some(self, call: str, look: Look) -> list[int]:
        return (await self._wait(call, look, look.some)).met()

    async def _test_all(self, call: str, look: Look) -> bool:
        await self._x.ep.poll()
        return look.all()

    async def _test_any(self, call: str, look: Look) -> int | None:
        await self._x.ep.poll()
        return look.first()

    async def _test_some(self, call: str, look: Look) -> list[int]:
        await self._x.ep.poll()
        return look.met()

    @public("pe")
    def wait_until(self, ivar: Any, cmp: Any, value: Any) -> Any:
        """Wait until the one element of `ivar` meets a condition."""
        return self._wait_all("pe.wait_until", self._one("pe.wait_until", ivar, cmp, value))

    @public("pe")
    def test(self, ivar: Any, cmp: Any, value: Any) -> Any:
        """Return whether the one element of `ivar` meets a condition."""
        return self._test_all("pe.test", self._one("pe.test", ivar, cmp, value))

    @public("pe")
    def wait_until_all(self, ivars: Any, cmp: Any, value: Any, status: Any = None) -> Any:
        """Wait until all elements that count meet a condition."""
        call = "pe.wait_until_all"
        look = self._look(call, ivars, cmp, value, status, vector=False)
        return self._wait_all(call, look)

    @public("pe")
    def wait_until_all_vector(self, ivars: Any, cmp: Any, values: Any, status: Any = None) -> Any:
        """Wait until all elements that count meet a condition, each with a value of its own."""
        call = "pe.wait_until_all_vector"
        look = self._look(call, ivars, cmp, values, status, vector=True)
        return self._wait_all(call, look)

    @public("pe")
    def wait_until_any(self, ivars: Any, cmp: Any, value: Any, status: Any = None) -> Any:
        """Wait until one element meets a condition; return its index, None where none counts."""
        call = "pe.wait_until_any"
        look = self._look(call, ivars, cmp, value, status, vector=False)
        return self._wait_any(call, look)

    @public("pe")
    def wait_until_any_vector(self, ivars: Any, cmp: Any, values: Any, status: Any = None) -> Any:
        """Wait until one element meets a condition; return its index; each has a value of its own."""
        call = "pe.wait_until_any_vector"
        look = self._look(call, ivars, cmp, values, status, vector=True)
        return self._wait_any(call, look)

    @public("pe")
    def wait_until_some(self, ivars: Any, cmp: Any, value: Any, status: Any = None) -> Any:
        """Wait until some elements meet a condition; return their indices, none where none counts."""
        call = "pe.wait_until_some"
        look = self._look(call, ivars, cmp, value, status, vector=False)
        return self._wait_some(call, look)

    @public("pe")
    def wait_until_some_vector(self, ivars: Any, cmp: Any, values: Any, status: Any = None) -> Any:
        """Wait until some elements meet a condition; return their indices; each has a value of its own."""
        call = "pe.wait_until_some_vector"
        look = self._look(call, ivars, cmp, values, status, vector=True)
        return self._wait_some(call, look)

    @public("pe")
    def test_all(self, ivars: Any, cmp: Any, value: Any, status: Any = None) -> Any:
        """Return whether all elements that count meet a condition."""
        call = "pe.test_all"
        look = self._look(call, ivars, cmp, value, status, vector=False)
        return self._test_all(call, look)

    @public("pe")
    def test_all_vector(self, ivars: Any, cmp: Any, values: Any, status: Any = None) -> Any:
        """Return whether all elements that count meet a condition, each with a value of its own."""
        call = "pe.test_all_vector"
        look = self._look(call, ivars, cmp, values, status, vector=True)
        return self._test_all(call, look)

    @public("pe")
    def test_any(self, ivars: Any, cmp: Any, value: Any, status: Any = None) -> Any:
        """Return the index of an element that meets a condition, or None."""
        call = "pe.test_any"
        look = self._look(call, ivars, cmp, value, status, vector=False)
        return self._test_any(call, look)

    @public("pe")
    def test_any_vector(self, ivars: Any, cmp: Any, values: Any, status: Any = None) -> Any:
        """Return the index of an element that meets a condition, or None, each with a value of its own."""
        call = "pe.test_any_vector"
        look = self._look(call, ivars, cmp, values, status, vector=True)
        return self._test_any(call, look)

    @public("pe")
    def test_some(self, ivars: Any, cmp: Any, value: Any, status: Any = None) -> Any:
        """Return the indices of the elements that meet a condition."""
        call = "pe.test_some"
        look = self._look(call, ivars, cmp, value, status, vector=False)
        return self._test_some(call, look)

    @public("pe")
    def test_some_vector(self, ivars: Any, cmp: Any, values: Any, status: Any = None) -> Any:
        """Return the indices of the elements that meet a condition, each with a value of its own."""
        call = "pe.test_some_vector"
        look = self._look(call, ivars, cmp, values, status, vector=True)
        return self._test_some(call, look)

    @public("pe")
    def signal_fetch(self, signal: Any) -> Any:
        """Return the signal of this PE."""
        _, elements = self._signal("pe.signal_fetch", signal)

        async def fetch() -> int:
            await self._x.ep.poll()
            return int(elements[0])

        return fetch()

    @public("pe")
    def signal_wait_until(self, signal: Any, cmp: Any, value: Any) -> Any:
        """Wait until the signal of this PE meets a condition; return the value that met it."""
        call = "pe.signal_wait_until"
        self._signal(call, signal)
        look = self._one(call, signal, cmp, value, "signal")

        async def wait() -> int:
            return int((await self._wait(call, look, look.all)).elements[0])

        return wait()


def _numbers(call: str, name: str, values: Any) -> Array:
    try:
        made = np.asarray(values).reshape(-1)
    except ValueError:
        made = None
    if made is None or made.dtype.kind not in "iubf":
        raise conduit.BadRequest(
            f"{call}: {name}={shown(values)} are no numbers; give 0 for each element that counts, and 1 for the others"
        )
    return made


def _cmp(call: str, cmp: Any) -> CMP:
    if isinstance(cmp, str):
        found = _SIGNS.get(cmp, CMP.__members__.get(cmp.upper()))
    else:
        found = CMP(cmp) if is_one_of(cmp, CMP) else None
    if found is None:
        raise conduit.BadRequest(
            f'{call}: cmp={shown(cmp)} is not known; give pe.CMP_EQ, NE, GT, LE, LT or GE, or "==", ">=" ...'
        )
    return found
