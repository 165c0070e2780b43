"""All PEs get one number of each."""

api = "shmem"


async def main(pe):
    me, n = pe.my_pe(), pe.n_pes()
    target, source = await pe.full(n, 10101, "i4"), await pe.full(1, me + 100, "i4")
    print(f"before: {me} of {n} has {target}")
    await pe.fcollect(target, source)
    print(f"after: {me} of {n} has {target}")
