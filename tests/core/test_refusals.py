"""Small rules of single calls that once were broken."""

import contextlib

import numpy as np
import pytest
import trio

import conduit
import extended
from conduit.core import refusals
from conduit.launch.registry import parse_spec
from conduit.sim import livelock


def test_a_request_to_oneself_is_not_sent_from_a_cancelled_scope():
    async def main(ep):
        got = []

        def handler(token):
            got.append(1)

        await ep.attach(handler)
        with trio.CancelScope() as scope:
            scope.cancel()
            await ep.request_short(ep.rank, handler)
        for _ in range(3):
            await ep.poll()
        return len(got)

    assert conduit.run(main, conduit="loggp", ranks=1).values == [0]


def test_a_request_to_oneself_wakes_another_task_that_waits():
    async def main(ep):
        got = []

        def handler(token):
            got.append(1)

        await ep.attach(handler)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ep.block_until, lambda: len(got) == 1)
            await ep.compute(1e-6)
            await ep.request_short(ep.rank, handler)

    conduit.run(main, conduit="loggp", ranks=1)


def test_a_cancelled_attach_ends_the_job_with_an_error_of_ours():
    async def main(ep):
        if ep.rank == 0:
            with trio.move_on_after(1e-5):
                await ep.attach()
        await ep.block_until(lambda: False)

    with pytest.raises(conduit.ConduitError, match=r"\Aep\.attach: cancelled on rank 0"):
        conduit.run(main, conduit="loggp")


def test_an_error_elsewhere_goes_before_an_attach_that_it_ends():
    async def main(ep):
        if ep.rank == 1:
            await ep.compute(1e-6)
            raise KeyError("first")
        await ep.attach()

    with pytest.raises(KeyError, match=r"\A'first'"):
        conduit.run(main, conduit="loggp")


@pytest.mark.parametrize("text", ["1", b"1", "inf"], ids=repr)
def test_texts_are_no_numbers(text):
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=r"\Aep\.compute: seconds="):
            ep.compute(text)

    conduit.run(main, conduit="loggp")


def test_of_many_handlers_the_last_are_named():
    async def main(ep):
        def wanted(token):
            pass

        for number in range(20):

            def handler(token):
                pass

            handler.__name__ = f"handler_{number}"
            await ep.attach(handler)
        await ep.request_short(0, wanted)

    with pytest.raises(conduit.BadRequest, match=r"\(attached: handler_12, handler_13, .*, handler_19, and 12 before"):
        conduit.run(main, ranks=1, conduit="loggp")


async def _async_predicate():
    return False


def _generator_predicate():
    yield False


@pytest.mark.parametrize("predicate", [_async_predicate, _generator_predicate])
def test_a_predicate_that_returns_no_answer_is_refused(predicate):
    async def main(ep):
        name = predicate.__name__
        with pytest.raises(conduit.BadRequest, match=rf"\Aep\.block_until: predicate={name} is async or a generator"):
            ep.block_until(predicate)

    conduit.run(main, conduit="loggp", ranks=1)


def test_compute_says_what_was_given():
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=r"\Aep\.compute: neither given; pass one of the two, seconds= or"):
            ep.compute()
        with pytest.raises(conduit.BadRequest, match=r"\Aep\.compute: seconds=1\.0 and flops=2 given; pass one of"):
            ep.compute(1.0, flops=2)

    conduit.run(main, conduit="loggp", ranks=1)


@pytest.mark.parametrize("threads", [4, 0, -1, np.int64(4)])
def test_threads_of_work_given_in_seconds_are_refused(threads):
    """How long it takes is said already: nothing is divided by them."""

    async def main(ep):
        with pytest.raises(conduit.BadRequest) as caught:
            ep.compute(1e-6, threads=threads)
        assert str(caught.value) == (
            f"ep.compute: threads={threads} goes with flops=, not with seconds=1e-06, which are how long the work "
            "takes on however many CPUs; leave threads out and pass the seconds that remain, or pass flops="
        )
        for wrong in (2.0, "all", None, np.zeros(2)):
            with pytest.raises(conduit.BadRequest, match=r"\Aep\.compute: threads="):
                ep.compute(1e-6, threads=wrong)
        await ep.compute(1e-6, threads=1)
        await ep.compute(1e-6, threads=True)
        await ep.compute(flops=0, threads=4)

    conduit.run(main, conduit="loggp", ranks=1)


