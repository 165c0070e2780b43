"""How a rank's MPI makes communicators: what tells those apart that are made at the same time."""

from types import SimpleNamespace

import pytest

from conduits.mpi.adapter.library import Library
from conduits.mpi.errors import ErrorClass, MpiError


class Everyone:
    """A communicator that notes with which tags new ones are made of a part of it."""

    def __init__(self, rank, size, tag_bound):
        self._rank = rank
        self._size = size
        self._tag_bound = tag_bound
        self.tags = {}

    def Get_rank(self):
        return self._rank

    def Get_size(self):
        return self._size

    def Get_attr(self, which):
        assert which == "TAG_UB"
        return self._tag_bound

    def Dup(self):
        return self

    def Free(self):
        pass

    def Get_group(self):
        return SimpleNamespace(Incl=lambda ranks: SimpleNamespace(ranks=tuple(ranks), Free=lambda: None))

    def Create_group(self, group, tag):
        assert 0 <= tag <= self._tag_bound
        self.tags.setdefault(group.ranks, []).append(tag)
        return self


def libraries(size, tag_bound=(1 << 29) - 1):
    made = []
    for rank in range(size):
        everyone = Everyone(rank, size, tag_bound)
        alone = Everyone(0, 1, tag_bound)
        mpi = SimpleNamespace(
            Status=lambda: None, COMM_SELF=alone, TAG_UB="TAG_UB", ANY_SOURCE=-2, ANY_TAG=-1, BYTE=None,
            Exception=RuntimeError,
        )  # fmt: skip
        made.append((Library(mpi, everyone), everyone))
    return made


def made_by(library, group, context):
    """Make a communicator, to its end."""
    steps = library.make(group, context, "new")
    try:
        while True:
            for making in next(steps):
                while not making.over:
                    pass  # its thread makes it at once
    except StopIteration as end:
        return end.value


@pytest.mark.parametrize("tag_bound", [32767, (1 << 29) - 1], ids=["the least of the standard", "MPICH's"])
def test_communicators_made_at_once_of_groups_that_overlap_are_made_with_tags_of_their_own(tag_bound):
    made = libraries(4, tag_bound)

    def agree(group, *given):
        context = max(given)
        for rank in group:
            made[rank][0].agreed(context)
            made_by(made[rank][0], group, context)

    # Ranks 2 and 3 have made one that the others know nothing of, and so propose higher numbers than they do.
    agree((2, 3), *(made[rank][0].next_context() for rank in (2, 3)))
    first = {rank: made[rank][0].next_context() for rank in (0, 2)}
    second = {rank: made[rank][0].next_context() for rank in (1, 3)}
    second[0] = made[0][0].next_context()
    first[1] = made[1][0].next_context()
    agree((0, 1, 2), *first.values())
    agree((0, 1, 3), *second.values())
    for rank in (0, 1):
        tags = made[rank][1].tags
        assert len(tags[0, 1, 2]) == len(tags[0, 1, 3]) == 3
        assert not set(tags[0, 1, 2]) & set(tags[0, 1, 3])
        assert made[2][1].tags[0, 1, 2] == tags[0, 1, 2]


def test_collective_calls_have_as_many_tags_as_mpi():
    ((library, _),) = libraries(1, 32767)
    assert library.tags == 32768


def test_a_call_that_comes_late_to_a_communicator_is_told_that_it_was_freed():
    ((library, _),) = libraries(1)
    comm = made_by(library, (0,), library.next_context())
    comm.Free()
    for late in (
        lambda: comm.Isend(b"x", 0),
        lambda: comm.Irecv(bytearray(1), 0),
        lambda: comm.has(0, 0),
        lambda: comm.Improbe(0, 0),
        lambda: comm.collective("Ibarrier"),
    ):
        with pytest.raises(MpiError, match=r"^I\w+: new was freed while this call was under way; free") as error:
            late()
        assert error.value.Get_error_class() == ErrorClass.ERR_COMM


def test_a_rank_outside_of_a_group_makes_nothing_when_its_agreement_is_over():
    ((library, _),) = libraries(1)
    first = library.next_context()
    library.agreed(first)
    assert made_by(library, (), first) is None
    assert library.next_context() == first + 3  # and no number of its own, as while an agreement is under way


def test_where_all_tags_are_used_no_more_communicators_are_made():
    ((library, _),) = libraries(1, 32767)
    for _ in range((32767 + 1) // 2 // 3):
        library.agreed(library.next_context())
    with pytest.raises(MpiError, match=r"rank 0 has no number left for a communicator: it has made too many"):
        library.next_context()


class Refused(RuntimeError):
    def Get_error_class(self):
        return ErrorClass.ERR_OTHER.value

    def Get_error_string(self):
        return (
            "Other MPI error, error stack:\ninternal_Comm_create_group(98).......: MPI_Comm_create_group failed\n"
            "MPIR_Get_contextid_sparse_group(567): Too many communicators (0/2048 free on this process)"
        )


def test_where_mpi_makes_no_more_communicators_its_reason_is_told_and_nothing_is_left_of_the_one(monkeypatch):
    ((library, everyone),) = libraries(1)
    vars(library.mpi).update({each.name: each.value for each in ErrorClass})
    made = []

    def create_group(group, tag):
        if made:
            raise Refused
        made.append(SimpleNamespace(Free=made.clear))
        return made[0]

    monkeypatch.setattr(everyone, "Create_group", create_group)
    said = r"^new: Too many communicators \(0/2048 free on this process\); Free gives those back that are needed no "
    with pytest.raises(MpiError, match=said):
        made_by(library, (0,), library.next_context())
    assert made == []
