"""The cases each check runs on: a conduit with some of its options, a number of ranks and a seed."""

import re
import warnings
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, Literal, get_args, get_origin, get_type_hints

import attrs
import pytest

import conduit
from conduit.conformance.covering import Row, covering_array, full_product
from conduit.contract import Conduit, JobSetup, RankKind
from conduit.errors import ConduitWarning
from conduit.launch import registry
from conduit.launch.jobs.simulated import SimulatedJob
from conduit.launch.printing import output
from conduit.simnet.looking import looking

CI_RANKS = (2, 3, 8)
# How many cases come before all others: the default options with 2 and 3 ranks.
FIRST = 2
# On networks in real time, whose ranks share this machine's processors.
REAL_RANKS = (2, 3)
# Where each rank is a process; what runs once does so on the first.
PROCESS_RANKS = (3, 1, 2, 4)
FULL_RANKS = (1, 2, 3, 5, 8, 16)
FULL_SEEDS = 5
# One case runs all checks in about 12 s; two hours have room for this many.
FULL_CASES = 600
CLOCKS = "which compare the clocks of ranks; every process has its own"
PLACED = "which choose where ranks are; the launcher has placed them"
OTHER_RANKS = "which have jobs of another number of ranks; there are as many as processes"
# Simulated seconds; no check needs a tenth of it, and a conduit that never ends must not hang the suite.
TIME_LIMIT = 60.0
DEFAULT_SEGMENT = 1 << 16
# Ranks on a host that every conduit is tried with, as far as its hosts have room; on hosts that hold more, these too;
# and how many make a host full enough to be tried by itself, sharing what a host has once.
PER_HOST = (None, 1, 2)
PER_LARGE_HOST = 4
FULL_HOST = 8


@attrs.frozen
class Case:
    """One conduit, ready to run programs on: what every check is given.

    Attributes:
        network: the conduit with its options.
        ranks: how many ranks its jobs have; None where the launcher decides.
        ranks_per_host: as ``conduit.run`` takes it.
        seed: of its jobs.
        label: its name in reports.
        row: its number in the covering array of the options, None of the default options.
    """

    network: registry.Spec
    ranks: int | None
    ranks_per_host: int | None
    seed: int
    label: str
    row: int | None = None

    @property
    def cls(self) -> type[Conduit]:
        """The conduit's class."""
        return self.network.cls

    @property
    def options(self) -> Any:
        """The conduit's options, an instance of ``cls.Options``."""
        return self.network.options

    @property
    def spec(self) -> str:
        """The conduit with its options, as ``conduit.run`` takes it."""
        return self.network.text

    @property
    def size(self) -> int:
        """The number of ranks, known only where the suite decides it."""
        assert self.ranks is not None
        return self.ranks

    @property
    def limits(self) -> Any:
        """The conduit's limits with these options."""
        return self.network.limits

    @property
    def simulated(self) -> bool:
        """Whether jobs run in virtual time."""
        return self.network.simulated

    @property
    def together(self) -> bool:
        """Whether all ranks are tasks of this process, so that they share the variables of a check."""
        return self.network.rank_kind is RankKind.TASK

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Payload sizes in bytes at which the conduit changes its way of sending, as far as it tells."""
        return tuple(self.cls.thresholds(self.options))

    def at_least(self, ranks: int) -> "Case":
        """Give this case with no fewer ranks than that, for a check that needs a peer."""
        if self.ranks is None or self.ranks >= ranks:
            return self
        return attrs.evolve(self, ranks=ranks, ranks_per_host=None)

    def with_ranks(self, ranks: int) -> "Case":
        """Give this case with exactly that number of ranks, as many of them on a host as its conduit chooses."""
        if self.ranks is None or self.ranks == ranks:
            return self
        return attrs.evolve(self, ranks=ranks, ranks_per_host=None)

    def option(self, **values: object) -> "Case":
        """Give this case with some options set to other values."""
        return attrs.evolve(self, network=self.network.with_options(**values))

    def has_option(self, name: str) -> bool:
        """Say whether the conduit has an option of that name."""
        return name in attrs.fields_dict(self.cls.Options)

    def by_messages(self) -> "Case":
        """Give this case so that puts, gets and atomics are messages, for a check of these."""
        plain = {"rma": "am", "shared": False}  # no native operations, no segments that several ranks reach
        return self.option(**{name: value for name, value in plain.items() if self.has_option(name)})

    def longest(self, *, reply: bool = False, at_most: int = 1 << 62) -> int:
        """Give the largest long payload in bytes that fits the limits, the largest segment and ``at_most``."""
        limit = self.limits.max_long_reply if reply else self.limits.max_long_request
        ceiling = self.cls.max_segment(self.options)
        return int(min(limit, at_most, limit if ceiling is None else ceiling))

    def sizes(self, limit: int) -> list[int]:
        """Give the payload sizes from 0 to ``limit`` bytes at which mistakes live."""
        near = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257}
        for edge in (*self.thresholds, limit, self.limits.max_medium, 512):
            near |= {edge - 9, edge - 8, edge - 7, edge - 1, edge, edge + 1, edge + 7, edge + 8}
        return sorted(size for size in near if 0 <= size <= limit)

    def run(self, main: Callable[..., Awaitable[Any]], *args: Any, **settings: Any) -> Any:
        """Run a program on this case and give ``conduit.run``'s result; settings are those of ``conduit.run``."""
        chosen: dict[str, Any] = {
            "ranks": self.ranks,
            "conduit": self.spec,
            "seed": self.seed,
            "segment": DEFAULT_SEGMENT,
            "ranks_per_host": self.ranks_per_host,
            "time_limit": TIME_LIMIT if self.simulated else None,
        }
        announced = self.cls.announced(self.options) if self.network.rank_kind is RankKind.PROCESS else None
        if announced and (settings.get("ranks") or self.ranks) != announced:
            pytest.skip(OTHER_RANKS)
        return conduit.run(main, *args, **(chosen | settings))

    @contextmanager
    def warns(self, text: str) -> Iterator[list[str]]:
        """Expect that a job inside warns of what ``text`` matches, as `re.search` does.

        Yields:
            What is warned of, once the job is over.  Where ranks are processes the first warns for all, the others of
            nothing; their list stays empty.
        """
        told: list[str] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield told
        told += [str(each.message) for each in caught if issubclass(each.category, ConduitWarning)]
        if self.together or output.is_first():
            assert any(re.search(text, each) for each in told), f"no warning matches {text!r}: {told}"
        else:
            assert not told

    def run_watched(self, main: Callable[..., Awaitable[Any]]) -> Any:
        """Run a program as `run` does, and look at each call of the network and each event, as in development mode."""
        hosts = self.cls.placement(self.options, self.size, self.ranks_per_host)
        auxiliary = self.cls.auxiliary_beside(self.options, DEFAULT_SEGMENT)
        setup = JobSetup(ranks=self.size, hosts=hosts, segment=DEFAULT_SEGMENT, auxiliary=auxiliary, seed=self.seed)
        with looking():
            job = SimulatedJob(main, (), self.network, setup, TIME_LIMIT, listener=lambda event: None)
            return job.run()


