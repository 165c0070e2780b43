"""Programs of MPI alone print the same on simulated libraries and on real processes, and end as they should there."""

import json
import re
import sys

import pytest

from conduit.commands.cli import call

from .conftest import MPI

pytestmark = pytest.mark.slow

POINT_TO_POINT = """
import numpy as np
import trio

import conduit
from conduits.mpi import MPI

api = "mpi"


def text(number, size):
    return np.arange(number, number + size).astype(np.uint8)


async def main(comm):
    me, size = comm.rank, comm.size
    for part in (matching, modes, sizes, probes, many, persistent, failures, tasks, at_once, nobody):
        print(me, part.__name__, *await part(comm, me, size))
        await comm.Barrier()


async def matching(comm, me, size):
    if me == 0:
        for number, tag in enumerate((5, 7, 5, 9, 7)):
            for dest in range(1, size):
                await comm.Send(np.array([number]), dest, tag)
        return []
    wanted = [(7, 0), (MPI.ANY_TAG, 0), (MPI.ANY_TAG, MPI.ANY_SOURCE), (7, MPI.ANY_SOURCE), (MPI.ANY_TAG, 0)]
    buffers = [np.zeros(1, int) for _ in wanted]
    requests = [await comm.Irecv(b, source, tag) for b, (tag, source) in zip(buffers, wanted)]
    statuses = []
    await MPI.Request.Waitall(requests, statuses)
    return [(int(b[0]), s.tag, s.source, s.Get_count(MPI.LONG)) for b, s in zip(buffers, statuses)]


async def modes(comm, me, size):
    MPI.Attach_buffer(bytearray(100_000))
    right, left = (me + 1) % size, (me - 1) % size
    out, got = text(me, 500), np.zeros(500, np.uint8)
    found = []
    for mode in ("Isend", "Issend", "Ibsend", "Irsend"):
        coming = await comm.Irecv(got, left, 1)
        await comm.Barrier()
        going = await getattr(comm, mode)(out, right, 1)
        await MPI.Request.Waitall([coming, going])
        found.append(int(got[3]))
    if me == 0:
        await comm.Bsend(out, right, 2)
    elif me == 1:
        await comm.Recv(got, left, 2)
    await comm.Sendrecv_replace(out, right, 3, left, 3)
    if me == 0:
        await comm.Ssend(out, right, 4)
    elif me == 1:
        while not await comm.Iprobe(left, 4):  # the other one waits before this one receives
            pass
        await comm.Recv(got, left, 4)
    buffer = await MPI.Detach_buffer()
    return [*found, int(out[0]), len(buffer)]


async def sizes(comm, me, size):
    found = []
    for nbytes in (0, 1, 1000, 20_000, 3_000_000):
        if me == 0:
            await comm.Send(text(nbytes, nbytes), size - 1, 4)
        elif me == size - 1:
            got, status = np.zeros(nbytes, np.uint8), MPI.Status()
            await comm.Recv(got, MPI.ANY_SOURCE, 4, status)
            found += [(got == text(nbytes, nbytes)).all(), status.Get_count()]
    return found


async def probes(comm, me, size):
    if me != 0:
        await comm.Send(text(me, 10 * me), 0, me)
        return []
    found, status = [], MPI.Status()
    for source in range(1, size):
        await comm.Probe(source, MPI.ANY_TAG, status)
        assert await comm.Iprobe(source, status.tag)
        assert not await comm.Iprobe(source, 77)
        message = await comm.Mprobe(source, status.tag)
        assert await comm.Improbe(source, status.tag) is None
        got = np.zeros(status.Get_count(), np.uint8)
        await message.Recv(got)
        found += [status.tag, int(got[-1])]
    return found


async def many(comm, me, size):
    count = 1000
    if me == 0:
        for number in range(count):
            await comm.Send(np.array([number]), 1, count - number)
        return []
    if me > 1:
        return []
    got = np.zeros(count, int)
    requests = [await comm.Irecv(got[number:number + 1], 0, number + 1) for number in range(count)]
    left, seen = set(range(count)), 0
    while left:
        places = await MPI.Request.Waitsome(requests)
        left -= set(places)
        seen += len(places)
    return [seen, (got == count - 1 - np.arange(count)).all(), await MPI.Request.Waitany(requests) == MPI.UNDEFINED]


async def persistent(comm, me, size):
    out, got = np.zeros(1, int), np.zeros(1, int)
    right, left = (me + 1) % size, (me - 1) % size
    requests = [comm.Recv_init(got, left, 6), comm.Send_init(out, right, 6)]
    total = 0
    for number in range(5):
        out[0] = me + 10 * number
        await MPI.Prequest.Startall(requests)
        await MPI.Request.Waitall(requests)
        total += int(got[0])
    for request in requests:
        await request.Free()
    return [total, *await of_a_freed_communicator(comm)]


async def of_a_freed_communicator(comm):
    other = await comm.Dup()
    requests = [other.Recv_init(bytearray(1), 0), other.Send_init(b"x", 0)]
    await other.Free()
    found = []
    for start in (requests[0].Start, lambda: MPI.Prequest.Startall(requests)):
        try:
            await start()
        except MPI.Exception as error:
            found += [error.Get_error_class() == MPI.ERR_COMM, "was freed at" in str(error)]
    return found


async def failures(comm, me, size):
    found = []
    for call in (
        lambda: comm.Send(b"1", size),
        lambda: comm.Send(b"1", 0, -3),
        lambda: comm.Recv(b"1", 0),
        lambda: comm.Bsend(bytes(2000), 0),
    ):
        try:
            await call()
        except (MPI.Exception, conduit.BadRequest) as error:
            found.append(getattr(error, "Get_error_class", lambda: "bad")())
    if me == 0:
        for nbytes in (50, 100_000):
            await comm.Send(text(0, nbytes), 1, 8)
        await comm.Send(text(9, 5), 1, 8)
    elif me == 1:
        got = np.zeros(20, np.uint8)
        for _ in range(2):
            status = MPI.Status()
            try:
                await comm.Recv(got[:10], 0, 8, status)
            except MPI.Exception as error:
                found += [status.Get_count(), error.Get_error_class()]
                found += ["longer than the buffer of its receive, which has 10" in str(error)]
        await comm.Recv(got, 0, 8)
        found += [int(got[0]), int(got[10:].sum())]
    return found


async def tasks(comm, me, size):
    got, other, found = np.zeros(1, int), await comm.Dup(), []
    with trio.move_on_after(0.01 if not conduit.current().simulated else 1e-4) as scope:
        await comm.Recv(got, MPI.ANY_SOURCE, 66)
    found.append(scope.cancelled_caught)
    request = await comm.Irecv(got, MPI.ANY_SOURCE, 66)
    await request.Cancel()
    status = MPI.Status()
    await request.Wait(status)
    found.append(status.Is_cancelled())
    await comm.Barrier()  # what others send from here on is not for the receives that were given up

    async def ring(communicator, number):
        one, its = np.array([me * number]), np.zeros(1, int)
        await communicator.Sendrecv(one, (me + 1) % size, 66, its, (me - 1) % size, 66)
        await communicator.Allreduce(one, its)
        found.append(int(its[0]))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ring, comm, 1)
        nursery.start_soon(ring, other, 10)
    await other.Free()
    return sorted(map(int, found))


async def at_once(comm, me, size):
    # Communicators of groups that overlap, made by two tasks each; with 4 ranks one half would propose higher numbers.
    if me >= size // 2:
        await comm.Create_group(comm.Get_group().Incl(range(size // 2, size)))
    common = range(size // 2)
    groups = [comm.Get_group().Incl([*common, *range(size // 2, size, 2)]),
              comm.Get_group().Incl([*common, *range(size - 1, size)])]
    parents = [await comm.Create_group(group) for group in groups]
    found = {}

    async def make(place):
        made = await parents[place].Dup()
        total = np.zeros(1, int)
        await made.Allreduce(np.array([me + 10 * place]), total)
        found[place] = made.size, int(total[0])

    async with trio.open_nursery() as nursery:
        for place in sorted(range(2), reverse=me % 2):
            if parents[place]:
                nursery.start_soon(make, place)
    return sorted(found.items())


async def nobody(comm, me, size):
    got = np.ones(1, int)
    status = MPI.Status()
    await comm.Send(got, MPI.PROC_NULL)
    await comm.Recv(got, MPI.PROC_NULL, status=status)
    request = await comm.Isend(np.array([me]), me, 5)
    await comm.Recv(got, me, 5)
    await request.Wait()
    await MPI.COMM_SELF.Allreduce(MPI.IN_PLACE, got)
    return [status.source == MPI.PROC_NULL, int(got[0]), bool(request)]
"""

