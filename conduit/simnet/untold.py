"""What a network has not told a rank that polls, though the rank can do no more: a mistake of who has written it.

It is asked where nothing can happen any more.  A rank that polls takes what has come as soon as its port is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from conduit.simnet.asked import asked
from conduit.simnet.transport import Transport
from conduit.simnet.waiting import ForSlot

NOTHING = "", ""


class Network(Protocol):
    """What is seen here of a job's network.

    Attributes:
        under_way: how many messages have been sent and not handled.
    """

    under_way: int

    @property
    def ports(self) -> Sequence[UntoldPort]:
        """The ports of all ranks."""


class UntoldPort(Protocol):
    """What is seen here of a port, which is a `conduit.simnet.SimulatedPort`."""

    blocked: Any
    cpu: Any
    host: int
    transports: list[Transport]
    _attention: bool

    @property
    def conduit(self) -> Any:
        """The job's network, a `Network`."""

    def transport_to(self, dest: int) -> Transport:
        """Return the transport that messages to `dest` take."""


def untold(port: UntoldPort) -> tuple[str, str]:
    """Return which transport of a port has not told it what, ("", "") where that is not certain."""
    if not _polls(port) or port._attention:
        return NOTHING
    network: Network = port.conduit
    # Who shares a host may have to make room for what has come: so it is certain where all of them poll.
    if all(_polls(each) for each in network.ports if each.host == port.host):
        for transport in port.transports:
            if asked(transport, "undelivered"):
                return type(transport).__name__, (
                    "has messages and called neither port.arrived() nor port.notify() after they had come"
                )
    return _of_slots(port, network)


def _of_slots(port: UntoldPort, network: Network) -> tuple[str, str]:
    """Return the same of request slots: each has been looked at once more, so a free one has been taken."""
    for waiting in port.blocked.heads.values():
        assert isinstance(waiting, ForSlot)
        name = type(waiting.transport).__name__
        if waiting.slot is not None:
            return name, "has freed a request slot outside of a pass and not called port.notify() then"
        if not network.under_way and all(map(_polls, network.ports)):
            return name, (
                "has no request slot to give, although all messages of the job have been handled: acquire() returned "
                "None"
            )
    return NOTHING


def lost(network: Network) -> int:
    """Return how many messages were sent, were not handled, and are nowhere: 0 where that is not certain.

    Less than 0: so many more have been handled than sent.

    A message may wait in the hardware or with its sender, for a rank that does not poll or on purpose.
    """
    transports = [transport for port in network.ports for transport in port.transports]
    told = any(asked(each, name) for each in transports for name in ("undelivered", "waits_for"))
    return 0 if told or not all(map(_polls, network.ports)) else network.under_way


def _polls(port: UntoldPort) -> bool:
    return bool(port.blocked) and not port.cpu.busy
