"""Rules E4 and E7: errors stand at the call that is wrong; forgotten awaits; payloads die with their handler."""

import contextlib
import inspect
import linecache
import re
import warnings

import numpy as np
import pytest
import trio

import conduit
from conduit.sim import livelock
from extended import Extended


def test_E4_arguments_are_checked_when_the_function_is_called(on_loggp):
    async def main(ep):
        def note(token, *args):
            pass

        await ep.attach(note)
        for call in (
            lambda: ep.request_short(9, note),
            lambda: ep.request_short(0, print),
            lambda: ep.request_short(0, note, 1 << 32),
            lambda: ep.request_short(0, note, 1.0),
            lambda: ep.request_short(0, note, *range(17)),
            lambda: ep.request_medium(0, note, "text"),
            lambda: ep.request_long(0, note, b"x", -1),
            lambda: ep.request_long_async(0, note, b"x", 1 << 20),
            lambda: ep.block_until(True),
            lambda: ep.block_until(lambda: True, ranks=[5]),
            lambda: ep.block_until(lambda: True, ranks=(0, -1)),
            lambda: ep.block_until(lambda: True, ranks=iter([1.0])),
            lambda: ep.block_until(lambda: True, ranks=5),
            lambda: ep.compute(-1),
            lambda: ep.compute(),
            lambda: ep.attach(note),
            lambda: ep.attach(3),
        ):
            with pytest.raises(conduit.BadRequest, match=r"\A(ep\.)?[a-z_]+: "):
                call()  # not awaited

    on_loggp.run(main)


def test_E4_calls_return_real_coroutines(on_loggp):
    async def main(ep):
        def note(token):
            pass

        calls = [
            ep.attach(note),
            ep.poll(),
            ep.compute(0),
            ep.block_until(lambda: True),
        ]
        for call in calls:
            assert inspect.iscoroutine(call)
            await call
        call = ep.request_short(0, note)
        assert inspect.iscoroutine(call)
        await call
        x = await Extended.attach(ep)
        async with trio.open_nursery() as nursery:  # which takes coroutine functions alone
            nursery.start_soon(ep.poll)
            nursery.start_soon(x.barrier)

    on_loggp.run(main)


CALLS = {
    "ep.poll": lambda ep, x, note: ep.poll(),
    "ep.compute": lambda ep, x, note: ep.compute(1e-6),
    "ep.block_until": lambda ep, x, note: ep.block_until(lambda: True),
    "ep.attach": lambda ep, x, note: ep.attach(),
    "ep.request_short": lambda ep, x, note: ep.request_short(0, note),
    "ep.request_medium": lambda ep, x, note: ep.request_medium(0, note, b""),
    "ep.request_long": lambda ep, x, note: ep.request_long(0, note, b"", 0),
    "ep.request_long_async": lambda ep, x, note: ep.request_long_async(0, note, b"", 0),
    "x.barrier": lambda ep, x, note: x.barrier(),
    "x.put": lambda ep, x, note: x.put(0, 0, b"x"),
}


@pytest.mark.parametrize("name", CALLS)
def test_E4_a_call_that_is_never_awaited_ends_the_job_naming_its_line(on_loggp, name):
    async def main(ep):
        def note(token):
            pass

        x = await Extended.attach(ep)
        await ep.attach(note)
        if ep.rank == 1:
            CALLS[name](ep, x, note)
        await ep.block_until(lambda: False)

    line = CALLS[name].__code__.co_firstlineno
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # and Python says nothing of its own
        error = on_loggp.fails(conduit.BadRequest, main)
    call = linecache.getline(__file__, line).partition("note: ")[2].rstrip(",\n")
    assert call.startswith(name)
    assert str(error) == (
        f"{call} at {__file__}:{line} was called but never awaited, so it did nothing; a lambda cannot wait itself: "
        "write `await` where the lambda is called"
    )


@pytest.mark.parametrize("last", ["return", "held", "child", "argument"])
def test_E4_a_forgotten_call_is_noticed_wherever_it_is_dropped(on_loggp, last):
    async def child(ep):
        ep.poll()

    async def main(ep):
        if last == "return":
            ep.poll()
        elif last == "held":
            kept = ep.poll()
            await ep.compute(1e-6)
            assert kept
        elif last == "child":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(child, ep)
        else:
            await ep.block_until(lambda: bool(ep.poll()))

    error = on_loggp.fails(conduit.BadRequest, main)
    assert str(error).startswith(f"ep.poll() at {__file__}:")


