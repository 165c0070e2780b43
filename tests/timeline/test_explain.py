"""The steps of an exchange add up to what it takes, and say of which constants they are made."""

import math
import os
import subprocess
import sys

import attrs
import pytest

import conduit
from conduit.commands.explain_am import am
from conduit.errors import BadRequest, ConduitError
from conduit.launch.explaining import explain, explain_named
from conduit.launch.fresh import call_fresh
from conduit.launch.registry import parse_spec
from conduit.seeing.timeline import Recording
from conduit.seeing.timeline.steps import PathEdge, steps_of
from conduit.simnet.constants import keep_names
from extended.operations import get, put

NETWORKS = [
    "loggp", "loggp:set=myrinet2000", "origin", "sci", "sci:transactions=1", "sci:queue=single,dynamic_mapping=yes",
    "sci:order=weak", "startx", "sunfire", "t3e", "udp", "mpi:library=scampi", "mpi:library=sunmpi",
]  # fmt: skip


@pytest.fixture
def importable(monkeypatch, request):
    """A fresh process imports this module, also where the package is installed: it finds the folder above `tests`."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(request.config.rootpath)])


def thresholds(spec, most):
    """The sizes at which a network may change what it does: its options and constants that count bytes; and around."""
    given = [value for value in attrs.asdict(spec.options).values() if type(value) is int]
    given += [each.value for each in spec.cls.constants if each.unit == "bytes" and type(each.value) is int]
    found = sorted({value for value in given if 8 <= value <= min(most, 9000)})
    found = found[:: max(1, len(found) // 3)]
    return sorted(
        {0, 1, *(size + by for size in (*found, min(most, 9000)) for by in (-1, 0, 1) if 0 <= size + by <= most)}
    )


def measured(spec, operation, category, nbytes):
    """What the same program takes when nobody listens, by the clock that programs have."""
    times = []
    conduit.run(operation.main, lambda ep: times.append(ep.now), category, nbytes, conduit=spec.text, segment=nbytes)
    return round(times[1] * 1e12) - round(times[0] * 1e12)


def in_turn(network, cases):
    """Explain several round trips; called in a process that has imported no network."""
    return [explain_named(network, am.main, *case, segment=case[1]) for case in cases]


def check(spec, operation, category, nbytes):
    found = explain(spec, operation.main, category, nbytes, segment=nbytes)
    assert found.ticks == measured(spec, operation, category, nbytes) > 0
    assert sum(step.ticks for step in found.steps) == found.ticks
    assert all(step.ticks > 0 and 0 <= step.begin < found.ticks and step.times > 0 for step in found.steps)
    return found


@pytest.mark.parametrize("network", NETWORKS)
def test_the_steps_of_a_round_trip_add_up_to_it(network):
    spec = parse_spec(network)
    for category, most in am.largest(spec.limits).items():
        for nbytes in thresholds(spec, most):
            found = check(spec, am, category, nbytes)
            assert {step.leg for step in found.steps} == {"request", "reply"}
            for whose, leg in ((0, "request"), (1, "reply")):
                busy = {step.what for step in found.steps if step.leg == leg and step.where == whose}
                assert ("send" if leg == "request" else "reply") in busy
            assert {step.where for step in found.steps if step.what == "receive"} == {0, 1}


@pytest.mark.parametrize("operation", [put, get])
@pytest.mark.parametrize("network", NETWORKS)
def test_the_steps_of_a_put_or_get_add_up_to_it(network, operation):
    for nbytes in (1, 513, 5000):
        found = check(parse_spec(network), operation, "", nbytes)
        done = {step.what for step in found.steps if step.where == 0}
        assert ("move" if network in ("origin", "t3e") else "send") in done


def test_lost_datagrams_are_explained_too():
    """The first datagram of the fourth exchange is lost: the time until its timer goes off is the timer's."""
    found = check(parse_spec("udp:loss=0.5"), am, "medium", 0)
    (waited,) = [step for step in found.steps if step.what == "timer"]
    assert found.ticks / 2 < waited.ticks < 500_000_000  # of the 500 us of its option rto
    wires = [step for step in found.steps if step.what == "wire"]
    legs = [
        [step for step in wires if step.leg == "request" and step.begin < waited.begin],
        [step for step in wires if step.leg == "request" and step.begin > waited.begin],
        [step for step in wires if step.leg == "reply"],
    ]
    assert len({sum(step.ticks for step in leg) for leg in legs}) == 1  # each is one way of as many bytes


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize("network", [each for each in NETWORKS if ":" not in each or each.startswith("mpi")])
def test_constants_give_all_of_the_time_but_the_rest_of_polls(network):
    spec = parse_spec(network)
    known = {each.name for each in spec.cls.constants} | set(attrs.asdict(spec.options))
    cases = [("medium", 300), ("long", min(9000, am.largest(spec.limits)["long"]))]
    for (category, nbytes), found in zip(cases, call_fresh(in_turn, network, cases), strict=True):
        assert found.ticks == measured(spec, am, category, nbytes)
        for step in found.steps:
            assert set(step.constants) <= known
            assert sum(step.constants.values()) == (0 if step.what == "notice" else step.ticks), step
        assert sum(step.ticks for step in found.steps if step.what == "notice") < found.ticks / 10


@pytest.mark.usefixtures("importable")
def test_the_constants_of_loggp_are_its_parameters():
    """By the model: two sends, two receipts, twice the way and the train of bytes, and four polls."""
    spec = parse_spec("loggp:L=7us,o_s=2us,o_r=3us,g=1us,G=10ns,poll=50ns")
    (found,) = call_fresh(in_turn, spec.text, [("medium", 101)])
    totals = {}
    for step in found.steps:
        for name, ticks in step.constants.items():
            totals[name] = totals.get(name, 0) + ticks
    assert totals == {
        "L": 14_000_000, "o_s": 4_000_000, "o_r": 6_000_000, "G": 2_000_000, "poll": 150_000,
    }  # fmt: skip
    notices = [step.ticks for step in found.steps if step.what == "notice"]
    assert found.ticks == sum(totals.values()) + sum(notices)
    assert max(notices, default=0) < 50_000


