"""Random programs on random cases: operations against numpy, cancellation at any instant, faults of the hardware."""

from functools import partial
from random import Random

import numpy as np
import pytest
import trio

import conduit
from extended import Extended

pytestmark = pytest.mark.long

LANE = 6000
COLLECTIVES = ("broadcast", "scatter", "gather", "all_gather", "all_to_all", "reduce", "all_reduce", "scan")
SIZES = (0, 1, 7, 8, 63, 64, 511, 512, 513, 1024, 2047, 2048, 4096, 4097, 5999)


def numbers(draw, *shape):
    return np.array([draw.randrange(1 << 16) for _ in range(int(np.prod(shape)))], "i8").reshape(shape)


# ------------------------------------------------------------------------------------------- operations against numpy


def script_of(draw, ranks):
    """Give what all ranks do, round by round: puts and gets, a collective, or atomics."""
    rounds = []
    for _ in range(draw.randint(2, 6)):
        kind = draw.choice(("put", "get", "collective", "atomic", "strided"))
        seed = draw.randrange(1 << 30)
        if kind == "collective":
            call, count = draw.choice(COLLECTIVES), draw.choice((1, 3, 64, 300, 3000, 9000))
            rounds.append((kind, call, count, draw.randrange(ranks), draw.random() < 0.5, seed))
        else:
            rounds.append((kind, draw.choice(SIZES), draw.randrange(LANE), draw.randint(1, 5), seed))
    return rounds


async def do_script(ep, rounds):
    x = await Extended.attach(ep)
    for each in rounds:
        if each[0] == "collective":
            await collective(x, *each[1:])
        elif each[0] == "atomic":
            await atomics(x, each[3], each[4])
        elif each[0] == "strided":
            await strided(x, each[4])
        else:
            await transfers(x, *each)
        await x.barrier()
    return True


async def transfers(x, kind, nbytes, at, count, seed):
    """Each rank writes its lane of every segment, and reads it back, in one of several ways."""
    draw, lane = Random(f"{seed}/{x.rank}"), x.rank * LANE
    at = min(at, LANE - nbytes)
    for dest in draw.sample(range(x.size), min(count, x.size)):
        data = np.frombuffer(draw.randbytes(nbytes), np.uint8)
        if kind == "put":
            await x.put(dest, lane + at, data)
        else:
            await (await x.put_nb(dest, lane + at, data, bulk=draw.random() < 0.5))
        out = np.empty(nbytes, np.uint8)
        if draw.random() < 0.5:
            await x.get(dest, lane + at, out=out)
        else:
            await x.get_nbi(dest, lane + at, out=out)
            await x.sync()
        np.testing.assert_array_equal(out, data)


async def strided(x, seed):
    draw = Random(f"{seed}/{x.rank}")
    rows, columns, step = draw.randint(1, 9), draw.randint(1, 40), draw.randint(40, 90)
    data = np.frombuffer(draw.randbytes(rows * columns), np.uint8).reshape(rows, columns)
    dest, at = draw.randrange(x.size), x.rank * LANE
    await x.put_strided(dest, at, (step, 1), data[:, ::-1])
    out = np.empty_like(data)
    await x.get_strided(dest, at, (step, 1), out=out)
    np.testing.assert_array_equal(out, data[:, ::-1])


async def atomics(x, count, seed):
    """All ranks add to one number of the last lane; together it is the sum."""
    place, number = x.size * LANE, x.atomic("i8")
    if x.rank == 0:
        await number.set(0, place, 0)
    await x.barrier()
    mine = [Random(f"{seed}/{x.rank}/{turn}").randrange(1000) for turn in range(count)]
    for value in mine:
        await number.add(0, place, value)
    await x.barrier()
    total = sum(Random(f"{seed}/{rank}/{turn}").randrange(1000) for rank in range(x.size) for turn in range(count))
    assert await number.get(0, place) == total


async def collective(x, call, count, root, blocking, seed):
    given = [numbers(Random(f"{seed}/{rank}"), *((x.size, 1) if "to_all" in call else (1,))) for rank in range(x.size)]
    blocks = [np.resize(each, (x.size, count) if call in ("scatter", "all_to_all") else (count,)) for each in given]
    arguments = {"root": root} if call in ("broadcast", "scatter", "gather", "reduce") else {}
    mine = blocks[x.rank]
    if call in ("broadcast", "scatter") and x.rank != root:
        mine = None
    got = (
        await getattr(x, call)(mine, **arguments)
        if blocking
        else await (await getattr(x, call + "_nb")(mine, **arguments))
    )
    total = np.sum(blocks, axis=0)
    expected = {
        "broadcast": lambda: blocks[root],
        "scatter": lambda: blocks[root][x.rank],
        "gather": lambda: np.stack(blocks) if x.rank == root else None,
        "all_gather": lambda: np.stack(blocks),
        "all_to_all": lambda: np.stack([each[x.rank] for each in blocks]),
        "reduce": lambda: total if x.rank == root else None,
        "all_reduce": lambda: total,
        "scan": lambda: np.sum(blocks[: x.rank + 1], axis=0),
    }[call]()
    if expected is None:
        assert got is None
    else:
        np.testing.assert_array_equal(got, expected)