@pytest.mark.parametrize("swallows", [False, True])
def test_E4_a_loop_of_forgotten_calls_is_ended_and_keeps_few_of_them(on_loggp, swallows):
    kept, raised = [], []

    async def main(ep):
        try:
            while True:
                ep.poll()
        except conduit.BadRequest as error:
            kept.append(len(ep.forgotten))
            raised.append(error)
            if not swallows:
                raise
        for call in (ep.poll, ep.attach, lambda: ep.compute(0), lambda: ep.block_until(lambda: True)):
            with pytest.raises(conduit.BadRequest, match="was called 1000 times") as caught:
                call()
            raised.append(caught.value)
        assert len(ep.forgotten) == kept[0] == 1000

    error = on_loggp.fails(conduit.BadRequest, main, ranks=1)
    line = main.__code__.co_firstlineno + 3
    assert str(error) == (
        f"ep.poll() at {__file__}:{line} was called 1000 times but never awaited, so it did nothing; write `await "
        "ep.poll()`"
    )
    assert {str(each) for each in raised} == {str(error)}
    assert len(raised) == 2 * (1 + 4 * swallows)  # it has run twice


def test_E4_calls_forgotten_in_one_go_are_no_loop_but_few_are_kept(on_loggp):
    async def main(ep):
        calls = [ep.poll() for _ in range(5000)]
        calls.clear()
        assert len(ep.forgotten) == 1000

    error = on_loggp.fails(conduit.BadRequest, main, ranks=1)
    assert "was called 1000 times but never awaited" in str(error)


def test_E4_another_error_goes_before_a_forgotten_call_and_names_it(on_loggp):
    async def main(ep):
        ep.poll()
        raise KeyError("the error")

    where, cause = on_loggp.fails(KeyError, main).__notes__[:2]
    assert where.startswith("raised by rank 0 at ")
    assert cause == (
        f"ep.poll() at {__file__}:{main.__code__.co_firstlineno + 1} was called but never awaited, so it did nothing; "
        "write `await ep.poll()`"
    )


def test_E4_a_call_that_is_held_in_a_variable_is_named_by_the_error_that_comes_of_it(on_loggp):
    async def main(ep):
        x = await Extended.attach(ep)
        total = x.all_reduce(ep.rank)
        if ep.rank == 0:
            return total + 1
        await x.barrier()

    _, cause = on_loggp.fails(TypeError, main).__notes__[:2]
    assert cause.endswith("so it did nothing; write `await x.all_reduce(ep.rank)`")


def test_E4_a_forgotten_call_is_named_once_although_all_ranks_forget_it(on_loggp):
    async def main(ep):
        ep.poll()
        await ep.poll()

    error = on_loggp.fails(conduit.BadRequest, main, ranks=4)
    assert str([str(error), *error.__notes__]).count("never awaited") == 1


def test_E4_a_long_call_is_named_without_its_arguments(on_loggp):
    async def main(ep):
        x = await Extended.attach(ep)
        x.put_indexed(1, [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88], 2, b"012345670123456701234567")
        await x.barrier()

    assert str(on_loggp.fails(conduit.BadRequest, main)).startswith("x.put_indexed(...) at ")


def test_E4_a_call_whose_source_is_not_known_is_named_as_it_is_known(on_loggp):
    names = {}
    exec("async def main(ep):\n    ep.poll()\n", names)
    error = on_loggp.fails(conduit.BadRequest, names["main"])
    assert str(error).startswith("ep.poll(...) at <string>:2 was called but never awaited")


@pytest.mark.parametrize("call", ["ep.poll()", "Extended.attach(ep)"])
def test_E4_a_call_that_is_taken_for_its_result_is_named(on_loggp, call):
    """`x = Extended.attach(ep)`, and then `x.barrier()`: Python tells of a coroutine, and not of the await."""

    async def main(ep):
        x = ep.poll() if call == "ep.poll()" else Extended.attach(ep)
        x.barrier()

    error = on_loggp.fails(AttributeError, main)
    assert re.match(
        rf"{re.escape(call)} at .*_calls\.py:\d+ was called but never awaited, .*`await {re.escape(call)}`",
        error.__notes__[1],
    )


def test_E4_a_coroutine_of_the_programs_own_is_none_of_these(on_loggp):
    async def own():
        pass

    async def main(ep):
        made = own()
        try:
            made.result()
        finally:
            made.close()

    assert len(on_loggp.fails(AttributeError, main).__notes__) == 1


@pytest.mark.parametrize("caught", [Exception, BaseException])
def test_E4_a_forgotten_call_ends_the_job_although_the_program_catches_its_error(on_loggp, monkeypatch, caught):
    monkeypatch.setattr(livelock, "STILL_ENDING", 100)  # of its 10,000: what catches all goes on for so long

    async def main(ep):
        if ep.rank == 0:
            ep.poll()
        while True:
            with contextlib.suppress(caught):
                await ep.poll()

    error = on_loggp.fails(conduit.BadRequest, main)
    assert str(error).startswith(f"ep.poll() at {__file__}:{main.__code__.co_firstlineno + 2} was called but never")


