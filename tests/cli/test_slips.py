"""What `conduit run` says of the slips of those who come from GASNet, MPI, SHMEM, UPC or asyncio: the exact words."""

import asyncio
import gc
import linecache
import re
import sys
import textwrap
import types
import warnings
from pathlib import Path

import pytest
import trio

import conduit
from conduit.launch.hints.of_errors import hint
from conduit.words import ANOTHER_RUN
from extended import Extended, shmem, upc

UPC = "api = 'upc'\nasync def main(t):\n    a = await t.all_alloc(12, dtype='i8', block=3)\n    "
SHMEM = "api = 'shmem'\nasync def main(pe):\n    a = await pe.zeros(4, 'i8')\n    "
MPI = "import numpy as np\nfrom conduits.mpi import MPI\napi = 'mpi'\nasync def main(comm):\n    b = np.zeros(4)\n    "
EXTENDED = "from extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n    "
WINDOW = EXTENDED + "from extended.windows import Win\n    win = await Win.Allocate(8, comm=x)\n    "
OF_MAIN_EP = (
    'windows are for programs of `async def main(ep)`, without `api = "mpi"`: write `from extended import Extended`, '
    "then `x = await Extended.attach(ep)` and comm=x"
)
MPI4PY = "class Op: __module__ = 'mpi4py.MPI'\n    "  # to import the real one begins MPI
CORE = "import asyncio\nasync def main(ep):\n    def h(token, n): pass\n    await ep.attach(h)\n    "


BY_ITSELF = (
    '`conduit run` calls main by itself: take line {} away, or for a script put `if __name__ == "__main__":` before '
    "it, and `conduit.run(main)` there"
)
ITS_OWN = "a variable that is assigned in a function is its own: write `{} got` in h"
OF_BEGINNERS = [
    ("import asyncio\nasync def main(ep): pass\nasyncio.run(main())", BY_ITSELF.format(3)),
    ("import asyncio\nasync def main(ep): pass\nasyncio.run(main)", BY_ITSELF.format(3)),
    ("async def main(ep): pass\nmain()", BY_ITSELF.format(2)),
    ("import trio\nasync def main(ep): pass\ntrio.run(main)", BY_ITSELF.format(3)),
    (
        "async def main(ep):\n    def h(token, text): text.decode()\n    await ep.attach(h)\n    "
        "await ep.request_medium(1 - ep.rank, h, b'a')\n    await ep.block_until(lambda: False)",
        "text is memory: write `bytes(text).decode`",
    ),
    ("async def main(ep, n): n + 2", "n is a str, as all words of the command line are: write `int(n)`"),
    ("async def main(ep, n): range(n)", "n is a str, as all words of the command line are: write `int(n)`"),
    (
        "async def main(ep):\n    got = 0\n    def h(token, n): got += n\n    await ep.attach(h)\n    "
        "await ep.request_short(1 - ep.rank, h, 1)\n    await ep.block_until(lambda: got)",
        ITS_OWN.format("nonlocal"),
    ),
    (
        "got = 0\nasync def main(ep):\n    def h(token, n): got += n\n    await ep.attach(h)\n    "
        "await ep.request_short(1 - ep.rank, h, 1)\n    await ep.block_until(lambda: got)",
        ITS_OWN.format("global"),
    ),
    (  # a predicate with a name
        "async def main(ep):\n    got = 0\n    def h(token, n): got = n\n    def ready(): return got\n    "
        "await ep.attach(h)\n    await ep.request_short(1 - ep.rank, h, 1)\n    await ep.block_until(ready)",
        "h (prog.py:3) assigns a variable `got` of its own, not the one that is waited for: write `nonlocal got` in it",
    ),
    *(
        (
            "import time\nimport trio\nasync def main(ep):\n    await ep.attach()\n    "
            f"await ep.block_until({predicate})",
            f"a predicate that looks at `{clock}` is looked at when a message has been handled, not when that time "
            "has come: write `await trio.sleep(seconds)`, or `while ep.now < when: await ep.poll()`, which handles "
            "messages",
        )
        for predicate, clock in (
            ("lambda: ep.now > 1", "ep.now"),
            ("lambda: False or time.time() < 0", "time.time()"),
            ("what='5 s', predicate=lambda: trio.current_time() > 5", "trio.current_time()"),
        )
    ),
    (  # the variable of main is meant, though the module has one of its name
        "got = 5\nasync def main(ep):\n    got = 0\n    def h(token, n): got += n\n    await ep.attach(h)\n    "
        "await ep.request_short(1 - ep.rank, h, 1)\n    await ep.block_until(lambda: got)",
        ITS_OWN.format("nonlocal"),
    ),
    (
        "async def main(ep):\n    got = False\n    def h(token, n): got = True\n    await ep.attach(h)\n    "
        "await ep.request_short(1 - ep.rank, h, 1)\n    await ep.block_until(lambda: got)",
        "h (prog.py:3) assigns a variable `got` of its own, not the one that is waited for: write `nonlocal got` in it",
    ),
    (
        "got = False\ndef h(token, n): got = True\nasync def main(ep):\n    await ep.attach(h)\n    "
        "await ep.request_short(1 - ep.rank, h, 1)\n    await ep.block_until(lambda: got)",
        "h (prog.py:2) assigns a variable `got` of its own, not the one that is waited for: write `global got` in it",
    ),
    (EXTENDED + "await x.get(1, 0, bytearray(8))", "x.get takes (dest, offset, nbytes=None, *, out=None)"),
    (
        EXTENDED + "await x.reduce(ep.rank, 0, 'sum')",
        "x.reduce takes (array, op='sum', root=0, *, out=None, algorithm=None)",
    ),
    (
        EXTENDED + "v = await x.gather(ep.rank)\n    sum(v)",
        "v is None, which is what x.gather(ep.rank) at prog.py:4 gave on this rank; the root alone is given the result",
    ),
]


ALONE = (
    "this line makes a lock and does not take it, so it locks nothing; write `async with {0}:`, or `await "
    "{0}.acquire()` and `await {0}.release()`"
)
OFFSET = (
    "a is what x.all_alloc(100) at prog.py:4 gave, an offset in every rank's segment; an array there is `ep.segment[a:a"
    " + nbytes].view('f8')`; arrays that take an index have UPC and SHMEM"
)
NOT_AWAITED = (
    "extended.upc.errors.NotAwaited: {0} was used {1}, but it is a read that has not been awaited; write `await {0}` "
    "for the value"
)