def test_threads_share_operations():
    async def main(ep):
        times = []
        for threads in (1, 4):
            begin = ep.now
            await ep.compute(flops=4000, threads=threads)
            times.append(ep.now - begin)
        assert times[0] == pytest.approx(4 * times[1])

    conduit.run(main, conduit="loggp", ranks=1)


@pytest.mark.parametrize("name", ["rank", "size", "limits", "costs", "host", "hosts", "simulated"])
def test_what_an_endpoint_tells_cannot_be_set(name):
    async def main(ep):
        before = getattr(ep, name)
        with pytest.raises(conduit.BadRequest, match=rf"\Aep\.{name} = 3 is not allowed: it is read-only\Z"):
            setattr(ep, name, 3)
        assert getattr(ep, name) == before

    conduit.run(main, conduit="loggp", ranks=1)


def test_a_segment_is_written_into_and_not_replaced():
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=r"\Aep\.segment = .* is read-only; .* write ep\.segment\[:\] ="):
            ep.segment = 5
        ep.segment[:] = 5
        return int(ep.segment.sum())

    assert conduit.run(main, conduit="loggp", ranks=1, segment=10).values == [50]


def test_a_segment_for_which_the_machine_has_no_room_is_refused():
    async def main(ep):
        pass

    with pytest.raises(conduit.BadRequest, match=r"\Asegment=1000000000000000000: this machine has no room"):
        conduit.run(main, conduit="loggp", ranks=2, segment=10**18)


def test_a_conduit_that_makes_no_path_is_told(monkeypatch):
    async def main(ep):
        pass

    monkeypatch.setattr(parse_spec("loggp").cls, "make_transport", lambda self, port: None)
    with pytest.raises(conduit.ConduitError, match=r"\ALoggp\.make_transport returned None; return a Transport\Z"):
        conduit.run(main, conduit="loggp", ranks=2)


REFUSED = {
    "get": (lambda ep, x: x.get(0, 0, -8), "nbytes=-8 is negative"),
    "request_short": (lambda ep, x: ep.request_short(99, print), r"ep\.request_short: dest=99 is no rank"),
    "handler": (lambda ep, x: ep.request_short(0, print), r"ep\.request_short: handler=print is not attached"),
    "request_medium": (lambda ep, x: ep.request_medium(99, print, b""), r"ep\.request_medium: dest=99 is no rank"),
    "request_long": (lambda ep, x: ep.request_long(99, print, b"", 0), r"ep\.request_long: dest=99 is no rank"),
    "request_long_async": (lambda ep, x: ep.request_long_async(9, print, b"", 0), r"_async: dest=9 is no rank"),
    "predicate": (lambda ep, x: ep.block_until(3), r"ep\.block_until: predicate=3 cannot be called"),
    "what": (lambda ep, x: ep.block_until(bool, what=3), r"ep\.block_until: what=3 is an int"),
    "attach": (lambda ep, x: ep.attach(3), "attach: handler=3 is no function"),
    "compute": (lambda ep, x: ep.compute(-1), r"ep\.compute: seconds=-1 is not allowed"),
}
"""Calls that are refused, and by what."""


@pytest.mark.parametrize("catches", [Exception, BaseException])
@pytest.mark.parametrize("name", REFUSED)
def test_a_loop_that_catches_what_refuses_its_call_ends_the_job(monkeypatch, catches, name):
    """It is refused when it is made: nothing else would ever run."""
    monkeypatch.setattr(refusals, "MOST_REFUSED", 100)
    monkeypatch.setattr(livelock, "STILL_ENDING", 100)  # of its 10,000: what catches all goes on for so long
    call, words = REFUSED[name]

    async def main(ep):
        x = await extended.Extended.attach(ep)
        while True:
            with contextlib.suppress(catches):
                await call(ep, x)

    with pytest.raises(conduit.BadRequest, match=words) as caught:
        conduit.run(main, ranks=2, conduit="loggp")
    first, second, *_ = caught.value.__notes__
    line = call.__code__.co_firstlineno
    assert first == (
        f"the call at {__file__}:{line} was refused 100 times, one after another, and the program goes on: end the "
        "loop, or let the error end it"
    )
    assert second.startswith("raised by rank 0 at ")


