"""Which messages a transfer becomes that is not contiguous, and which copies are paid for."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from extended.conformance.programs import attached


def _width(offset: int) -> int:
    return next(nbytes for nbytes in (1, 2, 4, 8) if offset < 256**nbytes)


def _packed(elements: int, nbytes: int, entry: int, data: int, both: int) -> int:
    """Count messages by a walk over all bytes; each message says again where its first element lies."""
    messages, entries, carried = 1, 0, 0
    for _ in range(elements):
        for byte in range(nbytes):
            cost = entry if byte == 0 or not carried else 0
            if carried + 1 > data or entries + cost > data or entries + cost + carried + 1 > both:
                messages, entries, carried, cost = messages + 1, 0, 0, entry
            entries, carried = entries + cost, carried + 1
    return messages


def _sent(case: Case, main: Callable[..., Any], segment: int) -> tuple[int, int, int]:
    """Give the requests of rank 0, and the bytes of payload it sent and got."""
    counts = case.run(main, segment=segment).statistics
    assert counts[1]["replies_sent"] == counts[0]["requests_sent"]
    assert counts[1]["requests_sent"] == counts[0]["replies_sent"] == 0
    return counts[0]["requests_sent"], counts[0]["payload_bytes_sent"], counts[1]["payload_bytes_sent"]


@pytest.mark.rule("X50", "X43")
@pytest.mark.parametrize("nbytes", [1, 8, 100])
def test_elements_are_packed_into_as_few_messages_as_possible(case: Case, nbytes: int) -> None:
    """Offsets as narrow as they go; a put carries them with the data, a get sends them and the data comes back."""
    case = case.by_messages()
    case = case.with_ranks(2)
    most = case.limits.max_medium
    count = min(3 * most, 4500) // nbytes
    offsets = [(nbytes + 1) * number for number in range(count)]
    entry = _width(offsets[-1])

    async def main(ep: Endpoint, put: bool) -> None:
        x = await attached(ep)
        if ep.rank == 0 and put:
            await x.put_indexed(1, offsets, nbytes, bytes(count * nbytes))
        elif ep.rank == 0:
            await x.get_indexed(1, offsets, nbytes)

    segment = offsets[-1] + nbytes
    requests, sent, got = _sent(case, partial(main, put=True), segment)
    assert requests == _packed(count, nbytes, entry, most, most)
    assert count * (nbytes + entry) <= sent <= count * (nbytes + entry) + requests * entry
    assert got == 0
    requests, sent, got = _sent(case, partial(main, put=False), segment)
    assert requests == _packed(count, nbytes, entry, most, 2 * most)
    assert count * entry <= sent <= (count + requests) * entry
    assert got == count * nbytes


@pytest.mark.rule("X50", "X44")
@pytest.mark.parametrize(("row", "place"), [(40, 16 + 32), (32, 16 + 16)])
def test_a_strided_transfer_says_in_each_message_where_its_array_lies(case: Case, row: int, place: int) -> None:
    """In 16 bytes, and 16 for each dimension that cannot be joined with another."""
    case = case.by_messages()
    case = case.with_ranks(2)
    most = case.limits.max_medium
    rows = min(3 * most, 9000) // 20
    array = np.zeros((rows, 4, 5), np.uint8)
    strides = (row, 8, 1)  # 5 bytes together; rows of 32 bytes have no gap after them, which leaves one dimension

    async def main(ep: Endpoint, put: bool) -> None:
        x = await attached(ep)
        if ep.rank == 0 and put:
            await x.put_strided(1, 3, strides, array)
        elif ep.rank == 0:
            await x.get_strided(1, 3, strides, array)

    requests, sent, got = _sent(case, partial(main, put=True), 40 * rows)
    assert requests == -(-array.size // (most - place))
    assert (sent, got) == (array.size + requests * place, 0)
    requests, sent, got = _sent(case, partial(main, put=False), 40 * rows)
    assert requests == -(-array.size // most)
    assert (sent, got) == (requests * place, array.size)


@pytest.mark.rule("X50", "X11")
def test_what_lies_together_there_is_a_plain_put_or_get(case: Case) -> None:
    """Neighbouring pieces are one: the same messages as for that many bytes in a row."""
    case = case.by_messages()
    case = case.with_ranks(2)
    limits = case.limits
    nbytes = min(2 * limits.max_medium, 20_000) // 8 * 8
    half = nbytes // 2

    async def main(ep: Endpoint, form: str) -> None:
        x = await attached(ep)
        if ep.rank:
            return
        data = np.zeros(nbytes, np.uint8)
        inside = ep.segment[nbytes : 2 * nbytes]
        calls: dict[str, Callable[[], Any]] = {
            "put": lambda: x.put(1, 0, data),
            "put_vector": lambda: x.put_vector(1, [(0, half), (half, 8), (half + 8, half - 8)], data),
            "put_indexed": lambda: x.put_indexed(1, range(0, nbytes, 8), 8, data),
            "put_strided": lambda: x.put_strided(1, 0, (half, 1), data.reshape(2, half)),
            "put_strided from a transpose": lambda: x.put_strided(1, 0, (2, 1), data.reshape(2, half).T),
            "get": lambda: x.get(1, 0, out=data),
            "get_indexed": lambda: x.get_indexed(1, range(0, nbytes, 8), 8, data),
            "get inside": lambda: x.get(1, 0, out=inside),
            "get_vector inside": lambda: x.get_vector(1, [(0, half), (half, half)], inside),
            "get_strided inside": lambda: x.get_strided(1, 0, (half, 1), inside.reshape(2, half)),
        }
        await calls[form]()

    def sent(form: str) -> tuple[int, int, int]:
        return _sent(case, partial(main, form=form), 2 * nbytes)

    for form in ("put_vector", "put_indexed", "put_strided", "put_strided from a transpose"):
        assert sent(form) == sent("put"), form
    assert sent("get_indexed") == sent("get")
    assert sent("get_vector inside") == sent("get_strided inside") == sent("get inside")


@pytest.mark.rule("X50")
def test_memory_that_ranks_of_a_host_share_is_copied_without_a_message(case: Case) -> None:
    """Where it is shared; packed or not, and whatever the size."""
    case = case.with_ranks(2)
    offsets, long = range(0, 600, 11), case.limits.max_medium + 5

    async def main(ep: Endpoint, form: str) -> bool:
        x = await attached(ep)
        data = np.zeros(2 * long, np.uint8)
        calls: dict[str, Callable[[], Any]] = {
            "put_indexed": lambda: x.put_indexed(1, offsets, 8, data[: 8 * len(offsets)]),
            "put_vector": lambda: x.put_vector(1, [(0, long), (long + 1, long)], data),
            "put_strided": lambda: x.put_strided(1, 0, (11, 1), data[:480].reshape(60, 8)),
            "get_indexed": lambda: x.get_indexed(1, offsets, 8, data[: 8 * len(offsets)]),
            "get_vector": lambda: x.get_vector(1, [(0, long), (long + 1, long)], data),
            "get_strided": lambda: x.get_strided(1, 0, (11, 1), data[:480].reshape(60, 8)),
        }
        if ep.rank == 0:
            await calls[form]()
        return ep.segment_of(1) is not None

    for form in ("put_indexed", "put_vector", "put_strided", "get_indexed", "get_vector", "get_strided"):
        result = case.run(partial(main, form=form), segment=2 * long + 1)
        if result.values[0]:
            assert [counts["requests_sent"] for counts in result.statistics] == [0, 0], form


@pytest.mark.rule("X51", "X11")
def test_runs_longer_than_a_medium_go_as_puts_and_gets_of_their_own(case: Case) -> None:
    """By long messages; what is between two of them is packed."""
    case = case.by_messages()
    case = case.with_ranks(2)
    limits = case.limits
    long = limits.max_medium + 5
    if 5 * long > 300_000:
        pytest.skip(f"max_medium={limits.max_medium} leaves no room for longer runs")
    pieces = [(0, long), (long + 1, 3), (long + 9, 4), (2 * long + 20, long), (4 * long, 2)]
    total = sum(nbytes for _, nbytes in pieces)

    async def main(ep: Endpoint, form: str) -> None:
        x = await attached(ep)
        if ep.rank:
            return
        if form == "put":
            await x.put_vector(1, pieces, bytes(total))
        elif form == "get":
            await x.get_vector(1, pieces)
        else:
            await x.get_vector(1, pieces, ep.segment[4 * long + 64 :][:total])

    def sent(form: str) -> tuple[int, int, int]:
        return _sent(case, partial(main, form=form), 4 * long + 64 + total)

    assert sent("put")[0] == 2 * -(-long // limits.max_long_request) + 2
    assert sent("get")[0] == 2 * 2 + 2
    requests, _, got = sent("get inside")
    assert requests == 2 * -(-long // limits.max_long_reply) + 2
    assert got == total


@pytest.mark.rule("X51", "X13")
@pytest.mark.parametrize("form", ["vector", "indexed", "strided"])
def test_long_runs_leave_from_where_they_are(case: Case, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is handed to the core is the program's own memory, where it lies together here."""
    case = case.by_messages()
    long = case.limits.max_medium + 11
    given: list[Any] = []
    send = Endpoint.request_long_async

    def watch(ep: Endpoint, dest: int, handler: Any, payload: Any, *args: Any) -> Any:
        given.append(np.frombuffer(payload, np.uint8))
        return send(ep, dest, handler, payload, *args)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            data = np.frombuffer(bytearray(pattern(2 * long)), np.uint8)
            if form == "vector":
                await x.put_vector(1, [(0, long), (long + 9, long)], [data[:long], data[long:]])
            elif form == "indexed":
                await x.put_indexed(1, [0, long + 9], long, data)
            else:
                await x.put_strided(1, 0, (long + 9, 1), data.reshape(2, long))
            assert sum(piece.nbytes for piece in given) == 2 * long
            assert all(np.shares_memory(piece, data) for piece in given)
        await x.barrier()
        if ep.rank == 1:
            held = bytes(ep.segment[: 2 * long + 9])
            assert held[:long] + held[long + 9 :] == pattern(2 * long)

    monkeypatch.setattr(Endpoint, "request_long_async", watch)
    case.with_ranks(2).run(main, segment=2 * long + 64)


