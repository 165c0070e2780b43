"""Every public call that is awaited, made once without `await`: the job ends with the program's line and call (E4)."""

import ast
import contextlib
import gc
import inspect
import io
import linecache
import textwrap
import warnings

import pytest

import conduit
import extended
from conduit.commands import cli
from conduit.core.calls import _written
from conduit.core.rma import Rma
from conduits.mpi import MPI
from extended import shmem, upc, windows
from extended.shmem.contexts import CtxMaker

X = "x = await Extended.attach(ep)\n"
NUMBERS = "a, b = np.zeros(4), np.zeros(4)\n"
SHARED = "a, b = await t.all_alloc(4, 'i8', 4), await t.all_alloc(4, 'i8', 4)\n"
SYMMETRIC = "a, b, f = await pe.zeros(4, 'i8'), await pe.zeros(4, 'i8'), np.zeros(1, 'i8')\n"
WINDOW = X + "from extended.windows import Win\nwin = await Win.Allocate(64, comm=x)\nb, c = np.zeros((2, 1))\n"
FENCED = "await win.Fence() ;; "
LOCKED = "await win.Lock(0) ;; "

OF_TEAMS = """
    {}.all_gather(1)
    {}.all_gather_nb(1)
    {}.all_reduce(1)
    {}.all_reduce_nb(1)
    {}.all_to_all([1])
    {}.all_to_all_nb([1])
    {}.barrier()
    {}.barrier_notify()
    {}.barrier_try()
    await {}.barrier_notify() ;; {}.barrier_wait()
    {}.broadcast(1)
    {}.broadcast_nb(1)
    {}.gather(1)
    {}.gather_nb(1)
    {}.reduce(1)
    {}.reduce_nb(1)
    {}.scan(1)
    {}.scan_nb(1)
    {}.scatter([1])
    {}.scatter_nb([1])
    {}.split(0)
"""
REQUESTS = """
    r.Cancel()
    r.Free()
    r.Test()
    MPI.Request.Testall([r])
    MPI.Request.Testany([r])
    MPI.Request.Testsome([r])
    r.Wait()
    MPI.Request.Waitall([r])
    MPI.Request.Waitany([r])
    MPI.Request.Waitsome([r])
"""


def _each(form, names):
    """Write a line for each of some names."""
    return "".join(f"    {form.format(name)}\n" for name in names.split())


