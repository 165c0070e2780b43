"""Two PEs play with a ball: each waits for it, then puts it back, with one more stroke counted."""

import numpy as np

api = "shmem"


async def main(pe, strokes="10"):
    last, ball = int(strokes), await pe.zeros(1, "i8")
    me = pe.my_pe()
    if me < 2 <= pe.n_pes():
        for stroke in range(1, last + 1):
            if stroke % 2 == me:
                await pe.wait_until(ball, pe.CMP_EQ, stroke)
            else:
                await pe.put(ball, np.array([stroke]), 1 - me)
        await pe.quiet()
    await pe.barrier_all()
    if me < 2:
        print(f"PE {me}: the last ball had stroke {ball[0]}")