def cases(text: str, *, full: bool, seed: int, crowds: bool = False, ranks: tuple[int, ...] = ()) -> list[Case]:
    """Give the cases of one spec.

    Args:
        text: the spec; options that it names keep their value in every case.
        full: every number of ranks and all combinations of options (or triples of them), each weak order five times.
        seed: where the seeds start, and which covering array is taken.
        crowds: also the larger and smaller numbers of ranks on the default options, for checks of crowds.
        ranks: the only numbers of ranks, in the place of the suite's own; none for these.
    """
    spec = registry.parse_spec(text)
    fixed = {part.partition("=")[0].strip() for part in text.partition(":")[2].split(",")}
    if spec.rank_kind is RankKind.PROCESS:
        return [_case(spec, {"ranks": count}, seed, "default") for count in ranks or PROCESS_RANKS]
    if not spec.simulated:
        return [_case(spec, {"ranks": count}, seed, "default") for count in ranks or REAL_RANKS]
    if full:
        return list(_full_cases(spec, seed, fixed, ranks))
    return list(_ci_cases(spec, seed, fixed, ranks, crowds=crowds))


def _ci_cases(
    spec: registry.Spec, seed: int, fixed: Set[str], only: tuple[int, ...], *, crowds: bool
) -> Iterator[Case]:
    usual = [*CI_RANKS, *(count for count in FULL_RANKS if crowds and count not in CI_RANKS)]
    for ranks in only or usual:
        if _fits(spec, {"ranks": ranks}):
            yield _case(spec, {"ranks": ranks}, seed, "default")
    for crowd in _full_hosts(spec):
        if not only or 2 * crowd in only:
            yield _case(spec, {"ranks": 2 * crowd, "ranks_per_host": crowd}, seed, "smp")
    if only and not any(_fits(spec, {"ranks": ranks}) for ranks in only):
        return
    rows = covering_array(_factors(spec, only or CI_RANKS, fixed), 2, allowed=lambda row: _fits(spec, row), seed=seed)
    for number, row in enumerate(rows):
        yield attrs.evolve(_case(spec, row, seed + 1 + number, f"row{number}"), row=number)


