"""In Python's development mode mistakes of transports are found where they are made, and sound ones run as they do."""

import re
import subprocess
import sys

import pytest

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
RESUMES = "begin = P.begin_pass\nP.begin_pass = lambda s: (begin(s), s.port.resume_pass())"


def run(mutant, *flags):
    command = [sys.executable, *flags, "-W", "ignore", "-c", PROGRAM.format(mutant=mutant)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (TWICE, r"called then\(\) a second time"),
        (AT_ONCE, r"called then\(\) inside LoggpTransport.send_request"),
        (SAME_SLOT, "slot 0 to rank 1 is in use"),
        (AHEAD, r"called arrived\(\) of rank 1 at once"),
        (RESUMES, r"resume_pass\(\) although no take\(\) has returned LATER"),
    ],
    ids=["twice", "at once", "same slot", "ahead", "resumes"],
)
def test_a_mistake_is_found(mutant, message):
    done = run(mutant, "-X", "dev")
    assert done.returncode
    assert re.search(message, done.stderr), done.stderr[-2000:]


def test_a_sound_path_does_the_same_as_without():
    assert run("", "-X", "dev").stdout == run("").stdout != ""
