"""Native one-sided operations by moves: what a call of the library costs, then the machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate

import attrs

from conduit.contract import AtomicOp, StridedSection
from conduit.simnet import OneSidedPort, Unit
from conduit.simnet.onesided import Spans, pieces
from conduits.globalmem.mover import Mover, Then


@attrs.frozen
class Calls:
    """What the library's calls cost the processor before the machine does anything, picoseconds.

    Attributes:
        get: of a get.
        put: of a put.
        atomic: of an atomic operation.
        fence: of a fence or a quiet.
    """

    get: int
    put: int
    atomic: int
    fence: int


class MovingUnit(Unit):
    """Does the operations of one rank.  Gets and atomics have the CPU until they are complete; puts are posted.

    Args:
        port: the rank's.
        mover: its processor's way to all memories.
        calls: what calls cost.
        piece: bytes after which a move lets others onto memories and links.
        ports: gives the port of a rank.
        nodes: the node of each host.
    """

    def __init__(
        self,
        port: OneSidedPort,
        mover: Mover,
        calls: Calls,
        piece: int,
        ports: Callable[[int], OneSidedPort],
        nodes: Callable[[int], int],
    ) -> None:
        super().__init__(port)
        self._mover = mover
        self._calls = calls
        self._piece = piece
        self._ports = ports
        self._nodes = nodes

    def _after(self, ticks: int, act: Callable[..., object], *args: object) -> None:
        """Spend time on a call, then act."""
        port = self.port
        port.cpu.charge(ticks)
        port.kernel.at(port.cpu.free, act, *args)

    def get(self, dest: int, places: StridedSection, free: Then, done: Callable[[bytes], object]) -> None:
        """Pull the bytes; the CPU waits for them."""
        there, parts = self._ports(dest), pieces(places, self._piece)
        found: list[bytes] = []

        def complete() -> None:
            done(b"".join(found))
            free()

        sizes = list(map(_sizes, parts))
        read = lambda index: found.append(there.read(parts[index]))  # noqa: E731
        self._after(self._calls.get, self._mover.pull, self._nodes(dest), sizes, read, complete)

    def put(self, dest: int, places: StridedSection, data: bytes, free: Then, done: Then) -> None:
        """Push the bytes; the CPU goes on when it has fed them."""
        there, parts = self._ports(dest), pieces(places, self._piece)
        node, cost = self._nodes(dest), self._calls.put
        if len(parts) == 1:
            (spans,) = parts
            land_all = partial(there.land, spans, data, self.port.rank)
            self._after(cost, self._mover.push_piece, node, _sizes(spans), land_all, free, done)
            return
        sizes = list(map(_sizes, parts))
        begins = [0, *accumulate(map(sum, sizes))]

        def land(index: int) -> None:
            there.land(parts[index], data[begins[index] : begins[index + 1]], self.port.rank)

        self._after(cost, self._mover.push, node, sizes, land, free, done)

    def atomic(
        self,
        op: AtomicOp,
        dest: int,
        offset: int,
        operands: tuple[int, ...],
        free: Then,
        done: Callable[[int], object],
    ) -> None:
        """Change the word in its memory; the CPU waits for what was there."""

        def complete(old: int) -> None:
            done(old)
            free()

        apply = partial(self._ports(dest).apply, op, offset, operands, self.port.rank)
        self._after(self._calls.atomic, self._mover.change, self._nodes(dest), apply, complete)

    def fence(self, dest: int, free: Then) -> None:
        """Wait until all that was put has landed: no machine here tells targets apart."""
        self._after(self._calls.fence, self._mover.settle, free)

    def quiet(self, free: Then) -> None:
        """Wait until all that was put has landed; nothing else can be under way."""
        self._after(self._calls.fence, self._mover.settle, free)


def _sizes(spans: Spans) -> list[int]:
    """Return the sizes of runs."""
    return [size for _, size in spans]
