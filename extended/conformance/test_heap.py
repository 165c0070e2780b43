"""The symmetric heap: the same bytes of every rank's segment, from the top down."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import trio

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import names, refusal
from extended.conformance.programs import attached, holds, left, right

hypothesis: Any = pytest.importorskip("hypothesis")
strategies: Any = pytest.importorskip("hypothesis.strategies")

SEGMENT = 4096


async def _refused(call: Any) -> str:
    """Give the message with which an awaited call is refused."""
    with pytest.raises(conduit.BadRequest) as caught:
        await call()
    return str(caught.value)


@pytest.mark.rule("X55")
@pytest.mark.crowds
def test_all_ranks_get_the_same_block(case: Case) -> None:
    """Aligned as asked, 64 unless told otherwise, and apart from every other block."""
    wanted = [(100, None), (1, 1), (7, 1), (8, 8), (1000, 512), (64, None), (3, 1), (64, 1024)]

    async def main(ep: Endpoint) -> list[int]:
        x = await attached(ep)
        return [
            await (x.all_alloc(nbytes) if align is None else x.all_alloc(nbytes, align=align))
            for nbytes, align in wanted
        ]

    values = case.run(main, segment=SEGMENT).values
    assert all(offsets == values[0] for offsets in values)
    taken: set[int] = set()
    for offset, (nbytes, align) in zip(values[0], wanted, strict=True):
        assert offset % (align or 64) == 0
        block = set(range(offset, offset + nbytes))
        assert min(block) >= 0
        assert max(block) < SEGMENT
        assert not block & taken
        taken |= block


@pytest.mark.rule("X56")
@pytest.mark.crowds
def test_the_heap_grows_from_the_top_down(case: Case) -> None:
    """The first block is as high as its alignment allows, each next below; heap_low is where they begin."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        assert x.heap_low == SEGMENT
        offsets = [await x.all_alloc(100, align=4) for _ in range(5)]
        assert offsets == [SEGMENT - 100 * number for number in range(1, 6)]
        assert x.heap_low == offsets[-1]
        await x.free(offsets[4])
        assert x.heap_low == offsets[3]
        await x.free(offsets[1])
        assert x.heap_low == offsets[3]
        await x.free(offsets[0])
        await x.free(offsets[3])
        assert x.heap_low == offsets[2]
        await x.free(offsets[2])
        assert x.heap_low == SEGMENT

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X56", "X55")
def test_what_was_freed_is_used_again(case: Case) -> None:
    """Neighbouring blocks that were freed make room for a larger one; a thousand turns do not use anything up."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        blocks = [await x.all_alloc(1024) for _ in range(4)]
        await x.free(blocks[1])
        await x.free(blocks[2])
        assert await x.all_alloc(2048) == blocks[2]
        await x.free(blocks[2])
        assert await x.all_alloc(1000, 8) == blocks[1] + 24
        for _ in range(50):
            await x.free(await x.all_alloc(1024))

    case.with_ranks(min(case.size, 3)).run(main, segment=SEGMENT)


@pytest.mark.rule("X55", "X3", "X4")
@pytest.mark.crowds
def test_blocks_are_memory_like_any_other(case: Case) -> None:
    """Puts and gets go into and out of them, and what they hold outlives other blocks' coming and going."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        other = await x.all_alloc(64)
        block = await x.all_alloc(200)
        await x.put(right(ep), block, pattern(200, ep.rank))
        await x.free(other)
        await x.all_alloc(10)
        assert bytes(await x.get(right(ep), block, 200)) == pattern(200, ep.rank)
        await x.barrier()
        assert holds(ep, block, pattern(200, left(ep)))

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X55")
def test_an_allocation_waits_for_all_ranks(case: Case) -> None:
    """It ends on no rank before every rank has come to it."""

    async def main(ep: Endpoint) -> tuple[float, float]:
        x = await attached(ep)
        await ep.compute(1e-3 * (ep.rank + 1))
        began = ep.now
        await x.all_alloc(8)
        return began, ep.now

    values = case.run(main, segment=SEGMENT).values
    if case.simulated:
        assert min(ended for _, ended in values) >= max(began for began, _ in values)