COLLECTIVES = """
import numpy as np

from conduits.mpi import MPI
from conduits.mpi.collectives.algorithms import named

api = "mpi"


async def main(comm):
    await everything(comm, "world")
    half = await comm.Split(comm.rank % 2, -comm.rank)
    await everything(half, "half")
    group = comm.Get_group().Incl(range(comm.size - 1))
    part = await comm.Create(group)
    if comm.rank < comm.size - 1:
        again = await comm.Create_group(group, 3)
        await everything(again, "part")
        print(comm.rank, part.Compare(again) == MPI.CONGRUENT)
        await part.Free()
        await again.Free()
    await half.Free()
    await goes_on(comm)
    request = await comm.Ibarrier()
    await request.Wait()


async def goes_on(comm):
    # later messages of the collective are sent when its communicator is free already
    other, total = await comm.Dup(), np.zeros(4, int)
    if comm.rank == 0:
        await comm.Recv(np.zeros(1), comm.size - 1)  # by then that rank has given it back
    request = await other.Iallreduce(np.full(4, comm.rank), total, algorithm="scatter-allgather")
    await other.Free()
    if comm.rank == comm.size - 1:
        await comm.Send(np.zeros(1), 0)
    await request.Wait()
    print(comm.rank, "goes on", total)


async def everything(comm, name):
    me, size = comm.rank, comm.size
    for call in (bcast, scatter, gather, allgather, alltoall, reduce, allreduce, reduce_scatter, scan, begun):
        for algorithm in ["", *named(call.__name__.capitalize())] if call is not begun else ["", "binomial"]:
            found = await call(comm, me, size, algorithm)
            if not algorithm:
                first = found
                print(MPI.COMM_WORLD.rank, name, call.__name__, *found)
            assert found == first, (call.__name__, algorithm, found, first)


async def bcast(comm, me, size, algorithm):
    data = np.arange(5) if me == size - 1 else np.zeros(5, int)
    await comm.Bcast(data, size - 1, algorithm=algorithm)
    return data.tolist()


async def scatter(comm, me, size, algorithm):
    data, got = np.arange(2 * size), np.zeros(2, int)
    await comm.Scatter(data if me == 0 else None, got, algorithm=algorithm)
    counts = list(range(size))
    mine = np.zeros(me, int)
    await comm.Scatterv([data, counts] if me == 0 else None, mine)
    return got.tolist() + mine.tolist()


async def gather(comm, me, size, algorithm):
    into = np.zeros(2 * size, int)
    await comm.Gather(np.array([me, -me]), into if me == 0 else None, algorithm=algorithm)
    places = [0] * size
    every = np.zeros(size, int)
    await comm.Gatherv(np.full(1, me), [every, ([1] * size, list(range(size))[::-1])] if me == 0 else None)
    return into.tolist() + every.tolist()


async def allgather(comm, me, size, algorithm):
    into = np.zeros(size)
    into[me] = me / 2
    await comm.Allgather(MPI.IN_PLACE, into, algorithm=algorithm)
    return into.tolist()


async def alltoall(comm, me, size, algorithm):
    into = np.zeros(size, np.int16)
    await comm.Alltoall(np.arange(size, dtype=np.int16) + 100 * me, into, algorithm=algorithm)
    one = np.zeros(size, int)
    await comm.Alltoallv([np.full(size, me), [1] * size], [one, ([1] * size, list(range(size)))])
    return into.tolist() + one.tolist()


def digits(incoming, inout, datatype):
    low, high = np.frombuffer(incoming, int), np.frombuffer(inout, int)
    high[:] = [int(f"{one}{other}") for one, other in zip(low, high)]


async def reduce(comm, me, size, algorithm):
    into = np.zeros(2)
    await comm.Reduce(np.array([me, 1.5]), into if me == size - 1 else None, MPI.SUM, size - 1, algorithm=algorithm)
    own = np.zeros(1, int)
    await comm.Reduce(np.array([me + 1]), own, MPI.MAX)
    return into.tolist() + own.tolist()


async def allreduce(comm, me, size, algorithm):
    found = []
    for op in (MPI.SUM, MPI.PROD, MPI.MAX, MPI.BXOR, MPI.LAND):
        into = np.zeros(3, int)
        await comm.Allreduce(np.array([me, me + 1, 3]), into, op, algorithm=algorithm)
        found += into.tolist()
    flags = np.array([me % 2 == 0, True])
    await comm.Allreduce(MPI.IN_PLACE, flags, MPI.LOR, algorithm=algorithm)
    pair = np.array([(me % 2, me)], MPI.DOUBLE_INT.dtype)
    best = np.zeros(1, pair.dtype)
    await comm.Allreduce(pair, best, MPI.MAXLOC)
    if not algorithm:
        own = np.zeros(1, int)
        await comm.Allreduce(np.array([me + 1]), own, MPI.Op.Create(digits))
        found += own.tolist()
    else:
        found.append(int("".join(str(each + 1) for each in range(size))))
    return [*found, *flags.tolist(), int(best["index"][0])]


async def reduce_scatter(comm, me, size, algorithm):
    into = np.zeros(2, int)
    await comm.Reduce_scatter_block(np.arange(2 * size) * (me + 1), into, algorithm=algorithm)
    part = np.zeros(me + 1, int)
    await comm.Reduce_scatter(np.ones(size * (size + 1) // 2, int), part, algorithm=algorithm)
    return into.tolist() + part.tolist()


async def scan(comm, me, size, algorithm):
    into, before = np.zeros(1, int), np.full(1, -1)
    await comm.Scan(np.array([me + 1]), into, algorithm=algorithm)
    await comm.Exscan(np.array([me + 1]), before, algorithm=algorithm)
    return [int(into[0]), int(before[0])]


async def begun(comm, me, size, algorithm):
    data, total, into = np.full(4, me), np.zeros(4, int), np.zeros(size, int)
    requests = [
        await comm.Iallreduce(data, total),
        await comm.Ialltoall(np.arange(size) + me, into),
        await comm.Ibcast(data.copy(), 0, algorithm=algorithm),
        await comm.Ibarrier(),
    ]
    await MPI.Request.Waitall(requests)
    return total.tolist() + into.tolist()
"""


