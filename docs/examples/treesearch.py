"""Counts the nodes of an unbalanced tree: who has nothing left steals work from others, by atomic operations.

A thread lays what it can spare into its row of a shared array, in places that are used once.  Of these `tops[i]` have
been filled and `bottoms[i]` taken: who moves a bottom by one, with compare_swap, has what lies there.
"""

import random

import numpy as np

api = "upc"
ROOM = 4096  # places of each thread
CHUNK = 2  # nodes in a place


def children(node):
    """Return the nodes below one; a node is the seed of its subtree and its depth."""
    seed, depth = node
    draw = random.Random(seed * 64 + depth)
    count = 8 if depth == 0 else draw.choice((0, 0, 0, 1, 4)) if depth < 60 else 0
    return [(draw.getrandbits(40), depth + 1) for _ in range(count)]


def serial(root):
    nodes, stack = 0, [root]
    while stack:
        nodes += 1
        stack += children(stack.pop())
    return nodes


class Shared:
    """What the threads share: spare nodes, how many places are filled and taken, and how many nodes are left."""

    async def make(self, t):
        self.t = t
        self.spare = await t.all_alloc((t.THREADS, ROOM * CHUNK * 2), dtype="i8", block=ROOM * CHUNK * 2)
        self.tops = await t.all_alloc(t.THREADS, dtype="i8", block=1)
        self.bottoms = await t.all_alloc(t.THREADS, dtype="i8", block=1)
        self.left = await t.all_alloc(1, dtype="i8", block="indefinite")
        return self

    async def lay(self, nodes):
        """Lay nodes into the next place of this thread."""
        me = self.t.MYTHREAD
        top = int(self.tops.local[0])
        self.spare.local[2 * CHUNK * top : 2 * CHUNK * (top + 1)] = np.ravel(nodes)
        await self.tops.write(me, top + 1)  # strict: the nodes are there before

    async def take(self, victim):
        """Return the nodes of one place of a thread, none if there are none or another was faster."""
        bottom = int(await self.bottoms.read(victim))
        if bottom >= await self.tops.read(victim):
            return []
        if await self.bottoms.compare_swap(victim, bottom, bottom + 1) != bottom:
            return []
        flat = await self.spare[victim, 2 * CHUNK * bottom : 2 * CHUNK * (bottom + 1)]
        return [tuple(map(int, pair)) for pair in flat.reshape(-1, 2)]


async def main(t, seed="2"):
    root = (int(seed), 0)
    shared = await Shared().make(t)
    if t.MYTHREAD == 0:
        await shared.left.write(0, 1)
    await t.barrier()
    start = t.ep.now
    stack = [root] if t.MYTHREAD == 0 else []
    counted = stolen = change = 0  # change: of the nodes that are left, not told yet
    while True:
        while stack:
            below = children(stack.pop())
            await t.ep.compute(20e-6)
            counted, change = counted + 1, change + len(below) - 1
            stack += below
            if len(stack) > 2 * CHUNK and shared.tops.local[0] < ROOM:
                await shared.left.add_at(0, change)  # before anybody can take them
                change = 0
                await shared.lay([stack.pop(0) for _ in range(CHUNK)])
        if change:
            await shared.left.add_at(0, change)
            change = 0
        stack = await shared.take(t.MYTHREAD)
        for victim in t.ep.random.sample(range(t.THREADS), t.THREADS) if not stack else ():
            stack = await shared.take(victim)
            if stack:
                stolen += victim != t.MYTHREAD
                break
        if not stack and await shared.left.read(0) == 0:
            break
    seconds = t.ep.now - start
    nodes = await t.extended.reduce(counted)
    shares = await t.extended.gather(counted)
    steals = await t.extended.reduce(stolen)
    if t.MYTHREAD == 0:
        assert nodes == serial(root)
        print(f"{nodes} nodes, as in a serial run")
        print(f"time: {seconds * 1e3:.3f} ms, {steals} steals, {min(shares)} to {max(shares)} nodes a thread")
