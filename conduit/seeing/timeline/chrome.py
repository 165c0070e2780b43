"""Traces in Chrome's JSON, as Perfetto and chrome://tracing open them.

Every rank is a process of the trace, and so is the hardware.  A rank has a track for its CPU, whose slices follow one
another; one for calls that send, from the first line of the call to its return; one for handlers, from the poll that
found the message; and one for each task that waits.  A call and the handler of its message are joined by a flow, and so
are a reply and its handler.

Times are microseconds, as the format wants them, of whole nanoseconds, rounded down: Perfetto keeps these, and drops
what overlaps because it was rounded otherwise.  Every slice has its picoseconds among its arguments.  Events are
written one by one as text, which takes a tenth of what `json.dump` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count
from types import TracebackType
from typing import TextIO

import attrs

from conduit.contract import Category, Identity
from conduit.seeing.timeline.accounts import accounts
from conduit.seeing.timeline.recording import NEVER, MessageLife, Recording
from conduit.seeing.timeline.tracks import lanes, spans_of, told_apart

_BUNCH = 2000  # events written at once


class ChromeTrace:
    """A trace that is being written: a context; the trace is complete at its end.

    Args:
        file: where to.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._pids = count(1)
        self._tids = count(1)
        self._flows = count(1)
        self._jobs: list[dict[str, object]] = []
        self._separator = "\n"

    def __enter__(self) -> ChromeTrace:
        """Begin it."""
        self._file.write('{"displayTimeUnit":"ns","traceEvents":[')
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End it; what was added is there even if something has failed meanwhile."""
        self._file.write('\n],"otherData":' + json.dumps({"jobs": self._jobs}) + "}\n")

    def add(self, recording: Recording) -> None:
        """Add a job that is over, as processes of its own that begin at time 0."""
        pids = {rank: next(self._pids) for rank in range(recording.ranks)}
        real = recording.in_real_time
        self._jobs.append(
            {
                "conduit": recording.conduit,
                "length_ps": recording.length,
                "failed": recording.failed,
                "hosts": recording.hosts,
                "pids": list(pids.values()),
                "ranks_ps": [attrs.asdict(account) for account in accounts(recording)],
                **({"clock_errors_ps": recording.clock_errors, "missing": recording.missing} if real else {}),
            }
        )
        before = f"{recording.conduit}: " if len(self._jobs) > 1 else ""
        for rank, pid in pids.items():
            self._write(_process(pid, f"{before}rank {rank}"))
            self._write(self._cpu(recording, rank, pid))
            self._write(self._waits(recording, rank, pid))
        self._write(self._messages(recording, pids))
        if not real:  # with hardware that reports nothing
            hardware = next(self._pids)
            self._write(_process(hardware, f"{before or f'{recording.conduit} '}hardware"))
            self._write(self._hardware(recording, hardware))
        self._write(_counters(recording, pids))

    def _write(self, events: Iterable[str]) -> None:
        """Write events, many at once."""
        bunch: list[str] = []
        for event in events:
            bunch.append(event)
            if len(bunch) == _BUNCH:
                self._write_bunch(bunch)
        self._write_bunch(bunch)

    def _write_bunch(self, bunch: list[str]) -> None:
        if bunch:
            self._file.write(self._separator + ",\n".join(bunch))
            self._separator = ",\n"
            bunch.clear()

    def _cpu(self, recording: Recording, rank: int, pid: int) -> Iterator[str]:
        tid = next(self._tids)
        yield _thread(pid, tid, "CPU", 0)
        for (begin, end, why), wait in spans_of(recording, rank):
            if wait is None:
                yield _slice(pid, tid, begin, end, f'"{why}"', "cpu")
            else:
                name = _text(f"blocked: {wait.what}" if wait.what else "blocked")
                yield _slice(pid, tid, begin, end, name, "cpu", _of_wait(wait.ranks, wait.place))

    def _waits(self, recording: Recording, rank: int, pid: int) -> Iterator[str]:
        tids: dict[int, int] = {}
        for wait in recording.waits[rank]:
            tid = tids.get(wait.task)
            if tid is None:
                tid = tids[wait.task] = next(self._tids)
                yield _thread(pid, tid, f"waits of task {wait.task}", 100 + wait.task)
            name, args = _text(wait.what or "a predicate"), _of_wait(wait.ranks, wait.place)
            yield _slice(pid, tid, wait.begin, wait.end, name, "wait", args)

    def _messages(self, recording: Recording, pids: dict[int, int]) -> Iterator[str]:
        calls: dict[int, list[MessageLife]] = {rank: [] for rank in pids}
        runs: dict[int, list[_Run]] = {rank: [] for rank in pids}
        sent: dict[Identity, str] = {}  # the track that each message begins on, as JSON
        found: dict[Identity, str] = {}  # and the one that it ends on
        for life in recording.lives():
            sender, receiver = life.message.source, life.message.dest
            if life.message.reply:
                sender, receiver = receiver, sender
                runs[sender].append(_Run(life.begin, life.end, life, sends=True))
            else:
                calls[sender].append(life)
            if life.handled != NEVER:
                runs[receiver].append(_Run(life.noticed, life.done, life, sends=False))
        for rank, pid in pids.items():
            for number, lane in enumerate(lanes(calls[rank], told_apart)):
                tid = next(self._tids)
                yield _thread(pid, tid, "calls" if not number else f"calls {number + 1}", 10 + number)
                for life in lane:
                    yield _send(pid, tid, life)
                    sent[life.message] = f'"pid":{pid},"tid":{tid}'
            for number, chain in enumerate(lanes(runs[rank], told_apart)):
                tid = next(self._tids)
                yield _thread(pid, tid, "handlers" if not number else f"handlers {number + 1}", 50 + number)
                for run in chain:
                    yield (_send if run.sends else _handle)(pid, tid, run.life)
                    (sent if run.sends else found)[run.life.message] = f'"pid":{pid},"tid":{tid}'
        # Behind all slices, and each beginning before its end: what is at one time counts in the order of the file.
        for life in recording.lives():
            yield from _flow(next(self._flows), life, sent[life.message], found.get(life.message))

    def _hardware(self, recording: Recording, pid: int) -> Iterator[str]:
        for order, name in enumerate(sorted(recording.links)):
            rows = [_Row(*row) for row in recording.links[name].rows()]
            for number, lane in enumerate(lanes(rows)):
                tid = next(self._tids)
                yield _thread(pid, tid, name if not number else f"{name} ({number + 1})", 10 * order + number)
                for row in lane:
                    what = '"taken"' if not row.nbytes else f'"{row.nbytes} bytes"'
                    yield _slice(pid, tid, row.begin, row.end, what, "link", f',"bytes":{row.nbytes}')


@attrs.frozen
class _Run:
    """A slice of the track of handlers: one that runs, or one's reply that is sent."""

    begin: int
    end: int
    life: MessageLife
    sends: bool


