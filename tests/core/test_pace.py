"""What is said of a network whose messages take absurdly long, because a time was given without its unit."""

from functools import partial

import pytest

from conduit.launch import pace
from conduits.loggp.port import LoggpTransport


def test_a_gap_for_each_byte_without_its_unit_is_told():
    assert pace.meant("loggp:G=5") == (
        "a round trip with 64 bytes on 'loggp:G=5' takes 315 s of virtual time, as a time without a unit is in "
        "seconds; where microseconds are meant write loggp:G=5us"
    )


@pytest.mark.parametrize(("option", "seconds"), [("L", 2e6), ("G", 63e6)])
def test_the_longest_times_that_options_allow_are_seen(option, seconds):
    assert pace.round_trip(f"loggp:{option}=1000000", 64) == pytest.approx(seconds)


def test_of_two_round_trips_the_one_without_bytes_is_told():
    assert pace.meant("loggp:L=5,G=5") == (
        "a round trip on 'loggp:L=5,G=5' takes 10 s of virtual time, as a time without a unit is in seconds; where "
        "microseconds are meant write loggp:L=5us,G=5us"
    )


@pytest.mark.parametrize("spec", ["loggp:G=5us", "loggp:G=5s", "loggp:G=1e-9", "loggp:G=0"])
def test_a_gap_for_each_byte_that_was_meant_is_not_told(spec):
    assert pace.meant(spec) == ""


def test_a_network_whose_job_never_ends_is_left_to_the_program(monkeypatch):
    def again(self, *args):
        self.kernel.at(self.kernel.now + 1000, partial(again, self))

    monkeypatch.setattr(LoggpTransport, "inject", again)
    pace.round_trip.cache_clear()
    try:
        assert pace.round_trip("loggp") == 0.0
    finally:
        pace.round_trip.cache_clear()
