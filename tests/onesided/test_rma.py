"""`ep.rma` on a network whose operations complete late and in any legal order."""

import pytest
import trio

import conduit
from conduit.contract import JobSetup
from conduit.core.observer import LandingListener
from conduit.launch.jobs.simulated import SimulatedJob
from conduit.launch.registry import parse_spec

pytestmark = pytest.mark.usefixtures("late")


def run(main, *args, spec="late", **settings):
    return conduit.run(main, *args, conduit=spec, **({"ranks": 2, "segment": 4096} | settings))


class Count:
    """Counts what is complete."""

    def __init__(self):
        self.got = []

    def __call__(self, *what):
        self.got.append(what)


def test_a_network_without_native_operations_says_none():
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=r"ep\.rma = 3 is not allowed: it is read-only"):
            ep.rma = 3
        return ep.rma

    assert run(main, spec="loggp").values == [None, None]
    assert run(main, spec="late:rma=am").values == [None, None]


@pytest.mark.parametrize("dest", [0, 1])
def test_a_put_is_there_when_it_is_complete_and_its_source_is_free_at_once(dest):
    async def main(ep):
        done = Count()
        if ep.rank == 0:
            data = bytearray(range(200))
            await ep.rma.put(dest, 100, data, done)
            data[:] = bytes(200)
            assert ep.rma.outstanding == 1
            await ep.block_until(lambda: done.got)
            assert ep.rma.outstanding == 0
            await ep.rma.put(1, 0, b"x")
        await ep.block_until(lambda: ep.segment[0] or ep.rank == 0)
        return bytes(ep.segment[100:300])

    result = run(main)
    assert result.values[dest] == bytes(range(200))
    assert result.values[1 - dest] == bytes(200)
    counts = result.statistics
    assert [(c["rma_puts"], c["rma_gets"], c["rma_bytes"]) for c in counts] == [(2, 0, 201), (0, 0, 0)]
    assert [c["requests_sent"] for c in counts] == [0, 0]


def test_a_landing_ends_the_wait_of_its_target_without_a_handler():
    async def main(ep):
        if ep.rank:
            await ep.block_until(lambda: bytes(ep.segment[8:16]) == b"landed!!")
            return ep.now
        await ep.compute(1e-3)
        await ep.rma.put(1, 8, b"landed!!")
        await ep.rma.quiet()
        return ep.now

    quiet, seen = run(main).values
    assert 1e-3 < seen < quiet


def test_what_nobody_lands_is_a_deadlock_once_nothing_is_under_way():
    async def main(ep):
        if ep.rank == 0:
            await ep.rma.put(1, 0, b"1")
        await ep.block_until(lambda: ep.segment[0] == 2, what="a two")

    with pytest.raises(conduit.Deadlock, match="a two"):
        run(main)


def test_the_job_is_not_over_before_all_is_complete():
    async def main(ep):
        done = Count()
        if ep.rank == 0:
            await ep.rma.put(1, 0, b"abc", lambda: done.got.append(bytes(ep.segment)))
        ep.on_exit(lambda: ep.poll())
        return ep, done

    (_, done), (other, _) = run(main).values
    assert len(done.got) == 1
    assert bytes(other.segment[:3]) == b"abc"


def test_gets_fill_their_buffers_by_the_time_they_are_complete():
    async def main(ep):
        ep.segment[:256] = range(256)
        await ep.attach()
        if ep.rank:
            return None
        outs = [bytearray(size) for size in (1, 7, 8, 100, 0)]
        done = Count()
        for number, out in enumerate(outs):
            await ep.rma.get(1, 10 * number, out, done)
        await ep.rma.quiet()
        assert len(done.got) == len(outs)
        return [bytes(out) for out in outs]

    found = run(main).values[0]
    assert found == [bytes(range(256))[10 * i : 10 * i + n] for i, n in enumerate((1, 7, 8, 100, 0))]


