"""A mistake: rank 1 waits for an Event that a handler sets, so that it polls nothing and no handler ever runs."""

import trio


async def main(ep):
    work = []
    enough = trio.Event()

    def take(token, item):
        work.append(item)
        if len(work) == 100:
            enough.set()

    await ep.attach(take)
    if ep.rank == 1:
        await enough.wait()
    for item in range(100):
        await ep.request_short(1, take, item)