def test_E4_an_exit_goes_before_a_forgotten_call(on_loggp):
    async def main(ep):
        ep.poll()
        ep.exit(3)

    assert on_loggp.fails(SystemExit, main).code == 3


def test_E4_a_forgotten_call_explains_a_deadlock(on_loggp):
    async def main(ep):
        got = []

        def note(token):
            got.append(1)

        await ep.attach(note)
        if ep.rank == 0:
            ep.request_short(1, note)
            await trio.sleep_forever()
        else:
            await ep.block_until(lambda: got)

    error = on_loggp.fails(conduit.BadRequest, main)
    assert str(error).startswith(
        f"ep.request_short(1, note) at {__file__}:{main.__code__.co_firstlineno + 8} was called"
    )


@pytest.mark.filterwarnings("default:coroutine .*own.* was never awaited:RuntimeWarning")
def test_E4_a_programs_own_coroutine_keeps_pythons_warning(on_loggp):
    async def own():
        pass

    async def main(ep):
        own()

    with pytest.warns(RuntimeWarning, match=r"\Acoroutine '.*own' was never awaited\Z"):
        on_loggp.run(main)


def _in_handler(act, kind=conduit.HandlerError):
    async def main(ep):
        def ask(token):
            act(ep, token, ask)

        await ep.attach(ask)
        if ep.rank == 0:
            await ep.request_short(1, ask)
        await ep.compute(1e-3)

    return main


@pytest.mark.parametrize(
    "act",
    [
        lambda ep, token, ask: ep.poll(),
        lambda ep, token, ask: ep.compute(0),
        lambda ep, token, ask: ep.block_until(lambda: True),
        lambda ep, token, ask: ep.request_short(0, ask),
        lambda ep, token, ask: ep.attach(),
        lambda ep, token, ask: [token.reply_short(ask), token.reply_short(ask)],
    ],
    ids=["poll", "compute", "block_until", "request", "attach", "second reply"],
)
def test_E4_broken_rules_of_handlers_are_handler_errors_at_the_call(both_ways, act):
    error = both_ways.fails(conduit.HandlerError, _in_handler(act))
    assert str(error).startswith("in handler 'ask' on rank ")
    assert type(error.__cause__) is conduit.HandlerError


def _payload(keep):
    async def main(ep):
        kept = []

        def land(token, payload):
            kept.append(keep(payload))

        await ep.attach(land)
        if ep.rank == 0:
            await ep.request_medium(1, land, b"0123456789")
        else:
            await ep.block_until(lambda: kept)
        return kept

    return main


@pytest.mark.parametrize(
    "keep",
    [
        lambda payload: payload[2:4],
        lambda payload: np.frombuffer(payload, np.uint8),
        lambda payload: np.asarray(payload)[::2],
        lambda payload: memoryview(payload),
        lambda payload: payload.cast("H"),
    ],
    ids=["slice", "frombuffer", "asarray", "memoryview", "cast"],
)
def test_E7_whatever_still_looks_at_a_medium_payload_after_its_handler_is_an_error(both_ways, keep):
    error = both_ways.fails(conduit.HandlerError, _payload(keep))
    assert str(error).startswith(
        "in handler 'land' on rank 1, for a request from rank 0: HandlerError: a slice or an array of the medium "
        "payload is still in use after the handler has returned; "
    )


@pytest.mark.parametrize("keep", [bytes, np.array, lambda payload: payload[3]], ids=["bytes", "array", "item"])
def test_E7_copies_of_a_medium_payload_may_be_kept(both_ways, keep):
    async def main(ep):
        values = await _payload(keep)(ep)
        return [bytes(value) if isinstance(value, np.ndarray) else value for value in values]

    assert both_ways.run(main).values[1][0] in (b"0123456789", ord("3"))


def test_E7_the_view_itself_is_dead_after_its_handler(both_ways):
    async def main(ep):
        (view,) = await _payload(lambda payload: payload)(ep) or [None]
        if view is not None:
            with pytest.raises(ValueError, match=r"\Aoperation forbidden on released memoryview object\Z"):
                view[0]

    both_ways.run(main)


def test_E7_a_payload_belongs_to_its_handler_alone(both_ways):
    """Writing to it changes nothing of the sender's, and it may be the source of the reply."""

    async def main(ep):
        answers = []
        source = bytearray(b"abc")

        def answer(token, payload):
            answers.append(bytes(payload))

        def ask(token, payload):
            payload[0] = ord("X")
            token.reply_medium(answer, payload)
            payload[1] = ord("Y")

        await ep.attach(ask, answer)
        if ep.rank == 0:
            await ep.request_medium(1, ask, source)
            await ep.request_medium(0, ask, source)
            await ep.block_until(lambda: len(answers) == 2)
            return answers, source
        return None

    assert both_ways.run(main).values[0] == ([b"Xbc", b"Xbc"], b"abc")
