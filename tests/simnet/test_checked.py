"""In Python's development mode mistakes of transports are found where they are made, and sound ones run as they do."""

import os
import re
import subprocess
import sys

import pytest

from tests.forked import forking

PROGRAM = """
import conduit
from conduits.loggp.port import LoggpTransport as P
{mutant}
async def main(ep):
    got = []
    def ask(token):
        token.reply_short(answer)
    def answer(token):
        got.append(1)
    await ep.attach(ask, answer)
    for number in range(20):
        await ep.request_short(1 - ep.rank, ask)
    await ep.block_until(lambda: len(got) == 20)
print(conduit.run(main, conduit="loggp").digest)
"""
WITH_TIME = (
    "send = P.send\nP.send = P.send_request = lambda s, d, n, m, then: send(s, d, n, m, lambda: then(s.kernel.now))"
)
TWICE = "send = P.send\nP.send = P.send_request = lambda s, d, n, m, then: send(s, d, n, m, lambda: (then(), then()))"
AT_ONCE = "P.send = P.send_request = lambda s, d, n, m, then: s.inject(d, n, m, then)"
SAME_SLOT = "P.acquire = lambda s, d: (s.free.setdefault(d, []), 0)[1]"
AHEAD = """
def come_in(self, reach, train, busy, arrive):
    arrive()
P.come_in = come_in
def send(self, dest, slot, message, then):
    self.inject(dest, slot, message, lambda: None)
    self.port.kernel.at(self.port.cpu.now(), then)
P.send = P.send_request = send
"""
NO_SOURCE = """
take = P.take
def sourceless(self):
    message = take(self)
    if message is not None:
        message.source = None
    return message
P.take = sourceless
"""
NEGATIVE = "take = P.take\nP.take = lambda s: (s.port.cpu.charge(-5), take(s))[1]"
BACK = "take = P.take\nP.take = lambda s: (setattr(s.port.cpu, 'free', 5), take(s))[1]"
CALLED = "take = P.take\nP.take = lambda s: (s.port.kernel.at(s.port.kernel.now, s.undelivered()), take(s))[1]"
RESUMES = "begin = P.begin_pass\nP.begin_pass = lambda s: (begin(s), s.port.resume_pass())"

OF_ANOTHER = """
send = P.send
def early(s, dest, slot, message, then):
    s.port.conduit.ports[dest].segment[0:3] = 7
    send(s, dest, slot, message, then)
P.send = P.send_request = early
"""
CPU_OF_ANOTHER = """
send = P.send
def early(s, dest, slot, message, then):
    s.port.conduit.ports[dest].cpu.charge(5)
    send(s, dest, slot, message, then)
P.send = P.send_request = early
"""
CUT = """
take = P.take
def cut(self):
    message = take(self)
    if message is not None:
        message.word, message.payload, message.nbytes = message.word | 1 << 9, b"ab", 5
    return message
P.take = cut
"""
FEW = """
take = P.take
def few(s):
    s.port.kernel.at(s.port.kernel.now + 5, landed, 1)
    return take(s)
def landed(first, second):
    pass
P.take = few
"""
SLOT_OF_REPLY = """
send = P.send
def reply(s, request, message, then):
    send(s, request.source, s.acquire(request.source), message, then)
P.send_reply = reply
"""
LINK = """
from conduit.sim.link import Link, Route
send = P.send
def early(s, d, n, m, then):
    s.port.cpu.charge(5000)
    cable = Link(s.port.kernel, 10**9, "cable 3")
    {take}
    send(s, d, n, m, then)
P.send = P.send_request = early
"""
NO_SLOT = "P.acquire = lambda s, d: False"
OUTSIDE = "take = P.take\nP.take = lambda s: (s.port.memory.write(1 << 30, b'12'), take(s))[1]"
LATER_AGAIN = """
send = P.send
def again(s, d, n, m, then):
    def both():
        then()
        s.port.kernel.call(s.port.kernel.now + 1000, then)
    send(s, d, n, m, both)
P.send = P.send_request = again
"""


