"""The pool of blocks against a model: no block is lost and none used twice, whatever happens in which order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from conduit.errors import BadRequest
from conduits.sunfire.protocol.pool import BlockPool, BlockPoolShape

SIS = BlockPoolShape(2048, 4096, 8, 4)
Q = BlockPoolShape(1024, 1024, 12, 0)
shapes = st.sampled_from([SIS, Q, BlockPoolShape(64, 256, 0, 4), BlockPoolShape(64, 128, 1, 1)])


class PoolMachine(RuleBasedStateMachine):
    """Any sequence of allocations, acknowledgements (late and repeated ones too), failures and good barriers."""

    grants = Bundle("grants")

    @initialize(shape=shapes)
    def begin(self, shape):
        self.shape = shape
        self.pool = BlockPool(shape)
        self.owner = {}  # block -> the grant that may write it, or "withdrawn"

    @rule(target=grants, nbytes=st.integers(1, 20_000))
    def allocate(self, nbytes):
        free = set(range(self.shape.blocks)) - set(self.owner)
        grant = self.pool.allocate(nbytes)
        assert (grant is None) == (sum(map(self.shape.size, free)) < nbytes)
        if grant is not None:
            assert len(set(grant.blocks)) == len(grant.blocks)
            assert set(grant.blocks) <= free
            room = [self.shape.size(block) for block in grant.blocks]
            assert sum(room) >= nbytes > sum(room[:-1])
            self.owner |= dict.fromkeys(grant.blocks, grant)
        return grant

    @rule(grant=grants)
    def acknowledge(self, grant):
        if grant is not None:
            self.pool.acknowledge(grant)
            self.owner = {block: whose for block, whose in self.owner.items() if whose is not grant}

    @rule(grant=grants)
    def fail(self, grant):
        if grant is not None:
            self.pool.fail(grant)
            self.owner = {block: "withdrawn" if whose is grant else whose for block, whose in self.owner.items()}

    @rule()
    def settle(self):
        self.pool.settle()
        self.owner = {block: whose for block, whose in self.owner.items() if whose != "withdrawn"}

    @invariant()
    def every_block_is_somewhere(self):
        taken = sum(1 for whose in self.owner.values() if whose != "withdrawn")
        withdrawn = len(self.owner) - taken
        assert self.pool.withdrawn == withdrawn
        assert self.pool.free + taken + withdrawn == self.shape.blocks
        assert self.pool.free_bytes == self.shape.nbytes - sum(map(self.shape.size, self.owner))


TestPool = PoolMachine.TestCase
TestPool.settings = settings(max_examples=60, stateful_step_count=30)


@given(shapes, st.integers(1, 6), st.lists(st.integers(1, 8), max_size=40))
def test_what_is_reserved_can_be_allocated(shape, most, sizes):
    """Blocks for `most` large ones are promised first; a message of any smaller size then finds its blocks."""
    pool, nbytes = BlockPool(shape), most * shape.large
    grants = []
    for size in sizes:
        if not pool.reserve(nbytes):
            if not grants:
                assert nbytes > shape.nbytes
                return
            pool.acknowledge(grants.pop(0))
            continue
        pool.reserved -= nbytes
        before = pool.free_bytes
        grants.append(pool.allocate(max(1, nbytes * size // 8 - 7)))
        assert grants[-1] is not None
        assert before - pool.free_bytes <= nbytes


@given(shapes)
def test_blocks_do_not_overlap_and_fill_the_pool(shape):
    places = sorted((shape.address(b), shape.address(b) + shape.size(b)) for b in range(shape.blocks))
    assert [start for start, _ in places] == [0, *(stop for _, stop in places[:-1])]
    assert places[-1][1] == shape.nbytes


def test_large_blocks_first_and_a_small_one_for_the_rest():
    grant = BlockPool(SIS).allocate(4096 + 2048)
    assert [SIS.size(block) for block in grant.blocks] == [4096, 2048]
    grant = BlockPool(SIS).allocate(4096 + 2049)
    assert [SIS.size(block) for block in grant.blocks] == [4096, 4096]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((100, 200, 2, 2), "blocks of 100 and 200 bytes: a small block is whole lines"),
        ((2048, 3000, 2, 2), "a large one whole small ones"),
        ((64, 64, 0, 0), "0 large and 0 small blocks: a pool has at least one block"),
    ],
)
def test_impossible_shapes_are_refused(shape, words):
    with pytest.raises(BadRequest, match=words):
        BlockPoolShape(*shape)
