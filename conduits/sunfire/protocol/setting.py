"""What the paths of a job have in common."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from conduit.simnet import HostModel
from conduits.sunfire.protocol.layout import Layout
from conduits.sunfire.protocol.service import Service


@attrs.frozen
class Setting:
    """What a path needs to know of the job and its options.

    Attributes:
        hosts: host of every rank.
        first: lowest rank of every host.
        layout: of areas and pairs.
        model: what copying costs.
        services: by host.
    """

    hosts: tuple[int, ...]
    first: tuple[int, ...]
    layout: Layout
    model: HostModel
    services: Mapping[int, Service]
