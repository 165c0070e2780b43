"""Pi by the rule of rectangles, each rank its share of them; also a script, which is started by a launcher."""

import sys

import conduit
from extended import Extended

STEPS = 100_000


async def main(ep):
    x = await Extended.attach(ep)
    start = ep.now
    share = sum(4 / (1 + ((i + 0.5) / STEPS) ** 2) for i in range(ep.rank, STEPS, ep.size)) / STEPS
    await ep.compute(flops=6 * STEPS // ep.size)
    total = await x.all_reduce(share)
    if ep.rank == 0:
        print(f"pi is about {total:.9f}")
        print(f"time: {(ep.now - start) * 1e3:.3f} ms")
    return round(float(total), 9)


if __name__ == "__main__":  # not under `conduit run`, which calls main by itself
    result = conduit.run(main, conduit=sys.argv[1] if len(sys.argv) > 1 else "sci")
    print("every process knows:", *result.values)