@pytest.mark.rule("X55")
def test_a_block_of_no_bytes_has_an_offset_of_its_own(case: Case) -> None:
    """So that it can be freed like the others."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        blocks = [await x.all_alloc(0) for _ in range(3)]
        assert len(set(blocks)) == 3
        for block in blocks:
            await x.free(block)
        assert x.heap_low == SEGMENT

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X57")
@pytest.mark.crowds
def test_too_little_room_is_said_on_every_rank(case: Case) -> None:
    """With what is left, what of it is in one piece, and the option that enlarges it; the heap goes on."""

    async def main(ep: Endpoint) -> str:
        x = await attached(ep)
        await x.all_alloc(1024)
        hole = await x.all_alloc(1024)
        block = await x.all_alloc(1024)
        await x.free(hole)
        message = await _refused(partial(x.all_alloc, 1500))
        names(
            message,
            "all_alloc",
            "nbytes=1500",
            "align=64",
            SEGMENT,
            2048,
            1024,
            f"segment={SEGMENT - 1024 + 1500 + 64}",
        )
        assert await x.all_alloc(1024) == hole
        assert await x.all_alloc(1024) == 0
        names(await _refused(partial(x.all_alloc, 0)), "nbytes=0", 0)
        assert x.heap_low == 0
        await x.free(block)
        assert await x.all_alloc(1000) == block
        return message

    values = case.run(main, segment=SEGMENT).values
    assert all(message == values[0] for message in values)


@pytest.mark.rule("X57")
def test_there_is_no_room_in_an_empty_segment(case: Case) -> None:
    """Not even for a block of no bytes."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        assert x.heap_low == 0
        names(await _refused(partial(x.all_alloc, 0)), "all_alloc", 0, "segment=64")

    case.run(main, segment=0)


