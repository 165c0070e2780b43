"""Start of a job, attach and the handler table."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import conduit
from conduit import BadRequest, Endpoint, Token
from conduit.conformance.cases import CLOCKS, Case
from conduit.conformance.programs import attached, names, neighbour, refusal


@pytest.mark.rule("R1")
def test_main_runs_once_per_rank_and_values_come_in_rank_order(case: Case) -> None:
    """Every rank runs main once; the values stand in the order of the ranks."""
    runs = []

    async def main(ep: Endpoint) -> tuple[int, int]:
        runs.append(ep.rank)
        return ep.rank, ep.size

    result = case.run(main)
    assert list(result.values) == [(rank, case.size) for rank in range(case.size)]
    assert len(runs) == (case.size if case.together else 1)
    assert set(runs) <= set(range(case.size))


@pytest.mark.rule("R1")
def test_result_tells_what_was_run(case: Case) -> None:
    """The result names the ranks and the conduit, and has a duration and one mapping of statistics per rank."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()

    result = case.run(main)
    assert result.ranks == case.size
    assert result.conduit.partition(":")[0] == case.spec.partition(":")[0]
    assert isinstance(result.seconds, float)
    assert result.seconds >= 0.0
    assert len(result.statistics) == case.size


@pytest.mark.rule("R2")
def test_arguments_are_each_ranks_own_copy(case: Case) -> None:
    """What a rank does to its arguments is seen neither by other ranks nor by the caller."""
    shared: dict[str, list[int]] = {"list": [1]}

    async def main(ep: Endpoint, data: dict[str, list[int]], other: list[int]) -> tuple[list[int], bool]:
        await ep.attach()
        data["list"].append(ep.rank)
        await ep.compute(1e-6)
        return data["list"], other is data["list"]

    result = case.run(main, shared, shared["list"])
    assert [value[0] for value in result.values] == [[1, rank] for rank in range(case.size)]
    assert shared == {"list": [1]}


@pytest.mark.rule("R3")
def test_nobody_leaves_attach_before_all_have_entered(case: Case) -> None:
    """Attach is a barrier, whoever comes last."""
    if not case.together:
        pytest.skip(CLOCKS)

    async def main(ep: Endpoint) -> tuple[float, float]:
        await ep.compute(1e-6 * ((ep.rank * 5 + 3) % ep.size))
        entered = ep.now
        await ep.attach()
        return entered, ep.now

    values = case.run(main).values
    assert min(left for _, left in values) >= max(entered for entered, _ in values)


@pytest.mark.rule("R3")
def test_messages_may_follow_attach_at_once(case: Case) -> None:
    """A message sent right after attach finds its handler, although the receiver entered attach last."""

    async def main(ep: Endpoint) -> list[int]:
        if ep.rank == ep.size - 1:
            await ep.compute(2e-5)
        log = await attached(ep)
        for dest in range(ep.size):
            await ep.request_short(dest, log.short, ep.rank)
        return sorted(seen.args[0] for seen in await log.until(ep.size))

    assert list(case.run(main).values) == [list(range(case.size))] * case.size


@pytest.mark.rule("R4")
def test_attach_again_adds_handlers(case: Case) -> None:
    """Handlers attached later join those attached before, which stay."""

    async def main(ep: Endpoint) -> list[str]:
        got: list[str] = []

        def early(token: Token) -> None:
            got.append("early")

        def late(token: Token) -> None:
            got.append("late")

        await ep.attach(early)
        await ep.request_short(neighbour(ep), early)
        await ep.attach(late)
        await ep.request_short(neighbour(ep), late)
        await ep.request_short(neighbour(ep), early)
        await ep.block_until(lambda: len(got) == 3)
        return sorted(got)

    assert list(case.run(main).values) == [["early", "early", "late"]] * case.size


@pytest.mark.rule("R4")
def test_attach_without_handlers_is_allowed(case: Case) -> None:
    """No handlers is a table too, as often as wanted."""

    async def main(ep: Endpoint) -> int:
        await ep.attach()
        await ep.attach()
        return ep.rank

    assert list(case.run(main).values) == list(range(case.size))


def _alpha(token: Token) -> None:
    """A handler by this name."""


