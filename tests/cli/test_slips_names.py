"""Names that an object has not: what is meant is of the same class, of an object at hand, or C's; and advice works."""

import re
import textwrap

import pytest

UPC = "api = 'upc'\nasync def main(t):\n    a = await t.all_alloc(12, dtype='i8', block=3)\n"
ATOMIC = (
    "from extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n    c = x.atomic('i8')\n"
)
TEAM = (
    "import numpy\nfrom extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n"
    "    team = await x.split(0)\n"
)
CORE = "async def main(ep):\n    def handler(token): pass\n"
SHMEM = "api = 'shmem'\nasync def main(pe):\n    a = await pe.zeros(4, 'i8')\n"

ALONE = "read it, change it, store it, on one thread: "
SWAP = "write `await c.swap(dest, offset, v)`"
COMPARE = "write `await c.compare_swap(dest, offset, expected, new)`"
ANY_OPERATION = "write `await x.atomic(dtype).fetch_add(dest, offset, value)`, or another of its operations"

PYTHONS = (
    "{0} is a generator of Python's: write `rng = numpy.random.default_rng({0}.getrandbits(64))`, then `rng.{1}(...)`"
)
RNG = "import numpy; rng = numpy.random.default_rng({}.getrandbits(64)); "

# What a program writes; what it is told; what it then writes, arguments filled in.
NAMES = [
    # A name of the own class is meant before one of another.
    (UPC, "t.prefix_reduce(a, a)", "Thread has no prefix_reduce (did you mean all_prefix_reduce?)", ""),
    (
        UPC,
        "t.reduce(a, a)",
        "Thread has no reduce; for values of each thread write `await t.extended.reduce(...)`, for shared arrays "
        "`await t.all_reduce(...)`",
        "",
    ),
    (
        UPC,
        "t.gather(a, a)",
        "Thread has no gather; for values of each thread write `await t.extended.gather(...)`, for shared arrays "
        "`await t.all_gather(...)`",
        "",
    ),
    (UPC, "t.THREAD", "Thread has no THREAD (did you mean THREADS?)", "t.THREADS"),
    (UPC, "t.MYTHREADS", "Thread has no MYTHREADS (did you mean MYTHREAD?)", "t.MYTHREAD"),
    (SHMEM, "pe.wait(a, 0)", "PE has no wait; write `await pe.wait_until(a[i:i+1], pe.CMP_NE, value)`", ""),
    (SHMEM, "pe.sum(a, a)", "PE has no sum; write `await pe.sum_reduce(target, source)`", ""),
    (
        SHMEM,
        "pe.TEAM_WORLD.split(0)",
        "ShmemTeam has no split; write `await team.split_strided(start, stride, size)`",
        "",
    ),
    (SHMEM, "pe.swap(a, 1, 0)", "PE has no swap (did you mean atomic_swap?)", "await pe.atomic_swap(a[:1], 1, 0)"),
    (ATOMIC, "c.fetchxor(0, 0, 1)", "Atomic has no fetchxor (did you mean fetch_xor?)", "await c.fetch_xor(0, 0, 1)"),
    # An object at hand has it: C's functions take that as their argument.
    (UPC, "t.threadof(a, 3)", "Thread has no threadof, but a has: write `a.threadof(...)`", "a.threadof(3)"),
    (UPC, "t.upc_phaseof(a, 3)", "Thread has no upc_phaseof, but a has: write `a.phaseof(...)`", "a.phaseof(3)"),
    (
        ATOMIC,
        "await ep.barrier()",
        "Endpoint has no barrier, but x has: write `await x.barrier()`",
        "await x.barrier()",
    ),
    (
        "from extended import Extended, upc\n" + ATOMIC.partition("\n")[2],
        "await ep.barrier()",
        "Endpoint has no barrier, but x has: write `await x.barrier()`",
        "await x.barrier()",
    ),
    (
        ATOMIC,
        "await ep.swap(0, 0, 1)",
        "Endpoint has no swap; write `await x.atomic(dtype).swap(dest, offset, value)`",
        "",
    ),
    (ATOMIC, "await ep.bcast(3)", "Endpoint has no bcast; write `await x.broadcast(array, root)`", ""),
    # What GASNet's call does with its data, and what stands for names of UPC++ and of older libraries.
    (
        ATOMIC,
        "await x.gasnet_put_nb(0, 0, b'a')",
        "Extended has no gasnet_put_nb; write `h = await x.put_nb(dest, offset, data, bulk=False)`, then `await h`; "
        "without bulk=False the data are in use until then",
        "h = await x.put_nb(0, 0, b'a', bulk=False); await h",
    ),
    (
        ATOMIC,
        "await x.gasnet_put_nbi(0, 0, b'a')",
        "Extended has no gasnet_put_nbi; write `await x.put_nbi(dest, offset, data, bulk=False)`, then `await "
        "x.sync()`; without bulk=False the data are in use until then",
        "await x.put_nbi(0, 0, b'a', bulk=False); await x.sync()",
    ),
    (ATOMIC, "x.rank_me()", "Extended has no rank_me; write `x.rank`", "x.rank"),
    (UPC, "t.rank_n()", "Thread has no rank_n; write `t.THREADS`", "t.THREADS"),
    (UPC, "t.upc_global_exit(0)", "Thread has no upc_global_exit; write `t.ep.exit(code)`", ""),
    (UPC, "t.upc_ticks_now()", "Thread has no upc_ticks_now; write `t.ep.now`, in seconds", "t.ep.now"),
    (UPC, "t.bupc_poll()", "Thread has no bupc_poll; write `await t.ep.poll()`", "await t.ep.poll()"),
    (
        UPC,
        "t.allocate(3)",
        "Thread has no allocate; write `a = await t.alloc(shape, dtype)`: elements on this thread alone",
        "a = await t.alloc(3)",
    ),
    (UPC, "t.deallocate(a)", "Thread has no deallocate; write `await t.free(a)`, of a shared array `a`", ""),
    (
        UPC,
        "t.rpc_ff(1, print)",
        "Thread has no rpc_ff; write a handler, `await t.ep.attach(f)`, and `await t.ep.request_short(dest, f, *args)`",
        "",
    ),
    (
        UPC,
        "t.local_team()",
        "Thread has no local_team; a program has all threads: those on this thread's host are `t.ep.ranks_on_host`",
        "t.ep.ranks_on_host",
    ),
    (
        UPC,
        "t.when_all(h)",
        "Thread has no when_all; write `await t.fence()`: what this thread has written is done then",
        "await t.fence()",
    ),
    (
        UPC,
        "t.rget_irregular(a, [1])",
        "Thread has no rget_irregular; write `await a[indices]`, of a shared array `a`",
        "",
    ),
    (
        UPC,
        "t.upc_addrfield(a)",
        "Thread has no upc_addrfield; there are no pointers-to-shared: an index of a shared array stands for one",
        "",
    ),
    (
        SHMEM,
        "pe.shmalloc(8)",
        "PE has no shmalloc; write `await pe.zeros(shape, dtype)` for an array, `await pe.alloc(count, size)` for "
        "memory",
        "(await pe.zeros(8), await pe.alloc(8, 1))",
    ),
    (
        SHMEM,
        "pe.start_pes(0)",
        "PE has no start_pes; leave it out: the job begins before main and ends when all have returned",
        "",
    ),
    # A part has it.
    (
        CORE,
        "ep.max_medium",
        "Endpoint has no max_medium, but its limits has: write `ep.limits.max_medium`",
        "ep.limits.max_medium",
    ),
    # What C calls it.
    (
        CORE,
        "ep.gasnet_AMMaxMedium()",
        "Endpoint has no gasnet_AMMaxMedium; write `ep.limits.max_medium`",
        "ep.limits.max_medium",
    ),
    (
        CORE,
        "ep.max_long",
        "Endpoint has no max_long; write `ep.limits.max_long_request`, of replies `ep.limits.max_long_reply`",
        "(ep.limits.max_long_request, ep.limits.max_long_reply)",
    ),
    *(
        (CORE, f"ep.{name}", f"Endpoint has no {name}; write `ep.size`", "ep.size")
        for name in ("nprocs", "np", "threads", "world_size")
    ),
    (CORE, "ep.mythread", "Endpoint has no mythread; write `ep.rank`", "ep.rank"),
    (CORE, "ep.MYTHREAD", 'Endpoint has no MYTHREAD; if this is a program of upc, put `api = "upc"` at its top', ""),
    (
        CORE,
        "ep.attach_handlers(1)",
        "Endpoint has no attach_handlers; write `await ep.attach(handler)`",
        "await ep.attach(handler)",
    ),
    *(
        (ATOMIC, f"c.{name}(0, 0, 1)", f"Atomic has no {name}; {SWAP}", "await c.swap(0, 0, 1)")
        for name in ("fetch_set", "exchange", "fetch_and_store", "get_and_set", "atomic_exchange")
    ),
    *(
        (ATOMIC, f"c.{name}(0, 0, 1, 2)", f"Atomic has no {name}; {COMPARE}", "await c.compare_swap(0, 0, 1, 2)")
        for name in ("cswap", "cas", "compare_exchange", "shmem_atomic_cas")
    ),
    (
        ATOMIC,
        "c.fadd(0, 0, 1)",
        "Atomic has no fadd; write `await c.fetch_add(dest, offset, v)`",
        "await c.fetch_add(0, 0, 1)",
    ),
    (
        ATOMIC,
        "c.fetch_and_or(0, 0, 1)",
        "Atomic has no fetch_and_or; write `await c.fetch_or(dest, offset, v)`",
        "await c.fetch_or(0, 0, 1)",
    ),
    (ATOMIC, "c.finc(0, 0)", "Atomic has no finc; write `await c.fetch_inc(dest, offset)`", "await c.fetch_inc(0, 0)"),
    (ATOMIC, "c.increment(0, 0)", "Atomic has no increment; write `await c.inc(dest, offset)`", "await c.inc(0, 0)"),
    (
        ATOMIC,
        "c.subtract(0, 0, 1)",
        "Atomic has no subtract; write `await c.sub(dest, offset, v)`",
        "await c.sub(0, 0, 1)",
    ),
    *(
        (
            ATOMIC,
            f"x.{name}(0, 0, 1)",
            f"Extended has no {name}; {ANY_OPERATION}",
            "await x.atomic('i8').fetch_add(0, 0, 1)",
        )
        for name in ("fadd", "finc")
    ),
    (
        ATOMIC,
        "x.cswap(0, 0, 1, 2)",
        "Extended has no cswap; write `await x.atomic(dtype).compare_swap(dest, offset, expected, new)`",
        "await x.atomic('i8').compare_swap(0, 0, 1, 2)",
    ),
    *(
        (
            ATOMIC,
            f"x.{name}(0, 0, 1)",
            f"Extended has no {name}; write `await x.atomic(dtype).swap(dest, offset, value)`",
            "await x.atomic('i8').swap(0, 0, 1)",
        )
        for name in ("swap", "exchange")
    ),
    (
        ATOMIC,
        "x.dup()",
        "Extended has no dup; write `team = await x.split(0)` for a team of its own with the same ranks",
        "team = await x.split(0)",
    ),
    (
        UPC,
        "a.resize(20)",
        "SharedArray has no resize; a shared array keeps its size: write `b = await t.all_alloc(shape, "
        "dtype=a.dtype)` for another one",
        "b = await t.all_alloc(20, dtype=a.dtype)",
    ),
    (
        UPC,
        "a.byteswap()",
        f"SharedArray has no byteswap; {ALONE}`a[:] = (await a[:]).byteswap()`",
        "a[:] = (await a[:]).byteswap()",
    ),
    (
        UPC,
        "a.partition(3)",
        f"SharedArray has no partition; {ALONE}`copy = await a[:]; copy.partition(...); a[:] = copy`",
        "copy = await a[:]; copy.partition(3); a[:] = copy",
    ),
    *(
        (
            UPC,
            f"a.{name}(0, 1)",
            f"SharedArray has no {name}; write `await a.add_at(i, value)`, or `await "
            "a.fetch_add(i, value)` for the value before",
            "await a.add_at(0, 1); await a.fetch_add(0, 1)",
        )
        for name in ("add", "atomic_add")
    ),
    (
        UPC,
        "a.inc(0)",
        "SharedArray has no inc; write `await a.fetch_add(i, 1)`, which gives the value before",
        "await a.fetch_add(0, 1)",
    ),
    (UPC, "a.get(0)", "SharedArray has no get; write `await a[i]`", "i = 3; await a[i]"),
    (UPC, "a.set(0, 1)", "SharedArray has no set; write `a[i] = value`", "i = value = 3; a[i] = value"),
    (
        UPC,
        "a.cast(0)",
        "SharedArray has no cast; write `a.local`: this thread's elements, an array of numpy",
        "a.local",
    ),
    (
        UPC,
        "t.upc_cast(a)",
        "Thread has no upc_cast; write `a.local`, of a shared array `a`: the elements on this thread",
        "a.local",
    ),
    (
        UPC,
        "a.indices",
        "SharedArray has no indices; write `a.local_index` for the indices of this thread's elements, or "
        "`for i in a.forall():`",
        "a.local_index; [i for i in a.forall()]",
    ),
    (
        UPC,
        "a.local_size",
        "SharedArray has no local_size; write `a.local.size`, of this thread's elements",
        "a.local.size",
    ),
    *(
        (
            SHMEM,
            f"pe.{name}(a, 0, 1, 0)",
            f"PE has no {name}; write `await pe.atomic_compare_swap(target, cond, value, dest)`",
            "await pe.atomic_compare_swap(a[:1], 0, 1, 0)",
        )
        for name in ("cswap", "shmem_long_cswap")
    ),
    (
        SHMEM,
        "pe.fadd(a, 1, 0)",
        "PE has no fadd; write `await pe.atomic_fetch_add(target, value, dest)`",
        "await pe.atomic_fetch_add(a[:1], 1, 0)",
    ),
    (
        SHMEM,
        "pe.finc(a, 0)",
        "PE has no finc; write `await pe.atomic_fetch_inc(target, dest)`",
        "await pe.atomic_fetch_inc(a[:1], 0)",
    ),
    # What MPI and others call it, of a team, a lock, an endpoint.
    *(
        (TEAM, f"team.{name}", f"Team has no {name.rstrip('()')}; write `await team.destroy()`", "await team.destroy()")
        for name in ("Free()", "free()", "Free")
    ),
    *(
        (TEAM, f"team.{name}", f"Team has no {name}; write `team.job_rank(rank)`", "rank = 0; team.job_rank(rank)")
        for name in ("rank_to_job", "world_rank")
    ),
    (
        TEAM,
        "team.job_to_rank(0)",
        "Team has no job_to_rank; write `team.rank_of(job_rank)`",
        "job_rank = 0; team.rank_of(job_rank)",
    ),
    (
        TEAM,
        "team.exscan(1)",
        "Team has no exscan; team.scan counts this rank in: write `await team.scan(array) - array` for the sum of "
        "those before it",
        "array = 1; await team.scan(array) - array",
    ),
    *(
        (
            TEAM,
            f"{who}.{name}(1)",
            f"{kind} has no {name}; write `h = await {who}.{call}_nb(array)`, then `await h`",
            f"array = numpy.ones(ep.size); h = await {who}.{call}_nb(array); await h",
        )
        for who, kind in (("x", "Extended"), ("team", "Team"))
        for name, call in (
            ("Iallreduce", "all_reduce"),
            ("Ireduce", "reduce"),
            ("Igather", "gather"),
            ("Iallgather", "all_gather"),
            ("Iscatter", "scatter"),
            ("Ialltoall", "all_to_all"),
            ("Iscan", "scan"),
        )
    ),
    (
        TEAM,
        "x.Ibcast(1)",
        "Extended has no Ibcast; write `h = await x.broadcast_nb(array, root)`, then `await h`",
        "array = 1; root = 0; h = await x.broadcast_nb(array, root); await h",
    ),
    (
        TEAM,
        "x.Iexscan(1)",
        "Extended has no Iexscan; x.scan_nb counts this rank in: write `h = await x.scan_nb(array)`, then `await h - "
        "array` for the sum of those before it",
        "array = 1; h = await x.scan_nb(array); await h - array",
    ),
    *(
        (
            TEAM,
            f"lock = x.lock('a'); lock.{name}()",
            f"Lock has no {name}; write `await lock.acquire()`, or `async with lock:`",
            "lock = x.lock('a'); await lock.acquire(); await lock.release()\n    async with lock: pass",
        )
        for name in ("set", "lock", "take")
    ),
    (
        TEAM,
        "lock = x.lock('a'); lock.clear()",
        "Lock has no clear; write `await lock.release()`",
        "lock = x.lock('a'); await lock.acquire(); await lock.release()",
    ),
    (CORE, "ep.rand", "Endpoint has no rand; write `ep.random.random()`", "ep.random.random()"),
    (CORE, "ep.randint(1, 6)", "Endpoint has no randint; write `ep.random.randint(...)`", "ep.random.randint(1, 6)"),
    (
        CORE,
        "ep.seed",
        "Endpoint has no seed; write `conduit.run(main, seed=3)` in a script, or `conduit run --seed 3`; `ep.random` "
        "is seeded by it and the rank",
        "",
    ),
    (CORE, "ep.ticks", "Endpoint has no ticks; write `ep.now`, in seconds", "ep.now"),
    (CORE, "ep.node", "Endpoint has no node; write `ep.host`: the index of this rank's host", "ep.host"),
    (
        TEAM,
        "x.local_rank",
        "Extended has no local_rank; write `x.ep.ranks_on_host.index(x.ep.rank)`",
        "x.ep.ranks_on_host.index(x.ep.rank)",
    ),
    (
        CORE,
        "ep.local_rank",
        "Endpoint has no local_rank; write `ep.ranks_on_host.index(ep.rank)`",
        "ep.ranks_on_host.index(ep.rank)",
    ),
    (CORE, "ep.local_size", "Endpoint has no local_size; write `len(ep.ranks_on_host)`", "len(ep.ranks_on_host)"),
    # The same words in another order.
    *(
        (
            ATOMIC,
            f"c.{name}(0, 0, 1)",
            f"Atomic has no {name} (did you mean fetch_{op}?)",
            f"await c.fetch_{op}(0, 0{', 1' * (op != 'inc')})",
        )
        for name, op in (("add_fetch", "add"), ("inc_fetch", "inc"), ("and_fetch", "and"), ("xor_and_fetch", "xor"))
    ),
    (UPC, "t.alloc_all(8)", "Thread has no alloc_all (did you mean all_alloc?)", "await t.all_alloc(8)"),
    (TEAM, "x.wait_barrier()", "Extended has no wait_barrier (did you mean barrier_wait?)", ""),
    # An array of UPC is not made by a call of numpy.
    *(
        (
            UPC,
            f"t.{name}(8)",
            f"Thread has no {name}; write `a = await t.all_alloc(shape, dtype)`: a new array is zero",
            "shape = 8; dtype = 'f8'; a = await t.all_alloc(shape, dtype)",
        )
        for name in ("zeros", "empty")
    ),
    *(
        (
            UPC,
            f"t.{name}(8)",
            f"Thread has no {name}; write `a = await t.all_alloc(shape, dtype)`: a new array is zero; then `a.local[:] "
            "= value`, and `await t.barrier()`",
            "value = shape = 8; dtype = 'f8'; a = await t.all_alloc(shape, dtype); a.local[:] = value; await "
            "t.barrier()",
        )
        for name in ("ones", "full")
    ),
    *(
        ("api = 'upc'\nasync def main(t):\n", f"{call}(3)", f"{begin}write `a.{name}(...)`, of a SharedArray", "")
        for name in ("threadof", "phaseof")
        for call, begin in ((f"upc_{name}", ""), (f"t.{name}", f"Thread has no {name}; "))
    ),
    (UPC, "upc_threadof(a, 3)", "upc_threadof is a.threadof here: write `a.threadof(...)`", "a.threadof(3)"),
    # A rank's generator is Python's.
    (
        CORE,
        "ep.random.integers(3)",
        f"{PYTHONS.format('ep.random', 'integers')}, or `ep.random.randrange(low, high)`",
        f"{RNG.format('ep.random')}rng.integers(3); ep.random.randrange(0, 3)",
    ),
    (
        CORE,
        "r = ep.random; r.normal(0, 1, 4)",
        f"{PYTHONS.format('r', 'normal')}, or `r.gauss(mean, deviation)`",
        f"r = ep.random; {RNG.format('r')}rng.normal(0, 1, 4); r.gauss(0, 1)",
    ),
    (
        UPC,
        "t.ep.random.rand(4)",
        PYTHONS.format("t.ep.random", "random"),
        f"{RNG.format('t.ep.random')}rng.random(4)",
    ),
]


