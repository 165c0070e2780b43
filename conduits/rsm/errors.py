"""RSM's kinds of error, each with the name that the API gives it.

`RsmError` is a `NetworkError`.  Below it, by who can do something about it: `UsageError` (the calls came
in the wrong order, or for something that is gone), `ArgumentError` (an offset, a length, an alignment, an
id), `PermDenied` (the exporter gave no such right), `ResourceError` (there is no more), `TransportError`
(the hardware failed; what was stored since the last good barrier may be lost).

Source: the calls are those of the RSMAPI papers' Table I; the names of errors those of Solaris' RSMAPI.
"""

from __future__ import annotations

from typing import ClassVar

from conduit.errors import NetworkError


class RsmError(NetworkError):
    """A call of RSMAPI failed.

    Attributes:
        code: the API's name of the error.
    """

    code: ClassVar[str] = "RSMERR"

    def __init__(self, text: str) -> None:
        super().__init__(f"{self.code}: {text}")


class UsageError(RsmError):
    """A call at the wrong time, or on what is not there any more."""


class BadController(UsageError):
    """The controller was released, or there is none of that name."""

    code = "RSMERR_BAD_CTLR_HNDL"


class ControllerNotPresent(UsageError):
    """No interconnect has that name."""

    code = "RSMERR_CTLR_NOT_PRESENT"


class BadTopology(UsageError):
    """The topology was freed."""

    code = "RSMERR_BAD_TOPOLOGY_PTR"


class BadSegment(UsageError):
    """The segment was destroyed, or the import disconnected."""

    code = "RSMERR_BAD_SEG_HNDL"


class SegmentAlreadyPublished(UsageError):
    """Published twice."""

    code = "RSMERR_SEG_ALREADY_PUBLISHED"


class SegmentNotPublished(UsageError):
    """Not published, or not any more."""

    code = "RSMERR_SEG_NOT_PUBLISHED"


class SegmentInUse(UsageError):
    """Destroyed while published, disconnected while mapped, or a controller released with segments on it."""

    code = "RSMERR_SEG_IN_USE"


class SegmentAlreadyMapped(UsageError):
    """Mapped twice."""

    code = "RSMERR_SEG_ALREADY_MAPPED"


class SegmentNotMapped(UsageError):
    """Unmapped, or used by stores, without having been mapped."""

    code = "RSMERR_SEG_NOT_MAPPED"


class BarrierUninitialized(UsageError):
    """A barrier that was destroyed, or whose import is disconnected."""

    code = "RSMERR_BARRIER_UNINITIALIZED"


class BarrierOpenFailed(UsageError):
    """Opened twice, or in implicit mode."""

    code = "RSMERR_BARRIER_OPEN_FAILED"


class BarrierNotOpened(UsageError):
    """Ordered or closed without having been opened."""

    code = "RSMERR_BARRIER_NOT_OPENED"


class ArgumentError(RsmError):
    """An argument that is wrong at any time."""


class BadLength(ArgumentError):
    """No bytes, or more than there are."""

    code = "RSMERR_BAD_LENGTH"


class BadOffset(ArgumentError):
    """Outside the segment."""

    code = "RSMERR_BAD_OFFSET"


class BadAlignment(ArgumentError):
    """An offset or a size that the hardware cannot take."""

    code = "RSMERR_BAD_MEM_ALIGNMENT"


class SegmentIdInUse(ArgumentError):
    """Another segment of this host has the id."""

    code = "RSMERR_SEGID_IN_USE"


class BadNode(ArgumentError):
    """There is no such host."""

    code = "RSMERR_BAD_NODEID"


class BadMode(ArgumentError):
    """A call that the mode of barriers does not allow."""

    code = "RSMERR_BAD_MODE"


class PermDenied(RsmError):
    """The exporter has not given this host the right."""

    code = "RSMERR_PERM_DENIED"


class ResourceError(RsmError):
    """The host cannot give that much memory or that many segments."""

    code = "RSMERR_INSUFFICIENT_RESOURCES"


class TransportError(RsmError):
    """The hardware failed."""


class BarrierFailure(TransportError):
    """Stores since the last good barrier did not all arrive."""

    code = "RSMERR_BARRIER_FAILURE"


class ConnectionAborted(TransportError):
    """The exporter has unpublished the segment."""

    code = "RSMERR_CONN_ABORTED"


class RemoteUnreachable(TransportError):
    """No path to the host is left."""

    code = "RSMERR_REMOTE_NODE_UNREACHABLE"