def _beta(token: Token) -> None:
    """A handler by another name."""


TABLES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "number": ((_alpha,), (_alpha, _beta)),
    "names": ((_alpha,), (_beta,)),
    "order": ((_alpha, _beta), (_beta, _alpha)),
}


@pytest.mark.rule("R5")
@pytest.mark.parametrize("difference", TABLES)
def test_tables_that_differ_are_refused_on_every_rank(case: Case, difference: str) -> None:
    """Every rank gets the error, and it shows what both sides passed."""
    case = case.at_least(2)
    usual, odd = TABLES[difference]

    async def main(ep: Endpoint) -> str:
        try:
            await ep.attach(*(odd if ep.rank == ep.size - 1 else usual))
        except BadRequest as error:
            return str(error)
        return "not refused"

    for message in case.run(main).values:
        for handler in {*usual, *odd}:
            names(message, handler.__name__)
        names(message, case.size - 1)


@pytest.mark.rule("R5", "R7", "R60")
def test_a_refused_attach_leaves_no_handler_behind(case: Case) -> None:
    """What is attached next is what messages name, on the ranks that passed more and on those that passed less."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> str:
        ran: list[str] = []

        def refused(token: Token) -> None:
            ran.append("refused")

        def first(token: Token) -> None:
            ran.append("first")

        def second(token: Token) -> None:
            ran.append("second")

        with pytest.raises(BadRequest):
            await ep.attach(*[refused, second][: ep.rank % 3])
        await ep.attach(first, second)
        names(refusal(lambda: ep.request_short(0, refused)), "refused")
        await ep.request_short(neighbour(ep), first)
        await ep.request_short(neighbour(ep), second)
        await ep.block_until(lambda: len(ran) == 2)
        return " ".join(sorted(ran))

    assert list(case.run(main).values) == ["first second"] * case.size


@pytest.mark.rule("R5")
@pytest.mark.ends
def test_tables_that_differ_end_the_job_when_nobody_cares(case: Case) -> None:
    """Uncaught, the mismatch is what the job ends with."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        await ep.attach(_alpha if ep.rank else _beta)

    with pytest.raises(BadRequest, match=r"(?s)\A.*_alpha.*_beta|\A.*_beta.*_alpha"):
        case.run(main)


async def _async_handler(token: Token) -> None:
    """No handler: it is async."""


def _generator(token: Token) -> Any:
    yield token


async def _async_generator(token: Token) -> Any:
    yield token


def _without_token(*, number: int = 0) -> None:
    """No handler: the token has no place."""


class _Callable:
    def __call__(self, token: Token) -> None:
        """No function, though it can be called."""


NO_HANDLERS: dict[str, Any] = {
    "async": _async_handler,
    "generator": _generator,
    "async_generator": _async_generator,
    "lambda": lambda token: None,
    "string": "_alpha",
    "none": None,
    "number": 7,
    "class": _Callable,
    "callable": _Callable(),
    "partial": partial(_alpha),
    "tokenless": _without_token,
}


@pytest.mark.rule("R6", "R60")
@pytest.mark.parametrize("kind", NO_HANDLERS)
def test_what_is_no_handler_is_refused(case: Case, kind: str) -> None:
    """Only ordinary functions and bound methods are taken; the rest is refused at the call, before anyone waits."""

    async def main(ep: Endpoint) -> str:
        message = refusal(lambda: ep.attach(_alpha, NO_HANDLERS[kind]))
        await ep.attach(_alpha)
        return message

    for message in case.run(main).values:
        names(message, "handler")


@pytest.mark.rule("R6")
def test_a_handler_is_attached_once(case: Case) -> None:
    """The same function twice is refused, in one call and in two."""

    async def main(ep: Endpoint) -> tuple[str, str]:
        twice = refusal(lambda: ep.attach(_alpha, _beta, _alpha))
        await ep.attach(_alpha)
        return twice, refusal(lambda: ep.attach(_beta, _alpha))

    for messages in case.run(main).values:
        for message in messages:
            names(message, "_alpha")


