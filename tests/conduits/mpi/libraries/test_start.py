"""MPI-StarT on StarT-X: what goes in which way, and what it takes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conduit
from conduits.mpi import MPI
from conduits.mpi.libraries.start import Start, installation, wire
from conduits.mpi.libraries.start import constants as c
from conduits.mpi.libraries.start.peer import ControlPeer
from conduits.mpi.libraries.start.rights import RdmaRequest, RdmaRights, RightState
from conduits.mpi.libraries.start.smp import PacketInbox
from conduits.mpi.libraries.start.wire import HEADER, ControlHeader
from conduits.startx import constants as startx
from conduits.startx.driver import access_cost

MIB = 1 << 20


async def ping_pong(comm, size, turns):
    """Return half of a round trip, seconds."""
    ep, data = conduit.current(), np.zeros(size, np.uint8)
    await comm.Barrier()
    begun = ep.now
    for _ in range(turns):
        if comm.rank == 0:
            await comm.Send(data, 1)
            await comm.Recv(data, 1)
        else:
            await comm.Recv(data, 0)
            await comm.Send(data, 0)
    return (ep.now - begun) / turns / 2


def half(size, library="start", turns=10, **options):
    return MPI.run(ping_pong, size, turns, ranks=2, library=library, **options).values[0] * 1e6


def us(constant):
    return c.ps(constant) / 1e6


def copy(size):
    return us(startx.COPY_START) + size / startx.COPY_RATE.value if size else 0


POLL = us(c.POLL) + us(startx.POLL)


# -- anchors ---------------------------------------------------------------------------------------------


def test_the_latency_within_an_smp_is_its_anchor():
    """x.mpi.lat.shm, of 100 repetitions: it calibrates and predicts nothing."""
    assert half(0, turns=100, ranks_per_host=2) == pytest.approx(18, rel=0.01)


def test_the_rate_within_an_smp_reaches_its_anchor():
    """x.mpi.bw.shm, a lower bound: what fixes the rate of a copy, with what pieces take on top of it."""
    assert 150 <= MIB / half(MIB, turns=1, ranks_per_host=2) < 150.5
    assert MIB / half(MIB, ranks_per_host=2) == pytest.approx(150, rel=0.001)
    assert MIB / half(MIB, turns=100, ranks_per_host=2) == pytest.approx(150, rel=0.001)


def test_the_rate_within_an_smp_of_long_messages_is_nearly_that_of_a_copy():
    assert 32 * MIB / half(32 * MIB, turns=1, ranks_per_host=2) == pytest.approx(startx.COPY_RATE.value, rel=0.01)


# -- between SMPs ------------------------------------------------------------------------------------------


def packet(size, access):
    """Return what a packet with so many bytes of a control message takes: its sender, its way, its receiver."""
    nbytes = 8 + 4 + size + -size % 4
    cost = access_cost(access, nbytes)
    way = us(startx.NIU_OUT) + us(startx.STAGE) + us(startx.NIU_IN)
    on_way = max(cost.first / 1e6 + nbytes / 150, (cost.first + cost.span) / 1e6) + way - cost.send / 1e6
    return cost.send / 1e6, on_way, cost.receive / 1e6


@pytest.mark.parametrize("access", ["block", "word"])
@pytest.mark.parametrize("size", [0, 8, 24, 25, 56])
def test_the_latency_of_a_message_of_one_packet_is_the_sum_of_its_parts(size, access):
    """As docs/models/start.md adds it up; what is not exact is where the polling loop stands at the arrival."""
    send, way, receive = packet(HEADER + size, access)
    least = POLL + us(c.CALL) + us(c.LAYERS) + send + way
    least += us(c.POLL) + receive + us(c.LAYERS) + us(c.MATCH) + copy(size) + us(c.COMPLETE)
    # The look that finds nothing more is behind it, on the receiver's way to its own call.
    assert half(size, f"start:access={access}") == pytest.approx(least + us(startx.POLL) + POLL / 2, abs=POLL / 2)


@pytest.mark.parametrize(("size", "packets"), [(56, 1), (57, 2), (140, 2), (141, 3), (1024, 13)])
def test_control_messages_are_cut_into_packets(size, packets):
    result = MPI.run(ping_pong, size, 10, ranks=2, library="start")
    for counts in result.statistics:
        assert counts["mpi_packets"] == 1 + 10 * packets  # one of the barrier
        assert counts["niu_low_sent"] == counts["mpi_packets"]
        assert counts["dma_transfers"] == counts["niu_high_sent"] == 0


@pytest.mark.parametrize(
    ("size", "way"), [(0, "control"), (1024, "control"), (1025, "rendezvous"), (100_000, "rendezvous")]
)
def test_the_size_decides_the_way(size, way):
    result = MPI.run(ping_pong, size, 3, ranks=2, library="start")
    for counts in result.statistics:
        assert counts["mpi_rendezvous"] == counts["dma_transfers"] == (3 if way == "rendezvous" else 0)
        assert counts["mpi_control"] == (1 if way == "rendezvous" else 4)  # one of the barrier


@pytest.mark.parametrize(("size", "way"), [(0, "inline"), (1024, "inline"), (1025, "large"), (100_000, "large")])
def test_the_size_decides_the_way_within_an_smp(size, way):
    result = MPI.run(ping_pong, size, 3, ranks=2, library="start", ranks_per_host=2)
    for counts in result.statistics:
        assert counts[f"mpi_{way}_on_host"] >= 3
        assert counts["mpi_large_on_host"] == (3 if way == "large" else 0)
        assert counts["mpi_packets"] == 0
    assert result.statistics[0]["dma_transfers"] == result.statistics[0]["niu_low_sent"] == 0


@pytest.mark.parametrize(("crossover", "size"), [("crossover=100", 101), ("crossover=0", 1), ("crossover=2000", 2001)])
def test_the_crossovers_are_options_of_their_own(crossover, size):
    result = MPI.run(ping_pong, size, 3, ranks=2, library=f"start:{crossover}")
    assert result.statistics[0]["dma_transfers"] == 3
    result = MPI.run(ping_pong, size - 1, 3, ranks=2, library=f"start:{crossover}")
    assert result.statistics[0]["dma_transfers"] == 0
    result = MPI.run(ping_pong, size, 3, ranks=2, ranks_per_host=2, library=f"start:crossover_shared={size - 1}")
    assert result.statistics[0]["mpi_large_on_host"] == 3


def test_a_large_message_streams_at_the_rate_of_rdma():
    """Copies on both sides are behind the transfer, but for the first and the last piece."""
    size = 4 * MIB
    assert 0.98 * 60 < size / half(size, turns=1) < 60


@pytest.mark.parametrize(
    ("size", "library", "parts"),
    [
        (16 * MIB, "start", 1), (16 * MIB + 1, "start", 2), (200_000, "start:buffer=65536", 4),
        (8191, "start:buffer=4096,piece=1024", 2), (1025, "start:buffer=8", 129),
    ],
)  # fmt: skip
def test_a_message_over_the_system_buffer_goes_in_parts(size, library, parts):
    async def main(comm):
        if comm.rank == 0:
            await comm.Send(np.resize(np.arange(251, dtype=np.uint8), size), 1)
            return None
        got = np.zeros(size, np.uint8)
        await comm.Recv(got, 0)
        return (got == np.resize(np.arange(251, dtype=np.uint8), size)).all()

    result = MPI.run(main, ranks=2, library=library)
    assert result.values[1]
    assert result.statistics[0]["mpi_parts_sent"] == result.statistics[1]["mpi_parts_received"] == parts
    assert result.statistics[0]["mpi_answers"] == 0
    assert result.statistics[1]["mpi_answers"] == 1  # one rendezvous for all of them


def test_two_that_send_to_each_other_go_one_after_the_other_the_lower_rank_first():
    async def main(comm):
        ep, other = conduit.current(), 1 - comm.rank
        request = await comm.Isend(np.full(MIB, comm.rank, np.uint8), other)
        got = np.zeros(MIB, np.uint8)
        await comm.Recv(got, other)
        now = ep.now
        await request.Wait()
        return (got == other).all(), now

    result = MPI.run(main, ranks=2, library="start")
    (right, at_zero), (right_too, at_one) = result.values
    assert right
    assert right_too
    assert at_zero > at_one + MIB / 60e6
    assert [counts["mpi_put_off"] for counts in result.statistics] == [1, 0]


@pytest.mark.parametrize("library", ["start", "start:order=weak,fifo=no", "start:low_queue=1,inbox=1,buffer=4096"])
def test_messages_of_all_sizes_arrive_whole_and_in_order(library):
    sizes = [0, 1, 24, 25, 56, 57, 1023, 1024, 1025, 1032, 4095, 4096, 4097, 65536, 65537, 8, 1024, 1025, 0]

    async def main(comm):
        last = comm.size - 1
        if comm.rank in (0, 1):
            data = [np.random.default_rng(number).bytes(size) for number, size in enumerate(sizes)]
            await MPI.Request.Waitall([await comm.Isend(each, last - comm.rank) for each in data])
            return None
        wrong = []
        for number, size in enumerate(sizes):
            got = bytearray(size)
            await comm.Recv(got, last - comm.rank)
            if got != np.random.default_rng(number).bytes(size):
                wrong.append(number)
        return wrong

    result = MPI.run(main, ranks=4, ranks_per_host=2, library=library)
    assert result.values[2:] == [[], []]


def test_the_processes_of_an_smp_share_its_niu_under_a_lock():
    async def main(comm):
        other = comm.rank ^ 4
        for size in (8, 3000):
            data, got = np.full(size, comm.rank, np.uint8), np.zeros(size, np.uint8)
            for _ in range(5):
                await comm.Sendrecv(data, other, 0, got, other)
            assert (got == other).all()

    result = MPI.run(main, ranks=8, ranks_per_host=4, library="start")
    host = result.statistics[0]
    assert host["lock_taken"] >= host["niu_low_sent"] + host["niu_low_received"]
    assert host["lock_waits"] > 0
    assert sum(counts["mpi_filed"] for counts in result.statistics[:4]) > 0
    assert sum(counts["mpi_loaded"] for counts in result.statistics[:4]) == host["niu_low_received"]
    assert MPI.run(ping_pong, 8, 1, ranks=2, library="start").statistics[0]["lock_taken"] == 0


@pytest.mark.parametrize(("pool", "at_once"), [("", 20), (",pool=8000", 8), (",pool=0", 0)])
def test_where_the_receiver_keeps_no_more_messages_wait_for_their_receives(pool, at_once):
    """Then their data come in control messages all the same."""

    async def main(comm):
        if comm.rank == 0:
            requests = [await comm.Isend(np.full(1000, number, np.uint8), 1, number) for number in range(20)]
            await MPI.Request.Waitall(requests)
            await comm.Recv(bytearray(), 1)
            await comm.Send(np.zeros(1000, np.uint8), 1, 20)  # room has been given back
            return None
        await conduit.current().compute(1e-2)
        got = np.zeros((21, 1000), np.uint8)
        for number in reversed(range(20)):
            await comm.Recv(got[number], 0, number)
        await comm.Send(b"", 0)
        await comm.Recv(got[20], 0, 20)
        return (got[:20] == np.arange(20)[:, None]).all()

    result = MPI.run(main, ranks=2, library=f"start:order=strict{pool}")
    assert result.values[1]
    counts = result.statistics[0]
    assert (counts["mpi_control"], counts["mpi_rendezvous"]) == (at_once + bool(at_once), 21 - at_once - bool(at_once))
    assert counts["dma_transfers"] == 0


def test_an_inbox_that_is_full_holds_back_its_smp_until_its_process_polls():
    async def main(comm):
        ep = conduit.current()
        if comm.rank == 0:
            for _ in range(5):
                await comm.Send(b"to two", 2)
            await comm.Send(b"to three", 3)
        elif comm.rank == 2:
            await ep.compute(1e-3)
            for _ in range(5):
                await comm.Recv(bytearray(6), 0)
        elif comm.rank == 3:
            await comm.Recv(bytearray(8), 0)
            return ep.now
        return None

    held, free = (
        MPI.run(main, ranks=4, ranks_per_host=2, library=f"start:inbox={inbox}").values[3] for inbox in (1, 5)
    )
    assert held > 1e-3 > free


def test_room_in_an_inbox_is_set_aside_while_a_packet_is_on_its_way_there():
    """Two processes load packets for a third, which does not poll; its inbox holds one."""

    async def main(comm):
        if comm.rank < 3:
            for number in range(5):
                await comm.Send(np.full(1, number), 3)
        elif comm.rank == 3:
            await conduit.current().compute(1e-3)
            got = np.zeros(15, int)
            for place in range(15):
                await comm.Recv(got[place:], MPI.ANY_SOURCE)
            for other in (4, 5):
                await comm.Send(b"", other)
            return sorted(got.tolist())
        else:
            await comm.Recv(bytearray(), 3)
        return None

    result = MPI.run(main, ranks=6, ranks_per_host=3, library="start:inbox=1")
    assert result.values[3] == sorted([*range(5)] * 3)


# -- memory ------------------------------------------------------------------------------------------------


def test_processes_that_copy_at_once_share_the_memory_of_their_smp(monkeypatch):
    """Eight at once take longer than they do where the memory has no rate of its own; two do not."""

    async def main(comm, busy):
        ep, data = conduit.current(), np.zeros(MIB, np.uint8)
        await comm.Barrier()
        begun = ep.now
        if comm.rank < busy:
            receive = await comm.Irecv(np.zeros_like(data), comm.rank ^ 1)
            await comm.Send(data, comm.rank ^ 1)
            await receive.Wait()
        return ep.now - begun

    options = {"ranks": 8, "ranks_per_host": 8, "library": "start"}
    slow, two = (max(MPI.run(main, busy, **options).values) for busy in (8, 2))
    plain = installation.HostMemory
    monkeypatch.setattr(installation, "HostMemory", lambda kernel, host, rate, name: plain(kernel, host, None, name))
    fast, two_fast = (max(MPI.run(main, busy, **options).values) for busy in (8, 2))
    assert slow > 1.2 * fast
    assert two == pytest.approx(two_fast, rel=0.05)


# -- broadcast ---------------------------------------------------------------------------------------------


def test_a_two_stage_broadcast_crosses_the_network_once_for_each_other_smp():
    async def main(comm, algorithm):
        data = np.full(MIB, comm.rank, np.uint8)
        await comm.Bcast(data, 5, algorithm=algorithm)
        return (data == 5).all()

    def job(algorithm):
        result = MPI.run(main, algorithm, ranks=12, ranks_per_host=4, library="start")
        assert all(result.values)
        return result.seconds, sum(counts["mpi_rendezvous"] for counts in result.statistics)

    (seconds, crossings), (flat_seconds, flat_crossings), usual = job("two-stage"), job("binomial"), job("")
    assert crossings == 2 < flat_crossings
    assert seconds < flat_seconds
    assert usual == (seconds, crossings)


# -- options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ("buffer=4095", "buffer=4095 is no multiple of 8"),
        ("buffer=16777224", "buffer"),
        ("crossover=-1", "crossover"),
        ("crossover_shared=65537", "crossover_shared"),
        ("pool=-1", "pool"),
        ("inbox=0", "inbox"),
        ("eager_count=3", "eager_count"),
        ("host=e4000", "host"),
    ],
)
def test_options_that_cannot_be_are_refused(options, match):
    async def main(comm):
        pass

    with pytest.raises(conduit.BadRequest, match=match):
        MPI.run(main, ranks=2, library=f"start:{options}")


def test_a_host_has_no_more_ranks_than_processors():
    async def main(comm):
        pass

    with pytest.raises(conduit.BadRequest, match="ranks_per_host"):
        MPI.run(main, ranks=3, ranks_per_host=3, library="start:host=pentium2")


# -- bytes and states --------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 300), min_size=1, max_size=6), st.randoms(use_true_random=False), st.booleans())
def test_control_messages_are_put_together_in_order_whatever_order_packets_come_in(sizes, random, old):
    sender, receiver = ControlPeer(1, 1, 0), ControlPeer(0, 0, 0)
    if old:  # as behind so many packets that the numbers begin again
        sender._next = receiver._expected = (1 << 32) - 2
    headers = [
        ControlHeader(wire.INLINE, 1, 3, 1 << 31, 2**31 - 1, size, number, 0) for number, size in enumerate(sizes)
    ]
    data = [random.randbytes(size) for size in sizes]
    payloads = [each for header, part in zip(headers, data, strict=True) for each in sender.cut(header, part)]
    assert all(len(each) % 4 == 0 and 8 <= len(each) <= wire.LARGEST for each in payloads)
    random.shuffle(payloads)
    found = [message for payload in payloads for message in receiver.read(payload)]
    assert found == list(zip(headers, data, strict=True))


def test_a_header_says_what_was_put_into_it():
    header = ControlHeader(wire.OK, 2, 65535, 1 << 31, -1, 1 << 40, (1 << 32) - 1, 7)
    assert wire.unpack(header.pack()) == header
    assert len(header.pack()) == HEADER == 28
    tag = wire.tag(65535, 31)
    packet = bytes(4) + tag.to_bytes(4, "little")
    assert (wire.source_of(tag), wire.local_in(packet)) == (65535, 31)
    assert not tag & (wire.FIRST | wire.ASK)
    assert wire.asked(wire.ask(7, 16 * MIB)) == (7, 16 * MIB)


@given(st.lists(st.one_of(st.none(), st.integers(2, 22)), max_size=60), st.integers(1, 5))
def test_an_inbox_gives_packets_as_they_were_put_in(acts, capacity):
    inbox, model = PacketInbox(capacity), []
    for number, words in enumerate(acts):
        if words is None:
            if model:
                assert inbox.take() == model.pop(0)
        elif not inbox.full:
            inbox.reserve()
            assert inbox.full == (len(model) + 1 == capacity)
            model.append((words << 16).to_bytes(4, "little") + bytes([number]) * (4 + 4 * words))
            inbox.put(model[-1])
        assert inbox.held == len(model)
        assert inbox.full == (len(model) == capacity)
        assert [inbox.peek(place) for place in range(inbox.held)] == model


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] % 3 != pair[1] % 3), max_size=12
    ),
    st.randoms(use_true_random=False),
)
def test_rights_end_all_transfers_one_at_a_time(transfers, random):
    """Ranks 0 to 5 on three SMPs, in any interleaving of what they may do."""
    rights = [RdmaRights() for _ in range(3)]
    left, asked, granted, resting, done = list(transfers), [], [], set(), 0
    while left or asked or granted:
        steps = [("ask", pair) for pair in left if not rights[pair[0] % 3].sending]
        steps += [("grant", rank) for rank in range(6) if rights[rank % 3].grantable(rank)]
        steps += [("end", pair) for pair in granted]
        steps += [("rested", rank) for rank in resting]
        assert steps, (left, asked, granted)
        kind, what = random.choice(steps)
        if kind == "ask":
            left.remove(what)
            asked.append(what)
            source, target = what
            rights[source % 3].ask(source, target)
            request = RdmaRequest(source, target, 0, 8)
            other_way = (target, source) in asked or (target, source) in granted
            rights[target % 3].request(request)
            assert (request.state is RightState.PUT_OFF) == (other_way and target < source)
        elif kind == "grant":
            request = rights[what % 3].grant(what)
            asked.remove((request.source, request.target))
            granted.append((request.source, request.target))
            resting -= {rank for rank in resting if rank % 3 == what % 3}
            assert len([pair for pair in granted if pair[1] % 3 == what % 3]) == 1
        elif kind == "end":
            granted.remove(what)
            rights[what[0] % 3].sent()
            if rights[what[1] % 3].emptied(what[1]):
                assert not rights[what[1] % 3].grantable(what[1])
                resting.add(what[1])
            done += 1
        else:
            resting.remove(what)
            assert rights[what % 3].rested(what)
            assert not rights[what % 3].rested(what)
    assert done == len(transfers)


def test_rights_refuse_what_cannot_be():
    rights = RdmaRights()
    rights.ask(0, 1)
    with pytest.raises(AssertionError, match="rank 0 has asked already, for rank 1"):
        rights.ask(2, 3)
    with pytest.raises(AssertionError, match="rank 4 ends what was not granted"):
        rights.emptied(4)
    assert rights.grant(0) is None


def test_constants_name_their_sources():
    kinds = {each.name: each.kind for each in c.CONSTANTS}
    assert {name for name, kind in kinds.items() if kind == "anchor"} == {"mpi.layers"}
    assert {name for name, kind in kinds.items() if kind == "fact"} == {"mpi.crossover", "mpi.buffer"}
    for constant in c.CONSTANTS:
        assert constant.source, constant.name
    assert Start.constants[: len(list(c.CONSTANTS))] == tuple(c.CONSTANTS)
