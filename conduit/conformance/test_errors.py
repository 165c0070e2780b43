"""Errors: where they are raised, what they say, and what comes of calls that are forgotten."""

import re
from functools import partial
from typing import Any

import pytest

import conduit
from conduit import BadRequest, ConduitError, Endpoint, HandlerError, Token, UnknownConduit
from conduit.conformance.cases import Case
from conduit.conformance.programs import attached, names, neighbour, refusal
from conduit.options import describe


async def _nothing(ep: Endpoint) -> None:
    """A program that does nothing."""


@pytest.mark.rule("R60")
def test_all_errors_have_one_base(case: Case) -> None:
    """And each says by its class whose fault it is."""
    for name in ("BadRequest", "HandlerError", "Deadlock", "TimeLimit", "Livelock", "NetworkError", "UnknownConduit"):
        assert issubclass(getattr(conduit, name), ConduitError)
    case.run(_nothing)


@pytest.mark.rule("R60")
def test_arguments_are_checked_when_the_function_is_called(case: Case) -> None:
    """The error stands at the call, although nothing was awaited; the job is none the worse for it."""

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        none: Any = None
        five: Any = 5
        calls: list[Any] = [
            partial(ep.request_short, ep.size, log.short),
            partial(ep.request_medium, 0, log.medium, "text"),
            partial(ep.request_long, 0, log.long, b"x", -1),
            partial(ep.request_long_async, 0, log.long, b"x", -1),
            partial(ep.block_until, none),
            partial(ep.block_until, bool, what=five),
            partial(ep.block_until, bool, ranks=five),
            partial(ep.block_until, partial(_nothing, ep)),
            partial(ep.block_until, bool, ranks=(ep.size,)),
            partial(ep.compute, -1.0),
            partial(ep.compute),
            partial(ep.compute, 1.0, flops=1),
            partial(ep.attach, none),
            partial(ep.charge, -1.0),
            partial(ep.warn, five),
            partial(ep.on_exit, five),
            partial(ep.on_progress, five),
            partial(ep.exit, none),
        ]
        for call in calls:
            assert refusal(call).strip()
        await ep.request_short(neighbour(ep), log.short)
        return len(await log.until(1))

    assert list(case.run(main).values) == [1] * case.size


@pytest.mark.rule("R60")
def test_refusals_name_call_argument_value_and_what_is_allowed(case: Case) -> None:
    """One example of each kind, in full."""

    async def main(ep: Endpoint) -> list[str]:
        log = await attached(ep)
        most = ep.limits.max_medium
        names(refusal(lambda: ep.request_short(99, log.short)), "request_short", "dest", 99, 0, ep.size - 1)
        names(
            refusal(lambda: ep.request_medium(0, log.medium, bytes(most + 1))),
            "request_medium",
            "payload",
            most + 1,
            f"max_medium={most}",
            "request_long",
        )
        names(refusal(lambda: ep.request_long(0, log.long, b"ab", 100)), "request_long", "offset", 100, 101, "segment")
        names(refusal(lambda: ep.request_short(0, log.short, 1 << 40)), "request_short", 1 << 40, "32 bits")
        return []

    case.run(main, segment=101)


FORGOTTEN = ("request_short", "request_medium", "request_long", "poll", "block_until", "compute", "attach")


@pytest.mark.rule("R61")
@pytest.mark.parametrize("name", FORGOTTEN)
@pytest.mark.ends
def test_a_call_that_is_never_awaited_ends_the_job(case: Case, name: str) -> None:
    """With an error that names the call and the line where it stands."""

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        calls: dict[str, Any] = {
            "request_short": lambda: ep.request_short(0, log.short),
            "request_medium": lambda: ep.request_medium(0, log.medium, b"x"),
            "request_long": lambda: ep.request_long(0, log.long, b"x", 0),
            "poll": lambda: ep.poll(),
            "block_until": lambda: ep.block_until(bool),
            "compute": lambda: ep.compute(1e-6),
            "attach": lambda: ep.attach(),
        }
        if ep.rank == 0:
            calls[name]()
        await ep.poll()

    with pytest.raises(BadRequest, match=rf"(?s)\A.*{name}.*test_errors\.py:\d+.*await"):
        case.run(main)


@pytest.mark.rule("R61")
@pytest.mark.ends
def test_a_forgotten_call_is_found_at_the_end_at_the_latest(case: Case) -> None:
    """Also where the program makes no other call after it."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        if ep.rank == ep.size - 1:
            _ = ep.poll()
            del _

    with pytest.raises(BadRequest, match=r"(?s)\A.*poll.*test_errors\.py:\d+"):
        case.run(main)


class _Oops(Exception):
    """A program's own error."""


