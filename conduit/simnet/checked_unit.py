"""What a unit must keep, checked at every call; for who writes a network, in Python's development mode alone.

The class of each unit becomes one below, as that of a transport does (`conduit.simnet.checked`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from conduit.contract import AtomicOp, StridedSection
from conduit.errors import ConduitError
from conduit.simnet.onesided import Unit
from conduit.simnet.transport import Then


def check_unit(unit: Unit) -> None:
    """Let a unit be looked at."""
    unit.__class__ = _checked(type(unit))


@cache
def _checked(plain: Any) -> Any:
    return type(plain.__name__, (_CheckingUnit, plain), {"__module__": plain.__module__})


class _Once:
    """A call that a unit makes once for each operation."""

    def __init__(self, unit: Unit, method: str, name: str, call: Callable[..., object]) -> None:
        self.rank = unit.port.rank
        self._who = f"rank {self.rank}, {type(unit).__name__}.{method}"
        self._name = name
        self._call: Callable[..., object] | None = call

    def __call__(self, *args: object) -> None:
        call, self._call = self._call, None
        if call is None:
            raise ConduitError(f"{self._who} called {self._name}() a second time; an operation calls it once")
        call(*args)


class _CheckingUnit(Unit):
    """A unit of which every call is looked at."""

    def put(self, dest: int, places: StridedSection, data: bytes, free: Then, done: Then) -> None:
        super().put(dest, places, data, self._free("put", free), _Once(self, "put", "done", done))  # type: ignore[safe-super]

    def get(self, dest: int, places: StridedSection, free: Then, done: Callable[[bytes], object]) -> None:
        super().get(dest, places, self._free("get", free), self._got(places, done))  # type: ignore[safe-super]

    def atomic(
        self, op: AtomicOp, dest: int, offset: int, operands: tuple[int, ...], free: Then, done: Callable[[int], object]
    ) -> None:
        once = _Once(self, "atomic", "done", done)
        super().atomic(op, dest, offset, operands, self._free("atomic", free), once)  # type: ignore[safe-super]

    def fence(self, dest: int, free: Then) -> None:
        super().fence(dest, self._free("fence", free))  # type: ignore[safe-super]

    def quiet(self, free: Then) -> None:
        super().quiet(self._free("quiet", free))  # type: ignore[safe-super]

    def _free(self, method: str, free: Then) -> Then:
        return _Once(self, method, "free", free)

    def _got(self, places: StridedSection, done: Callable[[bytes], object]) -> Callable[[bytes], object]:
        """Return `done` of a get, which refuses what is not the bytes that were asked for."""
        once = _Once(self, "get", "done", done)

        def got(data: bytes) -> None:
            if not isinstance(data, bytes | bytearray | memoryview) or len(data) != places.nbytes:
                said = f"{len(data)} bytes" if isinstance(data, bytes | bytearray | memoryview) else repr(data)
                raise ConduitError(
                    f"rank {self.port.rank}, {type(self).__name__}.get called done({said}); give the {places.nbytes} "
                    "bytes that it is to read"
                )
            once(data)

        return got
