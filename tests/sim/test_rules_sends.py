"""Rules S: sends, replies, payloads, and what a cancellation may and may not do to them."""

import sys
from pathlib import Path

import numpy as np
import pytest
import trio

import conduit


def test_S1_a_send_takes_the_cpu_to_its_end_and_the_next_handler_begins_there(on_loggp):
    """Two requests wait; between the two handlers lie the first one's reply (o_s) and taking the second (o_r)."""

    async def main(ep):
        handled, answers = [], []

        def answer(token):
            answers.append(1)

        def ask(token):
            handled.append(ep.now)
            token.reply_short(answer)

        await ep.attach(ask, answer)
        if ep.rank == 2:
            await ep.compute(100e-6)
            await ep.poll()
            return [later - earlier for earlier, later in zip(handled, [*handled[1:], ep.now], strict=True)]
        await ep.request_short(2, ask)
        await ep.block_until(lambda: answers)

    gaps = on_loggp.run(main, ranks=3, options="o_s=2us,o_r=3us,g=0,poll=7ns").values[2]
    assert gaps == pytest.approx([5e-6, 2e-6], abs=1e-12)


def test_S2_a_request_polls_once_before_it_sends(both_ways):
    async def main(ep):
        digest_log = []

        def note(token):
            digest_log.append("handled")

        await ep.attach(note)
        if ep.rank == 0:
            for _ in range(2):
                await ep.request_short(1, note)
            return None
        await ep.compute(1e-3)  # both have arrived
        await ep.request_short(0, note)
        digest_log.append("sent")
        return digest_log

    assert both_ways.run(main).values[1] == ["handled", "handled", "sent"]


def _cut_off(nanoseconds):
    async def main(ep):
        got = []
        data = np.arange(700, dtype=np.uint8)

        def land(token, payload):
            got.append(bytes(payload) == data.tobytes())

        await ep.attach(land)
        sent = 0
        if ep.rank == 0:
            with trio.move_on_after(nanoseconds * 1e-9):
                for _ in range(4):
                    await ep.request_medium(1, land, data)
                    sent += 1
        else:
            await ep.compute(30e-6)
        return sent, got

    return main


@pytest.mark.parametrize("nanoseconds", [1, 3, 300, 900, 1010, 1111, 2400, 5000, 9000, 20_000, 50_000, 70_000])
@pytest.mark.parametrize("options", ["slots=1", "slots=2"])
def test_S2_a_message_is_sent_wholly_or_not_at_all(both_ways, nanoseconds, options):
    (sent, _), (_, got) = both_ways.run(_cut_off(nanoseconds), options=options).values
    assert got == [True] * sent


def test_S2_a_request_that_has_its_slot_is_not_cancelled(both_ways):
    """A scope that is cancelled while the send is under way ends only after it."""

    async def main(ep):
        got = []

        def land(token, payload):
            got.append(len(payload))

        await ep.attach(land)
        if ep.rank == 1:
            await ep.block_until(lambda: got)
            return got
        reached = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_soon, nursery.cancel_scope)
            await ep.request_medium(1, land, bytes(512))
            reached = True
            await ep.poll()
            raise AssertionError("the call after it is cancelled")
        return reached

    async def _cancel_soon(scope):
        await trio.sleep(50e-9)
        scope.cancel()

    assert both_ways.run(main, options="o_s=1us" if both_ways.network == "loggp" else "").values == [True, [512]]


@pytest.mark.parametrize("both_ways", ["mpi:credits=1"], indirect=True)
@pytest.mark.parametrize("nanoseconds", range(5000, 10_000, 500))
def test_S2_nor_where_another_request_was_cancelled_while_it_waited_for_its_slot(both_ways, nanoseconds):
    async def main(ep):
        sent, got = [], []

        def note(token, number):
            got.append(number)

        async def waits_for_a_slot():
            with trio.move_on_after(nanoseconds * 1e-9):
                await ep.request_short(1, note, 2)
                sent.append(2)

        async def gives_up():
            ep.charge(3e-6)
            with trio.move_on_after(1e-6) as scope:
                await ep.request_short(2, note, 3)
            assert scope.cancelled_caught

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note, 1)  # has the only slot
            sent.append(1)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(waits_for_a_slot)
                await trio.sleep(2e-6)
                nursery.start_soon(gives_up)
        await ep.attach()
        return sent or got

    found = both_ways.run(main, ranks=3).values
    assert found[0] == found[1]
    assert found[2] == []


def test_S2_a_wait_for_a_slot_can_be_cancelled_and_leaves_no_slot_behind(both_ways):
    async def main(ep):
        got = []

        def note(token, number):
            got.append(number)

        await ep.attach(note)
        if ep.rank == 1:
            await ep.compute(1e-3)
            await ep.block_until(lambda: len(got) == 3)
            return got
        await ep.request_short(1, note, 0)
        start = ep.now
        with trio.move_on_after(1e-4) as scope:
            await ep.request_short(1, note, 1)  # the only slot is taken, and its peer does not poll
        assert scope.cancelled_caught
        assert ep.now - start < 2e-4
        await ep.request_short(1, note, 2)
        await ep.request_short(1, note, 3)

    assert both_ways.run(main, options="slots=1").values[1] == [0, 2, 3]


