"""Simulated Sun MPI: what one rank of a host writes for others, and how long that takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from conduits.mpi import MPI
from conduits.mpi.engine import sharing
from conduits.mpi.engine.plain import EngineLibrary
from conduits.mpi.libraries.memory import TRAFFIC
from conduits.mpi.libraries.sunmpi import constants as c
from conduits.mpi.libraries.sunmpi.shared_buffers import FLAG, INLINE, LINE, SharedBuffers
from conduits.sunfire import constants as sunfire

PIECE = 32768


def us(constant):
    return c.ps(constant) / 1e6


def copy(nbytes):
    return us(sunfire.COPY_START) + nbytes / 935 if nbytes else 0


def poll(ranks):
    return us(c.POLL) + (ranks - 1) * us(c.HEAD)


def looks(lines):
    """Return what it takes to look at lines that others have stored."""
    return lines * (us(c.HEAD) + us(sunfire.SHARED_LINE))


def writes(ranks, size, acks=0):
    """As docs/models/sunmpi.md adds it up: from the call until the flag of the first piece can be seen."""
    data = copy(FLAG.size + size) if size <= INLINE else copy(min(size, PIECE)) + copy(FLAG.size)
    return poll(ranks) + us(c.CALL) + looks(acks) + data + us(c.SHM_FLAG)


def reads(ranks, size):
    """From where a rank looks until its call is over."""
    return poll(ranks) + looks(1) + copy(size) + copy(8) + us(c.COMPLETE)


def passes(nbytes):
    """Return how long bytes that are copied pass through the host's memory."""
    return TRAFFIC * nbytes / 9600


async def late_root(comm, size, before=0):
    """Return when the root has called and when this rank's broadcast was over, microseconds; all others wait."""
    ep, data = conduit.current(), np.full(size, comm.rank, np.uint8)
    for _ in range(before):
        await comm.Bcast(data)
    await comm.Barrier()
    if comm.rank == 0:
        await ep.compute(1e-3)
    called = ep.now * 1e6
    await comm.Bcast(data)
    assert not data.any()
    return called, ep.now * 1e6


def took(ranks, size, before=0):
    times = MPI.run(late_root, size, before, ranks=ranks, ranks_per_host=ranks, library="sunmpi:config=q").values
    return max(over for _, over in times) - times[0][0]


@pytest.mark.parametrize("ranks", [2, 4, 16])
@pytest.mark.parametrize("size", [0, 8, 44, 45, 512])
def test_a_small_broadcast_takes_the_sum_of_its_parts(ranks, size):
    """What is not exact is where a polling loop stands when the flag comes."""
    least = writes(ranks, size) + reads(ranks, size)
    assert least <= took(ranks, size) <= least + poll(ranks) + 1e-3


@pytest.mark.parametrize("before", [1, 2])
def test_the_writer_looks_at_what_its_readers_have_acknowledged_two_calls_before(before):
    """The barrier is a call too: those of one broadcast before it are looked at, or of two."""
    least = writes(16, 8, acks=15 * before) + reads(16, 8)
    assert least <= took(16, 8, before) <= least + 2 * poll(16)


@pytest.mark.parametrize("ranks", [3, 4, 16, 24])
def test_readers_share_the_host_s_memory(ranks):
    """4096 bytes pass through it in one go, so the last reader waits for all others'."""
    least = writes(ranks, 4096) + reads(ranks, 4096) + (ranks - 2) * passes(4096)
    assert least <= took(ranks, 4096) <= least + 2 * poll(ranks)


