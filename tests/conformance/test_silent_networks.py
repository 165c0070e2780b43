"""A network and options that do not say what they are fail the suite, with what is missing."""

from types import SimpleNamespace
from typing import ClassVar

import attrs
import pytest

from conduit.conformance import test_errors
from conduit.options import option
from conduits.loggp import Loggp
from conduits.loggp.port import LoggpOptions

check = test_errors.test_the_network_and_each_option_say_what_they_are


@attrs.frozen(kw_only=True)
class SilentOptions(LoggpOptions):
    """Options two of which have no help."""

    knots: int = option(4)
    length: int = option(30, " ")


def case_of(cls):
    return SimpleNamespace(cls=cls, spec="net:slots=2")


def test_options_without_help():
    with pytest.raises(AssertionError) as caught:
        check(case_of(type("Net", (Loggp,), {"Options": SilentOptions})))
    assert str(caught.value).splitlines()[0] == (
        "no help: knots, length; give each option(DEFAULT, HELP) a line that says what it is"
    )


def test_a_network_without_a_summary():
    class Net(Loggp):
        summary: ClassVar[str] = ""

    with pytest.raises(AssertionError) as caught:
        check(case_of(Net))
    assert str(caught.value).splitlines()[0] == "Net.summary is empty: say in a line what network net is"


def test_those_that_say_it():
    check(case_of(Loggp))
