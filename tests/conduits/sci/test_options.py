"""What sci takes and refuses: options, shapes, placement, segments."""

import re

import pytest

import conduit
from conduit.errors import BadRequest
from conduit.launch.registry import parse_spec
from conduits.sci.machine import SciMachine
from conduits.sci.port import Sci, SciOptions, effective_threshold


def options(text):
    return parse_spec(f"sci:{text}").options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("torus=0x2", "option 'torus' of conduit 'sci' cannot be '0x2'"),
        ("torus=2x2x2x2", "option 'torus' of conduit 'sci' cannot be '2x2x2x2'"),
        ("torus=300x300", "option 'torus' of conduit 'sci' cannot be '300x300'"),
        ("slots=0", "option 'slots' of conduit 'sci' cannot be '0'"),
        ("slot_payload=511", "option 'slot_payload' of conduit 'sci' cannot be '511'"),
        ("transactions=3", "option 'transactions' of conduit 'sci' cannot be '3'; allowed: 1|2"),
        ("dma_threshold=-1", "option 'dma_threshold' of conduit 'sci' cannot be '-1'"),
        ("queue=ring", "option 'queue' of conduit 'sci' cannot be 'ring'; allowed: paired|single|split"),
        ("patched=maybe", "option 'patched' of conduit 'sci' cannot be 'maybe'; allowed: yes|no"),
        (
            "slots=1024,slot_payload=2048",
            "options of conduit 'sci': slots=1024 with slot_payload=2048 needs command segments of 4358144 bytes, "
            "the driver gives 2097152; lower one of them, or use sci:patched=yes",
        ),
        (
            "queue=split,slots=502,slot_payload=512",
            "options of conduit 'sci': slots=502 with queue=split needs queues of 2100368 bytes, the driver gives "
            "2097152; lower slots, or use sci:patched=yes",
        ),
    ],
)
def test_refusals(text, message):
    with pytest.raises(BadRequest, match=r"\A" + re.escape(message)):
        options(text)


def test_a_patched_kernel_gives_larger_command_segments():
    assert options("slots=1024,patched=yes").slots == 1024
    assert options("slots=1024,queue=split,patched=yes").slots == 1024


@pytest.mark.parametrize(
    "text", ["queue=split,slots=501", "queue=split,slot_payload=1048576", "queue=single,slots=1024"]
)
def test_what_a_queue_of_ibel_needs_is_what_the_driver_is_to_give(text):
    assert conduit.run(nothing, conduit=f"sci:{text}").ranks == 2


@pytest.mark.parametrize(
    ("torus", "hosts", "expected"),
    [("auto", 1, (4, 2)), ("auto", 8, (4, 2)), ("auto", 9, (3, 2, 2)), ("auto", 64, (4, 4, 4)), ((16,), 3, (16,))],
)
def test_shapes(torus, hosts, expected):
    assert SciMachine(torus=torus).shape(hosts) == expected


def test_defaults_are_those_of_the_paper_and_its_authors():
    found = SciOptions()
    assert (found.slots, found.slot_payload, found.transactions, found.dma_threshold) == (2, 2048, 2, 2048)
    assert (found.queue, found.dynamic_mapping, found.patched, found.torus) == ("paired", False, False, "auto")


@pytest.mark.parametrize(("threshold", "payload", "effective"), [(2048, 2048, 2048), (4096, 2048, 2049), (0, 512, 0)])
def test_what_no_slot_holds_goes_by_dma_in_any_case(threshold, payload, effective):
    assert effective_threshold(SciOptions(dma_threshold=threshold, slot_payload=payload)) == effective


def test_limits():
    assert tuple(vars_of(Sci.limits(SciOptions()))) == (16, 2048, 2 << 20, 2 << 20)
    assert Sci.limits(SciOptions(patched=True)).max_long_request == 1 << 30
    assert tuple(vars_of(Sci.limits(SciOptions(queue="single")))) == (16, 2048, 4096, 4096)
    assert Sci.limits(SciOptions(queue="split", slot_payload=8192)).max_medium == 4096


def vars_of(limits):
    return limits.max_args, limits.max_medium, limits.max_long_request, limits.max_long_reply


async def nothing(ep):
    await ep.attach()
    return ep.host


def test_a_host_has_two_cpus():
    assert conduit.run(nothing, ranks=5, conduit="sci").values == [0, 1, 2, 3, 4]
    assert conduit.run(nothing, ranks=5, conduit="sci", ranks_per_host=2).values == [0, 0, 1, 1, 2]
    assert conduit.run(nothing, ranks=16, conduit="sci:torus=4x2").values[-1] == 7
    with pytest.raises(BadRequest, match=r"\A.*ranks_per_host=3.*2"):
        conduit.run(nothing, ranks=5, conduit="sci", ranks_per_host=3)
    with pytest.raises(BadRequest, match=r"\A.*ranks_per_host=1.*2"):
        conduit.run(nothing, ranks=16, conduit="sci:torus=4x2", ranks_per_host=1)
    with pytest.raises(BadRequest, match=r"\Aranks=17 does not fit.*16"):
        conduit.run(nothing, ranks=17, conduit="sci:torus=4x2")


def test_segments_over_the_unpatched_limit_are_refused_as_the_driver_would():
    most = 2 << 20
    message = (
        f"segment={most + 1}: the SCI driver gives at most {most} bytes of contiguous memory; "
        f"ask for at most {most}, or use sci:patched=yes"
    )
    with pytest.raises(BadRequest, match=r"\A" + re.escape(message) + r"\Z"):
        conduit.run(nothing, conduit="sci", segment=most + 1)
    with pytest.raises(BadRequest) as caught:
        conduit.run(nothing, conduit="sci", segment=2 << 30)  # which a patched kernel does not give either
    assert str(caught.value).partition("; ")[2] == f"ask for at most {most}"
    assert conduit.run(nothing, conduit="sci", segment=most).ranks == 2
    assert conduit.run(nothing, conduit="sci:patched=yes", segment=most + 1).ranks == 2


def test_a_job_whose_flags_are_more_than_the_driver_gives_is_refused():
    message = (
        "ranks=1025 with slots=1024 need control segments of 2099264 bytes, the SCI driver gives 2097152; ask for "
        "fewer ranks, lower slots, or use sci:patched=yes"
    )
    with pytest.raises(BadRequest, match=r"\A" + re.escape(message) + r"\Z"):
        conduit.run(nothing, ranks=1025, conduit="sci:slots=1024,slot_payload=512")


def test_start_up_is_charged():
    """Two imports of 200 us for every peer: its control segment, and the own command segment on it."""
    two = conduit.run(nothing, ranks=2, conduit="sci").seconds
    nine = conduit.run(nothing, ranks=9, conduit="sci").seconds
    assert 2 * 200e-6 < two < 2 * 200e-6 + 50e-6
    assert 16 * 200e-6 < nine < 16 * 200e-6 + 80e-6
