"""Attach: what is refused leaves no trace, and tasks of one rank that attach at once take turns."""

import functools
import re
import types

import pytest
import trio

import conduit


def _functions(*names):
    """Return handlers of these names and the list in which they write their names."""
    ran = []

    def make(name):
        def handler(token):
            ran.append(name)

        handler.__name__ = name
        return handler

    return ran, [make(name) for name in names]


async def _reaches(ep, handlers, ran):
    """Send to the next rank with each handler; return what ran here, sorted."""
    for handler in handlers:
        await ep.request_short((ep.rank + 1) % ep.size, handler)
    await ep.block_until(lambda: len(ran) == len(handlers))
    return sorted(ran)


def test_a_refused_attach_leaves_no_handler_behind(both_ways):
    async def main(ep):
        ran, (first, a, c, d) = _functions("first", "a", "c", "d")
        await ep.attach(first)
        with pytest.raises(conduit.BadRequest, match=r"every rank must pass the same handlers"):
            await ep.attach(*([a] if ep.rank == 1 else []))
        await ep.attach(c, d)
        with pytest.raises(conduit.BadRequest, match=r"handler=a is not attached .*\(attached: first, c, d\)"):
            ep.request_short(0, a)
        return await _reaches(ep, (c, d, first), ran)

    assert both_ways.run(main, ranks=3).values == [["c", "d", "first"]] * 3


def test_what_was_refused_may_be_attached_again_in_the_right_order(both_ways):
    async def main(ep):
        ran, (a, b) = _functions("a", "b")
        with pytest.raises(conduit.BadRequest, match=r"every rank must pass the same handlers in the same order"):
            await ep.attach(*((a, b) if ep.rank else (b, a)))
        await ep.attach(a, b)
        return await _reaches(ep, (a, b), ran)

    assert both_ways.run(main).values == [["a", "b"]] * 2


def test_of_many_handlers_those_are_shown_that_differ(both_ways):
    names = [f"h{number}" for number in range(20)]

    async def main(ep):
        _, handlers = _functions(*names)
        if ep.rank:
            handlers[12:14] = handlers[13:11:-1]
        with pytest.raises(conduit.BadRequest) as caught:
            await ep.attach(*handlers)
        mine, other = ("h12, h13", "h13, h12")[:: -1 if ep.rank else 1]
        shown = "[11 others, h11, {}, h14, h15, h16, h17, h18 and 1 more]"
        return str(caught.value).endswith(
            f"; rank {ep.rank} passed {shown.format(mine)}, rank {1 - ep.rank} passed {shown.format(other)}"
        )

    assert both_ways.run(main, ranks=2).values == [True, True]


def test_of_attaches_at_once_the_refused_one_moves_no_handler_of_the_others(both_ways):
    async def main(ep):
        ran, (a, b, c) = _functions("a", "b", "c")
        refused = []

        async def attach(*handlers):
            try:
                await ep.attach(*handlers)
            except conduit.BadRequest:
                refused.append([handler.__name__ for handler in handlers])
                return
            for handler in handlers:  # at once: nobody may still be about to take a handler out
                await ep.request_short(1 - ep.rank, handler)

        if ep.rank == 1:
            await ep.compute(1e-5)  # all three of rank 0 are under way before the first can be over
        calls = [attach(*([a] if ep.rank else [])), attach(b), attach(c)]
        async with trio.open_nursery() as nursery:
            for call in calls:
                nursery.start_soon(_await, call)
                await ep.compute(1e-7)  # Trio starts tasks of one instant in any order
        await ep.block_until(lambda: len(ran) == 2)
        return refused, sorted(ran)

    assert both_ways.run(main).values == [([[]], ["b", "c"]), ([["a"]], ["b", "c"])]


async def _await(call):
    await call


def test_calls_made_before_one_is_awaited_attach_a_function_once(on_loggp):
    async def main(ep):
        ran, (a,) = _functions("a")
        first, second = ep.attach(a), ep.attach(a)
        await first
        with pytest.raises(conduit.BadRequest, match=r"handler=a is attached already"):
            await second
        return await _reaches(ep, (a,), ran)

    assert on_loggp.run(main).values == [["a"]] * 2


