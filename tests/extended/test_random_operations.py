"""Random sequences of operations of several ranks against a model that is plain numpy.

A segment has a lane for every rank and a part for local sides.  In one batch a rank begins operations on its own lanes
of all segments, in ranges that no other operation of the batch touches, and then waits for them in one of several ways;
the model does them one after the other.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from extended import Extended

LANE = 2600
LOCAL = 16_384
PUTS = (
    "put",
    "put_nb",
    "put_nb copied",
    "put_nbi",
    "put_nbi copied",
    "memset",
    "memset_nb",
    "memset_nbi",
    "put_value_nb",
)
GETS = ("get", "get out", "get_nb", "get_nb inside", "get_nbi", "get_nbi inside", "get_value_nb")
WAITS = ("each", "all", "some", "region")

operations = st.tuples(
    st.sampled_from(PUTS + GETS),
    st.integers(0, 7),  # target, modulo the number of ranks
    st.integers(0, LANE),
    st.one_of(
        st.integers(0, 40), st.sampled_from((511, 512, 513, 999, 1000, 1001, 1024, 2000, 2001)), st.integers(0, LANE)
    ),
    st.integers(0, 255),
)
batches = st.lists(
    st.tuples(st.lists(operations, max_size=8), st.sampled_from(WAITS)), min_size=1, max_size=4
)  # fmt: skip


def _disjoint(rank, ranks, batch):
    """Give the operations of a batch that stay inside the lane and apart from each other, at absolute offsets."""
    taken, kept = [], []
    for form, target, start, nbytes, key in batch:
        dest = target % ranks
        size = min(max(nbytes, 1), 8) if "value" in form else nbytes
        end = start + size
        if end <= LANE and all(dest != other or end <= low or start >= high for other, low, high in taken):
            taken.append((dest, start, end))
            kept.append((form, dest, rank * LANE + start, size, key))
    return kept


def _bytes(key, size):
    return ((np.arange(size) * 5 + key * 3 + (np.arange(size) >> 8)) % 256).astype(np.uint8)


def _apply(model, kept):
    """Do a batch on the model; give what its gets must bring."""
    expected = []
    for form, dest, at, size, key in kept:
        if form in GETS:
            expected.append(model[dest, at : at + size].copy())
        elif form.startswith("memset"):
            model[dest, at : at + size] = key
        elif form == "put_value_nb":
            model[dest, at : at + size] = np.frombuffer(_value(key, size).to_bytes(size, "little"), np.uint8)
        else:
            model[dest, at : at + size] = _bytes(key, size)
    return expected


def _value(key, size):
    return (key * 0x0123456789ABCDEF) % (1 << (8 * size))


class _Batch:
    """One batch on one rank: begins its operations and collects what its gets bring."""

    def __init__(self, x, local):
        self.x = x
        self.local = local
        self.handles = []
        self.got = []

    async def begin(self, form, dest, at, size, key):
        x = self.x
        name, _, how = form.partition(" ")
        call = getattr(x, name)
        if form in GETS:
            await self._begin_get(name, how, call, dest, at, size)
        elif name.startswith("memset"):
            self._keep(await call(dest, at, key, size))
        elif name == "put_value_nb":
            self._keep(await call(dest, at, _value(key, size), size))
        elif how == "copied":
            data = _bytes(key, size)
            self._keep(await call(dest, at, data, bulk=False))
            data[:] = 0
        else:
            data = self._inside(size) if key % 2 else np.empty(size, np.uint8)
            data[:] = _bytes(key, size)
            self._keep(await call(dest, at, data))

    async def _begin_get(self, name, how, call, dest, at, size):
        if name == "get_value_nb":
            handle = await call(dest, at, size)
            self.handles.append(handle)
            self.got.append((handle, size))
            return
        out = self._inside(size) if how == "inside" else np.empty(size, np.uint8)
        if name == "get_nbi" or how:
            self.got.append(out)
            self._keep(await call(dest, at, out=out))
        else:
            result = await call(dest, at, size)
            self.got.append(result)
            self._keep(result)

    def _inside(self, size):
        start, self.local = self.local, self.local + size
        return self.x.ep.segment[start : self.local]

    def _keep(self, made):
        if hasattr(made, "done"):
            self.handles.append(made)

    async def finish(self, way):
        if way == "each":
            for handle in self.handles:
                await handle
        elif way == "some":
            pending = self.handles
            while pending:
                _, pending = await self.x.wait_some(pending)
        else:
            await self.x.wait_all(self.handles)

    async def results(self):
        return [np.array(await self._result(one)) for one in self.got]

    async def _result(self, one):
        if isinstance(one, tuple):
            handle, size = one
            return np.frombuffer((await handle).to_bytes(size, "little"), np.uint8)
        return await one if hasattr(one, "done") else one


async def _program(ep, script):
    x = await Extended.attach(ep)
    brought = []
    for kept, way in script[ep.rank]:
        batch = _Batch(x, ep.size * LANE)
        if way == "region":
            async with x.access_region() as region:
                for operation in kept:
                    await batch.begin(*operation)
            await region.handle
            await x.wait_all(batch.handles)
        else:
            for operation in kept:
                await batch.begin(*operation)
            await batch.finish(way)
            await x.sync()
        brought.append(await batch.results())
    await x.barrier()
    return brought, ep.segment[: ep.size * LANE].copy()


@given(data=st.data(), ranks=st.sampled_from((1, 2, 3)), order=st.sampled_from(("strict", "weak")))
@settings(max_examples=40)
def test_operations_do_what_the_model_does(data, ranks, order):
    model = np.zeros((ranks, ranks * LANE), np.uint8)
    script, expected = [], []
    for rank in range(ranks):
        drawn = data.draw(batches, label=f"rank {rank}")
        script.append([(_disjoint(rank, ranks, batch), way) for batch, way in drawn])
        # Lanes are apart, so that the model may do one rank after the other.
        expected.append([_apply(model, kept) for kept, _ in script[-1]])
    spec = f"loggp:max_medium=512,max_long=1000,slots=3,order={order}"
    result = conduit.run(_program, script, ranks=ranks, conduit=spec, segment=ranks * LANE + LOCAL + 8 * LANE)
    for rank, (brought, segment) in enumerate(result.values):
        np.testing.assert_array_equal(segment, model[rank])
        for mine, wanted in zip(brought, expected[rank], strict=True):
            for got, right in zip(mine, wanted, strict=True):
                np.testing.assert_array_equal(got, right)
    assert not any(result.warnings)