def lines_of(printed):
    return sorted(line for line in printed.splitlines() if not line.startswith("ranks="))


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("text", [POINT_TO_POINT, COLLECTIVES], ids=["point to point", "collectives"])
def test_a_program_prints_the_same(shell, capsys, text, ranks):
    words = ["run", shell.file(text), "--ranks", str(ranks), "--conduit"]
    runs = []
    for spec in ("mpi:library=scampi", "mpi:library=sunmpi"):
        assert call([*words, spec]) == 0
        runs.append(lines_of(capsys.readouterr().out))
    real = shell.conduit(*words, MPI)
    assert real.status == 0, real.err
    assert runs[0] == runs[1] == lines_of(real.out) != []


ENDS = """
import sys

import numpy as np
import trio

import conduit
from conduits.mpi import MPI

api = "mpi"


async def main(comm, how):
    await getattr(sys.modules[__name__], how)(comm)


async def raises(comm):
    if comm.rank == 1:
        raise LookupError("lost")
    await comm.Recv(bytearray(1), 1)


async def aborts(comm):
    if comm.rank == 1:
        comm.Abort(7)
    await comm.Barrier()


async def aborts_with_256(comm):
    if comm.rank == 1:
        comm.Abort(256)
    await comm.Barrier()


async def aborts_by_mpi4py_itself(comm):
    from mpi4py import MPI as mpi4py_own

    if comm.rank == 1:
        mpi4py_own.COMM_WORLD.Abort(5)
    await comm.Barrier()


async def attaches(comm):
    def handler(token):
        pass

    await conduit.current().attach(handler)


async def forgets(comm):
    comm.Barrier()
    await comm.Barrier()


async def hangs(comm):
    if comm.rank == 1:
        await comm.Recv(bytearray(1), 0, 5)


async def leaves(comm):
    if comm.rank == 0:
        await comm.Isend(np.arange(100_000), 1, 3)  # not waited for, and too large to be kept
    else:
        await trio.sleep(0.1)
        got = np.zeros(100_000, int)
        await comm.Recv(got, 0, 3)
        print(got.sum() == np.arange(100_000).sum())


async def abandons(comm):
    if comm.rank == 0:
        await comm.Isend(np.arange(100_000), 1, 3)


async def breaks(comm):
    with trio.move_on_after(0.1):
        await comm.Allreduce(np.ones(1), np.ones(1)) if comm.rank == 0 else await trio.sleep(0.3)
    if comm.rank == 0:
        try:
            await comm.Barrier()
        except MPI.Exception as error:
            print(error.Get_error_class() == MPI.ERR_COMM, error)


async def makes(comm):
    for call in (comm.Dup, lambda: comm.Create_group(comm.Get_group())):
        if comm.rank == 1:
            with trio.move_on_after(0.1):
                await call()
            await comm.Send(b"x", 0)
        else:
            await comm.Recv(bytearray(1), 1)
            print("made", (await call()).Get_size())


def raising(incoming, inout, datatype):
    raise ZeroDivisionError("no such quotient")


async def fails(comm):
    try:
        await comm.Allreduce(np.ones(4), np.zeros(4), MPI.Op.Create(raising))  # fails
    except ZeroDivisionError:
        try:
            await comm.Barrier()
        except MPI.Exception as error:
            print(error)
"""


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [
        ("raises", 1, ["LookupError: lost", "rank 1"]),
        ("aborts", 7, ["rank 1 ended the job with status 7 at "]),
        ("aborts_with_256", 1, ["rank 1 ended the job with status 1 at "]),
        ("attaches", 1, ["attach: this program runs on MPI alone, without Active Messages; start it with"]),
        ("forgets", 1, ["Barrier", "was called but never awaited"]),
        ("hangs", 1, ["rank 1: ", "MPI Recv from rank 0, tag 5, on MPI_COMM_WORLD"]),
        (
            "abandons",
            1,
            ["rank 0: outside its main: waits for MPI Finalize: ", "(Isend to 1, tag 3, on MPI_COMM_WORLD)"],
        ),
    ],
)
def test_the_end_of_a_job_that_fails(shell, how, status, words):
    done = shell.conduit("run", shell.file(ENDS), "--conduit", MPI, "--stall-limit", "2s", "--", how)
    assert done.status == status, done.err
    for each in words:
        assert each in done.err
    assert "without an error of Python's" not in done.err


