"""The order of events at one instant, given from outside."""

import itertools
import random

import pytest

import conduit
from conduit.contract import JobSetup
from conduit.launch.jobs.simulated import SimulatedJob
from conduit.launch.registry import parse_spec
from conduit.sim import Kernel, simulate


class Shuffled:
    """Tickets that put events of one instant into an order of their own."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.made = itertools.count()

    def __iter__(self):
        return self

    def __next__(self):
        return self.draw.getrandbits(32) << 40 | next(self.made)


def order_of(tickets):
    """Return the order in which ten events at one instant run, and one that an event before them makes then."""
    kernel = Kernel(tickets=tickets)
    ran = []

    async def body():
        for name in range(10):
            kernel.at(1000, ran.append, name)
        kernel.at(999, kernel.at, 1000, ran.append, 10)
        await kernel.until(2000)

    simulate(kernel, body)
    return ran


def test_events_of_one_instant_run_in_the_order_of_their_tickets():
    assert order_of(None) == order_of(itertools.count()) == list(range(11))
    assert order_of(itertools.count(0, -1)) == list(range(10, -1, -1))
    orders = [order_of(Shuffled(seed)) for seed in range(5)]
    assert orders == [order_of(Shuffled(seed)) for seed in range(5)]
    assert all(sorted(order) == list(range(11)) for order in orders)
    assert len(set(map(tuple, orders))) == 5


async def all_to_all(ep):
    """A program: requests of all ranks to all others at one instant; returns whose came in which order."""
    order, answers = [], []

    def request(token, number):
        order.append(token.rank)
        token.reply_short(reply, number)

    def reply(token, number):
        answers.append((token.rank, number))

    await ep.attach(request, reply)
    others = [rank for rank in range(ep.size) if rank != ep.rank]
    for number in range(5):
        for dest in others:
            await ep.request_short(dest, request, number)
        await ep.compute(1e-6)
    await ep.block_until(lambda: len(answers) == 5 * len(others))
    await ep.block_until(lambda: len(order) == 5 * len(others))
    assert sorted(answers) == sorted((rank, number) for rank in others for number in range(5))
    return order


def job(tickets, network="loggp"):
    spec = parse_spec(network)
    hosts = spec.cls.placement(spec.options, 6, 1)
    return SimulatedJob(all_to_all, (), spec, JobSetup(ranks=6, hosts=hosts, segment=0, seed=0), tickets=tickets).run()


@pytest.mark.parametrize("network", ["loggp", "sci"])
def test_a_job_ends_right_whatever_the_order(network):
    usual = job(None, network)
    assert (
        usual.digest
        == job(itertools.count(), network).digest
        == conduit.run(all_to_all, ranks=6, ranks_per_host=1, segment=0, conduit=network).digest
    )
    digests = set()
    for seed in range(8):
        found = job(Shuffled(seed), network)
        assert found.digest == job(Shuffled(seed), network).digest
        assert [sorted(order) for order in found.values] == [sorted(order) for order in usual.values]
        digests.add(found.digest)
    assert len(digests) > 1  # messages that arrive at one instant are seen in one order or another
