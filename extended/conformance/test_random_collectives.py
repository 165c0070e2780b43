"""Random sequences of collectives on random teams, blocking and not, against plain numpy."""

from typing import Any

import attrs
import numpy as np
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from extended.conformance.oracle import array, folded, rows, same, small, stacked
from extended.conformance.programs import attached

hypothesis: Any = pytest.importorskip("hypothesis")
strategies: Any = pytest.importorskip("hypothesis.strategies")

ALGORITHMS = {
    "broadcast": ("flat", "tree", "two_level", "pipelined"),
    "scatter": ("flat", "tree", "two_level"),
    "gather": ("flat", "tree", "two_level"),
    "all_gather": ("dissemination", "ring", "tree", "two_level"),
    "all_to_all": ("pairwise", "dissemination", "spread"),
    "reduce": ("flat", "tree", "pipelined"),
    "all_reduce": ("dissemination", "tree", "pipelined"),
    "scan": ("dissemination", "pipelined"),
}
MOVED = ("u1", "<i4", ">f8", "c8", "?", "S3", "M8[ns]", "V5")
COMBINED = ("u1", ">i4", "f4", "<i8")
OPERATIONS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}


@attrs.frozen
class CollectiveStep:
    """One collective call, the same on all ranks of its team.

    Attributes:
        team: which of three teams makes it.
        call: its name.
        algorithm: how, None for the default.
        root: taken modulo the team's size.
        shape: of each rank's array.
        dtype: number of its dtype.
        op: of reductions.
        key: what the contents depend on.
        place: where the result goes: a new array, one of the caller's, or the argument itself.
        waits: how many handles may be open after it, 0 for the blocking form.
    """

    team: int
    call: str
    algorithm: str | None
    root: int
    shape: tuple[int, ...]
    dtype: int
    op: str
    key: int
    place: str
    waits: int


def scripts() -> Any:
    """Give scripts of a few steps."""
    size = strategies.one_of(strategies.integers(0, 9), strategies.sampled_from((63, 300, 513, 1100)))
    call = strategies.sampled_from(sorted(ALGORITHMS))
    return strategies.lists(
        call.flatmap(
            lambda call: strategies.builds(
                CollectiveStep,
                team=strategies.integers(0, 2),
                call=strategies.just(call),
                algorithm=strategies.sampled_from((None, *ALGORITHMS[call])),
                root=strategies.integers(0, 15),
                shape=strategies.one_of(strategies.tuples(size), strategies.tuples(strategies.integers(0, 4), size)),
                dtype=strategies.integers(0, 7),
                op=strategies.sampled_from(sorted(OPERATIONS)),
                key=strategies.integers(0, 50),
                place=strategies.sampled_from(("new", "out", "argument")),
                waits=strategies.integers(0, 3),
            )
        ),
        min_size=1,
        max_size=6,
    )


@attrs.frozen
class Oracle:
    """What a step should give, from the arrays of all members by their ranks in the job."""

    step: CollectiveStep
    members: tuple[int, ...]
    rank: int

    @property
    def root(self) -> int:
        """The root in the team."""
        return self.step.root % len(self.members)

    @property
    def reduces(self) -> bool:
        """Whether operands are combined."""
        return self.step.call in ("reduce", "all_reduce", "scan")

    @property
    def dtype(self) -> str:
        """The dtype of the arrays."""
        return COMBINED[self.step.dtype % 4] if self.reduces else MOVED[self.step.dtype]

    def one(self, rank: int) -> Any:
        """Give the argument of a rank of the team."""
        job_rank, step = self.members[rank], self.step
        if self.reduces:
            return small(job_rank, step.shape, self.dtype, step.key)
        if step.call in ("scatter", "all_to_all"):
            return rows(len(self.members), step.shape, self.dtype, step.key + 5 * job_rank)
        return array(job_rank, step.shape, self.dtype, step.key)

    def expected(self) -> Any:
        """Give the result on this rank."""
        everybody = range(len(self.members))
        at_root = self.rank == self.root
        with np.errstate(all="ignore"):
            match self.step.call:
                case "broadcast":
                    return self.one(self.root)
                case "scatter":
                    return self.one(self.root)[self.rank]
                case "gather":
                    return stacked([self.one(rank) for rank in everybody]) if at_root else None
                case "all_gather":
                    return stacked([self.one(rank) for rank in everybody])
                case "all_to_all":
                    return stacked([self.one(rank)[self.rank] for rank in everybody])
        upto = self.rank + 1 if self.step.call == "scan" else len(self.members)
        if self.step.call == "reduce" and not at_root:
            return None
        with np.errstate(all="ignore"):
            return folded([self.one(rank) for rank in range(upto)], OPERATIONS[self.step.op]).astype(self.dtype)


async def play(ep: Endpoint, script: list[CollectiveStep]) -> int:
    """Make the calls of a script and compare; give how many this rank has made."""
    x = await attached(ep)
    teams = [x, await x.split(ep.rank % 2, -ep.rank), await x.split(ep.rank // 3)]
    pending: list[tuple[Any, Any, Any]] = []
    for step in script:
        team = teams[step.team]
        members = tuple(team.job_rank(rank) for rank in range(team.size))
        oracle = Oracle(step, members, team.rank)
        expected = oracle.expected()
        given = oracle.one(team.rank)
        arguments: dict[str, Any] = {"algorithm": step.algorithm}
        if step.call in ("broadcast", "scatter", "gather", "reduce"):
            arguments["root"] = oracle.root
        if oracle.reduces:
            arguments["op"] = step.op
        if expected is not None and step.place != "new":
            fits = given.shape == expected.shape and step.place == "argument"
            arguments["out"] = given if fits else np.zeros_like(expected)
        with np.errstate(all="ignore"):
            if not step.waits:
                _compare(await getattr(team, step.call)(given, **arguments), expected, arguments.get("out"))
                continue
            handle = await getattr(team, step.call + "_nb")(given, **arguments)
            pending.append((handle, expected, arguments.get("out")))
            ep.random.shuffle(pending)
            while len(pending) > step.waits:
                handle, wanted, out = pending.pop()
                _compare(await handle, wanted, out)
    with np.errstate(all="ignore"):
        for handle, wanted, out in pending:
            _compare(await handle, wanted, out)
    for team in teams[1:]:
        await team.destroy()
    return len(script)


def _compare(found: Any, expected: Any, out: Any) -> None:
    if expected is None:
        assert found is None
    else:
        assert out is None or found is out
        same(found, expected)


@pytest.mark.rule(
    "X62", "X67", "X68", "X69", "X70", "X71", "X72", "X73", "X74", "X75", "X76", "X77", "X78", "X80", "X82"
)
@pytest.mark.crowds
def test_random_calls_give_what_numpy_gives(case: Case, request: pytest.FixtureRequest) -> None:
    """Any call, root, size, dtype, operation, algorithm and team, waited for in any order."""

    def check(script: list[CollectiveStep]) -> None:
        assert set(case.run(play, script).values) == {len(script)}

    limits = hypothesis.settings(
        max_examples=20 if request.config.getoption("full") else 2,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.seed(case.seed)(limits(hypothesis.given(scripts())(check)))()
