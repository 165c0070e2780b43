"""The gap of LogGP at the receiver, and messages that come late or are overtaken."""

import pytest

import conduit

G = 4e-9
GAP = 2.5e-6


def arrivals(spec, senders, count, nbytes):
    """Return when rank 0 has handled each of the messages that some ranks send to it together."""

    async def main(ep):
        seen = []

        def take(token, payload, number):
            seen.append((ep.now, token.rank, number))

        await ep.attach(take)
        for number in range(count if ep.rank else 0):
            await ep.request_medium(0, take, bytes(nbytes), number)
        if ep.rank == 0:
            await ep.block_until(lambda: len(seen) == senders * count)
        return seen

    result = conduit.run(main, conduit=spec, ranks=senders + 1)
    return result.values[0], result.statistics[0]


@pytest.mark.parametrize(("nbytes", "apart"), [(0, GAP), (400, GAP), (10_001, 10_000 * G)])
@pytest.mark.parametrize("senders", [1, 2, 3])
def test_senders_together_reach_one_rank_no_faster_than_one(senders, nbytes, apart):
    seen, counts = arrivals("loggp", senders, 8, nbytes)
    times = [time for time, _, _ in seen]
    mean = (times[-1] - times[0]) / (len(times) - 1)
    # The poll that notices a message is less than one poll late; the mean is over messages of all senders.
    assert mean >= apart * 0.999 - 1e-8 / len(times)
    assert mean == pytest.approx(apart, rel=0.02) or senders == 1
    assert (counts["loggp_receive_gap_waits"] > 0) == (senders > 1)


def test_the_own_sends_of_a_receiver_do_not_wait_for_what_comes_in():
    """The gap holds for what is sent and for what is received, each by itself."""
    one, _ = arrivals("loggp:g=100us,L=5us", 1, 1, 0)
    assert one[0][0] < 100e-6


def test_a_share_of_the_messages_comes_late():
    plain, late = (arrivals(f"loggp:late={share},late_by=1ms", 1, 200, 0)[0] for share in (0, 0.1))
    assert all(time < 2e-3 for time, _, _ in plain)
    numbers = [number for _, _, number in late]
    assert numbers != sorted(numbers)
    assert sorted(numbers) == list(range(200))  # each once


def test_overtaken_replies_are_overtaken_and_come_once():
    async def main(ep):
        got = []

        def ask(token, number):
            token.reply_short(answer, number)

        def answer(token, number):
            got.append(number)

        await ep.attach(ask, answer)
        if ep.rank == 0:
            for number in range(40):
                await ep.request_short(1, ask, number)
            await ep.block_until(lambda: len(got) == 40)
        return got

    def orders(spec):
        return conduit.run(main, conduit=spec).values[0]

    assert orders("loggp") == list(range(40))
    overtaken = orders("loggp:overtake=0.3")
    assert overtaken != list(range(40))
    assert sorted(overtaken) == list(range(40))
    assert orders("loggp:overtake=0.3") == overtaken


@pytest.mark.parametrize("option", ["late", "overtake"])
@pytest.mark.parametrize("value", ["-0.1", "1.5", "often"])
def test_a_share_is_between_0_and_1(option, value):
    with pytest.raises(conduit.BadRequest, match=f"option '{option}' of conduit 'loggp' cannot be '{value}'; allowed"):
        arrivals(f"loggp:{option}={value}", 1, 1, 0)