def run(mutant, *flags):
    command = [sys.executable, *flags, "-W", "ignore", "-c", PROGRAM.format(mutant=mutant)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def in_development():
    """Run files where conduit has been imported in development mode."""
    settings = {"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "ignore"}
    with forking("conduit", environment={**os.environ, **settings}) as forked:
        yield forked


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (TWICE, r"called then\(\) a second time"),
        (WITH_TIME, r"called then\(\d+\); write `then\(\)`: it takes no arguments\n"),
        (AT_ONCE, r"called then\(\) inside LoggpTransport.send_request"),
        (SAME_SLOT, "slot 0 to rank 1 is in use"),
        (AHEAD, r"called arrived\(\) of rank 1 at once"),
        (NO_SOURCE, r"LoggpTransport.take returned a message of source=None; set it to the rank that has sent it"),
        (NEGATIVE, r"rank [01]: cpu.charge\(-5\); charge what takes time, 0 ps or more"),
        (BACK, r"rank [01]: cpu.free=5 ps, which is past, now is \d+ ps; a CPU's time does not go back: charge what"),
        (
            CALLED,
            r"TypeError: an event is to call [0-9]+; kernel.at\(when, f, x\) calls f\(x\) then, and kernel.at\(when, "
            r"f\(x\)\) calls it now",
        ),
        (
            FEW,
            r"TypeError: an event calls landed \((?:.*/)?prog.py:\d+\) with 1 argument, and it takes \(first, second\)"
            r": kernel\.at\(when, f, x\) calls f\(x\), so give what f takes behind it\n",
        ),
        (
            SLOT_OF_REPLY,
            r"rank [01], LoggpTransport\.send_reply called acquire\([01]\); the acquire\(\) of the request has set "
            r"aside what its reply needs: send it in that, `request\.slot`\n",
        ),
        (
            OF_ANOTHER,
            r"LoggpTransport\.send_request: took the segment of rank [01] at once, ahead of its own clock; what",
        ),
        (
            CPU_OF_ANOTHER,
            r"rank [01], LoggpTransport\.send_request: took the CPU of rank [01] at once, ahead of its own clock; what "
            r"touches anything that is not the rank's own happens in an event: port\.kernel\.at\(port\.cpu\.free, ",
        ),
        (
            CUT,
            r"rank [01], LoggpTransport\.take returned a medium message with 2 bytes of payload and nbytes=5; give it "
            r"the payload that was sent",
        ),
        (
            NO_SLOT,
            r"rank [01], LoggpTransport\.acquire returned False, which is taken for a slot; return None where none is",
        ),
        (
            OUTSIDE,
            r"port\.memory\.write of rank [01]: 2 bytes at 1073741824 are not inside the \d+ bytes of port\.memory; "
            r"write where the message says, `message\.offset`",
        ),
        *(
            (
                LINK.format(take=take),
                r"rank [01], LoggpTransport\.send_request: took cable 3 at once, at \d+ ps, and the CPU is there at "
                r"\d+ ps; what touches anything that is not the rank's own happens in an event: port\.kernel\.at\(",
            )
            for take in ("cable.take(s.port.cpu.free, 100)", "Route([(cable, 0)]).send(100, lambda: None)")
        ),
        (RESUMES, r"resume_pass\(\) although no take\(\) has returned LATER"),
    ],
    ids=[
        "twice",
        "with the time",
        "at once",
        "same slot",
        "ahead",
        "no source",
        "negative",
        "back",
        "called",
        "few arguments",
        "slot of a reply",
        "another's",
        "another's CPU",
        "cut",
        "no slot",
        "outside",
        "link",
        "route",
        "resumes",
    ],
)
def test_a_mistake_is_found(tmp_path, in_development, mutant, message):
    (tmp_path / "prog.py").write_text(PROGRAM.format(mutant=mutant))
    done = in_development.run("prog.py", cwd=tmp_path, env=os.environ)
    assert done.returncode
    assert re.search(message, done.stderr), done.stderr[-2000:]


def test_what_each_rank_does_wrong_in_events_is_told_once():
    """It is no rank's program that has raised it; a line of it stood there again, about rank #."""
    done = run(LATER_AGAIN, "-X", "dev")
    *_, first, second = done.stderr.splitlines()
    assert first.endswith("LoggpTransport.send_request called then() a second time; a send ends once")
    assert second == "while the job ended, an event of no rank raised the same, with other numbers"