@pytest.mark.parametrize(("size", "off"), [(PIECE, 0.02), (65536, 0.02), (1 << 20, 0.02)])
def test_a_large_broadcast_takes_as_long_as_all_its_bytes_pass_through_the_memory(size, off):
    first = min(size, PIECE)
    fills = copy(4096) - passes(4096)  # of each piece the last bytes of the last reader do not wait
    through = passes(size - first + 15 * size) + -(-size // PIECE) * fills
    assert took(16, size) == pytest.approx(writes(16, first) + reads(16, 0) + through, rel=off)


def test_a_broadcast_on_one_host_takes_less_time_than_along_a_tree():
    def of(algorithm, size):
        async def main(comm):
            data = np.zeros(size, np.uint8)
            await comm.Barrier()
            begun = conduit.current().now
            await comm.Bcast(data, algorithm=algorithm)
            return conduit.current().now - begun

        return max(MPI.run(main, ranks=16, ranks_per_host=16, library="sunmpi").values)

    for size in (8, 1024, 65536):
        assert of("local-exchange", size) < 0.6 * of("two-stage", size)


def test_a_writer_waits_for_a_late_reader_where_it_would_use_a_piece_again():
    async def main(comm, pieces):
        ep, data = conduit.current(), np.zeros(pieces * PIECE, np.uint8)
        if comm.rank == 0:
            data[:] = np.arange(data.size) // PIECE + 1
        await comm.Barrier()
        if comm.rank == 2:
            await ep.compute(5e-3)
        await comm.Bcast(data)
        assert (data == np.arange(data.size) // PIECE + 1).all()
        return ep.now

    def root(pieces):
        return MPI.run(main, pieces, ranks=3, ranks_per_host=3, library="sunmpi").values[0]

    assert root(2) < 1e-3
    assert root(3) > 5e-3


def test_a_writer_is_two_calls_ahead_and_no_further():
    async def main(comm, calls):
        ep, data = conduit.current(), np.zeros(5, np.uint8)
        await comm.Barrier()
        if comm.rank == 1:
            await ep.compute(5e-3)
        for number in range(calls):
            if comm.rank == 0:
                data[:] = number
            await comm.Bcast(data)
            assert (data == number).all()
        return ep.now

    def root(calls):
        return MPI.run(main, calls, ranks=3, ranks_per_host=3, library="sunmpi").values[0]

    assert root(2) < 1e-3
    assert root(3) > 5e-3


def test_a_barrier_on_a_host_is_two_counts():
    """The leader hears of each of the others, and tells all."""

    async def main(comm):
        ep = conduit.current()
        await comm.Barrier()
        if comm.rank == 0:
            await ep.compute(1e-3)
        called = ep.now * 1e6
        await comm.Barrier()
        return called, ep.now * 1e6

    times = MPI.run(main, ranks=16, ranks_per_host=16, library="sunmpi:config=q").values
    hears = poll(16) + us(c.CALL) + looks(15) + poll(16) + us(c.COMPLETE)  # in a call and a pass
    tells = us(c.CALL) + us(c.SHM_FLAG) + copy(8)
    least = hears + tells + poll(16) + looks(1) + us(c.COMPLETE)
    assert max(over for _, over in times) - times[0][0] == pytest.approx(least, abs=2 * poll(16))


def used(monkeypatch):
    """Return where all buffers of hosts that are made from now on are kept."""
    made, begin = [], SharedBuffers.__init__

    def keep(self, *args):
        begin(self, *args)
        made.append(self)

    monkeypatch.setattr(SharedBuffers, "__init__", keep)
    return made


@pytest.mark.parametrize("call", ["Bcast", "Allreduce", "Allgather", "Barrier", "Ibcast"])
def test_memory_does_not_grow_with_the_number_of_calls(call, monkeypatch):
    made = used(monkeypatch)

    async def main(comm, calls):
        mine, into = np.ones(3000), np.zeros(3000 * (comm.size if call == "Allgather" else 1))
        for _ in range(calls):
            if call == "Barrier":
                await comm.Barrier()
            elif call.endswith("cast"):
                begun = await getattr(comm, call)(mine)
                if call == "Ibcast":
                    await begun.Wait()
            else:
                await getattr(comm, call)(mine, into)
        if comm.rank == 0:
            found.append(made[-1].resident)

    found = []
    for calls in (5, 40):
        MPI.run(main, calls, ranks=4, ranks_per_host=4, library="sunmpi")
    assert found[0] == found[1] <= 4 * 3 * (2 * PIECE + 4096)


@pytest.mark.parametrize("per_host", [2, 4])
def test_calls_whose_tags_begin_again_are_told_from_earlier_ones(per_host, monkeypatch):
    monkeypatch.setattr(EngineLibrary, "tags", 16)
    monkeypatch.setattr(sharing, "TAGS", 16)

    async def main(comm):
        for number in range(60):
            if comm.rank == number % 4:
                await conduit.current().compute(number % 3 * 1e-4)
            data = np.full(3, float(number if comm.rank == number % 4 else -1))
            await comm.Allreduce(np.full(3, comm.rank + number), total := np.zeros(3, int))
            assert total.tolist() == [6 + 4 * number] * 3
            early = await comm.Ibarrier()
            await comm.Bcast(data, root=number % 4)
            assert data.tolist() == [number] * 3
            await comm.Allgather(np.array([comm.rank * number]), every := np.zeros(4, int))
            assert every.tolist() == [rank * number for rank in range(4)]
            await early.Wait()

    MPI.run(main, ranks=4, ranks_per_host=per_host, library="sunmpi")


def test_what_a_communicator_had_goes_with_it(monkeypatch):
    made = used(monkeypatch)

    async def main(comm):
        for number in range(20):
            other = await comm.Dup()
            data = np.full(10_000, number if comm.rank == 1 else 0)
            await other.Bcast(data, 1)
            assert (data == number).all()
            await other.Barrier()
            begun = await other.Ibarrier()
            await other.Free()
            await begun.Wait()
        await comm.Barrier()
        return made[-1].resident if comm.rank == 0 else None

    # The counts of the world are left: two ranks that come, and one that tells them.
    assert MPI.run(main, ranks=3, ranks_per_host=3, library="sunmpi").values[0] == 3 * LINE


def test_a_later_part_of_a_call_does_not_wait_for_calls_behind_it():
    """Rank 0 begins both; the others begin the second one when the first one is over.

    The first goes on between hosts before its result is written, when the second one has all its pieces in use.
    """

    async def main(comm):
        total, data = np.zeros(100_000), np.zeros(200_000)
        if comm.rank in (0, 4):
            first = await comm.Iallreduce(np.ones(100_000), total)
            second = await comm.Ibcast(data if comm.rank else np.arange(200_000.0))
            await MPI.Request.Waitall([first, second])
        else:
            await (await comm.Iallreduce(np.ones(100_000), total)).Wait()
            await (await comm.Ibcast(data)).Wait()
        assert (total == 8).all()
        assert comm.rank == 0 or (data == np.arange(200_000)).all()

    MPI.run(main, ranks=8, ranks_per_host=4, library="sunmpi")


@pytest.mark.parametrize("count", [3, 30, 3000])
def test_operators_of_programs_get_whole_operands(count):
    async def main(comm):
        def of_three(one, other, datatype):
            low, high = (np.frombuffer(each).reshape(-1, 3) for each in (one, other))
            assert len(low) * 3 == count
            high[...] = low + high

        mine, into = np.arange(float(count)) * (comm.rank + 1), np.zeros(count)
        await comm.Allreduce(mine, into, MPI.Op.Create(of_three))
        assert (into == np.arange(count) * 10).all()
        into[:] = 0
        await comm.Reduce(mine, into, MPI.Op.Create(of_three), root=2)
        assert comm.rank != 2 or (into == np.arange(count) * 10).all()

    MPI.run(main, ranks=4, ranks_per_host=4, library="sunmpi")


@pytest.mark.parametrize("count", [5, 5000])
def test_an_operator_that_fails_ends_the_job_with_its_error(count):
    async def main(comm):
        def fail(one, other, datatype):
            raise ValueError("no such sum")

        await comm.Allreduce(np.ones(count), np.ones(count), MPI.Op.Create(fail))

    with pytest.raises(ValueError, match=r"^no such sum\n"):
        MPI.run(main, ranks=4, ranks_per_host=4, library="sunmpi")


@pytest.mark.parametrize("call", ["Barrier", "Bcast", "Reduce", "Allreduce", "Allgather"])
@pytest.mark.parametrize("size", [1, 50_000])
def test_a_rank_that_is_missing_is_named_with_the_call(call, size):
    async def main(comm):
        mine, into = np.ones(size), np.ones(size * (comm.size if call == "Allgather" else 1))
        if comm.rank == 1:
            await comm.Recv(mine, 0)
        elif call == "Barrier":
            await comm.Barrier()
        elif call == "Bcast":
            await comm.Bcast(mine, root=1)
        else:
            await getattr(comm, call)(mine, into)

    with pytest.raises(conduit.Deadlock) as raised:
        MPI.run(main, ranks=3, ranks_per_host=3, library="sunmpi")
    said = str(raised.value)
    assert f"MPI {call} of all on MPI_COMM_WORLD" in said
    assert "rank 1" in said


def test_what_a_writer_waits_for_is_told():
    async def main(comm):
        data = np.zeros(4 * PIECE, np.uint8)
        if comm.rank == 2:
            await comm.Recv(data, 0)
        else:
            await comm.Bcast(data)

    told = "a buffer that this rank writes for its host waits until it is read by rank 2"
    with pytest.raises(conduit.Deadlock, match=told):
        MPI.run(main, ranks=3, ranks_per_host=3, library="sunmpi")


def test_abort_in_the_midst_of_a_call_ends_the_job():
    async def main(comm):
        if comm.rank == 2:
            await conduit.current().compute(1e-4)
            comm.Abort(3)
        await comm.Bcast(np.zeros(1 << 20))

    with pytest.raises(SystemExit) as raised:
        MPI.run(main, ranks=4, ranks_per_host=4, library="sunmpi")
    assert raised.value.code == 3


# -- random programs against numpy ---------------------------------------------------------------------------

CALLS = (
    "Barrier",
    "Ibarrier",
    "Bcast",
    "Ibcast",
    "Reduce",
    "Allreduce",
    "Iallreduce",
    "Allgather",
    "Reduce_scatter_block",
    "Alltoall",
)
SIZES = (0, 1, 5, 33, 700, 4097, 13_000)
CALL = st.tuples(
    st.sampled_from(CALLS),
    st.integers(0, 2),
    st.sampled_from(SIZES),
    st.integers(0, 23),
    st.booleans(),
    st.integers(0, 9),
)


def content(number, rank, count):
    return np.random.default_rng([number, rank]).integers(-9, 9, count)


def matrices(incoming, inout, datatype):
    """2 x 2 matrices modulo 2**64: their product does not commute."""
    one, other = (np.frombuffer(each, "i8").reshape(-1, 2, 2) for each in (incoming, inout))
    other[...] = one @ other


async def make(comm, number, call, count, root, free, requests):
    """Make a call; return what is to be looked at when it is over: the result, what it should be."""
    me, size = comm.rank, comm.size
    root %= size
    if call.endswith("arrier"):
        requests.append(await getattr(comm, call)())
        return None, None
    if call in ("Bcast", "Ibcast"):
        data = content(number, me, count)
        begun = await getattr(comm, call)(data, root)
        requests.append(begun)
        return data, content(number, root, count)
    if call in ("Allgather", "Alltoall"):
        few = min(count, 700) * (size if call == "Alltoall" else 1)
        mine, into = content(number, me, few), np.full((size, few if call == "Allgather" else few // size), -100)
        await getattr(comm, call)(mine, into)
        all_ = np.stack([content(number, rank, few) for rank in range(size)])
        return into, all_ if call == "Allgather" else all_.reshape(size, size, -1)[:, me]
    count = (count if free else count // 4 * 4) * (size if call.startswith("Reduce_") else 1)
    operands = [content(number, rank, count) for rank in range(size)]
    expected = operands[0]
    for each in operands[1:]:
        expected = expected + each if free else (expected.reshape(-1, 2, 2) @ each.reshape(-1, 2, 2)).reshape(-1)
    op = MPI.SUM if free else MPI.Op.Create(matrices, commute=False)
    mine = operands[me].copy()
    if call.startswith("Reduce_"):
        part = count // size
        into = np.full(part, -100)
        await comm.Reduce_scatter_block(mine, into, op)
        return into, expected[me * part : (me + 1) * part]
    into = np.full(count, -100)
    if call == "Reduce":
        await comm.Reduce(mine, into, op, root)
        return (into, expected) if me == root else (None, None)
    requests.append(await getattr(comm, call)(mine, into, op))
    return into, expected


async def program(world, plan, colours):
    """Make all calls on the world, on a part of it and on a duplicate; some ranks are late for each."""
    part = await world.Split(colours[world.rank], key=-world.rank)
    comms = [world, part, await world.Dup()]
    requests, found = [], []
    for number, (call, which, count, root, free, late) in enumerate(plan):
        if (world.rank + late) % 4 == 0:
            await conduit.current().compute(late * 1e-5)
        if call == "Barrier" or late < 5:
            await MPI.Request.Waitall([each for each in requests if each is not None])
            requests.clear()
        # On a part the ranks are others, and so are the operands.
        found.append(await make(comms[which], number, call, count, root, free, requests))
    await MPI.Request.Waitall([each for each in requests if each is not None])
    for step, (result, expected) in zip(plan, found, strict=True):
        assert result is None or np.array_equal(result, expected), step
    return True


@settings(max_examples=60)
@given(
    st.lists(CALL, min_size=1, max_size=12), st.integers(1, 9), st.integers(1, 9),
    st.lists(st.integers(0, 2), min_size=9), st.booleans(),
)  # fmt: skip
def test_random_collectives_give_what_numpy_does(plan, ranks, per_host, colours, general):
    library = f"sunmpi:config=q,poll={'general' if general else 'directed'}"
    ranks_per_host = max(min(per_host, ranks), -(-ranks // 4))
    result = MPI.run(program, plan, colours, ranks=ranks, ranks_per_host=ranks_per_host, library=library)
    assert result.values == [True] * ranks
    assert result.digest == MPI.run(
        program, plan, colours, ranks=ranks, ranks_per_host=ranks_per_host, library=f"{library},inline=no"
    ).digest  # fmt: skip


def test_barriers_that_end_in_another_order_than_they_begin_let_all_go():
    async def main(comm):
        for turn in range(10):
            begun = []
            for number in range(6):
                if (comm.rank * 7 + number + turn) % 5 == 0:
                    await conduit.current().compute(3e-6 * (1 + comm.rank % 3))
                begun.append(await comm.Ibarrier())
            for each in begun if comm.rank % 2 else reversed(begun):
                await each.Wait()
        return True

    assert all(MPI.run(main, ranks=9, ranks_per_host=3, library="sunmpi").values)


@pytest.mark.parametrize("call", ["Bcast", "Reduce", "Allreduce", "Allgather"])
@pytest.mark.parametrize(("mine", "others"), [(50_000, 100_000), (100_000, 50_000)])
def test_sizes_that_differ_hold_nobody_up(call, mine, others):
    """All who notice are told; who has caught the error goes on elsewhere, as do those who write more than is read."""

    async def main(comm):
        other = await comm.Dup()
        count, told = mine if comm.rank == 0 else others, False
        data, into = np.zeros(count), np.zeros(count * (comm.size if call == "Allgather" else 1))
        try:
            await (comm.Bcast(data) if call == "Bcast" else getattr(comm, call)(data, into))
        except MPI.Exception:
            told = True
        few = np.full(5, comm.rank)
        await other.Bcast(few, 1)
        await other.Barrier()
        return told and (few == 1).all()

    values = MPI.run(main, ranks=5, ranks_per_host=5, library="sunmpi").values
    assert values[call == "Bcast" :] == [True] * (5 - (call == "Bcast"))
