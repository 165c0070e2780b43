"""Which cases a spec makes."""

from collections import Counter
from functools import cache
from itertools import combinations, product

import pytest

from conduit.conformance.cases import CI_RANKS, FIRST, FULL_SEEDS, cases
from conduit.conformance.plugin import _leave_to_others, _most, drawn
from conduit.errors import ConduitError


@cache
def of(spec, **settings):
    return cases(spec, **({"full": False, "seed": 1} | settings))


@pytest.mark.parametrize("spec", ["loggp", "sci"])
def test_defaults_come_first_with_each_number_of_ranks(spec):
    plain = of(spec)[: len(CI_RANKS)]
    assert [case.ranks for case in plain] == list(CI_RANKS)
    assert {case.spec for case in plain} == {spec}


def test_checks_of_crowds_get_more_numbers_of_ranks():
    assert [case.ranks for case in of("loggp", crowds=True)[:6]] == [2, 3, 8, 1, 5, 16]


def test_every_pair_of_option_values_meets():
    options = {"order": ("strict", "weak"), "inline": (True, False), "slots": (1, 16), "max_medium": (512, 65_000)}
    rows = of("loggp")
    for left, right in combinations(options, 2):
        met = {(getattr(case.options, left), getattr(case.options, right)) for case in rows}
        assert met == set(product(options[left], options[right]))


def test_options_that_the_spec_names_keep_their_value():
    for full in (False, True):
        assert {case.options.slots for case in of("loggp:slots=7", full=full)} == {7}
    assert {case.options.order for case in of("loggp:order=strict")} == {"strict"}


@pytest.mark.parametrize("full", [False, True])
def test_what_may_deadlock_is_left_out(full):
    assert {case.options.queue for case in of("sci", full=full)} == {"paired", "single"}


def test_what_deadlocks_can_be_asked_for():
    assert {case.options.queue for case in of("sci:queue=split")} == {"split"}


def test_large_smps_are_filled():
    full = {(case.ranks, case.ranks_per_host) for case in of("startx", full=True)}
    assert {(32, 8), (32, 1), (16, 8), (8, 8), (8, 2)} <= full
    assert [(case.ranks, case.ranks_per_host) for case in of("startx") if case.ranks_per_host == 8] == [(16, 8)]
    assert not [case for case in of("sci") if case.ranks_per_host not in (None, 1, 2)]


@pytest.mark.parametrize("spec", ["loggp", "origin", "sci", "startx", "t3e"])
def test_all_cases_can_be_placed(spec):
    for case in of(spec, full=True):
        assert len(case.cls.placement(case.options, case.ranks, case.ranks_per_host)) == case.ranks


def test_large_hosts_are_tried_with_more_ranks():
    assert {case.ranks_per_host for case in of("sunfire")} == {None, 1, 2, 4, 8}
    assert {case.ranks_per_host for case in of("sci")} == {None, 1, 2}


@pytest.mark.parametrize(
    ("spec", "ranks", "per_host"), [("sunfire:order=strict,inline=yes", 48, 24), ("startx", 16, 8), ("sci", 8, 2)]
)
def test_full_fills_two_hosts_to_the_last_cpu(spec, ranks, per_host):
    assert (ranks, per_host) in {(case.ranks, case.ranks_per_host) for case in of(spec, full=True)}


def test_full_hosts_are_also_tried_with_every_option_changed():
    plain, changed = (case.options for case in of("sunfire:stripes=2", full=True) if case.ranks == 48)
    varied = ("order", "inline", "config", "wiring", "poll", "outstanding", "fault")
    assert all(getattr(plain, name) != getattr(changed, name) for name in varied)
    assert (plain.stripes, changed.stripes) == (2, 2)
    assert of("sunfire:order=strict,inline=yes", full=True)[1].options.stripes == 2


def test_full_has_five_seeds_of_weak_ordering():
    seeds = {}
    for case in of("sci", full=True):
        if case.options.order == "weak":
            seeds.setdefault((case.spec, case.ranks, case.ranks_per_host), set()).add(case.seed)
    assert all(len(each) >= FULL_SEEDS for each in seeds.values())
    strict = [
        (case.spec, case.ranks, case.ranks_per_host) for case in of("sci", full=True) if case.options.order == "strict"
    ]
    assert len(strict) == len(set(strict)) > 0


def test_specs_say_all_that_is_not_a_default():
    for case in of("sci"):
        again = of(case.spec)[0]
        assert again.options == case.options


def test_unknown_specs_are_refused():
    with pytest.raises(ConduitError, match=r"\Athere is no conduit 'nosuch'"):
        of("nosuch")