# The class, what starts a job of it, the lines before, and the calls: what goes before one of them ends in ";;".
CALLS = [
    (
        conduit.Endpoint,
        "ep",
        "def h(token): pass\n",
        """
        ep.attach(h)
        ep.block_until(lambda: True)
        ep.compute(1e-6)
        ep.poll()
        await ep.attach(h) ;; ep.request_long(0, h, b"", 0)
        await ep.attach(h) ;; ep.request_long_async(0, h, b"", 0)
        await ep.attach(h) ;; ep.request_medium(0, h, b"a")
        await ep.attach(h) ;; ep.request_short(0, h)
        """,
    ),
    (
        Rma,
        "rma",
        "",
        """
        ep.rma.arrive((0, 0), False, print)
        ep.rma.compare_swap(0, 0, 1, 2)
        ep.rma.fence(0)
        ep.rma.fetch_add(0, 0, 1)
        ep.rma.get(0, 0, bytearray(1))
        ep.rma.get_strided(0, 0, 2, (3,), (4,), bytearray(6))
        ep.rma.put(0, 0, b"a")
        ep.rma.put_strided(0, 0, 2, (3,), (4,), b"abcdef")
        ep.rma.quiet()
        ep.rma.swap(0, 0, 1)
        """,
    ),
    (
        extended.Extended,
        "ep",
        X,
        OF_TEAMS.replace("{}", "x")
        + """
        Extended.attach(ep)
        x.all_alloc(8)
        at = await x.all_alloc(8) ;; x.free(at)
        x.get(0, 0, 1)
        x.get_indexed(0, [0], 1)
        x.get_indexed_nb(0, [0], 1)
        x.get_indexed_nbi(0, [0], 1, bytearray(1))
        x.get_nb(0, 0, 1)
        x.get_nbi(0, 0, out=bytearray(1))
        x.get_strided(0, 0, [8], np.zeros(4))
        x.get_strided_nb(0, 0, [8], np.zeros(4))
        x.get_strided_nbi(0, 0, [8], np.zeros(4))
        x.get_value(0, 0)
        x.get_value_nb(0, 0)
        x.get_vector(0, [(0, 1)])
        x.get_vector_nb(0, [(0, 1)])
        x.get_vector_nbi(0, [(0, 1)], bytearray(1))
        x.global_alloc(8)
        at = await x.global_alloc(8) ;; x.global_free(at)
        x.memset(0, 0, 1, 8)
        x.memset_nb(0, 0, 1, 8)
        x.memset_nbi(0, 0, 1, 8)
        x.put(0, 0, b"a")
        x.put_indexed(0, [0], 1, b"a")
        x.put_indexed_nb(0, [0], 1, b"a")
        x.put_indexed_nbi(0, [0], 1, b"a")
        x.put_nb(0, 0, b"a")
        x.put_nbi(0, 0, b"a")
        x.put_strided(0, 0, [8], np.zeros(4))
        x.put_strided_nb(0, 0, [8], np.zeros(4))
        x.put_strided_nbi(0, 0, [8], np.zeros(4))
        x.put_value(0, 0, 1)
        x.put_value_nb(0, 0, 1)
        x.put_value_nbi(0, 0, 1)
        x.put_vector(0, [(0, 1)], b"a")
        x.put_vector_nb(0, [(0, 1)], b"a")
        x.put_vector_nbi(0, [(0, 1)], b"a")
        x.sync()
        x.sync_gets()
        x.sync_puts()
        x.wait_all([])
        x.wait_some([])
        """,
    ),
    (
        extended.Team,
        "ep",
        X + "team = await x.split(0)\n",
        OF_TEAMS.replace("{}", "team") + "    team.destroy()\n",
    ),
    (
        extended.Atomic,
        "ep",
        X + "at = x.atomic('i8')\n",
        """
        at.accumulate(0, [0], [1])
        at.accumulate_nb(0, [0], [1])
        at.compare_swap(0, 0, 1, 2)
        at.dec(0, 0)
        at.fetch_dec(0, 0)
        at.fetch_inc(0, 0)
        at.get(0, 0)
        at.inc(0, 0)
        """
        + _each(
            "at.{}(0, 0, 1)",
            """add and_ fetch_add fetch_and fetch_max fetch_min fetch_mul fetch_or fetch_sub fetch_xor max
            min mul or_ set sub swap xor""",
        ),
    ),
    (
        extended.Lock,
        "ep",
        X + "lock = x.lock('a')\n",
        """
        lock.acquire()
        await lock.acquire() ;; lock.release()
        lock.try_acquire()
        """,
    ),
    (
        upc.Thread,
        "t",
        SHARED,
        """
        t.all_alloc(4)
        t.all_broadcast(a, (b, 0), 8)
        t.all_exchange(a, b, 8)
        t.all_free(a)
        t.all_gather((a, 0), b, 8)
        t.all_gather_all(a, b, 8)
        t.all_permute(a, b, p, 8)
        t.all_prefix_reduce(a, b)
        t.all_reduce((a, 0), b)
        t.all_scatter(a, (b, 0), 8)
        t.all_sort(a)
        t.alloc(4)
        t.barrier()
        t.fence()
        c = await t.alloc(4) ;; t.free(c)
        t.global_alloc(4)
        t.memcpy((a, 0), (b, 0), 8)
        t.memget((a, 0), 8)
        t.memput((a, 0), b"12345678")
        t.memset((a, 0), 1, 8)
        t.notify()
        await t.notify() ;; t.wait()
        """.replace("t.all_permute", "p = await t.all_alloc(1, 'i8') ;; t.all_permute"),
    ),
    (
        upc.SharedArray,
        "t",
        SHARED,
        """
        a[0]
        a.add_at(0, 1)
        a.assign(0, 1)
        a.compare_swap(0, 1, 2)
        a.fetch_add(0, 1)
        a.gather_to(0)
        a.read(0)
        a.to_numpy()
        a.write(0, 1)
        """,
    ),
    (
        upc.SharedLock,
        "t",
        "lock = t.lock('a')\n",
        """
        lock.acquire()
        await lock.acquire() ;; lock.release()
        lock.try_acquire()
        """,
    ),
    (
        shmem.PE,
        "pe",
        SYMMETRIC,
        _each(
            "pe.{}(a, b)",
            """alltoall alltoalls and_reduce collect fcollect max_reduce min_reduce or_reduce prod_reduce
            reduce sum_reduce xor_reduce""",
        )
        + _each("pe.{}(a, b, 0)", "broadcast get get_nbi iget iput put put_nbi")
        + "".join(
            f"    pe.atomic_{name}(a[:1], 1, 0)\n    pe.atomic_fetch_{name}(a[:1], 1, 0)\n"
            f"    pe.atomic_fetch_{name}_nbi(f, a[:1], 1, 0)\n"
            for name in ("add", "and", "or", "xor")
        )
        + "".join(
            f"    pe.{kind}_{some}(a, '>=', 0)\n    pe.{kind}_{some}_vector(a, '>=', [0] * 4)\n"
            for kind in ("test", "wait_until")
            for some in ("all", "any", "some")
        )
        + """
        pe.Lock()
        pe.alloc(8)
        pe.array([1])
        pe.atomic_compare_swap(a[:1], 1, 2, 0)
        pe.atomic_compare_swap_nbi(f, a[:1], 1, 2, 0)
        pe.atomic_fetch(a[:1], 0)
        pe.atomic_fetch_inc(a[:1], 0)
        pe.atomic_fetch_inc_nbi(f, a[:1], 0)
        pe.atomic_fetch_nbi(f, a[:1], 0)
        pe.atomic_fetch_op(a[:1], 1, pe.AMO_ADD, 0)
        pe.atomic_fetch_op_nbi(f, a[:1], 1, pe.AMO_ADD, 0)
        pe.atomic_inc(a[:1], 0)
        pe.atomic_op(a[:1], 1, pe.AMO_ADD, 0)
        pe.atomic_set(a[:1], 1, 0)
        pe.atomic_swap(a[:1], 1, 0)
        pe.atomic_swap_nbi(f, a[:1], 1, 0)
        pe.barrier_all()
        lock = await pe.new_lock() ;; await pe.set_lock(lock) ;; pe.clear_lock(lock)
        pe.del_array(a)
        lock = await pe.new_lock() ;; pe.del_lock(lock)
        s = await pe.new_signal() ;; pe.del_signal(s)
        pe.empty(4)
        pe.fence()
        pe.finalize()
        m = await pe.alloc(8) ;; pe.free(m)
        pe.full(4, 1)
        pe.init()
        pe.init_thread()
        pe.new_array(4)
        pe.new_lock()
        pe.new_signal()
        pe.ones(4)
        s = await pe.new_signal() ;; pe.put_signal(a, b, 0, s, 1, pe.SIGNAL_SET)
        s = await pe.new_signal() ;; pe.put_signal_nbi(a, b, 0, s, 1, pe.SIGNAL_SET)
        pe.quiet()
        lock = await pe.new_lock() ;; pe.set_lock(lock)
        s = await pe.new_signal() ;; pe.signal_fetch(s)
        s = await pe.new_signal() ;; pe.signal_wait_until(s, ">=", 0)
        pe.sync()
        pe.sync_all()
        pe.test(a[:1], ">=", 0)
        lock = await pe.new_lock() ;; pe.test_lock(lock)
        pe.wait_until(a[:1], ">=", 0)
        pe.zeros(4)
        """,
    ),
    (CtxMaker, "pe", "", "    pe.Ctx.create()\n"),
    (
        shmem.Ctx,
        "pe",
        "ctx = await pe.Ctx.create()\n",
        """
        ctx.destroy()
        ctx.fence()
        ctx.quiet()
        """,
    ),
    (
        shmem.ShmemLock,
        "pe",
        "lock = await pe.Lock()\n",
        """
        lock.acquire()
        lock.destroy()
        await lock.acquire() ;; lock.release()
        """,
    ),
    (
        shmem.ShmemTeam,
        "pe",
        "team = await pe.TEAM_WORLD.split_strided()\n",
        """
        team.create_ctx()
        team.destroy()
        team.split_strided()
        team.sync()
        """,
    ),
    (
        windows.Win,
        "ep",
        WINDOW,
        f"""
        {FENCED}win.Accumulate(b, 0)
        Win.Allocate(8, comm=x)
        {LOCKED}n = np.zeros(1, "i8") ;; win.Compare_and_swap(n, n, n.copy(), 0)
        await win.Post(win.Get_group()) ;; await win.Start(win.Get_group()) ;; win.Complete()
        Win.Create(np.zeros(4), comm=x)
        win.Fence()
        {LOCKED}win.Fetch_and_op(b, c, 0)
        {LOCKED}win.Flush(0)
        {LOCKED}win.Flush_all()
        {LOCKED}win.Flush_local(0)
        {LOCKED}win.Flush_local_all()
        win.Free()
        {FENCED}win.Get(b, 0)
        {FENCED}win.Get_accumulate(b, c, 0)
        win.Lock(0)
        win.Lock_all()
        win.Post(win.Get_group())
        {FENCED}win.Put(b, 0)
        win.Start(win.Get_group())
        win.Sync()
        await win.Post(win.Get_group()) ;; win.Test()
        {LOCKED}win.Unlock(0)
        await win.Lock_all() ;; win.Unlock_all()
        await win.Post(win.Get_group()) ;; win.Wait()
        """,
    ),
    (
        MPI.Comm,
        "comm",
        NUMBERS,
        _each(
            "comm.{}(a, b)",
            """Allgather Allgatherv Allreduce Alltoall Alltoallv Exscan Gather Gatherv Iallreduce Ialltoall
            Reduce Reduce_scatter Reduce_scatter_block Scan Scatter Scatterv""",
        )
        + _each("comm.{}(a, 0)", "Bsend Ibsend Irecv Irsend Isend Issend Recv Rsend Send Ssend Sendrecv_replace")
        + """
        comm.Barrier()
        comm.Bcast(a)
        comm.Clone()
        comm.Create(comm.Get_group())
        comm.Create_group(comm.Get_group())
        MPI.Attach_buffer(bytearray(64)) ;; comm.Detach_buffer()
        comm.Dup()
        new = await comm.Dup() ;; new.Free()
        comm.Ibarrier()
        comm.Ibcast(a)
        comm.Improbe()
        comm.Iprobe()
        comm.Mprobe()
        comm.Probe()
        comm.Sendrecv(a, 0, recvbuf=b)
        comm.Split()
        comm.Split_type(MPI.COMM_TYPE_SHARED)
        """,
    ),
    (MPI.Request, "comm", NUMBERS + "r = await comm.Irecv(a)\n", REQUESTS),
    (
        MPI.Prequest,
        "comm",
        NUMBERS + "r = comm.Recv_init(a)\n",
        REQUESTS.replace("Request", "Prequest") + "    r.Start()\n    MPI.Prequest.Startall([r])\n",
    ),
    (
        MPI.Message,
        "comm",
        NUMBERS + "r, m = await comm.Isend(a, 0), await comm.Mprobe()\n",
        """
        m.Irecv(b)
        m.Recv(b)
        """,
    ),
    (windows, "ep", X + "from extended import windows\n", "    windows.attach(x)\n"),
    (upc, "ep", "from extended import upc\n", "    upc.attach(ep)\n"),
    (shmem, "ep", "from extended import shmem\n", "    shmem.attach(ep)\n"),
    (MPI, "comm", "MPI.Attach_buffer(bytearray(64))\n", "    MPI.Detach_buffer()\n"),
]

