"""Memory that others can reach, and what they hold of it: segments, connections, mappings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from conduit.errors import NetworkError
from conduit.sim.actions import nothing
from conduit.sim.memory import Buffer, Store
from conduits.sci.hardware import Adapter

Then: TypeAlias = Callable[[int], object]


class SciError(NetworkError):
    """The card or its driver refuses a call; the text says why."""


class Importer(Protocol):
    """What connections see of the process that has made them, which is a `Sisci`.

    Attributes:
        adapter: the card of its host.
        rank: its number in the job.
    """

    adapter: Adapter
    rank: int

    def landed(self, response: int, arrival: int) -> None:
        """A store lands at `arrival`; its response is back `response` picoseconds later."""


class Watcher(Protocol):
    """What depends on an import: a `RemoteSlot`, or what several share."""

    def lost(self) -> None:
        """The import has been given up."""


class Segment:
    """Contiguous memory of one process that others can reach once it is exported.

    Attributes:
        host: where it is.
        number: its id on that host.
        nbytes: its size.
        memory: its bytes, for the owner.
        on_landing: called in the event in which bytes of another host have landed; stands for the
            owner's next look at its memory.  Does nothing until its owner has set it.
    """

    __slots__ = ("exported", "host", "memory", "nbytes", "number", "on_landing")

    def __init__(self, host: int, number: int, nbytes: int, memory: Store) -> None:
        self.host = host
        self.number = number
        self.nbytes = nbytes
        self.memory = memory
        self.exported = False
        self.on_landing: Callable[[], object] = nothing

    def export(self) -> None:
        """Let others connect to it."""
        self.exported = True

    def land(self, offset: int, data: Buffer) -> None:
        """Take bytes that arrive, in the event of their arrival."""
        self.memory.write(offset, data)
        self.on_landing()


class RemoteSegment:
    """A connection to another process's segment: enough for DMA, not for stores."""

    __slots__ = ("nbytes", "segment", "way")

    def __init__(self, segment: Segment, driver: Importer) -> None:
        self.segment = segment
        self.nbytes = segment.nbytes
        self.way = driver.adapter.way(segment.host)


class SegmentMapping:
    """An imported segment: its bytes can be stored to and read.

    Attributes:
        watchers: are told when it is given up, so that they need not ask at each store.
    """

    __slots__ = ("alive", "driver", "nbytes", "segment", "watchers", "way")

    def __init__(self, remote: RemoteSegment, driver: Importer) -> None:
        self.segment = remote.segment
        self.nbytes = remote.nbytes
        self.way = remote.way
        self.alive = True
        self.driver = driver
        self.watchers: tuple[Watcher, ...] = ()

    def give_up(self) -> None:
        """Refuse what is stored to it from now on."""
        self.alive = False
        for each in self.watchers:
            each.lost()

    def placed(self, arrival: int) -> None:
        """A store lands at `arrival`."""
        self.driver.landed(self.way.response, arrival)
