"""What the watch of a process keeps of one job is none of the next one's, and when it ends all processes."""

import atexit
import itertools
import math
import os
import threading
from types import SimpleNamespace

import pytest

from conduit.launch.processes import stall
from conduit.launch.processes import watch as watch_module
from conduit.launch.processes.watch import DELIVERY_S, READ_S, Watch


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


@pytest.mark.parametrize(
    ("looks", "took"), [(0, (DELIVERY_S, DELIVERY_S)), (30, (DELIVERY_S, READ_S)), (None, (READ_S, READ_S + 0.1))]
)
def test_all_processes_are_ended_once_the_launcher_has_read_the_last_words_or_has_had_its_time(
    watch, monkeypatch, looks, took
):
    """MPICH's launcher hears of an end before it reads what was said of it, where it comes to both at once."""
    happened, clock = [], SimpleNamespace(now=0.0)
    unread = itertools.repeat(True) if looks is None else iter([True] * looks + [False])

    def sleep(seconds):
        clock.now += seconds

    def is_unread():
        happened.append(next(unread))
        return happened[-1]

    def abort(status):
        happened.append(("abort", status, clock.now))
        raise SystemExit(status)

    monkeypatch.setattr(watch_module, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    monkeypatch.setattr(os, "_exit", lambda status: happened.append(("exit", status)))
    watch._speech.ends, watch._speech.is_unread = lambda: happened.append("said"), is_unread
    watch._processes.abort = abort
    watch._abort(7)
    said, *asked, (_, status, at), end = happened
    assert (said, status, end) == ("said", 7, ("exit", 7))
    assert took[0] <= at <= took[1]
    assert asked[-1] == (looks is None)
