"""A mistake: one rank in the middle sleeps instead of coming to the barrier."""

import trio

from extended import Extended


async def main(ep):
    x = await Extended.attach(ep)
    if ep.rank == ep.size // 2:
        await trio.sleep_forever()
    await x.barrier()
