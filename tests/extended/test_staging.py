"""Large data of collectives whose place is outside of the segment, where medium messages are dear."""

from random import Random

import numpy as np
import pytest
import trio

import conduit
from conduit.simnet import SimulatedConduit
from extended import Extended
from extended.collectives.algorithms.algorithm import PIECE
from extended.collectives.staging import PART, Staging, StagingSlots, window_in

MB = 1 << 20
CALLS = ("broadcast", "scatter", "gather", "all_gather", "all_to_all", "reduce", "all_reduce", "scan")


async def broadcast(ep, nbytes, inside):
    """Broadcast into arrays in the segment or outside of it; give the time."""
    x = await Extended.attach(ep)
    data = ep.segment[:nbytes] if inside else np.zeros(nbytes, np.uint8)
    if ep.rank == 0:
        data[:] = np.arange(nbytes) % 251
    await x.barrier()
    begun = ep.now
    await x.broadcast(data if ep.rank == 0 else None, out=data)
    await x.barrier()
    np.testing.assert_array_equal(data, np.arange(nbytes) % 251)
    return ep.now - begun


@pytest.mark.parametrize(("ranks", "per_host"), [(2, 1), (4, 1), (8, 2)])
def test_a_broadcast_outside_the_segment_takes_little_more_than_inside(ranks, per_host):
    inside, outside = (
        max(conduit.run(broadcast, MB, where, ranks=ranks, ranks_per_host=per_host, conduit="startx").values)
        for where in (True, False)
    )
    assert inside < outside < 1.5 * inside


def test_nothing_goes_by_way_of_the_memory_behind_the_segment_where_that_saves_nothing(monkeypatch):
    """As on a network whose medium messages cost a byte what its long ones do."""

    def refuse(self, nbytes):
        raise AssertionError("staged")

    monkeypatch.setattr(conduit.Endpoint, "take_auxiliary", refuse)
    conduit.run(broadcast, MB, False, ranks=4, conduit="loggp")
    with pytest.raises(AssertionError, match="staged"):
        conduit.run(broadcast, MB, False, ranks=4, conduit="startx")


@pytest.mark.parametrize("window", [StagingSlots(0, 1), StagingSlots(MB, 4), StagingSlots((1 << 31) - 1, 64)])
def test_windows_travel_as_numbers_that_are_no_offsets(window):
    assert window_in(window.landing()) == window
    assert window.landing() < 2**64 - 1
    assert window_in((1 << 63) - 1) is None


# ------------------------------------------------------------------------------------------------ against plain numpy


def placed(ep, used, shape, inside):
    """Give an array in the segment, from where `used` ends, or elsewhere."""
    nbytes = 8 * int(np.prod(shape))
    if not inside:
        return np.zeros(shape, "i8")
    used[0] += nbytes
    return ep.segment[used[0] - nbytes : used[0]].view("i8").reshape(shape)


def expected(call, blocks, root, rank):
    """Give what a rank of a team gets of all contributions."""
    return {
        "broadcast": lambda: blocks[root],
        "scatter": lambda: blocks[root][rank],
        "gather": lambda: np.stack(blocks) if rank == root else None,
        "all_gather": lambda: np.stack(blocks),
        "all_to_all": lambda: np.stack([each[rank] for each in blocks]),
        "reduce": lambda: np.sum(blocks, axis=0) if rank == root else None,
        "all_reduce": lambda: np.sum(blocks, axis=0),
        "scan": lambda: np.sum(blocks[: rank + 1], axis=0),
    }[call]()