LINES = {
    # The wrong object of the right library.
    UPC + "t.rank": "Thread has no rank; write `t.MYTHREAD`",
    UPC + "t.size": "Thread has no size; write `t.THREADS`",
    UPC + "t.mythread": "Thread has no mythread (did you mean MYTHREAD?)",
    EXTENDED + "x.my_pe()": "Extended has no my_pe; write `x.rank`",
    EXTENDED + "x.n_pes()": "Extended has no n_pes; write `x.size`",
    SHMEM + "await pe.team_split_strided(pe.TEAM_WORLD, 0, 1, 2)": (
        "PE has no team_split_strided; write `await pe.TEAM_WORLD.split_strided(...)`, or the same of another team"
    ),
    UPC + "await t.upc_barrier()": "Thread has no upc_barrier (did you mean barrier?)",
    UPC + "await t.put(1, 0, b'a')": "Thread has no put, but its extended has: write `await t.extended.put(...)`",
    UPC + "await t.request_short(1, print)": (
        "Thread has no request_short, but its ep has: write `await t.ep.request_short(...)`"
    ),
    **{
        f"{top}await {word}.attach()": (
            f'{kind} has no attach, but an endpoint has: with `api = "{front}"` main is given a {kind}, without that '
            "line an endpoint, `async def main(ep)`"
        )
        for top, word, kind, front in (
            (UPC, "t", "Thread", "upc"),
            (SHMEM, "pe", "PE", "shmem"),
            (MPI, "comm", "Comm", "mpi"),
        )
    },
    UPC + "await a.sum()": (
        "SharedArray has no sum; write `a.local.sum` for this thread's elements, `(await a[:]).sum` for all"
    ),
    UPC + "a.fill(7)": "SharedArray has no fill; write `a[:] = value` on one thread, or `a.local.fill(value)` on each",
    UPC + "b = a\n    del a\n    b.sort()": (
        "SharedArray has no sort; read it, change it, store it, on one thread: `copy = await b[:]; copy.sort(); b[:] = "
        "copy`"
    ),
    **{
        f"{UPC}await a.{name}(0, 1)": (
            f"SharedArray has no {name}; write `await a.compare_swap(i, expected, new)`, again with what it gives "
            "until that is `expected`"
        )
        for name in ("swap", "max_at", "min_at")
    },
    UPC + "a.affinity(0)": "SharedArray has no affinity; write `a.threadof(i)`",
    UPC + "l = t.lock('a')\n    l.locked()": (
        "SharedLock has no locked; write `await lock.try_acquire()`, which takes it if it is free, or says that it "
        "is not"
    ),
    EXTENDED + "l = x.lock('a')\n    l.locked()": (
        "Lock has no locked; write `await lock.try_acquire()`, which takes it if it is free, or says that it is not"
    ),
    SHMEM + "l = await pe.Lock()\n    l.locked()": (
        "ShmemLock has no locked; write `await lock.acquire(blocking=False)`, which takes it if it is free, or says "
        "that it is not"
    ),
    **{
        f"{MPI}r = await comm.Irecv(b)\n    await r.{name}()": (
            f"Request has no {name}; write `await MPI.Request.Waitall(requests)`"
        )
        for name in ("waitall", "wait_all")
    },
    UPC + "a.put(0, 1)": "SharedArray has no put; write `a[i] = value`",
    UPC + "await a[0][1]": "write `await a[0, 1]`",
    UPC + "a[3].wait()": "a[3] is a Read: write `await a[3]`",
    UPC + "v = a[3]\n    v.result()": "v is a Read: write `await v`",
    UPC + "await a[2:4][1]": "write `(await a[2:4])[1]`",
    UPC + "await (await a[:])[0]": (
        "(await a[:])[0] is there at once, its `await` is inside: write it without the outer `await`"
    ),
    UPC + "await t.all_lock_alloc()": (
        "Thread has no all_lock_alloc; locks are made by their names: write `async with t.lock(name):` around what it "
        "is held for"
    ),
    UPC + "await t.all_reduce(1)": (
        "t.all_reduce takes (dst, src, op='sum'); for a number of each thread write `await "
        "t.extended.all_reduce(value)`"
    ),
    UPC + "me = t\n    me.rank": "Thread has no rank; write `me.MYTHREAD`",
    UPC.replace("(t)", "(ep)").replace(" t.", " ep.") + "ep.rank": "Thread has no rank; write `ep.MYTHREAD`",
    SHMEM + "c = await pe.Ctx.create()\n    await c.put_nbi(a, a, 0)": (
        "Ctx has no put_nbi, but what main is called with has: write `pe.put_nbi(..., ctx=c)`"
    ),
    SHMEM + "pe.int_put(a, 1, 1)": (
        "PE has no int_put; write `await pe.put(target, source, dest)`, of arrays of any type"
    ),
    SHMEM + "pe.rank": "PE has no rank; write `pe.my_pe()`",
    SHMEM + "pe.size": "PE has no size; write `pe.n_pes()`",
    SHMEM + "await pe.malloc(8)": (
        "PE has no malloc; write `await pe.zeros(shape, dtype)` for an array, `await pe.alloc(count, size)` for memory"
    ),
    SHMEM + "await pe.shmem_malloc(8)": (
        "PE has no shmem_malloc; write `await pe.zeros(shape, dtype)` for an array, `await pe.alloc(count, size)` for "
        "memory"
    ),
    SHMEM + "await pe.p(a, 3, 1)": (
        "PE has no p; write `await pe.put(a[i:i+1], numpy.array([value], a.dtype), dest)`, or `await "
        "pe.atomic_set(a[i:i+1], value, dest)`"
    ),
    SHMEM + "await pe.g(a, 1)": (
        "PE has no g; write `await pe.get(target, a[i:i+1], dest)`, into an array of one element, or `await "
        "pe.atomic_fetch(a[i:i+1], dest)`"
    ),
    SHMEM + "await pe.barrier()": (
        "PE has no barrier; write `await pe.barrier_all()`, of a team `await pe.quiet()` and `await pe.sync(team)`"
    ),
    SHMEM + "from extended import shmem; shmem.my_pe()": (
        "extended.shmem has no my_pe, but what main is called with has: `async def main(pe)`, then `pe.my_pe()`"
    ),
    SHMEM + "from extended.shmem import n_pes": (
        "extended.shmem has no n_pes, but what main is called with has: `async def main(pe)`, then `pe.n_pes()`"
    ),
    CORE + "ep.mynode": "Endpoint has no mynode; write `ep.rank`",
    CORE + "ep.gasnet_nodes": "Endpoint has no gasnet_nodes; write `ep.size`",
    CORE + "def g(token): token.src\n    await ep.attach(g)\n    await ep.request_short(0, g)": (
        "Token has no src; write `token.rank`"
    ),
    "import extended\nasync def main(ep):\n    x = await extended.attach(ep)": (
        "extended has no attach; write `from extended import Extended`, then `x = await Extended.attach(ep)`"
    ),
    "from extended import attach": (
        "extended has no attach; write `from extended import Extended`, then `x = await Extended.attach(ep)`"
    ),
    EXTENDED + "await x.bcast(3)": "Extended has no bcast; write `await x.broadcast(array, root)`",
    EXTENDED + "await x.request_short(1, print)": (
        "Extended has no request_short, but its ep has: write `await x.ep.request_short(...)`"
    ),
    EXTENDED + "h = await x.put_nb(1, 0, b'a')\n    h.wait()": "Handle has no wait; `await` the handle itself",
    # mpi4py.
    UPC + "a[1][2] = 5": (
        "extended.upc.errors.NotAwaited: a[i][j] = v would write into a copy of what is read; write `a[i, j] = v` into "
        "the array"
    ),
    MPI + "await comm.Split(None)": (
        "conduit.errors.BadRequest: comm.Split: color=None; for a rank that is to be in none write MPI.UNDEFINED"
    ),
    MPI + "await comm.barrier()": (
        "conduit.errors.BadRequest: comm.barrier: names begin with a capital here; write `await comm.Barrier()`"
    ),
    MPI + "await comm.iprobe()": (
        "conduit.errors.BadRequest: comm.iprobe: names begin with a capital here; write `await comm.Iprobe()`"
    ),
    MPI + "await comm.allreduce(3)": (
        "conduit.errors.BadRequest: comm.allreduce: calls that pickle objects are not here; give arrays to `await "
        "comm.Allreduce(...)`, or pickle to bytes yourself"
    ),
    MPI + "await comm.Send(b)": "TypeError: Comm.Send() missing 1 required positional argument: 'dest'",
    MPI + "await comm.Ssend(b)": "TypeError: Comm.Ssend() missing 1 required positional argument: 'dest'",
    MPI + "await comm.Sendrecv(b)": "TypeError: Comm.Sendrecv() missing 1 required positional argument: 'dest'",
    MPI + "await comm.Bcast()": "TypeError: Comm.Bcast() missing 1 required positional argument: 'buf'",
    MPI + "await comm.Allreduce(b, b, MPI.SUMM)": "conduits.mpi.MPI has no SUMM (did you mean SUM?)",
    MPI + "MPI.Win.Create(b, comm=comm)": (
        "Win is in extended.windows: write `from extended.windows import Win`; " + OF_MAIN_EP
    ),
    MPI + "from extended.windows import Win\n    await Win.Allocate(64, 8, comm=comm)": (
        "conduit.errors.BadRequest: Win.Allocate: comm=<Comm MPI_COMM_WORLD of 2> is a Comm; give what Extended.attach "
        "returned, or a team; " + OF_MAIN_EP
    ),
    MPI + "from extended import Extended\n    await Extended.attach(comm)": (
        "conduit.errors.BadRequest: Extended.attach: ep is a Comm; give the endpoint that `async def main(ep)` is "
        "called with, in a program without `api = ...`"
    ),
    MPI + "MPI.Finalize()": (
        "conduits.mpi.MPI has no Finalize; leave it out: MPI has begun when main is called, and ends after it"
    ),
    MPI + "MPI.Init()": (
        "conduits.mpi.MPI has no Init; leave it out: MPI has begun when main is called, and ends after it"
    ),
    MPI + "await MPI.Request.Waitall([comm.Isend(b, dest=0)])": (
        "conduit.errors.BadRequest: MPI.Request.Waitall: requests[0] is a coroutine, a call that was not awaited "
        "(write `r = await ...`); give requests"
    ),
    MPI + "MPI.THREAD_MULTIPLE": (
        "conduits.mpi.MPI has no THREAD_MULTIPLE; leave it out: a rank has one thread, and any number of tasks that "
        "take turns"
    ),
    MPI + "MPI.FLOAT64": "conduits.mpi.MPI has no FLOAT64; write `MPI.DOUBLE`, the type of numpy's float64",
    MPI + "MPI.Compute_dims(2, 2)": (
        "conduits.mpi.MPI has no Compute_dims; topologies are not here; compute neighbours of `comm.rank`"
    ),
    MPI + "MPI.Wait(None)": "conduits.mpi.MPI has no Wait; write `await request.Wait()`",
    MPI + "await MPI.Testall([])": ("conduits.mpi.MPI has no Testall; write `await MPI.Request.Testall(requests)`"),
    MPI + "MPI.Comm_rank(comm)": "conduits.mpi.MPI has no Comm_rank; write `comm.rank`",
    MPI + "MPI.Group_incl(0, 1)": "conduits.mpi.MPI has no Group_incl; write `group.Incl(ranks)`",
    MPI + "MPI.Finalized()": (
        "conduits.mpi.MPI has no Finalized; leave it out: MPI has begun when main is called, and ends after it"
    ),
    MPI + "comm.COMM_SELF": "Comm has no COMM_SELF; write `MPI.COMM_SELF`",
    MPI + "await comm.Allreduce(b, b, MPI.Op.SUM)": "ReductionOp has no SUM; write `MPI.SUM`",
    MPI + "await MPI.Request.Test(None)": (
        "conduit.errors.BadRequest: MPI.Request.Test: None is no request; write `await request.Test()`"
    ),
    MPI + "await comm.Allreduce([b, MPI.DOUBLE, 4], b)": (
        "conduit.errors.BadRequest: comm.Allreduce: sendbuf: the datatype, <Datatype MPI_DOUBLE>, is not the last "
        "item; give [array, count, datatype]"
    ),
    MPI + "await comm.Bcast([b, np.float64])": (
        "conduit.errors.BadRequest: comm.Bcast: buf: float64 is a dtype of numpy's; give MPI.DOUBLE, as in [array, "
        "count, datatype]"
    ),
    MPI + "await comm.Bcast([b, np.integer])": (
        "conduit.errors.BadRequest: comm.Bcast: buf: integer is a dtype of numpy's; give MPI.LONG, as in [array, "
        "count, datatype]"
    ),
    MPI + "await comm.Send((b, 1, 2), 1)": (
        "conduit.errors.BadRequest: comm.Send: buf: 2 is in the place of the datatype; give [array, count, datatype], "
        "and with what does not begin at the array's start [array, (count, displacement), datatype]"
    ),
    MPI + "await comm.Allgatherv(b, [b, (1, 1, 1), MPI.DOUBLE])": (
        "conduit.errors.BadRequest: comm.Allgatherv: recvbuf: (1, 1, 1) are not two, in the place of (count, "
        "displacement); counts of several ranks are a list"
    ),
    MPI + "await comm.Send([None, 0], 1)": (
        "conduit.errors.BadRequest: comm.Send: buf: None has no datatype; for an empty buffer give [None, 0, MPI.BYTE] "
        "or another"
    ),
    MPI + "await comm.Allgatherv(b, [b, MPI.DOUBLE, [1, 1]])": (
        "conduit.errors.BadRequest: comm.Allgatherv: recvbuf: the datatype, <Datatype MPI_DOUBLE>, is not the last "
        "item; give [array, counts, displacements, datatype]"
    ),
    MPI + "MPI.Alloc_mem(2)": "conduits.mpi.MPI has no Alloc_mem; it is not here",
    MPI + "await comm.compute(1e-6)": (
        "Comm has no compute; write `await conduit.current().compute(seconds)`, after `import conduit`"
    ),
    MPI + "comm.ep": "Comm has no ep; the rank's endpoint is `conduit.current()`, after `import conduit`",
    MPI + "comm.now": "Comm has no now; write `MPI.Wtime()`",
    MPI + "await comm.put(b, 1)": (
        "Comm has no put; one-sided calls are those of windows, in extended.windows, for programs without `api = ...`"
    ),
    MPI + "await comm.Wait()": "Comm has no Wait; it is a call of a request: write `await request.Wait()`",
    MPI + "await comm.Waitall([])": (
        "Comm has no Waitall; it is a call of requests: write `await MPI.Request.Waitall(requests)`"
    ),
    MPI + "await comm.Neighbor_alltoall(b, b)": (
        "Comm has no Neighbor_alltoall; topologies are not here; compute neighbours of `comm.rank`"
    ),
    MPI + "comm.Set_errhandler(0)": (
        "Comm has no Set_errhandler; errors are raised, always: write `try: ... except MPI.Exception as error: ...`"
    ),
    MPI + "comm.memset": "AttributeError: 'Comm' object has no attribute 'memset'",
    UPC + "await t.barrier_notify()": "Thread has no barrier_notify; write `await t.notify()`",
    UPC + "await t.broadcast(3)": (
        "Thread has no broadcast; for values of each thread write `await t.extended.broadcast(...)`, for shared arrays "
        "`await t.all_broadcast(...)`"
    ),
    "async def main(ep): ep.exit(256)": (
        "conduit.errors.BadRequest: ep.exit: code=256 is no exit status; pass an int from 0 to 255, 0 for success"
    ),
    "async def main(ep): ep.ranks": "Endpoint has no ranks; write `ep.size`",
    EXTENDED + "await x.accumulate(0, 0, 1)": (
        "Extended has no accumulate; write `await x.atomic(dtype).accumulate(dest, offsets, values)`"
    ),
    UPC + "await a.get(0)": "AttributeError: 'SharedArray' object has no attribute 'get'",
    EXTENDED + "await x.all_alloc(8, size=3)": "x.all_alloc has no argument size=; it takes nbytes, align",
    EXTENDED + "await x.barrier(1, 2)": "x.barrier takes (id=None)",
    EXTENDED + "await x.atomic('i8').fetch_add(0, 0)": "x.atomic('i8').fetch_add takes (dest, offset, v)",
    MPI + "comm.my_rank": "Comm has no my_rank; write `comm.rank`",
    MPI + "await comm.Get_rank()": "comm.Get_rank() is a plain call, which never waits: write it without `await`",
    MPI + "comm.size()": "comm.size is an int and no method: write it without parentheses",
    MPI + "World = type('Intracomm', (), {'Barrier': lambda self: None, '__module__': 'mpi4py.MPI'})\n"
    "    world = World()\n    await world.Barrier()": (
        "world is mpi4py's own, whose calls are not awaited; write `from conduits.mpi import MPI`, and use the "
        "communicator that main is called with"
    ),
    WINDOW + "memory = win.tomemory()\n    memory[:] = 3": (
        "memory is a memoryview of bytes: write `a = numpy.frombuffer(memory, dtype)`, then `a[...] = ...`"
    ),
    WINDOW + "import numpy\n    memory = win.tomemory()\n    memory[:] = numpy.ones(1)": (
        "memory is a memoryview of bytes: write `a = numpy.frombuffer(memory, dtype)`, then `a[...] = ...`"
    ),
    "import sys, io\nasync def main(ep):\n    sys.stdin = io.StringIO()\n    number = input()": (
        "standard input is at its end: all ranks read one, and each of its lines goes to one of them; read on rank 0, "
        "and let it send the others what it has read"
    ),
    "from mpi4py_of_none import MPI": "ModuleNotFoundError: No module named 'mpi4py_of_none'",
    "import shmem4py": "there is no shmem4py here: write `from extended import shmem`",
    "from conduit.upc import run": "there is no conduit.upc here: write `from extended import upc`",
    MPI + "other = 1 - comm.rank\n    await comm.Sendrecv(b, other, 0, b.copy(), other, 0, MPI.Status)": (
        "conduit.errors.BadRequest: comm.Sendrecv: status=MPI.Status is the class; give an object of it, "
        "status=MPI.Status()"
    ),
    MPI + "await comm.Recv(b, src=0)": "TypeError: Comm.Recv() got an unexpected keyword argument 'src'",
    MPI + "await comm.bcst(b)": "Comm has no bcst (did you mean Bcast?)",
    "from conduits import MPI": "conduits has no MPI: write `from conduits.mpi import MPI`",
    "from extended import UPC": "extended has no UPC: write `from extended import upc`",
    MPI + MPI4PY + "await comm.Allreduce(b, b.copy(), op=Op())": (
        "conduit.errors.BadRequest: comm.Allreduce: op is of mpi4py itself; write `from conduits.mpi import MPI` at "
        "the top"
    ),
    MPI
    + MPI4PY.replace("Op", "Status")
    + "if comm.rank: await comm.Recv(b, 0, 0, Status())\n    else: await comm.Send(b, 1)": (
        "conduit.errors.BadRequest: comm.Recv: status is of mpi4py itself; write `from conduits.mpi import MPI` at the "
        "top"
    ),
    MPI + MPI4PY.replace("Op", "Datatype") + "await comm.Bcast([b, Datatype()])": (
        "conduit.errors.BadRequest: comm.Bcast: buf: the datatype is of mpi4py itself; write `from conduits.mpi import "
        "MPI` at the top"
    ),
    MPI + MPI4PY.replace("Op", "Datatype") + "await comm.Gatherv([b, Datatype()], [b, (4, 0), Datatype()])": (
        "conduit.errors.BadRequest: comm.Gatherv: sendbuf: the datatype is of mpi4py itself; write `from conduits.mpi "
        "import MPI` at the top"
    ),
    WINDOW + MPI4PY + "await win.Accumulate(bytes(8), 0, op=Op())": (
        "conduit.errors.BadRequest: win.Accumulate: op is of mpi4py itself; write `from extended.windows import SUM`, "
        "and op=SUM; there are SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, REPLACE, NO_OP"
    ),
    WINDOW + "await win.Lock(0, 235)": (
        "conduit.errors.BadRequest: win.Lock: lock_type=235 is not known; give LOCK_EXCLUSIVE or LOCK_SHARED of "
        "extended.windows (mpi4py numbers them otherwise)"
    ),
    EXTENDED + "x.barrier = 3\n    await x.barrier()": (
        "x.barrier is an int that the program has put in the place of the method; keep it in a variable"
    ),
    # Called, awaited, entered.
    CORE + "ep.rank()": "ep.rank is an int and no method: write it without parentheses",
    CORE + "for r in ep.size: pass": "ep.size is an int: write `range(ep.size)`",
    EXTENDED + "h = [await x.get_nb(0, 0, 8)]\n    a = await h": (
        "h is a list, which cannot be awaited itself: write `await x.wait_all(handles)`"
    ),
    EXTENDED + "h = (x.get(0, 0, 8),)\n    (a,) = await h": (
        "x.get(0, 0, 8) at prog.py:4 was called but never awaited, so it did nothing; write `await x.get(0, 0, 8)`"
    ),
    CORE + "async def other(): pass\n    h = [other()]\n    await h": (
        "h is a list, which cannot be awaited itself: await what is in it, one by one"
    ),
    MPI + "h = [await comm.Isend(b'1', 0)]\n    await h": (
        "h is a list, which cannot be awaited itself: write `await MPI.Request.Waitall(requests)`"
    ),
    CORE + "await ep.rank": "ep.rank is an int, which is there at once: write it without `await`",
    CORE + "await ep.charge(1e-6)": "ep.charge() is a plain call, which never waits: write it without `await`".replace(
        "()", "(1e-06)"
    ),
    CORE + "await [ep.poll(), ep.poll()]": (
        "a list cannot be awaited: await its calls one by one, or start each in a nursery of Trio"
    ),
    CORE + "await ep.compute(flop=3)": (
        "ep.compute has no argument flop= (did you mean flops?); it takes seconds, flops, threads"
    ),
    CORE + "await ep.block_until(lambda: 0, timeout=1)": (
        "ep.block_until has no argument timeout=; it takes predicate, what, ranks; for a limit of time write `with "
        "trio.fail_after(seconds):` around the call"
    ),
    CORE + "await ep.request_short(dest=1, handler=h, n=4)": (
        "ep.request_short has no argument n=; it takes dest, handler, *args"
    ),
    SHMEM + "await pe.my_pe()": "pe.my_pe() is a plain call, which never waits: write it without `await`",
    SHMEM + "pe.my_pe + 1": "pe.my_pe is a method: call it, `pe.my_pe()`",
    UPC + "await a.read[0]": "a.read is a method: call it, `a.read(0)`",
    UPC + "a.read[1:3]": "a.read is a method: call it, `a.read(...)`",
    EXTENDED + "await x.fetch_add(1, 8, 5)": "Extended has no fetch_add; write `await x.atomic(dtype).fetch_add(dest, "
    "offset, value)`, or another of its operations",
    EXTENDED + "await x.barrier": "x.barrier is a method: call it, `await x.barrier()`",
    EXTENDED + "with x.lock('a'):\n        pass": "to enter it may take time: write `async with x.lock('a'):`",
    EXTENDED + "async with x.barrier():\n        pass": "write `await x.barrier()`, without `with`",
    EXTENDED + "with x.barrier():\n        pass": "write `await x.barrier()`, without `with`",
    EXTENDED + "async with await x.put_nb(1, 0, b'a'):\n        pass": "a Handle is not entered: use it without `with`",
    SHMEM + "async with pe.Lock():\n        pass": "what it gives is entered: write `async with await pe.Lock():`",
    WINDOW + "async with await Win.Allocate(64, 8, comm=x) as win:\n        pass": (
        "a Win is not entered: write `win = await Win.Allocate(...)`, and after its last use `await win.Free()`"
    ),
    WINDOW + "with win.Lock(0):\n        pass": "write `await win.Lock(0)`, without `with`",
    WINDOW + "async with win as w:\n        pass": (
        "a Win is not entered: write `win = await Win.Allocate(...)`, and after its last use `await win.Free()`"
    ),
    EXTENDED + "from extended.windows import Win\n    await Win.Allocate(80)": (
        "Win.Allocate takes (size, disp_unit=1, *, comm, info=None, checks=True); write `await Win.Allocate(size, "
        "disp_unit, comm=x)`, where `x = await Extended.attach(ep)`, or a team in place of x"
    ),
    EXTENDED + "from extended.windows import Win\n    await Win.Create(bytearray(80))": (
        "Win.Create takes (array, disp_unit=1, *, comm, info=None, checks=True); write `await Win.Create(array, "
        "disp_unit, comm=x)`, where `x = await Extended.attach(ep)`, or a team in place of x"
    ),
    WINDOW + "win.size": "Win has no size; this rank's part has `len(win.tomemory())` bytes",
    WINDOW + "w = win\n    w.memory": "Win has no memory; write `w.tomemory()` for this rank's part, bytes",
    WINDOW + "win.rank": "Win has no rank; write `win.Get_group().rank`",
    EXTENDED + "await x.put_nb(1, 0, b'abc').wait()": (
        "x.put_nb(1, 0, b'abc') at prog.py:4 was called but never awaited, so it did nothing; write `await (await "
        "x.put_nb(1, 0, b'abc'))`"
    ),
    EXTENDED + "await x.barrier().wait()": (
        "x.barrier() at prog.py:4 was called but never awaited, so it did nothing; write `await x.barrier()`"
    ),
    EXTENDED + "async with x.lock:\n        pass": "x.lock is a method: call it, `async with x.lock(...):`",
    EXTENDED + "h = await x.get_nb(1, 0, 8)\n    h + 1": "h is a Handle: write `await h` for its result",
    UPC + "await a": (
        "a is a SharedArray, which is no call: write `await a[:]` for all elements, `await a[i]` for some"
    ),
    UPC
    + "async for i in a.forall():\n        pass": "a.forall() is an ordinary iterator: write `for`, not `async for`",
    UPC + "await t.all_alloc(12, blocksize=3)": (
        "t.all_alloc has no argument blocksize= (did you mean block?); it takes shape, dtype, block"
    ),
    UPC + "a.local = [1, 2]": (
        "conduit.errors.BadRequest: a.local = v: v has shape (2,), and this thread has elements of dtype int64, in "
        "shape (6,); give values of shape (6,), or one for all"
    ),
    CORE + "n = 3\n    await n": "n is an int, which is there at once: write it without `await`",
    EXTENDED + "h = await x.put(1, 0, b'a')\n    await h": (
        "h is None, and there is nothing to wait for: leave this `await` out"
    ),
    EXTENDED + "h = x.get_nb(1, 0, 8)\n    await h\n    await h": (
        "h is a call that was awaited before, and a call is awaited once: keep what that gave, `value = await h`; a "
        "call whose name ends in _nb gives a handle, `h = await x.get_nb(...)`, and then `await h` gives the value"
    ),
    EXTENDED + "h = await x.get_nb(1, 0, 8)\n    print(h[0])": "h is a Handle: write `await h` for its result",
    EXTENDED + "h = await x.get_nb(1, 0, 8)\n    h[:4] = b'abcd'": "h is a Handle: write `await h` for its result",
    EXTENDED + "h = await x.get_nb(1, 0, 8)\n    for each in h: pass": (
        "h is a Handle: write `await h` for its result"
    ),
    EXTENDED + "h = await x.get_nb(1, 0, 8)\n    len(h)": "h is a Handle: write `await h` for its result",
    EXTENDED + "h = await x.get_nb(1, 0, 8)\n    h.shape": (
        "h is a Handle: write `await h` for its result, which has shape"
    ),
    EXTENDED + "h = await x.put_nb(1, 0, b'abc')\n    h.size": "h is a Handle: write `await h`",
    EXTENDED + "await x.broadcast(b'abc', calld=1)": (
        "x.broadcast has no argument calld=; it takes array, root, out, algorithm"
    ),
    EXTENDED + "h = await x.get_nb(1, 0, 8)\n    h.dtype": (
        "h is a Handle: write `await h` for its result, which has dtype"
    ),
    EXTENDED + "h = await x.get_nb(1, 0, 8)\n    print(h.sum())": (
        "h is a Handle: write `await h` for its result, which has sum"
    ),
    # A wrong number of arguments.
    CORE + "await ep.request_short()": "ep.request_short takes (dest, handler, *args)",
    CORE + "await ep.poll(1)": "ep.poll takes no arguments",
    CORE + "await ep.block_until()": "ep.block_until takes (predicate, *, what='', ranks=...)",
    CORE + "class A: pass\n    A.end = ep\n    await A.end.request_short(1)": (
        "A.end.request_short takes (dest, handler, *args)"
    ),
    EXTENDED + "x.put(1)": "x.put takes (dest, offset, data)",
    EXTENDED + "await x.get(1, 2, 3, 4)": "x.get takes (dest, offset, nbytes=None, *, out=None)",
    EXTENDED + "await x.get(1, 2, offset=3)": "x.get takes (dest, offset, nbytes=None, *, out=None)",
    EXTENDED + "await x.split()": "x.split takes (color, key=0)",
    EXTENDED + "await x.barrier(1, 2)": "x.barrier takes (id=None)",
    EXTENDED + "await x.all_gather()": "x.all_gather takes (array, *, out=None, algorithm=None)",
    MPI + "await comm.Recv()": "comm.Recv takes (buf, source=ANY_SOURCE, tag=ANY_TAG, status=None)",
    MPI + "await comm.Reduce(b, root=0)": "comm.Reduce takes (sendbuf, recvbuf, op=..., root=0, algorithm='')",
    SHMEM + "await pe.put(a)": "pe.put takes (target, source, pe, size=None, ctx=None)",
    # What is no value.
    **{
        EXTENDED + line: f"`await x.{call}(1)` gave None on this rank; the root alone is given the result"
        for line, call in (
            ("await x.reduce(1) + 1", "reduce"),
            ("1 + await x.reduce(1)", "reduce"),
            ("print('%d' % await x.reduce(1))", "reduce"),
            ("(await x.gather(1)).sum()", "gather"),
            ("(await x.gather(1))[0]", "gather"),
            ("sum(await x.gather(1))", "gather"),
            ("a, b = await x.gather(1)", "gather"),
            ("for each in await x.gather(1): pass", "gather"),
        )
    },
    UPC + "a = await t.all_alloc(8)\n    (await a.gather_to(0)).sum()": (
        "`await a.gather_to(0)` gave None on this rank; the thread that it is gathered to alone is given the array"
    ),
    EXTENDED + "(await x.split(None)).rank": "`await x.split(None)` gave None on this rank",
    EXTENDED + "(await x.put(1, 0, b'a')) + 1": "`await x.put(1, 0, b'a')` gave None on this rank",
    EXTENDED + "rows = await x.gather(ep.rank)\n    rows.sum()": (
        "rows is None, which is what x.gather(ep.rank) at prog.py:4 gave on this rank; the root "
        "alone is given the result"
    ),
    EXTENDED + "rows = await x.put(1, 0, b'a')\n    rows[0]": (
        "rows is None, which is what x.put(1, 0, b'a') at prog.py:4 gave on this rank"
    ),
    # One argument in the place of another.
    CORE + "await ep.request_short(h, 1, 3)": "ep.request_short takes (dest, handler, *args)",
    EXTENDED + "await x.put(b'a', 1, 0)": "x.put takes (dest, offset, data)",
    CORE + "await ep.attach([(200, h)])": (
        "conduit.errors.BadRequest: ep.attach: handler=[(200, <function main.<locals>.h>)] is a list; pass each "
        "function by itself, `await ep.attach(f, g)`: none has a number of its own"
    ),
    CORE + "await ep.block_until(1 > 2)": (
        "conduit.errors.BadRequest: ep.block_until: predicate=False cannot be called; pass a function of no arguments, "
        "`lambda: ...`, which is called again and again"
    ),
    CORE + "await ep.request_short(1, h, 1.5)": (
        "conduit.errors.BadRequest: ep.request_short: args[0]=1.5 is a float; arguments are integers: send anything "
        "else as the payload of a medium message, in bytes"
    ),
    # What has no bytes.
    CORE + "await ep.request_medium(1, h, 'hello')": (
        "conduit.errors.BadRequest: ep.request_medium: payload is a str, which has no buffer of plain bytes; pass its "
        "bytes, 'hello'.encode()"
    ),
    CORE + "await ep.request_medium(1, h, [1, 2])": (
        "conduit.errors.BadRequest: ep.request_medium: payload is a list, which has no buffer of plain bytes; pass an "
        "array: numpy.array([1, 2])"
    ),
    EXTENDED + "await x.put(1, 0, 'hello')": (
        "conduit.errors.BadRequest: x.put: data is a str, which offers no bytes; give its bytes, 'hello'.encode()"
    ),
    EXTENDED + "await x.get(1, 0, out=[0, 0])": (
        "conduit.errors.BadRequest: x.get: out is a list, which offers no bytes; give a bytearray or a numpy array"
    ),
    MPI + "await comm.Send([1, 2, 3], dest=1)": (
        "conduit.errors.BadRequest: comm.Send: buf=[1, 2, 3] is a list of numbers, which has no bytes to send or to "
        "receive into; give an array: numpy.array([1, 2, 3])"
    ),
    # Other calls than were meant.
    EXTENDED + "def f(token): pass\n    await x.attach(f)": (
        "conduit.errors.BadRequest: x.attach: ep=f is a function; handlers are attached to the endpoint: write `await "
        "ep.attach(f)`"
    ),
    UPC + "await t.free(a)": (
        "conduit.errors.BadRequest: t.free: the array was freed by t.free of thread 0; one thread frees an array, once "
        "for all; where every thread does, write `await t.all_free(a)`"
    ),
    # The program's own words.
    EXTENDED + "layer = x\n    await layer.put(7, 0, b'a')": (
        "conduit.errors.BadRequest: layer.put: dest=7 is no rank of this job; its ranks are 0 to 1, choose one of them "
        "or start the job with more (ranks=)"
    ),
    SHMEM + "b = pe.zeros(4)\n    await pe.put(b, a, 1)": (
        "conduit.errors.BadRequest: pe.put: target=a call without `await` is a coroutine; give an array of numpy"
    ),
    CORE + "e = ep\n    await e.request_short(1, lambda token: 0)": (
        "conduit.errors.BadRequest: e.request_short: handler=<lambda> is not attached on this rank; pass it to `await "
        "ep.attach(...)` first (attached: h)"
    ),
    # Operations of programs.
    EXTENDED + "await x.all_reduce(ep.rank, lambda a: a)": (
        "conduit.errors.BadRequest: x.all_reduce: op=<lambda> takes (a), and an operation makes one array of two; "
        "write `def op(left, right)`, which returns it"
    ),
    EXTENDED + "await x.all_reduce([1, ep.rank], op=max)": (
        "conduit.errors.BadRequest: x.all_reduce: op=max compares whole arrays, and an operation makes one of two; "
        "write op='max'"
    ),
    EXTENDED + "await x.all_reduce(3, 'add')": (
        "conduit.errors.BadRequest: x.all_reduce: op='add' is no operation; write 'sum', or give one of sum, prod, "
        "min, max, and, or, xor, a binary ufunc of numpy, or an associative function of two arrays"
    ),
    EXTENDED + "await x.all_reduce(3, 'average')": (
        "conduit.errors.BadRequest: x.all_reduce: op='average' is no operation; give one of sum, prod, min, max, and, "
        "or, xor, a binary ufunc of numpy, or an associative function of two arrays"
    ),
    EXTENDED + "from conduits.mpi import MPI\n    await x.all_reduce(3, MPI.SUM)": (
        "conduit.errors.BadRequest: x.all_reduce: op=<Op MPI_SUM> is no operation; write 'sum', or give one of sum, "
        "prod, min, max, and, or, xor, a binary ufunc of numpy, or an associative function of two arrays"
    ),
    EXTENDED + "from extended.windows import BAND\n    await x.all_reduce(3, BAND)": (
        "conduit.errors.BadRequest: x.all_reduce: op=BAND is no operation; write 'and', or give one of sum, prod, min, "
        "max, and, or, xor, a binary ufunc of numpy, or an associative function of two arrays"
    ),
    MPI + "MPI.Op.Create(lambda a, b: a + b)": (
        "conduit.errors.BadRequest: MPI.Op.Create: function=<lambda> takes (a, b); write `def op(inbuf, inoutbuf, "
        "datatype)`, which makes inoutbuf, a buffer of bytes, of both"
    ),
    # Collective calls that differ.
    MPI + "if comm.rank == 0: await comm.Bcast(b)\n    else: await comm.Reduce(b, None)": (
        "conduits.mpi.errors.MpiError: comm.Reduce: in its place rank 0 has called Bcast at prog.py:6; all ranks of "
        "MPI_COMM_WORLD make the same collective calls in the same order"
    ),
    MPI + "await comm.Bcast(b, root=comm.rank)": (
        "conduits.mpi.errors.MpiError: comm.Bcast: root=1, but rank 0 has called it with root=0 at prog.py:6; give "
        "the same on all ranks of MPI_COMM_WORLD"
    ),
    # What is stored where.
    CORE + "ep.segment[:4] = b'abcd'": (
        "ep.segment is an array of numbers: write `ep.segment[:4] = numpy.frombuffer(b'abcd', 'u1')`"
    ),
    CORE + "ep.segment[:5] = 'hello'": (
        "ep.segment is an array of numbers: write `ep.segment[:5] = numpy.frombuffer('hello'.encode(), 'u1')`"
    ),
    WINDOW + "import numpy as np\n    await win.Fence()\n    await win.Put(np.zeros(4), 1)": (
        "conduit.errors.BadRequest: win.Put: target=None, as long as origin, is bytes 0 to 31 of rank 1, whose part "
        "has 8 (disp_unit=1); stay inside"
    ),
    UPC + "await t.memput(a, b'abc')": (
        "conduit.errors.BadRequest: t.memput: dst=<SharedArray shape=(12,) dtype=int64 block=3 threads=2 thread 0: 0-2 "
        "6-8 thread 1: 3-5 9-11> is no place; give an array and the index of an element, (a, i)"
    ),
    # Names of others.
    CORE + "await ep.recv()": (
        "Endpoint has no recv; messages run handlers here: let a handler keep what has come, and `await "
        "ep.block_until(lambda: kept)`"
    ),
    EXTENDED + "await x.send(1, b'a')": (
        "Extended has no send; write `await x.put(dest, offset, data)`, or `await x.ep.request_medium(dest, handler, "
        "payload)`"
    ),
    EXTENDED + "x.team.barrier()": (
        "Extended has no team; write `await x.split(color)` for a team, and `x` itself for that of all"
    ),
    CORE + "import trio\n    n = trio.open_nursery()\n    n.start_soon(ep.poll)": (
        "a nursery is entered: write `async with trio.open_nursery() as nursery:`, and use `nursery` in it"
    ),
    CORE + "await ep.block_until(lambda token: False)": (
        "ep.block_until calls its predicate without arguments: write `lambda: ...`"
    ),
    # Handlers.
    EXTENDED + "def f(token): pass\n    await ep.request_short(1, f)": (
        "conduit.errors.BadRequest: ep.request_short: handler=f is not attached on this rank; pass it to `await "
        "ep.attach(...)` first (attached: none of its file)"
    ),
    EXTENDED + "await ep.request_short(1, 'h', 1)": (
        "conduit.errors.BadRequest: ep.request_short: handler='h' is a str; pass the function itself, as it was given "
        "to `await ep.attach(...)` (attached: none of this file)"
    ),
    CORE + "await ep.request_short(1, 'h', 1)": (
        "conduit.errors.BadRequest: ep.request_short: handler='h' is a str; pass the function itself, h, of prog.py:3 "
        "(attached: h)"
    ),
    CORE + "await ep.request_short(1, 0, 1)": (
        "conduit.errors.BadRequest: ep.request_short: handler=0 is an int; pass the function itself, as it was given "
        "to `await ep.attach(...)` (attached: h)"
    ),
    CORE + "await ep.request_short(h, 1, 1)": (
        "conduit.errors.BadRequest: ep.request_short: dest=h is a function; pass an int"
    ),
    CORE
    + "await ep.attach('g')": "conduit.errors.BadRequest: ep.attach: handler='g' is a str; pass the function itself: g",
    CORE + "await ep.attach([h, main])": (
        "conduit.errors.BadRequest: ep.attach: handler=[h, main] is a list; pass each function by itself, `await "
        "ep.attach(f, g)`: none has a number of its own"
    ),
    CORE + "def g(): pass\n    await ep.attach(g)": (
        "conduit.errors.BadRequest: ep.attach: handler=g (prog.py:5) takes no token; write `def g(token, ...)`"
    ),
    CORE + "def g(token, n, *, k, more=1, last): pass\n    await ep.attach(g)": (
        "conduit.errors.BadRequest: ep.attach: handler=g (prog.py:5) takes k and last by keyword alone, and a message "
        "gives none by keyword; take the * away, or give each a default"
    ),
    CORE + "await ep.attach((200, h))": (
        "conduit.errors.BadRequest: ep.attach: handler=[200, h] is a tuple; pass each function by itself, `await "
        "ep.attach(f, g)`: none has a number of its own"
    ),
    CORE + "def g(token): token.reply(h, 1)\n    await ep.attach(g)\n    await ep.request_short(0, g)": (
        "Token has no reply; write `token.reply_short(handler, *args)`, with bytes `token.reply_medium(handler, "
        "payload, *args)`"
    ),
    EXTENDED + "int(await x.get(0, 0, 8))": (
        "take one element of the array, as `a[0]`; where it is the bytes of a number, as `await x.get(...)` returns "
        "them, write `a.view('i8')[0]`, with the number's dtype, or get it by `await x.get_value(rank, offset)`"
    ),
    EXTENDED + "await x.barrier_notify()\n    while not await x.barrier_try(): pass\n    await x.barrier_wait()": (
        "conduit.errors.BadRequest: x.barrier_wait: this rank has not notified, since barrier_try, which returned "
        "True, has ended its last barrier; call barrier_notify first, or barrier for both"
    ),
    EXTENDED + "await x.exscan(1)": (
        "Extended has no exscan; x.scan counts this rank in: write `await x.scan(array) - array` for the sum of those "
        "before it"
    ),
    EXTENDED + "await x.reduce_scatter([1, 2])": (
        "Extended has no reduce_scatter; write `(await x.all_reduce(array))[x.rank]`, with a row of `array` for each "
        "rank"
    ),
    EXTENDED + "await x.sum(1)": "Extended has no sum; write `await x.all_reduce(array, 'sum')`",
    CORE + "await ep.rma.put(1, None, b'a', None)": (
        "ep.rma is None on a network without native operations of its own, or with the option rma=am: write `await "
        "x.put(...)`, of `x = await Extended.attach(ep)`, which takes either"
    ),
    CORE + "await ep.send_short(1, h, 1)": (
        "Endpoint has no send_short; write `await ep.request_short(dest, handler, *args)`"
    ),
    CORE + "await ep.gasnet_AMRequestShort2(1, h, 1)": (
        "Endpoint has no gasnet_AMRequestShort2; write `await ep.request_short(dest, handler, *args)`"
    ),
    CORE + "ep.AMGetMsgSource()": "Endpoint has no AMGetMsgSource; write `token.rank`, in a handler",
    CORE + "await ep.request_short(1-ep.rank, h())": (
        "ep.request_short calls h by itself: write `await ep.request_short(1 - ep.rank, h)`"
    ),
    CORE
    + "await ep.request_short(1, h(7))": "ep.request_short calls h by itself: write `await ep.request_short(1, h, 7)`",
    CORE + "await ep.request_short(1, h(None, 7), 8)": (
        "ep.request_short calls h by itself: write `await ep.request_short(1, h, None, 7, 8)`"
    ),
    CORE + "def g(*_): pass\n    await ep.attach(g())": "ep.attach calls g by itself: write `await ep.attach(g)`",
    CORE + "def g(*_): pass\n    await ep.attach(g)\n    await ep.request_short(1, g(), 8)": (
        "ep.request_short calls g by itself: write `await ep.request_short(1, g, 8)`"
    ),
    CORE + "def g(token, payload): pass\n    await ep.attach(g)\n    await ep.request_medium(1, g(b'a'))": (
        "ep.request_medium calls g by itself: write `await ep.request_medium(1, g, b'a')`"
    ),
    CORE + "def g(token, payload, n): pass\n    await ep.attach(g)\n    await ep.request_medium(1, g(7), b'a', 7)": (
        "ep.request_medium calls g by itself: write `await ep.request_medium(1, g, b'a', 7)`"
    ),
    CORE + "def g(token, payload): pass\n    await ep.attach(g)\n    await ep.request_long(1, g, b'abcdefgh', -8)": (
        "conduit.errors.BadRequest: ep.request_long: 8 bytes at offset=-8 are not inside the segment of rank 1, which "
        "has 1048576 bytes; offsets begin at 0"
    ),
    CORE + "def g(token, payload): pass\n    await ep.attach(g)\n    await ep.request_long(1, g, b'abc', 1 << 20)": (
        "conduit.errors.BadRequest: ep.request_long: 3 bytes at offset=1048576 are not inside the segment of rank 1, "
        "which has 1048576 bytes; ask for a larger one with segment= or --segment"
    ),
    # More of the other libraries.
    SHMEM + "await pe.max_to_all(a, a)": "PE has no max_to_all; write `await pe.max_reduce(target, source)`",
    SHMEM + "await pe.long_put(a, a, 1)": (
        "PE has no long_put; write `await pe.put(target, source, dest)`, of arrays of any type"
    ),
    SHMEM + "with await pe.Lock():\n        pass": ("to enter it may take time: write `async with await pe.Lock():`"),
    UPC + "MYTHREAD": "MYTHREAD is of t: write `t.MYTHREAD`",
    UPC + "from extended import Extended\n    await Extended.attach(t)": (
        "conduit.errors.BadRequest: Extended.attach: ep is a Thread, which has the extended layer: write "
        "`x = t.extended`"
    ),
    UPC + "from extended import Extended\n    def here(thread): return Extended.attach(thread)\n    await here(t)": (
        "conduit.errors.BadRequest: Extended.attach: ep is a Thread, which has the extended layer: write "
        "`x = thread.extended`"
    ),
    SHMEM + "from extended import Extended\n    await Extended.attach(pe)": (
        "conduit.errors.BadRequest: Extended.attach: ep is a PE, which has the extended layer: write `x = pe.extended`"
    ),
    SHMEM + "from extended import Extended\n    kept = [pe]\n    del pe\n    await Extended.attach(kept[0])": (
        "conduit.errors.BadRequest: Extended.attach: ep is a PE, which has the extended layer: write `x = pe.extended`"
    ),
    UPC + "upc_forall": "upc_forall is t.forall here: write `t.forall(...)`",
    EXTENDED + "await gasnet_barrier_notify(1)": (
        "gasnet_barrier_notify is x.barrier_notify here: write `await x.barrier_notify()`"
    ),
    EXTENDED + "await MPI_Allreduce(1)": "MPI_Allreduce is x.all_reduce here: write `await x.all_reduce(...)`",
    EXTENDED + "shmem_int_put(1)": "shmem_int_put is x.put here: write `await x.put(...)`",
    EXTENDED + "v = await x.gather(ep.rank); v[0]": (
        "v is None, which is what x.gather(ep.rank) at prog.py:4 gave on this rank; the root alone is given the result"
    ),
    CORE + "v = await ep.request_short(ep.rank, h, 1)\n    v + 1": (
        "v is None, which is what ep.request_short(ep.rank, h, 1) at prog.py:5 gave on this rank; what a handler "
        "returns goes nowhere: let it answer by `token.reply_short(handler, *args)`, and `await ep.block_until(...)` "
        "for what that handler keeps"
    ),
    EXTENDED + "def h(token): pass\n    await ep.attach(h)\n    await ep.request_short(0, print)": (
        "conduit.errors.BadRequest: ep.request_short: handler=print is not attached on this rank; pass it to `await "
        "ep.attach(...)` first (attached: h)"
    ),
    EXTENDED + "await x.all_reduce(__import__('numpy').arange(4.), __import__('numpy').concatenate)": (
        "conduit.errors.BadRequest: x.all_reduce: op=concatenate fails on two arrays of shape (4,) and dtype float64: "
        "TypeError: only integer scalar arrays can be converted to a scalar index; give a function that makes one "
        "array of two"
    ),
    MPI + "async def f(x, y, d): pass\n    MPI.Op.Create(f)": (
        "conduit.errors.BadRequest: MPI.Op.Create: function=f is async, and an operator cannot wait; write `def op("
        "inbuf, inoutbuf, datatype)`, which makes inoutbuf, a buffer of bytes, of both"
    ),
    MPI + "await comm.Allreduce(b, b.copy(), MPI.Op.Create(lambda x, y, d: np.frombuffer(x) + np.frombuffer(y)))": (
        "conduit.errors.BadRequest: Op.Create: function=<lambda> returned a ndarray, which is not used; write `def op("
        "inbuf, inoutbuf, datatype)`, which makes inoutbuf, a buffer of bytes, of both, as by `numpy.frombuffer("
        "inoutbuf, dtype)[:] = result`"
    ),
    CORE + "gasnet_AMPoll": "write `await ep.poll()`",
    CORE + "gasnet_mynode()": "write `ep.rank`",
    CORE + "MYTHREAD": 'if this is a program of upc, put `api = "upc"` at its top',
    CORE + "await shmem_put(1)": (
        "Extended has put: `from extended import Extended`, then `x = await Extended.attach(ep)` and `await x.put(...)`"
    ),
    CORE + "x = await Extended.attach(ep)": "write `from extended import Extended` at the top",
    # Names of UPC, UPC++ and MPI where these are not at hand.
    UPC + "await t.all_reduce(a, a, UPC_ADD)": "operations are words here: write op='sum'",
    UPC + "t.UPC_MULT": "Thread has no UPC_MULT; operations are words here: write op='prod'",
    UPC + "from extended import upc\n    upc.UPC_ADD": "operations are words here: write op='sum'",
    UPC + "UPC_LOGAND": "operations without a word are functions: write op=numpy.logical_and",
    UPC + "UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC": "leave it out: collectives have UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC",
    UPC + "upc_affinitysize(a, 8, 0)": "write `a.local.nbytes`, of a shared array `a`: the bytes on this thread",
    UPC + "import upcxx": "there is no upcxx here: write `from extended import upc`",
    UPC + "from upcxx import rput": "there is no upcxx here: write `from extended import upc`",
    UPC + "upcxx.rput(3, a)": "write `a[i] = value`, of a shared array `a`",
    UPC + "upcxx.barrier()": "upcxx.barrier is t.barrier here: write `await t.barrier()`",
    UPC + "from extended import upc\n    upc.rput(3, a)": "write `a[i] = value`, of a shared array `a`",
    UPC + "MPI_COMM_WORLD": "a program has all threads: write `t.MYTHREAD`, `t.THREADS`, `await t.barrier()`",
    UPC + "MPI.COMM_WORLD": "a program has all threads: write `t.MYTHREAD`, `t.THREADS`, `await t.barrier()`",
    UPC + "MPI.SUM": "write `from conduits.mpi import MPI` at the top",
    SHMEM + "MPI.COMM_WORLD": "write `pe.my_pe()` and `pe.n_pes()`; the team of all PEs is `pe.TEAM_WORLD`",
    SHMEM + "MPI_COMM_WORLD": "write `pe.my_pe()` and `pe.n_pes()`; the team of all PEs is `pe.TEAM_WORLD`",
    EXTENDED + "MPI.COMM_WORLD": (
        "`x` itself is the team of all ranks: write `x.rank`, `x.size`, `await x.barrier()`; if this is a program of "
        'mpi, put `api = "mpi"` at its top'
    ),
    EXTENDED + "x.COMM_WORLD": (
        "Extended has no COMM_WORLD; `x` itself is the team of all ranks: write `x.rank`, `x.size`, `await x.barrier()`"
    ),
    EXTENDED + "await x.all_reduce(3, UPC_ADD)": "operations are words here: write op='sum'",
    EXTENDED + "await x.all_reduce(3, MPI_SUM)": "operations are words here: write op='sum'",
    EXTENDED + "upcxx.rpc(1, print)": (
        "write a handler, `await ep.attach(f)`, and `await ep.request_short(dest, f, *args)`; if this is a program of "
        'upc, put `api = "upc"` at its top'
    ),
    MPI + "MPI_COMM_WORLD": "write `comm`, as main is given it, or `MPI.COMM_WORLD`",
    CORE + "MPI_COMM_WORLD": "write `ep.rank` and `ep.size`",
    CORE + "MPI.COMM_WORLD": (
        'write `ep.rank` and `ep.size`; if this is a program of mpi, put `api = "mpi"` at its top'
    ),
    CORE + "upc.barrier()": "write `from extended import upc` at the top",
    CORE + "conduit.current()": "write `import conduit` at the top",
    CORE + "ep.segment[:4].view('i8')": (
        "ep.segment is bytes, and so are the bounds of its slices: for n elements of 8 bytes write `ep.segment[:8 * n]`"
    ),
    CORE + "import numpy as np\n    ep.segment[:64] = np.arange(8.0)": (
        "ep.segment is bytes: for numbers of another dtype write `ep.segment[:64].view(dtype)[:] = np.arange(8.0)`"
    ),
    CORE + "import numpy as np\n    o, values = 8, np.zeros(3, 'i4')\n    ep.segment[o:o + 12] = values": (
        "ep.segment is bytes: for numbers of another dtype write `ep.segment[o:o + 12].view(dtype)[:] = values`"
    ),
    EXTENDED + "import conduit\n    conduit.gasnet_mynode()": "conduit has no gasnet_mynode; write `x.rank`",
    EXTENDED + "import conduit\n    await conduit.barrier()": "barrier is of x: write `await x.barrier()`",
    EXTENDED + "await x.put_bulk(0, 0, b'a')": "Extended has no put_bulk; write `await x.put(dest, offset, data)`",
    EXTENDED + "s = await x.get(0, 0, 8).view('i8')": (
        "x.get(0, 0, 8) at prog.py:4 was called but never awaited, so it did nothing; write `(await x.get(0, 0, "
        "8)).view('i8')`"
    ),
    EXTENDED + "await x.all_reduce(1)[0]": (
        "x.all_reduce(1) at prog.py:4 was called but never awaited, so it did nothing; write `(await "
        "x.all_reduce(1))[0]`"
    ),
    EXTENDED + "await x.gatherv(1)": (
        "Extended has no gatherv; collectives take arrays of one shape of all ranks: pad them to the longest, and "
        "exchange the lengths first"
    ),
    EXTENDED + "await x.all_to_all([[1], [1, 2]])": (
        "conduit.errors.BadRequest: x.all_to_all: array is a list that is no array: its rows differ in length; pad "
        "them to the longest, and exchange the lengths first"
    ),
    EXTENDED + "await x.cas(0, 0, 1, 2)": (
        "Extended has no cas; write `await x.atomic(dtype).compare_swap(dest, offset, expected, new)`"
    ),
    EXTENDED + "await x.all_reduce(1.0, __import__('numpy').mean)": (
        "conduit.errors.BadRequest: x.all_reduce: op=mean reduces a single array, and an operation makes one of two; "
        "write op='sum', and divide by how many there are"
    ),
    EXTENDED + "h = x.put_nb(0, 0, b'a')\n    await h\n    await h": (
        "h is a call that was awaited before, and a call is awaited once: keep what that gave, `value = await h`; a "
        "call whose name ends in _nb gives a handle, `h = await x.put_nb(...)`, and then `await h` gives the value"
    ),
    UPC + "from extended import upc\n    upc.THREADS": (
        "extended.upc has no THREADS, but what main is called with has: `async def main(t)`, then `t.THREADS`"
    ),
    EXTENDED + "h = await x.get_nb(0, 0, 8)\n    if h: pass": (
        "conduit.errors.BadRequest: get_nb: its handle is no truth value; write `handle.done` for whether it is "
        "done, `await handle` to wait until it is, or `handle is not None` for whether there is one"
    ),
    UPC + "await t.lock('a').lock()": ("SharedLock has no lock; write `await lock.acquire()`, or `async with lock:`"),
    UPC + "import upc": "there is no upc here: write `from extended import upc`",
    EXTENDED + "await x.lock('a').unlock()": "Lock has no unlock; write `await lock.release()`",
    EXTENDED + "await x.atomic('i8').fetch_and_add(0, 0, 1)": (
        "Atomic has no fetch_and_add; write `await d.fetch_add(dest, offset, v)`"
    ),
    MPI + "await MPI.Request.Waitall(await comm.Irecv(b))": (
        "conduit.errors.BadRequest: MPI.Request.Waitall: requests is a single one; give a list, [request], or `await "
        "request.Wait()`"
    ),
    MPI + "await MPI.Request.Waitall(None)": (
        "conduit.errors.BadRequest: MPI.Request.Waitall: requests=None is no value; give a list of requests"
    ),
    # Locks that are made and not taken.
    UPC + "await t.lock('a')": (
        "t.lock('a') makes a SharedLock and does not take it: write `async with t.lock('a'):`, or `await "
        "t.lock('a').acquire()` and `await t.lock('a').release()`"
    ),
    EXTENDED + "await x.lock('a')": (
        "x.lock('a') makes a Lock and does not take it: write `async with x.lock('a'):`, or `await "
        "x.lock('a').acquire()` and `await x.lock('a').release()`"
    ),
    UPC + "t.lock('a')": "conduit.errors.BadRequest: t.lock: " + ALONE.format("t.lock('a')"),
    EXTENDED + "x.lock(3)": "conduit.errors.BadRequest: x.lock: " + ALONE.format("x.lock(3)"),
    EXTENDED + "layers = [x]\n    layers[0].lock(\n        'a'\n    )": (
        "conduit.errors.BadRequest: layers[0].lock: " + ALONE.format("x.lock('a')")
    ),
    UPC + "await t.unlock('a')": (
        "Thread has no unlock; write `await t.lock(name).release()`, or `async with t.lock(name):` around what it is "
        "held for"
    ),
    EXTENDED + "await x.unlock('a')": (
        "Extended has no unlock; write `await x.lock(name).release()`, or `async with x.lock(name):` around what it is "
        "held for"
    ),
    # UPC's own names.
    UPC + "await a.barrier()": (
        "SharedArray has no barrier, but what main is called with has: write `await t.barrier()`"
    ),
    UPC + "await t.wait()": (
        "conduit.errors.BadRequest: t.wait: this thread has not notified; call t.notify first, or t.barrier for both"
    ),
    UPC + "await t.notify(3)\n    await t.notify()": (
        "conduit.errors.BadRequest: t.notify: this thread has notified the barrier (id 3) and not yet waited for it; "
        "call t.wait first"
    ),
    UPC + "await t.notify(t.MYTHREAD)\n    await t.wait()": (
        "extended.BarrierMismatch: t.wait: threads gave ids 0 and 1 to one barrier, this one 0; give the same "
        "id on every thread, or None"
    ),
    UPC + "await t.all_reduce(a, 'sum')": "t.all_reduce takes (dst, src, op='sum')",
    UPC + "await t.extended.all_reduce(a)": (
        "conduit.errors.BadRequest: t.extended.all_reduce: array: a shared array was used as a numpy array; write "
        "`a.local` for this thread's elements, `await a[:]` for all"
    ),
    UPC + "sum(a[i] for i in range(4))": NOT_AWAITED.format("a[i]", "in arithmetic"),
    UPC + "f'{a[0]:.2f}'": NOT_AWAITED.format("a[0]", "as text"),
    UPC + "a[0] == 0": NOT_AWAITED.format("a[0]", "in a comparison"),
    UPC + "a[0] += 1": (
        NOT_AWAITED.format("a[0]", "in an assignment with an operator")
        + ", and `await a.add_at(i, v)` where `a[i] += v` was "
        "meant"
    ),
    UPC + "await t.notify()\n    await t.barrier()": (
        "conduit.errors.BadRequest: t.barrier: this thread has notified the barrier and not yet waited for it; call "
        "t.wait first"
    ),
    UPC + "for i in t.forall(a): pass": (
        "conduit.errors.BadRequest: t.forall: it takes start, stop and step, and this is a shared array; write "
        "`a.forall()` of the array for the indices of its elements on this thread"
    ),
    EXTENDED + "import numpy as np\n    await x.all_reduce(np.ones(5), np.zeros(5))": (
        "conduit.errors.BadRequest: x.all_reduce: op is a ndarray and no operation; the call returns the result, and "
        "fills memory that is given by name: out="
    ),
    EXTENDED + "await x.reduce([1, 2], [0, 0])": (
        "conduit.errors.BadRequest: x.reduce: op is a list and no operation; the call returns the result, and fills "
        "memory that is given by name: out="
    ),
    UPC + "await a.local[0]": (
        "a.local[0] is an element of an array, which is there at once: write it without `await`"
    ),
    UPC + "async for v in a: pass": "a is a SharedArray: write `for value in await a[:]`",
    CORE + "import trio\n    await ep.block_until(trio.Event())": (
        "conduit.errors.BadRequest: ep.block_until: predicate=<trio.Event object> cannot be called; pass its `is_set`, "
        "or another function of no arguments, `lambda: ...`, which is called again and again"
    ),
    CORE + "ep.segment[:8] = b'12345678'": (
        "ep.segment is an array of numbers: write `ep.segment[:8] = numpy.frombuffer(b'12345678', 'u1')`"
    ),
    CORE + "text = '12345678'\n    ep.segment[:8] = text": (
        "ep.segment is an array of numbers: write `ep.segment[:8] = numpy.frombuffer(text.encode(), 'u1')`"
    ),
    CORE + "def g(token): token.reply_short(token.rank, h, 1)\n    await ep.attach(g)\n    "
    "await ep.request_short(0, g)": (
        "conduit.errors.BadRequest: token.reply_short: handler=0 is an int; a reply goes to who has sent and has no "
        "dest: begin with the function itself (attached: h, g)"
    ),
    # What a call that was not awaited would have given.
    MPI + "await comm.Isend(b, dest=0).Wait()": (
        "comm.Isend(b, dest=0) at prog.py:6 was called but never awaited, so it did nothing; write `await (await "
        "comm.Isend(b, dest=0)).Wait()`"
    ),
    MPI + "s = MPI.Status()\n    await comm.Irecv(b).Wait(status=s)": (
        "comm.Irecv(b) at prog.py:7 was called but never awaited, so it did nothing; write `await (await "
        "comm.Irecv(b)).Wait(status=s)`"
    ),
    EXTENDED + "v = x.all_reduce(3).sum() + 1": (
        "x.all_reduce(3) at prog.py:4 was called but never awaited, so it did nothing; write `(await "
        "x.all_reduce(3)).sum`"
    ),
    EXTENDED + "h = x.put_nb(1, 0, b'a')\n    await h.wait()": (
        "x.put_nb(1, 0, b'a') at prog.py:4 was called but never awaited, so it did nothing; write `await "
        "x.put_nb(1, 0, b'a')`"
    ),
    # Arguments in mpi4py's order, but for some.
    MPI + "await comm.Sendrecv(b, 1 - comm.rank, b.copy())": (
        "comm.Sendrecv takes (sendbuf, dest, sendtag=0, recvbuf=None, source=ANY_SOURCE, recvtag=ANY_TAG, status=None)"
    ),
    MPI + "await comm.Send(b, b)": "comm.Send takes (buf, dest, tag=0)",
    # An offset that is taken for an array.
    EXTENDED + "a = await x.all_alloc(100)\n    a[0] = 3": OFFSET,
    EXTENDED + "a = await x.all_alloc(100)\n    print(a[0])": OFFSET,
    EXTENDED + "a = await x.all_alloc(100)\n    a[0] += 3": OFFSET,
    # SHMEM's waits.
    SHMEM + "await pe.wait_until(a[0], '>', 3)": (
        "conduit.errors.BadRequest: pe.wait_until: ivar=np.int64(0) is the value of an element, and says no more "
        "where that lies; give a part of the array, a[3:4] for a[3]"
    ),
}


