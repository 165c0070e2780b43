"""Where each microsecond of a short round trip on real MPI goes, between the program, the core, the port and MPI.

    python tests/benchmarks/mpi/where_time_goes.py        # starts 2 processes

Both processes of a host read one clock, so that marks in the one and the other make one line of time.  The marks take
time themselves: the last line says how much.  Each figure is the median of the quickest tenth of the round trips.
"""

import os
import subprocess
import sys
from statistics import median
from time import perf_counter_ns

import conduit
from conduit.core.dispatch import Dispatch
from conduit.launch.registry import parse_spec
from conduits.mpi.messages import MessageChannel, Messages
from conduits.mpi.port import MpiPort

SPEC = "mpi:library=mpi4py"
TRIPS = 3000
STAGES = (  # up to which mark of which rank, what it is, whose it is
    ((0, "request"), "check the call, pack its arguments", "core"),
    ((0, "post"), "poll once, take a slot", "port"),
    ((0, "posted"), "write the header, MPI Start", "port and MPI"),
    ((1, "open"), "on the way; the peer's polls until it is there", "MPI"),
    ((1, "opened"), "read the header", "port"),
    ((1, "deliver"), "hand it to the core", "port"),
    ((1, "delivered"), "look up and run the handler, which replies", "core"),
    ((1, "post"), "hand the reply to the port", "port"),
    ((1, "posted"), "write the header, MPI Start", "port and MPI"),
    ((0, "open"), "on the way back", "MPI"),
    ((0, "opened"), "read the header", "port"),
    ((0, "deliver"), "hand it to the core", "port"),
    ((0, "delivered"), "run the reply's handler", "core"),
    ((0, "end"), "see that the wait is over, return", "port and core"),
)
marks = []


def mark(owner, name, before, after=None):
    """Let a method leave marks where it begins, and where it returns something."""
    method = getattr(owner, name)

    def marked(*args):
        marks.append((perf_counter_ns(), before))
        result = method(*args)
        if after:
            marks.append((perf_counter_ns(), after))
        return result

    setattr(owner, name, marked)


async def main(ep, marked):
    """Make round trips; return for each when it began, and all marks."""
    done = [0, 0]

    def ask(token):
        done[0] += 1
        token.reply_short(answer)

    def answer(token):
        done[1] += 1

    await ep.attach(ask, answer)
    if ep.rank:
        await ep.block_until(lambda: done[0] >= TRIPS)
        return list(marks)
    began = []
    for trip in range(1, TRIPS + 1):
        began.append(perf_counter_ns())
        await ep.request_short(1, ask)
        await ep.block_until(lambda trip=trip: done[1] >= trip)
        marks.append((perf_counter_ns(), "end"))
    return began, list(marks)


def lines_of(began, mine, theirs):
    """Return for each whole round trip how long each stage took, nanoseconds."""
    marks = sorted([(at, 0, name) for at, name in mine] + [(at, 1, name) for at, name in theirs])
    trips, place = [], 0
    for start in began:
        took, before = [], start
        while place < len(marks) and marks[place][0] < start:
            place += 1
        for stage, _, _ in STAGES:
            while place < len(marks) and marks[place][1:] != stage:
                place += 1
            if place == len(marks):
                return trips
            took.append(marks[place][0] - before)
            before = marks[place][0]
        trips.append(took)
    return trips


def quickest(trips):
    """Return the median of each stage over the quickest tenth."""
    best = sorted(trips, key=sum)[: max(len(trips) // 10, 1)]
    return [median(column) for column in zip(*best, strict=True)]


def run():
    (began, mine), _ = conduit.run(main, False, conduit=SPEC).values
    ends = [at for at, name in mine if name == "end"]
    plain = sorted(end - start for start, end in zip(began, ends, strict=True))[TRIPS // 20]
    mark(MpiPort, "request", "request")
    mark(MessageChannel, "post", "post", "posted")
    mark(Messages, "_open", "open", "opened")
    mark(Dispatch, "deliver", "deliver", "delivered")
    marks.clear()
    (began, mine), theirs = conduit.run(main, True, conduit=SPEC).values
    spec = parse_spec(SPEC)
    if spec.cls.join(spec.options).rank:
        return
    took = quickest(lines_of(began, mine, theirs))
    for nanoseconds, (_, what, whose) in zip(took, STAGES, strict=True):
        print(f"{nanoseconds / 1e3:8.2f} us  {whose:14} {what}")
    print(f"{sum(took) / 1e3:8.2f} us  together; {plain / 1e3:.2f} us without marks")


if __name__ == "__main__":
    network = parse_spec(SPEC)
    if network.cls.announced(network.options) is None:
        command, environment = network.cls.start_command(network.options, 2, [__file__])
        sys.exit(subprocess.run(command, env={**environment, **os.environ}, check=False).returncode)
    run()
