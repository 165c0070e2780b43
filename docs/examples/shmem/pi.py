"""Pi from random points: what part of a square lies in a circle.  Two sums over all PEs."""

import random

api = "shmem"


async def main(pe, points="2000"):
    me, each = pe.my_pe(), int(points)
    inside, total = await pe.zeros(1, "i8"), await pe.zeros(1, "i8")
    draw = random.Random(1 + me)
    inside[0] = sum(draw.random() ** 2 + draw.random() ** 2 < 1 for _ in range(each))
    total[0] = each
    await pe.sum_reduce(inside, inside)
    await pe.sum_reduce(total, total)
    if me == 0:
        print(f"Pi from {total[0]} points on {pe.n_pes()} PEs: {4 * inside[0] / total[0]:.6f}")
