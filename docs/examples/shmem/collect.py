"""All PEs get one number of the first, two of the second, and so on."""

api = "shmem"


async def main(pe):
    me, n = pe.my_pe(), pe.n_pes()
    source, target = await pe.array(range(11, 11 + n)), await pe.full(n * (n + 1) // 2, -1)
    await pe.collect(target, source, me + 1)
    print(f"{me} of {n}: {target}")
