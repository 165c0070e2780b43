"""What a unit must keep, checked at every call; for who writes a network, in Python's development mode alone.

The class of each unit, and of its port, becomes one below, as that of a transport does (`conduit.simnet.checked`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import index
from typing import Any, SupportsIndex

from conduit.contract import AtomicOp, StridedSection
from conduit.errors import ConduitError
from conduit.simnet.checked import Inside
from conduit.simnet.onesided import WORD, OneSidedPort, Spans, Unit
from conduit.simnet.transport import Then


def check_unit(unit: Unit) -> None:
    """Let a unit be looked at, and what units do to the segment of its rank."""
    unit.__class__ = _checked(type(unit))
    port = unit.port
    port.__class__ = _checked_port(type(port))


@cache
def _checked(plain: Any) -> Any:
    return type(plain.__name__, (_CheckingUnit, plain), {"__module__": plain.__module__})


@cache
def _checked_port(plain: Any) -> Any:
    return type(plain.__name__, (_CheckingPort, plain), {"__slots__": (), "__module__": plain.__module__})


_OPERANDS = {AtomicOp.FETCH_ADD: 1, AtomicOp.SWAP: 1, AtomicOp.COMPARE_SWAP: 2}


class _CheckingPort(OneSidedPort):
    """A port that looks at what units do to its segment."""

    __slots__ = ()

    def land(self, spans: Spans, data: bytes, source: int) -> None:
        """Refuse what does not fit the segment."""
        nbytes = self._look_at_spans("land", spans)
        if not isinstance(data, bytes | bytearray | memoryview):
            raise self._wrong("land", f"data={data!r}; give bytes")
        if len(data) != nbytes:
            raise self._wrong("land", f"{len(data)} bytes of data for spans of {nbytes}; give as many as these have")
        self._look_at_source("land", source)
        self.ledger.touched(self.rank, "landed bytes in the segment")
        super().land(spans, data, source)

    def read(self, spans: Spans) -> bytes:
        """Refuse what is not in the segment."""
        self._look_at_spans("read", spans)
        self.ledger.touched(self.rank, "read the segment")
        return super().read(spans)

    def apply(self, op: AtomicOp, offset: int, operands: tuple[int, ...], source: int) -> int:
        """Refuse what is no operation on an integer of the segment."""
        if not isinstance(op, AtomicOp):
            raise self._wrong("apply", f"op={op!r}; give the op that `atomic` has got, an AtomicOp")
        last = self.memory.nbytes - WORD
        if not isinstance(offset, SupportsIndex) or not 0 <= index(offset) <= last or index(offset) % WORD:
            raise self._wrong(
                "apply", f"offset={offset!r}; give the offset of an integer, a multiple of 8 up to {last}"
            )
        if not isinstance(operands, tuple | list) or len(operands) != _OPERANDS[op]:
            raise self._wrong("apply", f"operands={operands!r}; {op.name} has {_OPERANDS[op]}: give those of `atomic`")
        self._look_at_source("apply", source)
        self.ledger.touched(self.rank, "changed an integer of the segment")
        return super().apply(op, offset, operands, source)

    def _look_at_spans(self, method: str, spans: Spans) -> int:
        """Return how many bytes some spans have, which are all in the segment."""
        nbytes, most = 0, self.memory.nbytes
        if isinstance(spans, StridedSection) or not isinstance(spans, list | tuple):
            raise self._wrong(
                method, f"spans={spans!r}; give pairs of offset and size, as `pieces` makes them of places"
            )
        for each in spans:
            match each:
                case (SupportsIndex() as start, SupportsIndex() as size) if (
                    0 <= index(start) <= index(start) + index(size) <= most
                ):
                    nbytes += index(size)
                case _:
                    raise self._wrong(
                        method,
                        f"spans with {each!r}; give pairs of offset and size inside the {most} bytes of port.memory",
                    )
        return nbytes

    def _look_at_source(self, method: str, source: int) -> None:
        if not isinstance(source, int) or not 0 <= source < len(self.hosts):
            raise self._wrong(method, f"source={source!r}; give the rank whose operation it is, self.port.rank")

    def _wrong(self, method: str, what: str) -> ConduitError:
        return ConduitError(f"port.{method} of rank {self.rank} got {what}")


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
        with self._in("put"):
            super().put(dest, places, data, self._free("put", free), _Once(self, "put", "done", done))  # type: ignore[safe-super]

    def get(self, dest: int, places: StridedSection, free: Then, done: Callable[[bytes], object]) -> None:
        with self._in("get"):
            super().get(dest, places, self._free("get", free), self._got(places, done))  # type: ignore[safe-super]

    def atomic(
        self, op: AtomicOp, dest: int, offset: int, operands: tuple[int, ...], free: Then, done: Callable[[int], object]
    ) -> None:
        once = _Once(self, "atomic", "done", done)
        with self._in("atomic"):
            super().atomic(op, dest, offset, operands, self._free("atomic", free), once)  # type: ignore[safe-super]

    def fence(self, dest: int, free: Then) -> None:
        with self._in("fence"):
            super().fence(dest, self._free("fence", free))  # type: ignore[safe-super]

    def quiet(self, free: Then) -> None:
        with self._in("quiet"):
            super().quiet(self._free("quiet", free))  # type: ignore[safe-super]

    def _in(self, method: str) -> Inside:
        return Inside(self.port.ledger, self.port.rank, f"{type(self).__name__}.{method}")

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
