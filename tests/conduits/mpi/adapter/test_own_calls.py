"""Collective calls that processes have made each by itself are compared when the job is over."""

import threading

import pytest

from conduits.mpi.adapter import own_calls
from conduits.mpi.adapter.own_calls import OwnCalls
from conduits.mpi.awaited.same_calls import Elements, Given

WORLD = "MPI_COMM_WORLD"


def warnings(*calls, groups=None):
    """Return what each of several ranks says, of which each has made calls: name, bytes, root, communicator, more."""
    size, told, met = len(calls), {}, threading.Barrier(len(calls))
    said = [None] * size

    def gather(rank, data):
        told[rank] = data
        met.wait(10)
        found = [told[each] for each in range(size)]
        met.wait(10)
        return found

    def live(rank):
        own = OwnCalls()
        for number, (call, nbytes, root, context, *other) in enumerate(calls[rank]):
            parts = (groups or {}).get(context, [(range(size), WORLD)])
            group, name = next(part for part in parts if rank in part[0])
            own.called(context, group, number, call, Given(nbytes, root, *other), rank, name)
        said[rank] = list(own.differing(rank, size, lambda data: gather(rank, data)))

    threads = [threading.Thread(target=live, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    line = live.__code__.co_firstlineno + 5
    return [[text.replace(f"{__file__}:{line}", "HERE") for text in texts] for texts in said]


BARRIER, REDUCED = ("Barrier", 0, None, -1), ("Allreduce", 8, None, -1)
BY_CHANCE = "MPI says nothing of it, and results may be wrong"


def test_of_the_same_calls_nothing_is_said():
    assert warnings([BARRIER, REDUCED], [BARRIER, REDUCED], [BARRIER, REDUCED]) == [[], [], []]
    assert warnings([], []) == [[], []]


def test_bytes_are_compared_where_all_give_the_same():
    gathers = [[("Gatherv", 8 * rank, 0, -1), ("Alltoallv", rank, None, -1)] for rank in range(3)]
    assert warnings(*gathers) == [[], [], []]
    (none, said) = warnings([("Ibcast", 8, 0, -1)], [("Ibcast", 16, 0, -1)])
    assert none == []
    assert said == [
        "Comm.Ibcast at HERE: 16 bytes, but rank 0 has called it with 8 at HERE; give the same on all ranks of "
        f"MPI_COMM_WORLD; {BY_CHANCE}"
    ]


@pytest.mark.parametrize("before", [0, 1000])
def test_the_first_call_that_differs_is_told_by_the_lowest_rank_whose_it_is(before):
    same = [BARRIER, REDUCED] * before
    said = warnings([*same, REDUCED, BARRIER], [*same, REDUCED, BARRIER], [*same, BARRIER, REDUCED], [*same, BARRIER])
    assert said == [
        [],
        [],
        [
            "Comm.Barrier at HERE: in its place rank 0 has called Allreduce at HERE; all ranks of MPI_COMM_WORLD make "
            f"the same collective calls in the same order; {BY_CHANCE}"
        ],
        [],
    ]


def test_another_root():
    assert warnings([("Bcast", 8, 0, -1)], [("Bcast", 8, 1, -1)])[1] == [
        "Comm.Bcast at HERE: root=1, but rank 0 has called it with root=0 at HERE; give the same on all ranks of "
        f"MPI_COMM_WORLD; {BY_CHANCE}"
    ]


FLOATS, LONGS, ANY = Elements("<f8", "MPI_DOUBLE"), Elements("<i8", "MPI_LONG"), Elements("", "")
SAME = f"give the same on all ranks of MPI_COMM_WORLD; {BY_CHANCE}"


@pytest.mark.parametrize(
    ("first", "mine", "said"),
    [
        (("MPI_SUM", FLOATS), ("MPI_MAX", FLOATS), "op=MPI_MAX, but rank 0 has called it with op=MPI_SUM at HERE"),
        (
            ("MPI_SUM", FLOATS),
            ("MPI_SUM", LONGS),
            "elements of MPI_LONG, but rank 0 has called it with MPI_DOUBLE at HERE",
        ),
        (
            ("MPI_SUM", FLOATS, "ring"),
            ("MPI_SUM", FLOATS, "two-level"),
            "algorithm='two-level', but rank 0 has called it with algorithm='ring' at HERE",
        ),
    ],
)
@pytest.mark.parametrize("before", [0, 20_000])
def test_another_operator_datatype_or_algorithm(first, mine, said, before):
    same = [BARRIER] * before
    calls = [[*same, ("Allreduce", 8, None, -1, *each)] for each in (first, mine)]
    assert warnings(*calls) == [[], [f"Comm.Allreduce at HERE: {said}; {SAME}"]]


def test_what_elements_are_is_compared_with_the_first_that_tells():
    any_, floats, longs = (("Bcast", 8, 0, -1, "", each) for each in (ANY, FLOATS, LONGS))
    assert warnings([any_], [floats], [any_], [floats]) == [[]] * 4
    said = f"Comm.Bcast at HERE: elements of MPI_LONG, but rank 1 has called it with MPI_DOUBLE at HERE; {SAME}"
    assert warnings([any_], [floats], [any_], [longs]) == [[], [], [], [said]]


def test_of_what_may_be_right_a_later_difference_is_found():
    """A rank that says nothing of its elements differs from others, and not wrongly."""
    any_, floats, longs = (("Bcast", 8, 0, -1, "", each) for each in (ANY, FLOATS, LONGS))
    assert len(warnings([any_, floats], [floats, longs])[1]) == 1


def test_data_that_are_moved_are_looked_at_in_so_many_calls():
    """The ranks may have meant what differs: it is not worth a long end of a long job."""
    floats, longs = (("Bcast", 8, 0, -1, "", each) for each in (FLOATS, LONGS))
    assert len(warnings([BARRIER] * 9_999 + [floats], [BARRIER] * 9_999 + [longs])[1]) == 1
    assert warnings([BARRIER] * 10_000 + [floats], [BARRIER] * 10_000 + [longs]) == [[], []]


def test_a_call_that_some_have_not_made():
    said = warnings([BARRIER], [BARRIER, ("Reduce", 8, 2, -1)], [BARRIER])
    assert said == [
        [],
        ["Reduce on MPI_COMM_WORLD, at HERE, was called by rank 1, and not by ranks 0, 2: all ranks make the same "
         "collective calls"],
        [],
    ]  # fmt: skip


def test_communicators_are_compared_by_themselves():
    """Parts of one communicator may have the same number, and differ in their first ranks."""
    groups = {3: [((0, 2), "even"), ((1, 3), "odd")]}
    one, two, other = ("Barrier", 0, None, 3), ("Allreduce", 8, None, 3), ("Bcast", 8, 0, 3)
    said = warnings([one], [two], [one], [other], groups=groups)
    assert [len(texts) for texts in said] == [0, 0, 0, 1]
    assert said[3][0].endswith(f"; all ranks of odd make the same collective calls in the same order; {BY_CHANCE}")


def test_a_rank_tells_how_often_it_has_made_each_call():
    own = OwnCalls()
    for number, call in enumerate(("Barrier", "Allreduce", "Barrier")):
        own.called(-1, range(2), number, call, Given(0), 0, WORLD)
    own.called(-1, (0,), 0, "Barrier", Given(0), 0, "MPI_COMM_SELF")
    found = [(part.name, part.come, part.waits, part.everybody) for part in own.parts()]
    assert found == [
        ("Barrier of MPI on communicator -1 of rank 0", 2, {"MPI Barrier of all on MPI_COMM_WORLD": 1}, True),
        ("Allreduce of MPI on communicator -1 of rank 0", 1, {}, True),
        ("calls of MPI on communicator -1 of rank 0", 3, {}, False),
    ]


def last_calls(*calls):
    """Return what a rank tells of its last calls, of which it has made some: name and more."""
    own = OwnCalls()
    for number, (call, *given) in enumerate(calls):
        own.called(-1, range(2), number, call, Given(*given), 0, WORLD)
    *_, part = own.parts()
    return part


def test_a_rank_tells_its_last_calls_to_be_compared(monkeypatch):
    mine, theirs = (last_calls(("Barrier", 0), ("Bcast", 8, root), ("Bcast", 16, 1)) for root in (1, 0))
    said = [one.differs(1, other, 0) for one, other in zip(mine.turns, theirs.turns, strict=True)]
    here = f"{__file__}:{last_calls.__code__.co_firstlineno + 4}"
    assert said == [
        "",
        f"Comm.Bcast of rank 1 at {here}: root=1, but rank 0 has called it with root=0 at {here}; give the same on all "
        "ranks of MPI_COMM_WORLD",
        "",
    ]
    many = last_calls(*[("Barrier", 0)] * 150)
    assert (many.come, len(many.turns)) == (150, 100)
    monkeypatch.setattr(own_calls, "_MOST", 149)
    assert not last_calls(*[("Barrier", 0)] * 150).turns  # which are not kept


def test_of_communicators_of_one_name_it_does_not_tell_in_which_it_waits():
    own = OwnCalls()
    for context in (3, 6):
        own.called(context, range(2), 0, "Bcast", Given(8, 0), 0, "a duplicate")
    own.called(9, range(2), 0, "Bcast", Given(8, 0), 0, "another")
    waits = [part.waits for part in own.parts() if part.name.startswith("Bcast")]
    assert waits == [{}, {}, {"MPI Bcast of all on another": 0}]