@attrs.frozen
class _Row:
    """A slice of a link's track."""

    begin: int
    end: int
    nbytes: int


def _send(pid: int, tid: int, life: MessageLife) -> str:
    """Return the slice of a call or a reply."""
    peer = life.message.source if life.message.reply else life.message.dest
    what = "reply" if life.message.reply else "request"
    name = f'"{what} {Category(life.category).name.lower()} to {peer}"'
    return _slice(pid, tid, life.begin, life.end, name, "send", _of_message(life))


def _handle(pid: int, tid: int, life: MessageLife) -> str:
    """Return the slice from the notice to the end of a handler."""
    args = f'{_of_message(life)},"handler_ps":{life.handled}'
    return _slice(pid, tid, life.noticed, life.done, _text(life.handler), "handler", args)


def _flow(number: int, life: MessageLife, begins: str, ends: str | None) -> Iterator[str]:
    """Return the flow from the slice of a call or a reply to that of its handler, whose tracks are given as JSON."""
    about = f'"id":{number},"name":"{"reply" if life.message.reply else "request"}","cat":"message"'
    yield f'{{"ph":"s",{about},{begins},"ts":{_us(life.begin)}}}'
    if ends is not None:
        yield f'{{"ph":"f","bp":"e",{about},{ends},"ts":{_us(life.noticed)}}}'