EXCEPT = {
    (conduit, "refuse_call"): "for layers, which return what it gives",
    **dict.fromkeys(
        [(conduit, "run_async"), (upc, "run_async"), (shmem, "run_async"), (MPI, "run_async")],
        "made in no job: Python tells it, with the line",
    ),
    **dict.fromkeys(
        [
            *(
                (each, name)
                for each in (extended.Extended, extended.Team)
                for name in ("begin_barrier", "end_barrier", "meet")
            ),
            (CtxMaker, "finish"),
            (CtxMaker, "make"),
        ],
        "a part of what the package does itself, no call for programs",
    ),
    (conduit.Endpoint, "shielded"): "for layers, who make it in each barrier: Python tells it, with the line",
    (extended.Extended, "destroy"): "refused before it could be awaited: the team of all ranks stays",
    **dict.fromkeys(
        [(conduit, "checked_call"), (conduit.Result, "to_frame"), (MPI, "run_program"), (shmem.PE, "ptr")]
        + [(each, "run") for each in (upc, shmem, MPI)]
        + [(upc.SharedArray, name) for name in ("phaseof", "threadof")],
        "plain, though it does not say what it returns",
    ),
}
"""Calls for which it cannot hold, with the reason."""

HEAD = "import numpy as np\nfrom conduits.mpi import MPI\nfrom extended import Extended\n"
START = {
    "ep": lambda main: conduit.run(main, ranks=1, conduit="loggp"),
    "rma": lambda main: conduit.run(main, ranks=1, conduit="t3e"),
    "t": lambda main: upc.run(main, threads=1, conduit="loggp"),
    "pe": lambda main: shmem.run(main, pes=1, conduit="loggp"),
    "comm": lambda main: MPI.run(main, ranks=1),
}


