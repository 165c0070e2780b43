"""All PEs swap their number for -1 at PE 0, and one is the first."""

api = "shmem"


async def main(pe):
    winner = await pe.full(1, -1)
    before = await pe.atomic_compare_swap(winner, -1, pe.my_pe(), 0)
    if before == -1:
        print(f"PE {pe.my_pe()} was first")
    await pe.barrier_all()
    print(f"PE {pe.my_pe()} hears of PE {await pe.atomic_fetch(winner, 0)}")