async def several_at_once(ep, seed, count):
    """Collectives of any kind and size begun one after the other on two teams, all of them under way together."""
    x = await Extended.attach(ep)
    half = await x.split(ep.rank % 2)
    shared, used, begun = Random(seed), [0], []
    mine = Random(f"{seed}/{ep.rank}")
    for number in range(count):
        team = x if shared.random() < 0.6 else half
        call, root, length = shared.choice(CALLS), shared.randrange(2), shared.choice((700, 2048, 2049, 9000, 17_000))
        shape = (team.size, length) if call in ("scatter", "all_to_all") else (length,)
        blocks = [
            Random(f"{seed}/{number}/{team.job_rank(rank)}").randrange(1 << 20)
            + np.arange(np.prod(shape)).reshape(shape)
            for rank in range(team.size)
        ]
        given = placed(ep, used, shape, mine.random() < 0.4)
        given[...] = blocks[team.rank]
        result = expected(call, blocks, root, team.rank)
        out = None if result is None else placed(ep, used, result.shape, mine.random() < 0.4)
        arguments = {"root": root} if call in ("broadcast", "scatter", "gather", "reduce") else {}
        sends = call not in ("broadcast", "scatter") or team.rank == root
        handle = await getattr(team, f"{call}_nb")(given if sends else None, out=out, **arguments)
        begun.append((handle, result, call))
    for handle, result, call in begun:
        found = await handle
        if result is None:
            assert found is None
        else:
            np.testing.assert_array_equal(found, result, call)
    await x.barrier()
    return True


@pytest.mark.parametrize("spec", ["startx", "startx:slots=1", "sci:patched=yes", "sunfire"])
@pytest.mark.parametrize("room", [0, PART, 3 * PART, MB], ids=lambda room: f"{room}_bytes")
def test_collectives_give_what_numpy_does_however_little_room_there_is(spec, room, monkeypatch):
    """Many at once, so that all slots are taken: what finds none comes in medium messages."""
    monkeypatch.setattr(SimulatedConduit, "auxiliary", room)
    seed = room + len(spec)
    result = conduit.run(several_at_once, seed, 12, ranks=4, ranks_per_host=2, conduit=spec, segment=30 * MB)
    assert all(result.values)


@pytest.mark.parametrize("seed", range(5))
def test_random_collectives_on_two_teams(seed):
    spec, per_host = Random(seed).choice(("startx", "sci:patched=yes")), seed % 2 + 1
    result = conduit.run(several_at_once, seed, 8, ranks=5, ranks_per_host=per_host, conduit=spec, segment=30 * MB)
    assert all(result.values)


# --------------------------------------------------------------------------------------------------------- broken teams


def test_a_slot_is_nobody_else_s_before_what_was_to_land_in_it_has(monkeypatch):
    """A team breaks while its data is on the way; those of another team come through few slots, and are right."""
    monkeypatch.setattr(SimulatedConduit, "auxiliary", 4 * PART)

    async def main(ep, instant):
        x = await Extended.attach(ep)
        doomed = await x.split(0)
        data = np.full(40 * PART, 0xEE, np.uint8)
        with trio.move_on_at(instant) as scope:
            await doomed.broadcast(data if ep.rank == 0 else None)
        for number in range(6):
            sent = np.full(10 * PART, number, np.uint8)
            found = await x.broadcast(sent if ep.rank == number % 4 else None, root=number % 4)
            np.testing.assert_array_equal(found, sent)
        return scope.cancelled_caught

    caught = set()
    for instant in (1.5e-3, 3e-3, 6e-3, 9e-3):
        result = conduit.run(main, instant, ranks=4, conduit="startx", segment=0)
        caught |= set(result.values)
    assert True in caught


def test_the_slots_of_a_rank_are_all_given_back(monkeypatch):
    found = []
    begun = Staging.__init__
    monkeypatch.setattr(Staging, "__init__", lambda self, *args: (begun(self, *args), found.append(self))[0])
    conduit.run(several_at_once, 3, 6, ranks=4, conduit="startx", segment=30 * MB)
    used = [each for each in found if each._free is not None]
    assert used
    assert all(all(each._free) for each in used)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("startx", True), ("sci", True), ("sunfire", True), ("loggp", False), ("sci:queue=single", False)],
)
def test_whether_it_pays_follows_from_the_costs(spec, expected):
    """Those of `sci:queue=single` are not known."""

    async def main(ep):
        await ep.poll()
        staging = Staging(ep, ep.limits.max_medium, MB)
        return {staging.pays(nbytes, on_host=False) for nbytes in (16384, MB)}

    assert conduit.run(main, ranks=2, conduit=spec).values == [{expected}] * 2


def test_a_part_is_a_piece_of_what_is_passed_on_in_pieces():
    assert PART == PIECE
