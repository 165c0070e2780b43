"""Long messages to odd offsets."""

import numpy as np


async def main(ep):
    done = []

    def landed(token, payload):
        token.reply_short(ack)

    def ack(token):
        done.append(1)

    await ep.attach(landed, ack)
    if ep.rank == 0:
        data = np.arange(16384, dtype=np.uint8)
        for turn in range(20):
            await ep.request_long(1, landed, data, 3)
            await ep.block_until(lambda turn=turn: len(done) > turn)