def test_S3_a_reply_is_accepted_at_once_when_every_slot_is_taken(both_ways):
    """Every rank floods every other; a reply that needed a slot would never get one."""

    async def main(ep):
        answers = []

        def answer(token, payload):
            answers.append(len(payload))

        def ask(token, payload):
            before = trio.current_time()
            token.reply_medium(answer, payload)
            assert trio.current_time() == before

        await ep.attach(ask, answer)
        for step in range(12):
            await ep.request_medium((ep.rank + 1 + step % (ep.size - 1)) % ep.size, ask, bytes(512))
        await ep.block_until(lambda: len(answers) == 12)
        return sum(answers)

    assert both_ways.run(main, ranks=4, options="slots=1").values == [12 * 512] * 4


def test_S4_a_payload_is_copied_before_the_call_polls_or_waits(both_ways):
    async def main(ep):
        got = []

        def land(token, payload):
            got.append(bytes(payload[:2]))

        def land_long(token, payload):
            got.append(bytes(payload[:2]))

        await ep.attach(land, land_long)
        if ep.rank == 1:
            await ep.compute(1e-3)
            await ep.block_until(lambda: len(got) == 3)
            return got
        source = bytearray(b"a" * 512)
        await ep.request_medium(1, land, source)  # takes the only slot
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ep.request_medium, 1, land, source)
            await trio.sleep(1e-5)  # it waits for the slot
            source[:] = b"b" * 512
            nursery.start_soon(ep.request_long, 1, land_long, source, 0)
            await trio.sleep(1e-5)
            source[:] = b"c" * 512

    assert both_ways.run(main, options="slots=1").values[1] == [b"aa", b"aa", b"bb"]


def test_S4_what_was_lent_to_a_call_and_never_awaited_is_not_copied_yet(both_ways):
    """The first step of the awaited call, not the call itself, reads the payload."""

    async def main(ep):
        got = []

        def land(token, payload):
            got.append(bytes(payload))

        await ep.attach(land)
        if ep.rank == 0:
            source = bytearray(b"old")
            call = ep.request_medium(1, land, source)
            source[:] = b"new"
            await call
        else:
            await ep.block_until(lambda: got)
        return got

    assert both_ways.run(main).values[1] == [b"new"]


def test_S4_a_long_reply_from_outside_the_segment_is_copied_at_once(both_ways):
    async def main(ep):
        answers = []
        source = bytearray(b"x" * 4096)

        def answer(token, payload):
            answers.append(bytes(payload))

        def ask(token):
            token.reply_long(answer, source, 0)
            source[:] = b"y" * 4096

        await ep.attach(ask, answer)
        if ep.rank == 0:
            await ep.request_short(1, ask)
            await ep.block_until(lambda: answers)
            return answers[0] == b"x" * 4096

    assert both_ways.run(main).values[0] is True


def test_S5_all_that_is_set_aside_can_be_in_use_at_once(both_ways):
    """Every request slot of every pair is full before anybody polls, then every reply is of the largest size."""

    async def main(ep):
        answers, asked = [], []
        peers = [rank for rank in range(ep.size) if rank != ep.rank]
        largest = bytes(min(ep.limits.max_medium, 2048))

        def answer(token, payload):
            answers.append(len(payload))

        def ask(token, payload):
            asked.append(token.rank)
            token.reply_medium(answer, largest)

        await ep.attach(ask, answer)
        async with trio.open_nursery() as nursery:
            for peer in peers:
                for _ in range(2):
                    nursery.start_soon(ep.request_medium, peer, ask, largest)
        await ep.block_until(lambda: len(answers) == 2 * len(peers))
        await ep.block_until(lambda: len(asked) == 2 * len(peers))
        return sum(answers)

    assert both_ways.run(main, ranks=4, options="slots=2").values == [3 * 2 * 2048] * 4


@pytest.mark.parametrize("name", ["loggp", "sci", "startx"])
def test_S5_what_a_network_sets_aside_stands_in_its_readme(name):
    module = sys.modules[conduit.available()[name].__module__]
    text = Path(module.__file__).with_name("README.md").read_text(encoding="utf-8")
    _, _, after = text.partition("set aside")
    assert after, "no table of what is set aside for a reply"
    assert "\n|" in after


def test_S6_a_cancelled_attach_ends_the_job(on_loggp):
    async def main(ep):
        if ep.rank == 0:
            with trio.move_on_after(1e-5):
                await ep.attach()
        await ep.compute(1)
        await ep.attach()

    error = on_loggp.fails(conduit.ConduitError, main)
    assert str(error).startswith("ep.attach: cancelled on rank 0, so that the others could never leave it; ")
