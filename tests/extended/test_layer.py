"""Small parts of the layer by themselves, and what it leaves behind."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conduit
from extended import Extended
from extended.barrier import BarrierPeers
from extended.buffers import flat, offset_in
from extended.handlers import high, joined, low
from extended.topology import Topology


@given(st.integers(0, 2**63 - 1))
def test_offsets_travel_as_two_words(offset):
    def arrive(word):  # as the core delivers an unsigned word: signed
        return word - (1 << 32) if word >= 1 << 31 else word

    assert joined(arrive(low(offset)), arrive(high(offset))) == offset


@given(
    dtype=st.sampled_from(("u1", "i2", ">i4", "<f8", "c16", "?", "S3", "V5", "i4,f8")),
    shape=st.lists(st.integers(0, 4), max_size=3),
)
def test_a_flat_view_is_the_array_itself(dtype, shape):
    array = np.zeros(shape, np.dtype(dtype))
    view = flat(array)
    assert (view.ndim, view.format, view.nbytes) == (1, "B", array.nbytes)
    view[:] = bytes(range(1, 256))[: array.nbytes] * bool(array.nbytes) + bytes(max(0, array.nbytes - 255))
    assert array.tobytes() == bytes(view)


@given(start=st.integers(0, 90), nbytes=st.integers(1, 90))
def test_a_view_of_the_segment_is_found_in_it(start, nbytes):
    memory = np.zeros(200, np.uint8)
    segment = memory[50:150]
    view = flat(memory[start : start + nbytes])
    inside = start >= 50 and start + nbytes <= 150
    assert offset_in(segment, view) == (start - 50 if inside else None)
    assert offset_in(segment, flat(np.zeros(nbytes, np.uint8))) is None


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_signals_reach_everybody_for_any_placement_of_ranks(hosts):
    places = [BarrierPeers(Topology(tuple(hosts)), rank) for rank in range(len(hosts))]
    for rank, place in enumerate(places):
        assert all(places[child].parent == rank for child in place.children)
        assert len(place.children) <= 4
        assert all(places[dest].origins[step] == rank for step, dest in enumerate(place.to))
        assert place.parent is None or (hosts[place.parent] == hosts[rank] and not place.to)
    firsts = [rank for rank, place in enumerate(places) if place.parent is None]
    assert sorted(hosts[rank] for rank in firsts) == sorted(set(hosts))
    # What each first rank knows after all steps, when everybody passes on what it knew before the step.
    known = {rank: {rank} for rank in firsts}
    for step in range((len(firsts) - 1).bit_length()):
        known = {rank: known[rank] | known[places[rank].origins[step]] for rank in firsts}
    assert all(one == set(firsts) for one in known.values())


def test_a_job_leaves_nothing_behind():
    layers = []

    async def main(ep):
        layers.append(weakref.ref(await Extended.attach(ep)))

    conduit.run(main, ranks=3, conduit="loggp")
    gc.collect()
    assert [layer() for layer in layers] == [None] * 3


def test_two_tasks_may_attach_at_once():
    import trio

    async def main(ep):
        found = []

        async def attach():
            found.append(await Extended.attach(ep))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(attach)
        await found[0].barrier()
        return len({id(x) for x in found})

    assert list(conduit.run(main, ranks=2, conduit="loggp").values) == [1, 1]


def test_ranks_that_attach_other_layers_are_told():
    def other(token):
        """Another layer's handler."""

    async def main(ep):
        if ep.rank == 0:
            await ep.attach(other)
        else:
            await Extended.attach(ep)

    with pytest.raises(conduit.BadRequest, match=r"(?s)\A.*put_medium"):
        conduit.run(main, ranks=2, conduit="loggp")


def _attaches_something_else_first(retry):
    """Make a program in which rank 0 attaches other handlers than the layer's, which is refused, and then `retry`s."""

    def other(token):
        """Another layer's handler."""

    async def main(ep):
        try:
            await (ep.attach(other) if ep.rank == 0 else Extended.attach(ep))
        except conduit.BadRequest:
            return await retry(ep)  # while the error is still known, and with it all that its frames refer to

    return main


def test_the_layer_can_be_attached_after_it_was_refused():
    async def retry(ep):
        x = await Extended.attach(ep)
        await x.put_value((ep.rank + 1) % ep.size, 0, 5)
        await x.barrier()
        return await x.get_value(ep.rank, 0), x is await Extended.attach(ep)

    result = conduit.run(_attaches_something_else_first(retry), ranks=3, conduit="loggp", time_limit=1.0)
    assert result.values == [(5, True)] * 3


def test_other_tasks_that_attach_the_layer_hear_of_a_refusal():
    import trio

    async def main(ep):
        refused = []

        async def attach():
            try:
                await (Extended.attach(ep) if ep.rank == 0 else ep.attach())
            except conduit.BadRequest as error:
                refused.append(str(error))

        async with trio.open_nursery() as nursery:
            for _ in range(1 if ep.rank else 3):
                nursery.start_soon(attach)
        return refused

    refused, _ = conduit.run(main, ranks=2, conduit="loggp", time_limit=1.0).values
    assert sorted(text.partition(":")[0] for text in refused) == ["Extended.attach", "Extended.attach", "attach"]
    assert all("rank 1 passed []" in text for text in refused)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(("name", "value"), [("shape", (16, -1)), ("dtype", np.dtype("f8"))])
def test_a_program_may_give_its_segment_another_shape_in_place(before, name, value):
    async def main(ep):
        memory = ep.segment.reshape(-1)
        if before:
            setattr(ep.segment, name, value)
        x = await Extended.attach(ep)
        setattr(ep.segment, name, value)
        right, own = (ep.rank + 1) % ep.size, ep.rank
        for dest, at in ((right, 0), (own, 1000)):
            await x.memset(dest, at + 5, 7, 10)
            await x.put(dest, at + 20, b"put")
            await x.put_strided(dest, at + 30, (2,), np.array([1, 2, 3], "u1"))
            await x.put_indexed(dest, [at + 41, at + 45], 1, b"xy")
            await x.atomic("i4").add(dest, at + 48, 9)
        await x.barrier()
        part = np.frombuffer(memory, np.uint8)[1000:1052]
        assert bytes(await x.get(right, 1000, 52)) == bytes(part) == bytes(memory[:52])
        return bytes(part)

    expected = bytearray(52)
    expected[5:15], expected[20:23], expected[30:35:2] = bytes([7]) * 10, b"put", bytes([1, 2, 3])
    expected[41], expected[45], expected[48] = *b"xy", 9
    assert conduit.run(main, ranks=2, conduit="loggp", segment=4096).values == [expected] * 2


def test_every_public_name_is_documented():
    for name in dir(Extended):
        if not name.startswith("_"):
            assert getattr(Extended, name).__doc__, name


def test_the_layer_is_not_made_by_calling_it():
    async def main(ep):
        Extended(ep)

    with pytest.raises(conduit.BadRequest, match=r"^Extended: .*; write `await Extended\.attach\(ep\)`\n"):
        conduit.run(main, conduit="loggp")
