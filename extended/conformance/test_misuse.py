"""Wrong calls are answered where they stand, with the call, the argument, what is allowed and the way out."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import trio

import conduit
from conduit import BadRequest, Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import names, refusal
from conduit.words import is_a
from extended import Extended
from extended.conformance.programs import attached, right

SEGMENT = 256


def _calls(x: Extended) -> dict[str, Callable[[Any, Any], Any]]:
    """Give every transfer of 16 bytes as a function of dest and offset, by its name."""
    out = bytearray(16)
    return {
        "put": lambda dest, offset: x.put(dest, offset, bytes(16)),
        "put_nb": lambda dest, offset: x.put_nb(dest, offset, bytes(16)),
        "put_nbi": lambda dest, offset: x.put_nbi(dest, offset, bytes(16)),
        "get": lambda dest, offset: x.get(dest, offset, 16),
        "get_nb": lambda dest, offset: x.get_nb(dest, offset, out=out),
        "get_nbi": lambda dest, offset: x.get_nbi(dest, offset, out=out),
        "memset": lambda dest, offset: x.memset(dest, offset, 0, 16),
        "memset_nb": lambda dest, offset: x.memset_nb(dest, offset, 0, 16),
        "memset_nbi": lambda dest, offset: x.memset_nbi(dest, offset, 0, 16),
    }


@pytest.mark.rule("X28")
def test_a_rank_that_is_none_is_refused(case: Case) -> None:
    """By every transfer, also one of no bytes."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for name, call in _calls(x).items():
            for dest in (-1, ep.size, 10**9):
                message = refusal(partial(call, dest, 0))
                assert message.startswith(f"{name}: dest={dest} ")
                names(message, ep.size - 1)
            for wrong in (1.0, "0", None):
                names(refusal(partial(call, wrong, 0)), name, "dest", repr(wrong))
        names(refusal(lambda: x.put(ep.size, 0, b"")), "dest", ep.size)

    case.run(main)


@pytest.mark.rule("X28")
def test_a_range_outside_the_segment_is_refused(case: Case) -> None:
    """Before it, across its end and behind it; the last byte inside is allowed."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for name, call in _calls(x).items():
            for offset in (-1, SEGMENT - 15, SEGMENT, 1 << 40, 1 << 70):
                message = refusal(partial(call, right(ep), offset))
                assert message.startswith(f"{name}: offset={offset} ")
                names(message, 16, SEGMENT, right(ep), "offsets begin at 0" if offset < 0 else "a larger segment=")
            for wrong in (0.0, "8", None):
                names(refusal(partial(call, right(ep), wrong)), name, "offset", repr(wrong))
            made = await call(right(ep), SEGMENT - 16)
            if hasattr(made, "done"):
                await made
        await x.sync()

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X28", "X9")
def test_data_that_is_no_plain_buffer_is_refused(case: Case) -> None:
    """Text, lists, objects, and arrays with gaps; the message says what to give."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        wrong: Any
        gaps = np.zeros(20, np.uint8)[::2]
        turned = np.zeros((4, 4)).T
        objects = np.array([None, 1], dtype=object)
        for call in (x.put, x.put_nb, x.put_nbi):
            others = "give bytes, a bytearray, a memoryview"
            for wrong, advice in (
                ("text", "give its bytes, 'text'.encode()"),
                ([1, 2], "give an array: numpy.array([1, 2])"),
                (5, others),
                (None, others),
            ):
                names(refusal(partial(call, 0, 0, wrong)), call.__name__, "data", is_a(wrong), advice)
            for wrong in (gaps, turned, np.zeros(4, "M8[s]")[::2]):
                names(refusal(partial(call, 0, 0, wrong)), "data", "C-contiguous", "numpy.ascontiguousarray")
            for wrong in (objects, np.zeros(1, [("t", "M8[s]"), ("o", "O")])):
                names(refusal(partial(call, 0, 0, wrong)), "data", "without objects")
        for call in (x.put_nb, x.put_nbi):
            names(refusal(partial(call, 0, 0, b"a", "no")), call.__name__, "bulk='no' is neither True nor False")
            names(refusal(partial(call, 0, 0, b"a", bulk=2)), call.__name__, "bulk", 2)

    case.run(main)