@pytest.mark.parametrize("source", LINES, ids=range(len(LINES)))
def test_a_slip_is_told_what_to_write_and_ends_in_the_users_line(shown, source):
    lines = shown(source)
    assert LINES[source] in lines
    files = [line for line in lines if line.startswith('  File "')]
    assert files[-1].startswith('  File "prog.py", line '), "no line of this package is the last"
    assert lines.count(LINES[source]) == 1


@pytest.mark.parametrize(("source", "said"), OF_BEGINNERS, ids=range(len(OF_BEGINNERS)))
def test_a_slip_of_a_beginner_is_told_at_the_end(shown, source, said):
    words = ["5"] if "main(ep, n)" in source else []
    assert shown(source, "--", *words)[-1] == said


def test_a_number_that_a_byte_does_not_hold_is_no_text(shown):
    assert shown(CORE + "ep.segment[0] = 300")[-1].startswith("raised by rank ")


def test_windows_of_mpi4py_itself_are_told_whose_they_are():
    """To import the real one begins MPI, so that a function stands for what refuses."""
    code = "def main(MPI, x):\n    MPI.Win.Allocate(64, 8, comm=x)\n"

    def refuse(*_, comm):
        raise TypeError("Argument 'comm' has incorrect type (expected mpi4py.MPI.Intracomm, got Extended)")

    names = {}
    linecache.cache["prog.py"] = (len(code), None, code.splitlines(keepends=True), "prog.py")
    exec(compile(code, "prog.py", "exec"), names)
    windows = types.SimpleNamespace(Win=types.SimpleNamespace(Allocate=refuse))
    with pytest.raises(TypeError) as caught:
        names["main"](windows, None)
    caught.value.__traceback__.tb_next.tb_next = None  # as of a compiled function
    said = "MPI.Win is of mpi4py itself: write `from extended.windows import Win`, and `Win` in its place"
    assert hint(caught.value) == said


