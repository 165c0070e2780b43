"""Photons through a slab, by Monte Carlo: each is scattered until it is absorbed or leaves; after the Sphot benchmark.

Photons go in batches with random numbers of their own, so that the result is the same on any number of threads.
"""

import numpy as np

api = "upc"
CELLS = 20  # of the slab, in which absorptions are counted
DEPTH = 4.0  # of the slab, in mean free paths
ALBEDO = 0.7  # of collisions, those after which a photon goes on
REFLECTED, TRANSMITTED = CELLS, CELLS + 1


def batch(number, photons):
    """Follow a batch; return how many photons ended in each cell, were reflected, were transmitted."""
    draw = np.random.default_rng((6, number))
    depth, cosine = np.zeros(photons), np.ones(photons)
    tally = np.zeros(CELLS + 2, dtype="i8")
    collisions = 0
    while len(depth):
        depth = depth + cosine * draw.exponential(size=len(depth))
        tally[REFLECTED] += np.count_nonzero(depth < 0)
        tally[TRANSMITTED] += np.count_nonzero(depth >= DEPTH)
        inside = (depth >= 0) & (depth < DEPTH)
        depth = depth[inside]
        collisions += len(depth)
        absorbed = draw.random(len(depth)) >= ALBEDO
        tally[:CELLS] += np.bincount((depth[absorbed] * (CELLS / DEPTH)).astype(int), minlength=CELLS)
        depth = depth[~absorbed]
        cosine = draw.uniform(-1, 1, len(depth))
    return tally, collisions


async def main(t, batches="24", photons="500"):
    batches, photons = int(batches), int(photons)
    tallies = await t.all_alloc(CELLS + 2, dtype="i8", block=1)
    start = t.ep.now
    own = np.zeros(CELLS + 2, dtype="i8")
    for number in t.forall(batches):
        tally, collisions = batch(number, photons)
        await t.ep.compute(flops=30 * collisions)
        own += tally
    await tallies.add_at(np.arange(CELLS + 2), own)  # all threads add to the same elements
    await t.barrier()
    seconds = t.ep.now - start
    found = await tallies.gather_to(0)
    if t.MYTHREAD == 0:
        assert np.array_equal(found, sum(batch(number, photons)[0] for number in range(batches)))
        for cell, count in enumerate(found[:CELLS:2]):
            print(f"{2 * cell * DEPTH / CELLS:4.1f} {'#' * round(400 * count / found.sum())}")
        print(f"{found[REFLECTED]} reflected, {found[TRANSMITTED]} transmitted of {found.sum()}, as in a serial run")
        print(f"time: {seconds * 1e3:.3f} ms")
