"""What a job computes once and keeps must not decide what happens: each run is repeated without it, and warmed up."""

import random

import pytest

import conduit
from conduit.sim import link
from conduits.sci.hardware import StorePlan
from conduits.sunfire.hardware import Lane

ACTS, LARGEST = 40, 1000


async def crowd(ep):
    """A program: ranks of shared hosts send one another payloads of few sizes, so that most are sent more than once."""
    turns = random.Random(ep.rank)
    got, sent = [], 0

    def take(token, payload):
        got.append(len(payload))
        token.reply_medium(back, bytes(len(payload) // 2))

    def back(token, payload):
        got.append(-len(payload))

    def put(token, payload):
        got.append(len(payload))

    await ep.attach(take, back, put)
    for _ in range(ACTS):
        dest = turns.randrange(ep.size)
        nbytes = turns.choice((0, 8, 8, 64, 200, 1000))
        await ep.compute(turns.choice((1e-9, 1e-9, 1e-6, 3e-5)))
        if turns.random() < 0.5:
            await ep.request_medium(dest, take, bytes(nbytes))
            sent += 1
        else:
            await ep.request_long(dest, put, bytes(4 * nbytes), 0)
    await ep.block_until(lambda: sum(size <= 0 for size in got) >= sent)


SPECS = {
    "loggp": 2,
    "sci": 2,
    "sci:transactions=1,piece=256": 2,
    "sunfire": 3,
    "sunfire:config=q,stripes=1": 3,
    "startx": 3,
}


def outcome(spec):
    found = conduit.run(crowd, ranks=6, ranks_per_host=SPECS[spec], segment=4 * LARGEST, conduit=spec)
    return found.digest, found.seconds, found.statistics


LANE = Lane._lay_out
PLAN = StorePlan.plan


def plan_without_links(plan, times):
    """Plan writes by which links are taken one by one."""
    PLAN(plan, times)
    plan.links = ()


def forgotten(lane, nbytes):
    """Lay out a size and keep nothing."""
    steps = LANE(lane, nbytes)
    lane._steps.clear()
    return steps


@pytest.mark.parametrize("spec", SPECS)
def test_what_is_kept_changes_nothing(spec, monkeypatch):
    expected = outcome(spec)
    assert outcome(spec) == expected  # with all that lives longer than a job
    link.durations.cache_clear()
    monkeypatch.setattr(Lane, "_lay_out", forgotten)
    assert outcome(spec) == expected
    monkeypatch.setattr(StorePlan, "plan", plan_without_links)
    assert outcome(spec) == expected
