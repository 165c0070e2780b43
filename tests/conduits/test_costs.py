"""What networks say of themselves in `ep.costs`, against what testlogp's method finds, within 20 %."""

import pytest

import conduit
from conduits.mpi.wire import BARE
from conduits.udp.protocol.parts import PART
from extended.commands.logp import Probe

SPECS = (
    "loggp", "loggp:set=ethernet100", "loggp:L=20us,G=9ns,poll=1us", "sci", "sci:slots=1", "sci:transactions=1",
    "sunfire", "sunfire:config=q", "startx", "startx:access=word", "startx:host=pentium2",
    "udp", "udp:rate=1e9", "udp:window=4", "origin", "t3e", "mpi:library=scampi", "mpi:library=sunmpi",
    "mpi:library=sunmpi,config=q", "mpi:library=start", "mpi:library=start,access=word",
    "mpi:library=start,host=pentium2",
)  # fmt: skip
LARGE = 1 << 20
MEDIUM = 512


async def measured(ep, most):
    """Give on rank 0 what `conduit testlogp` measures, in the terms of `conduit.contract.MessageCosts`."""
    probe = Probe(ep, 1 - ep.rank, 20, memoryview(bytes(LARGE)))
    await probe.attach()
    if ep.rank:
        await probe.serve()
        return None
    await probe.prepare(1)
    none, some, medium = [await probe.timing(nbytes) for nbytes in (0, MEDIUM, most)]
    large = [await probe.long_trip(nbytes) for nbytes in (LARGE // 2, LARGE)]
    await probe.stop()
    per_byte = (large[1] - large[0]) / (LARGE // 2)
    return {
        "start": none.trip / 2,
        "send": none.send - probe.poll,
        "receive": none.receive - probe.poll,
        "medium_byte": (medium.trip - some.trip) / (most - MEDIUM),
        "long_start": large[1] - LARGE * per_byte - none.trip / 2,
        "long_byte": per_byte,
        # Where all ranks are on one host there are fewer places to look at.
        **({} if ep.hosts[0] == ep.hosts[1] else {"poll": probe.poll}),
    }


def marks(row, per_host):
    """Leave a spec with options on hosts of its own or on a shared one, by turns, to who asks for every case."""
    has_options = len(SPECS[row].replace("mpi:", "").replace(":", ",").split(",")) > 1
    return [pytest.mark.every] * (has_options and per_host == 1 + row % 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "per_host"),
    [
        pytest.param(spec, per_host, id=f"{spec}-{'on' if per_host == 2 else 'off'}_host", marks=marks(row, per_host))
        for row, spec in enumerate(SPECS)
        for per_host in (1, 2)
        if per_host == 1 or spec != "t3e"  # whose nodes have one processor
    ],
)
def test_what_a_network_says_is_what_testlogp_finds(spec, per_host):
    async def main(ep):
        return await measured(ep, 1024 - (BARE if spec.startswith("mpi") else 0)), ep.costs  # below its thresholds

    (found, costs), (_, elsewhere) = conduit.run(main, ranks=2, conduit=spec, ranks_per_host=per_host).values
    assert costs == elsewhere
    said = costs.off_host if per_host == 1 else costs.on_host
    for name, seconds in found.items():
        assert getattr(said, name) == pytest.approx(seconds, rel=0.2), name


@pytest.mark.parametrize("spec", [*SPECS, "sci:queue=single"])
def test_costs_are_the_same_on_every_rank_and_read_only(spec):
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=r"\Aep\.costs = None is not allowed: it is read-only\Z"):
            ep.costs = None
        return ep.costs

    first, *others = conduit.run(main, ranks=4, conduit=spec, ranks_per_host=1 if spec == "t3e" else 2).values
    assert all(each == first for each in others)
    assert first.copy_byte > 0


@pytest.mark.parametrize(
    "spec",
    [
        "sci:queue=single", "udp:rate=50e6", "udp:rto=0.2ms", "udp:slots=1",
        "mpi:library=scampi,channel_inline_threshold=0", "mpi:library=sunmpi,short=0",
        "mpi:library=start,crossover=87", "mpi:library=start,pool=87",
    ],
)  # fmt: skip
def test_a_network_that_does_not_know_says_none(spec):
    async def main(ep):
        return ep.costs.off_host

    assert conduit.run(main, ranks=2, conduit=spec).values == [None, None]


async def crowd(ep, nbytes):
    """All send so many bytes to rank 0 at once, twice: the first time opens the connections."""
    got = []

    def take(token, payload):
        got.append(token.rank)

    await ep.attach(take)
    for number in (1, 2):
        if ep.rank:
            await ep.request_long(0, take, bytes(nbytes), (ep.rank - 1) * nbytes)
        else:
            await ep.block_until(lambda number=number: len(got) == number * (ep.size - 1))
        await ep.attach()
    return ep.costs.off_host


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["udp", "udp:window=8", "udp:rto=1ms", "udp:rate=1e9"])
@pytest.mark.parametrize("senders", [3, 7, 15])
def test_what_a_crowd_may_send_goes_once_and_much_more_does_not(spec, senders):
    """Within 20 %, as all costs are."""

    def sent_again(nbytes):
        settings = {"ranks": 1 + senders, "ranks_per_host": 1, "segment": senders * nbytes}
        result = conduit.run(crowd, nbytes, conduit=spec, **settings)
        return sum(counts["udp_retransmissions"] for counts in result.statistics), result.values[0]

    said = sent_again(1)[1]
    datagrams = round(0.8 * said.crowd_bytes) // PART // senders
    nbytes = datagrams * PART - 100  # with what goes before them
    assert sent_again(nbytes if nbytes < said.flight_bytes else 4 * nbytes)[0] == 0
    if said.flight_bytes * senders > 2 * said.crowd_bytes:
        assert sent_again(4 * said.flight_bytes)[0] > senders
