"""Groups, which are plain."""

import numpy as np
import pytest

import conduit
from conduits.mpi import MPI


def test_ranges_of_a_group_are_of_integers():
    world = MPI.Group.of(range(8))
    assert world.Range_incl([(6, 1, -2), (np.int8(0), True, 1)]).members == (6, 4, 2, 0, 1)
    for call in (world.Range_incl, world.Range_excl):
        with pytest.raises(
            conduit.BadRequest, match=rf"^Group\.{call.__name__}: \(0, 1\.9, 1\) is no triple of integers"
        ):
            call([(0, 1.9, 1)])
        with pytest.raises(conduit.BadRequest, match=r"\(0, 1\) is no triple of integers \(first, last, stride\)$"):
            call([(0, 1)])


def test_a_range_whose_stride_leads_away_from_its_end_is_refused_as_by_mpi_libraries():
    world = MPI.Group.of(range(8))
    for call in (world.Range_incl, world.Range_excl):
        for triple in ((1, 3, -1), (3, 1, 1), (3, 2, 5)):
            with pytest.raises(
                MPI.Exception, match=r"the stride of \(\d, \d, -?\d\) leads away from its last"
            ) as error:
                call([triple])
            assert error.value.Get_error_class() == MPI.ERR_ARG
    assert world.Range_incl([(3, 3, -2), (2, 2, 9)]).members == (3, 2)


def test_the_constant_of_the_empty_group_stays_when_it_is_freed():
    MPI.GROUP_EMPTY.Free()
    assert MPI.GROUP_EMPTY
    assert MPI.GROUP_EMPTY.Get_size() == 0
    other = MPI.Group.of(())
    other.Free()
    assert other == MPI.GROUP_NULL != MPI.GROUP_EMPTY
