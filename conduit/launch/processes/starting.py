"""Starting the processes of a job, as the command line does, and seeing them to their end.

The parent passes on what they print, line by line, and answers for them: when it returns, none of them is left.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING

import attrs

from conduit.errors import BadRequest, ConduitError, UnknownConduit
from conduit.launch import interrupts
from conduit.launch.call_words import WRONG_CALL
from conduit.launch.errors.at_end import warnings_of
from conduit.launch.errors.raised import of_others
from conduit.launch.printing import output, terminal
from conduit.launch.printing.output import FinalError
from conduit.launch.printing.phrases import named
from conduit.launch.processes.exit_ways import status
from conduit.launch.processes.tied import tied

if TYPE_CHECKING:
    from conduit.launch.processes.stall import RankState

TURN_S = 0.2
"""Between two looks at processes that have not found the others."""
LOOK_S = 0.02
"""Between two looks at whether the launcher has ended, or this process is asked to end."""
GRACE_S = 3.0
"""What processes have to end by themselves, after Ctrl-C and after their launcher's end, or because one is gone."""

PATIENCE_S = 5.0
"""After which a terminal is told how many processes have begun, where some have not."""

START_S = 30.0
"""What all processes have to begin, once one has; what ends before is not seen to end."""

_HEAD = re.compile(rb"\x1e(-?\d+) (\w+) (\d+)\x1f")
_LONGEST_HEAD = 64
_EXIT = SystemExit.__name__
_OF_WRONG_CALLS = frozenset(each.__name__ for each in (BadRequest, UnknownConduit))
_CRASHES = (signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT, signal.SIGBUS, signal.SIGILL)
"""After which Python's own fault handler says where that was."""
_BY_FORCE = (signal.SIGKILL, signal.SIGTERM)
"""By which a launcher ends the other processes."""


@attrs.define
class Outcome:
    """What has become of the processes.

    Attributes:
        status: the launcher's exit status, 128 + n where signal n has ended it.
        results: what ranks handed over, in the order of its coming.
        explained: whether a rank has said why the job ended before its time.
        interrupted: the signal, of Ctrl-C or SIGTERM, that has ended them after some rank had handed over what it had;
            else 0.
        shown: whether it has been shown where the ranks were when a signal ended them.
        kind: what error has ended the job, as a rank has told it; "" of none.
        said: what that says.
        last_words: what a rank has ended the job with by `sys.exit(text)`, "" where that was a status or another end.
    """

    status: int
    results: list[bytes] = attrs.Factory(list)
    explained: bool = False
    interrupted: int = 0
    shown: bool = False
    kind: str = ""
    said: str = ""
    last_words: str = ""

    @property
    def failure(self) -> str:
        """The error that has ended the job, in a line, "" where no rank has told one."""
        first = next(iter(self.said.splitlines()), "")
        return f"{self.kind}: {first}" if first else self.kind

    @property
    def failed(self) -> bool:
        """Whether the program or its processes have failed: the call was not wrong, and no end was asked for."""
        if self.kind:
            wrong_call = self.status == WRONG_CALL and self.kind in _OF_WRONG_CALLS
            return self.kind != _EXIT and not wrong_call
        return self.status not in (0, 128 + signal.SIGINT) or not (self.explained or self.results)


