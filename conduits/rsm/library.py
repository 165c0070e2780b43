"""Where a process begins with RSM: controllers and the topology.

    rsm = Rsm(provider, directory)
    topology = rsm.get_topology()
    controller = rsm.get_controller(topology.controllers[0].name)
    export side:  create, publish, (transfers), unpublish, destroy
    import side:  connect, (map), transfers, (unmap), disconnect
    rsm.release_controller(controller); rsm.free_topology(topology)

Time.  A call is made in an event, or a task's step, at which the caller's CPU is free (`cpu.free` not
after `kernel.now`), and takes its time of that CPU: when a plain call returns to Python, `cpu.free` is when
it returns to its caller in the simulation.  Calls that end with the hardware (put, get, order, close,
signal post and wait) take a function `then` that is called in an event with that time, and `cpu.free` is
set to it; the CPU is taken until then.

What is wrong with a call is raised at the call, as `RsmError`; what the hardware reports later is handed to `then`.

Source: the RSMAPI papers, Table I and Figures 2 to 5; times are the provider's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from conduit.sim import Store
from conduits.rsm.directory import SegmentDirectory
from conduits.rsm.errors import (
    BadAlignment,
    BadController,
    BadLength,
    BadNode,
    BadTopology,
    ControllerNotPresent,
    PermDenied,
    SegmentInUse,
    SegmentNotPublished,
)
from conduits.rsm.export import ExportSegment
from conduits.rsm.imports import ImportSegment
from conduits.rsm.provider import Attributes, Permission, RsmCall, RsmProvider


@attrs.define(eq=False)
class RsmTopology:
    """What an interconnect joins.

    Attributes:
        host: where the caller runs.
        hosts: all hosts.
        controllers: those of the caller's host; the first uses all of the hardware.
    """

    host: int
    hosts: Sequence[int]
    controllers: Sequence[Attributes]


class Rsm:
    """The API for one process.

    Args:
        provider: the network.
        directory: what has been published; the same for all processes of the cluster.
    """

    def __init__(self, provider: RsmProvider, directory: SegmentDirectory) -> None:
        self.provider = provider
        self.directory = directory
        self._topologies: set[RsmTopology] = set()
        self._scopes: dict[tuple[str, int], dict[ImportSegment, None]] = {}

    def get_topology(self) -> RsmTopology:
        """Return hosts and controllers (rsm_get_interconnect_topology)."""
        self.charge(RsmCall.GET_TOPOLOGY)
        made = RsmTopology(self.provider.host, tuple(self.provider.hosts()), tuple(self.provider.controllers()))
        self._topologies.add(made)
        return made

    def free_topology(self, topology: RsmTopology) -> None:
        """Give a topology back (rsm_free_interconnect_topology).

        Raises:
            BadTopology: it was given back before.
        """
        if topology not in self._topologies:
            raise BadTopology("free_topology: this topology was freed already, or another process has asked for it")
        self._topologies.remove(topology)
        self.charge(RsmCall.FREE_TOPOLOGY)

    def get_controller(self, name: str) -> Controller:
        """Return a controller by name (rsm_get_controller).

        Raises:
            ControllerNotPresent: this host has none of that name.
        """
        for attributes in self.provider.controllers():
            if attributes.name == name:
                self.charge(RsmCall.GET_CONTROLLER)
                return Controller(self, attributes)
        names = ", ".join(attributes.name for attributes in self.provider.controllers())
        raise ControllerNotPresent(f"host {self.provider.host} has no controller {name!r}; it has {names}")

    def release_controller(self, controller: Controller) -> None:
        """Give a controller back (rsm_release_controller).

        Raises:
            BadController: it was given back before.
            SegmentInUse: segments were made or imported with it and still exist.
        """
        controller.check("release_controller")
        if controller.segments:
            raise SegmentInUse(
                f"controller {controller.attributes.name} of host {self.provider.host} has {len(controller.segments)} "
                "segments; destroy exports and disconnect imports first"
            )
        controller.alive = False
        self.charge(RsmCall.RELEASE_CONTROLLER)

    def scopes(self, controller: str, host: int) -> dict[ImportSegment, None]:
        """Return the imports of a host, over a controller, that have a barrier open."""
        return self._scopes.setdefault((controller, host), {})

    def charge(self, call: RsmCall, nbytes: int = 0) -> None:
        """Take the caller's CPU for what a call costs."""
        self.provider.cpu.charge(self.provider.cost(call, nbytes))


