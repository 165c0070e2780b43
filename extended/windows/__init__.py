"""MPI's one-sided windows with the names of mpi4py as awaitables, on any conduit (docs/windows.md).

It is built on the public names of `extended` and `conduit` alone.

An access happens inside an epoch, which says which ranks may be reached: between two fences (all), between `Start` and
`Complete` (a group), between `Lock` and `Unlock` (one).  `epochs` keeps which one is open and refuses accesses outside.
`records` looks for accesses that conflict.  `locks` has, for each rank, the counts of those that hold its lock, and a
queue of those that wait for it.

Source: MPI: A Message-Passing Interface Standard 3.1, chapter 11; the names are those of mpi4py 4.1.
"""

from extended.windows.constants import (
    LOCK_EXCLUSIVE,
    LOCK_SHARED,
    MODE_NOCHECK,
    MODE_NOPRECEDE,
    MODE_NOPUT,
    MODE_NOSTORE,
    MODE_NOSUCCEED,
    PROC_NULL,
)
from extended.windows.errors import WindowError
from extended.windows.groups import WindowGroup
from extended.windows.making import OF_MAIN_EP as _of_main_ep
from extended.windows.operators import (
    BAND,
    BOR,
    BXOR,
    LAND,
    LOR,
    LXOR,
    MAX,
    MIN,
    NO_OP,
    PROD,
    REPLACE,
    SUM,
    AccumulateOp,
)
from extended.windows.service import attach
from extended.windows.win import Win

__all__ = [
    "BAND",
    "BOR",
    "BXOR",
    "LAND",
    "LOCK_EXCLUSIVE",
    "LOCK_SHARED",
    "LOR",
    "LXOR",
    "MAX",
    "MIN",
    "MODE_NOCHECK",
    "MODE_NOPRECEDE",
    "MODE_NOPUT",
    "MODE_NOSTORE",
    "MODE_NOSUCCEED",
    "NO_OP",
    "PROC_NULL",
    "PROD",
    "REPLACE",
    "SUM",
    "AccumulateOp",
    "Win",
    "WindowError",
    "WindowGroup",
    "attach",
]

_advised = {
    "block": "one `win.Get`, `win.Put` or `win.Accumulate` of the range",
    "begin": "begin all of them in one epoch, which waits for them once, at its end",
    "own": ("win_access", "win_forget"),
    "opened": "Call `win.Lock` once for all of the accesses, or `win.Lock_all` once and `win.Flush` where one must be "
    "complete; or move the range at once by one `win.Get`, `win.Put` or `win.Accumulate`.",
    "fewer": "draw several numbers at once (`win.Fetch_and_op` of how many), give numbers of one rank to one "
    "`win.Accumulate`, or let a tree combine what is one sum (all_reduce)",
}
"""What advice of reports calls what programs write here."""
_needs = {"Win": _of_main_ep}
"""What else to say to who looks for a name elsewhere."""