def test_calls_in_another_run_of_trio_are_told_how_to_make(tmp_path, ran):
    call = "def w():\n        trio.run(ep.request_short, 1 - ep.rank, h, 1)"
    begin = "t = threading.Thread(target=w)\n    t.start()\n    t.join()"  # while nothing else runs
    (tmp_path / "prog.py").write_text(f"import threading, trio\n{CORE}{call}\n    {begin}")
    done = ran("conduit", "run", "prog.py")
    assert done.returncode == 0
    assert f"RuntimeError: {ANOTHER_RUN}" in done.stderr.splitlines()
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("call", ["ep.request_short, 1 - ep.rank, h, 1", "x.barrier"])
def test_calls_in_another_run_of_trio_while_a_rank_waits_for_it_are_told_how_to_make(tmp_path, ran, call):
    source = f"import trio\nfrom extended import Extended\n{CORE}x = await Extended.attach(ep)\n    "
    source += f"await trio.to_thread.run_sync(lambda: trio.run({call}))"
    (tmp_path / "prog.py").write_text(source)
    done = ran("conduit", "run", "prog.py")
    assert done.returncode == 1
    assert ANOTHER_RUN in done.stderr


def test_a_thread_that_trio_begins_makes_calls_of_its_rank(command, tmp_path):
    source = """
        import trio

        async def main(ep):
            got = []
            def h(token, number): got.append(number)
            await ep.attach(h)
            await trio.to_thread.run_sync(lambda: trio.from_thread.run(ep.request_short, 1 - ep.rank, h, ep.rank))
            await ep.block_until(lambda: got)
            print(ep.rank, got)
    """
    (tmp_path / "prog.py").write_text(textwrap.dedent(source))
    status, out, err = command("run", str(tmp_path / "prog.py"))
    assert status == 0, err
    assert sorted(out.splitlines()[:2]) == ["0 [1]", "1 [0]"]