def test_a_rank_that_aborts_by_mpi4py_itself_ends_the_job(shell):
    done = shell.conduit("run", shell.file(ENDS), "--conduit", MPI, "--", "aborts_by_mpi4py_itself")
    assert done.status == 5, done.err
    # MPI says so just before its Abort. Where MPICH's proxy comes to both at once, on a busy computer, it passes on the
    # abort first, upon which mpiexec ends: whether the words reach it before is chance, and not to be waited for here.
    assert ("Abort" in done.err) != ("without an error of Python's" in done.err), done.err


COUNTED = """
import numpy as np

from conduits.mpi import MPI

api = "mpi"


async def main(comm, how, count):
    data = np.zeros(1)
    for _ in range(int(count)):
        if comm.rank == 0:
            if how == "begun":
                await comm.Isend(data, 1)
            else:
                await comm.Send(data, 1)
        elif how == "probed":
            message = await comm.Mprobe(0)
            await message.Recv(data)
        else:
            await comm.Recv(data, 0)
    await comm.Send(data, MPI.PROC_NULL)
    await comm.Recv(data, MPI.PROC_NULL)
    if how == "together":
        await comm.Barrier()
"""


def counted(shell, how, count, conduit):
    """Return what `--json` has of a program's sends and receives, by rank."""
    done = shell.conduit(
        "run", shell.file(COUNTED), how, str(count), "--conduit", conduit, "--json", str(shell.folder / "counts.json")
    )
    assert done.status == 0, done.err
    (found,) = json.loads((shell.folder / "counts.json").read_text())
    return [
        {name: n for name, n in each.items() if re.match("mpi_(sends|rec|coll)", name)} for each in found["statistics"]
    ]


