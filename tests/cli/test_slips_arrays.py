"""What `conduit run` says of slips with shared arrays, symmetric ones and windows: the exact words."""

import re

import pytest

UPC = "api = 'upc'\nasync def main(t):\n    a = await t.all_alloc(1, dtype='i8')\n    "
EXTENDED = "from extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n    "
SHMEM = "api = 'shmem'\nasync def main(pe):\n    "
WINDOW = EXTENDED + "from extended.windows import Win\n    win = await Win.Allocate(8, comm=x)\n    "
POLLS = "    2 ranks wait for it; it polls and has handled all that came"
SOON = ("--ranks", "3", "--time-limit", "1ms")


@pytest.mark.parametrize(
    ("read", "call"),
    [
        ("await a[0]", "a[0] again and again"),
        ("await a.read(0)", "a.read(0) again and again"),
        (f"await a[{' + '.join('0' * 20)}]", "a call that polls"),
        (f"await (lambda: {'0 or ' * 20}a)().read(0)", "a call that polls"),
    ],
)
def test_a_loop_of_reads_of_what_lies_here_polls(shown, read, call):
    """Such a read waits for nothing; it was said to be a wait of Trio's own, in which nothing is polled."""
    _polls_in(call, shown(f"{UPC}if t.MYTHREAD == 0:\n        while {read} == 0: pass\n    await t.barrier()", *SOON))


def test_a_loop_over_handles_that_are_done_polls(shown):
    loop = "while True:\n            h = await x.get_nb(0, 0, 8)\n            await h"
    _polls_in("await h", shown(f"{EXTENDED}if ep.rank == 0:\n        {loop}\n    await x.barrier()", *SOON), line=7)


def _polls_in(call, lines, line=5):
    doing = "awaits" if call.endswith("again") else "is in"
    assert re.sub(r", in a loop that asks for nothing else \(.*\)", "", lines[1]) == (
        f"rank 0: prog.py:{line} in main: {doing} {call}"
    )
    assert lines[2] == POLLS
    assert "Trio" not in "".join(lines)


LOCK = "for a lock that is entered write `lock = await pe.Lock()`, then `async with lock:`"
UNOFFERED = {
    "await win.Rput(b, 0)": "Win has no Rput; it is not offered: write `await win.Put(...)`, which returns before the "
    "access is complete, and then `await win.Flush(rank)` in a passive epoch, or end the epoch",
    "await Win.Allocate_shared(8, comm=x)": "Win has no Allocate_shared; it is not offered: write `win = await "
    "Win.Allocate(size, disp_unit, comm=x)`, and `await win.Get(...)` and `await win.Put(...)` for the parts of others",
    "await Win.Create_dynamic(comm=x)": "Win has no Create_dynamic; it is not offered: write `win = await "
    "Win.Create(array, disp_unit, comm=x)` for memory that there is",
    "win.Set_name('a')": "Win has no Set_name; it is not offered: keep what belongs to a window in a variable "
    "of the program's",
    "win.Set_errhandler(1)": "Win has no Set_errhandler; it is not offered: what is wrong is raised, as "
    "`extended.windows.WindowError` or `conduit.BadRequest`",
    "async with Win.Allocate(8, comm=x) as w: pass": "write `win = await Win.Allocate(...)`, and after its last use "
    "`await win.Free()`",
}


@pytest.mark.parametrize("made", ["pe.new_lock()", "await pe.new_lock()"])
def test_a_lock_for_set_lock_is_not_entered(shown, made):
    lines = shown(f"{SHMEM}async with {made}: pass", "--ranks", "2")
    assert [line.removeprefix("a ndarray is not entered: ") for line in lines if "entered" in line] == [LOCK]


@pytest.mark.parametrize(
    ("entered", "text"),
    [
        (
            "pe.zeros(4)",
            "it is awaited first: write `made = await pe.zeros(4)`, and `async with made:` where that can be entered",
        ),
        ("pe.Ctx.create()", "what it gives is entered: write `async with await pe.Ctx.create():`"),
        (
            "pe.TEAM_WORLD.split_strided()",
            "what it gives is entered: write `async with await pe.TEAM_WORLD.split_strided():`",
        ),
    ],
)
def test_only_what_can_be_entered_is_said_to_be(shown, entered, text):
    assert text in shown(f"{SHMEM}async with {entered}: pass", "--ranks", "2")


@pytest.mark.parametrize(("line", "text"), UNOFFERED.items())
def test_what_windows_do_not_offer_is_told_with_what_to_write(shown, line, text):
    assert text in shown(f"{WINDOW}{line}", "--ranks", "2")