def test_a_call_that_fails_where_its_value_is_wanted_is_not_told_to_be_given_as_a_function(shown):
    lines = shown(EXTENDED + "def f(n): pass\n    await x.put(1, 0, f())")
    assert lines[-1].startswith("raised by rank ")
    assert not any("by itself" in line for line in lines)


def test_a_handler_that_assigns_what_nobody_waits_for_is_not_told(shown):
    """Neither its arguments nor names that the predicate does not look at."""
    body = "    seen, got = 0, False\n    def h(token, got): seen = got\n    await ep.attach(h)\n"
    lines = shown(f"async def main(ep):\n{body}    await ep.block_until(lambda: got)")
    assert not any("of its own" in line for line in lines)


def test_a_comprehension_has_its_variables_to_itself(shown):
    source = """
    async def main(ep):
        got = [i for i in range(3)]
        for i in range(2):
            await ep.block_until(lambda: len(got) < i)
    """
    assert not any("of its own" in line for line in shown(source))


@pytest.mark.parametrize("name", ["sleep", "init", "Init", "finalize"])
def test_what_to_write_for_names_that_the_package_has_not(shown, name):
    write = {"sleep": "write `await trio.sleep(seconds)`"}.get(
        name, "it needs none: write `conduit.run(main, ranks=2)`"
    )
    lines = shown(f"import conduit\nasync def main(ep): conduit.{name}()")
    assert lines[-2].startswith(f"AttributeError: module 'conduit' has no attribute '{name}'; {write}")


@pytest.mark.parametrize("name", ["Waitall", "Testall", "Waitany", "Testany", "Waitsome", "Testsome", "Startall"])
def test_a_call_of_a_class_of_mpi_that_is_not_awaited_is_told_with_its_line(shown, name):
    call = f"MPI.Prequest.{name}([])"
    assert (
        f"conduit.errors.BadRequest: {call} at prog.py:6 was called but never awaited, so it did nothing; write `await "
        f"{call}`"
    ) in shown(MPI + call)


def at_once(call):
    return (
        "programs run on Trio, where nothing of asyncio works: write `async with trio.open_nursery() as nursery:` and "
        f"in it `nursery.start_soon({call})` for each call that is to be made at the same time, the function and its "
        "arguments without parentheses"
    )


WITHIN = (
    "programs run on Trio, where nothing of asyncio works: write `with trio.fail_after(seconds):` around what may not "
    "take longer"
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("await asyncio.gather(ep.poll(), ep.poll())", at_once("ep.poll")),
        ("asyncio.create_task(ep.request_short(1, h, 2))", at_once("ep.request_short, 1, h, 2")),
        ("async with asyncio.TaskGroup() as group: pass", at_once("ep.poll")),
        ("await asyncio.wait_for(ep.poll(), 1)", WITHIN),
        ("async with asyncio.timeout(1): pass", WITHIN),
        (
            "await asyncio.Event().wait()",
            "programs run on Trio, where nothing of asyncio works: write `await ep.block_until(lambda: come)` for what "
            "a handler sets, `come`: only such a wait runs handlers",
        ),
        (
            "await asyncio.Queue().get()",
            "programs run on Trio, where nothing of asyncio works: write `await ep.block_until(lambda: come)` for a "
            "list that a handler appends to, `come`, and `come.pop(0)`: only such a wait runs handlers",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_programs_write_for_names_of_asyncio(shown, line, said):
    # Where there is no loop, asyncio makes one, keeps it, and complains when it dies, in another test.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        lines = shown(CORE + line)
        assert said in lines
        assert not [each for each in lines if "never awaited" in each], "one advice, and no other beside it"
    finally:
        asyncio.set_event_loop(None)
        loop.close()
        gc.collect()  # what was begun in it complains when it dies


ONE_BY_ONE = (
    "programs run on Trio, where nothing of asyncio works: write `{}` in its place, which makes one call after the "
    "other; to make them at the same time, let each keep what it gets, in a list of main's, and start them in `async "
    "with trio.open_nursery() as nursery:`"
)
BEGUN = (
    "programs run on Trio, where nothing of asyncio works: write `handles = {}`, then `await x.wait_all(handles)` in "
    "the place of `gather`"
)
GATHERED = {
    "a, b = await asyncio.gather(x.get(0, 0, 8), x.get(1, 0, 8))": BEGUN.format(
        "[await x.get_nb(0, 0, 8), await x.get_nb(1, 0, 8)]"
    ),
    "return await asyncio.gather(*[x.get_value(r, 0) for r in range(2)])": BEGUN.format(
        "[await x.get_value_nb(r, 0) for r in range(2)]"
    ),
    "print(await asyncio.gather(*(x.get(r, 0, 8) for r in range(2))))": BEGUN.format(
        "[await x.get_nb(r, 0, 8) for r in range(2)]"
    ),
    "for a in await asyncio.gather(one(1), x.get_value(0, 0)): pass": ONE_BY_ONE.format(
        "[await one(1), await x.get_value(0, 0)]"
    ),
    **{
        f"{made}\n    a = await asyncio.gather(*t)": ONE_BY_ONE.format("[await each for each in t]")
        for made in (
            "t = [one(1), one(2)]",
            "t = [\n        one(n)\n        for n in range(2)\n    ]",
            "t = []\n    for n in range(2): t.append(one(n))",
            "t = [one(1)]\n    t += [x.get(0, 0, 8)]",
        )
    },
    "one_ = one(1)\n    a = await asyncio.gather(one_, one(2))": ONE_BY_ONE.format("[await one_, await one(2)]"),
    "t = [one(1), one(2)]\n    await asyncio.gather(*t)": (
        "programs run on Trio, where nothing of asyncio works: write `for each in t: await each` in its place, which "
        "makes one call after the other; to make them at the same time, put no calls in t: start each in `async with "
        "trio.open_nursery() as nursery:` by `nursery.start_soon(function, *arguments)`"
    ),
    "await asyncio.gather(x.put(0, 0, b'a'), x.put(1, 0, b'a'))": at_once("x.put, 0, 0, b'a'"),
    "for a in range(2): await asyncio.gather(x.barrier())": at_once("x.barrier"),
}


@pytest.mark.parametrize("body", GATHERED)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_results_of_asyncio_gather_are_kept_by_what_is_written_for_it(shown, body):
    loop = asyncio.new_event_loop()  # as above
    asyncio.set_event_loop(loop)
    try:
        lines = shown(f"import asyncio\nasync def one(n): return n\n{EXTENDED}{body}")
        assert GATHERED[body] in lines
        held = [each for each in lines if "never awaited" in each]
        assert not held, "one advice, and no other beside it"
    finally:
        asyncio.set_event_loop(None)
        loop.close()
        gc.collect()


@pytest.mark.parametrize("right", ["a = [await each for each in t]", "for each in t: await each"])
def test_what_is_written_for_gather_awaits_calls_that_were_made_before(command, tmp_path, monkeypatch, right):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(f"async def one(n): return n\n{EXTENDED}t = [one(1), x.barrier()]\n    {right}")
    assert command("run", "prog.py", "--conduit", "loggp").status == 0


FOREIGN_WORDS = "programs run on Trio, where nothing of asyncio works: write "
COMPLETED = {
    "x.barrier()": "`await x.barrier()`, and nothing else: main runs already",
    "one(ep)": "`await one(ep)`, and nothing else: main runs already",
    "x.barrier": "`await x.barrier(...)`, and nothing else: main runs already",
    "asyncio.wait_for(x.barrier(), 1)": WITHIN.removeprefix(FOREIGN_WORDS),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("given", COMPLETED)
@pytest.mark.parametrize("loop", ["asyncio.get_event_loop()", "loop"])
def test_what_a_program_gives_to_a_loop_of_asyncio_it_is_told_to_await(shown, given, loop):
    kept = asyncio.new_event_loop()  # as above
    asyncio.set_event_loop(kept)
    try:
        lines = shown(
            "import asyncio\nasync def one(ep): await ep.poll()\n" + EXTENDED + "loop = asyncio.get_event_loop()\n    "
            f"v = {loop}.run_until_complete({given})"
        )
        assert FOREIGN_WORDS + COMPLETED[given] in lines
        assert not [each for each in lines if "never awaited" in each], "one advice, and no other beside it"
    finally:
        asyncio.set_event_loop(None)
        kept.close()
        gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_plain_function_that_gives_a_call_to_a_loop_of_asyncio_leaves_it_to_main(shown):
    kept = asyncio.new_event_loop()  # as above
    asyncio.set_event_loop(kept)
    try:
        lines = shown(
            "import asyncio\ndef meet(x): asyncio.get_event_loop().run_until_complete(x.barrier())\n"
            + EXTENDED
            + "meet(x)"
        )
        said = "`await x.barrier()` in main: meet is a plain function, which cannot wait"
        assert FOREIGN_WORDS + said in lines
    finally:
        asyncio.set_event_loop(None)
        kept.close()
        gc.collect()


@pytest.mark.parametrize("call", ["asyncio.run(ep.poll())", "asyncio.run(ep.request_short(1 - ep.rank, h, 1))"])
def test_asyncio_run_in_a_program_is_told_with_its_line_and_nothing_behind(tmp_path, ran, call):
    (tmp_path / "prog.py").write_text(CORE + call)
    done = ran("conduit", "run", "prog.py", "--conduit", "loggp")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[:3] == ["Traceback (most recent call last):", '  File "prog.py", line 5, in main', f"    {call}"]
    assert lines[3].startswith("RuntimeError: Task got bad yield: ")
    assert lines[4].startswith("raised by rank ")
    assert lines[5:] == [
        "programs run on Trio, where nothing of asyncio works: write `await` before the call, and nothing else: main "
        "runs already"
    ]
    assert (
        "\nprograms run on Trio, where nothing of asyncio works: write `await` before the call, and nothing else: main "
        "runs already\n"
    ) in done.stderr


IN_A_THREAD = {
    "asyncio.run(ep.poll())": "write `trio.from_thread.run(ep.poll)` in work, which runs in a thread",
    "asyncio.run(ep.request_short(1 - ep.rank, h, 1))": (
        "write `trio.from_thread.run(ep.request_short, 1 - ep.rank, h, 1)` in work, which runs in a thread"
    ),
    "asyncio.Runner().run(ep.poll())": "write `trio.from_thread.run(ep.poll)` in work, which runs in a thread",
    "asyncio.new_event_loop().run_until_complete(ep.poll())": (
        "write `await ep.poll()` in main: work is a plain function, which cannot wait"
    ),
}


@pytest.mark.parametrize("network", ["loggp", "t3e", "sci"])
@pytest.mark.parametrize("call", IN_A_THREAD)
def test_asyncio_in_a_thread_of_a_program_is_told_with_its_line_and_nothing_behind(tmp_path, ran, call, network):
    begin = f"def work():\n        {call}\n    if ep.rank == 0:\n        await trio.to_thread.run_sync(work)"
    (tmp_path / "prog.py").write_text(f"import trio\n{CORE}{begin}")
    done = ran("conduit", "run", "prog.py", "--conduit", network)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[:5] == [
        "Traceback (most recent call last):",
        '  File "prog.py", line 9, in main',
        "    await trio.to_thread.run_sync(work)",
        '  File "prog.py", line 7, in work',
        f"    {call}",
    ]
    assert re.match("AttributeError: no task of this job makes this call|RuntimeError: ", lines[5])
    assert lines[6].startswith("raised by rank 0 at ")
    assert lines[7:] == [f"programs run on Trio, where nothing of asyncio works: {IN_A_THREAD[call]}"]


@pytest.mark.parametrize(
    "given",
    ["asyncio.run, ep.poll()", "lambda: asyncio.run(one(ep))", "trio.run, ep.poll"],
)
def test_what_a_thread_gives_to_another_loop_is_told_without_a_line_of_this_package(tmp_path, ran, given):
    one = "async def one(ep):\n    await asyncio.sleep(0)\n    await ep.poll()\n"
    (tmp_path / "prog.py").write_text(
        f"import trio\n{one}{CORE}if ep.rank == 0: await trio.to_thread.run_sync({given})"
    )
    done = ran("conduit", "run", "prog.py", "--conduit", "loggp")
    assert done.returncode == 1
    package = str(Path(conduit.__file__).parent)
    assert not [line for line in done.stderr.splitlines() if package in line]
    said = {
        "asyncio.run, ep.poll()": "programs run on Trio, where nothing of asyncio works: write `await` before the "
        "call, and nothing else: main runs already",
        "lambda: asyncio.run(one(ep))": "programs run on Trio, where nothing of asyncio works: write "
        "`trio.from_thread.run(one, ep)` in <lambda>, which runs in a thread",
        "trio.run, ep.poll": ANOTHER_RUN,
    }
    assert done.stderr.splitlines()[-1] == said[given]


def test_main_runs_in_trio_already(shown):
    said = "main runs in Trio already: `await` the function instead, with its arguments"
    assert said in shown("import trio\n" + CORE + "trio.run(ep.poll)")


def test_in_a_handler_trio_runs_already_and_nothing_is_awaited(shown):
    program = "import trio\n" + CORE + "def h(token):\n        trio.run(ep.poll)\n    await ep.attach(h)\n    "
    assert "Trio runs already, and h is a plain function, which cannot wait: let main `await` it instead" in shown(
        f"{program}await ep.request_short(ep.rank, h)\n    await ep.poll()"
    )


def test_what_a_cancelled_wait_came_out_of_has_lines_of_the_program_alone(shown):
    program = (
        "import trio\n" + CORE + "with trio.move_on_after(1e-3):\n        try: await ep.block_until(lambda: False)\n"
    )
    lines = shown(f"{program}        finally: 1/0")
    assert [line.partition(" line ")[0] for line in lines if "File " in line] == ['  File "prog.py",'] * 2


def test_a_stop_iteration_has_lines_of_the_program_alone(shown):
    lines = shown(CORE + "next(iter([]))")
    assert [line.partition(" line ")[0] for line in lines if "File " in line] == ['  File "prog.py",']
    assert "RuntimeError: coroutine raised StopIteration" in lines


@pytest.mark.parametrize(
    ("predicate", "told"),
    [("lambda: e.is_set", "'Event.is_set'"), ("lambda: got.keys", "'dict.keys'"), ("ready", "'dict.items'")],
)
def test_a_method_that_a_predicate_names_and_does_not_call_is_told(shown, predicate, told):
    before = "import trio\n" + CORE + "e, got = trio.Event(), {}\n    def ready(): return got.items\n    "
    name = told.strip("'").partition(".")[2]
    assert (
        f"conduit.errors.BadRequest: ep.block_until: the predicate returned the method {told}, which is always true; "
        f"call it there: `{name}()`"
    ) in shown(f"{before}await ep.block_until({predicate})")


def test_a_method_that_a_program_has_kept_may_be_waited_for(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        f"{CORE}then = []\n    kept = then.append\n    await ep.block_until(lambda: kept)"
    )
    assert command("run", "prog.py", "--conduit", "loggp").status == 0


@pytest.mark.parametrize(
    ("call", "apart"),
    [
        ("x.put(1, 0, b'a')", "x.put, 1, 0, b'a'"),
        ("ep.request_short(1, print)", "ep.request_short, 1, print"),
        ("x.get(1, 0, out=b)", "functools.partial(x.get, 1, 0, out=b)"),
    ],
)
def test_a_call_that_is_given_to_a_nursery_is_written_apart(shown, call, apart):
    before = "def print(token): pass\n    b = bytearray(4)\n    await ep.attach(print)\n    "
    lines = shown(f"import trio\n{EXTENDED}{before}async with trio.open_nursery() as n:\n        n.start_soon({call})")
    assert lines == [
        "  + Exception Group Traceback (most recent call last):",
        '  |   File "prog.py", line 8, in main',
        "  |     async with trio.open_nursery() as n:",
        "  | ExceptionGroup: Exceptions from Trio nursery (1 sub-exception)",
        lines[4],
        f"  | give the function and its arguments apart, without calling it: `n.start_soon({apart})`",
        "  +-+---------------- 1 ----------------",
        "    | Traceback (most recent call last):",
        '    |   File "prog.py", line 9, in main',
        f"    |     n.start_soon({call})",
        "    | TypeError: Trio was expecting an async function, but instead it got a coroutine",
        "    +------------------------------------",
    ]
    assert lines[4].startswith("  | raised by rank ")


@pytest.mark.parametrize(
    ("call", "apart"),
    [
        ("x.put(1, 0, b'a')", "x.put, 1, 0, b'a'"),
        ("x.get(1, 0, 8)", "x.get, 1, 0, 8"),
        ("x.get(1, 0, out=bytearray(4))", "functools.partial(x.get, 1, 0, out=bytearray(4))"),
        ("once(2)", "once, 2"),
    ],
)
def test_so_is_one_that_is_awaited_where_it_is_given_to_a_nursery(shown, call, apart):
    before = "async def once(n): return n\n    "
    lines = shown(
        f"import trio\n{EXTENDED}{before}async with trio.open_nursery() as n:\n        n.start_soon(await {call})"
    )
    assert f"  | give the function and its arguments apart, without awaiting it: `n.start_soon({apart})`" in lines
    assert '    |   File "prog.py", line 7, in main' in lines


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "n.start_soon(x.put_nb, 1, 0, b'', bulk=True)",
            "Trio hands on no arguments by name: write `n.start_soon(functools.partial(x.put_nb, 1, 0, b'', "
            "bulk=True))`",
        ),
        (
            "n.start_soon(once, n=2, name='o')",
            "Trio hands on no arguments by name: write `n.start_soon(functools.partial(once, n=2), name='o')`",
        ),
        (
            "await n.start(x.barrier)",
            "n.start is for functions that take `task_status`: write `n.start_soon(x.barrier)`",
        ),
        (
            "await n.start(x.put, 1, 0, b'a')",
            "n.start is for functions that take `task_status`: write `n.start_soon(x.put, 1, 0, b'a')`",
        ),
        (
            "await n.start(once, 2)",
            "n.start is for functions that take `task_status`: write `n.start_soon(once, 2)`",
        ),
    ],
)
def test_what_a_nursery_hands_on_is_told(shown, line, told):
    before = "async def once(n): return n\n    "
    lines = shown(f"import trio\n{EXTENDED}{before}async with trio.open_nursery() as n:\n        {line}")
    assert f"  | {told}" in lines
    assert f"    |     {line}" in lines


