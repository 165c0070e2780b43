"""What the start of many ranks costs to simulate, with two barriers in which they first meet, in bytecodes."""

import sys

import pytest

from extended import Extended

RANKS = 8

BYTECODES = {"loggp": 38_000, "sci": 61_000, "sunfire": 105_100, "startx": 57_700}
"""Of a rank, from the job's start to its result; they may fall, not rise.

A hundred or two more than they take: an installed copy takes some more of them than one that is run in its folder."""


async def barriers(ep):
    """A program: all ranks meet twice."""
    layer = await Extended.attach(ep)
    await layer.barrier()
    await layer.barrier()


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python have other bytecodes")
@pytest.mark.parametrize("network", BYTECODES)
def test_the_start_of_many_ranks_takes_no_more_bytecodes_than_it_did(network, bytecodes):
    def of_a_rank():
        return bytecodes(barriers, ranks=RANKS, conduit=network, ranks_per_host=1) / RANKS

    of_a_rank()  # what is made once for the process
    assert 10_000 < of_a_rank() <= BYTECODES[network]
