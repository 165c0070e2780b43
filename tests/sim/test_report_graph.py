"""The graph of who waits for whom: causes and cycles against a naive search, on records alone."""

import json
import pickle

import attrs
from hypothesis import given
from hypothesis import strategies as st

from conduit.contract import Participation
from conduit.launch.reports import RankRecord, SourceLine, TaskRecord, WaitRecord, brief, explain, full
from conduit.launch.reports.clues import CarriedClue

PLACE = SourceLine("program.py", 7, "main")


def record(rank, ranks, *, what="a word", parts=()):
    wait = WaitRecord(what, "predicate", 1_000_000 * rank, tuple(sorted(ranks)))
    task = TaskRecord(f"rank {rank}", PLACE, False, "", wait)
    return RankRecord(rank, "runs its main", True, False, (task,), True, 0, (), (), tuple(parts))


def reach(follows, start):
    """Return all that a rank waits for, directly or in turn."""
    seen, pending = set(), [start]
    while pending:
        for other in follows[pending.pop()]:
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return seen


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 9))
    return [draw(st.sets(st.integers(0, size - 1), max_size=3)) for _ in range(size)]


@given(graphs())
def test_causes_are_what_nobodys_wait_explains(follows):
    report = explain("deadlock", 0, [record(rank, ranks) for rank, ranks in enumerate(follows)])
    found = {rank: reach(follows, rank) for rank in range(len(follows))}
    last = {rank for rank in found if all(rank in found[other] for other in found[rank])}
    named = {rank for cause in report.causes for rank in cause.ranks}
    assert named <= last
    for rank in last:
        alone = not found[rank]
        assert rank in named or (not alone and named & found[rank]), report
    for cause in report.causes:
        waiting = {rank for rank in found if found[rank] & set(cause.ranks)} - set(cause.ranks)
        assert set(cause.direct) | set(cause.in_turn) == waiting
        assert set(cause.direct) == {rank for rank in waiting if follows[rank] & set(cause.ranks)}
        assert bool(cause.cycle) == bool(found[cause.ranks[0]])
        for one, other in zip(cause.cycle, cause.cycle[1:], strict=False):
            assert other in follows[one]


@given(graphs())
def test_a_report_survives_pickling_and_every_rank_is_in_both_texts(follows):
    records = [record(rank, ranks) for rank, ranks in enumerate(follows)]
    report = explain("stall", 5_000_000, pickle.loads(pickle.dumps(records)))
    assert report == explain("stall", 5_000_000, records)
    assert brief(pickle.loads(pickle.dumps(report))) == brief(report)
    assert len(brief(report).splitlines()) <= 25
    assert all(f"\nrank {rank}: " in full(report) for rank in range(len(follows)))


def test_who_has_not_come_is_known_by_all_ranks_together():
    """Ranks 0 and 1 of a team of four wait, rank 2 has given its part and gone on, rank 3 has not come."""
    members = (0, 1, 2, 3)

    def part(come, *, waits):
        return Participation("barriers", members, come, {"a barrier": come - 1} if waits else {}, True)

    records = [
        record(0, [1], what="a barrier", parts=[part(5, waits=True)]),
        record(1, [3], what="a barrier", parts=[part(5, waits=True)]),
        record(2, [], what="news", parts=[part(5, waits=False)]),
        record(3, [], what="news", parts=[part(4, waits=False)]),
    ]
    report = explain("deadlock", 0, records)
    assert [rank.tasks[0].wait.missing for rank in report.ranks] == [(3,), (3,), (), ()]
    assert report.causes[0].direct == (0, 1)


def test_ranks_at_one_line_are_one_cause_only_if_somebody_waits_for_each_of_them():
    """Rank 0 waits for rank 1 alone; what ranks 2 and 3 do at its line is nobody's affair."""
    weather = [record(rank, [], what="the weather") for rank in (1, 2, 3)]
    report = explain("deadlock", 0, [record(0, [1]), *weather])
    assert [(cause.ranks, cause.direct) for cause in report.causes] == [((1,), (0,)), ((2, 3), ())]
    assert brief(report).splitlines()[1:3] == [
        "rank 1: program.py:7 in main: waits for the weather since 1.000 us",
        "    rank 0 waits for it; it polls and has handled all that came",
    ]