# In this order the usual run, which has one case in three, has each way and each library.
@pytest.mark.parametrize("conduit", [MPI, "mpi:library=scampi"])
@pytest.mark.parametrize(
    ("how", "count"), [("plain", 10), ("probed", 1), ("plain", 1), ("begun", 1), ("plain", 0), ("plain", 2)]
)
def test_sends_and_receives_are_counted_to_the_last(shell, how, count, conduit):
    assert counted(shell, how, count, conduit) == [
        {"mpi_sends": count, "mpi_receives": 0},
        {"mpi_sends": 0, "mpi_receives": count},
    ]


def test_collectives_that_mpi_does_by_itself_are_counted_apart(shell):
    assert counted(shell, "together", 3, MPI) == [
        {"mpi_sends": 3, "mpi_receives": 0, "mpi_collectives": 1},
        {"mpi_sends": 0, "mpi_receives": 3, "mpi_collectives": 1},
    ]


def test_messages_of_a_rank_whose_main_is_over_get_through(shell):
    done = shell.conduit("run", shell.file(ENDS), "--conduit", MPI, "--", "leaves")
    assert done.status == 0, done.err
    assert "True" in done.lines  # lines of different processes come in any order


def test_a_cancelled_collective_breaks_its_communicator(shell):
    done = shell.conduit("run", shell.file(ENDS), "--conduit", MPI, "--stall-limit", "2s", "--", "breaks")
    line = ENDS[: ENDS.index("await comm.Allreduce(np.ones(1)")].count("\n") + 1
    assert (
        f"True Comm.Barrier: MPI_COMM_WORLD is broken, its Allreduce at {shell.folder}/program.py:{line} was cancelled "
        "on this rank; make another by Create_group on all its ranks, as Dup and Split are calls of this one"
    ) in done.out


def test_a_rank_whose_call_was_cancelled_has_its_part_in_the_communicator_that_it_makes(shell):
    """MPI lets the others wait for it, and crashes at its end where some wait in it."""
    done = shell.conduit("run", shell.file(ENDS), "--conduit", MPI, "--stall-limit", "20s", "--", "makes")
    assert (done.status, done.lines[:2]) == (0, ["made 2", "made 2"]), done.err


def test_a_standstill_names_a_collective_that_has_failed_on_a_rank(shell):
    done = shell.conduit("run", shell.file(ENDS), "--conduit", MPI, "--stall-limit", "2s", "--", "fails")
    at = f"program.py:{ENDS[: ENDS.index('# fails')].count(chr(10)) + 1}"
    failed = "has failed on {} with ZeroDivisionError: no such quotient"
    assert (
        f"Comm.Barrier: MPI_COMM_WORLD is broken, its Allreduce at {shell.folder}/{at} {failed.format('this rank')}"
    ) in done.out
    assert (
        f"Allreduce on MPI_COMM_WORLD at {at} {failed.format('rank 0')}: whoever waits in it, or for that rank in a "
        "later collective, waits in vain"
    ) in done.err.splitlines()


