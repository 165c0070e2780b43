"""Which part of a network keeps a rank's CPU and has never said that it is done: a mistake of who has written it.

Or it waits on purpose, and says what for.  It is asked where nothing can happen any more: so what has not ended never
will.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from conduit.frames import awaited_frames
from conduit.simnet.asked import asked
from conduit.simnet.tending import TransportWithWork
from conduit.simnet.transport import Transport

_SENDS = ("request", "_send_later")
"""The coroutines of a port that give requests to transports."""


class UnendedPort(Protocol):
    """What is seen here of a port, which is a `conduit.simnet.SimulatedPort`."""

    transports: list[Transport]
    _sending: Any
    _sent: Any
    _order: list[tuple[Any, Any]]

    def transport_to(self, dest: int) -> Transport:
        """Return the transport that messages to `dest` take."""


def unended(port: UnendedPort) -> tuple[str, str]:
    """Return the method of a transport that has not ended, and what it has not done; the rank's CPU is taken.

    Where a transport waits on purpose return "" and what for.
    """
    for each in port.transports:
        if purpose := asked(each, "waits_for"):
            return "", purpose
    sending = port._sending
    if sending.task is not None:
        for frame in _frames(sending.task):
            begun = sending.sent or frame.f_locals.get("slot") is not None
            if frame.f_code.co_name in _SENDS and begun:
                transport = port.transport_to(frame.f_locals["dest"])
                return f"{type(transport).__name__}.send_request", "has taken a request and never called then()"
    order = port._order  # the methods `take` of several transports; last the one that has given the last message
    return _of_pass(order[-1][1].__self__ if order else port.transports[0])


def _of_pass(transport: Transport) -> tuple[str, str]:
    """Return the same for a poll pass: a reply has not been sent, or taking has not gone on."""
    name = type(transport).__name__
    stopped = getattr(transport, "stopped", None)  # it is checked: then that is known
    later = "has returned LATER and never called port.resume_pass()"
    if stopped:
        return f"{name}.take", later
    reply = "has taken a reply and never called then()"
    if stopped is None and _may_stop(transport):
        return f"{name}.send_reply", f"{reply}, or {name}.take {later}"
    return f"{name}.send_reply", reply


def _may_stop(transport: Transport) -> bool:
    """Say whether a transport may have stopped a pass: it has work of its own, or a method `take` that is not ours."""
    own = __name__.rpartition(".")[0].partition(".")[0]
    taking = next(each for each in type(transport).__mro__ if "take" in vars(each))
    return taking.__module__.partition(".")[0] not in (own, "conduits") or isinstance(transport, TransportWithWork)


def _frames(task: Any) -> Iterator[Any]:
    for frame, _ in awaited_frames(task):
        yield frame