@pytest.mark.rule("R61", "R65")
@pytest.mark.ends
def test_another_error_goes_before_a_forgotten_call(case: Case) -> None:
    """What the program raised says more."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        if ep.rank == 0:
            _ = ep.poll()
            del _
            raise _Oops("the real one")

    with pytest.raises(_Oops, match=r"\Athe real one\n"):
        case.run(main)


@pytest.mark.rule("R62")
def test_unknown_conduits_are_refused_with_the_known_ones(case: Case) -> None:
    """The message lists what is installed, this conduit among it."""
    with pytest.raises(UnknownConduit, match=r"\A(?s:.*)nosuchnetwork") as caught:
        case.run(_nothing, conduit="nosuchnetwork")
    names(str(caught.value), case.spec.partition(":")[0])


@pytest.mark.rule("R62")
def test_unknown_options_are_refused_with_the_known_ones(case: Case) -> None:
    """The message names the option and lists those there are."""
    more = "," if ":" in case.spec else ":"
    with pytest.raises(BadRequest, match=r"\A(?s:.*)nosuchoption") as caught:
        case.run(_nothing, conduit=f"{case.spec}{more}nosuchoption=3")
    if case.simulated:
        names(str(caught.value), "order", "inline", "piece")


@pytest.mark.rule("R62")
@pytest.mark.simulated
@pytest.mark.parametrize("option", ["order=sideways", "inline=maybe", "piece=63", "piece=x"])
def test_option_values_are_checked(case: Case, option: str) -> None:
    """The message names option, value and what is allowed."""
    name = case.spec.partition(":")[0]
    key, _, value = option.partition("=")
    with pytest.raises(BadRequest, match=rf"\A(?s:.*){key}") as caught:
        case.run(_nothing, conduit=f"{name}:{option}")
    names(str(caught.value), key, value)


@pytest.mark.rule("R62")
@pytest.mark.parametrize("ranks", [0, -1, 1.5, "2"], ids=str)
def test_the_number_of_ranks_is_checked(case: Case, ranks: Any) -> None:
    """At least one, and an integer."""
    with pytest.raises(BadRequest, match=r"\A(?s:.*)ranks") as caught:
        case.run(_nothing, ranks=ranks, ranks_per_host=None)
    assert str(ranks) in str(caught.value)


@pytest.mark.rule("R62")
@pytest.mark.parametrize("seed", [1.5, "x", None], ids=str)
def test_the_seed_is_an_integer(case: Case, seed: Any) -> None:
    """Nothing else seeds a job."""
    with pytest.raises(BadRequest, match=r"\A(?s:.*)seed"):
        case.run(_nothing, seed=seed)


@pytest.mark.rule("R62")
@pytest.mark.parametrize("limit", [-1.0, "x", float("nan")], ids=str)
def test_the_time_limit_is_checked(case: Case, limit: Any) -> None:
    """A number of seconds, not negative."""
    with pytest.raises(BadRequest, match=r"\A(?s:.*)time_limit"):
        case.run(_nothing, time_limit=limit)


@pytest.mark.rule("R62")
def test_the_program_is_an_async_function(case: Case) -> None:
    """Anything else is refused before a rank starts."""

    def plain(ep: Endpoint) -> None:
        """Not async."""

    for wrong in (plain, None, 3, "main"):
        program: Any = wrong
        with pytest.raises(BadRequest, match=r"\A(?s:.*)main"):
            case.run(program)


@pytest.mark.rule("R62")
def test_a_spec_is_a_text(case: Case) -> None:
    """Neither empty nor of another type."""
    for wrong in ("", None, 3, ":order=weak"):
        with pytest.raises(ConduitError, match=r"\A(?s:.*)(conduit|spec)"):
            case.run(_nothing, conduit=wrong)


@pytest.mark.rule("R62")
def test_the_network_and_each_option_say_what_they_are(case: Case) -> None:
    """In a line, which `conduit list` and `conduit show` have."""
    name = case.spec.partition(":")[0]
    assert case.cls.summary.strip(), f"{case.cls.__name__}.summary is empty: say in a line what network {name} is"
    silent = [each.name for each in describe(case.cls.Options) if not each.help.strip()]
    assert not silent, f"no help: {', '.join(silent)}; give each option(DEFAULT, HELP) a line that says what it is"


@pytest.mark.rule("R63")
def test_layers_above_get_the_same_rules_for_their_calls(case: Case) -> None:
    """A checked call checks when called, sends when awaited, and is refused in handlers."""

    def check(ep: Endpoint, count: int) -> None:
        if count < 0:
            raise BadRequest(f"count={count} is negative")

    @conduit.checked_call(check)
    async def twice(ep: Endpoint, count: int) -> int:
        await ep.poll()
        return 2 * count

    async def main(ep: Endpoint) -> int:
        refused: list[str] = []

        def handler(token: Token) -> None:
            refused.append(refusal(lambda: twice(ep, 1), HandlerError))

        await ep.attach(handler)
        names(refusal(lambda: twice(ep, -1)), "count", -1)
        await ep.request_short(neighbour(ep), handler)
        await ep.block_until(lambda: bool(refused))
        return await twice(ep, 21)

    assert list(case.run(main).values) == [42] * case.size


@pytest.mark.rule("R63", "R61")
@pytest.mark.ends
def test_a_layers_forgotten_call_is_found_too(case: Case) -> None:
    """The error names the layer's function and the line of the program."""

    @conduit.checked_call
    async def put_it(ep: Endpoint) -> None:
        await ep.poll()

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        if ep.rank == 0:
            _ = put_it(ep)
            del _
        await ep.poll()

    with pytest.raises(BadRequest, match=r"(?s)\A.*put_it.*test_errors\.py:\d+"):
        case.run(main)


@pytest.mark.rule("R62", "R79")
def test_run_inside_a_trio_program_is_refused(case: Case) -> None:
    """It would block the loop that it is called from; ``run_async`` is named instead."""

    async def main(ep: Endpoint) -> str:
        try:
            case.run(_nothing)
        except ConduitError as error:
            return str(error)
        return "not refused"

    for message in case.run(main).values:
        assert re.search(r"\brun_async\b", message)