RECEIVES = """
import gc

import conduit
from conduits.mpi import MPI
from conduits.mpi.ring import Ring


def rings():
    return sum(isinstance(each, Ring) for each in gc.get_objects())


async def alone(comm):
    await comm.Barrier()
    return rings()


async def main(ep):
    before = rings()
    await ep.attach()
    return before, rings()


if __name__ == "__main__":
    print(MPI.run(alone, library="mpi4py").values, conduit.run(main, conduit="mpi:library=mpi4py").values)
"""


def test_receives_of_active_messages_are_posted_at_the_first_attach(shell):
    done = shell.mpiexec(2, shell.file(RECEIVES))
    assert done.status == 0, done.err
    assert done.lines == ["[0, 0] [(0, 2), (0, 2)]"] * 2


SCRIPT = """
import sys

import numpy as np

from conduits.mpi import MPI


async def main(comm, factor):
    total = np.zeros(1, int)
    await comm.Allreduce(np.array([comm.rank * factor]), total)
    return int(total[0])


if __name__ == "__main__":
    first = MPI.run(main, 10, library="mpi4py")
    again = MPI.run(main, 1, library="mpi4py:credits=4")
    print(first.values, again.values, first.digest, first.conduit)
"""


def test_a_script_runs_jobs_one_after_the_other(shell):
    done = shell.mpiexec(3, shell.file(SCRIPT))
    assert done.status == 0, done.err
    assert done.lines == [f"[30, 30, 30] [3, 3, 3] None {MPI}"] * 3


def test_a_script_by_itself_is_told_how(shell):
    done = shell.end(shell.begin(sys.executable, shell.file(SCRIPT)))
    assert done.status == 1
    assert "are processes, and this is only one; start the program with `conduit run PROGRAM.py" in done.err


SIZES = """
import numpy as np

api = "mpi"


async def main(comm):
    await comm.Bcast(np.zeros(1 + comm.rank), 0)
"""


def test_sizes_that_differ_are_told_as_the_call_of_the_program(shell):
    """MPI's library says that something is wrong, and not what; the call inside has another name."""
    done = shell.conduit("run", shell.file(SIZES), "--conduit", MPI, "--ranks", "2", "--stall-limit", "20s")
    assert done.status == 1
    assert "MpiError: MPI Bcast of all on MPI_COMM_WORLD: " in done.err
    assert (
        "; make the same collective calls in the same order on all ranks, with counts, datatypes, root and algorithm= "
        "that agree\n"
    ) in done.err


BOOLEANS = """
import numpy as np
from conduits.mpi import MPI

api = "mpi"


async def main(comm):
    values, result = np.array([True, comm.rank > 0]), np.zeros(2, bool)
    for op in (MPI.LAND, MPI.LOR, MPI.LXOR, MPI.BAND, MPI.SUM):
        try:
            await comm.Allreduce(values, result, op)
        except MPI.Exception as error:
            result = error
        if comm.rank == 0:
            print(result.tolist() if isinstance(result, np.ndarray) else result)
        result = np.zeros(2, bool)
"""


def test_booleans_are_reduced_as_in_simulation(shell):
    done = shell.conduit("run", shell.file(BOOLEANS), "--conduit", MPI, "--ranks", "2")
    assert done.status == 0, done.err
    *combined, bits, total, _ = done.lines
    assert combined == ["[True, False]", "[True, True]", "[False, True]"]
    for line, op in ((bits, "MPI_BAND"), (total, "MPI_SUM")):
        assert f"op={op} does not take MPI_C_BOOL; MPI defines LAND, LOR, LXOR for it" in line


PAIRS = """
import numpy as np
from conduits.mpi import MPI

api = "mpi"
CODES = {"FLOAT_INT": "f4", "DOUBLE_INT": "f8", "LONG_INT": "i8", "INT_INT": "i4", "SHORT_INT": "i2"}


async def main(comm):
    for name, code in CODES.items():
        pair, datatype = np.dtype([("key", code), ("rank", "i4")], align=True), getattr(MPI, name)
        mine, best, other = np.zeros(2, pair), np.zeros(2, pair), np.zeros(2, pair)
        mine["key"], mine["rank"] = [comm.rank, 7 - comm.rank], comm.rank
        await comm.Allreduce([mine, 2, datatype], [best, 2, datatype], MPI.MAXLOC)
        request = await comm.Irecv([other, datatype], 1 - comm.rank)
        await comm.Send([mine, datatype], 1 - comm.rank)
        await request.Wait()
        if comm.rank == 0:
            print(name, best.astype("i4,i4").tolist(), other.astype("i4,i4").tolist())
"""