@pytest.mark.usefixtures("importable")
def test_the_constants_of_sci_are_those_of_its_protocol():
    spec = parse_spec("sci")
    (found,) = call_fresh(in_turn, "sci", [("medium", 100)])
    value = {each.name: each.value for each in spec.cls.constants}
    header = math.ceil(16 / value["pio.rate"] * 1e6)
    requests = [step for step in found.steps if step.leg == "request" and step.what == "send"]
    totals = {name: ticks for step in requests for name, ticks in step.constants.items() if step.group == "am"}
    assert totals == {f"am.{name}": round(value[f"am.{name}"] * 1e6) for name in ("check", "slot", "build")}
    store = next(step for step in requests if step.name == "store header")
    assert store.constants == {"pio.start": 200_000, "pio.rate": header}
    received = [step.constants for step in found.steps if step.what == "receive"]
    assert received == [{"am.unpack": 1_100_000, "am.dispatch": 700_000}] * 2


@pytest.mark.usefixtures("importable")
def test_the_constants_of_the_layer_over_mpi_are_named():
    (found,) = call_fresh(in_turn, "mpi:library=scampi", [("medium", 100)])
    layer = [
        (step.leg, {name: ticks for name, ticks in step.constants.items() if name.startswith("ammpi")})
        for step in found.steps
    ]
    received = {"ammpi.unpack": 1_100_000, "ammpi.dispatch": 700_000}
    assert [each for each in layer if each[1]] == [
        ("request", {"ammpi.check": 600_000, "ammpi.slot": 600_000, "ammpi.build": 900_000}),
        ("request", received),
        ("reply", {"ammpi.check": 600_000, "ammpi.build": 900_000}),
        ("reply", received),
    ]
    copies = [step.leg for step in found.steps if step.what == "copy"]
    assert copies == ["request", "request", "reply", "reply"]  # behind the header, and ScaMPI's own to its receive


def ways(shape, targets):
    """Give what ways from host 0 and their responses are made of; called in a process that has imported no network."""
    keep_names()
    from conduit.sim import Kernel
    from conduit.sim.topology import Torus
    from conduits.sci.hardware import SciFabric

    fabric = SciFabric(Kernel(), Torus(shape))
    found = [fabric.find_way(0, target) for target in targets]
    return [[(int(each), each.parts) for each in (way.latency, way.response)] for way in found]


def shares(parts):
    totals = {}
    for ticks, label in parts:
        totals[label] = totals.get(label, 0) + ticks
    return {label.lstrip(":"): ticks for label, ticks in totals.items() if ticks}


@pytest.mark.usefixtures("importable")
def test_a_ring_of_sci_has_no_turn():
    """By the model: four landings, of two payloads and two pairs of flags."""
    (found,) = call_fresh(in_turn, "sci:torus=4", [("medium", 100)])
    totals = {}
    for step in found.steps:
        for name, ticks in step.constants.items():
            totals[name] = totals.get(name, 0) + ticks
    assert "link.turn" not in totals
    assert totals["adapter.in"] == 4 * 700_000
    assert totals["link.hop"] == (2 * 4 + 1 + 3) * 70_000  # payloads and their responses, and flags


@pytest.mark.usefixtures("importable")
def test_a_way_of_sci_names_its_turns():
    """By the model: one between two dimensions, two between three, and those of the response likewise."""
    straight, once, twice = call_fresh(ways, (3, 3, 3), [2, 1 + 3 * 2, 1 + 3 + 9 * 2])
    for (way, response), there, back, turns in ((straight, 2, 1, 0), (once, 3, 3, 1), (twice, 4, 5, 2)):
        hardware = {"link.hop": there * 70_000, **({"link.turn": turns * 250_000} if turns else {})}
        assert shares(way[1]) == {"adapter.out": 500_000, "adapter.in": 700_000, **hardware}
        assert way[0] == sum(shares(way[1]).values())
        hardware["link.hop"] = back * 70_000
        assert shares(response[1]) == {"adapter.response": 500_000, **hardware}


def test_a_path_with_a_gap_is_refused():
    path = [PathEdge(0, 5, "", -1, "", -1, ()), PathEdge(6, 7, "", -1, "", -1, ())]
    with pytest.raises(ValueError, match="the critical path has a gap from 5 to 6 ps"):
        steps_of(path, Recording("loggp", [0, 1]), None)


# -- calls in fresh processes ----------------------------------------------------------------------


@pytest.mark.usefixtures("importable")
def test_a_fresh_process_gives_what_a_function_returns_or_raises():
    assert call_fresh(os.path.join, "a", "b") == os.path.join("a", "b")
    assert call_fresh(os.getpid) != os.getpid()
    with pytest.raises(BadRequest, match="no integer division"):
        call_fresh(refuse)


def refuse():
    raise BadRequest("no integer division")


def test_a_process_that_ends_without_an_answer_is_told():
    with pytest.raises(ConduitError, match="ended with status 3, and said no more"):
        call_fresh(os._exit, 3)


PRESSED = """\
import os, signal
from conduit.launch.fresh import call_fresh
try:
    call_fresh(os.killpg, os.getpgrp(), signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_is_told_by_who_waits_for_the_other_process_alone():
    done = subprocess.run(
        [sys.executable, "-c", PRESSED], capture_output=True, text=True, start_new_session=True, check=True
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
