"""What the watch of a process keeps of one job is none of the next one's."""

import atexit
import math
import threading
from types import SimpleNamespace

import pytest

from conduit.launch.processes import stall
from conduit.launch.processes.watch import Watch


class Job:
    """A job that has come to its end by itself: nothing ends it any more."""

    def __init__(self):
        self.stopped = False

    def now(self):
        return 0

    def fail(self, take):
        pass

    def stop(self):
        self.stopped = True


@pytest.fixture
def watch(monkeypatch):
    """Give a watch of the only process, without its thread."""
    monkeypatch.setattr(threading, "Thread", lambda **_: SimpleNamespace(start=lambda: None))
    monkeypatch.setattr(atexit, "register", lambda _: None)
    return Watch(SimpleNamespace(rank=0, size=1), SimpleNamespace(framed=False, finish=lambda: None))


def test_a_job_that_stood_still_and_came_to_its_end_ends_no_other(watch):
    before, after = Job(), Job()
    watch.begin(before, 1.0)
    watch._weigh(before, 2.0, [stall.unanswered(0)])
    assert watch._raised_by < math.inf
    watch.finish()
    watch.begin(after, None)
    assert watch._raised_by == math.inf
    watch._end_stalled()
    assert (after.stopped, watch.end) == (False, None)
