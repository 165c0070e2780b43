"""What a trace in Chrome's JSON must be, written from the description of the format alone: nothing of the writer."""

import json
from collections import defaultdict
from decimal import Decimal

NEEDED = {
    "M": {"name", "pid", "args"},
    "X": {"name", "cat", "pid", "tid", "ts", "dur"},
    "s": {"name", "cat", "pid", "tid", "ts", "id"},
    "f": {"name", "cat", "pid", "tid", "ts", "id"},
    "C": {"name", "pid", "ts", "args"},
}


class Loaded:
    """A trace that has been read and found right; times are exact microseconds.

    Attributes:
        slices: by (pid, tid), the slices in order of the file.
        flows: by id, the slice that each begins in, and the one that it ends in or None.
        counters: by (pid, name), pairs of time and value.
        processes: names by pid.
        threads: names by (pid, tid).
        other: what else the file says.
    """

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            content = json.load(file, parse_float=Decimal)
        assert set(content) <= {"traceEvents", "displayTimeUnit", "otherData"}
        assert content["displayTimeUnit"] in ("ms", "ns")
        self.other = content["otherData"]
        self.slices, self.counters = defaultdict(list), defaultdict(list)
        self.processes, self.threads = {}, {}
        begun, ended = {}, {}
        for number, event in enumerate(content["traceEvents"]):
            phase = event["ph"]
            event["number"] = number
            assert NEEDED[phase] <= set(event), event
            assert all(type(event[key]) is int for key in ("pid", "tid", "id") if key in event)
            assert all(
                isinstance(event[key], (int, Decimal)) and event[key] >= 0 for key in ("ts", "dur") if key in event
            )
            # Viewers keep nanoseconds: what is finer they would round themselves, and drop what then overlaps.
            assert all(event[key] * 1000 % 1 == 0 for key in ("ts", "dur") if key in event)
            assert isinstance(event.get("args", {}), dict)
            if phase == "M":
                self._metadata(event)
            elif phase == "X":
                self.slices[event["pid"], event["tid"]].append(event)
            elif phase == "C":
                assert all(type(value) is int for value in event["args"].values())
                self.counters[event["pid"], event["name"]].append((event["ts"], event["args"]["value"]))
            else:
                flows = begun if phase == "s" else ended
                assert event["id"] not in flows
                assert phase == "s" or event["bp"] == "e"
                flows[event["id"]] = event
        self._check_names()
        for track in self.slices.values():
            check_nesting(track)
        assert set(ended) <= set(begun)
        self.flows = {
            number: (self._enclosing(event), self._enclosing(ended[number]) if number in ended else None)
            for number, event in begun.items()
        }
        for number, event in ended.items():
            assert begun[number]["ts"] <= event["ts"]
            assert {key: begun[number][key] for key in ("name", "cat")} == {key: event[key] for key in ("name", "cat")}

    def track(self, process, thread):
        """Return the slices of a track by its names, [] if it is not there."""
        return [
            each
            for key, name in self.threads.items()
            if name == thread and self.processes[key[0]] == process
            for each in self.slices[key]
        ]

    def _metadata(self, event):
        if event["name"] == "process_name":
            assert event["pid"] not in self.processes
            self.processes[event["pid"]] = event["args"]["name"]
        elif event["name"] == "thread_name":
            assert (event["pid"], event["tid"]) not in self.threads
            self.threads[event["pid"], event["tid"]] = event["args"]["name"]
        else:
            assert event["name"] in ("process_sort_index", "thread_sort_index")
            assert type(event["args"]["sort_index"]) is int

    def _check_names(self):
        """Every track and counter is of a process that has a name of its own."""
        assert set(self.slices) <= set(self.threads)
        assert {pid for pid, _ in self.threads} | {pid for pid, _ in self.counters} <= set(self.processes)
        assert len({tid for _, tid in self.threads}) == len(self.threads)
        assert len(set(self.processes.values())) == len(self.processes)

    def _enclosing(self, flow):
        """Return the innermost slice that a flow is in: of those before it in the file, the last to begin."""
        found = [
            each
            for each in self.slices[flow["pid"], flow["tid"]]
            if each["ts"] <= flow["ts"] <= each["ts"] + each["dur"] and each["number"] < flow["number"]
        ]
        assert found, f"no slice around {flow}"
        bound = max(found, key=lambda each: (each["ts"], each["number"]))
        # Of slices that begin at one time viewers take the longer ones first, and so may bind it to another.
        others = [each for each in found if each is not bound and each["ts"] + each["dur"] > flow["ts"]]
        others += [
            each for each in self.slices[flow["pid"], flow["tid"]] if each["ts"] == flow["ts"] and each is not bound
        ]
        assert not others, f"{flow} may be bound to {others[0]} for {bound}"
        return bound


def check_nesting(track):
    """Each slice lies in another of its track, or behind it: they never overlap."""
    stack = []
    for each in sorted(track, key=lambda each: (each["ts"], -each["dur"])):
        end = each["ts"] + each["dur"]
        while stack and stack[-1] <= each["ts"]:
            stack.pop()
        assert not stack or end <= stack[-1], each
        stack.append(end)
