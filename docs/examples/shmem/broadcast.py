"""PE 0 tells all PEs its table, itself included."""

api = "shmem"


async def main(pe):
    n = pe.n_pes()
    source, target = await pe.zeros(n, "i4"), await pe.full(n, -999, "i4")
    if pe.my_pe() == 0:
        source[:] = range(1, n + 1)
    await pe.broadcast(target, source, 0)
    print(f"{pe.my_pe()}: {target}")