def _cases():
    for owner, start, before, calls in CALLS:
        for each in filter(None, map(str.strip, calls.splitlines())):
            *first, call = each.split(" ;; ")
            yield pytest.param(start, before + "\n".join(first), call, id=f"{owner.__name__}: {call}")


def _name(line):
    call = line.split(" ;; ")[-1]
    return "__getitem__" if call.endswith("]") else call.partition("(")[0].rpartition(".")[2]


@pytest.mark.parametrize(("start", "before", "call"), list(_cases()))
def test_E4_a_public_call_that_is_not_awaited_is_told_with_the_programs_line(monkeypatch, start, before, call):
    first = "comm" if start == "comm" else start if start in ("t", "pe") else "ep"
    source = f"{HEAD}async def main({first}):\n{textwrap.indent(before, '    ').rstrip()}\n    {call}\n"
    monkeypatch.setitem(linecache.cache, "prog.py", (len(source), None, source.splitlines(keepends=True), "prog.py"))
    names = {}
    exec(compile(source, "prog.py", "exec"), names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # and Python says nothing of its own
        with pytest.raises(conduit.BadRequest) as caught:
            START[start](names["main"])
    assert str(caught.value) == (
        f"{call} at prog.py:{source.count(chr(10))} was called but never awaited, so it did nothing; write "
        f"`await {call}`"
    )


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("x.barrier()", "x.barrier"), ("ep.poll()", "ep.poll"), ("k.x.put(1, 0, b'a')", "k.x.put"),
        ("later(1e-6)", "later"), ("'y'.join([]) or x.barrier()", "x.barrier"),
        ("[x][0].barrier()", "Extended.barrier"), ("Extended.barrier(x)", "Extended.barrier"),
        ("GLOBAL.barrier()", "GLOBAL.barrier"), ("(lambda: x.sync())()", "x.sync"),
    ],
)  # fmt: skip
def test_E4_at_a_prompt_whose_lines_python_does_not_keep_it_is_told_as_it_is_called(line, call):
    source = (
        "from extended import Extended\nasync def main(ep):\n    global GLOBAL\n"
        "    x = GLOBAL = await Extended.attach(ep)\n    class k: pass\n    k.x = x\n    later = ep.compute\n"
        f"    {line}\n"
    )
    names = {}
    exec(compile(source, "<stdin>", "exec"), names)
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(names["main"], conduit="loggp")
    assert str(caught.value) == (
        f"{call}(...) at <stdin>:8 was called but never awaited, so it did nothing; write `await {call}(...)`"
    )