def test_strided_operations_touch_their_runs_and_no_other_byte():
    places = {"offset": 300, "run": 3, "counts": (2, 4), "strides": (-50, 7)}
    starts = [300 - 50 * i + 7 * j for i in range(2) for j in range(4)]

    async def main(ep):
        if ep.rank == 0:
            data = bytes(range(1, 25))
            await ep.rma.put_strided(1, *places.values(), data)
            await ep.rma.quiet()
            out = bytearray(24)
            await ep.rma.get_strided(1, *places.values(), out)
            await ep.rma.quiet()
            assert bytes(out) == data
        await ep.attach()
        return bytes(ep.segment)

    expected = bytearray(4096)
    for number, start in enumerate(starts):
        expected[start : start + 3] = range(3 * number + 1, 3 * number + 4)
    assert run(main).values == [bytes(4096), bytes(expected)]


def test_atomics_of_all_ranks_on_one_word_are_one_after_the_other():
    async def main(ep):
        old = []
        for _ in range(20):
            await ep.rma.fetch_add(0, 16, 1 if ep.rank else 2**64 - 1, old.append)
        await ep.rma.quiet()
        await ep.rma.swap(ep.rank, 24, 2**64 - 1 - ep.rank)
        await ep.rma.quiet()
        await ep.rma.compare_swap(ep.rank, 24, -1 - ep.rank, 7, old.append)
        await ep.rma.compare_swap(ep.rank, 24, 8, 9, old.append)
        await ep.rma.quiet()
        await ep.attach()
        return old, bytes(ep.segment[16:32])

    ranks = 4
    found = run(main, ranks=ranks).values
    assert int.from_bytes(found[0][1][:8], "little") == (20 * (ranks - 2)) % 2**64
    seen = [value for old, _ in found for value in old[:20]]
    total = 0
    assert sum(1 for value in seen if value == total) >= 1  # somebody was the first
    for rank, (old, memory) in enumerate(found):
        assert sorted(old[20:]) == sorted([2**64 - 1 - rank, 7]) or old[20:] == [2**64 - 1 - rank, 2**64 - 1 - rank]
        assert memory[8:] == (7).to_bytes(8, "little")


def test_a_fence_orders_puts_to_one_target():
    async def main(ep):
        if ep.rank == 0:
            for turn in range(1, 21):
                await ep.rma.put(1, 8, bytes([turn]) * 500)
                await ep.rma.fence(1)
                await ep.rma.put(1, 0, bytes([turn]))
                await ep.rma.fence(1)
        else:
            for turn in range(1, 21):
                await ep.block_until(lambda turn=turn: ep.segment[0] >= turn)
                assert min(ep.segment[8:508]) >= turn

    run(main)


def test_without_a_fence_they_are_not():
    async def main(ep):
        early = 0
        for turn in range(1, 21):
            if ep.rank == 0:
                await ep.rma.put(1, 8, bytes([turn]) * 500)
                await ep.rma.put(1, 0, bytes([turn]))
                await ep.rma.quiet()
            else:
                await ep.block_until(lambda turn=turn: ep.segment[0] >= turn)
                early += int(min(ep.segment[8:508]) < turn)
            await ep.attach()
        return early

    assert run(main).values[1] > 0


def test_a_call_is_a_cancellation_point_and_what_it_began_is_not_cancelled():
    async def main(ep):
        done = Count()
        if ep.rank:
            return None
        with trio.CancelScope() as scope:
            scope.cancel()
            await ep.rma.put(1, 0, b"never", done)
        assert scope.cancelled_caught
        await ep.rma.quiet()
        assert not done.got
        with trio.move_on_after(1e-9):
            await ep.rma.put(1, 0, b"ever", done)
            await trio.sleep_forever()
        await ep.rma.quiet()
        return len(done.got), ep.rma.counted()["rma_puts"]

    assert run(main).values[0] == (1, 1)


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_a_call_that_is_cancelled_before_the_cpu_is_free_does_nothing_later(inline):
    async def main(ep):
        done = Count()
        if ep.rank:
            await ep.block_until(lambda: ep.segment[1])
            return bytes(ep.segment[:2])
        ep.charge(1e-3)
        with trio.move_on_after(1e-4) as scope:
            await ep.rma.put(1, 0, b"\1", done)
        assert scope.cancelled_caught
        await ep.compute(2e-3)
        assert (ep.rma.outstanding, done.got) == (0, [])
        await ep.rma.put(1, 1, b"\2", done)
        await ep.rma.quiet()
        return ep.rma.counted()["rma_puts"], len(done.got)

    assert run(main, spec=f"late:inline={inline}").values == [(1, 1), b"\0\2"]


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_a_call_polls_first_and_lets_layers_send_before_it_begins(inline):
    async def main(ep):
        begun = []

        def ask(token):
            ep.want_progress()

        async def progress():
            begun.append(ep.rma.outstanding)
            await ep.poll()

        ep.on_progress(progress)
        await ep.attach(ask)
        if ep.rank:
            await ep.request_short(0, ask)
            return None
        await ep.compute(1e-3)
        ep.charge(1e-6)  # so that an event polls
        await ep.rma.put(1, 0, b"\1")
        await ep.rma.quiet()
        return begun, ep.rma.outstanding

    assert run(main, spec=f"late:inline={inline}").values[0] == ([0], 0)