def test_a_partial_that_is_given_to_a_nursery_is_not_told_to_be_one(shown):
    line = "n.start_soon(functools.partial(x.put, 1, 0, b'a', blk=True))"
    lines = shown(f"import functools, trio\n{EXTENDED}async with trio.open_nursery() as n:\n        {line}")
    assert "    | TypeError: Extended.put() got an unexpected keyword argument 'blk'" in lines
    assert not any("write" in each for each in lines)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            "x.get(1, 0, 8, dtype='f8')",
            "x.get has no argument dtype=; it takes dest, offset, nbytes, out; it gives bytes: write `(await x.get(1, "
            "0, 8)).view('f8')`",
        ),
        (
            "x.get(1, 0, nbytes=8, dtype=float)",
            "x.get has no argument dtype=; it takes dest, offset, nbytes, out; it gives bytes: write `(await x.get(1, "
            "0, nbytes=8)).view(float)`",
        ),
        ("x.get_nb(1, 0, 8, dtype='f8')", "x.get_nb has no argument dtype=; it takes dest, offset, nbytes, out"),
        (
            "x.get_value(1, 0, 8, dtype='f8')",
            "x.get_value has no argument dtype=; it takes dest, offset, nbytes, signed",
        ),
    ],
)
def test_who_gives_a_type_to_a_get_is_told_of_views(shown, call, told):
    assert told in shown(f"{EXTENDED}await {call}")


@pytest.mark.parametrize(
    ("call", "takes"),
    [
        ("x.put, 1", "x.put takes (dest, offset, data)"),
        ("ep.request_short, 1", "ep.request_short takes (dest, handler, *args)"),
    ],
)
def test_a_call_in_a_nursery_with_too_few_arguments_says_what_it_takes(shown, call, takes):
    lines = shown(f"import trio\n{EXTENDED}async with trio.open_nursery() as n:\n        n.start_soon({call})")
    assert f"  | {takes}" in lines
    assert [line for line in lines if 'File "' in line] == [
        '  |   File "prog.py", line 5, in main',
        '    |   File "prog.py", line 6, in main',
    ]


@pytest.mark.parametrize(
    ("top", "inside", "said"),
    [
        (
            EXTENDED,
            "if ep.rank == 0: await x.barrier()",
            "`await x.barrier()` at prog.py:6 took longer than `trio.fail_after(0.001)` allows: it waited for a "
            "barrier, which depended on rank 1",
        ),
        (
            CORE,
            "await ep.block_until(lambda: False)",
            "`await ep.block_until(lambda: False)` at prog.py:7 took longer than `trio.fail_after(0.001)` allows: it "
            "waited for its predicate to become true",
        ),
        (
            CORE,
            "await trio.sleep(1)",
            "`await trio.sleep(1)` at prog.py:7 took longer than `trio.fail_after(0.001)` allows",
        ),
        (
            MPI,
            "await comm.Recv(b, source=1 - comm.rank, tag=3)",
            "`await comm.Recv(b, source=1 - comm.rank, tag=3)` at prog.py:8 took longer than `trio.fail_after(0.001)` "
            "allows: it waited for MPI Recv from rank 1, tag 3, on MPI_COMM_WORLD, which depended on "
            "rank 1",
        ),
    ],
)
def test_what_took_longer_than_a_program_allows_is_told(shown, top, inside, said):
    lines = shown(f"import trio\n{top}with trio.fail_after(1e-3):\n        {inside}")
    number = top.count("\n") + 2
    assert lines[:4] == [
        "Traceback (most recent call last):",
        f'  File "prog.py", line {number}, in main',
        "    with trio.fail_after(1e-3):",
        "trio.TooSlowError",
    ]
    assert lines[4].startswith("raised by rank 0 at ")
    assert lines[5] == said
    assert lines[6:] in ([], ["rank 1 raised the same"])


def test_who_has_come_to_a_barrier_is_not_told_to_bring_it_about():
    """Rank 0 waits for the signal of rank 2, which itself waits for that of rank 1."""

    async def main(t):
        if t.MYTHREAD != 1:
            with trio.fail_after(1e-2):
                await t.barrier()

    with pytest.raises(trio.TooSlowError) as caught:
        upc.run(main, threads=4, conduit="loggp")
    assert "it waited for t.barrier, which depended on rank 2" in "\n".join(caught.value.__notes__)


def test_all_lines_that_took_longer_than_a_program_allows_are_told_once(shown):
    lines = shown(
        "import trio\n" + CORE + "async def one(): await trio.sleep(1)\n"
        "    with trio.fail_after(1e-3):\n        async with trio.open_nursery() as n:\n            n.start_soon(one)\n"
        "            n.start_soon(one)\n            await ep.block_until(lambda: False)"
    )
    assert set(lines[5].split("; ")) == {
        "`await trio.sleep(1)` at prog.py:6 took longer than `trio.fail_after(0.001)` allows",
        "`await ep.block_until(lambda: False)` at prog.py:11 took longer than `trio.fail_after(0.001)` allows: it "
        "waited for its predicate to become true",
    }


def test_the_whole_traceback_of_what_took_too_long_has_all_its_frames(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text("import trio\n" + CORE + "with trio.fail_after(1e-3): await trio.sleep(1)")
    err = command("run", "prog.py", "--conduit", "loggp", "--traceback").err
    assert "trio.Cancelled" in err
    assert "During handling of the above exception" in err


IN_TASKS = (
    "barrier: this rank is in a barrier already, in another task, at prog.py:{}, and calls one more at prog.py:{}; let "
    "one task of a rank come to each barrier: write one, after the nursery, or give each task a team of its own, by "
    "split"
)


@pytest.mark.parametrize(
    ("first", "second", "lines"),
    [
        ("n.start_soon(x.barrier)", "n.start_soon(x.barrier)", (7, 8)),
        ("n.start_soon(one)", "await trio.sleep(0); await x.barrier()", (5, 8)),
    ],
)
def test_two_barriers_of_two_tasks_are_told_with_both_lines(shown, first, second, lines):
    body = f"async def one(): await x.barrier()\n    async with trio.open_nursery() as n:\n        {first}\n        "
    text = "\n".join(shown(f"import trio\n{EXTENDED}{body}{second}"))
    one, other = lines
    assert IN_TASKS.format(one, other) in text or IN_TASKS.format(other, one) in text


@pytest.mark.parametrize(
    ("top", "line", "call"),
    [
        (CORE, "while True: ep.poll()", "ep.poll()"),
        (CORE, "while True: ep.request_short(0, h, 1)", "ep.request_short(0, h, 1)"),
        pytest.param(EXTENDED, "while x.get(0, 0, 1) is not None: pass", "x.get(0, 0, 1)", marks=pytest.mark.every),
        pytest.param(MPI, "while comm.Iprobe(): pass", "comm.Iprobe()", marks=pytest.mark.every),
        pytest.param(UPC, "while True: a[0]", "a[0]", marks=pytest.mark.every),
        (SHMEM, "while pe.test(a[:1], '>', 0): pass", "pe.test(a[:1], '>', 0)"),
    ],
    ids=range(6),
)
def test_a_loop_that_awaits_none_of_its_calls_ends_by_itself(shown, top, line, call):
    number = top.count("\n") + 1
    lines = shown(top + line)
    assert (
        f"conduit.errors.BadRequest: {call} at prog.py:{number} was called 1000 times but never awaited, so it did "
        f"nothing; write `await {call}`"
    ) in lines
    assert lines[1] == f'  File "prog.py", line {number}, in main'


def test_a_loop_that_awaits_nothing_is_told_beside_what_was_forgotten_before(shown):
    lines = shown(CORE.replace("await ", "") + "while True: ep.poll()")
    assert "conduit.errors.BadRequest: ep.poll() at prog.py:5 was called 999 times but never awaited" in "\n".join(
        lines
    )
    assert (
        "ep.attach(h) at prog.py:4 was called but never awaited, so it did nothing; write `await ep.attach(h)`" in lines
    )


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("await comm.Irecv(b, source=0)", "Irecv"),
        ("await comm.Isend(b, dest=1 - comm.rank)", "Isend"),
        ("await comm.Ibarrier()", "Ibarrier"),
    ],
)
def test_a_request_that_is_never_waited_for_is_warned_of(command, tmp_path, monkeypatch, line, call):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(MPI + line)
    outcome = command("run", "prog.py", "--conduit", "mpi:library=scampi")
    assert outcome.status == 0
    assert (
        f"warning from ranks 0-1: 1 request of {call}, begun at prog.py:6, never waited for: `await` the Wait() of "
        "each, or give them to MPI.Request.Waitall\n"
    ) in outcome.err


@pytest.mark.parametrize("front", [upc, shmem])
def test_main_of_a_front_ends_run_is_told_who_gives_an_endpoint(front):
    async def main(given):
        await given.attach()

    with pytest.raises(AttributeError) as caught:
        front.run(main)
    name, kind = front.__name__.rpartition(".")[2], type(caught.value.obj).__name__
    assert hint(caught.value) == (
        f"{kind} has no attach, but an endpoint has: {name}.run gives main a {kind}, conduit.run an endpoint, `async "
        "def main(ep)`"
    )


@pytest.mark.parametrize("waits", ["MPI.Request.Waitall(r)", "r[0].Wait()", "while not r[0].Test(): pass"])
def test_requests_are_not_warned_of_beside_a_wait_that_was_not_awaited(command, tmp_path, monkeypatch, waits):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(MPI + f"r = [await comm.Irecv(b, source=1 - comm.rank)]\n    {waits}")
    outcome = command("run", "prog.py", "--conduit", "mpi:library=scampi")
    assert outcome.status == 1
    assert " was called but never awaited, so it did nothing; write `await " in outcome.err
    assert "never waited for" not in outcome.err


def test_requests_are_warned_of_beside_another_call_that_was_not_awaited(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(MPI + "await comm.Irecv(b, source=0)\n    comm.Barrier()")
    outcome = command("run", "prog.py", "--conduit", "mpi:library=scampi")
    assert "1 request of Irecv, begun at prog.py:6, never waited for" in outcome.err


def test_a_request_that_was_waited_for_in_any_way_is_not_warned_of(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        MPI
        + """other = 1 - comm.rank
    for way in range(5):
        r, s = await comm.Irecv(np.zeros(4), other), await comm.Isend(b, other)
        if way == 0:
            await r.Wait()
            await s.Wait()
        elif way == 1:
            await MPI.Request.Waitall([r, s])
        elif way == 2:
            while not await MPI.Request.Testall([r, s]):
                pass
        elif way == 3:
            while await MPI.Request.Waitany([r, s]) != MPI.UNDEFINED:
                pass
        else:
            await s.Free()
            await MPI.Request(r).Wait()
    await comm.Recv_init(b, other).Free()
"""
    )
    outcome = command("run", "prog.py", "--conduit", "mpi:library=scampi")
    assert outcome.status == 0, outcome.err
    assert "warning" not in outcome.err


ONLY_A_POLL = (
    "in a wait of Trio's own nothing is polled, and only a poll runs handlers: wait with `await "
    "ep.block_until(predicate)`, for an event with `await ep.block_until(event.is_set)`"
)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("event = trio.Event()\n    await event.wait()", ()),
        ("got = []\n    while not got: await trio.sleep(1e-3)", ("--time-limit", "0.01")),
    ],
)
def test_who_waits_in_trio_for_a_handler_is_told_that_only_a_poll_runs_it(shown, body, words):
    lines = shown(f"import trio\n{CORE}await ep.request_short(1 - ep.rank, h, 1)\n    {body}", *words)
    assert "    1 message not handled, because this rank does not poll: for h (prog.py:4)" in lines
    assert lines[-1] == ONLY_A_POLL
    assert lines.count(ONLY_A_POLL) == 1


def test_who_polls_is_not_told_that_only_a_poll_runs_handlers(shown):
    assert ONLY_A_POLL not in shown(CORE + "await ep.block_until(lambda: False)")


def test_locks_that_are_taken_in_two_orders_are_told_once(shown):
    lines = shown(
        EXTENDED + "async with x.lock('ab'[ep.rank]):\n        await x.barrier()\n        "
        "async with x.lock('ba'[ep.rank]): pass"
    )
    assert lines[4:] == [
        "    rank 0: holds lock 'a', taken at prog.py:4",
        "    rank 1: holds lock 'b', taken at prog.py:4",
        "take several locks in the same order on every rank, or release one before the next is taken",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "kept = x.lock('a')",
        "kept = {}\n    kept.update((each, x.lock(each)) for each in 'ab')",
        "kept = []\n    kept.extend(map(x.lock, 'ab'))",
        "await x.lock('a').acquire(); await x.lock('a').release()",
        "str(x.lock('a'))",
    ],
)
def test_a_lock_that_is_made_to_be_taken_elsewhere_is_not_told(command, tmp_path, monkeypatch, body):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(EXTENDED + body)
    outcome = command("run", "prog.py", "--conduit", "loggp")
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize(
    ("line", "call"), [("await a.gather_to(0)", "a.gather_to"), ("await t.all_sort(a)", "t.all_sort")]
)
def test_who_waits_for_others_in_a_call_of_shared_arrays_is_told_with_its_name(shown, line, call):
    lines = shown(f"{UPC}if t.MYTHREAD == 0: {line}")
    waits = f"rank 0: prog.py:4 in main: waits for {call}, to which rank 1 has not come, since "
    assert any(each.startswith(waits) for each in lines), lines
    assert not any("a barrier" in each for each in lines)


@pytest.mark.parametrize(
    ("other", "its"),
    [
        ("pe.barrier_all()", "pe.barrier_all"),
        ("pe.free(a)", "pe.free"),
    ],
)
def test_who_waits_in_a_collect_of_shmem_is_told_without_what_it_does_inside(shown, other, its):
    lines = shown(f"{SHMEM}await (pe.collect(a, a, 1) if pe.my_pe() == 0 else {other})")
    assert any(
        line.startswith("rank 0: prog.py:4 in main: waits for pe.collect(...), to which rank 1 has not come, since ")
        for line in lines
    ), lines
    assert lines[-1] == (
        f"rank 0 is in pe.collect(...) at prog.py:4, rank 1 is in {its} at prog.py:4: all of them must make the same "
        "calls in the same order"
    )


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("pe.collect(a, a, 1)", "pe.fcollect(a, a, 1)", ("pe.collect(...)", "pe.fcollect((1,), int64)")),
        ("pe.collect(a, a, 1)", "pe.collect(f, f, 2)", ("pe.collect(..., int64)", "pe.collect(..., float64)")),
    ],
)
def test_a_collect_of_shmem_beside_another_call_is_told_as_its_user_made_it(shown, one, other, said):
    lines = shown(f"{SHMEM}f = await pe.zeros(4)\n    await ({one} if pe.my_pe() == 0 else {other})")
    told = f": PE 0 called {said[0]} at prog.py:5, but PE 1 called {said[1]} at prog.py:5; "
    assert any(told in line for line in lines), lines


FREES = "; make the same calls with the same arguments in the same order on every {}"


