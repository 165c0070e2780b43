"""What calls of the layer make is let go of with the last reference: jobs put off looking for garbage in cycles."""

import gc
import inspect
import weakref

import numpy as np
import pytest
import trio

import conduit
from extended import Extended
from extended.atomics import Atomic
from extended.locks import Lock

NETWORKS = ["loggp", "mpi:library=scampi", "origin", "sci", "sunfire", "startx", "t3e", "udp"]
BIG = 20_000  # bytes, more than is sent at once
HEAP = 1 << 18
FAR = 4096


async def nothing(x):
    """No call at all: what this finds is the test's own."""


async def allocated_alone(x):
    await x.global_free(await x.global_alloc(64))


def put_get(x):
    big, out = np.zeros(BIG, np.uint8), np.zeros(BIG, np.uint8)
    to = (x.rank + 1) % x.size
    vector, lattice = [(0, 8), (64, 100)], np.zeros((3, 4), "u4")
    return {
        "put": lambda: x.put(to, 0, big),
        "get": lambda: x.get(to, 0, BIG),
        "memset": lambda: x.memset(to, 0, 1, BIG),
        "put_value": lambda: x.put_value(to, 0, 1),
        "get_value": lambda: x.get_value(to, 0),
        "put_vector": lambda: x.put_vector(to, vector, big[:108]),
        "get_vector": lambda: x.get_vector(to, vector),
        "put_indexed": lambda: x.put_indexed(to, [0, 100], 8, big[:16]),
        "get_indexed": lambda: x.get_indexed(to, [0, 100], 8),
        "put_strided": lambda: x.put_strided(to, 0, (100, 8), lattice),
        "get_strided": lambda: x.get_strided(to, 0, (100, 8), out=lattice),
        "put_nb": lambda: waited(x.put_nb(to, 0, big)),
        "get_nb": lambda: waited(x.get_nb(to, 0, out=out)),
        "memset_nb": lambda: waited(x.memset_nb(to, 0, 1, BIG)),
        "put_value_nb": lambda: waited(x.put_value_nb(to, 0, 1)),
        "get_value_nb": lambda: waited(x.get_value_nb(to, 0)),
        "put_vector_nb": lambda: waited(x.put_vector_nb(to, vector, big[:108])),
        "get_vector_nb": lambda: waited(x.get_vector_nb(to, vector)),
        "put_indexed_nb": lambda: waited(x.put_indexed_nb(to, [0, 100], 8, big[:16])),
        "get_indexed_nb": lambda: waited(x.get_indexed_nb(to, [0, 100], 8)),
        "put_strided_nb": lambda: waited(x.put_strided_nb(to, 0, (100, 8), lattice)),
        "get_strided_nb": lambda: waited(x.get_strided_nb(to, 0, (100, 8), out=lattice)),
        "put_nbi": lambda: x.put_nbi(to, 0, big),
        "get_nbi": lambda: x.get_nbi(to, 0, out=out),
        "memset_nbi": lambda: x.memset_nbi(to, 0, 1, BIG),
        "put_value_nbi": lambda: x.put_value_nbi(to, 0, 1),
        "put_vector_nbi": lambda: x.put_vector_nbi(to, vector, big[:108]),
        "get_vector_nbi": lambda: x.get_vector_nbi(to, vector, big[:108]),
        "put_indexed_nbi": lambda: x.put_indexed_nbi(to, [0, 100], 8, big[:16]),
        "get_indexed_nbi": lambda: x.get_indexed_nbi(to, [0, 100], 8, big[:16]),
        "put_strided_nbi": lambda: x.put_strided_nbi(to, 0, (100, 8), lattice),
        "get_strided_nbi": lambda: x.get_strided_nbi(to, 0, (100, 8), out=lattice),
        "sync": x.sync,
        "sync_puts": x.sync_puts,
        "sync_gets": x.sync_gets,
        "global_alloc": lambda: allocated_alone(x),
        "global_free": lambda: allocated_alone(x),
        "access_region": lambda: region(x, to, big),
        "wait_all": lambda: several(x, x.wait_all, to, big),
        "wait_some": lambda: several(x, x.wait_some, to, big),
    }


def together(x):
    """Give the calls that all ranks make together."""
    calls = {
        "barrier": x.barrier,
        "barrier_notify": lambda: split_barrier(x),
        "barrier_wait": lambda: split_barrier(x),
        "barrier_try": lambda: tried_barrier(x),
        "split": lambda: team_of_all(x),
        "destroy": lambda: team_of_all(x),
        "all_alloc": lambda: allocated(x),
        "free": lambda: allocated(x),
    }
    for name in "broadcast", "scatter", "gather", "all_gather", "all_to_all", "reduce", "all_reduce", "scan":
        calls[name] = lambda name=name: of_all_sizes(x, name)
        calls[name + "_nb"] = lambda name=name: of_all_sizes(x, name, nb=True)
    return calls


