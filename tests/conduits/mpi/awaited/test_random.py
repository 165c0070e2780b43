"""Random programs of sends and receives against what the standard allows."""

import zlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from conduits.mpi import MPI

MODES = ("Isend", "Issend", "Ibsend")
SIZES = (0, 1, 24, 25, 559, 560, 561, 1024, 1025, 2000, 2001, 3911, 3912, 16383, 16384, 16385, 32768, 40000)
OPTIONS = (
    "scampi",
    "scampi:order=weak",
    "scampi:channel_entries=2,eager_count=1",
    "scampi:channel_inline_threshold=0,eager_count=0,transporter_count=1,transporter_size=1000",
    "scampi:inline=no",
    "sunmpi",
    "sunmpi:order=weak",
    "sunmpi:config=q,postboxes=71,pool=32768,order=weak",
    "sunmpi:short=0,rendezvous=1,poll=directed",
    "sunmpi:config=q,stripes=2,poll=directed,fault=ni0.0~700us/300us",
    "sunmpi:order=weak,pool=32768,fault=links%1e-3",
    "start",
    "start:order=weak,fifo=no,inbox=1",
    "start:pool=600,buffer=4096,low_queue=2,access=word",
    "start:crossover=0,crossover_shared=0,pool=0,order=weak,piece=1024",
)


@st.composite
def plans(draw):
    ranks = draw(st.sampled_from((2, 2, 3, 4, 1)))
    peer = st.integers(0, ranks - 1)
    sends = draw(
        st.lists(
            st.tuples(peer, peer, st.integers(0, 1), st.integers(0, 2), st.sampled_from(SIZES), st.sampled_from(MODES)),
            min_size=5,
            max_size=30,
        )
    )
    receives = draw(
        st.lists(
            st.tuples(
                peer,
                st.one_of(st.just(MPI.ANY_SOURCE), peer),
                st.integers(0, 1),
                st.one_of(st.just(MPI.ANY_TAG), st.integers(0, 2)),
            ),
            max_size=15,
        )
    )
    pauses = draw(st.lists(st.tuples(peer, st.sampled_from((1, 10, 300))), max_size=8))
    steps = [("pause", number, each) for number, each in enumerate(pauses)]
    steps += [("send", number, each) for number, each in enumerate(sends)]
    steps += [("receive", number, each) for number, each in enumerate(receives)]
    return ranks, draw(st.permutations(steps)), sends


def content(number, size):
    return np.random.default_rng(number).integers(0, 256, size, dtype=np.uint8)


async def program(world, order, sends):
    """Do this rank's part of `order`; return what each receive wanted and got."""
    comms = [world, await world.Dup()]
    me = world.rank
    MPI.Attach_buffer(bytearray(2_000_000))
    requests, buffers, wanted, outgoing = [], [], [], []

    async def receive(comm, source, tag):
        buffer = np.zeros(max(SIZES), np.uint8)
        requests.append(await comms[comm].Irecv(buffer, source, tag))
        buffers.append(buffer)
        wanted.append((comm, source, tag))

    for kind, number, step in order:
        if kind == "send" and step[0] == me:
            _, dest, comm, tag, size, mode = step
            outgoing.append(await getattr(comms[comm], mode)(content(number, size), dest, tag))
        elif kind == "pause" and step[0] == me:
            await conduit.current().compute(step[1] * 1e-6)
        elif kind == "receive" and step[0] == me:
            await receive(step[2], step[1], step[3])
    mine = [sum(each[1] == me and each[2] == comm for each in sends) for comm in range(2)]
    for comm in range(2):
        for _ in range(mine[comm]):
            await receive(comm, MPI.ANY_SOURCE, MPI.ANY_TAG)
    results, done = [None] * len(requests), 0
    while done < sum(mine):
        statuses = []
        places = await MPI.Request.Waitsome(requests, statuses)
        for place, status in zip(places, statuses, strict=True):
            data = buffers[place][: status.Get_count()]
            assert not buffers[place][len(data) :].any()
            results[place] = status.source, status.tag, len(data), zlib.crc32(data)
        done += len(places)
    for request in requests:
        if request:
            await request.Cancel()
            status = MPI.Status()
            await request.Wait(status)
            assert status.Is_cancelled()
    await MPI.Request.Waitall(outgoing)
    await MPI.Detach_buffer()
    return [(*want, *found) for want, found in zip(wanted, results, strict=True) if found is not None], wanted


def fits(message, receive):
    comm, source, tag = receive
    return (
        message["comm"] == comm
        and source in (MPI.ANY_SOURCE, message["source"])
        and tag in (MPI.ANY_TAG, message["tag"])
    )


def check(rank, order, sends, found):
    """No message is lost or doubled, and none has overtaken another."""
    messages = []
    for number, (source, dest, comm, tag, size, _) in ((n, s) for k, n, s in order if k == "send"):
        if dest == rank:
            messages.append(
                {"source": source, "comm": comm, "tag": tag, "size": size, "crc": zlib.crc32(content(number, size))}
            )
    assert len(found) == len(messages)
    left = list(messages)
    taken_by = {}
    for place, (comm, source, tag, its_source, its_tag, size, crc) in enumerate(found):
        same = [
            m
            for m in left
            if (m["comm"], m["source"], m["tag"], m["size"], m["crc"]) == (comm, its_source, its_tag, size, crc)
        ]
        assert same, f"receive {place} of rank {rank} got what nobody sent, or what another has"
        assert fits(same[0], (comm, source, tag))
        left.remove(same[0])
        taken_by[id(same[0])] = place
    for first in range(len(messages)):
        for second in range(first + 1, len(messages)):
            one, other = messages[first], messages[second]
            if one["source"] == other["source"] and one["comm"] == other["comm"]:
                receive = found[taken_by[id(other)]][:3]
                if fits(one, receive):
                    assert taken_by[id(one)] < taken_by[id(other)], "a message has overtaken another"


@settings(max_examples=40)
@given(plans(), st.sampled_from(OPTIONS), st.integers(1, 2))
def test_a_random_program_gets_each_message_once_and_in_order(plan, library, ranks_per_host):
    ranks, order, sends = plan
    result = MPI.run(program, order, sends, ranks=ranks, library=library, ranks_per_host=min(ranks_per_host, ranks))
    for rank, (found, _) in enumerate(result.values):
        check(rank, order, sends, found)


@settings(max_examples=10)
@given(plans(), st.integers(1, 2))
def test_a_random_program_has_one_digest(plan, ranks_per_host):
    ranks, order, sends = plan
    digests = {
        MPI.run(program, order, sends, ranks=ranks, library=library, ranks_per_host=ranks_per_host).digest
        for library in ("scampi", "scampi:inline=no", "scampi")
    }
    assert len(digests) == 1