def test_completion_may_do_no_more_than_a_handler():
    def send(ep):
        ep.request_short(1, send)

    async def main(ep):
        await ep.attach(send)
        if ep.rank == 0:
            await ep.rma.put(1, 0, b"1", lambda: send(ep))
            await ep.rma.quiet()

    with pytest.raises(conduit.HandlerError, match="the completion of a native operation"):
        run(main)


def test_a_call_in_a_handler_is_refused():
    def handler(token):
        token.ep.rma.put(0, 0, b"1")

    async def main(ep):
        await ep.attach(handler)
        if ep.rank == 0:
            await ep.request_short(1, handler)

    with pytest.raises(conduit.HandlerError, match=r"ep\.rma\.put: called in handler"):
        run(main)


def test_a_call_that_is_not_awaited_ends_the_job():
    async def main(ep):
        ep.rma.put(1, 0, b"1")

    with pytest.raises(conduit.BadRequest, match=r"ep\.rma\.put\(.*\) at .*test_rma\.py:\d+ was called but never"):
        run(main)


WRONG = [
    (lambda r: r.put(2, 0, b"1"), r"ep\.rma\.put: dest=2 is no rank of this job; ranks go from 0 to 1"),
    (lambda r: r.put(1, 4095, b"12"), r"ep\.rma\.put: 2 bytes at offset=4095 are not inside the segment of rank 1"),
    (lambda r: r.put(1, 0, [1]), r"ep\.rma\.put: data is a list, which has no buffer of plain bytes"),
    (lambda r: r.put(1, 0, b"1", 3), r"ep\.rma\.put: then=3 cannot be called; pass a plain function"),
    (lambda r: r.get(1, 0, b"1"), r"ep\.rma\.get: out is a read-only bytes; pass a writable buffer"),
    (lambda r: r.get(1, 0.5, bytearray(1)), r"ep\.rma\.get: offset=0\.5 is a float; pass an int"),
    (lambda r: r.get(1, -1, bytearray(1)), r"at offset=-1 are not inside .* 4096 bytes; offsets begin at 0$"),
    (lambda r: r.fetch_add(1, 12, 1), r"ep\.rma\.fetch_add: offset=12 is not aligned; pass a multiple of 8, such as 8"),
    (lambda r: r.swap(1, 4089, 1), r"ep\.rma\.swap: 8 bytes at offset=4089 are not inside"),
    (lambda r: r.compare_swap(1, 0, 1, 1.5), r"ep\.rma\.compare_swap: new=1\.5 is a float; pass an int"),
    (lambda r: r.put_strided(1, 0, 2, (3,), (4, 5), b"123456"), r"counts=\(3,\) is 1 number, but strides=\(4, 5\) 2"),
    (lambda r: r.put_strided(1, 0, 2, (3,), (4,), b"12345"), r"data has 5 bytes, but 3 runs of run=2 have 6; pass"),
    (lambda r: r.put_strided(1, 0, -2, (3,), (4,), b""), r"run=-2 is not allowed; pass an integer of at least 0"),
    (lambda r: r.put_strided(1, 0, 2, 3, (4,), b"123456"), r"put_strided: counts=3 is an int; pass a tuple of int"),
    (lambda r: r.get_strided(1, 0, 2, (3,), 4, bytearray(6)), r"get_strided: strides=4 is an int; pass a tuple of int"),
    (lambda r: r.get_strided(1, 0, 1, (3,), (-1,), bytearray(3)), r"bytes -2 to 1 .* 4096 bytes; offsets begin at 0$"),
    (lambda r: r.fence(7), r"ep\.rma\.fence: dest=7 is no rank of this job"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_arguments_are_refused_at_the_call(number):
    call, text = WRONG[number]

    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=text):
            call(ep.rma)
        return bytes(ep.segment)

    assert run(main).values == [bytes(4096)] * 2


async def traffic(ep):
    """Puts, gets and atomics of all ranks to all, without waiting; the bytes that come of it."""
    out = bytearray(64)
    for turn in range(6):
        dest = ep.random.randrange(ep.size)
        await ep.rma.put(dest, 64 * ep.rank + 8, bytes([turn]) * 50)
        await ep.rma.fetch_add(dest, 0, turn)
        await ep.rma.get(dest, 0, out)
    await ep.rma.quiet()
    await ep.attach()
    return bytes(ep.segment)


def test_the_digest_covers_what_lands():
    def digest(seed, spec="late", main=traffic):
        return run(main, spec=spec, seed=seed, ranks=3).digest

    assert digest(1) == digest(1) == digest(1, "late:inline=no")
    assert digest(1) != digest(2)

    def put(data):
        async def main(ep):
            if ep.rank == 0:
                await ep.rma.put(1, 0, data)

        return main

    assert digest(1, main=put(b"1")) != digest(1, main=put(b"2"))


class Landings(LandingListener):
    """Keeps what it hears."""

    def __init__(self):
        self.heard = []

    def landed(self, rank, when, offset, nbytes, origin):
        self.heard.append((rank, offset, nbytes, origin))


def test_observers_hear_of_landings_and_the_rank_that_they_come_from():
    async def main(ep):
        if ep.rank == 0:
            await ep.rma.put(1, 100, bytes(30))
            await ep.rma.fetch_add(1, 0, 5)
            await ep.rma.quiet()
            await ep.rma.get(1, 0, ep.segment[16:24])
            await ep.rma.quiet()

    landings = Landings()
    setup = JobSetup(ranks=2, hosts=(0, 1), segment=4096, seed=0)
    observed = SimulatedJob(main, (), parse_spec("late"), setup, observers=[landings]).run()
    assert sorted(landings.heard) == [(0, 16, 8, 1), (1, 0, 8, 0), (1, 100, 24, 0), (1, 124, 6, 0)]
    assert observed.digest == run(main).digest


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_two_tasks_of_a_rank_wait_for_their_own(inline):
    async def main(ep):
        finished = []

        async def one(number):
            done = Count()
            out = bytearray(8)
            await ep.rma.get(1, 8 * number, out, done)
            await ep.block_until(lambda: done.got)
            finished.append((number, out[0]))

        ep.segment[:] = [number // 8 for number in range(256)] * 16
        await ep.attach()
        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                for number in range(5):
                    nursery.start_soon(one, number)
        return sorted(finished)

    assert run(main, spec=f"late:inline={inline}").values[0] == [(number, number) for number in range(5)]


@pytest.mark.parametrize(("call", "missing"), [("put", "free"), ("get", "done")])
def test_an_operation_that_the_network_never_ends_is_told_as_its_mistake(monkeypatch, call, missing):
    from late_network import LateUnit

    async def main(ep):
        if ep.rank == 0:
            done = Count()
            await getattr(ep.rma, call)(1, 0, bytearray(8), done)
            await ep.block_until(lambda: done.got)

    def put(self, dest, places, data, free, done):
        """Begin, and forget it."""

    def get(self, dest, places, free, done):
        """Free the CPU, and forget the rest."""
        self.port.kernel.at(self.port.cpu.now(), free)

    monkeypatch.setattr(LateUnit, call, {"put": put, "get": get}[call])
    with pytest.raises(conduit.Deadlock) as caught:
        run(main)
    assert caught.value.report.head.endswith(
        f"(LateUnit on rank 0 has begun an operation and never called {missing}(): a mistake of the network, not of "
        "the program)"
    )