class Controller:
    """A way to the interconnect: all adapters of the host, or one of them.

    Attributes:
        attributes: what it can do.
        segments: exports and imports that were made with it and exist.
        alive: whether it has not been released.
    """

    def __init__(self, rsm: Rsm, attributes: Attributes) -> None:
        self._rsm = rsm
        self.provider = rsm.provider
        self.directory = rsm.directory
        self.attributes = attributes
        self.segments: dict[Any, None] = {}
        self.alive = True

    def export_create(self, nbytes: int, memory: Store | None = None) -> ExportSegment:
        """Make local memory exportable (rsm_memseg_export_create).

        Args:
            nbytes: a multiple of the page, at least the smallest segment.
            memory: what it is made of; None: new memory of zeros.

        Raises:
            BadLength: too small or too large.
            BadAlignment: no multiple of the page.
            ResourceError: the host cannot give so much.
        """
        self.check("export_create")
        limits = self.attributes
        if not limits.min_segment <= nbytes <= limits.max_segment:
            raise BadLength(f"a segment of {nbytes} bytes; it may have {limits.min_segment} to {limits.max_segment}")
        if nbytes % limits.page:
            raise BadAlignment(f"a segment of {nbytes} bytes; it must be a multiple of the page, {limits.page}")
        made = ExportSegment(self, self.provider.create(limits.name, nbytes, memory))
        self.segments[made] = None
        self.charge(RsmCall.EXPORT_CREATE, nbytes)
        return made

    def import_connect(self, host: int, number: int, permission: Permission = Permission.READ_WRITE) -> ImportSegment:
        """Import a segment that another host has published (rsm_memseg_import_connect).

        Args:
            host: where it is.
            number: its id there.
            permission: what the import is wanted for.

        Raises:
            BadNode: there is no such host.
            SegmentNotPublished: the host has published nothing under that id yet.
            PermDenied: the exporter does not grant it.
            RemoteUnreachable: no path leads there.
        """
        self.check("import_connect")
        if host not in self.provider.hosts():
            raise BadNode(f"import_connect to host {host}; the interconnect joins {list(self.provider.hosts())}")
        found = self.directory.find(host, number)
        if found is None or not found.published:
            raise SegmentNotPublished(f"host {host} has published no segment {number}")
        granted = found.permission(self.provider.host)
        if permission & ~granted or not permission:
            raise PermDenied(
                f"host {self.provider.host} asks for {permission.name} of segment {number} of host {host}, "
                f"which grants it {granted.name}"
            )
        window = self.provider.connect(self.attributes.name, host, found.backing)
        made = ImportSegment(self, found, window, permission)
        self.segments[made] = None
        self.charge(RsmCall.IMPORT_CONNECT)
        return made

    def scopes(self, host: int) -> dict[ImportSegment, None]:
        """Return the imports of a host, over this way, that have a barrier open."""
        return self._rsm.scopes(self.attributes.name, host)

    def charge(self, call: RsmCall, nbytes: int = 0) -> None:
        """Take the caller's CPU for what a call costs."""
        self._rsm.charge(call, nbytes)

    def check(self, call: str) -> None:
        """Refuse a call on a controller that was released."""
        if not self.alive:
            raise BadController(f"{call}: controller {self.attributes.name} was released")

    def dropped(self, segment: object) -> None:
        """Forget a segment that was destroyed or disconnected."""
        del self.segments[segment]