def start(
    ranks: int,
    command: Sequence[str],
    defaults: Mapping[str, str],
    extra: Mapping[str, str],
    recorded: Callable[[Sequence[bytes]], object] | None = None,
    progress: Callable[[bytes], object] | None = None,
    words: Callable[[str], str] = str,
    *,
    ends_unread: bool = False,
    tells_end: Callable[[bytes], bool] = lambda line: False,
) -> Outcome:
    """Run a command that starts processes of this package, to its end.

    Args:
        ranks: how many processes it starts.
        command: the launcher and what it is to start.
        defaults: environment variables for where nothing is set.
        extra: environment variables that are set in any case.
        recorded: is given what the ranks have recorded of their jobs, however these have ended.
        progress: is told, in a thread, how far the work is, each time that a rank says so.
        words: gives what is shown of the text of the failure that ends the job.
        ends_unread: whether it is ended where nobody reads any more what its ranks print.
        tells_end: says of a line of standard error that no rank has said whether the network says in it which rank ends
            the job, and why: then nothing else is said of it.

    Raises:
        BrokenPipeError: so it was ended, quietly.
        KeyboardInterrupt: Ctrl-C, and no rank has handed anything over; the processes have ended.
        SystemExit: as for SIGTERM, which is handled likewise.
    """
    environment = {**defaults, **os.environ, **extra, **terminal.told(), output.FRAMES: "1"}
    with interrupts.collected() as asked:
        launcher = _Launcher(
            ranks, command, environment, progress, asked, words, ends_unread=ends_unread, tells_end=tells_end
        )
        try:
            outcome = launcher.run()
        finally:
            if recorded is not None:
                recorded(launcher.recorded)
    if asked:
        _end_as_asked(asked[0], outcome)
    return outcome


def _end_as_asked(number: int, outcome: Outcome) -> None:
    """Raise what a signal stands for, unless some rank has handed over what it had."""
    if outcome.results:
        outcome.interrupted = number
        return
    if number != signal.SIGINT:
        raise SystemExit(128 + number)
    pressed = KeyboardInterrupt()
    if outcome.shown:
        interrupts.told(pressed)
    raise pressed


