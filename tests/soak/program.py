"""Random messages, puts, gets, atomics and collectives, round after round; every rank knows what all others do.

All draw the same numbers, so that each can say what must be where: that is the oracle.
"""

import random

import numpy as np

from extended import Extended

REGION = 8192  # bytes of every segment that each rank writes to
WARM = 0.1  # of the time, until memory is to be flat
GROWTH = 16 << 20  # bytes that may come to it after that


def pattern(*key, nbytes):
    return np.frombuffer(random.Random(repr(key)).randbytes(nbytes), np.uint8)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class Soak:
    def __init__(self, ep, x, seed):
        self.ep, self.x, self.seed = ep, x, seed
        self.answered = self.handled = self.coming = 0
        self.total = 0
        self.counter = x.atomic("i8")

    # Handlers: the key of what was sent comes with it.

    def short(self, token, turn, number, value):
        assert value == (turn * 7 + number * 3 + token.rank) % 1000
        self.handled += 1
        token.reply_short(self.answer_short, value)

    def medium(self, token, payload, turn, number):
        assert bytes(payload) == pattern(self.seed, turn, number, token.rank, nbytes=len(payload)).tobytes()
        self.handled += 1
        token.reply_medium(self.answer_medium, payload, turn, number)

    def long(self, token, payload, turn, number):
        assert bytes(payload) == pattern(self.seed, turn, number, token.rank, nbytes=len(payload)).tobytes()
        self.handled += 1

    def answer_short(self, token, value):
        self.answered += 1

    def answer_medium(self, token, payload, turn, number):
        assert bytes(payload) == pattern(self.seed, turn, number, self.ep.rank, nbytes=len(payload)).tobytes()
        self.answered += 1

    async def messages(self, turn, draw):
        ep = self.ep
        plan = [
            (draw.randrange(ep.size), draw.randrange(ep.size), draw.choice("sml"), draw.randrange(1, 4096))
            for _ in range(draw.randrange(1, 40))
        ]
        # Another rank may have begun this round already: what has come of it counts.
        self.coming += sum(dest == ep.rank for _, dest, _, _ in plan)
        handled, answers = self.coming, self.answered
        long_offset = 2 * ep.size * REGION
        for number, (source, dest, kind, nbytes) in enumerate(plan):
            if source != ep.rank:
                continue
            if kind == "s":
                answers += 1
                await ep.request_short(dest, self.short, turn, number, (turn * 7 + number * 3 + ep.rank) % 1000)
                continue
            payload = pattern(self.seed, turn, number, ep.rank, nbytes=nbytes)
            if kind == "m":
                answers += 1
                await ep.request_medium(dest, self.medium, payload, turn, number)
            else:  # a place for each, since the next may land before the handler of the last has run
                await ep.request_long(dest, self.long, payload, long_offset + 4096 * number, turn, number)
        await ep.block_until(lambda: self.handled >= handled and self.answered >= answers, what="the round's messages")
        assert (self.handled, self.answered) == (handled, answers)
        await self.x.barrier()

    async def transfers(self, turn, draw):
        ep, x = self.ep, self.x
        sizes = {(a, b): draw.randrange(1, REGION + 1) for a in range(ep.size) for b in range(ep.size)}
        for dest in range(ep.size):
            data = pattern("put", self.seed, turn, ep.rank, dest, nbytes=sizes[ep.rank, dest])
            await x.put_nbi(dest, ep.rank * REGION, data)
        await x.sync()
        await x.barrier()
        other, first = draw.randrange(ep.size), draw.randrange(ep.size)
        for owner, writer in [((other + ep.rank) % ep.size, first), (ep.rank, (first + 1) % ep.size)]:
            nbytes = sizes[writer, owner]
            got = await x.get(owner, writer * REGION, nbytes)
            assert (got == pattern("put", self.seed, turn, writer, owner, nbytes=nbytes)).all()
        await x.barrier()

    async def atomics(self, turn, draw):
        ep = self.ep
        amounts = [[draw.randrange(-50, 50) for _ in range(draw.randrange(10))] for _ in range(ep.size)]
        place = ep.size * REGION
        for amount in amounts[ep.rank]:
            await self.counter.fetch_add(0, place, amount)
        self.total += sum(map(sum, amounts))
        await self.x.barrier()
        assert await self.counter.get(0, place) == self.total
        await self.x.barrier()

    async def collectives(self, turn, draw):
        ep, x = self.ep, self.x
        length, root = draw.choice([1, 7, 1000, 20_000]), draw.randrange(ep.size)
        all_of = [np.random.default_rng([self.seed, turn, rank]).integers(-100, 100, length) for rank in range(ep.size)]
        mine = all_of[ep.rank]
        assert (await x.all_reduce(mine) == sum(all_of)).all()
        assert (await x.broadcast(mine, root=root) == all_of[root]).all()
        assert (await x.all_gather(mine) == np.stack(all_of)).all()
        swapped = await x.all_to_all(np.stack([mine + rank for rank in range(ep.size)]))
        assert (swapped == np.stack([each + ep.rank for each in all_of])).all()


async def main(ep, seconds, seed="1"):
    x = await Extended.attach(ep)
    soak = Soak(ep, x, int(seed))
    await ep.attach(soak.short, soak.medium, soak.long, soak.answer_short, soak.answer_medium)
    began, turn, warm = ep.now, 0, 0
    while await x.broadcast(float(ep.now - began)) < float(seconds):
        draw = random.Random(f"{seed}/{turn}")
        for part in draw.sample([soak.messages, soak.transfers, soak.atomics, soak.collectives], 4):
            await part(turn, draw)
        turn += 1
        if not warm and ep.now - began > WARM * float(seconds):
            warm = resident()
    grown = await x.all_reduce(resident() - warm, "max")
    if ep.rank == 0:
        print(f"{turn} rounds; memory has grown by at most {grown} bytes")
    assert grown < GROWTH