NATIVE = {
    "put": (lambda rma: rma.put(99, 0, b""), "dest=99 is no rank"),
    "get": (lambda rma: rma.get(0, 0, b"12"), "out is a read-only bytes"),
    "put_strided": (lambda rma: rma.put_strided(0, 0, 1, [2], [1], b""), "data has 0 bytes"),
    "get_strided": (lambda rma: rma.get_strided(0, 0, 1, [2], [], bytearray(2)), r"counts=\(2,\) is 1 number"),
    "fetch_add": (lambda rma: rma.fetch_add(0, 4, 1), "offset=4 is not aligned"),
    "swap": (lambda rma: rma.swap(0, 8, 1, then=3), "then=3 cannot be called"),
    "compare_swap": (lambda rma: rma.compare_swap(0, 8, None, 1), "expected=None is no value"),
    "fence": (lambda rma: rma.fence(-1), "dest=-1 is no rank"),
}
"""Those of native operations."""


@pytest.mark.parametrize("name", NATIVE)
def test_nor_does_one_that_calls_native_operations_go_on(monkeypatch, name):
    monkeypatch.setattr(refusals, "MOST_REFUSED", 1000)
    call, words = NATIVE[name]

    async def main(ep):
        while True:
            with contextlib.suppress(Exception):
                await call(ep.rma)

    with pytest.raises(conduit.BadRequest, match=rf"\Aep\.rma\.{name}: {words}") as caught:
        conduit.run(main, ranks=2, conduit="t3e")
    line = call.__code__.co_firstlineno
    assert caught.value.__notes__[0].startswith(f"the call at {__file__}:{line} was refused 1000 times, ")


REPLIES = {
    "short": (lambda token: token.reply_short(print), "token.reply_short: handler=print is not attached"),
    "medium": (lambda token: token.reply_medium(print, b""), "token.reply_medium: handler=print is not attached"),
    "long": (lambda token: token.reply_long(print, b"", 0), "token.reply_long: handler=print is not attached"),
}
"""Those of handlers."""


@pytest.mark.parametrize("name", REPLIES)
def test_nor_does_a_handler_that_replies_in_such_a_loop(monkeypatch, name):
    monkeypatch.setattr(refusals, "MOST_REFUSED", 1000)
    call, words = REPLIES[name]

    def handler(token):
        while True:
            with contextlib.suppress(Exception):
                call(token)

    async def main(ep):
        await ep.attach(handler)
        await ep.request_short(1, handler)
        await ep.block_until(lambda: False)

    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(main, ranks=2, conduit="loggp")
    assert str(caught.value).startswith(words)
    line = call.__code__.co_firstlineno
    assert caught.value.__notes__[0].startswith(f"the call at {__file__}:{line} was refused 1000 times, ")


def test_nor_does_one_that_replies_again_and_again(monkeypatch):
    monkeypatch.setattr(refusals, "MOST_REFUSED", 1000)

    def got(token):
        pass

    def handler(token):
        while True:
            with contextlib.suppress(Exception):
                token.reply_short(got)

    async def main(ep):
        await ep.attach(handler, got)
        await ep.request_short(1, handler)
        await ep.block_until(lambda: False)

    with pytest.raises(conduit.HandlerError) as caught:
        conduit.run(main, ranks=2, conduit="loggp")
    assert "has replied already; a request gets at most one reply" in str(caught.value)
    line = handler.__code__.co_firstlineno + 3
    assert caught.value.__notes__[0].startswith(f"the call at {__file__}:{line} was refused 1000 times, ")


def test_calls_that_are_refused_while_time_passes_end_nothing(monkeypatch):
    monkeypatch.setattr(refusals, "MOST_REFUSED", 10)

    async def main(ep):
        x = await extended.Extended.attach(ep)
        for _ in range(100):
            with pytest.raises(conduit.BadRequest):
                x.get(0, 0, -8)
            await ep.poll()

    conduit.run(main, ranks=2, conduit="loggp")