@pytest.mark.parametrize("keep", ["KEPT.append({})", "KEPT[:] = [1, {}]", "TABLE[ep.rank] = {}", "global A; A = {}"])
def test_E4_so_is_one_that_a_variable_of_its_module_keeps(keep, tmp_path, monkeypatch):
    call = "x.put(1, 0, b'a')"
    source = (
        "from extended import Extended\nKEPT, TABLE = [], {}\nasync def main(ep):\n"
        f"    x = await Extended.attach(ep)\n    {keep.format(call)}\n"
    )
    monkeypatch.setitem(linecache.cache, "prog.py", (len(source), None, source.splitlines(keepends=True), "prog.py"))
    names = {}
    exec(compile(source, "prog.py", "exec"), names)
    said = f"{call} at prog.py:5 was called but never awaited, so it did nothing; write `await {call}`"
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(names["main"])
    assert str(caught.value) == said
    (tmp_path / "prog.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        assert cli.call(["run", "prog.py"]) == 1
    assert f"conduit.errors.BadRequest: {said}\n" in err.getvalue()


def test_one_that_another_rank_is_to_await_may_be_kept():
    async def main(ep):
        x = await extended.Extended.attach(ep)
        if ep.rank:
            LATER.append(x.put(0, 0, b"a"))
            await ep.compute(1e-3)
            await LATER.pop()
        await x.barrier()

    conduit.run(main)


LATER = []


def _awaited(function):
    """Say whether a function is to be awaited, by how it is made or what it says that it returns."""
    if inspect.iscoroutinefunction(inspect.unwrap(function)) or hasattr(function, "check"):
        return True
    returned = str(getattr(function, "__annotations__", {}).get("return", ""))
    return returned == "Any" or "Coroutine" in returned or "Awaitable" in returned


def _public(owner):
    """Return the names of the public calls of a class, or of a module, that are awaited."""
    found = set()
    for name in getattr(owner, "__all__", dir(owner)):
        if name.startswith("_") and name != "__getitem__":
            continue
        value = inspect.getattr_static(owner, name)
        function = getattr(value, "__func__", value)
        if not inspect.isclass(function) and callable(function) and _awaited(function):
            found.add(name)
    return found


MODULES = [conduit, extended, upc, shmem, windows, MPI]
OWNERS = [
    *MODULES,
    *{each for module in MODULES for name in module.__all__ if inspect.isclass(each := getattr(module, name))},
    Rma,
    CtxMaker,
]


@pytest.mark.parametrize("owner", sorted(OWNERS, key=lambda each: each.__name__), ids=lambda each: each.__name__)
def test_no_public_call_is_missing_above(owner):
    listed = [_name(line) for each, *_, calls in CALLS if each is owner for line in map(str.strip, calls.splitlines())]
    excepted = [name for each, name in EXCEPT if each is owner]
    names = [*filter(None, listed), *excepted]
    assert sorted(names) == sorted({*names} | _public(owner))
    assert not [name for name in names if not hasattr(owner, name)]


@pytest.mark.parametrize(
    ("lines", "others"),
    [
        (["x.barrier()"], []),
        (["x.barrier()", "x.put(1, 0, b'a')"], ["x.put(1, 0, b'a') at prog.py:5"]),
        (["x.get(1, 0, 4); x.get(1, 4, 4)", "await x.barrier()"], ["x.get(1, 4, 4) at prog.py:4"]),
        (["for i in range(9): x.put(1, i, b'a')"], []),
        ([f"x.get(1, {i}, 4)" for i in range(7)], [f"x.get(1, {i}, 4) at prog.py:{4 + i}" for i in range(1, 5)]),
    ],
)
def test_E4_the_others_of_several_are_told_with_their_lines(lines, others, monkeypatch):
    source = "\n    ".join(
        ["from extended import Extended\nasync def main(ep):", "x = await Extended.attach(ep)", *lines, ""]
    )
    monkeypatch.setitem(linecache.cache, "prog.py", (len(source), None, source.splitlines(keepends=True), "prog.py"))
    names = {}
    exec(compile(source, "prog.py", "exec"), names)
    with pytest.raises(conduit.BadRequest, match=r" at prog\.py:4 was called but never awaited") as caught:
        conduit.run(names["main"])
    more = " and 2 more" if len(lines) == 7 else ""
    notes = [each for each in caught.value.__notes__ if each.startswith("never awaited")]
    assert notes == [f"never awaited either: {', '.join(others)}{more}"] * bool(others)


def _made(source, monkeypatch):
    """Return `main` of a program whose source is found as that of a file."""
    monkeypatch.setitem(linecache.cache, "prog.py", (len(source), None, source.splitlines(keepends=True), "prog.py"))
    names = {}
    exec(compile(source, "prog.py", "exec"), names)
    return names["main"]


def test_a_program_that_forgets_calls_in_a_loop_is_read_once(monkeypatch):
    """It may be long, and is told of a thousand."""
    source = "async def main(ep):\n    while True: ep.poll()\n# the end of one that is told of nothing else\n"
    parse, read = ast.parse, []

    def parsing(text, *args, **options):
        read.append(text)
        return parse(text, *args, **options)

    monkeypatch.setattr(ast, "parse", parsing)
    with pytest.raises(conduit.BadRequest, match="was called 1000 times"):
        conduit.run(_made(source, monkeypatch), ranks=1)
    assert read.count(source) == 1


@pytest.mark.parametrize(
    ("line", "written"),
    [
        (
            "await ep.block_until(lambda: not x.get(0, 0, 64) == 7)",
            "while not not (await x.get(0, 0, 64) == 7).all(): ",
        ),
        ("list(map(lambda n: [x.get(0, n, 8)], [0]))", "[[await x.get(0, n, 8)] for n in [0]]"),
        ("all([x.get(0, n, 8)] for n in [0])", "[[await x.get(0, n, 8)] for n in [0]]"),
    ],
)
def test_what_is_told_of_a_program_does_not_change_what_is_told_of_it_next(line, written, monkeypatch):
    """It is made of what was read of the program, which is read once."""
    head = "from extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n    "
    main = _made(head + line, monkeypatch)
    told = []
    for _ in range(2):
        with pytest.raises(conduit.BadRequest) as caught:
            conduit.run(main)
        told.append(str(caught.value))
        _written.cache_clear()  # it is made anew
    assert written in told[0]
    assert told[0] == told[1]


def test_calls_that_are_kept_are_not_looked_for_where_no_rank_has_failed(monkeypatch):
    """That goes through all that the process holds."""
    looked, objects = [], gc.get_objects

    def looking(*args, **options):
        looked.append(args)
        return objects(*args, **options)

    monkeypatch.setattr(gc, "get_objects", looking)

    async def main(ep, fails):
        await ep.attach()
        assert not fails
        await ep.block_until(lambda: False)

    with pytest.raises(conduit.TimeLimit):
        conduit.run(main, False, time_limit=1e-5)
    with pytest.raises(conduit.Deadlock):
        conduit.run(main, False)
    assert not looked
    with pytest.raises(AssertionError):
        conduit.run(main, True)
    assert looked