def test_structured_arrays_are_pairs_where_the_program_says_so(shell):
    done = shell.conduit("run", shell.file(PAIRS), "--conduit", MPI, "--ranks", "2")
    assert done.status == 0, done.err
    assert done.lines[:-1] == [
        f"{name} [(1, 1), (7, 0)] [(1, 1), (6, 1)]"
        for name in ("FLOAT_INT", "DOUBLE_INT", "LONG_INT", "INT_INT", "SHORT_INT")
    ]


LOST = """
import numpy as np
from conduits.mpi import MPI

api = "mpi"


async def main(comm, what):
    mine, result = np.ones(4), np.zeros(4)
    other = await comm.Dup()
    first = comm.rank == 0
    if what == "messages" and first:
        for tag in (7, 9, 7):
            await comm.Send(mine[: tag - 6], 1, tag)
        await other.Send(mine, 1, 7)
        await (await comm.Isend(mine, 0, 3)).Wait()
    if what == "messages" and comm.rank == 1:
        await comm.Recv(result, 0, 9)
    if what == "bytes":
        await other.Allreduce(mine[: 4 if first else 2], result[: 4 if first else 2])
    if what == "roots":
        await comm.Bcast(mine, 0 if first else 1)
    if what == "operators":
        await comm.Reduce(mine, result, MPI.SUM if first else MPI.MAX)
    if what == "operands":
        await comm.Exscan(*((mine, result) if first else (mine.astype(int), result.astype(int))))
    if what == "elements":
        await comm.Gather(mine.astype(int), np.zeros(12) if comm.rank else np.zeros(12, int))
        await comm.Bcast(mine if first else result.astype(int) if comm.rank == 1 else bytearray(32))
    if what == "order":
        await (comm if first else other).Barrier()
    if what == "earlier":
        await comm.Bcast(mine, 0 if first else 1)  # roots differ
        await comm.Recv(result, comm.rank, 3)  # that nobody sends
    if what == "earlier order":
        for _ in range(200):
            await other.Barrier()
        await (comm.Allreduce(mine, result, MPI.MAX) if first else comm.Allreduce(mine, result))  # operators differ
        await (other if first else comm).Barrier()
    if what == "none":
        await comm.Allreduce(mine, result)
        await other.Gatherv(mine[: comm.rank], [result, [0, 1, 2]] if first else None)
        await comm.Sendrecv(mine, (comm.rank + 1) % 3, 5, result, (comm.rank - 1) % 3, 5)
        await comm.Bcast(mine if first else bytearray(32))
        await comm.Bcast(mine.view(np.int64) if first else [result, MPI.INT64_T])
"""


def lost(shell, what):
    """Run that program; return how it ended, its warnings, and a function that gives one of its lines."""
    path = shell.file(LOST)
    done = shell.conduit("run", path, "--conduit", MPI, "--ranks", "3", "--stall-limit", "3s", "--", what)
    warnings = [line for line in done.err.splitlines() if line.startswith("warning")]
    texts = LOST.splitlines()
    return done, sorted(warnings), lambda text: f"{path}:{next(n for n, each in enumerate(texts, 1) if text in each)}"


def test_messages_that_nobody_has_received_are_told(shell):
    done, warnings, at = lost(shell, "messages")
    assert done.status == 0, done.err
    assert warnings == [
        "warning from rank 0: 1 message from rank 0, tag 3, on MPI_COMM_WORLD, 32 bytes, never received",
        "warning from rank 1: 1 message from rank 0, tag 7, on a duplicate of MPI_COMM_WORLD (made at "
        f"{at('Dup')}), 32 bytes, never received",
        "warning from rank 1: 2 messages from rank 0, tag 7, on MPI_COMM_WORLD, 16 bytes together, never received",
    ]


def test_of_what_is_received_and_called_alike_nothing_is_told(shell):
    done, warnings, _ = lost(shell, "none")
    assert (done.status, warnings) == (0, []), done.err


def test_collective_calls_that_differ_are_told_when_the_job_is_over(shell):
    done, warnings, at = lost(shell, "bytes")
    assert done.status == 0, done.err
    line = at("Allreduce")
    undefined = "; MPI says nothing of it, and results may be wrong"
    assert warnings == [
        f"warning from rank 1: Comm.Allreduce at {line}: 16 bytes, but rank 0 has called it with 32 at {line}; give "
        f"the same on all ranks of a duplicate of MPI_COMM_WORLD (made at {at('Dup')}){undefined}"
    ]
    done, warnings, at = lost(shell, "roots")
    assert done.status == 0, done.err
    line = at("Bcast")
    assert warnings == [
        f"warning from rank 1: Comm.Bcast at {line}: root=1, but rank 0 has called it with root=0 at {line}; give the "
        f"same on all ranks of MPI_COMM_WORLD{undefined}"
    ]