def test_who_listens_hears_the_same_as_without():
    result = 'conduit.run(main, conduit="loggp"'
    program = PROGRAM.replace(f"{result}).digest", f"*map(list, {result}, trace=True).trace.cpu)").format(mutant="")
    plain, dev = (
        subprocess.run(
            [sys.executable, *flags, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False
        )
        for flags in ((), ("-X", "dev"))
    )
    assert plain.stdout == dev.stdout
    assert "polling" in plain.stdout


def test_a_sound_path_does_the_same_as_without():
    assert run("", "-X", "dev").stdout == run("").stdout != ""


ALONE = """
import conduit
async def main(ep):
    got = []
    def ask(token):
        token.reply_short(answer)
    def answer(token):
        got.append(1)
    await ep.attach(ask, answer)
    for number in range(3):
        await ep.compute(1e-3 * ep.rank)
        await ep.request_short(0, ask)
        await ep.block_until(lambda: len(got) > number)
print(conduit.run(main, conduit="sci:slots=1", ranks=4).digest)
"""


def test_a_send_beside_which_nothing_happens_is_found_sound():
    """Where it is not looked at, such a send is over in the call that begins it."""
    found = [
        subprocess.run([sys.executable, *flags, "-c", ALONE], capture_output=True, text=True, check=False)
        for flags in ((), ("-X", "dev", "-W", "ignore"))
    ]
    assert found[0].stdout == found[1].stdout != "", found[1].stderr[-2000:]


FALSE = """
def take(self):
    return self.arrived and take_one(self)
take_one, P.take = P.take, take
"""


def test_what_take_returns_beside_a_message_is_found_without_the_checker_too():
    """Where nothing has arrived it is an empty queue: neither None nor LATER."""
    done = run(FALSE)
    assert done.returncode
    told = "LoggpTransport.take returned deque([]); return a Message, None or LATER"
    assert told in done.stderr, done.stderr[-2000:]
    assert "no attribute" not in done.stderr


MIXED = """
import random, sys
import conduit
from conduit.launch import registry
async def main(ep):
    got = []
    def ask(token, *args):
        number = args[-1]
        if number % 3:
            token.reply_medium(answer, bytes(number * 37 % 500), number)
        else:
            token.reply_short(answer, number)
    def answer(token, *args):
        got.append(args[-1])
    await ep.attach(ask, answer)
    drawn = random.Random(ep.rank)
    for number in range(20):
        dest = (ep.rank + drawn.randrange(1, ep.size)) % ep.size
        kind = drawn.randrange(3)
        if kind == 0:
            await ep.request_short(dest, ask, number)
        elif kind == 1:
            await ep.request_medium(dest, ask, bytes(drawn.randrange(500)), number)
        else:
            await ep.request_long(dest, ask, bytes(drawn.randrange(4000)), 4096 * ep.rank, number)
        await ep.compute(drawn.random() * 3e-6)
    await ep.block_until(lambda: len(got) == 20)
simulated = [name for name, cls in registry.networks().items() if registry.parse_spec(name).simulated]
for spec in [*sorted(simulated), *sys.argv[1:]]:
    print(spec, conduit.run(main, conduit=spec, ranks=4, segment=1 << 20).digest)
"""
MORE = [
    "loggp:late=0.2,overtake=0.2", "loggp:slots=1", "mpi:library=scampi,credits=1", "mpi:library=sunmpi,credits=1",
    "mpi:library=sunmpi,postboxes=71", "mpi:library=sunmpi,fault=links%0.001", "mpi:library=start,credits=1",
    "sci:slots=1", "sci:queue=single", "sci:queue=split,slots=16", "sci:transactions=1",
    "sci:dynamic_mapping=yes", "sci:order=weak", "startx:host=pentium2", "startx:fifo=no,order=weak",
    "startx:crossover=64", "sunfire:config=q", "sunfire:poll=directed,outstanding=1", "sunfire:fault=links%0.001",
    "origin:rma=am", "t3e:slots=1", "udp:loss=0.05", "udp:loss=0.1,dup=0.1,reorder=0.1", "udp:window=1,slots=1",
    "udp:queue=1538", "udp:buffer=4096",
]  # fmt: skip


@pytest.mark.slow
def test_every_simulated_network_does_the_same_as_without():
    plain, dev = (
        subprocess.run(
            [sys.executable, *flags, "-W", "ignore", "-c", MIXED, *MORE], capture_output=True, text=True, check=False
        )
        for flags in ((), ("-X", "dev"))
    )
    assert not plain.returncode, plain.stderr[-2000:]
    assert not dev.returncode, dev.stdout[-100:] + dev.stderr[-2000:]
    assert dev.stdout.splitlines() == plain.stdout.splitlines()
    assert "mpi:library=sunmpi " in plain.stdout


MODULE = """
from conduit.commands import explain_am as am
from conduit.launch.explaining import explain
from conduit.launch.registry import parse_spec
from conduits.loggp.port import LoggpTransport as P
{mutant}
def explained():
    return explain(parse_spec("loggp"), am.main, "short", 0, segment=0).ticks
"""


def explained(folder, mutant, *flags):
    """Run what `conduit explain` does, in a process that may be in development mode, with a network that is changed."""
    (folder / "changed.py").write_text(MODULE.format(mutant=mutant))
    program = "import changed; from conduit.launch.fresh import call_fresh; print(call_fresh(changed.explained))"
    return subprocess.run(
        [sys.executable, *flags, "-c", program], capture_output=True, text=True, check=False, cwd=folder
    )


def test_explain_finds_the_same_mistakes(tmp_path):
    done = explained(tmp_path, NEGATIVE, "-X", "dev")
    assert re.search(r"cpu\.charge\(-5\); charge what takes time, 0 ps or more$", done.stderr, re.M), done.stderr


def test_explain_tells_of_a_sound_network_the_same_as_without(tmp_path):
    said = [explained(tmp_path, "", *flags).stdout for flags in ((), ("-X", "dev"))]
    assert said[0] == said[1] != ""
