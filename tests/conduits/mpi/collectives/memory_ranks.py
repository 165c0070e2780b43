"""Ranks in one process, on which algorithms of collectives run without a network.

Messages of one pair match in order.  Where nothing is buffered a send is over only when its receive has begun, and its
bytes are taken then, so that an algorithm that relies on buffers waits for ever, and one that changes what it sends is
found out.  Ranks go on in a random order.
"""

import random
from collections import defaultdict, deque

from conduits.mpi.collectives.channel import CollectiveChannel


class Transfer:
    """A send or a receive."""

    def __init__(self, data):
        self.data = data
        self.over = False
        self.error = None
        self.nbytes = len(data)


class World:
    """What is on its way between ranks."""

    def __init__(self, buffered):
        self.buffered = buffered
        self.sends = defaultdict(deque)
        self.receives = defaultdict(deque)
        self.messages = 0

    def match(self, pair):
        while self.sends[pair] and self.receives[pair]:
            send, receive = self.sends[pair].popleft(), self.receives[pair].popleft()
            assert len(send.data) <= len(receive.data), "truncated"
            receive.data[: len(send.data)] = send.data
            receive.nbytes = len(send.data)
            send.over = receive.over = True
            self.messages += 1


class Comm:
    """One rank's side."""

    def __init__(self, world, rank, size):
        self.world, self.rank, self.size = world, rank, size

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.size

    def Isend(self, data, dest, tag, hidden):
        send = Transfer(memoryview(data))
        if self.world.buffered:
            send = Transfer(bytes(data))
            send.over = True
        self.world.sends[self.rank, dest].append(send)
        self.world.match((self.rank, dest))
        return send

    def Irecv(self, data, source, tag, hidden):
        receive = Transfer(memoryview(data))
        self.world.receives[source, self.rank].append(receive)
        self.world.match((source, self.rank))
        return receive


class Costs:
    """Counts what ranks copy and combine."""

    tally = None

    def __init__(self):
        self.bytes_copied = self.bytes_worked = 0

    def copied(self, nbytes):
        self.bytes_copied += nbytes

    def worked(self, nbytes):
        self.bytes_worked += nbytes


def run(hosts, begin, *, buffered=False, seed=0):
    """Run ``begin(channel)``, a generator, on a rank for each of `hosts`; return the results and the messages."""
    world, chance = World(buffered), random.Random(seed)
    channels = [CollectiveChannel(Comm(world, rank, len(hosts)), 0, 0, hosts, Costs()) for rank in range(len(hosts))]
    steps = [channel.checked(begin(channel), "a collective") for channel in channels]
    awaited = [[] for _ in hosts]
    results = [None for _ in hosts]
    left = list(range(len(hosts)))
    while left:
        chance.shuffle(left)
        at = next((at for at, rank in enumerate(left) if all(each.over for each in awaited[rank])), None)
        assert at is not None, f"ranks {sorted(left)} wait for one another"
        rank = left[at]
        try:
            while all(each.over for each in awaited[rank]):
                awaited[rank] = list(next(steps[rank]))
        except StopIteration as end:
            results[rank] = end.value
            del left[at]
    assert not any(world.sends.values()), "messages that nobody has received"
    return results, world.messages
