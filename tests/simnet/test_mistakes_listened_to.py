"""What the author of a network gets wrong is told in the same terms where somebody listens to the job."""

import re

import pytest

import conduit
from conduit.commands.cli import call
from conduit.commands.explain_am import am
from conduit.launch.explaining import explain
from conduit.launch.registry import parse_spec
from conduits.loggp.port import LoggpTransport

PROGRAM = """
async def main(ep):
    got = []

    def ask(token, number):
        token.reply_short(answer, number)

    def answer(token, number):
        got.append(number)

    await ep.attach(ask, answer)
    for number in range(3):
        await ep.request_short(1 - ep.rank, ask, number)
    await ep.block_until(lambda: len(got) == 3)
"""


@pytest.fixture
def told(tmp_path, capsys):
    """Returns what `conduit run` says of a program that is refused, with these options."""
    program = tmp_path / "prog.py"
    program.write_text(PROGRAM)

    def run(*options):
        assert call(["run", str(program), "--conduit", "loggp", *options]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        return [line for line in err.splitlines() if not line.startswith("wrote ")]

    return run


@pytest.fixture
def listening(tmp_path):
    return [["--trace", str(tmp_path / "t.json")], ["--report", str(tmp_path / "report")]]


@pytest.mark.parametrize("method", ["send_request", "take"])
def test_a_time_that_is_no_whole_number(monkeypatch, told, listening, method):
    """It passed where somebody listened, rounded."""
    plain = getattr(LoggpTransport, method)

    def charging(self, *args):
        result = plain(self, *args)
        if result is not None or args:
            self.port.cpu.charge(500.5)
        return result

    monkeypatch.setattr(LoggpTransport, method, charging)
    (alone,) = told()
    assert re.fullmatch(
        r"conduit\.errors\.ConduitError: the time of a rank has become \d+\.5 ps, a float: the network has picoseconds "
        r"that are no int; `python -X dev -m conduit \.\.\.` shows the line that schedules it",
        alone,
    )
    assert [told(*options) for options in listening] == [[alone]] * 2
    with pytest.raises(conduit.ConduitError, match=r"^the time of a rank has become \d+\.5 ps, a float: the network"):
        explain(parse_spec("loggp"), am.main, "short", 0, segment=0)


def test_a_message_from_the_rank_that_takes_it(monkeypatch, told, listening):
    """A pop from an empty list was told, with internals."""
    plain = LoggpTransport.take

    def take(self):
        message = plain(self)
        if message is not None:
            message.source = self.port.rank
        return message

    monkeypatch.setattr(LoggpTransport, "take", take)
    for options in listening:
        message, where = told(*options)
        assert re.fullmatch(
            r"conduit\.errors\.ConduitError: rank ([01]), LoggpTransport\.take returned a message of source=\1; set it "
            r"to the rank that has sent it",
            message,
        )
        assert where.startswith("raised by rank ")


def test_a_message_that_has_changed_on_its_way(monkeypatch, told, listening):
    plain = LoggpTransport.take

    def take(self):
        message = plain(self)
        if message is not None and message.is_request:
            message.args = bytes([message.args[0] + 7, *message.args[1:]])
        return message

    monkeypatch.setattr(LoggpTransport, "take", take)
    for options in listening:
        message, _ = told(*options)
        assert re.fullmatch(
            r"conduit\.errors\.ConduitError: rank [01], LoggpTransport\.take returned a request of rank [01], of whom "
            r"no such request is on its way: it was taken twice, has changed on its way, or nobody has sent it",
            message,
        )


def test_a_network_that_charges_less_than_nothing_is_named_by_explain(monkeypatch):
    """A gap in the critical path was told, with internals."""

    def send_request(self, dest, slot, message, then):
        self.port.cpu.charge(-500_000)
        self.port.kernel.at(self.port.cpu.free, self.inject, dest, slot, message, then)

    monkeypatch.setattr(LoggpTransport, "send_request", send_request)
    with pytest.raises(conduit.ConduitError) as caught:
        explain(parse_spec("loggp:L=7us"), am.main, "short", 0, segment=0)
    told = re.fullmatch(
        r"LoggpTransport\.inject happens at (\d+) ps, which is past when it is scheduled, at (\d+) ps: a mistake of "
        r"the network 'loggp', as of one that charges less than 0 ps; `python -X dev -m conduit testam --conduit "
        r"loggp:L=7e-06` names the call",
        str(caught.value),
    )
    assert 0 < int(told[1]) < int(told[2])


@pytest.mark.parametrize("schedule", ["at", "call"])
def test_events_that_let_no_time_pass_have_the_same_name_in_explain(monkeypatch, schedule):
    def spin(self):
        getattr(self.port.kernel, schedule)(self.port.kernel.now, self.spin)

    monkeypatch.setattr(LoggpTransport, "spin", spin, raising=False)
    monkeypatch.setattr(LoggpTransport, "take", spin)
    spin.__qualname__ = "LoggpTransport.spin"
    with pytest.raises(conduit.Livelock) as caught:
        explain(parse_spec("loggp"), am.main, "short", 0, segment=0)
    assert caught.value.report.head.endswith(
        "(events of the simulated hardware follow one another at one instant, such as LoggpTransport.spin)"
    )


def test_what_an_event_raises_is_explained_in_explain_too(monkeypatch):
    def error_of_event(self, error):
        return LookupError(f"no wire, because of {error}")

    def fall(self):
        raise ValueError("a fall")

    def send_request(self, dest, slot, message, then):
        self.port.kernel.at(self.port.kernel.now, self.fall)

    monkeypatch.setattr(LoggpTransport, "error_of_event", error_of_event, raising=False)
    monkeypatch.setattr(LoggpTransport, "fall", fall, raising=False)
    monkeypatch.setattr(LoggpTransport, "send_request", send_request)
    with pytest.raises(LookupError, match=r"\Ano wire, because of a fall\nraised by rank 0 at "):
        explain(parse_spec("loggp"), am.main, "short", 0, segment=0)