def atomics(x):
    d, to = x.atomic("i8"), (x.rank + 1) % x.size
    values = {"compare_swap": (1, 2)} | dict.fromkeys(["get", "inc", "dec", "fetch_inc", "fetch_dec"], ())
    of_many = {
        "accumulate": lambda: d.accumulate(to, [FAR, FAR + 8], [1, 2]),
        "accumulate_nb": lambda: waited(d.accumulate_nb(to, [FAR, FAR + 8], [1, 2])),
    }
    single = calls_of(Atomic) - set(of_many)
    return of_many | {name: lambda name=name: getattr(d, name)(to, FAR, *values.get(name, (1,))) for name in single}


def locks(x):
    return dict.fromkeys(calls_of(Lock), lambda: locked(x))


async def waited(call):
    await (await call)


async def region(x, to, big):
    async with x.access_region() as region:
        await x.put_nbi(to, 0, big)
    await region.handle


async def several(x, wait, to, big):
    handles = [await x.put_nb(to, 0, big), await x.put_nb(to, 0, big)]
    await wait(handles)
    await x.wait_all(handles)


async def split_barrier(x):
    await x.barrier_notify()
    await x.barrier_wait()


async def tried_barrier(x):
    await x.barrier_notify()
    while not await x.barrier_try():
        pass


async def team_of_all(x):
    team = await x.split(0)
    await team.barrier()
    await team.destroy()


async def allocated(x):
    await x.free(await x.all_alloc(100))


async def of_all_sizes(x, name, *, nb=False):
    for nbytes in (8, BIG):
        rows = name in ("scatter", "all_to_all")
        given = np.zeros((x.size, nbytes) if rows else nbytes, np.uint8)
        args = (given,) if x.rank == 0 or name not in ("broadcast", "scatter") else ()
        if nb:
            await waited(getattr(x, name + "_nb")(*args))
        else:
            await getattr(x, name)(*args)


async def locked(x):
    lock = x.lock("one")
    async with lock:
        pass
    if await lock.try_acquire():
        await lock.release()


def calls_of(*classes):
    """Return the names of the awaited calls that users of a class know."""
    return {
        name
        for each in classes
        for name, value in inspect.getmembers(each)
        if not name.startswith("_") and (inspect.iscoroutinefunction(value) or hasattr(value, "__wrapped__"))
    }


async def left_by(x, call):
    """Return what can be found only by a look for cycles after some calls."""
    await call()
    await x.sync()
    await x.barrier()
    gc.collect()
    gc.disable()
    await x.barrier()
    for _ in range(3):
        await call()
    await x.sync()
    await x.barrier()
    found = []
    if x.rank == 0:
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        gc.set_debug(0)
        found = [f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.garbage]
        gc.garbage.clear()
    await x.barrier()
    gc.enable()
    return found


@pytest.fixture(autouse=True)
def collector():
    # Looks for cycles leave out what was there before: of some ten thousand tests, millions of objects.  They are not
    # to come back: where a job fails all objects are looked at, for calls that were not awaited.
    gc.collect()
    gc.freeze()
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.parametrize("kind", [put_get, together, atomics, locks])
@pytest.mark.parametrize("network", NETWORKS)
def test_no_call_leaves_cycles(network, kind):
    async def main(ep):
        x = await Extended.attach(ep)
        found = {}
        assert not await left_by(x, lambda: nothing(x))
        for name, call in kind(x).items():
            found[name] = await left_by(x, call)
        return {name: each for name, each in found.items() if each}

    assert conduit.run(main, conduit=network, ranks=3, segment=HEAP).values[0] == {}


def test_every_call_is_tried():
    async def main(ep):
        x = await Extended.attach(ep)
        return {name for kind in (put_get, together) for name in kind(x)}

    names = conduit.run(main, conduit="loggp").values[0]
    assert calls_of(Extended) - {"attach"} - names == set()
    assert names - calls_of(Extended) == {"access_region"}
    assert {"acquire", "try_acquire", "release"} <= calls_of(Lock)
    assert {"get", "set", "fetch_add", "compare_swap"} <= calls_of(Atomic)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("call", ["broadcast", "scatter"])
def test_the_array_of_a_collective_goes_with_its_last_reference(network, call):
    async def main(ep):
        x = await Extended.attach(ep)
        array = np.zeros((x.size, BIG)) if ep.rank == 0 else None
        result = await getattr(x, call)(array)
        seen = weakref.ref(result)
        del result, array
        await x.barrier()
        return seen() is None

    gc.disable()
    assert conduit.run(main, conduit=network, ranks=3).values == [True] * 3


def test_a_cancelled_wait_leaves_nothing_of_its_own():
    async def main(ep):
        x = await Extended.attach(ep)
        big = np.zeros(BIG, np.uint8)
        seen = weakref.ref(big)
        with trio.move_on_after(1e-6):
            await x.put((ep.rank + 1) % 2, 0, big)
        await x.sync()
        del big
        await x.barrier()
        return seen() is None

    gc.disable()
    assert conduit.run(main, conduit="loggp").values == [True] * 2