def operations(case, draw, seed):
    rounds = script_of(draw, case.size)
    first, again = (case.run(do_script, rounds, seed=seed, segment=(case.size + 1) * LANE) for _ in range(2))
    assert all(first.values)
    assert first.digest == again.digest


def test_operations_do_what_numpy_does(programs):
    programs(operations)


# ------------------------------------------------------------------------------------------------------ cancellation


async def cancelled(ep, seed, instants):
    """Tasks whose calls are cancelled at some instants; afterwards nothing must be lost."""
    x = await Extended.attach(ep)
    draw, lane, answers = Random(f"{seed}/{ep.rank}"), ep.rank * LANE, []

    def ask(token, number):
        token.reply_short(answer, number)

    def answer(token, number):
        answers.append(number)

    await ep.attach(ask, answer)
    kept = []  # what an operation has been lent stays alive

    async def act():
        dest = draw.randrange(ep.size)
        data = np.frombuffer(draw.randbytes(draw.choice(SIZES)), np.uint8)
        kept.append(data)
        await draw.choice(
            (
                partial(ep.request_short, dest, ask, 1),
                partial(x.put, dest, lane, data),
                partial(x.get, dest, lane, data.nbytes),
                partial(ep.compute, draw.random() * 2e-5),
                partial(x.atomic("i8").fetch_add, dest, ep.size * LANE, 1),
                ep.poll,
            )
        )()

    async def task():
        for _ in range(draw.randint(1, 5)):
            with trio.CancelScope(deadline=draw.choice(instants)):
                await act()

    async with trio.open_nursery() as nursery:
        for _ in range(draw.randint(1, 4)):
            nursery.start_soon(task)
    await x.sync()
    await x.barrier()
    # Every slot is there still, and every pair of ranks can talk.
    answers.clear()
    async with trio.open_nursery() as nursery:
        for dest in range(ep.size):
            for number in range(3):
                nursery.start_soon(ep.request_short, dest, ask, number)
    await ep.block_until(lambda: len(answers) >= 3 * ep.size, what="the answers")
    data = np.frombuffer(draw.randbytes(3000), np.uint8)
    for dest in range(ep.size):
        await x.put(dest, lane, data)
        np.testing.assert_array_equal(await x.get(dest, lane, 3000), data)
    await x.barrier()
    return ep.now


def cancellation(case, draw, seed):
    """Instants are drawn among those at which the program does something, where a change of a picosecond counts."""
    run = partial(case.run, cancelled, seed=seed, segment=(case.size + 1) * LANE)
    end = max(run(seed, [1e9]).values)
    for _ in range(4):
        instants = [draw.random() * end if draw.random() < 0.5 else round(draw.random() * end, 8) for _ in range(12)]
        first, again = (run(seed, instants) for _ in range(2))
        assert first.digest == again.digest


def test_whatever_is_cancelled_nothing_is_lost(programs):
    programs(cancellation)


# ------------------------------------------------------------------------------------------------------------ faults


def faulty(case, draw, seed):
    """The same operations while links fail: slower, or ended by the network, but never wrong."""
    rounds = script_of(draw, case.size)
    mean, repair = draw.choice((50, 200, 1000)), draw.choice((50, 300))
    fault = draw.choice((f"links~{mean}us/{repair}us", f"ni0.0~{mean}us/{repair}us", f"nis@{mean}us-{mean + repair}us",
                         "links%1e-5", "links%1e-4", f"links~{mean}us/{repair}us+links%1e-5"))  # fmt: skip
    name, _, options = case.spec.partition(":")
    spec = f"{name}:" + ",".join(filter(None, (options, f"fault={fault}")))
    try:
        result = conduit.run(
            do_script, rounds, conduit=spec, ranks=case.ranks, ranks_per_host=case.ranks_per_host, seed=seed,
            segment=(case.size + 1) * LANE, time_limit=60.0,
        )  # fmt: skip
    except conduit.NetworkError:
        return  # no way was left for longer than the network tries
    assert all(result.values)


def test_faults_make_nothing_wrong(programs):
    programs(faulty, ("sunfire", "sunfire:config=q", "sunfire:poll=directed", "sunfire:stripes=1"), fixed={"fault"})
