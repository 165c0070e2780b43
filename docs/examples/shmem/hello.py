"""Every PE says who it is."""

api = "shmem"


async def main(pe):
    print(f"Hello from PE {pe.my_pe()} of {pe.n_pes()}")