def _full_hosts(spec: registry.Spec) -> tuple[int, ...]:
    """Give how many ranks fill a host, as far as the suite goes, where one holds more than two."""
    most = spec.cls.max_ranks_per_host(spec.options)
    return (min(most, FULL_HOST),) if most is not None and most > 2 else ()


def _full_cases(spec: registry.Spec, seed: int, fixed: Set[str], only: tuple[int, ...]) -> Iterator[Case]:
    if only and not any(_fits(spec, {"ranks": ranks}) for ranks in only):
        return
    factors = _factors(spec, only or (*FULL_RANKS, *(4 * crowd for crowd in _full_hosts(spec))), fixed)
    factors["ranks_per_host"] += _full_hosts(spec)
    if _product_size(factors) * FULL_SEEDS <= FULL_CASES:
        rows = full_product(factors, lambda row: _fits(spec, row))
    else:
        rows = covering_array(factors, 3, allowed=lambda row: _fits(spec, row), seed=seed)
    if not only:
        yield from _last_cpu_cases(spec, factors, seed)
    for number, row in enumerate(rows):
        # In strict order a seed decides next to nothing.
        turns = 1 if getattr(_options(spec, row), "order", "weak") == "strict" else FULL_SEEDS
        for turn in range(turns):
            yield _case(spec, row, seed + FULL_SEEDS * number + turn, f"row{number}")


def _last_cpu_cases(spec: registry.Spec, factors: Mapping[str, Sequence[Hashable]], seed: int) -> Iterator[Case]:
    """Take all CPUs of two hosts where they hold more ranks than the rows try; then with every option changed, too."""
    most = spec.cls.max_ranks_per_host(spec.options) or 0
    row: Row = {"ranks": 2 * most, "ranks_per_host": most}
    changed = {
        name: [value for value in values if value != getattr(spec.options, name)][-1]
        for name, values in factors.items()
        if name not in row
    }
    for label, full in (("full-hosts", row), ("full-hosts-changed", row | changed)):
        if most > FULL_HOST and _fits(spec, full):
            yield _case(spec, full, seed, label)


def _product_size(factors: Mapping[str, Sequence[Hashable]]) -> int:
    size = 1
    for values in factors.values():
        size *= len(values)
    return size


def _factors(spec: registry.Spec, rank_counts: Sequence[int], fixed: Set[str]) -> dict[str, tuple[Hashable, ...]]:
    """Name what varies: ranks, ranks on a host, and the options that the user's spec does not fix."""
    most = spec.cls.max_ranks_per_host(spec.options)
    large = (PER_LARGE_HOST,) if most is not None and most >= PER_LARGE_HOST else ()
    factors: dict[str, tuple[Hashable, ...]] = {"ranks": tuple(rank_counts), "ranks_per_host": (*PER_HOST, *large)}
    hints = get_type_hints(spec.cls.Options)
    for field in attrs.fields(spec.cls.Options):
        values = _choices(field, hints.get(field.name))
        if field.name not in fixed and len(values) > 1:
            factors[field.name] = values
    return factors


def _choices(field: Any, hint: object) -> tuple[Hashable, ...]:
    """Give the values of an option that the suite tries: those it declares, else all that its type allows."""
    declared = field.metadata.get("conformance")
    if declared is not None:
        return tuple(declared)
    if hint is bool:
        return (True, False)
    return get_args(hint) if get_origin(hint) is Literal else ()


def _fits(spec: registry.Spec, row: Row) -> bool:
    """Say whether the conduit accepts these options and can place these ranks."""
    ranks: Any = row["ranks"]
    per_host: Any = row.get("ranks_per_host")
    try:
        spec.cls.placement(_options(spec, row), ranks, per_host)
    except ValueError:
        return False
    return True


def _options(spec: registry.Spec, row: Row) -> Any:
    options: Any = spec.options
    return attrs.evolve(options, **{k: v for k, v in row.items() if k not in ("ranks", "ranks_per_host")})


def _case(spec: registry.Spec, row: Row, seed: int, label: str) -> Case:
    ranks: Any = row.get("ranks")
    per_host: Any = row.get("ranks_per_host")
    name = f"{spec.text}-{label}-{ranks}ranks-seed{seed}"
    return Case(attrs.evolve(spec, options=_options(spec, row)), ranks, per_host, seed, name)