def test_windows_take_no_datatypes_of_mpi(shown):
    begin = f"from conduits.mpi import MPI\nimport numpy as np\n{WINDOW}await win.Fence()\n    "
    for given in ("[np.ones(2), MPI.DOUBLE]", "[np.ones(2), 2, MPI.DOUBLE]"):
        assert (
            "conduit.errors.BadRequest: win.Put: origin has <Datatype MPI_DOUBLE> for a dtype, which is a datatype of "
            'MPI; windows take those of numpy, give "f8", "i4" and so on'
        ) in shown(f"{begin}await win.Put({given}, 1)", "--ranks", "2")


@pytest.mark.parametrize(
    ("api", "line", "text"),
    [
        (
            "upc",
            "await main.barrier_all()",
            'Thread has no barrier_all, but a PE has: with `api = "upc"` main is given a Thread, with `api = "shmem"` '
            "a PE, `async def main(pe)`",
        ),
        (
            "shmem",
            "await main.all_alloc(4)",
            'PE has no all_alloc, but a Thread has: with `api = "shmem"` main is given a PE, with `api = "upc"` a '
            "Thread, `async def main(t)`",
        ),
        (
            "mpi",
            "main.MYTHREAD",
            'Comm has no MYTHREAD, but a Thread has: with `api = "mpi"` main is given a Comm, with `api = "upc"` a '
            "Thread, `async def main(t)`",
        ),
        ("upc", "await main.put(1)", "Thread has no put, but its extended has: write `await main.extended.put(...)`"),
        (
            "upc",
            "globals()['shmem'] = __import__('extended.shmem').shmem; main.zeros(4)",
            'Thread has no zeros, but a PE has: with `api = "upc"` main is given a Thread, with `api = "shmem"` a PE, '
            "`async def main(pe)`",
        ),
        (  # which the program imports, and so means
            "upc",
            "globals()['shmem'] = __import__('extended.shmem').shmem; main.put",
            'Thread has no put, but a PE has: with `api = "upc"` main is given a Thread, with `api = "shmem"` a PE, '
            "`async def main(pe)`",
        ),
    ],
)
def test_a_name_of_another_front_end_is_told_with_the_api_that_has_it(shown, api, line, text):
    begin = "from conduits.mpi import MPI\n" if api == "mpi" else ""
    assert shown(f"{begin}api = '{api}'\nasync def main(main): {line}", "--ranks", "2")[-1] == text


def test_arrays_of_each_thread_s_own_are_not_freed_by_all(shown):
    calls = (
        f"thread {rank} called t.all_free(what t.global_alloc(shape=(6,), dtype=int64) at prog.py:4 gave, an array "
        f"that thread {rank} made) at prog.py:5"
        for rank in range(2)
    )
    assert (
        f"conduit.errors.BadRequest: t.all_free: {', but '.join(calls)}; make the same calls with the same arguments "
        "in the same order on every thread; an array of each thread's own is freed by that thread alone: `await "
        "t.free(a)`"
    ) in shown(f"{UPC}b = await t.global_alloc(6, dtype='i8')\n    await t.all_free(b)", "--ranks", "2")


def test_a_lock_of_set_lock_is_not_to_be_entered(shown):
    lines = shown(f"{SHMEM}lock = await pe.new_lock()\n    await pe.set_lock(lock)", "--ranks", "3")
    lock = "the lock at offset 1048560 of the symmetric heap (pe.new_lock at prog.py:3)"
    warned = ", taken at prog.py:4, is still held although main has returned: release it, else no PE ever gets it"
    (warning,) = (line for line in lines if "warning of" in line)
    assert warning.endswith(f": {lock}{warned}")
    told = [line for line in lines if "the lock at" in line and "warning of" not in line]
    assert [line.count("of the symmetric heap") for line in told] == [1, 0, *([0] * (len(told) - 2))]
    assert told[0] == f"    holds {lock}, taken at prog.py:4"
    assert any(
        "waits for the lock at offset 1048560 behind rank 1, which waits for it too or has it, which" in line
        for line in told
    )


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("max(await a[i] for i in range(6))", "max([await a[i] for i in range(6)])`; `await a[:]` reads all at once"),
        ("max(await t.lock('a').try_acquire() for i in 'ab')", "max([await t.lock('a').try_acquire() for i in 'ab'])`"),
    ],
)
def test_values_that_are_awaited_one_by_one_are_put_into_a_list(shown, line, text):
    assert f"with `await` in it this is no list: put it into brackets, `{text}" in shown(f"{UPC}{line}", "--ranks", "2")