@pytest.mark.rule("X58")
@pytest.mark.crowds
def test_ranks_that_disagree_are_named(case: Case) -> None:
    """On every rank, with both calls; nothing is allocated or freed, and the heap goes on."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        last = ep.size - 1
        block = await x.all_alloc(64)
        message = await _refused(partial(x.all_alloc, 100 + (ep.rank == last)))
        names(message, "rank 0", "nbytes=100", f"rank {last}", "nbytes=101")
        message = await _refused(partial(x.all_alloc, 100, align=8 if ep.rank else 16))
        names(message, "rank 0", "align=16", "rank 1", "align=8")
        wrong = partial(x.all_alloc, 8) if ep.rank == last else partial(x.free, block)
        message = await _refused(wrong)
        names(message, "rank 0", f"free(offset={block})", f"rank {last}", "all_alloc(nbytes=8, align=64)")
        message = await _refused(partial(x.free, block + ep.rank % 2))
        names(message, "rank 0", f"offset={block}", "rank 1", f"offset={block + 1}")
        assert x.heap_low == block
        await x.free(block)
        assert await x.all_alloc(64) == block

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X58")
@pytest.mark.crowds
@pytest.mark.parametrize("first", ["highest", "middle"])
def test_the_lowest_ranks_that_disagree_are_named_whoever_comes_first(case: Case, first: str) -> None:
    """Rank 0, and the lowest rank whose call is another one than its."""
    case = case.at_least(3)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        middle = ep.size // 2
        await x.barrier()
        await ep.compute(1e-3 * (ep.size - ep.rank if first == "highest" else 1 + abs(ep.rank - middle)))
        message = await _refused(partial(x.all_alloc, 100 if ep.rank < middle else 100 + ep.rank))
        names(message, "rank 0", "nbytes=100", f"rank {middle}", f"nbytes={100 + middle}")

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X58")
def test_only_blocks_can_be_freed_and_only_once(case: Case) -> None:
    """Anything else is refused on every rank, and nothing is lost."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        block = await x.all_alloc(100)
        for wrong in (block + 1, 0, 1 << 40):
            names(await _refused(partial(x.free, wrong)), "free", f"offset={wrong}", "all_alloc")
        await x.free(block)
        names(await _refused(partial(x.free, block)), f"offset={block}", "freed")
        assert x.heap_low == SEGMENT

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X58", "X28")
def test_wrong_arguments_are_refused_at_the_call(case: Case) -> None:
    """Sizes and offsets that are no numbers or negative, alignments that are no powers of two; nothing is sent."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for wrong in (-1, 1.0, "8", None, 1 << 70):
            names(refusal(partial(x.all_alloc, wrong)), "all_alloc", "nbytes", wrong)
            names(refusal(partial(x.free, wrong)), "free", "offset", wrong)
        for wrong in (0, -8, 3, 24, 8.0, None, 1 << 62):
            names(refusal(partial(x.all_alloc, 8, wrong)), "all_alloc", "align", wrong)
        assert await x.all_alloc(np.int64(8), np.uint8(8)) == SEGMENT - 8
        await x.free(np.int32(SEGMENT - 8))

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X58")
def test_one_task_of_a_rank_calls_at_a_time(case: Case) -> None:
    """Another is refused, and the first goes on."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(x.all_alloc, 8)
                await ep.compute(1e-6)
                for _ in range(2):  # in the first, the other task may come after this one
                    await trio.lowlevel.checkpoint()
                names(await _refused(partial(x.all_alloc, 8)), "all_alloc", "another task")
                await x.put(1, 0, b"go on")
        else:
            if ep.rank == 1:
                await ep.block_until(lambda: holds(ep, 0, b"go on"))
            await x.all_alloc(8)
        assert await x.all_alloc(8) < SEGMENT - 8

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X59")
@pytest.mark.simulated
def test_a_cancelled_call_is_remembered(case: Case) -> None:
    """Its rank has lost the result; the others get theirs, and every later call on any rank says so."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.free(await x.all_alloc(8))  # whatever the conduit has to set up is set up
        await x.barrier()
        if ep.rank == 0:
            for _ in range(100):  # what it has sent may have been lost, and is sent again in a poll
                await ep.compute(1e-2)
                await ep.poll()
            assert await x.all_alloc(100, 4) == SEGMENT - 100
        else:
            with trio.move_on_after(1e-1) as scope:
                await x.all_alloc(100, 4)
            assert scope.cancelled_caught
        await x.barrier()
        for call in (partial(x.all_alloc, 8), partial(x.free, 8)):
            with pytest.raises(conduit.ConduitError, match=r"\A(all_alloc|free): rank \d+ was cancelled in all_alloc"):
                await call()

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X2", "X55")
@pytest.mark.simulated
def test_calls_on_the_heap_poll(case: Case) -> None:
    """Also where nobody has to be waited for."""

    async def main(ep: Endpoint) -> None:
        seen: list[int] = []

        def handler(token: Any) -> None:
            seen.append(token.rank)

        x = await attached(ep)
        await ep.attach(handler)
        for number in range(2):
            await ep.request_short(right(ep), handler)
            await ep.compute(1e-3)
            await (x.all_alloc(8) if number == 0 else x.free(SEGMENT - 64))
            assert len(seen) >= number + 1

    case.run(main, segment=SEGMENT)


def _model(steps: list[Any]) -> list[int | None]:
    """Say what each step gives: the highest place with room, by looking at every byte."""
    taken, blocks, given = np.zeros(SEGMENT, bool), dict[int, int](), list[int | None]()
    for step in steps:
        if isinstance(step, int):
            offset = sorted(blocks)[step % len(blocks)] if blocks else None
            if offset is not None:
                taken[offset : offset + blocks.pop(offset)] = False
            given.append(offset)
        else:
            size, align = max(step[0], 1), step[1]
            places = (
                at for at in range((SEGMENT - size) // align * align, -1, -align) if not taken[at : at + size].any()
            )
            offset = next(places, None)
            if offset is not None:
                taken[offset : offset + size], blocks[offset] = True, size
            given.append(offset)
    return given


@pytest.mark.rule("X55", "X56", "X57")
def test_random_blocks_lie_where_the_model_says(case: Case, request: pytest.FixtureRequest) -> None:
    """Allocations of any size and alignment and frees in any order, against a list of all bytes."""
    aligns = strategies.sampled_from((1, 4, 64, 256))
    steps = strategies.lists(
        strategies.one_of(strategies.tuples(strategies.integers(0, 1500), aligns), strategies.integers(0, 9)),
        min_size=5,
        max_size=20,
    )

    async def main(ep: Endpoint, script: list[Any], model: list[int | None]) -> None:
        x = await attached(ep)
        for step, expected in zip(script, model, strict=True):
            if isinstance(step, int):
                if expected is not None:
                    await x.free(expected)
            elif expected is None:
                await _refused(partial(x.all_alloc, *step))
            else:
                assert await x.all_alloc(*step) == expected

    def check(script: list[Any]) -> None:
        case.run(main, script, _model(script), segment=SEGMENT)

    limits = hypothesis.settings(
        max_examples=20 if request.config.getoption("full") else 2,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.seed(case.seed)(limits(hypothesis.given(steps)(check)))()


@pytest.mark.rule("X115")
@pytest.mark.crowds
def test_one_rank_allocates_for_all(case: Case) -> None:
    """Any rank, apart from what all have; freed by any other, once."""

    async def main(ep: Endpoint) -> Any:
        x = await attached(ep)
        together = await x.all_alloc(100)
        mine = [await x.global_alloc(nbytes, align=128) for nbytes in (0, 60, 300)]
        offsets = await x.all_gather(mine)
        if ep.rank == 0:
            for offset in offsets.reshape(-1).tolist():
                await x.global_free(offset)
                assert f"offset={offset}" in await _refused(lambda offset=offset: x.global_free(offset))
            await x.global_free(together)
            assert x.heap_low == SEGMENT * 16
        await x.barrier()
        assert "nbytes=70000" in await _refused(lambda: x.global_alloc(70_000))
        return together, mine

    taken: set[int] = set()
    values = case.run(main, segment=SEGMENT * 16).values
    blocks = [(values[0][0], 100)] + [(at, n) for _, mine in values for at, n in zip(mine, (1, 60, 300), strict=True)]
    for offset, nbytes in blocks:
        assert not taken & {*range(offset, offset + nbytes)}
        taken |= {*range(offset, offset + nbytes)}
    assert all(offset % 128 == 0 for _, mine in values for offset in mine)


@pytest.mark.rule("X115")
def test_what_a_cancelled_rank_took_alone_is_given_back(case: Case) -> None:
    """At whichever instant it is cancelled."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == ep.size - 1:
            for delay in (0.0, 1e-6, 3e-6, 10e-6, 30e-6, 100e-6):
                offset = None
                with trio.move_on_after(delay):
                    offset = await x.global_alloc(SEGMENT - 256)
                if offset is not None:
                    await x.global_free(offset)
                await ep.compute(1e-3)  # by then the answer has come that gives the block back
                await x.barrier()
                await x.barrier()
        else:
            for _ in range(12):
                await x.barrier()
        await x.barrier()
        await ep.compute(1e-3)
        await x.barrier()

    case.at_least(2).run(main, segment=SEGMENT)


@pytest.mark.rule("X115")
def test_wrong_calls_of_one_rank_are_refused(case: Case) -> None:
    """At the call."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        assert names(refusal(lambda: x.global_alloc(-1)), "global_alloc", "nbytes")
        assert names(refusal(lambda: x.global_alloc(8, align=3)), "align=3")
        assert names(refusal(lambda: x.global_free(1.5)), "global_free", "offset")

    case.run(main)
