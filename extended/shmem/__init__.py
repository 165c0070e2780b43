"""OpenSHMEM 1.5 with the names of shmem4py as awaitables, on any conduit (docs/shmem.md).

The symmetric heap is the extended layer's (`heap`).  An array is symmetric where it lies in a block of that heap, so
that it has the same offset on every PE, and a transfer needs the offset alone.  A context is a list of operations.  A
fence or quiet waits for these (`contexts`).

It is built on the public names of `extended` and `conduit` alone.

Source: OpenSHMEM Application Programming Interface 1.5 (2020); the names are those of shmem4py 1.0.
"""

from extended.shmem.constants import (
    AMO,
    AMO_ADD,
    AMO_AND,
    AMO_INC,
    AMO_OR,
    AMO_SET,
    AMO_XOR,
    CMP,
    CMP_EQ,
    CMP_GE,
    CMP_GT,
    CMP_LE,
    CMP_LT,
    CMP_NE,
    CTX,
    CTX_NOSTORE,
    CTX_PRIVATE,
    CTX_SERIALIZED,
    MAJOR_VERSION,
    MALLOC,
    MALLOC_ATOMICS_REMOTE,
    MALLOC_SIGNAL_REMOTE,
    MINOR_VERSION,
    OP,
    OP_AND,
    OP_MAX,
    OP_MIN,
    OP_OR,
    OP_PROD,
    OP_SUM,
    OP_XOR,
    SIGNAL,
    SIGNAL_ADD,
    SIGNAL_SET,
    THREAD,
    THREAD_FUNNELED,
    THREAD_MULTIPLE,
    THREAD_SERIALIZED,
    THREAD_SINGLE,
    VENDOR_STRING,
)
from extended.shmem.contexts import Ctx
from extended.shmem.filtering import filtered_mean
from extended.shmem.locks import ShmemLock
from extended.shmem.pe import PE, attach
from extended.shmem.run import run, run_async
from extended.shmem.teams import ShmemTeam

_given = "pe", PE
_started = "shmem.run(main, pes={})"
_polls = "await pe.test(ivar, cmp, value)", "await pe.wait_until(ivar, cmp, value)"
_advised = {
    "block": "one `pe.get` or `pe.put` of the range",
    "begin": "begin all of them (`pe.get_nbi`, `pe.put_nbi`) and wait once (`pe.quiet`)",
    "tree": "pe.sum_reduce",
    "fewer": "draw several numbers at once (`pe.atomic_fetch_add` of how many), or let a tree combine what is one sum "
    "(pe.sum_reduce)",
    "from_one": "If all of them get the same, `await pe.broadcast(...)` lets PEs pass it on; what comes from all goes "
    "by `pe.fcollect` or `pe.sum_reduce`.",
}
"""What advice of reports calls what programs write here."""
_instead = dict.fromkeys(
    ("init", "init_thread", "finalize"),
    "leave it out: `shmem.run(main)` begins SHMEM before it calls main, and ends it after",
)
_stands_for = "shmem4py"

__all__ = [
    "AMO",
    "AMO_ADD",
    "AMO_AND",
    "AMO_INC",
    "AMO_OR",
    "AMO_SET",
    "AMO_XOR",
    "CMP",
    "CMP_EQ",
    "CMP_GE",
    "CMP_GT",
    "CMP_LE",
    "CMP_LT",
    "CMP_NE",
    "CTX",
    "CTX_NOSTORE",
    "CTX_PRIVATE",
    "CTX_SERIALIZED",
    "MAJOR_VERSION",
    "MALLOC",
    "MALLOC_ATOMICS_REMOTE",
    "MALLOC_SIGNAL_REMOTE",
    "MINOR_VERSION",
    "OP",
    "OP_AND",
    "OP_MAX",
    "OP_MIN",
    "OP_OR",
    "OP_PROD",
    "OP_SUM",
    "OP_XOR",
    "PE",
    "SIGNAL",
    "SIGNAL_ADD",
    "SIGNAL_SET",
    "THREAD",
    "THREAD_FUNNELED",
    "THREAD_MULTIPLE",
    "THREAD_SERIALIZED",
    "THREAD_SINGLE",
    "VENDOR_STRING",
    "Ctx",
    "ShmemLock",
    "ShmemTeam",
    "attach",
    "filtered_mean",
    "run",
    "run_async",
]