@pytest.mark.parametrize(
    ("program", "call", "lock", "taken", "here"),
    [
        (f"{UPC}async with t.lock('a'):\n        await t.barrier()", "t.barrier", "lock 'a'", 4, 5),
        (f"{UPC}await t.lock('a').acquire()\n    await t.all_free(a)", "t.all_free", "lock 'a'", 4, 5),
        (
            f"{SHMEM}lock = await pe.Lock()\n    async with lock:\n        await pe.barrier_all()",
            "pe.barrier_all",
            "the lock at offset 1048560",
            4,
            5,
        ),
        (
            f"{UPC}import trio\n    async with t.lock('a'):\n        async with trio.open_nursery() as nursery:\n"
            "            nursery.start_soon(t.barrier)",
            "t.barrier",
            "lock 'a'",
            5,
            7,
        ),
        (f"{EXTENDED}async with x.lock(7):\n        await x.barrier()", "a barrier", "lock 7", 4, 5),
    ],
)
def test_who_holds_a_lock_that_others_need_to_come_to_a_call_is_told_to_release_it(
    shown, program, call, lock, taken, here
):
    lines = shown(program, "--ranks", "2")
    (holder,) = (line[4:10] for line in lines if f": holds {lock}, taken at prog.py:{taken}" in line)
    other = "rank 0" if holder == "rank 1" else "rank 1"
    assert lines[-1] == (
        f"{holder} holds {lock} since prog.py:{taken} and waits in {call} at prog.py:{here} for {other}, which needs "
        "it first: release it before that call"
    )


def test_who_holds_a_lock_and_waits_for_what_others_do_is_told_to_release_it(shown):
    lines = shown(
        f"""{SHMEM}flag, lock = await pe.zeros(1, "i8"), await pe.new_lock()
    if pe.my_pe() == 1: await pe.set_lock(lock)
    await pe.barrier_all()
    if pe.my_pe() == 1: await pe.wait_until(flag, ">", 0)
    else: await pe.set_lock(lock)""",
        "--ranks",
        "2",
    )
    lock = "the lock at offset 1048544 of the symmetric heap (pe.new_lock at prog.py:3)"
    assert sum(lock in line for line in lines) == 1
    assert lines[-1] == (
        "rank 1 holds the lock at offset 1048544 since prog.py:4 and waits at prog.py:6, while rank 0 needs it: "
        "release it before a wait for what that one does"
    )


def test_who_holds_a_lock_that_nobody_wants_is_not_told_to_release_it(shown):
    lines = shown(f"{UPC}if t.MYTHREAD:\n        async with t.lock('a'): await t.barrier()", "--ranks", "2")
    assert not any("release it" in line for line in lines)


@pytest.mark.parametrize(
    ("write", "told"),
    [
        ("a[3] = 5", "1 element written at prog.py:4 is not sent yet"),
        ("a[3:] = 5", "3 elements written, the first at prog.py:4, are not sent yet"),
        ("a[3] = 5; a[3] = 6; a[5] = 7", "2 elements written, the first at prog.py:4, are not sent yet"),
    ],
)
def test_writes_that_no_fence_has_sent_are_told_with_their_line(shown, write, told):
    made = UPC.replace("(1,", "(6,")
    wait = "await t.ep.block_until(lambda: (a.local == 5).any())"
    lines = shown(f"{made}if not t.MYTHREAD: {write}\n    {wait}", "--ranks", "2")
    assert sum("not sent yet" in line for line in lines) == 1
    assert f"    {told}" in lines
    assert lines[-1] == (
        "`a[i] = v` sends nothing before its thread comes to a fence: where another thread waits for what prog.py:4 "
        "writes, write `await t.fence()` after it"
    )


def test_writes_that_were_sent_are_not_told(shown):
    wait = "await t.ep.block_until(lambda: False)"
    made = UPC.replace("(1,", "(6,")
    lines = shown(f"{made}a[:] = 5\n    await t.fence()\n    a.local[0] = 1\n    {wait}", "--ranks", "2")
    assert not any("sent" in line for line in lines)


@pytest.mark.parametrize("begin", [UPC, SHMEM])
def test_who_writes_no_attach_is_not_told_of_one(shown, begin):
    (_, line) = shown(f"{begin}pass", "--ranks", "3", "--time-limit", "2us")
    assert line.startswith("ranks 0-2, each: before its main: waits for every rank to start since ")


def test_who_has_only_to_begin_its_main_is_not_said_to_wait_for_who_has_begun(command, tmp_path):
    file = tmp_path / "prog.py"
    file.write_text("import signal\napi = 'upc'\nasync def main(t): signal.raise_signal(signal.SIGINT)")
    lines = command("run", str(file), "--ranks", "3", "--conduit", "loggp").err.splitlines()
    assert lines[1] == "rank 0: its task ran that"
    assert lines[2].startswith(
        "ranks 1-2, each: before its main: waits for its turn, now that every rank has started since "
    )


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("a.gather_to(0)", "a.gather_to"),
        ("t.all_reduce((a, 0), a)", "t.all_reduce"),
        ("t.all_gather((a, 0), a, 8)", "t.all_gather"),
        ("t.all_scatter(a, (a, 0), 8)", "t.all_scatter"),
        ("t.all_exchange(a, b, 8)", "t.all_exchange"),
    ],
)
def test_a_collective_call_beside_a_barrier_is_told_by_its_name(shown, call, told):
    """Neither is taken for the other."""
    made = UPC.replace("(1,", "(6,")
    made += "b = await t.all_alloc(6, dtype='i8')\n    "
    lines = shown(f"{made}if t.MYTHREAD == 1: await {call}\n    else: await t.barrier()", "--ranks", "2")
    assert any(f"waits for {told}, to which rank 0 has not come" in line for line in lines), lines
    assert any("waits for t.barrier, to which rank 1 has not come" in line for line in lines), lines


