"""Each PE sends two numbers to each: a matrix of pairs is transposed."""

api = "shmem"
COUNT = 2


async def main(pe):
    me, n = pe.my_pe(), pe.n_pes()
    source, target = await pe.zeros(COUNT * n, "i4"), await pe.full(COUNT * n, 9999, "i4")
    for other in range(n):
        source[COUNT * other : COUNT * (other + 1)] = me * n + other
    print(f"{me}: source {source}")
    team = pe.Team(pe.TEAM_WORLD)
    await team.sync()
    await pe.alltoall(target, source, COUNT, team)
    print(f"{me}: target {target}")
