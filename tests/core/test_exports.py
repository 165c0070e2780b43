"""The public names: exactly these, each with a docstring."""

import importlib.metadata
import inspect
import typing

import pytest

import conduit
import extended

NAMES = {
    # running
    "run", "run_async", "Result", "current",
    # the core
    "Endpoint", "Token", "call_guard", "checked_call", "refuse_call", "trim_tracebacks",
    # errors
    "ConduitError", "BadRequest", "HandlerError", "Deadlock", "TimeLimit", "Livelock", "NetworkError",
    "UnknownConduit", "ConduitWarning",
    # plug-ins
    "Conduit", "available",
}  # fmt: skip

ENDPOINT = {
    "rank", "size", "limits", "costs", "now", "segment", "segment_size", "host", "host_of", "hosts", "ranks_on_host",
    "random", "simulated", "attach", "request_short", "request_medium", "request_long", "request_long_async", "poll",
    "block_until", "compute", "charge", "exit", "on_exit", "on_progress", "want_progress", "warn",
}  # fmt: skip
TOKEN = {"rank", "ep", "is_request", "reply_short", "reply_medium", "reply_long"}
RESULT = {"seconds", "ranks", "conduit", "digest", "statistics", "trace", "values", "warnings"}


def test_the_public_names_are_exactly_those_documented():
    assert set(conduit.__all__) == NAMES
    assert conduit.__all__ == sorted(conduit.__all__)


def test_every_public_name_can_be_imported():
    for module in (conduit, extended):
        for name in module.__all__:
            assert getattr(module, name) is not None


@pytest.mark.parametrize(("kind", "names"), [(conduit.Endpoint, ENDPOINT), (conduit.Token, TOKEN)])
def test_a_program_finds_all_it_is_promised(kind, names):
    """Attributes that are no methods are named in the docstring of the class."""
    for name in names:
        assert hasattr(kind, name), name
        if not callable(getattr(kind, name)) and not isinstance(getattr(kind, name), property):
            assert f"{name}:" in kind.__doc__, name


def test_a_result_has_all_it_is_promised():
    assert {field.name for field in conduit.Result.__attrs_attrs__} == RESULT
    assert all(f"{name}:" in conduit.Result.__doc__ for name in RESULT)


def _public_parts(module):
    for name in module.__all__:
        part = getattr(module, name)
        yield f"{module.__name__}.{name}", part
        if inspect.isclass(part):
            for member, value in vars(part).items():
                function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if not member.startswith("_") and inspect.isfunction(function):
                    yield f"{module.__name__}.{name}.{member}", function


PARTS = dict([*_public_parts(conduit), *_public_parts(extended)])


@pytest.mark.parametrize("name", PARTS)
def test_every_public_name_has_a_docstring_of_its_own(name):
    part = PARTS[name]
    text = inspect.cleandoc(part.__doc__ or "")
    assert len(text.split("\n")[0]) > 15
    assert text.split("\n\n")[0].rstrip()[-1] in ".:"


@pytest.mark.parametrize("name", conduit.__all__)
def test_the_types_of_every_public_name_can_be_looked_up(name):
    """As tools for documentation and for conversion do."""
    part = getattr(conduit, name)
    assert typing.get_type_hints(part).keys() == {*getattr(part, "__annotations__", ())}


def test_the_type_of_a_trace_is_that_of_traces():
    async def main(ep):
        pass

    trace = conduit.run(main, conduit="loggp", trace=True).trace
    assert typing.get_type_hints(conduit.Result)["trace"] == type(trace) | None


def test_errors_are_what_they_are_said_to_be():
    for name in NAMES:
        error = getattr(conduit, name)
        if inspect.isclass(error) and issubclass(error, Exception):
            assert issubclass(error, conduit.ConduitError) or error is conduit.ConduitWarning, name
    assert issubclass(conduit.BadRequest, ValueError)
    assert issubclass(conduit.ConduitWarning, UserWarning)


def test_what_a_program_holds_says_what_it_is():
    async def main(ep):
        def note(token, *payload):
            shown.append(repr(token))

        shown = [repr(ep)]
        x = await extended.Extended.attach(ep)
        await ep.attach(note)
        team = await x.split(0 if ep.rank else None)
        shown += [repr(x), repr(team)]
        await ep.request_short(ep.rank, note)
        await ep.poll()
        if team is not None:
            await team.destroy()
        return [*shown, repr(team)]

    assert conduit.run(main, conduit="loggp", ranks=3).values[2] == [
        "<Endpoint of rank 2 of 3>",
        "<Extended of 3 ranks, here rank 2>",
        "<Team of 2 ranks, here rank 1>",
        "<Token of handler 'note' for a request from rank 2>",
        "<Team, destroyed>",
    ]


def test_the_version_is_that_of_the_distribution():
    assert conduit.__version__ == importlib.metadata.version("conduit-am")


def test_dir_shows_the_public_names_alone():
    assert [name for name in dir(conduit) if not name.startswith("_")] == sorted(conduit.__all__)


def test_a_name_that_is_not_there_is_refused_with_what_is_like_it():
    assert not hasattr(conduit, "nothing_like_it")
    with pytest.raises(
        AttributeError, match=r"\Amodule 'conduit' has no attribute 'Endpont'; did you mean Endpoint\?\Z"
    ):
        conduit.Endpont  # noqa: B018