def _counters(recording: Recording, pids: dict[int, int]) -> Iterator[str]:
    """Return for each rank how many of its requests hold a slot, and how many messages are under way to it."""
    slots: dict[int, list[tuple[int, int]]] = {rank: [] for rank in pids}
    queues: dict[int, list[tuple[int, int]]] = {rank: [] for rank in pids}
    for life in recording.lives():
        message = life.message
        if message.source == message.dest:
            continue
        receiver = message.source if message.reply else message.dest
        if life.noticed != NEVER:
            queues[receiver] += (min(life.end, life.noticed), 1), (life.noticed, -1)
        else:
            queues[receiver].append((life.end, 1))
        if not message.reply:
            free = recording.noticed_at.get(message._replace(reply=True), life.done)
            slots[message.source].append((life.end, 1))
            if free != NEVER:
                slots[message.source].append((max(free, life.end), -1))
    for rank, pid in pids.items():
        yield from _counter(pid, "occupied slots", slots[rank])
        yield from _counter(pid, "queue of messages", queues[rank])


def _counter(pid: int, name: str, changes: list[tuple[int, int]]) -> Iterator[str]:
    """Return what a counter is after each change, one event for those at one time."""
    changes.sort()
    value = 0
    for index, (when, change) in enumerate(changes):
        value += change
        if index + 1 == len(changes) or changes[index + 1][0] // 1000 != when // 1000:
            yield f'{{"ph":"C","name":"{name}","pid":{pid},"ts":{_us(when)},"args":{{"value":{value}}}}}'


def _process(pid: int, name: str) -> Iterator[str]:
    yield f'{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":{_text(name)}}}}}'
    yield f'{{"ph":"M","name":"process_sort_index","pid":{pid},"args":{{"sort_index":{pid}}}}}'


def _thread(pid: int, tid: int, name: str, order: int) -> str:
    return (
        f'{{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":{_text(name)}}}}},\n'
        f'{{"ph":"M","name":"thread_sort_index","pid":{pid},"tid":{tid},"args":{{"sort_index":{order}}}}}'
    )


def _slice(pid: int, tid: int, begin: int, end: int, name: str, kind: str, args: str = "") -> str:
    """Return a slice; `name` is JSON, `args` are further ones as JSON, each with a comma before it."""
    ns = end // 1000 - begin // 1000
    return (
        f'{{"ph":"X","pid":{pid},"tid":{tid},"ts":{begin // 1000000}.{begin // 1000 % 1000:03d},'
        f'"dur":{ns // 1000}.{ns % 1000:03d},"name":{name},"cat":"{kind}",'
        f'"args":{{"begin_ps":{begin},"ps":{end - begin}{args}}}}}'
    )


def _us(ticks: int) -> str:
    """Return a time as whole nanoseconds, rounded down, in microseconds."""
    return f"{ticks // 1000000}.{ticks // 1000 % 1000:03d}"


@lru_cache(4096)
def _text(text: str) -> str:
    return json.dumps(text)


def _of_message(life: MessageLife) -> str:
    number = life.message.number
    return f',"message":"{life.message.source}-{life.message.dest}-{number}","bytes":{life.nbytes}'


@lru_cache(4096)
def _of_wait(ranks: tuple[int, ...], place: str) -> str:
    return (f',"ranks":{json.dumps(ranks)}' if ranks else "") + (f',"line":{json.dumps(place)}' if place else "")
