"""Figures that a network says of itself and that cannot be: of a wrong sign, no number, of hosts that are not there."""

import numpy as np
import pytest

import conduit
from conduit.contract import Costs, MessageCosts
from conduits.loggp import Loggp

SOUND = {"start": 3e-6, "send": 1e-6, "receive": 1e-6, "medium_byte": 1e-9, "long_start": 3e-6, "long_byte": 1e-9}
EXTRA = ("poll", "interrupt")


async def main(ep):
    await ep.attach()


@pytest.mark.parametrize("name", [*SOUND, *EXTRA])
@pytest.mark.parametrize("wrong", [-1e-9, float("nan"), float("inf"), "1us", None, 1j])
def test_a_cost_that_is_no_time(name, wrong):
    """Layers choose by these: a wrong sign would choose for them, and nothing would fail."""
    with pytest.raises(conduit.BadRequest) as caught:
        MessageCosts(**SOUND | {name: wrong})
    assert str(caught.value) == (
        f"MessageCosts: {name}={wrong!r} is not allowed; pass seconds, a finite number of at least 0"
    )


@pytest.mark.parametrize("name", [*SOUND, *EXTRA])
@pytest.mark.parametrize("right", [0, 0.0, 1, np.float64(1e-6)])
def test_a_cost_that_is_a_time(name, right):
    assert getattr(MessageCosts(**SOUND | {name: right}), name) == right


@pytest.mark.parametrize("name", ["flight_bytes", "crowd_bytes"])
@pytest.mark.parametrize("wrong", [0, -4, 1e6, "4096"])
def test_bytes_of_costs_that_are_none(name, wrong):
    with pytest.raises(conduit.BadRequest) as caught:
        MessageCosts(**SOUND, **{name: wrong})
    assert str(caught.value) == f"MessageCosts: {name}={wrong!r} is not allowed; pass an int of at least 1, or None"


@pytest.mark.parametrize("name", ["medium_send_byte", "medium_receive_byte"])
def test_a_share_of_a_byte(name):
    assert getattr(MessageCosts(**SOUND), name) is None
    assert getattr(MessageCosts(**SOUND, **{name: 0}), name) == 0
    with pytest.raises(conduit.BadRequest, match=rf"^MessageCosts: {name}=-1 is not allowed; pass seconds, a finite"):
        MessageCosts(**SOUND, **{name: -1})


@pytest.mark.parametrize("wrong", [None, 0, 3e-6])
def test_answered_is_yes_or_no(wrong):
    with pytest.raises(
        conduit.BadRequest, match=rf"^MessageCosts: answered={wrong} is not allowed; pass True or False$"
    ):
        MessageCosts(**SOUND, answered=wrong)


def test_costs_of_what_is_no_record():
    with pytest.raises(conduit.BadRequest, match=r"^Costs: copy_byte=-1 is not allowed; pass seconds, a finite number"):
        Costs(copy_byte=-1)
    for name in ("off_host", "on_host"):
        with pytest.raises(
            conduit.BadRequest,
            match=rf"^Costs: {name}=3e-06 is not allowed; pass conduit\.contract\.MessageCosts\(\.\.\.\), or None$",
        ):
            Costs(**{name: 3e-6})


def test_counts_of_a_host_that_is_not_there(monkeypatch):
    """They would be in no rank's counts."""
    monkeypatch.setattr(Loggp, "host_statistics", lambda network: {0: {"x": 1}, 7: {"x": 3}})
    with pytest.raises(conduit.ConduitError) as caught:
        conduit.run(main, ranks=4, conduit="loggp", ranks_per_host=2)
    assert str(caught.value) == (
        "Loggp.host_statistics returned counts of host 7; the hosts of this job are 0 to 1: count by host, as in "
        "self.setup.hosts"
    )
