"""What networks in real time have in common for one job."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from conduit.contract import Conduit, Core, JobSetup, World
from conduit.errors import ConduitError
from conduit.wall.clock import WallClock
from conduit.wall.observed import observe
from conduit.wall.port import WallPort


class WallConduit(Conduit):
    """A network in real time; give it a name, options, limits and a port.

    Attributes:
        clock: the job's time.
        ports: those of this process, in the order in which they were made.
        returned: ranks of this process that have returned from main.
    """

    simulated: ClassVar[bool] = False

    def __init__(self, options: Any, setup: JobSetup, world: World) -> None:
        super().__init__(options, setup, world)
        assert isinstance(world, WallClock)
        self.clock = world
        self.ports: list[WallPort] = []
        self.returned = 0

    @abstractmethod
    def make_port(self, rank: int, core: Core) -> WallPort:
        """Return the port of a rank of this process."""

    def port(self, rank: int, core: Core) -> WallPort:
        """Make the port of `rank`."""
        if not hasattr(self, "clock"):
            raise ConduitError(f"{type(self).__name__}.__init__ has not called super().__init__(options, setup, world)")
        port = self.make_port(rank, core)
        if core.hooks is not None:
            observe(port, core.hooks)
        self.ports.append(port)
        return port

    def quiet(self) -> bool:
        """Return whether, as far as the ranks of this process go, no layer is about to send and all is handled."""
        return not any(port.core.local or port.core.progress_due or port.core.progressing for port in self.ports)

    def over(self) -> bool:
        """Return whether all ranks, all of them tasks of this process, have returned and all messages were handled."""
        return (
            self.returned == self.setup.ranks
            and sum(port.sent for port in self.ports) == sum(port.handled for port in self.ports)
            and self.quiet()
        )
