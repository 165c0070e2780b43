"""The grain of loggp's times: what it would keep as 0 is refused, and a byte's time is finer than a picosecond."""

import pytest

import conduit
from conduit.errors import BadRequest
from conduit.launch.registry import parse_spec

TIME = "a number from 0 to 1000000"


@pytest.mark.parametrize(
    ("conduit_name", "option", "value", "allowed", "unit", "least"),
    [
        ("loggp", "L", "0.0004ns", f"{TIME} or none", "picoseconds", "1e-12"),
        ("loggp", "o_s", "1e-13", f"{TIME} or none", "picoseconds", "1e-12"),
        ("loggp", "o_r", "0.5ps", f"{TIME} or none", "picoseconds", "1e-12"),
        ("loggp", "g", "1e-300", f"{TIME} or none", "picoseconds", "1e-12"),
        ("loggp", "G", "0.0004ps", f"{TIME} or none", "femtoseconds per byte", "1e-15"),
        ("loggp", "late_by", "0.1ps", TIME, "picoseconds", "1e-12"),
        ("udp", "delay", "0.1ps", TIME, "picoseconds", "1e-12"),
    ],
)
def test_a_time_that_would_be_rounded_to_0_is_refused(conduit_name, option, value, allowed, unit, least):
    with pytest.raises(BadRequest) as caught:
        parse_spec(f"{conduit_name}:{option}={value}")
    assert str(caught.value) == (
        f"option '{option}' of conduit '{conduit_name}' cannot be '{value}'; allowed: {allowed}; times also as 1.5us "
        f"(it is kept in whole {unit}, and would be 0; give 0, or at least {least})"
    )
    parse_spec(f"{conduit_name}:{option}=0")
    parse_spec(f"{conduit_name}:{option}={least}")


@pytest.mark.parametrize("name", ["L", "o_s", "o_r", "g", "G"])
@pytest.mark.parametrize("value", [0.0, 1e-12, 3e-12, 4.1e-9, 0.3e-6, 1.0])
def test_a_time_of_whole_picoseconds_is_in_effect_as_it_is_given(name, value):
    assert parse_spec(f"loggp:{name}={value!r}").options.in_effect()[name] == value


@pytest.mark.parametrize(("given", "kept"), [("0.04837ns", 48.37e-12), ("0.0004ns", 0.4e-12), ("1.23456ps", 1.235e-12)])
def test_a_time_of_a_byte_is_kept_in_femtoseconds(given, kept):
    assert parse_spec(f"loggp:G={given}").options.in_effect()["G"] == kept


async def _arrival(ep, nbytes):
    """Return when a medium request of rank 0 is handled, picoseconds after it was sent."""
    times = []

    def note(token, payload):
        times.append(ep.now)

    await ep.attach(note)
    if ep.rank == 0:
        times.append(ep.now)
        await ep.request_medium(1, note, bytes(nbytes))
    else:
        await ep.block_until(lambda: times)
    return times[0] * 1e12


@pytest.mark.parametrize("nbytes", [1001, 65_000])
def test_a_train_of_bytes_takes_its_time_to_a_picosecond(nbytes):
    """Each way by the formula: two polls of 1 ns, the overheads, L and 48.37 ps for each further byte."""
    sent, handled = conduit.run(_arrival, nbytes, conduit="loggp:G=0.04837ns,L=1us,o_s=1us,o_r=1us,poll=1ns").values
    expected = 1_000 + 3_000_000 + 1_000 + (nbytes - 1) * 48.37
    assert expected - 0.01 <= handled - sent < expected + 1_001  # up to one poll before it is noticed, and rounded up
