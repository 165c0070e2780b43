"""A vector goes round the ring of all ranks, and each adds its own number to every element."""

import numpy as np

LENGTH = 256
BYTES = LENGTH * 8


async def main(ep):
    vector = ep.segment[:BYTES].view("i8")
    there = []

    def arrived(token, payload, hops):
        # The payload is in the segment already, where this rank's offset 0 is.
        there.append(hops)

    await ep.attach(arrived)
    start = ep.now
    right = (ep.rank + 1) % ep.size
    if ep.rank == 0:
        await ep.request_long(right, arrived, np.zeros(LENGTH, "i8"), 0, 1)
    await ep.block_until(lambda: there, what="the vector", ranks=[(ep.rank - 1) % ep.size])
    vector += ep.rank
    if ep.rank != 0:
        await ep.request_long(right, arrived, vector, 0, there[0] + 1)
        return
    assert (vector == sum(range(ep.size))).all()
    print(f"{there[0]} hops, every element {vector[0]}")
    print(f"time: {(ep.now - start) * 1e6:.2f} us")