@pytest.mark.parametrize(("top", "line", "said", "_right"), NAMES)
def test_a_name_that_an_object_has_not_is_told_what_is_meant(shown, top, line, said, _right):
    assert shown(f"{top}    {line}", "--ranks", "2")[-1] == said


@pytest.mark.parametrize(("top", "line", "said", "right"), [each for each in NAMES if each[3]])
def test_what_is_told_works(command, tmp_path, monkeypatch, top, line, said, right):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(f"{top}    {right}\n")
    assert command("run", "prog.py", "--ranks", "2", "--conduit", "loggp").status == 0
    for written in re.findall(r"`([^`]*)`", said):
        assert written.partition("for ")[0].partition("(")[0].replace("x.atomic", "") in right


@pytest.mark.parametrize("line", ["import random; random.Random(1).normal()", "ep.random.nothing()"])
def test_nothing_is_said_of_another_generator_nor_of_another_name(shown, line):
    assert re.fullmatch(r"raised by rank 0 at 0\.\d+ s", shown(f"{CORE}    {line}", "--ranks", "2")[-1])


@pytest.mark.parametrize(("top", "name"), [(TEAM, "x.title_lock"), (TEAM, "x.modell"), (CORE, "ep.shield")])
def test_no_guess_names_what_is_for_layers_alone(shown, top, name):
    assert not re.search("did you mean|write", shown(f"{top}    {name}", "--ranks", "2")[-1])


