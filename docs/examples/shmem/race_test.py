"""PE 0 looks at one flag after the other until one is set; each other PE sets its own."""

api = "shmem"


async def main(pe):
    me, n = pe.my_pe(), pe.n_pes()
    flags = await pe.zeros(n, "i4")
    if me:
        await pe.atomic_set(flags[me : me + 1], me, 0)
    elif n > 1:
        at = 0
        while not await pe.test(flags[at : at + 1], pe.CMP_NE, 0):
            at = (at + 1) % n
        print(f"PE 0 saw PE {at} first, which has set {flags[at]}")