class _Launcher:
    """A launcher that runs, with what is known of its processes.

    Args:
        count: how many processes it starts; what follows is as of `start`.
        asked: the signals that have asked this process to end so far; grows.
    """

    def __init__(
        self,
        count: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        progress: Callable[[bytes], object] | None,
        asked: Sequence[int],
        words: Callable[[str], str],
        *,
        ends_unread: bool,
        tells_end: Callable[[bytes], bool],
    ) -> None:
        self._count = count
        self._ends_unread = ends_unread
        self._tells_end = tells_end
        self._told = False  # whether the network has said which rank ends the job, and why
        self._asked = asked
        self._words = words
        self._outcome = Outcome(0)
        self._progress = progress
        self.recorded: list[bytes] = []
        self._lock = threading.Lock()
        self._shown: FinalError | None = None  # the error that was, whole, or will be
        self._whose = -1  # the rank that has it
        self._show_good: Callable[[], object] = _nothing  # shows it, where it is an exit with status 0
        self._others: dict[tuple[str, str], list[int]] = {}  # ranks with other errors, by kind and words
        self._noted: dict[int, tuple[str, ...]] = {}  # what users are to know of ranks
        self._warnings: dict[str, list[int]] = {}  # ranks that Python has warned, by the text, which was shown
        self._falls: dict[int, tuple[int, str]] = {}  # ranks whose programs end their processes: statuses and words
        self._explained = False  # whether a rank has said why the job ends
        self._hurried = False  # whether the processes were told to end
        self._found = False  # whether a rank has begun
        self._ranks: dict[int, int] = {}  # by descriptor of the process
        self._leaving: set[int] = set()  # ranks whose processes have come to their end as Python's do
        self._fallen: list[int] = []  # ranks whose processes ended in any other way, which the launcher has not seen
        self._fell_at = math.inf  # when the first of them was seen
        self._begun: dict[int, int] = {}  # descriptors of processes that have not found the others yet, by their ids
        self._came = 0  # how many have begun
        self._give_up = math.inf  # when the job is ended because one of them has not come, or is gone
        self._lost = ""  # what is said then
        self._files: set[str] = set()  # in shared memory, of processes that have not found the others yet
        self._states: dict[int, RankState] = {}  # of ranks that were interrupted
        self._kept = b""  # printed since a process has ended, perhaps by the launcher
        self._ways: dict[int, int] = {}  # by rank: how its process has ended, where that is known
        try:
            # In a session of its own, so that Ctrl-C reaches this process alone.
            self._process = subprocess.Popen(
                tied(command),
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ConduitError(f"cannot start {command[0]}: {error.strerror}") from error
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._readers = [
            _Reader(self._process.stdout, sys.stdout, self._frame, self._printed),
            _Reader(self._process.stderr, sys.stderr, self._frame, self._plain),
        ]

    def run(self) -> Outcome:
        """See it to its end."""
        try:
            self._watch()
        except BaseException:
            self._interrupt()
            raise
        finally:
            self._sweep()
            if not self._is_unread():
                self._tell_end()
        if self._is_unread():
            raise BrokenPipeError
        status = self._process.returncode
        self._outcome.status = self._status(128 - status if status < 0 else status)
        self._outcome.explained = self._explained
        if self._shown is not None:
            self._outcome.kind, self._outcome.said = self._shown.kind, self._shown.said
            self._outcome.last_words = self._shown.last_words
        if self._lost:
            self._tell_failure(self._lost)
        elif not self._explained and (status or not self._outcome.results):  # it may take any end for a good one
            self._tell_fallen()
        return self._outcome

    def _tell_end(self) -> None:
        """Show and say what has waited for the end."""
        self._show_kept()
        self._show_good()
        self._tell_others()
        if not (self._outcome.results or all(state.ours for state in self._states.values())):
            from conduit.launch.processes import stall  # as the states have it already, which came from ranks

            terminal.tell(stall.interrupted(self._states, self._count))
            self._outcome.shown = True

    def _status(self, launchers: int) -> int:
        """Return the status of the whole: that of the rank which is shown, where its launcher may have taken another's.

        Args:
            launchers: that of the launcher, which has those of all ranks and makes one of them as it likes.
        """
        if self._lost or self._fallen:
            return 1
        if self._shown is None and self._falls:
            return self._falls[min(self._falls)][0] or 1
        if self._shown is None or not self._others:
            return launchers
        if self._shown.status is not None:
            return self._shown.status or launchers
        return 1 if any(other == _EXIT for other, _ in self._others) else launchers

    def _watch(self) -> None:
        """Watch until it has ended, or has to: because this process is asked to end, or a process is lost."""
        patience = time.monotonic() + PATIENCE_S
        while not (self._ends_within(TURN_S) or self._asked or self._lost or self._fallen or self._is_unread()):
            self._miss()
            self._see_fallen()
            if time.monotonic() > patience:
                patience = math.inf
                self._tell_begun()
        if self._asked or self._lost or self._is_unread():
            self._interrupt()

    def _is_unread(self) -> bool:
        """Return whether it is to end because nobody reads what its ranks print, who have not come to their end."""
        return self._ends_unread and self._readers[0].unread and not self._outcome.results

    def _ends_within(self, seconds: float) -> bool:
        """Wait for its end, and say whether it has come; one more signal cuts the wait short."""
        limit, asked = time.monotonic() + seconds, len(self._asked)
        while self._process.poll() is None:
            if time.monotonic() > limit or len(self._asked) > asked:
                return False
            time.sleep(LOOK_S)
        return True

    def _miss(self) -> None:
        """See whether a process has ended before it has found the others, who wait for it and cannot know.

        Where all end so, the launcher ends too.
        """
        with self._lock:
            begun, came = dict(self._begun), self._came
        for process in begun:
            self._files |= _in_shared_memory(process)
        gone = _ended(begun.values())
        now = time.monotonic()
        if not gone and (came in (0, self._count) or self._ranks):
            self._give_up = math.inf
        else:
            self._give_up = min(self._give_up, now + (GRACE_S if gone else START_S))
        if now < self._give_up:
            return
        who = ", ".join(str(number) for number, descriptor in begun.items() if descriptor in gone)
        what = f"the process {who} has ended" if gone else f"only {came} of {self._count} processes have begun"
        self._lost = f"{what}, before the processes had found one another, and the job with it"

    def _see_fallen(self) -> None:
        """See whether a rank's process has ended and the launcher lets the others wait for it.

        It hears of such an end by a connection, which a copy of the process holds open.
        """
        with self._lock:
            ranks = {each: rank for each, rank in self._ranks.items() if rank not in self._leaving}
        gone = [] if self._explained else [ranks[each] for each in _ended(ranks)]
        self._fell_at = min(self._fell_at, time.monotonic()) if gone else math.inf
        if time.monotonic() > self._fell_at + GRACE_S:
            self._fallen, self._hurried = sorted(gone), True

    def _interrupt(self) -> None:
        """Let the launcher end its processes; by force if it does not."""
        self._explained = self._hurried = True
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._ends_within(GRACE_S)

    def _sweep(self) -> None:
        """Make sure that nothing is left, and that all that was printed is shown."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        limit = time.monotonic() + (0.0 if self._hurried else GRACE_S)
        for reader in self._readers:  # they end when the last process has
            reader.thread.join(max(limit - time.monotonic(), 0.1))
        self._see_ways()
        for descriptor in (*self._ranks, *self._begun.values()):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for file in self._files if self._begun else ():  # those who have found one another do it themselves
            with suppress(OSError):
                os.unlink(file)
        for reader in self._readers:
            reader.thread.join(GRACE_S)

    def _see_ways(self) -> None:
        """Take note of how the processes have ended, before their descriptors are closed."""
        with self._lock:  # what reads the output may still find a rank
            ranks = dict(self._ranks)
        for descriptor, rank in ranks.items():
            if (way := status(descriptor)) is not None:
                self._ways[rank] = way

    def _show_kept(self) -> None:
        """Show what was kept: output of a job that has ended well, else words about its end, which are no results."""
        if self._kept and not self._falls:
            sink = sys.stderr if self._process.returncode else sys.stdout
            with suppress(OSError, ValueError):
                _write(sink, self._kept)

    def _tell_begun(self) -> None:
        """Say in a terminal how many processes have begun, where that are not all."""
        if self._came < self._count and terminal.columns() is not None:
            terminal.tell(f"{PATIENCE_S:g} s: {self._came} of {self._count} processes have begun")

    def _tell_fallen(self) -> None:
        """Say which rank's process has ended the job, or which ranks' may have, where that is not known."""
        if not self._found or self._told:  # the launcher or the network itself has said what is wrong
            return
        if self._falls:
            for _, (_, text) in sorted(self._falls.items()):
                self._tell_failure(text)
            return
        ranks = self._who_fell()
        which = f"rank {ranks[0]}" if len(ranks) == 1 else f"one of the ranks {', '.join(map(str, ranks))}"
        ways = {rank: self._ways.get(rank) for rank in ranks}
        self._tell_failure(f"the process of {which} has ended without an error of Python's, {_how(ways)}")

    def _tell_failure(self, text: str) -> None:
        """Say how the job has failed, which no rank could say."""
        sys.stderr.write(self._words(f"{terminal.shown(text)}\n"))
        sys.stderr.flush()

    def _who_fell(self) -> list[int]:
        """Return which rank's process has ended the job, or which ones may have.

        A launcher ends the others by force, and who is killed so may be gone before the one that has ended by itself:
        neither the order says anything, nor whose end the launcher tells of.  A crash does, and so does a good end
        before that of the job, which nothing that becomes of other processes brings about.
        """
        if self._fallen:
            return self._fallen
        ways = sorted(self._ways.items())
        crashed = [rank for rank, way in ways if os.WIFSIGNALED(way) and os.WTERMSIG(way) not in _BY_FORCE]
        left = [] if self._outcome.results else [rank for rank, way in ways if way == 0]
        return crashed or left or list(range(self._count))

    def _tell_others(self) -> None:
        """Say which ranks had the errors and warnings of others, or errors of their own."""
        if self._shown is not None:
            for line in of_others((self._shown.kind, self._shown.said), self._others):
                terminal.tell(line.partition("\n")[0])
        for text in warnings_of(sorted(self._noted.items())):
            terminal.tell(text)
        for text, ranks in self._warnings.items():
            if also := sorted({*ranks[1:]} - {ranks[0]}):
                first = text.partition("\n")[0]
                terminal.tell(f"{named(also)}: as {named(ranks[:1])}, {first}")

    # -- called by the readers, each in its thread --------------------------------------------------

    def _frame(self, reader: _Reader, rank: int, kind: str, data: bytes) -> None:
        match kind:
            case output.LINES:
                reader.show(data)
            case output.ERROR:
                self._error(reader, rank, data)
            case output.WARNING:
                self._warning(reader, rank, data)
            case output.NOTES:
                self._noted[rank] = pickle.loads(data)
            case output.ENDS:
                self._explained = True
            case output.FALLS:
                self._falls[rank] = pickle.loads(data)
            case output.LEAVES:
                with self._lock:
                    self._leaving.add(rank)
            case output.RESULT:
                self._outcome.results.append(data)
            case output.RECORDING:
                self.recorded.append(data)
            case output.PROGRESS if self._progress is not None:
                self._progress(data)
            case output.STATE:
                self._states[rank] = pickle.loads(data)
            case output.BEGUN:
                self._come(output.process_here(data))
            case output.PROCESS:
                self._know(rank, output.process_here(data))

    def _printed(self, reader: _Reader, data: bytes) -> None:
        """Show what no rank has said on standard output; once a process has ended it may be the launcher's: keep it."""
        with self._lock:
            watched = list(self._ranks)
        if not self._explained and _ended(watched):
            self._kept += data
        else:
            self._plain(reader, data)

    def _plain(self, reader: _Reader, data: bytes) -> None:
        """Show what no rank has said; what a launcher says of an end that a rank has explained is left out."""
        if not self._explained and not self._falls:
            self._told = self._told or any(map(self._tells_end, data.splitlines()))
            reader.show(data)

    def _error(self, reader: _Reader, rank: int, data: bytes) -> None:
        """Show the first error whole, and keep others in short; one that is the same in all ranks is none of theirs.

        An exit with status 0 is shown at the end, for any other error comes before it.
        """
        error = output.error_of(data)
        with self._lock:
            self._explained = True
            before = self._shown
            if before is None:
                self._shown, self._whose = error, rank
            elif before.succeeds and not error.succeeds:
                self._others.setdefault((before.kind, before.said), []).append(self._whose)
                self._shown, self._whose = error, rank
            elif error.text != before.text:
                self._others.setdefault((error.kind, error.said), []).append(rank)
            if self._shown is not error:
                return
            self._show_good = partial(_show, reader, error.text) if error.succeeds else _nothing
        if not error.succeeds:
            _show(reader, error.text if error.kind == _EXIT else self._words(error.text))

    def _warning(self, reader: _Reader, rank: int, data: bytes) -> None:
        """Show what Python warns a rank of, what it warns several of once."""
        text = data.decode()
        with self._lock:
            known = self._warnings.setdefault(text, [])
            known.append(rank)
        if len(known) == 1:
            reader.show(f"{named([rank])}: {text}".encode())

    def _come(self, process: int | None) -> None:
        """Keep a process that has begun, where the system has descriptors of processes, and it is of this machine."""
        with self._lock, suppress(OSError, AttributeError):
            self._came += 1
            if process is not None:
                self._begun[process] = os.pidfd_open(process)

    def _know(self, rank: int, process: int | None) -> None:
        """Take note that a process is a rank, and so has found the others."""
        with self._lock, suppress(OSError, AttributeError):
            self._found = True
            if process is not None:
                kept = self._begun.pop(process, None)
                self._ranks[os.pidfd_open(process) if kept is None else kept] = rank


class _Reader:
    """Reads one stream of the launcher, and takes it apart.

    Args:
        source: the stream.
        sink: where it is shown.
        frame: told of each whole thing that a rank has sent: this, the rank, its kind, the bytes.
        plain: told of lines that were in no frame.
    """

    def __init__(
        self,
        source: IO[bytes],
        sink: IO[str],
        frame: Callable[[_Reader, int, str, bytes], None],
        plain: Callable[[_Reader, bytes], None],
    ) -> None:
        self._source = source
        self._sink = sink
        self._frame = frame
        self._plain = plain
        self._parts: dict[int, list[bytes]] = {}
        self._line = b""  # that has begun and was in no frame
        self.unread = False  # whether what is shown goes to a pipe that nobody reads any more
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def show(self, data: bytes) -> None:
        """Show lines; where they are not read any more, they are read here all the same."""
        try:
            _write(self._sink, data)
        except BrokenPipeError:
            self.unread = True
        except (OSError, ValueError):
            pass

    def _read(self) -> None:
        data = b""
        with self._source:
            while piece := os.read(self._source.fileno(), 1 << 16):
                data = self._take(data + piece)
        self._unframed(data)
        if self._line:
            self._plain(self, self._line + b"\n")

    def _take(self, data: bytes) -> bytes:
        """Handle all that is complete; return the rest."""
        while True:
            begin = data.find(b"\x1e")
            self._unframed(data if begin < 0 else data[:begin])
            if begin < 0:
                return b""
            data = data[begin:]
            head = _HEAD.match(data)
            if head is None:
                if len(data) < _LONGEST_HEAD and b"\x1f" not in data:
                    return data
                self._unframed(data[:1])
                data = data[1:]
                continue
            end = head.end() + int(head[3])
            if len(data) < end:
                return data
            rank, kind = int(head[1]), head[2].decode()
            self._parts.setdefault(rank, []).append(data[head.end() : end])
            if kind != output.MORE:
                self._frame(self, rank, kind, b"".join(self._parts.pop(rank)))
            data = data[end:]

    def _unframed(self, data: bytes) -> None:
        whole, end, self._line = (self._line + data).rpartition(b"\n")
        if end:
            self._plain(self, whole + end)


def _show(reader: _Reader, text: str) -> None:
    """Show a rank's text where its stream is shown."""
    reader.show(text.encode("utf-8", "backslashreplace"))


def _write(sink: IO[str], data: bytes) -> None:
    """Write lines; what the sink's encoding has nothing for is written as escapes."""
    text = data.decode("utf-8", "replace")
    encoding = getattr(sink, "encoding", None) or "utf-8"
    sink.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sink.flush()


def _nothing() -> None:
    """Show nothing."""


def _how(ways: Mapping[int, int | None]) -> str:
    """Return how a process has ended that has told no error, and what to do.

    Args:
        ways: how the process of each rank that it may be has ended, as `os.wait` has it; None where that is not known.
    """
    by_way: dict[int | None, list[int]] = {}
    for rank, way in ways.items():
        by_way.setdefault(way, []).append(rank)
    if None in by_way:
        return (
            "as by a signal, a crash in compiled code or os._exit, and the job with it; of a crash Python tells where "
            "that was with PYTHONFAULTHANDLER=1 in the environment"
        )
    told = [(ranks, way) for way, ranks in by_way.items() if way is not None]
    if len(told) > 1:  # each said, for which of them was the cause is not known
        told.sort(key=lambda each: os.WIFSIGNALED(each[1]))
        each = "; ".join(f"{named(ranks)} {_by(way)}" for ranks, way in told)
        return f"and the job with it: {each} (a launcher ends the others by a signal)"
    ((_, way),) = told
    crash = os.WIFSIGNALED(way) and os.WTERMSIG(way) in _CRASHES
    where = "; with PYTHONFAULTHANDLER=1 in the environment Python tells where that was" if crash else ""
    return f"{_by(way)}, and the job with it{where}"


def _by(way: int) -> str:
    """Return how a process has ended, as `os.wait` has it, in words."""
    if not os.WIFSIGNALED(way):
        return f"with status {os.WEXITSTATUS(way)}, as by os._exit"
    number = os.WTERMSIG(way)
    return f"by signal {signal.Signals(number).name if number in set(signal.Signals) else number}"


def _ended(processes: Iterable[int]) -> set[int]:
    """Return which of the descriptors of processes are those of processes that have ended."""
    poll = select.poll()
    for descriptor in processes:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(0)}


def _in_shared_memory(process: int) -> set[str]:
    """Return the files in shared memory of a process that looks for the others, in which no program has run yet."""
    try:
        with open(f"/proc/{process}/maps") as maps:
            return {line.split(maxsplit=5)[-1].strip() for line in maps if " /dev/shm/" in line}
    except OSError:
        return set()  # no Linux, or it is gone
