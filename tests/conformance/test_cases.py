"""Which cases a spec makes."""

from itertools import combinations, product

import pytest

from conduit.conformance.cases import CI_RANKS, FULL_SEEDS, cases
from conduit.conformance.plugin import Share
from conduit.errors import ConduitError


def of(spec, **settings):
    return cases(spec, **({"full": False, "seed": 1} | settings))


@pytest.mark.parametrize("spec", ["loggp", "sci"])
def test_defaults_come_first_with_each_number_of_ranks(spec):
    plain = of(spec)[: len(CI_RANKS)]
    assert [case.ranks for case in plain] == list(CI_RANKS)
    assert {case.spec for case in plain} == {spec}


def test_checks_of_crowds_get_more_numbers_of_ranks():
    assert [case.ranks for case in of("loggp", crowds=True)[:6]] == [1, 2, 3, 5, 8, 16]


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


@pytest.mark.parametrize("spec", ["loggp", "sci", "startx"])
def test_all_cases_can_be_placed(spec):
    for case in of(spec, full=True):
        assert len(case.cls.placement(case.options, case.ranks, case.ranks_per_host)) == case.ranks


def test_large_hosts_are_tried_with_more_ranks():
    assert {case.ranks_per_host for case in of("sunfire")} == {None, 1, 2, 4, 8}
    assert {case.ranks_per_host for case in of("sci")} == {None, 1, 2}


@pytest.mark.parametrize(("spec", "ranks", "per_host"), [("sunfire", 48, 24), ("startx", 16, 8), ("sci", 8, 2)])
def test_full_fills_two_hosts_to_the_last_cpu(spec, ranks, per_host):
    assert (ranks, per_host) in {(case.ranks, case.ranks_per_host) for case in of(spec, full=True)}


def test_full_hosts_are_also_tried_with_every_option_changed():
    plain, changed = (case.options for case in of("sunfire:stripes=2", full=True) if case.ranks == 48)
    varied = ("order", "inline", "config", "wiring", "poll", "outstanding", "fault")
    assert all(getattr(plain, name) != getattr(changed, name) for name in varied)
    assert (plain.stripes, changed.stripes) == (2, 2)
    assert of("sunfire", full=True)[1].options.stripes == 2


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


def test_checks_share_the_rows_of_a_covering_array_and_take_all_others():
    found = of("sci")
    rows = {case.row for case in found} - {None}
    assert rows == set(range(len(rows)))
    parts = [[case for case in found if Share(3, start).takes(case)] for start in range(3)]
    for part in parts:
        assert [case for case in part if case.row is None] == [case for case in found if case.row is None]
    taken = [case.row for part in parts for case in part if case.row is not None]
    assert sorted(taken) == sorted(rows)
    assert [case for case in found if Share(1, 0).takes(case)] == list(found)
