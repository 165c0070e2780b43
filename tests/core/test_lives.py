"""The life of a rank needs no Active Messages: what is started and given to main is the rank's own business."""

from functools import partial

import pytest

from conduit.launch.jobs.in_tasks import TaskJob
from conduit.sim import Kernel
from conduit.sim import run_tasks as in_virtual_time
from conduit.wall import WallClock
from conduit.wall import run_tasks as in_real_time

WORLDS = {"virtual": (Kernel, in_virtual_time), "real": (WallClock, in_real_time)}


class Plain:
    """A rank whose main gets its number, and whose life is written down."""

    def __init__(self, number, world, log):
        self.number, self.world, self.log = number, world, log

    async def start(self):
        self.log.append(f"start {self.number}")
        return self.number

    async def leave(self):
        self.log.append(f"leave {self.number}")

    async def serve(self):
        self.log.append(f"serve {self.number}")

    def release(self):
        pass

    def close(self):
        self.log.append(f"close {self.number}")

    def fail(self, error):
        self.world.fail(error, self.number)

    def forgotten(self):
        return None

    def warnings(self):
        return [f"from {self.number}"]


@pytest.fixture(params=WORLDS)
def job(request):
    kind, run_tasks = WORLDS[request.param]

    def make(main, *args, ranks=2):
        world, log = kind(), []
        plain = [Plain(number, world, log) for number in range(ranks)]
        return TaskJob(main, args, plain, world, partial(run_tasks, world)), log

    return make


def test_each_rank_starts_runs_leaves_and_serves(job):
    async def main(number, box):
        box.append(number)
        return box

    made, log = job(main, [7])
    assert made.run() == [[7, 0], [7, 1]]
    for number in range(2):
        assert [line for line in log if line.endswith(str(number))] == [
            f"{step} {number}" for step in ("start", "leave", "serve", "close")
        ]


def test_an_error_is_raised_with_rank_and_warnings_and_ranks_are_closed(job):
    async def main(number):
        if number:
            raise LookupError("lost")

    made, log = job(main)
    with pytest.raises(LookupError, match="lost") as caught:
        made.run()
    notes = "\n".join(caught.value.__notes__)
    assert "raised by rank 1 at" in notes
    assert "warning of rank 0: from 0" in notes
    assert [line for line in log if "close" in line] == ["close 0", "close 1"]
    assert "leave 1" not in log


def test_an_exit_is_no_error_of_a_rank(job):
    async def main(number):
        raise SystemExit(4)

    made, _ = job(main)
    with pytest.raises(SystemExit) as caught:
        made.run()
    assert caught.value.code == 4
    assert not hasattr(caught.value, "__notes__") or not any("raised by rank" in n for n in caught.value.__notes__[:1])