@pytest.mark.rule("R6")
def test_255_handlers_and_no_more(case: Case) -> None:
    """The table holds 255 handlers, every one of them reached; the next is refused with the number."""

    async def main(ep: Endpoint) -> str:
        called: list[int] = []

        def make(number: int) -> Callable[..., None]:
            def handler(token: Token, check: int) -> None:
                called.append(number)
                assert check == -number

            return handler

        handlers = [make(number) for number in range(256)]
        message = refusal(lambda: ep.attach(*handlers))
        await ep.attach(*handlers[:200])
        await ep.attach(*handlers[200:255])
        for number in (0, 1, 127, 128, 199, 200, 253, 254):
            await ep.request_short(neighbour(ep), handlers[number], -number)
        await ep.block_until(lambda: len(called) == 8)
        assert sorted(called) == [0, 1, 127, 128, 199, 200, 253, 254]
        names(refusal(lambda: ep.attach(handlers[255])), 255)
        return message

    for message in case.run(main).values:
        names(message, 255)


@pytest.mark.rule("R7")
def test_handlers_of_one_name_are_told_apart(case: Case) -> None:
    """Names may repeat; the function decides."""

    async def main(ep: Endpoint) -> list[int]:
        got: list[int] = []

        def make(number: int) -> Callable[..., None]:
            def handler(token: Token) -> None:
                got.append(number)

            return handler

        first, second = make(1), make(2)
        await ep.attach(first, second)
        await ep.request_short(neighbour(ep), second)
        await ep.block_until(lambda: len(got) == 1)
        return got

    assert list(case.run(main).values) == [[2]] * case.size


@pytest.mark.rule("R7")
def test_bound_methods_are_handlers_of_their_object(case: Case) -> None:
    """Two objects' methods of one name are two handlers, however often the method is looked up."""

    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def up(self, token: Token, by: int) -> None:
            self.count += by

    async def main(ep: Endpoint) -> tuple[int, int]:
        one, two = Counter(), Counter()
        await ep.attach(one.up, two.up)
        await ep.request_short(neighbour(ep), one.up, 1)
        await ep.request_short(neighbour(ep), two.up, 10)
        await ep.request_short(neighbour(ep), two.up, 10)
        await ep.block_until(lambda: one.count + two.count == 21)
        return one.count, two.count

    assert list(case.run(main).values) == [(1, 20)] * case.size


@pytest.mark.rule("R7", "R60")
def test_a_function_that_was_not_attached_is_refused(case: Case) -> None:
    """Requests name the handler that this rank did not attach; numbers and names are no handlers."""

    async def main(ep: Endpoint) -> None:
        await ep.attach(_alpha)
        strangers: list[Any] = [_beta, 0, "_alpha", None]
        for wrong in strangers:
            for call in (
                partial(ep.request_short, 0, wrong),
                partial(ep.request_medium, 0, wrong, b"x"),
                partial(ep.request_long, 0, wrong, b"x", 0),
                partial(ep.request_long_async, 0, wrong, b"x", 0),
            ):
                names(refusal(call), "handler")
        names(refusal(lambda: ep.request_short(0, _beta)), "_beta")

    case.run(main)


@pytest.mark.rule("R72")
def test_current_is_the_running_ranks_endpoint(case: Case) -> None:
    """``conduit.current()`` is the endpoint of the rank that runs, in its program and in its handlers."""

    async def main(ep: Endpoint) -> bool:
        found: list[bool] = []

        def handler(token: Token) -> None:
            found.append(conduit.current() is ep and token.ep is ep)

        await ep.attach(handler)
        await ep.request_short(neighbour(ep), handler)
        await ep.block_until(lambda: bool(found))
        return found == [True] and conduit.current() is ep

    assert all(case.run(main).values)


@pytest.mark.rule("R72")
def test_random_is_seeded_by_job_and_rank(case: Case) -> None:
    """Each rank draws numbers of its own, the same ones again in the next job of that seed."""

    async def main(ep: Endpoint) -> tuple[float, bool]:
        await ep.attach()
        return ep.random.random(), ep.simulated

    first, again = case.run(main).values, case.run(main).values
    assert list(first) == list(again)
    assert len({number for number, _ in first}) == case.size
    assert {simulated for _, simulated in first} == {case.simulated}
    other = case.run(main, seed=case.seed + 1).values
    assert other[0] != first[0]