TWICE = "import trio\n    async with trio.open_nursery() as n:\n        n.start_soon({0}); n.start_soon({0})"
ONE = "in another task, at prog.py:{0}, and calls one more at prog.py:{0}; let one task of a {1} come to each barrier: "


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (
            f"{UPC}{TWICE.format('t.barrier')}",
            f"t.barrier: this thread is in a barrier already, {ONE.format(6, 'thread')}write one, after the nursery",
        ),
        (
            f"{SHMEM}{TWICE.format('pe.barrier_all')}",
            f"pe.barrier_all: this PE is in a barrier already, {ONE.format(5, 'PE')}write one, after the nursery",
        ),
        (
            f"{SHMEM}{TWICE.format('pe.zeros, 4')}",
            "pe.zeros: another task of this PE is in such a call; let one task do it",
        ),
        (
            f"{UPC}await t.notify()\n    await a.gather_to(0)",
            "a.gather_to: this thread has notified the barrier and not yet waited for it; call t.wait first",
        ),
        (
            f"{SHMEM}lock = await pe.new_lock()\n    await pe.del_lock(lock)\n    await pe.set_lock(lock)",
            "pe.set_lock: lock was freed; use locks before they are freed, or make one with pe.new_lock",
        ),
    ],
)
def test_what_the_layer_below_refuses_is_told_in_words_of_the_front_end(shown, program, text):
    lines = shown(program, "--ranks", "2")
    assert any(line.endswith(f"conduit.errors.BadRequest: {text}") for line in lines), lines


@pytest.mark.parametrize("line", ["{}.local[3] = 1", "v = {}.local[3]", "{}.local[3] += 1"])
@pytest.mark.parametrize("name", ["a", "grid"])
def test_an_index_beyond_what_this_thread_has_is_told_what_takes_any(shown, line, name):
    lines = shown(f"{UPC}{name} = await t.all_alloc(6, dtype='i8')\n    {line.format(name)}")
    assert "IndexError: index 3 is out of bounds for axis 0 with size 3" in lines
    assert lines[-1] == (
        f"`{name}.local` has the elements of this thread alone; `await {name}[i]` and `{name}[i] = value` take an "
        "index of all"
    )


@pytest.mark.parametrize("line", ["{}.local[:, 0] = 1", "v = {}.local[0, 3]", "{}.local[0, 1] += 1"])
@pytest.mark.parametrize("name", ["a", "grid"])
def test_two_indices_of_what_this_thread_has_are_told_that_it_has_one_dimension(shown, line, name):
    lines = shown(f"{UPC}{name} = await t.all_alloc((4, 6), dtype='i8', block=6)\n    {line.format(name)}")
    assert "IndexError: too many indices for array: array is 1-dimensional, but 2 were indexed" in lines
    assert lines[-1] == (
        f"`{name}.local` has the elements of this thread in one dimension; where they are whole rows, write "
        f"`{name}.local.reshape(-1, *{name}.shape[1:])`"
    )


def test_an_index_beyond_an_array_of_the_programs_is_told_by_numpy_alone(shown):
    lines = shown(f"{UPC}import numpy as np\n    mine = a.local\n    v = mine[7]")
    assert not any("`a.local`" in line for line in lines)


def test_a_wait_before_the_own_complete_is_told_the_order(shown):
    """Each waits for the other's, which comes after its own wait."""
    lines = shown(f"{WINDOW}await win.Post([1 - ep.rank])\n    await win.Start([1 - ep.rank])\n    await win.Wait()")
    text = "win.Start at prog.py:7 is still open here: write `await win.Complete()` before `await win.Wait()`"
    assert [line.strip() for line in lines if "still open" in line] == [f"rank {rank}: {text}" for rank in (0, 1)]


def test_a_start_that_is_open_in_another_wait_is_not_told_so(shown):
    lines = shown(
        f"{WINDOW}await win.Post([1 - ep.rank])\n    await win.Start([1 - ep.rank])\n    await ep.block_until(list)"
    )
    assert not [line for line in lines if "still open" in line]