def test_a_cycle_follows_a_call_of_all_to_those_that_have_not_come():
    """Ranks 0, 1 and 3 need one another's parts in a sum, and rank 2 has gone to a barrier without it."""
    members = (0, 1, 2, 3)

    def parts(rank):
        here = rank != 2
        return [
            Participation("sums", members, int(here), {"a sum": 0} if here else {}, False),
            Participation("barriers", members, int(not here), {} if here else {"a barrier": 0}, True),
        ]

    follows = {0: [1], 1: [3], 2: [], 3: [2]}
    records = [
        record(rank, ranks, what="a barrier" if rank == 2 else "a sum", parts=parts(rank))
        for rank, ranks in follows.items()
    ]
    (cause,) = explain("deadlock", 0, records).causes
    assert cause.cycle == (0, 2, 0)
    assert (cause.direct, cause.in_turn) == ((1, 3), ())


def test_the_cycle_of_a_knot_is_a_shortest_one():
    """Rank 0 is in a cycle of four, ranks 2 and 3 wait for one another."""
    follows = [[1], [2], [3], [0, 2]]
    (cause,) = explain("deadlock", 0, [record(rank, ranks) for rank, ranks in enumerate(follows)]).causes
    assert cause.cycle == (2, 3, 2)


def test_the_work_of_a_report_grows_with_the_ranks_and_not_with_their_square(monkeypatch):
    """Of a thousand ranks half of which wait for the other half no list is as long as the product."""
    size = 1024
    here, there = tuple(range(size // 2)), tuple(range(size // 2, size))

    def part(come, *, waits):
        return Participation("barriers", range(size), come, {"a barrier": 0} if waits else {}, True)

    records = [record(rank, [], what="a barrier", parts=[part(1, waits=True)]) for rank in here]
    records += [record(rank, [], what="news", parts=[part(0, waits=False)]) for rank in there]
    report = explain("deadlock", 0, records)
    assert [(edge.waiting, edge.awaited) for edge in report.edges] == [(here, there)]
    assert len(brief(report).splitlines()) < 8


@attrs.frozen
class Likes:
    """A rank's liking, which says something where the rank that it likes likes it too, and waits for it."""

    rank: int

    def advice(self, rank, waits, others):
        mutual = self.rank in others and others[self.rank].rank == rank
        return f"say {waits(self.rank)[0].what!r}" if mutual and rank in waits(self.rank)[0].ranks else ""


def test_what_only_several_ranks_together_know_is_advised_by_the_layer_that_knows_what_it_means():
    ranks = [
        attrs.evolve(record(rank, [liked]), clues=(CarriedClue.of(Likes(liked)),))
        for rank, liked in enumerate((1, 0, 1))
    ]
    said = "say 'a word'"
    for kind in ("deadlock", "stall", "interrupted"):
        report = explain(kind, 0, pickle.loads(pickle.dumps(ranks)))
        assert [text(report).splitlines()[-1] for text in (brief, full)] == [said, said]
        assert brief(report).count(said) == 1
    assert said not in brief(explain("stall", 0, [ranks[0], record(1, [0]), ranks[2]]))
    assert all("clues" not in rank for rank in json.loads(report.to_json())["ranks"])


def test_teams_are_told_apart_whose_ranks_stand_at_one_line():
    """Ranks 1 and 6 have not come to the barriers of two teams of four."""
    teams = {0: (0, 1, 2, 3), 1: (4, 5, 6, 7)}

    def of(rank):
        team, here = rank // 4, rank not in (1, 6)
        what = f"a barrier of ranks {4 * team}-{4 * team + 3}"
        part = Participation(f"barriers {team}", teams[team], int(here), {what: 0} if here else {}, True)
        return record(rank, [], what=what if here else "news", parts=[part])

    lines = brief(explain("deadlock", 0, list(map(of, range(8))))).splitlines()
    for team, missing in ((0, 1), (1, 6)):
        told = f"waits for a barrier of ranks {4 * team}-{4 * team + 3}, to which rank {missing} has not come, since "
        assert sum(told in line for line in lines) == 3


def test_of_many_that_have_returned_each_waits():
    waits = [attrs.evolve(record(rank, []).tasks[0], place=None) for rank in range(7)]
    records = [
        attrs.evolve(record(rank, []), stage="its main has returned", running=False, serving=True, tasks=(wait,))
        for rank, wait in enumerate(waits)
    ]
    told = brief(explain("deadlock", 0, records))
    assert "7 ranks (0-6): the main of each has returned: each waits for a word, since " in told
