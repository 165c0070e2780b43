"""Programs that are drawn with a planted cause: the first sentence of the report names its rank and its line.

`pytest tests/hangs/test_drawn.py -m every` tries ten times as many.
"""

import importlib.util
import sys
from pathlib import Path

import pytest


def _drawn():
    spec = importlib.util.spec_from_file_location("hangs_drawn", Path(__file__).with_name("drawn.py"))
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DRAWN = _drawn()
FEW, MANY = 120, 1200
AT_A_TIME = 20


def covering(count):
    """Return the first seeds that bring a front end, a kind of cause or a way of waiting that those before have not."""
    seen, found = set(), []
    for seed in range(count):
        drawn = DRAWN.draw(seed)
        front, _, rest = drawn.name.partition(": ")
        cause, _, ways = rest.partition("; ")
        network = DRAWN.NETWORKS[seed % len(DRAWN.NETWORKS)]
        kinds = {(front, cause), (network, cause), *((front, way) for way in ways.split(", "))}
        if not kinds <= seen:
            seen |= kinds
            found.append(seed)
    return found


def check(seed):
    drawn = DRAWN.draw(seed)
    network = DRAWN.NETWORKS[seed % len(DRAWN.NETWORKS)]
    error = drawn.fails(network)
    wrong = DRAWN.wrong(drawn, error)
    assert not wrong, f"seed {seed}, {drawn.name}, on {network}: {wrong}\n{error}\n{drawn.source}"


@pytest.mark.parametrize("first", range(0, FEW, AT_A_TIME))
def test_the_first_sentence_names_the_planted_cause(first):
    for seed in covering(FEW):
        if first <= seed < first + AT_A_TIME:
            check(seed)


@pytest.mark.every
@pytest.mark.parametrize("first", range(FEW, MANY, AT_A_TIME))
def test_so_it_does_of_many_more(first):
    for seed in range(first, first + AT_A_TIME):
        check(seed)


def test_what_is_drawn_covers_causes_and_ways_on_all_networks():
    seeds = covering(FEW)
    names = [DRAWN.draw(seed).name for seed in seeds]
    for cause in DRAWN.ALONE:
        assert any(f": {cause}" in name for name in names), cause
    for way in [*DRAWN.EXTENDED, *DRAWN.EXTENDED_TOGETHER]:
        assert any(way in name for name in names), way
    assert {seed % len(DRAWN.NETWORKS) for seed in seeds} == set(range(len(DRAWN.NETWORKS)))