@pytest.mark.rule("X28", "X9")
def test_out_that_cannot_be_filled_is_refused(case: Case) -> None:
    """Read-only, with gaps, no buffer; both or neither of size and buffer."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for call in (x.get, x.get_nb, x.get_nbi):
            for wrong in ("text", [0] * 8, np.zeros(20, np.uint8)[::2]):
                names(refusal(partial(call, 0, 0, out=wrong)), call.__name__, "out")
            gaps = np.zeros(20, np.uint8)[::2]  # a contiguous copy of which would be filled instead
            names(refusal(partial(call, 0, 0, out=gaps)), "give a new array and copy from it, or use get_strided")
            frozen: Any
            for frozen in (bytes(8), np.datetime64("2020", "s"), np.frombuffer(bytes(8), "M8[s]")):
                names(refusal(partial(call, 0, 0, out=frozen)), call.__name__, "out", "read-only")
        for call in (x.get, x.get_nb):
            names(refusal(partial(call, 0, 0)), call.__name__, "neither nbytes nor out is given", "nbytes=", "out=")
            names(refusal(partial(call, 0, 0, 8, out=bytearray(8))), call.__name__, "nbytes=8 and out are both given")
            names(refusal(partial(call, 0, 0, -8)), call.__name__, "nbytes", -8)
            names(refusal(partial(call, 0, 0, 8.0)), call.__name__, "nbytes", 8.0)

    case.run(main)


@pytest.mark.rule("X28")
@pytest.mark.simulated
def test_a_layer_that_was_kept_beyond_its_job_is_of_no_use(case: Case) -> None:
    """Calls say so, those on the rank itself too."""
    kept: list[Any] = []

    async def main(ep: Endpoint) -> None:
        kept.append(await attached(ep))

    case.run(main)
    x = kept[0]
    calls: list[Callable[[], Any]] = [
        lambda: x.put(right(x.ep), 0, b"late"),
        lambda: x.put(x.ep.rank, 0, b"late"),
        lambda: x.get_nb(right(x.ep), 0, 8),
        lambda: x.get_indexed(right(x.ep), [0, 9], 8),
        lambda: x.put_nbi(right(x.ep), 0, bytes(8)),
        x.sync,
        x.barrier,
        lambda: x.all_reduce(1),
        lambda: x.split(0),
        lambda: x.all_alloc(8),
        lambda: x.atomic("i8").inc(0, 0),
        lambda: x.lock("late").acquire(),
    ]
    for call in calls:

        async def late(call: Callable[[], Any] = call) -> None:
            await call()

        with pytest.raises(BadRequest, match="of a job that is over"):
            trio.run(late)


@pytest.mark.rule("X28")
def test_anything_with_an_index_is_an_integer(case: Case) -> None:
    """The integers of numpy and bools too."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        dest = np.int64(right(ep))
        await x.put(dest, np.uint8(8), b"abcd")
        assert bytes(await x.get(dest, np.int32(8), np.int16(4))) == b"abcd"
        await x.put_value(dest, True, np.int8(-1), np.int64(1))
        assert await x.get_value(dest, True, True) == 255
        await x.memset(dest, np.int64(0), np.uint8(7), np.int64(1))
        assert bytes(await x.get(dest, 0, 1)) == b"\7"
        await x.barrier(np.int64(5))
        await (await x.put_nb(dest, 0, b"a", bulk=np.bool_(False)))

    case.run(main)


@pytest.mark.rule("X28")
def test_wrong_numbers_of_arguments_are_type_errors_at_the_call(case: Case) -> None:
    """They name the call."""

    async def main(ep: Endpoint) -> None:
        x: Any = await attached(ep)
        with pytest.raises(TypeError, match=r"\AExtended\.put\(\) missing 1 required positional argument: 'data'"):
            x.put(0, 0)
        with pytest.raises(TypeError, match=r"\AExtended\.get_nbi\(\) missing 1 required keyword-only argument: 'out'"):
            x.get_nbi(0, 0)
        with pytest.raises(TypeError, match=r"\AExtended\.put_nbi\(\) got an unexpected keyword argument 'blk'"):
            x.put_nbi(0, 0, b"", blk=True)

    case.run(main)


@pytest.mark.rule("X28", "X1")
def test_attach_wants_an_endpoint(case: Case) -> None:
    """Anything else is named."""

    async def main(ep: Endpoint) -> None:
        await attached(ep)
        for wrong in (None, ep.rank, Extended):
            thing: Any = wrong
            names(refusal(partial(Extended.attach, thing)), "Extended.attach", "ep", is_a(wrong))

    case.run(main)


@pytest.mark.rule("X30")
@pytest.mark.ends
def test_no_call_of_this_layer_is_made_in_a_handler(case: Case) -> None:
    """It waits, and a handler cannot; the job ends with an error that names the call."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)

        def handler(token: Any) -> None:
            x.put(token.rank, 0, b"a")

        await ep.attach(handler)
        if ep.rank == 0:
            await ep.request_short(right(ep), handler)
        await x.barrier()

    with pytest.raises(conduit.HandlerError, match=r"(?s)\A.*Extended\.put"):
        case.run(main)