@pytest.mark.parametrize("main", ["ep", "endpoint"])
def test_a_script_that_has_attached_a_layer_is_told_of_that(tmp_path, ran, main):
    """Though it imports a front end too."""
    source = f"""
        import conduit
        from extended import Extended, upc
        async def main({main}):
            x = await Extended.attach({main})
            await {main}.barrier()
        conduit.run(main, ranks=2, conduit="loggp")
    """
    (tmp_path / "prog.py").write_text(textwrap.dedent(source))
    done = ran("prog.py")
    assert done.stderr.splitlines()[-1] == "Endpoint has no barrier, but x has: write `await x.barrier()`"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("from conduit import gasnet_mynode", "conduit has no gasnet_mynode; write `ep.rank`"),
        (
            "from conduit import gasnet_AMRequestShort1",
            "conduit has no gasnet_AMRequestShort1; write `await ep.request_short(dest, handler, *args)`",
        ),
        ("from extended import upc_barrier", "extended has no upc_barrier; write `await x.barrier()`"),
    ],
)
def test_a_name_of_c_that_is_imported_is_told(tmp_path, ran, line, told):
    (tmp_path / "prog.py").write_text(line)
    done = ran("prog.py")
    assert done.stderr.splitlines()[-1] == told


@pytest.mark.parametrize("bound", ["8 * 256", "8 * n", "2048"])
def test_a_segment_that_is_shorter_than_a_slice_of_it_is_told(tmp_path, ran, bound):
    (tmp_path / "prog.py").write_text(f"n = 256\nasync def main(ep):\n    ep.segment[:{bound}].view('f8')\n")
    done = ran("conduit", "run", "prog.py", "--segment", "100")
    assert done.stderr.splitlines()[-1] == (
        "ep.segment has 100 bytes, fewer than 2048: ask for more, as by `conduit run --segment 2048`, in a script by "
        "`conduit.run(main, segment=2048)`"
    )


@pytest.mark.parametrize(
    ("top", "line", "told"),
    [
        ("from extended.windows import Win", "MPI.SUM", "`from extended.windows import SUM` at the top, and `SUM`"),
        ("from extended import upc", "MPI.SUM", "`from conduits.mpi import MPI` at the top"),
        ("from extended.windows import Win", "MPI.Nothing", "`from conduits.mpi import MPI` at the top"),
    ],
)
def test_a_name_of_another_interface_is_told_where_the_program_has_its_like(shown, top, line, told):
    assert f"write {told}" in shown(f"{top}\n\nasync def main(ep):\n    print({line})\n")[-1]