def test_arrays_of_shmem_that_are_freed_differently_are_told_by_what_gave_them(shown):
    lines = shown(f"{SHMEM}b = await pe.new_signal()\n    await (pe.free(a) if pe.my_pe() == 0 else pe.del_signal(b))")
    assert (
        "conduit.errors.BadRequest: pe.free: PE 0 called pe.free(what pe.zeros(shape=(4,), dtype=int64) at "
        "prog.py:3 gave) at prog.py:5, but PE 1 called pe.del_signal(what pe.new_signal(shape=(1,), dtype=uint64) at "
        f"prog.py:4 gave) at prog.py:5{FREES.format('PE')}"
    ) in lines


def test_arrays_of_one_line_that_are_freed_in_another_order_are_told_apart(shown):
    lines = shown(f"{SHMEM}a, b = [await pe.zeros(2) for _ in range(2)]\n    await pe.free(b if pe.my_pe() else a)")
    (told,) = [line for line in lines if line.startswith("conduit.errors.BadRequest")]
    made = r"pe\.free\(what pe\.zeros\(shape=\(2,\), dtype=float64\) at prog\.py:4 gave\) at prog\.py:5"
    first, second = re.findall(rf"called {made} \(offset (\d+) of the heap\)", told)
    assert abs(int(first) - int(second)) == 16
    assert told.endswith(FREES.format("PE"))


def test_arrays_of_upc_that_are_freed_differently_are_told_by_what_gave_them(shown):
    lines = shown(f"{UPC}b = t.array(a.key)\n    await (t.all_free(a) if t.MYTHREAD == 0 else t.all_alloc(3))")
    assert (
        "conduit.errors.BadRequest: t.all_free: thread 0 called t.all_free(what t.all_alloc(shape=(12,), dtype=int64, "
        "block=3) at prog.py:3 gave) at prog.py:5, but thread 1 called t.all_alloc(shape=(3,), dtype=float64, block=2) "
        f"at prog.py:5{FREES.format('thread')}"
    ) in lines


def test_a_message_of_mpi_with_another_tag_is_told(shown):
    lines = shown(
        MPI + "if comm.rank == 0: await comm.Send(b, dest=1, tag=7)\n    else: await comm.Recv(b, source=0, tag=8)"
    )
    assert lines[-1] == "    1 message from rank 0, tag 7, on MPI_COMM_WORLD, sent at prog.py:6: no receive asks for it"
    assert not any("not handled" in line for line in lines)


CROSSED = (
    "each rank of the cycle waits in a send for the receive that another is to make after its own send: let one of "
    "them receive first, or write `await comm.Sendrecv(...)` for the send and the receive, or write `request = await "
    "comm.Isend(...)` in its place, then the receive, then `await request.Wait()`"
)


def test_messages_of_mpi_whose_senders_wait_are_told_once(shown):
    lines = shown(MPI + "b = np.zeros(1000000)\n    await comm.Send(b, dest=1 - comm.rank)")
    assert [line.partition(" since ")[0] for line in lines] == [
        lines[0],
        "cycle: rank 0 waits for rank 1 waits for rank 0",
        "rank 0: prog.py:7 in main: waits for MPI Send to rank 1, tag 0, on MPI_COMM_WORLD, which rank 1 must bring "
        "about,",
        "rank 1: prog.py:7 in main: waits for MPI Send to rank 0, tag 0, on MPI_COMM_WORLD, which rank 0 must bring "
        "about,",
        CROSSED,
    ]


@pytest.mark.parametrize(
    "call",
    [
        "await (await comm.Isend(b, dest=1 - comm.rank)).Wait()",
        "await comm.Ssend(b, dest=1 - comm.rank)",
        "await comm.Sendrecv(b, dest=1 - comm.rank, recvbuf=b.copy(), recvtag=5)",
        "both = await comm.Dup(); await both.Send(b, dest=1 - comm.rank)",
    ],
)
def test_messages_of_mpi_whose_senders_wait_in_other_calls_are_told_once(shown, call):
    lines = shown(MPI + "b = np.zeros(1000000)\n    " + call)
    crossed = "Send(" in call or "Ssend(" in call
    assert lines[4:] == [CROSSED] * crossed
    assert not any("not handled" in line for line in lines)


def test_a_message_of_mpi_besides_one_whose_sender_waits_is_told(shown):
    lines = shown(
        MPI + "await comm.Isend(b, dest=1 - comm.rank, tag=4)\n    "
        "await comm.Send(np.zeros(1000000), dest=1 - comm.rank, tag=5)"
    )
    asked = "tag 4, on MPI_COMM_WORLD, sent at prog.py:6: no receive asks for it"
    assert lines[4:6] == [f"    rank {rank}: 1 message from rank {1 - rank}, {asked}" for rank in range(2)]
    assert lines[6:] == [CROSSED]


def test_messages_of_mpi_whose_senders_wait_are_told_once_of_many_ranks(shown):
    lines = shown(
        MPI + "b = np.zeros(1000000)\n    await comm.Send(b, dest=(comm.rank + 1) % comm.size)", "--ranks", "6"
    )
    assert lines[3:] == [CROSSED]


def test_a_large_message_of_mpi_to_oneself_is_told_what_to_do(shown):
    lines = shown(MPI + "b = np.zeros(100000000)\n    await comm.Send(b, dest=comm.rank)")
    assert lines[-1] == (
        "a large message to oneself waits for its receive: write `request = await comm.Isend(...)` in its place, then "
        "the receive, then `await request.Wait()`"
    )


def test_sends_of_mpi_that_others_are_asked_for_are_told_nothing_to_do(shown):
    lines = shown(
        MPI + "b = np.zeros(1000000)\n    if comm.rank == 0: await comm.Send(b, 1)\n    else: await comm.Recv(b, 0, 5)"
    )
    assert not any(each.startswith("each rank of the cycle") for each in lines)
    before = (
        "b, c = np.zeros((2, 1000000))\n    await comm.Irecv(c, 1 - comm.rank)\n    await comm.Send(b, 1 - comm.rank)"
    )
    lines = shown(MPI + before, "--time-limit", "300us")
    assert lines[0].startswith("conduit run: time limit")
    assert not any(each.startswith("each rank of the cycle") for each in lines)


def test_other_counts_in_a_collective_call_of_mpi_are_told_what_to_do(shown):
    lines = shown(MPI + "await comm.Bcast(b[: 3 + comm.rank], root=0)")
    assert (
        "conduits.mpi.errors.MpiError: MPI Bcast of all on MPI_COMM_WORLD: rank 0 sent 24 bytes where 32 were counted "
        "on; make the same collective calls in the same order on all ranks, with counts, datatypes, root and "
        "algorithm= that agree"
    ) in lines


def test_no_handler_of_a_layer_is_named(shown):
    lines = shown(EXTENDED + "await (x.broadcast([1, 2]) if ep.rank == 0 else x.all_reduce(3))")
    assert "extended.CollectiveMismatch: collective call 1 of their team: " in lines[-2]
    assert lines[-1].startswith("raised by rank ")


