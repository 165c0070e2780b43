"""What holds the slots that a rank waits for: which requests, for which handlers, and where they are."""

import json
import re
from collections import Counter

import pytest
import trio

import conduit
from conduit.launch.reports import HeldRecord
from extended import Extended

SENT = Counter()  # by rank: arguments are copied for each
NETWORKS = [
    "loggp", "sci", "sci:queue=single", "sci:queue=split", "sunfire", "startx", "udp", "t3e", "origin",
    "mpi:library=scampi", "mpi:library=start", "mpi:library=sunmpi",
]  # fmt: skip


async def flood(ep, nbytes):
    """Rank 1 handles nothing; the others send to it until they have no slot."""

    def note(token):
        pass

    def mark(token, payload):
        pass

    await ep.attach(note, mark)
    if ep.rank == 1:
        await trio.sleep_forever()
    while True:
        if nbytes and SENT[ep.rank] % 2:
            await ep.request_medium(1, mark, bytes(nbytes))
        else:
            await ep.request_short(1, note)
        SENT[ep.rank] += 1


def deadlock(main, *arguments, **options):
    SENT.clear()
    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, *arguments, **options)
    return caught.value


def line_of(main, text):
    code = main.__code__
    with open(code.co_filename) as file:
        lines = file.readlines()
    return next(at for at, line in enumerate(lines, 1) if at >= code.co_firstlineno and text in line)


def held(error, rank):
    """Return what holds the slots that a rank waits for, by handler."""
    (task,) = error.report.ranks[rank].tasks
    assert task.wait.kind == "slot"
    return {each.handler: each for each in task.wait.held}


@pytest.mark.parametrize(
    ("network", "per_host"), [(each, count) for each in NETWORKS for count in (1, 2) if (each, count) != ("t3e", 2)]
)
def test_the_requests_that_hold_the_slots_are_named_with_handler_and_line(network, per_host):
    error = deadlock(flood, 0, ranks=3, conduit=network, ranks_per_host=per_host)
    line = line_of(flood, "def note")
    for rank in (0, 2):
        (found,) = held(error, rank).values()
        assert isinstance(found, HeldRecord)
        assert (found.at, found.handler, found.place.line, found.count) == (1, "note", line, SENT[rank])
    assert error.report.ranks[1].undelivered == SENT[0] + SENT[2]
    shown = str(error)
    assert f"not handled, because this rank does not poll: for note (test_slots.py:{line})" in shown
    assert f"rank 1 has not handled {SENT[0]} of the requests that hold them, for note (" in shown


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("nbytes", [4, 400])
def test_requests_for_several_handlers_are_told_apart(network, nbytes):
    slots = "" if "single" in network or network in ("sunfire", "udp") else "slots=4"
    slots = slots.replace("slots", "credits") if network.startswith("mpi") else slots
    spec = network + (f"{',' if ':' in network else ':'}{slots}" if slots else "")
    error = deadlock(flood, nbytes, ranks=2, conduit=spec)
    found = held(error, 0)
    count = SENT[0]
    wanted = {"note": -(-count // 2)} | ({"mark": count // 2} if count > 1 else {})
    assert {name: each.count for name, each in found.items()} == wanted
    for name, each in found.items():
        assert each.place.line == line_of(flood, f"def {name}")


@pytest.mark.parametrize("network", NETWORKS)
def test_a_reply_that_was_not_taken_is_named(network):
    async def main(ep):
        def ask(token):
            token.reply_short(answer)

        def answer(token):
            pass

        await ep.attach(ask, answer)
        if ep.rank == 0:
            await ep.request_short(1, ask)
            await trio.sleep_forever()

    error = deadlock(main, ranks=2, conduit=network)
    (reply,) = error.report.ranks[0].unhandled
    assert (reply.source, reply.handler, reply.request, reply.count) == (1, "answer", False, 1)
    assert "1 message not handled, because this rank does not poll: for answer (" in str(error)


def test_the_handlers_of_a_layer_are_named_with_their_layer():
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 1:
            await trio.sleep_forever()
        await x.put(1, 0, b"12345678")

    error = deadlock(main, ranks=2, conduit="loggp", segment=64)
    (message,) = error.report.ranks[1].unhandled
    assert message.handler.startswith("extended.")
    assert message.place is None


def test_a_message_to_oneself_is_named():
    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        await ep.request_short(0, note)
        await trio.sleep_forever()

    (message,) = deadlock(main, ranks=1, conduit="loggp").report.ranks[0].unhandled
    assert (message.source, message.handler) == (0, "note")


def test_the_structure_and_json_have_it_too():
    error = deadlock(flood, 0, ranks=2, conduit="loggp:slots=2")
    whole = json.loads(error.report.to_json())
    (task,) = whole["ranks"][0]["tasks"]
    assert [(each["at"], each["handler"], each["count"]) for each in task["wait"]["held"]] == [(1, "note", 2)]
    (message,) = whole["ranks"][1]["unhandled"]
    assert (message["source"], message["handler"], message["request"], message["count"]) == (0, "note", True, 2)


def test_ranks_that_use_different_slots_say_how_many_use_which():
    """Some reach the sleeper through their host's memory, others over the network."""
    shown = str(deadlock(flood, 0, ranks=16, conduit="sunfire", ranks_per_host=8))
    assert "7 of them: 32 of 32 shared-memory request slots to rank 1 in use" in shown
    assert "8 of them: 8 of 8 requests to rank 1 are without their reply" in shown
    assert f"rank 1 has not handled {SENT.total()} of the requests that hold them" in shown


def test_an_answer_that_only_frees_a_slot_is_called_that():
    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)
            await trio.sleep_forever()

    assert "1 message not handled, because this rank does not poll: for no handler, only to free a slot" in str(
        deadlock(main, ranks=2, conduit="sci")
    )


def test_of_several_causes_each_names_all_its_ranks_in_few_lines():
    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        if ep.rank in (1, 2):
            await trio.sleep_forever()  # rank 1 with messages, rank 2 without
        if ep.rank == 3:
            await ep.request_short(1, note)
            await ep.block_until(lambda: False, what="a word", ranks=[1, 2])
        await ep.block_until(lambda: False, what="nothing")

    lines = str(deadlock(main, ranks=5, conduit="loggp")).splitlines()
    line = line_of(main, "await trio.sleep_forever")
    assert re.fullmatch(rf"2 ranks \(1-2\): \S+:{line} in main: is in a wait of Trio's own", lines[1])
    assert lines[2] == "    rank 3 waits for them"


def test_a_reply_that_runs_nothing_is_not_told_beside_messages_that_would_run_something():
    async def main(ep):
        got = []

        def note(token):
            got.append(token.rank)

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)
            await trio.sleep_forever()
        await ep.block_until(lambda: got)
        await ep.request_short(0, note)

    (told,) = [line for line in str(deadlock(main, ranks=2, conduit="sci")).splitlines() if "not handled" in line]
    assert re.match(r" +1 message not handled, because this rank does not poll: for note \(", told)
