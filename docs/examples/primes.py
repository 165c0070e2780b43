"""Counts primes in pieces of unequal work: whoever is free takes the next piece, and the counts are added up."""

import numpy as np

from extended import Extended

LIMIT = 100_000
PIECES = 50


async def main(ep):
    x = await Extended.attach(ep)
    place = await x.all_alloc(8)  # the same offset on every rank; the number at rank 0 is the next piece
    counter = x.atomic("i8")
    start = ep.now
    found = taken = 0
    while (piece := await counter.fetch_inc(0, place)) < PIECES:
        size = LIMIT // PIECES
        numbers = np.arange(max(2, piece * size), (piece + 1) * size)
        divisors = np.arange(2, int(numbers[-1] ** 0.5) + 1)
        prime = (numbers[:, None] % divisors != 0) | (divisors >= numbers[:, None])
        found += int(prime.all(axis=1).sum())
        taken += 1
        await ep.compute(flops=prime.size)
    total = await x.all_reduce(found)
    shares = await x.gather(taken)
    if ep.rank == 0:
        print(f"{total} primes below {LIMIT}")
        print(f"time: {(ep.now - start) * 1e3:.3f} ms; pieces of each rank:", *shares)