def test_a_handle_that_was_taken_for_the_value_is_told(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(EXTENDED + "h = x.get_nb(1, 0, 4)\n    await h")
    outcome = command("run", "prog.py", "--conduit", "loggp")
    assert outcome.status == 0
    assert (
        "warning from ranks 0-1: a handle of get_nb, made at prog.py:5, never waited for: `await get_nb(...)` only "
        "begins it and gives its handle. Write `await handle` too, or give that to wait_all\n"
    ) in outcome.err


REGION = "write `async with x.access_region() as region:`, and after it `await region.handle`"


def test_an_access_region_that_is_awaited_is_told_how_to_use(shown):
    assert shown(EXTENDED + "h = await x.access_region()")[-1] == f"x.access_region() is entered, not awaited: {REGION}"


OF_PYTHON = pytest.mark.filterwarnings("always:coroutine 'helper' was never awaited:RuntimeWarning")
OWN = "async def helper(x):\n    await x.poll()\nasync def main(ep):\n    await ep.attach()\n    "


@OF_PYTHON
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "helper(ep)",
            "helper(ep) at prog.py:5 was called but never awaited, so it did nothing; write `await helper(ep)`",
        ),
        (
            "for _ in range(3): helper(ep)\n    await helper(ep)",
            "helper(ep) at prog.py:5 was called but never awaited, so it did nothing; write `await helper(ep)`",
        ),
        (
            "kept = helper(ep)\n    await ep.poll()",
            "helper(ep) at prog.py:5 was called but never awaited, so it did nothing; write `await helper(ep)`",
        ),
        (
            "kept = helper(ep)\n    more = helper(ep)\n    await ep.poll()",
            "helper(...) was called but never awaited, so it did nothing; write `await helper(...)`",
        ),
    ],
)
def test_a_function_of_the_programs_own_that_is_not_awaited_is_told_once(command, tmp_path, monkeypatch, body, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(OWN + body)
    status, _, err = command("run", "prog.py", "--conduit", "loggp", "--ranks", "3")
    assert (status, err) == (0, f"warning from ranks 0-2: {said}\n")


@OF_PYTHON
def test_a_function_of_the_programs_own_is_named_where_ranks_then_wait_for_ever(shown):
    lines = shown(OWN + "helper(ep)\n    await ep.block_until(lambda: False)")
    assert (
        "  warning of ranks 0-1: helper(ep) at prog.py:5 was called but never awaited, so it did nothing; write `await "
        "helper(ep)`"
    ) in lines


def test_an_access_region_that_is_not_waited_for_is_told_how(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(EXTENDED + "async with x.access_region():\n        await x.put_nbi(0, 0, b'a')")
    _, _, err = command("run", "prog.py", "--conduit", "loggp")
    assert err == f"warning from ranks 0-1: a handle of access_region, made at prog.py:4, never waited for: {REGION}\n"


SHMEM_CALLS = {
    "set_lock(lock)": "lock = await pe.new_lock()",
    "init()": "",
    "finalize()": "",
    "sync_all()": "",
    "fence()": "",
}


@pytest.mark.parametrize("call", SHMEM_CALLS)
def test_a_call_that_is_made_of_another_is_told_with_the_programs_line(shown, call):
    lines = shown(f"api = 'shmem'\nasync def main(pe):\n    {SHMEM_CALLS[call] or 'pass'}\n    pe.{call}")
    assert (
        f"conduit.errors.BadRequest: pe.{call} at prog.py:4 was called but never awaited, so it did nothing; write "
        f"`await pe.{call}`"
    ) in lines
    assert not any("locks.py" in line or "pe.py" in line for line in lines)


@pytest.mark.parametrize(
    ("before", "call"),
    [("", "comm.Iprobe"), ("r = await comm.Irecv(b, source=1 - comm.rank)\n    ", "r.Test")],
)
def test_who_asks_mpi_again_and_again_is_in_that_call(shown, before, call):
    source = MPI + f"{before}while not await {call}(): pass"
    lines = shown(source, "--time-limit", "300us")
    line = source.count("\n") + 1
    assert any(f"prog.py:{line} in main: awaits {call}() again and again, in a loop" in each for each in lines), lines
    assert ONLY_A_POLL not in lines


@pytest.mark.parametrize(
    ("spec", "part", "written"),
    [
        ("sci:torus=4,2", "2", "torus=4x2"),
        ("sci:torus=(4, 2, 2),order=weak", "2", "torus=4x2x2"),
    ],
)
def test_a_value_that_a_comma_cuts_is_told_how_to_write(command, tmp_path, spec, part, written):
    (tmp_path / "prog.py").write_text(CORE)
    outcome = command("run", str(tmp_path / "prog.py"), "--conduit", spec)
    assert outcome.status == 2
    assert (
        f"'{part}' in the spec '{spec}' is no option: a comma ends the value of torus; write {written}\n" in outcome.err
    )


@pytest.mark.parametrize(
    ("api", "given", "words", "said"),
    [
        ("", "ep", ("set=x", "--conduit", "loggp"), "; did you mean `--conduit loggp:set=x`?"),
        (
            "",
            "ep",
            ("piece=99", "a=b", "--conduit", "loggp:slots=2"),
            "; did you mean `--conduit loggp:slots=2,piece=99`?",
        ),
        (
            "",
            "ep",
            ("--conduit", "sci", "sunfire"),
            "; --conduit takes one, and is repeated for each: write `--conduit sunfire`",
        ),
        (
            "",
            "ep",
            ("--conduit", "sci", "--conduit", "t3e", "loggp:slots=2", "udp"),
            "; --conduit takes one, and is repeated for each: write `--conduit loggp:slots=2 --conduit udp`",
        ),
        ("", "ep", ("--conduit", "sci", "nothing"), ""),
        ("", "ep", ("--time-limit", "5", "us"), "; did you mean `--time-limit 5us`?"),
        ("", "ep", ("--time-limit", "2.5", "ms"), "; did you mean `--time-limit 2.5ms`?"),
        ("upc", "t", ("4",), ""),
        ("shmem", "pe", ("4",), ""),
        ("mpi", "comm", ("4",), ""),
    ],
)
def test_words_that_a_program_does_not_take_are_told(command, tmp_path, monkeypatch, api, given, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text((f"api = '{api}'\n" if api else "") + f"async def main({given}): pass")
    err = command("run", "prog.py", *words).err
    write = "" if said else f"; write `async def main({given}, *args)`"
    assert err.endswith(f"too many positional arguments{write}{said}\n")


def test_the_name_of_a_conduit_that_has_gone_to_main_is_told_where_it_fails(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text("async def main(ep, count=1): int(count)")
    err = command("run", "prog.py", "--conduit", "sci", "t3e").err
    told = "went to main; where a conduit was meant, write --conduit before"
    assert err.endswith(f"'t3e' {told} it: `--conduit t3e`\n")
    err = command("run", "prog.py", "t3e", "loggp:slots=2").err
    assert "too many positional arguments" in err
    (tmp_path / "prog.py").write_text("async def main(ep, *counts): int(counts[0])")
    err = command("run", "prog.py", "t3e", "loggp:slots=2").err
    assert err.endswith(f"'t3e' and 'loggp:slots=2' {told} each: `--conduit t3e --conduit loggp:slots=2`\n")
    assert told not in command("run", "prog.py", "--conduit", "sci", "three").err


@pytest.mark.parametrize(("network", "warned"), [("loggp", True), ("mpi:library=tcp", False)])
def test_seeds_of_ranks_are_told_before_the_job_where_ranks_are_simulated(command, tmp_path, network, warned):
    program = tmp_path / "prog.py"
    program.write_text("import random\nasync def main(ep): random.seed(ep.rank)")
    err = command("run", str(program), "--conduit", network, "--ranks", "1").err
    said = f"warning: {program}:2: `random.seed(ep.rank)` seeds one generator, which all simulated ranks share"
    assert (said in err) is warned


def test_an_option_that_is_begun_is_told_whole_also_the_one_that_chooses_the_network(command, tmp_path):
    (tmp_path / "prog.py").write_text("async def main(ep): pass")
    err = command("run", str(tmp_path / "prog.py"), "--conduit", "mpi:lib=mpi4py").err
    assert "has no option 'lib' (did you mean library?); its options are: " in err
    assert ", library, " in err


def test_calls_that_are_made_after_the_job_are_told():
    """At the call, awaited or not; one of a layer, which asks no endpoint before it is awaited, is warned of."""
    kept = []

    async def main(ep):
        kept.append((ep, await Extended.attach(ep)))

    conduit.run(main, conduit="loggp")
    ep, x = kept[0]
    for call in (
        ep.poll,
        ep.attach,
        lambda: ep.request_short(1, main),
        lambda: ep.compute(1),
        lambda: ep.block_until(len),
    ):
        with pytest.raises(
            conduit.BadRequest, match=r"^this call is on the endpoint of rank 0 of a job that is over; make"
        ):
            call()

    def forget():
        warnings.filterwarnings("ignore", category=RuntimeWarning)  # of Python, which would keep the call
        x.put(1, 0, b"abc")

    with pytest.warns(conduit.ConduitWarning) as warned:
        forget()
    (warning,) = warned
    assert str(warning.message) == (
        'x.put(1, 0, b"abc") was called outside of a job and never awaited, so it did nothing; make calls while main '
        "runs, and `await` them"
    )
    assert warning.filename == __file__


def test_a_task_in_a_request_is_in_the_call_that_was_written(shown):
    lines = shown(CORE + "while True: await ep.request_short(0, h, 1)", "--time-limit", "1e-4")
    assert any(line.endswith("prog.py:5 in main: is in ep.request_short") for line in lines), lines


@pytest.mark.parametrize(
    ("head", "call"),
    [
        (SHMEM, "pe.quiet()"),
        (SHMEM, "pe.fence()"),
        (EXTENDED, "x.get(1 - ep.rank, 0, 8)"),
        (MPI, "comm.Iprobe()"),
        (CORE, "ep.poll()"),
        (CORE, "ep.compute(1e-6)"),
    ],
)
def test_a_task_in_a_call_of_a_layer_is_in_the_call_that_was_written(shown, head, call):
    lines = shown(f"{head}while True: await {call}", "--time-limit", "5e-4")
    where = f"prog.py:{head.count(chr(10)) + 1} in main: "
    doing = [line.partition(where)[2] for line in lines if where in line]
    assert doing
    asks = head != CORE  # which nothing but a layer's call does; what it has is not what the loop waits for
    for each in doing:
        assert each.startswith(f"awaits {call}" if asks else f"is in {call.partition('(')[0]}"), lines
        assert ("again and again" in each) == asks


def test_implicit_puts_that_no_sync_follows_are_told(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    puts = "await x.put_nbi(1 - ep.rank, 0, b'1')\n    "
    (tmp_path / "prog.py").write_text(f"{EXTENDED}{puts}await x.sync()\n    {puts}{puts}")
    outcome = command("run", "prog.py", "--conduit", "loggp")
    assert outcome.status == 0
    assert outcome.err == (
        "warning from ranks 0-1: implicit puts, the first by put_nbi at prog.py:6, never waited for: `await "
        "x.sync_puts()` or `await x.sync()` waits for all that were begun before\n"
    )
    for sync in ("sync", "sync_puts"):
        (tmp_path / "prog.py").write_text(f"{EXTENDED}{puts}await x.{sync}()")
        assert command("run", "prog.py", "--conduit", "loggp").err == ""
    (tmp_path / "prog.py").write_text(f"{EXTENDED}{puts}await x.sync_gets()")
    told = command("run", "prog.py", "--conduit", "loggp").err
    assert "implicit puts, the first by put_nbi at prog.py:4, never" in told


@pytest.mark.parametrize(
    ("source", "wait", "ranks"),
    [
        (EXTENDED + "await x.barrier_notify()", "x.barrier_wait", "ranks"),
        (UPC + "await t.notify(3)", "t.wait", "threads"),
    ],
)
def test_a_barrier_that_is_notified_and_not_waited_for_is_told(command, tmp_path, monkeypatch, source, wait, ranks):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(source)
    outcome = command("run", "prog.py", "--conduit", "loggp")
    assert outcome.status == 0
    assert outcome.err == (
        f"warning from ranks 0-1: a barrier was notified at prog.py:4 and never waited for: `await {wait}()` waits "
        f"until all {ranks} have come\n"
    )


@pytest.mark.parametrize("after", ["Put(bytes(4), 1)", "Unlock(1)", "Flush(1)"])
def test_a_lock_of_a_window_without_await_is_told_before_what_comes_of_it(shown, after):
    assert shown(f"{WINDOW}win.Lock(1)\n    await win.{after}")[0] == (
        "conduit.errors.BadRequest: win.Lock(1) at prog.py:6 was called but never awaited, so it did nothing; write "
        "`await win.Lock(1)`"
    )


NOT_COMPLETE = (
    "warning from rank{}: no {} followed win.{} at prog.py:{}, so what it accesses may not be complete: write "
)
OF_WINDOW = "import numpy as np\nb, c = np.ones(4, 'u1'), np.ones(4, 'u1')\n" + WINDOW


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (
            OF_WINDOW + "await win.Fence()\n    await win.Put(b, 1 - ep.rank)\n    await win.Get(c, 1 - ep.rank, 4)",
            [("s 0-1", "Fence", "Put", 9, "Fence()"), ("s 0-1", "Fence", "Get", 10, "Fence()")],
        ),
        (
            OF_WINDOW.replace("comm=x", "comm=x, checks=False")
            + "await win.Fence()\n    await win.Put(b, 1 - ep.rank)",
            [("s 0-1", "Fence", "Put", 9, "Fence()")],
        ),
        (
            OF_WINDOW.replace("Allocate(8", "Create(np.zeros(8, 'u1')")
            + "await win.Lock(1 - ep.rank)\n    await win.Put(b, 1 - ep.rank)\n    await win.Flush(1 - ep.rank)\n    "
            "for _ in range(3):\n        await win.Accumulate(c, 1 - ep.rank)",
            [("s 0-1", "Unlock", "Accumulate", 12, "Unlock(rank)")],
        ),
        (
            OF_WINDOW + "group = win.Get_group()\n    await win.Post(group)\n    await win.Start(group)\n    "
            "await win.Put(b, 1 - ep.rank)",
            [("s 0-1", "Complete", "Put", 11, "Complete()")],
        ),
        (
            OF_WINDOW + "await win.Lock_all()\n    await win.Get(b, 1 - ep.rank)",
            [("s 0-1", "Unlock_all", "Get", 9, "Unlock_all()")],
        ),
        (OF_WINDOW + "await win.Fence()\n    await win.Put(b, 1 - ep.rank)\n    await win.Fence()", []),
        (
            OF_WINDOW
            + "await win.Fence()\n    await win.Get(b, 1 - ep.rank)\n    await win.Fence()\n    await win.Free()",
            [],
        ),
    ],
)
def test_an_access_of_a_window_that_no_call_completes_is_told(command, tmp_path, monkeypatch, source, lines):
    """As the call of the window that it is, and not as the put by which the window does it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(source)
    outcome = command("run", "prog.py", "--conduit", "loggp")
    assert outcome.status == 0
    told = [each for each in outcome.err.splitlines() if "followed win.Post" not in each]
    assert told == [f"{NOT_COMPLETE.format(*place)}`await win.{closing}` after it" for *place, closing in lines]


@pytest.mark.parametrize(
    ("source", "closing", "why"),
    [
        ("Lock(ep.rank)", "Unlock(rank)", "else that rank stays locked"),
        ("Lock_all()", "Unlock_all()", "else ranks that it has accessed stay locked"),
        ("Start(win.Get_group())", "Complete()", "for which the ranks wait that have posted"),
        ("Post(win.Get_group())", "Wait()", "which waits until the others have done with this rank's part"),
        ("Fence()", "", ""),
        ("Lock(0)\n    await win.Unlock(0)", "", ""),
    ],
)
def test_an_epoch_that_no_call_ends_is_told(command, tmp_path, monkeypatch, source, closing, why):
    monkeypatch.chdir(tmp_path)
    posted = "await win.Post(win.Get_group()); " if source.startswith("Start") else ""
    (tmp_path / "prog.py").write_text(f"{OF_WINDOW}{posted}await win.{source}")
    outcome = command("run", "prog.py", "--conduit", "loggp")
    assert outcome.status == 0
    lines = outcome.err.splitlines()
    opened, closed = source.partition("(")[0], closing.partition("(")[0]
    told = f"no {closed} followed win.{opened} at prog.py:8: write `await win.{closing}` after it, {why}"
    assert f"warning from ranks 0-1: {told}" in lines if closing else not lines


def test_a_broadcast_whose_result_is_not_kept_is_told(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        EXTENDED + "import numpy as np\n    v = np.full(3, ep.rank)\n    for turn in range(2):\n        "
        "await x.broadcast(v, 1)\n    w = await x.broadcast(v, 1)\n    await x.broadcast(v, 1, out=v)\n    "
        "await x.broadcast(v, 0)"
    )
    outcome = command("run", "prog.py", "--conduit", "loggp")
    assert outcome.status == 0
    assert outcome.err == (
        "warning from rank 0: x.broadcast at prog.py:7 stores nothing in what it is given, it returns the result, "
        "which is not kept there: write `v = await x.broadcast(v, 1)`\n"
    )


def test_an_all_reduce_whose_result_is_not_kept_is_told(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        EXTENDED + "import numpy as np\n    v = np.full(3, ep.rank)\n    await x.all_reduce(np.zeros(2))\n    "
        "for turn in range(2):\n        await x.all_reduce(v)\n    w = await x.all_reduce(v)\n    "
        "await x.all_reduce(v, out=w)\n    await x.all_reduce(1)"
    )
    outcome = command("run", "prog.py", "--conduit", "loggp")
    assert outcome.status == 0
    assert outcome.err == (
        "warning from rank 0: x.all_reduce at prog.py:8 stores nothing in what it is given, it returns the result, "
        "which is not kept there: write `v = await x.all_reduce(v)`\n"
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("for turn in range(2):\n        await x.all_reduce(v)\n        await x.broadcast(v, 1)", []),
        ("await x.all_reduce(v)\n    print(v.nbytes, len(v))", []),
        ("for n in 1, 2:\n        v = np.full(n, ep.rank)\n        v + 1\n        await x.all_reduce(v)", []),
        ("v + 1\n    await x.all_reduce(v)\n    v = np.ones(1)\n    v[0]", []),
        ("await x.all_reduce(v)\n    v[:] = 1", []),
        ("await x.all_reduce(v); v[0]", ["all_reduce"]),
        ("await x.all_reduce(v)\n    v += 1", ["all_reduce"]),
        ("await x.all_reduce(v)\n    v = v / 2", ["all_reduce"]),
        ("await x.all_reduce(v)\n    if ep.rank > 5:\n        v = 0\n    v + 1", ["all_reduce"]),
        ("for turn in range(2):\n        v + 1\n        await x.all_reduce(v)", ["all_reduce"]),
        ("for turn in range(2):\n        v + 1\n        await x.broadcast(v, 1)", ["broadcast"]),
        ("def show(): return v[0]\n    await x.all_reduce(v)\n    show()", ["all_reduce"]),
        ("async def turn(): await x.all_reduce(v)\n    await turn()\n    v + 1", ["all_reduce"]),
        ("async def turn(): await x.all_reduce(v)\n    await turn()", []),
        ("def other(v): return v[0]\n    await x.all_reduce(v)", []),
    ],
)
def test_a_result_that_is_not_kept_is_told_where_what_was_given_is_looked_at_again(command, tmp_path, body, told):
    """A loop that times a collective drops its results."""
    file = tmp_path / "prog.py"  # by its whole path: text by line is remembered
    file.write_text(f"{EXTENDED}import numpy as np\n    v = np.full(3, 1.0 + ep.rank)\n    {body}")
    outcome = command("run", str(file), "--conduit", "loggp")
    assert outcome.status == 0
    assert re.findall(r"x\.(\w+) at \S+:\d+ stores nothing", outcome.err) == told


def test_a_collective_call_of_mpi_that_not_all_ranks_make_is_told(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(MPI + "if comm.rank == 1: await comm.Bcast(b, root=1)")
    outcome = command("run", "prog.py", "--conduit", "mpi:library=scampi", "-n", "4")
    assert outcome.status == 0
    assert outcome.err.splitlines()[0] == (
        "warning from rank 0: Bcast on MPI_COMM_WORLD, at prog.py:6, was called by rank 1, and not by ranks 0, 2, 3: "
        "all ranks make the same collective calls"
    )


def test_a_fence_that_a_rank_has_not_come_to_is_named_so(shown):
    lines = shown(WINDOW + "if ep.rank == 0: await win.Fence()")
    assert lines[-1].startswith("rank 0: prog.py:6 in main: waits for win.Fence, to which rank 1 has not come, since ")


@pytest.mark.parametrize(("assertion", "checks"), [("", "True"), ("MODE_NOSUCCEED", "True"), ("", "False")])
def test_a_fence_that_a_rank_leaves_out_is_told_by_the_numbers_of_their_calls(shown, assertion, checks):
    lines = shown(
        f"{WINDOW.replace('comm=x', f'comm=x, checks={checks}').replace('import Win', 'import MODE_NOSUCCEED, Win')}"
        f"await win.Fence()\n    if ep.rank != 1:\n        await win.Fence({assertion})\n    await win.Free()",
        *("--ranks", "4"),
    )
    assert lines[-2] == "ranks 0-3 are in win.Free at prog.py:9" + IN_ORDER
    second, first = (" at prog.py:8", " at prog.py:6") if checks == "True" else ("", "")
    assert lines[-1] == (
        f"of the calls of all on the window of Win.Allocate at prog.py:5 ranks 0, 2-3 have made 4, the last "
        f"win.Fence{second}; rank 1 has made 3, the last win.Fence{first}"
    )


def test_a_fence_that_another_rank_answers_with_its_free_is_told_by_its_line(shown):
    lines = shown(
        f"{WINDOW}if ep.rank == 0:\n        await win.Fence()\n        await win.Free()\n    else: await win.Free()"
    )
    assert lines[-2:] == [
        "rank 0 is in win.Free at prog.py:8, rank 1 is in win.Free at prog.py:9" + IN_ORDER,
        "of the calls of all on the window of Win.Allocate at prog.py:5 rank 0 has made 3, the last win.Fence at "
        "prog.py:7; rank 1 has made 2",
    ]


@pytest.mark.parametrize("call", ["Fence", "Free"])
def test_calls_on_two_windows_in_two_orders_are_told_with_their_windows(shown, call):
    lines = shown(
        f"{WINDOW}other = await Win.Allocate(64, comm=x)\n    if ep.rank: win, other = other, win\n    "
        f"if ep.rank == 0: await win.{call}()\n    else: await win.{call}()\n    await other.{call}()"
    )
    of = "one of the calls of all on the window of Win.Allocate at"
    assert lines[-1] == (
        f"rank 0 is in win.{call} at prog.py:8, {of} prog.py:5; rank 1 is in win.{call} at prog.py:9, {of} prog.py:6"
        + IN_ORDER
    )


def test_windows_of_ranks_that_cross_without_a_missing_call_are_not_counted(shown):
    lines = shown(f"{WINDOW}await win.Fence()\n    await (x.barrier() if ep.rank else win.Free())", "--ranks", "3")
    assert not any("calls of all" in line for line in lines)


SHARED = (
    "n = 0\nasync def main(ep):\n    def f(token):\n        global n\n        n += 1\n    await ep.attach(f)\n    "
    "await ep.request_short(1 - ep.rank, f)\n    await ep.block_until(lambda: n == 1)\n"
)
APPENDED = (
    "got, LIMIT = [], 3\nasync def main(ep):\n    await ep.attach()\n    "
    "await ep.block_until(lambda: len(got) == LIMIT)\n"
)
OF_ALL = "{} is a variable of the module, one for all ranks that run in it: give each rank its own, in main"


@pytest.mark.parametrize(("source", "name"), [(SHARED, "n"), (APPENDED, "got")])
def test_a_variable_that_all_ranks_of_a_script_share_is_told_once(source, name):
    names = {}
    exec(compile(source, "script.py", "exec"), names)
    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(names["main"], conduit="loggp")
    lines = str(caught.value).splitlines()
    assert [line for line in lines if "of the module" in line] == [OF_ALL.format(name)]


def test_a_variable_of_the_module_is_each_ranks_own_under_the_command_line(shown):
    assert "of the module" not in "\n".join(shown(APPENDED))


def test_a_program_that_hides_what_it_imports_is_told(command, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "mailbox", raising=False)
    (tmp_path / "mailbox.py").write_text("from mailbox import Mailbox\nasync def main(ep): pass\n")
    status, _, err = command("run", str(tmp_path / "mailbox.py"))
    assert status == 2
    assert err == (
        f"conduit run: {tmp_path / 'mailbox.py'} hides the package mailbox, which it imports: give the file another "
        "name, such as my_mailbox.py\n"
    )


def test_an_error_that_all_ranks_have_in_a_group_is_told_once(shown):
    lines = shown(
        EXTENDED + "import trio\n    async with trio.open_nursery() as n:\n        n.start_soon(x.barrier)\n        "
        "n.start_soon(x.barrier)"
    )
    assert sum("this rank is in a barrier already" in line for line in lines) == 1
    assert "  | while the job ended, rank 1 raised the same" in lines


def test_who_has_not_come_to_a_barrier_is_to_blame(shown):
    lines = shown(EXTENDED + "if ep.rank: await x.barrier()", "--ranks", "4")
    waits = "prog.py:4 in main: waits for a barrier, to which rank 0 has not come, since "
    assert any(line.startswith(f"ranks 1-3, each: {waits}") for line in lines)
    assert not any(line.startswith("     ") for line in lines)


IN_ORDER = ": all of them must make the same calls in the same order"


@pytest.mark.parametrize(
    ("source", "ranks", "said"),
    [
        (
            EXTENDED + "if ep.rank == 0: await x.barrier()\n    else: s = await x.all_reduce(1)",
            2,
            "rank 0 is in a barrier at prog.py:4, rank 1 is in all_reduce(op=sum, (), int64) at prog.py:5",
        ),
        (
            EXTENDED + "if ep.rank == 2: s = await x.all_gather(1)\n    else: await x.barrier(id=7)",
            4,
            "ranks 0-1, 3 are in barrier 7 at prog.py:5, rank 2 is in all_gather((), int64) at prog.py:4",
        ),
        (
            EXTENDED + "h = await x.all_reduce_nb(1) if ep.rank else None\n    await (x.barrier() if h is None else h)",
            3,
            "rank 0 is in a barrier at prog.py:5, ranks 1-2 are in all_reduce_nb at prog.py:5",
        ),
        (
            SHMEM + "if pe.my_pe(): await pe.barrier_all()\n    else: await pe.sum_reduce(a, a)",
            3,
            "rank 0 is in pe.sum_reduce(op=sum, (4,), int64) at prog.py:5, ranks 1-2 are in pe.barrier_all at "
            "prog.py:4",
        ),
    ],
)
def test_ranks_in_different_calls_that_they_make_together_are_told(shown, source, ranks, said):
    lines = shown(source, "--ranks", str(ranks))
    assert lines[-1] == said + IN_ORDER


def test_barriers_of_two_teams_in_two_orders_are_told_and_a_call_that_some_do_not_make_is_not(shown):
    teams = EXTENDED + "two = await x.split(0 if ep.rank < 2 else None)\n    if ep.rank == 0: await two.barrier()\n    "
    lines = shown(teams + "await x.barrier()", "--ranks", "3")
    assert lines[-1] == (
        "rank 0 is in a barrier of the team of ranks 0-1 at prog.py:5, rank 1 is in a barrier at prog.py:6" + IN_ORDER
    )
    for body in ("if ep.rank: await x.barrier()", "if ep.rank: s = await x.all_reduce(1)"):
        assert not any(IN_ORDER in line for line in shown(EXTENDED + body))


def test_a_front_end_in_other_letters_is_told(command, tmp_path):
    (tmp_path / "prog.py").write_text('api = "UPC"\nasync def main(t): pass')
    outcome = command("run", str(tmp_path / "prog.py"))
    assert outcome.status == 2
    assert "api = 'UPC', a front end that is not installed (did you mean upc?); installed are: " in outcome.err


@pytest.mark.parametrize(("front", "name"), [(upc, "threads"), (shmem, "pes")])
def test_a_number_of_ranks_without_its_name_is_told_the_name(front, name):
    async def main(t):
        pass

    with pytest.raises(conduit.BadRequest, match=rf"`; what run takes itself is given by name: {name}=4\Z"):
        front.run(main, 4)


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("api = 'upc'\nasync def main(t):\n    await t.all_alloc(2)\n    raise KeyboardInterrupt", "t.all_alloc"),
        ("api = 'shmem'\nasync def main(pe):\n    await pe.zeros(2)\n    raise KeyboardInterrupt", "pe.zeros"),
    ],
)
def test_the_barrier_of_an_allocation_is_named_as_the_call(command, tmp_path, source, call):
    (tmp_path / "prog.py").write_text(source)
    _, _, err = command("run", str(tmp_path / "prog.py"), "--conduit", "loggp")
    assert f"waits for {call}, which rank" in err
