"""Every constant of every installed network says where it comes from."""

import re

import pytest

import conduit
from conduit.contract import Conduit

CONSTANTS = [
    pytest.param(constant, id=f"{name}-{constant.name}")
    for name, cls in conduit.available().items()
    if isinstance(cls, type)
    for constant in cls.constants
]


def test_every_installed_conduit_can_be_imported_and_has_constants():
    available = conduit.available()
    assert {"loggp", "mpi", "sci"} <= set(available)
    for cls in available.values():
        assert issubclass(cls, Conduit)
        assert cls.constants or not cls.simulated  # what is real has none
        names = [constant.name for constant in cls.constants]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_constant_names_its_source(constant):
    """A fact or an anchor by its id in the collection of the papers' figures, an assumption by a reason."""
    assert constant.kind in ("fact", "anchor", "assumed")
    assert constant.unit
    if constant.kind == "assumed":
        assert len(constant.source.split()) >= 5
    else:
        assert re.match(r"[a-z]+(\.[a-z0-9_]+)+(: |, |\Z)", constant.source), constant.source


def test_a_parameter_that_counts_by_the_byte_has_a_unit_of_its_own():
    units = {constant.name: constant.unit for constant in conduit.available()["loggp"].constants}
    for name in ("default", "myrinet2000", "ethernet100"):
        assert [units[f"{name}.{parameter}"] for parameter in ("L", "o_s", "o_r", "g")] == ["us"] * 4
        assert units[f"{name}.G"] == "us/byte"
