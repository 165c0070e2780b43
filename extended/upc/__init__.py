"""Shared arrays as in UPC: arrays over the memory of all threads, on any conduit (docs/upc.md).

Blocks of an array go to the threads in turn (`layout`), so that an index says which thread has affinity to an element,
and where it lies there.  Reads are awaited (`reads`).  Relaxed writes are kept in the thread's write buffer (`buffer`)
and go out, packed by owner, at the next fence (`writes`).  Python cannot await an assignment: this is why a write is
buffered and a read is not.

It is built on the public names of `extended` and `conduit` alone.

Source: UPC Language Specifications 1.3 (2013), with its required and optional libraries.
"""

from extended.upc.array import SharedArray
from extended.upc.errors import NotAwaited, WrongIndex
from extended.upc.locks import SharedLock
from extended.upc.run import run, run_async
from extended.upc.thread import Thread, attach

_given = "t", Thread
_started = "upc.run(main, threads={})"
_stands_for = "upcxx"
_polls = "await t.ep.poll()", "await t.ep.block_until(predicate)"
_advised = {
    "block": "a slice `a[i:j]`, `t.memget` or `t.memput`",
    "begin": "access all of them together: read by `await a[indices]`, write by `a[indices] = values` and one fence",
    "begun": False,
    "together": "give all indices and numbers to one call, `await a.add_at(indices, values)`",
    "tree": "t.all_reduce",
    "fewer": "draw several numbers at once (`a.fetch_add` of how many), give all indices and numbers to one "
    "`a.add_at`, or let a tree combine what is one sum (t.all_reduce)",
    "from_one": "If all of them get the same, `await t.all_broadcast(...)` lets threads pass it on; the parts of one "
    "array go by `t.all_scatter`, and what comes from all by `t.all_gather` or `t.all_reduce`.",
}
"""What advice of reports calls what programs write here."""

__all__ = ["NotAwaited", "SharedArray", "SharedLock", "Thread", "WrongIndex", "attach", "run", "run_async"]
