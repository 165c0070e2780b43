"""What slots send from, on an MPI that notices late that a message has left."""

import pytest

from conduits.mpi import messages


class LateRequest:
    """A send that is over from some test on.

    Attributes:
        alive: persistent ones that were not given back.
    """

    alive = 0

    def __init__(self, tests):
        self.tests = tests

    def Test(self):
        self.tests -= 1
        return self.tests < 0

    def Start(self):
        pass

    def Free(self):
        LateRequest.alive -= 1


class LateComm:
    def Send_init(self, buffer, dest, tag):
        LateRequest.alive += 1
        return LateRequest(tests=0)

    def Free(self):
        pass


class NoRing:
    def __init__(self, *arguments):
        pass

    def close(self):
        pass


@pytest.mark.parametrize("late", [1, 5])
def test_records_whose_message_has_left_meanwhile_are_given_back(monkeypatch, late):
    """Of a thousand replies from one slot those are kept that MPI may still read."""
    monkeypatch.setattr(messages, "Ring", NoRing)
    monkeypatch.setattr(LateRequest, "alive", 0)
    channel = messages.MessageChannel(None, LateComm(), 0, 2, 1, 64)
    most = 0
    for _ in range(1000):
        record = channel.record(1, 0)
        assert record.sent is None
        record.sent = LateRequest(late)
        most = max(most, LateRequest.alive)
    assert most <= late + 2
    channel.close()
    assert LateRequest.alive == 0