def test_attaches_at_once_are_at_most_255_handlers_together(on_loggp):
    async def main(ep):
        _, handlers = _functions(*(f"handler_{number}" for number in range(256)))
        first, second = ep.attach(*handlers[:200]), ep.attach(*handlers[200:])
        await first
        with pytest.raises(conduit.BadRequest, match=r"attach: 56 handlers on top of 200 make more than 255"):
            await second

    on_loggp.run(main)


def test_S6_an_attach_cancelled_before_its_turn_ends_the_job_with_an_error_of_ours(on_loggp):
    async def main(ep):
        if ep.rank == 1:
            await ep.compute(1e-3)  # so long does the first attach of rank 0 take
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_await, ep.attach())
            await ep.compute(1e-6)
            with trio.move_on_after(1e-6 if ep.rank == 0 else 1):
                await ep.attach()

    error = on_loggp.fails(conduit.ConduitError, main)
    assert str(error).startswith("ep.attach: cancelled on rank 0")


class Slip(Exception):
    """What a task raises while its rank attaches."""


def _raises(error):
    async def task(ep):
        if ep.rank == 1:
            await trio.sleep(1e-6)
            raise error

    async def main(ep):
        if ep.rank == 0:
            await ep.compute(1e-3)  # so long do the others wait
        async with trio.open_nursery() as nursery:
            nursery.start_soon(task, ep)
            await ep.attach()

    return main


@pytest.mark.parametrize("spec", ["loggp", "sci"])
def test_E3_what_a_task_raises_beside_an_attach_ends_the_job_not_the_attach_that_it_cancels(spec):
    error = Slip("first")
    with pytest.raises(ExceptionGroup) as raised:
        conduit.run(_raises(error), ranks=3, conduit=spec)
    assert raised.value.exceptions == (error,)
    notes = raised.value.__notes__
    assert notes[0].startswith("raised by rank 1 at ")
    assert [note.partition(", so that")[0] for note in notes[1:]] == [
        "rank 1 raised ConduitError too: ep.attach: cancelled on rank 1"
    ]


def test_E2_an_exit_of_a_task_beside_an_attach_has_its_status():
    error = SystemExit(5)
    with pytest.raises(SystemExit) as raised:
        conduit.run(_raises(error), ranks=3, conduit="loggp")
    assert raised.value is error
    assert raised.value.code == 5


def test_D1_an_attach_whose_turn_never_comes_is_told_of(on_loggp):
    async def main(ep):
        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_await, ep.attach())
                await ep.compute(1e-6)
                await ep.attach()

    text = str(on_loggp.fails(conduit.Deadlock, main))
    assert "every rank to come to attach" in text
    assert "an attach that this rank called before" in text


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda ep: ep.compute(1e-6), r"which may not wait; let it call ep\.charge with the same cost"),
        (
            lambda ep: ep.poll(),
            r"which may not wait; a handler may reply through its token and use ep\.charge; let it set",
        ),
    ],
    ids=["compute", "poll"],
)
def test_a_handler_is_told_what_to_do_instead(on_loggp, call, instead):
    async def main(ep):
        def handler(token):
            call(token.ep)

        await ep.attach(handler)
        await ep.request_short(0, handler)

    error = on_loggp.fails(conduit.HandlerError, main)
    with pytest.raises(conduit.HandlerError, match=instead):
        raise error


def test_a_layer_may_refuse_handlers():
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=r"ep.refuse_attach: why=3 is an int; pass a str"):
            ep.refuse_attach(3)
        ep.refuse_attach("this program does without")
        with pytest.raises(conduit.BadRequest, match=r"ep.attach: this program does without$"):
            ep.attach()

    conduit.run(main)


class Callable:
    def __call__(self, token):
        pass


def named(token):
    pass


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (
            types.MethodType(Callable(), 1),
            "is a method made of an object that can be called, and has no name; pass an ordinary function or method",
        ),
        (
            functools.partial(named),
            "is no function; pass an ordinary function or a bound method, as a `def` that calls named",
        ),
    ],
)
def test_what_can_be_called_and_has_no_name_is_refused_in_words(handler, said):
    async def main(ep):
        await ep.attach(handler)

    with pytest.raises(conduit.BadRequest, match=re.escape(said)):
        conduit.run(main, ranks=1, conduit="loggp")
