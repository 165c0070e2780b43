"""MPI's names, of which those that communicate are awaited: `from conduits.mpi import MPI`.

Names, arguments, defaults and results are those of mpi4py's upper-case calls.
"""

from __future__ import annotations

from typing import Any

import conduit
from conduits.mpi.awaited import c_names as _c_names
from conduits.mpi.awaited import datatypes as _datatypes
from conduits.mpi.awaited import not_here as _not_here
from conduits.mpi.awaited.buffers import BOTTOM, IN_PLACE
from conduits.mpi.awaited.comm import COMM_NULL, COMM_TYPE_SHARED, Comm
from conduits.mpi.awaited.comm import attach_buffer as Attach_buffer
from conduits.mpi.awaited.comm import detach_buffer as Detach_buffer
from conduits.mpi.awaited.datatypes import BYTE, DATATYPE_NULL, Datatype
from conduits.mpi.awaited.group import CONGRUENT, GROUP_EMPTY, GROUP_NULL, IDENT, SIMILAR, UNEQUAL, Group
from conduits.mpi.awaited.matched_message import MESSAGE_NO_PROC, MESSAGE_NULL
from conduits.mpi.awaited.matched_message import MatchedMessage as Message
from conduits.mpi.awaited.operators import (
    BAND,
    BOR,
    BXOR,
    LAND,
    LOR,
    LXOR,
    MAX,
    MAXLOC,
    MIN,
    MINLOC,
    NO_OP,
    OP_NULL,
    PROD,
    REPLACE,
    SUM,
)
from conduits.mpi.awaited.operators import (
    ReductionOp as Op,
)
from conduits.mpi.awaited.request import REQUEST_NULL, Prequest, Request
from conduits.mpi.awaited.status import UNDEFINED, Status
from conduits.mpi.engine.buffered import OVERHEAD as BSEND_OVERHEAD
from conduits.mpi.engine.transfer import ANY_SOURCE, ANY_TAG, PROC_NULL, TAG_UB
from conduits.mpi.errors import ErrorClass as _ErrorClass
from conduits.mpi.errors import MpiError as Exception
from conduits.mpi.program import alone as _alone
from conduits.mpi.program import run, run_async, run_program
from conduits.mpi.program import world as _world

Intracomm = Comm
_instead = {**_not_here.OF_MPI, **_c_names.OF_MPI}
_given = "comm", Comm
_started = "MPI.run(main, ranks={})"
_polls = "await comm.Iprobe()", "await comm.Recv(...)"
_advised = {
    "tree": "Reduce, Allreduce",
    "send": "Send a whole block at once, or begin all sends (Isend) and wait once (Waitall).",
    "exchange": "Exchange more at a time and less often, as a halo wide enough for several steps; or begin the "
    "exchange (Isend, Irecv), compute what needs none of it, and wait then (Waitall).",
}
_stands_for = "mpi4py"
globals().update(_datatypes.BY_NAME)
globals().update(_ErrorClass.__members__)


def Wtime() -> float:
    """Return this rank's time, seconds since the start of the job."""
    return conduit.current().now


def Wtick() -> float:
    """Return the resolution of `Wtime`, seconds."""
    return 1e-12 if conduit.current().simulated else 1e-9


def Get_processor_name() -> str:
    """Return a name for the running rank's host."""
    return f"host{conduit.current().host}"


def __getattr__(name: str) -> Any:
    """Return the running rank's COMM_WORLD or COMM_SELF."""
    if name == "COMM_WORLD":
        return _world()
    if name == "COMM_SELF":
        return _alone()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ANY_SOURCE", "ANY_TAG", "BAND", "BOR", "BOTTOM", "BSEND_OVERHEAD", "BXOR", "BYTE", "COMM_NULL",
    "COMM_TYPE_SHARED", "CONGRUENT", "DATATYPE_NULL", "GROUP_EMPTY", "GROUP_NULL", "IDENT", "IN_PLACE", "LAND", "LOR",
    "LXOR", "MAX", "MAXLOC", "MESSAGE_NO_PROC", "MESSAGE_NULL", "MIN", "MINLOC", "NO_OP", "OP_NULL", "PROC_NULL",
    "PROD", "REPLACE", "REQUEST_NULL", "SIMILAR", "SUM", "TAG_UB", "UNDEFINED", "UNEQUAL", "Attach_buffer", "Comm",
    "Datatype", "Detach_buffer", "Exception", "Get_processor_name", "Group", "Intracomm", "Message", "Op", "Prequest",
    "Request", "Status", "Wtick", "Wtime", "run", "run_async", "run_program",
]  # fmt: skip