@pytest.mark.parametrize(
    ("what", "call", "said"),
    [
        ("operators", "Reduce", "op=MPI_MAX, but rank 0 has called it with op=MPI_SUM"),
        ("operands", "Exscan", "elements of MPI_LONG, but rank 0 has called it with MPI_DOUBLE"),
        ("elements", "Bcast", "elements of MPI_LONG, but rank 0 has called it with MPI_DOUBLE"),
    ],
)
def test_operators_and_elements_that_differ_are_told_when_the_job_is_over(shell, what, call, said):
    done, warnings, at = lost(shell, what)
    assert done.status == 0, done.err
    line = at({"elements": "Bcast(mine if first else result"}.get(what, call))
    assert warnings == [
        f"warning from rank 1: Comm.{call} at {line}: {said} at {line}; give the same on all ranks of MPI_COMM_WORLD; "
        "MPI says nothing of it, and results may be wrong"
    ]


def test_collective_calls_that_cross_are_told_at_a_standstill(shell):
    done, _, _ = lost(shell, "order")
    assert done.status == 1
    assert "waits for MPI Barrier of all on MPI_COMM_WORLD, to which ranks 1-2 have not come, since " in done.err
    *_, last, ended = done.err.splitlines()
    line = LOST[: LOST.index("Barrier")].count("\n") + 1
    assert last.startswith(
        f"rank 0 is in MPI Barrier of all on MPI_COMM_WORLD at program.py:{line}, ranks 1-2 are in MPI "
    )
    assert last.endswith(": all of them must make the same calls in the same order")
    assert ended == "ended, because nothing may stand still for 3 s (stall_limit)"


IN_LOST = {
    "earlier": f"program.py:{LOST[: LOST.index('# roots differ')].count(chr(10)) + 1}",
    "operator": f"program.py:{LOST[: LOST.index('# operators differ')].count(chr(10)) + 1}",
}


def test_collective_calls_that_differ_are_told_at_a_later_standstill(shell):
    done, _, _ = lost(shell, "earlier")
    assert done.status == 1
    assert done.err.splitlines()[-2:] == [
        f"Comm.Bcast of rank 1 at {IN_LOST['earlier']}: root=1, but rank 0 has called it with root=0 at "
        f"{IN_LOST['earlier']}; give the same on all ranks of MPI_COMM_WORLD",
        "ended, because nothing may stand still for 3 s (stall_limit)",
    ]
    done, _, _ = lost(shell, "earlier order")
    assert done.status == 1
    *_, crossed, told, _ = done.err.splitlines()
    assert crossed.endswith(": all of them must make the same calls in the same order")
    assert told == (
        f"Comm.Allreduce of rank 1 at {IN_LOST['operator']}: op=MPI_SUM, but rank 0 has called it with op=MPI_MAX at "
        f"{IN_LOST['operator']}; give the same on all ranks of MPI_COMM_WORLD"
    )


CROSSED = """
import numpy as np

api = "mpi"


async def main(comm, what):
    mine, got = np.zeros((2, 1_000_000))
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if what == "Ssend":
        await comm.Ssend(mine[:1], right)
    elif what == "Send":
        await comm.Send(mine, right)
    elif what == "itself":
        await comm.Ssend(mine[:1], comm.rank)
    elif comm.rank == 0:
        await comm.Send(mine, right)
    await comm.Recv(got, left, 5)  # of another tag
"""
ADVISED = {
    "sends": "each rank of the cycle waits in a send for the receive that another is to make after its own send: let "
    "one of them receive first, or write `await comm.Sendrecv(...)` for the send and the receive, or write `request = "
    "await comm.Isend(...)` in its place, then the receive, then `await request.Wait()`",
    "itself": "a large message to oneself waits for its receive: write `request = await comm.Isend(...)` in its place, "
    "then the receive, then `await request.Wait()`",
    "": "",
}


@pytest.mark.parametrize(
    ("what", "ranks", "advised"),
    [
        pytest.param("Send", 2, "sends", marks=pytest.mark.every),
        ("Ssend", 3, "sends"),
        pytest.param("itself", 2, "itself", marks=pytest.mark.every),
        ("receives", 2, ""),
    ],
)
def test_sends_that_wait_for_one_another_are_told_what_to_do_as_simulated_ones_are(shell, what, ranks, advised):
    path = shell.file(CROSSED)
    done = shell.conduit("run", path, "--conduit", MPI, "--ranks", ranks, "--stall-limit", "2s", "--", what)
    *lines, ended = done.err.splitlines()
    assert (done.status, ended) == (1, "ended, because nothing may stand still for 2 s (stall_limit)")
    assert [line for line in lines if not line.startswith((" ", "rank", "cycle", "conduit run: stall"))] == list(
        filter(None, [ADVISED[advised]])
    )
    simulated = shell.conduit("run", path, "--conduit", "mpi", "--ranks", ranks, "--", what).err.splitlines()
    assert simulated[-1] == lines[-1] or not advised