@pytest.mark.rule("X52")
@pytest.mark.parametrize("suffix", ["", "_nb", "_nbi"])
def test_packing_and_unpacking_are_charged(case: Case, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once at both sides; what is contiguous there is packed here and put as it is."""
    case = case.by_messages()
    case = case.with_ranks(2)
    nbytes = 8 * 60
    copied = [0, 0]  # in a process of its own a rank sees its own alone
    charge = Endpoint.charge

    def watch(ep: Endpoint, *args: Any, **kinds: Any) -> None:
        copied[ep.rank] += kinds.get("copied", 0)
        charge(ep, *args, **kinds)

    async def main(ep: Endpoint) -> list[int]:
        x = await attached(ep)
        charged = [copied[ep.rank]]
        await x.barrier()  # before and behind each look: what rank 0 does next may be here before this rank goes on
        offsets = [11 * number for number in range(60)]
        square = np.zeros((60, 16), np.uint8)[:, ::2]
        for call in (
            partial(getattr(x, f"put_indexed{suffix}"), 1, offsets, 8, bytes(nbytes)),
            partial(getattr(x, f"put_vector{suffix}"), 1, [(at, 8) for at in offsets], [bytes(nbytes)]),
            partial(getattr(x, f"put_strided{suffix}"), 1, 0, (11, 1), square),
            partial(getattr(x, f"put_strided{suffix}"), 1, 0, (8, 1), square),
            partial(getattr(x, f"get_indexed{suffix}"), 1, offsets, 8, bytearray(nbytes)),
            partial(getattr(x, f"get_strided{suffix}"), 1, 0, (11, 1), square),
        ):
            if not ep.rank:
                made = await call()
                if suffix == "_nb":
                    await made
                await x.sync()
            await x.barrier()
            charged.append(copied[ep.rank])
            await x.barrier()
        return list(np.diff(charged))

    monkeypatch.setattr(Endpoint, "charge", watch)
    assert case.run(main).values == [[nbytes] * 6] * 2


@pytest.mark.rule("X50")
@pytest.mark.once
def test_ten_thousand_elements_of_sixteen_ranks_take_forty_messages(case: Case) -> None:
    """One get_indexed_nb to each, where a medium message has room for 5000 bytes: one request and one reply."""
    case = case.by_messages()
    case = case.with_ranks(17)
    count, owners = 10_000, 16
    each = count // owners
    if case.limits.max_medium < 8 * each or case.limits.max_medium < 4 * each:
        pytest.skip(f"max_medium={case.limits.max_medium} is too little")

    async def main(ep: Endpoint) -> bool:
        x = await attached(ep)
        ep.segment.view("i8")[:] = np.arange(ep.segment.nbytes // 8) * owners + ep.rank
        await x.barrier()
        if ep.rank < owners:
            return True
        wanted = np.arange(count) * 7919 % (owners * ep.segment.nbytes // 8)
        places = [8 * (wanted[wanted % owners == owner] // owners) for owner in range(owners)]
        before = sum(map(len, places))
        handles = [await x.get_indexed_nb(owner, places[owner], 8) for owner in range(owners)]
        found = np.concatenate([got.view("i8").reshape(-1) for got in await x.wait_all(handles)])
        return before == count and sorted(found.tolist()) == sorted(wanted.tolist())

    result = case.run(main)
    assert all(result.values)
    counts = result.statistics
    barrier = sum(one["requests_sent"] for one in counts[:owners]) // owners
    requests = counts[owners]["requests_sent"] - barrier
    assert requests + sum(one["replies_sent"] for one in counts) <= 40
