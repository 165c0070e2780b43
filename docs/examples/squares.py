"""Squares in a shared array, written by who has them."""

from extended import upc

api = "upc"


async def main(t):
    squares = await t.all_alloc(12, dtype="i8", block=3)
    for i in squares.forall():
        squares[i] = i * i
    await t.barrier()
    if t.MYTHREAD == 0:
        print(await squares[:])


if __name__ == "__main__":
    upc.run(main, threads=4, conduit="sci")
