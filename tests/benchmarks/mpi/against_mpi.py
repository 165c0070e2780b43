"""The MPI conduit beside bare mpi4py, in the same processes and the same rounds: ratios hold on any machine.

    python tests/benchmarks/mpi/against_mpi.py            # starts 2 processes, 2 with shared=no, then 4
    python tests/benchmarks/mpi/against_mpi.py medium=4096  # with options of the conduit

1 MB is shown twice: one put that is waited for, against one Send and Recv with an empty answer, which compares times
until both ends know; and as bandwidth, of streams as deep on both sides, which a ratio above 1 is better in.  All of
them send the same four buffers, which are as large and cold on one side as on the other: where these lie, in huge pages
or small ones, makes more difference than anything else.

Each figure is the lower quartile of single operations, microseconds, so that what other programs take of the machine is
mostly left out; of collectives the best round.  It belongs to no test.
"""

import os
import subprocess
import sys
from functools import partial
from itertools import cycle
from time import perf_counter

import numpy as np

import conduit
from conduit.launch.registry import parse_spec
from extended import Extended

ROUNDS = 7
MB = 1 << 20
IN_A_ROW = 4


def quartile(took):
    """Return the lower quartile."""
    return sorted(took)[len(took) // 4]


def timed(work):
    """Return what a call takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def bare_ping_pong(MPI, comm, nbytes, times, kind):
    """Return what one round trip takes: blocking calls, or persistent ones."""
    rank, peer = comm.Get_rank(), 1 - comm.Get_rank()
    out, back = np.zeros(nbytes, np.uint8), np.zeros(nbytes, np.uint8)
    send, receive = comm.Send_init(out, peer), comm.Recv_init(back, peer)
    took = []
    for _ in range(times):
        began = perf_counter()
        if kind == "blocking":
            if rank:
                comm.Recv(back, peer)
                comm.Send(out, peer)
            else:
                comm.Send(out, peer)
                comm.Recv(back, peer)
        else:
            receive.Start()
            if not rank:
                send.Start()
            while not receive.Test():
                pass
            if rank:
                send.Start()
            send.Wait()
        took.append(perf_counter() - began)
    send.Free()
    receive.Free()
    return quartile(took)


def bare_one_sided(MPI, comm, what, times):
    """Return what a put or get of 8 bytes with a flush takes rank 0."""
    window = MPI.Win.Allocate(64, 1, comm=comm)
    data = np.zeros(8, np.uint8)
    window.Lock_all()
    comm.Barrier()
    took = [0.0]
    if comm.Get_rank() == 0:
        call = window.Put if what == "put" else window.Get
        took = [timed(lambda: (call(data, 1), window.Flush(1))) for _ in range(times)]
    comm.Barrier()
    window.Unlock_all()
    window.Free()
    return quartile(took)


def bare_megabyte(MPI, comm, data, times):
    """Return what 1 MB and an empty answer take, of one part of `data` after the other."""
    none = np.zeros(0, np.uint8)
    comm.Barrier()
    took = []
    for each in range(times):
        part = data[each % IN_A_ROW]
        began = perf_counter()
        if comm.Get_rank():
            comm.Recv(part, 0)
            comm.Send(none, 0)
        else:
            comm.Send(part, 1)
            comm.Recv(none, 1)
        took.append(perf_counter() - began)
    return quartile(took)


def bare_megabytes(MPI, comm, data, times):
    """Return what 1 MB takes of several in a row, which are answered together."""
    none = np.zeros(0, np.uint8)
    comm.Barrier()
    took = []
    for _ in range(times):
        began = perf_counter()
        if comm.Get_rank():
            for request in [comm.Irecv(part, 0) for part in data]:
                request.Wait()
            comm.Send(none, 0)
        else:
            for request in [comm.Isend(part, 1) for part in data]:
                request.Wait()
            comm.Recv(none, 1)
        took.append((perf_counter() - began) / IN_A_ROW)
    return quartile(took)


def bare_reduce(MPI, comm, nbytes, times):
    """Return what an Allreduce of doubles takes."""
    mine, total = np.ones(nbytes // 8), np.zeros(nbytes // 8)
    comm.Barrier()
    began = perf_counter()
    for _ in range(times):
        comm.Allreduce(mine, total)
    return (perf_counter() - began) / times


async def pairs(ep, rounds):
    """Measure what two ranks do."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Dup()
    answered = asked = 0

    def ask(token):
        nonlocal asked
        asked += 1
        token.reply_short(answer)

    def answer(token):
        nonlocal answered
        answered += 1

    await ep.attach(ask, answer)
    x = await Extended.attach(ep)
    small, large = bytes(8), np.ones((IN_A_ROW, MB), np.uint8)
    best = {}

    def note(name, seconds):
        best[name] = min(best.get(name, seconds), seconds)

    async def trips(times):
        nonlocal answered, asked
        took = []
        if ep.rank:
            await ep.block_until(lambda: asked >= times)
        else:
            for trip in range(1, times + 1):
                began = perf_counter()
                await ep.request_short(1, ask)
                await ep.block_until(lambda trip=trip: answered >= trip)
                took.append(perf_counter() - began)
        answered = asked = 0
        return took

    async def repeat(call, times):
        took = []
        for _ in range(0 if ep.rank else times):
            began = perf_counter()
            await call()
            took.append(perf_counter() - began)
        return took

    places = cycle(range(IN_A_ROW))

    def put_next(place):
        return x.put(1, place * MB, large[place])

    async def puts(times):
        took = []
        for _ in range(0 if ep.rank else times):
            began = perf_counter()
            await x.wait_all([await x.put_nb(1, place * MB, part) for place, part in enumerate(large)])
            took.append((perf_counter() - began) / IN_A_ROW)
        return took

    for _ in range(rounds):
        note("bare ping-pong, 88 bytes, blocking", bare_ping_pong(MPI, comm, 88, 1000, "blocking"))
        note("bare ping-pong, 88 bytes, persistent", bare_ping_pong(MPI, comm, 88, 1000, "persistent"))
        note("bare put of 8 bytes", bare_one_sided(MPI, comm, "put", 1000))
        note("bare get of 8 bytes", bare_one_sided(MPI, comm, "get", 1000))
        note("bare 1 MB", bare_megabyte(MPI, comm, large, 60))
        note("bare 1 MB of several", bare_megabytes(MPI, comm, large, 20))
        for name, work, times in (
            ("short round trip", trips, 1000),
            ("put of 8 bytes", partial(repeat, lambda: x.put(1, 0, small)), 500),
            ("get of 8 bytes", partial(repeat, lambda: x.get(1, 0, 8)), 500),
            ("put of 1 MB", partial(repeat, lambda: put_next(next(places))), 60),
            ("put of 1 MB of several", puts, 20),
        ):
            await x.barrier()
            took = await work(times)
            if took:
                note(name, quartile(took))
            await x.barrier()
    comm.Free()
    return best


async def reductions(ep, rounds):
    """Measure what four ranks do."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Dup()
    x = await Extended.attach(ep)
    best = {}
    for _ in range(rounds):
        for nbytes, times in ((8, 100), (MB, 5)):
            seconds = bare_reduce(MPI, comm, nbytes, times)
            name = f"all_reduce of {nbytes} bytes"
            best[f"bare {name}"] = min(best.get(f"bare {name}", seconds), seconds)
            mine = np.ones(nbytes // 8)
            await x.barrier()
            began = perf_counter()
            for _ in range(times):
                await x.all_reduce(mine, "sum")
            seconds = (perf_counter() - began) / times
            best[name] = min(best.get(name, seconds), seconds)
    comm.Free()
    return best


def show(best):
    for name, seconds in best.items():
        print(f"{name:40} {seconds * 1e6:12.2f} us")
    for name, bare in (
        ("short round trip", "bare ping-pong, 88 bytes, blocking"),
        ("short round trip", "bare ping-pong, 88 bytes, persistent"),
        ("put of 8 bytes", "bare put of 8 bytes"),
        ("get of 8 bytes", "bare get of 8 bytes"),
        ("put of 1 MB", "bare 1 MB"),
        ("put of 1 MB of several", "bare 1 MB of several"),
        ("all_reduce of 8 bytes", "bare all_reduce of 8 bytes"),
        (f"all_reduce of {MB} bytes", f"bare all_reduce of {MB} bytes"),
    ):
        if name in best:
            print(f"{name} / {bare}: {best[name] / best[bare]:.2f} of the time")
    for name, bare, what in (
        ("put of 1 MB", "bare 1 MB", "one at a time, each answered"),
        ("put of 1 MB of several", "bare 1 MB of several", f"streams of {IN_A_ROW}"),
    ):
        if name in best:
            mine, its = (MB / best[each] / 1e6 for each in (name, bare))
            print(f"bandwidth of 1 MB, {what}: {mine:.0f} MB/s, Send and Recv {its:.0f} MB/s: {mine / its:.2f}")


def main(options):
    spec = parse_spec(",".join(["mpi:library=mpi4py", *options]))
    if spec.cls.announced(spec.options) is None:
        for ranks, more in ((2, ()), (2, ("shared=no",)), (4, ())):
            command, environment = spec.cls.start_command(spec.options, ranks, [__file__, *options, *more])
            done = subprocess.run(command, stdin=subprocess.DEVNULL, env={**environment, **os.environ}, check=False)
            if done.returncode:
                return done.returncode
        return 0
    ranks = spec.cls.announced(spec.options)
    result = conduit.run(pairs if ranks == 2 else reductions, ROUNDS, conduit=spec.text, segment=IN_A_ROW * MB)
    if spec.cls.join(spec.options).rank == 0:
        print(f"{ranks} processes, {spec.text}")
        show(result.values[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
