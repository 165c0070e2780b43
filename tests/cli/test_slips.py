"""What `conduit run` says of the slips of those who come from GASNet, MPI, SHMEM, UPC or asyncio: the exact words."""

import asyncio
import gc
import subprocess
import sys
import textwrap

import pytest

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


@pytest.fixture
def shown(command, tmp_path, monkeypatch):
    """Run a program that fails; return the lines that are printed."""
    monkeypatch.chdir(tmp_path)

    def write_and_run(source, *words):
        (tmp_path / "prog.py").write_text(textwrap.dedent(source))
        conduit = "mpi:library=scampi" if "conduits.mpi" in source else "loggp"
        status, _, err = command("run", "prog.py", "--conduit", conduit, *words)
        assert status == 1, err
        return err.splitlines()

    return write_and_run


LINES = {
    # The wrong object of the right library.
    UPC + "t.rank": "Thread has no rank; write `t.MYTHREAD`",
    UPC + "t.size": "Thread has no size; write `t.THREADS`",
    UPC + "t.mythread": "Thread has no mythread (did you mean MYTHREAD?)",
    UPC + "await t.upc_barrier()": "Thread has no upc_barrier (did you mean barrier?)",
    UPC + "await t.put(1, 0, b'a')": "Thread has no put, but its extended has: write `t.extended.put`",
    UPC + "await t.request_short(1, print)": "Thread has no request_short, but its ep has: write `t.ep.request_short`",
    UPC + "await a.sum()": (
        "SharedArray has no sum; write `a.local.sum` for this thread's elements, `(await a[:]).sum` for all"
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
    SHMEM + "await pe.barrier()": "PE has no barrier; write `await pe.barrier_all()`",
    SHMEM + "from extended import shmem; shmem.my_pe()": (
        "extended.shmem has no my_pe, but what main is called with has: `async def main(pe)`, then `pe.my_pe`"
    ),
    SHMEM + "from extended.shmem import n_pes": (
        "extended.shmem has no n_pes, but what main is called with has: `async def main(pe)`, then `pe.n_pes`"
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
        "Extended has no request_short, but its ep has: write `x.ep.request_short`"
    ),
    EXTENDED + "h = await x.put_nb(1, 0, b'a')\n    h.wait()": "Handle has no wait; `await` the handle itself",
    # mpi4py.
    UPC + "a[1][2] = 5": (
        "extended.upc.errors.NotAwaited: a[i][j] = v would write into a copy of what is read; write `a[i, j] = v` into "
        "the array"
    ),
    MPI + "await comm.barrier()": (
        "conduit.errors.BadRequest: Comm.barrier: names begin with a capital here; write `await comm.Barrier()`"
    ),
    MPI + "await comm.iprobe()": (
        "conduit.errors.BadRequest: Comm.iprobe: names begin with a capital here; write `await comm.Iprobe()`"
    ),
    MPI + "await comm.allreduce(3)": (
        "conduit.errors.BadRequest: Comm.allreduce: calls that pickle objects are not here; give arrays to `await "
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
    MPI + "comm.my_rank": "Comm has no my_rank; write `comm.rank`",
    MPI + "await comm.Get_rank()": "comm.Get_rank() is a plain call, which never waits: write it without `await`",
    MPI + "comm.size()": "comm.size is an int and no method: write it without parentheses",
    "from mpi4py_of_none import MPI": "ModuleNotFoundError: No module named 'mpi4py_of_none'",
    "import shmem4py": "there is no shmem4py here: write `from extended import shmem`",
    "from conduit.upc import run": "there is no conduit.upc here: write `from extended import upc`",
    MPI + "other = 1 - comm.rank\n    await comm.Sendrecv(b, other, 0, b.copy(), other, 0, MPI.Status)": (
        "conduit.errors.BadRequest: status=<class 'conduits.mpi.awaited.status.Status'> is a type; give an object of "
        "its class, status=MPI.Status()"
    ),
    MPI + "await comm.Recv(b, src=0)": "TypeError: Comm.Recv() got an unexpected keyword argument 'src'",
    MPI + "await comm.bcst(b)": "Comm has no bcst (did you mean Bcast?)",
    "from conduits import MPI": "conduits has no MPI: write `from conduits.mpi import MPI`",
    "from extended import UPC": "extended has no UPC: write `from extended import upc`",
    MPI + MPI4PY + "await comm.Allreduce(b, b.copy(), op=Op())": (
        "conduit.errors.BadRequest: Comm.Allreduce: op is of mpi4py itself; write `from conduits.mpi import MPI` at "
        "the top"
    ),
    MPI + MPI4PY.replace("Op", "Datatype") + "await comm.Bcast([b, Datatype()])": (
        "conduit.errors.BadRequest: Comm.Bcast: buf: the datatype is of mpi4py itself; write `from conduits.mpi import "
        "MPI` at the top"
    ),
    MPI + MPI4PY.replace("Op", "Datatype") + "await comm.Gatherv([b, Datatype()], [b, (4, 0), Datatype()])": (
        "conduit.errors.BadRequest: Comm.Gatherv: sendbuf: the datatype is of mpi4py itself; write `from conduits.mpi "
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
    # Called, awaited, entered.
    CORE + "ep.rank()": "ep.rank is an int and no method: write it without parentheses",
    CORE + "for r in ep.size: pass": "ep.size is an int: write `range(ep.size)`",
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
    EXTENDED + "await x.barrier": "x.barrier is a method: call it, `await x.barrier()`",
    EXTENDED + "with x.lock('a'):\n        pass": "to enter it may take time: write `async with x.lock('a'):`",
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
        "conduit.errors.BadRequest: a.local = v: could not broadcast input array from shape (2,) into shape (6,); the "
        "array has dtype int64, give values that numpy assigns to it, and as many as this thread has, 6"
    ),
    # Handlers.
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
    + "await ep.attach('g')": "conduit.errors.BadRequest: attach: handler='g' is a str; pass the function itself: g",
    CORE + "await ep.attach([h, main])": (
        "conduit.errors.BadRequest: attach: handler=[h, main] is a list; pass each function by itself, `await "
        "ep.attach(f, g)`: none has a number of its own"
    ),
    CORE + "def g(): pass\n    await ep.attach(g)": (
        "conduit.errors.BadRequest: attach: handler=g (prog.py:5) takes no token; write `def g(token, ...)`"
    ),
    CORE + "await ep.attach((200, h))": (
        "conduit.errors.BadRequest: attach: handler=[200, h] is a tuple; pass each function by itself, `await "
        "ep.attach(f, g)`: none has a number of its own"
    ),
    CORE + "def g(token): token.reply(h, 1)\n    await ep.attach(g)\n    await ep.request_short(0, g)": (
        "Token has no reply; write `token.reply_short(handler, *args)`, with bytes `token.reply_medium(handler, "
        "payload, *args)`"
    ),
    CORE + "await ep.gasnet_AMRequestShort2(1, h, 1)": (
        "Endpoint has no gasnet_AMRequestShort2; write `await ep.request_short(dest, handler, *args)`"
    ),
    CORE + "ep.AMGetMsgSource()": "Endpoint has no AMGetMsgSource; write `token.rank`, in a handler",
    # More of the other libraries.
    SHMEM + "await pe.max_to_all(a, a)": "PE has no max_to_all; write `await pe.max_reduce(target, source)`",
    SHMEM + "await pe.long_put(a, a, 1)": "PE has no long_put (did you mean put?)",
    SHMEM + "with await pe.Lock():\n        pass": ("to enter it may take time: write `async with await pe.Lock():`"),
    UPC + "MYTHREAD": "MYTHREAD is of t: write `t.MYTHREAD`",
    UPC + "await t.lock('a').lock()": ("SharedLock has no lock; write `await lock.acquire()`, or `async with lock:`"),
    UPC + "import upc": "there is no upc here: write `from extended import upc`",
    EXTENDED + "await x.lock('a').unlock()": "Lock has no unlock; write `await lock.release()`",
    EXTENDED + "await x.atomic('i8').fetch_and_add(0, 0, 1)": (
        "Atomic has no fetch_and_add; write `await d.fetch_add(dest, offset, v)`"
    ),
    MPI + "await MPI.Request.Waitall(await comm.Irecv(b))": (
        "conduit.errors.BadRequest: Request: requests is a single one; give a list, [request], or `await "
        "request.Wait()`"
    ),
    MPI + "await MPI.Request.Waitall(None)": (
        "conduit.errors.BadRequest: Request: requests=None is no value; give a list of requests"
    ),
    # SHMEM's waits.
    SHMEM + "await pe.wait_until(a[0], '>', 3)": (
        "conduit.errors.BadRequest: pe.wait_until: ivars=np.int64(0) is the value of an element, and says no more "
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


@pytest.mark.parametrize("name", ["Waitall", "Testall", "Waitany", "Testany", "Waitsome", "Testsome", "Startall"])
def test_a_call_of_a_class_of_mpi_that_is_not_awaited_is_told_with_its_line(shown, name):
    call = f"MPI.Prequest.{name}([])"
    assert (
        f"conduit.errors.BadRequest: {call} at prog.py:6 was called but never awaited, so it did nothing; write `await "
        f"{call}`"
    ) in shown(MPI + call)


AT_ONCE = (
    "programs run on Trio, where nothing of asyncio works: write `async with trio.open_nursery() as nursery:` and in "
    "it `nursery.start_soon(ep.poll)` for each call that is to be made at the same time, the function and its "
    "arguments without parentheses"
)
WITHIN = (
    "programs run on Trio, where nothing of asyncio works: write `with trio.fail_after(seconds):` around what may not "
    "take longer"
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("await asyncio.gather(ep.poll(), ep.poll())", AT_ONCE),
        ("asyncio.create_task(ep.poll())", AT_ONCE),
        ("async with asyncio.TaskGroup() as group: pass", AT_ONCE),
        ("await asyncio.wait_for(ep.poll(), 1)", WITHIN),
        ("async with asyncio.timeout(1): pass", WITHIN),
        (
            "await asyncio.Event().wait()",
            "programs run on Trio, where nothing of asyncio works: write the same of Trio, such as `trio.Event()`",
        ),
        (
            "await asyncio.Queue().get()",
            "programs run on Trio, where nothing of asyncio works: write `send, receive = "
            "trio.open_memory_channel(size)`",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_programs_write_for_names_of_asyncio(shown, line, said):
    # Where there is no loop, asyncio makes one, keeps it, and complains when it dies, in another test.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        assert said in shown(CORE + line)
    finally:
        asyncio.set_event_loop(None)
        loop.close()
        gc.collect()  # what was begun in it complains when it dies


def test_asyncio_run_in_a_program_upsets_trio_but_the_programs_line_is_told(tmp_path):
    (tmp_path / "prog.py").write_text(CORE + "asyncio.run(ep.poll())")
    done = subprocess.run(
        [sys.executable, "-m", "conduit", "run", "prog.py", "--conduit", "loggp"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith('Traceback (most recent call last):\n  File "prog.py", line 5, in main\n')
    assert (
        "\nprograms run on Trio, where nothing of asyncio works: write `await` before the call, and nothing else: main "
        "runs already\n"
    ) in done.stderr


def test_main_runs_in_trio_already(shown):
    said = "main runs in Trio already: `await` the function instead, with its arguments"
    assert said in shown("import trio\n" + CORE + "trio.run(ep.poll)")


def test_a_call_that_is_given_to_a_nursery_is_written_apart(shown):
    lines = shown(
        "import trio\n" + EXTENDED + "async with trio.open_nursery() as n:\n        n.start_soon(x.put(1, 0, b'a'))"
    )
    assert any(
        line.endswith(
            "give the function and its arguments apart, without calling it: `n.start_soon(x.put, 1, 0, b'a')`"
        )
        for line in lines
    )


@pytest.mark.parametrize(
    ("top", "line", "call"),
    [
        (CORE, "while True: ep.poll()", "ep.poll()"),
        (CORE, "while True: ep.request_short(0, h, 1)", "ep.request_short(0, h, 1)"),
        (EXTENDED, "while x.get(0, 0, 1) is not None: pass", "x.get(0, 0, 1)"),
        (MPI, "while comm.Iprobe(): pass", "comm.Iprobe()"),
        (UPC, "while True: a[0]", "a[0]"),
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