def test_named_numbers_of_ranks_take_the_place_of_the_suite_s():
    for spec in ("loggp", "startx"):
        for full in (False, True):
            assert {case.ranks for case in of(spec, full=full, ranks=(4, 6))} == {4, 6}
            assert {case.ranks for case in of(spec, full=full, ranks=(4, 6), crowds=True)} == {4, 6}
    assert of("sci:torus=2", ranks=(64,)) == []


def test_a_check_runs_on_the_first_cases_and_on_others_by_chance():
    found = of("sci")
    for most in (FIRST, 5, len(found) - 1):
        taken = drawn(found, most, "1/sci/a check")
        assert taken[:FIRST] == found[:FIRST]
        assert [case.ranks for case in taken[:FIRST]] == [2, 3]
        assert len(taken) == most
        assert [case for case in found if case in taken] == taken  # in order, none twice
        assert drawn(found, most, "1/sci/a check") == taken
    assert drawn(found, None, "1") == drawn(found, 1000, "1") == found


def test_where_there_is_no_room_for_all_first_cases_a_check_has_one_of_them_or_in_its_share_of_the_checks_all():
    found = of("sci")
    taken = [drawn(found, 1.25, f"1/sci/{check}") for check in range(2000)]
    counts = Counter(tuple(case.ranks for case in cases_) for cases_ in taken)
    assert counts.keys() == {(2,), (3,), (2, 3)}
    assert all(case in found[:FIRST] for cases_ in taken for case in cases_)
    assert counts[2, 3] == pytest.approx(500, rel=0.2)
    assert counts[2,] == pytest.approx(750, rel=0.2)
    assert {len(drawn(found, 1, str(check))) for check in range(100)} == {1}


def test_in_time_every_case_is_drawn():
    found = of("sunfire")
    drawn_ = [case for seed in range(60) for case in drawn(found, 5, f"{seed}/sunfire/a check")]
    assert {case.label for case in drawn_} == {case.label for case in found}


class Settings:
    """What the plugin asks of pytest's configuration."""

    def __init__(self, networks, together, **options):
        self.ini = {"conformance": ["loggp"] * networks, "conformance_cases": str(together)}
        self.options = {"full": False, "conduits": []} | options

    def getini(self, name):
        return self.ini[name]

    def getoption(self, name):
        return self.options[name]


@pytest.mark.parametrize(
    ("networks", "together", "each"),
    [(1, 56, 56), (4, 56, 14), (10, 56, 5.6), (40, 50, 1.25), (60, 56, 1), (10, 5, 1), (4, 0, None)],
)
def test_the_more_networks_the_smaller_is_the_share_of_each(networks, together, each):
    assert _most(Settings(networks, together)) == each
    assert _most(Settings(networks, together, full=True)) is None
    assert _most(Settings(networks, together, conduits=["sci"])) is None


class Turns:
    """A configuration in which networks take turns, and what its hooks are told."""

    NETWORKS = ("loggp", "sci", "startx", "sunfire", "udp", "t3e")

    def __init__(self, together):
        self.ini = {"conformance": self.NETWORKS, "conformance_cases": together}
        self.hook, self.left_out = self, []

    def getini(self, name):
        return self.ini[name]

    def getoption(self, name):
        return {"full": False, "conduits": [], "--conformance-seed": 1}[name]

    def pytest_deselected(self, items):
        self.left_out = items


class Check:
    """A check on one network, or a test that is none."""

    def __init__(self, name, spec, *rules):
        self.nodeid = f"test_file.py::{name}[{spec}-default]"
        self.marks = [pytest.mark.on(spec).mark, pytest.mark.rule(*rules).mark] if rules else []
        self.spec, self.name = spec, name

    def iter_markers(self, name):
        return (mark for mark in self.marks if mark.name == name)

    def get_closest_marker(self, name):
        return next(self.iter_markers(name), None)


@pytest.mark.parametrize("together", [1, 3])
def test_networks_take_turns_and_each_rule_is_checked_on_each(together):
    of_checks = [Check(f"test_{number}", spec, "R1") for number in range(100) for spec in Turns.NETWORKS]
    alone = [Check("test_alone", spec, "R2", "R1") for spec in Turns.NETWORKS]
    other = Check("test_of_this_package", "sci")
    config, items = Turns(together), [*of_checks, *alone, other]
    _leave_to_others(config, items)
    assert set(items) | set(config.left_out) == {*of_checks, *alone, other}
    assert [item for item in [*of_checks, *alone, other] if item in items] == items
    assert {*alone, other} <= set(items)
    counts = Counter(item.name for item in items if item in of_checks)
    assert set(counts.values()) == {together}
    assert min(Counter(item.spec for item in items).values()) > 100 * together / 6 / 2
