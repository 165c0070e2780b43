"""Starting the processes of a job, as the command line does, and seeing them to their end.

The parent passes on what they print, line by line, and answers for them: when it returns, none of them is left.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

from conduit.errors import BadRequest, ConduitError, UnknownConduit
from conduit.launch import interrupts
from conduit.launch.call_words import WRONG_CALL
from conduit.launch.printing import output, terminal
from conduit.launch.processes import exit_ways
from conduit.launch.processes.reader import OutputReader, write
from conduit.launch.processes.started import GRACE_S, StartedProcesses
from conduit.launch.processes.tied import tied
from conduit.launch.processes.told import EXIT, ToldErrors

if TYPE_CHECKING:
    from conduit.launch.processes.stall import RankState

TURN_S = 0.2
"""Between two looks at processes that have not found the others."""
LOOK_S = 0.02
"""Between two looks at whether the launcher has ended, or this process is asked to end."""

PATIENCE_S = 5.0
"""After which a terminal is told how many processes have begun, where some have not."""

_OF_WRONG_CALLS = frozenset(each.__name__ for each in (BadRequest, UnknownConduit))


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
            return self.kind != EXIT and not wrong_call
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
        self._errors = ToldErrors(words)
        self._processes = StartedProcesses(count)
        self._progress = progress
        self.recorded: list[bytes] = []
        self._explained = False  # whether a rank has said why the job ends
        self._hurried = False  # whether the processes were told to end
        self._states: dict[int, RankState] = {}  # of ranks that were interrupted
        self._kept = b""  # printed since a process has ended, perhaps by the launcher
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
            OutputReader(self._process.stdout, sys.stdout, self._frame, self._printed),
            OutputReader(self._process.stderr, sys.stderr, self._frame, self._plain),
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
        shown = self._errors.shown
        if shown is not None:
            self._outcome.kind, self._outcome.said, self._outcome.last_words = shown.kind, shown.said, shown.last_words
        if self._processes.lost:
            self._tell_failure(self._processes.lost)
        elif not self._explained and (status or not self._outcome.results):  # it may take any end for a good one
            self._tell_fallen()
        return self._outcome

    def _tell_end(self) -> None:
        """Show and say what has waited for the end."""
        self._show_kept()
        self._errors.finish()
        if not (self._outcome.results or all(state.ours for state in self._states.values())):
            from conduit.launch.processes import stall  # as the states have it already, which came from ranks

            terminal.tell(stall.interrupted(self._states, self._count))
            self._outcome.shown = True

    def _status(self, launchers: int) -> int:
        """Return the status of the whole, with that of the launcher."""
        return 1 if self._processes.lost or self._processes.fallen else self._errors.status(launchers)

    def _watch(self) -> None:
        """Watch until it has ended, or has to: because this process is asked to end, or a process is lost."""
        patience = time.monotonic() + PATIENCE_S
        processes = self._processes
        while not (self._ends_within(TURN_S) or self._asked or processes.lost or processes.fallen or self._is_unread()):
            processes.miss()
            processes.see_fallen(explained=self._explained)
            if time.monotonic() > patience:
                patience = math.inf
                self._tell_begun()
        if self._asked or processes.lost or self._is_unread():
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
        limit = time.monotonic() + (0.0 if self._hurried or self._processes.fallen else GRACE_S)
        for reader in self._readers:  # they end when the last process has
            reader.thread.join(max(limit - time.monotonic(), 0.1))
        self._processes.kill()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._processes.remove_files()
        for reader in self._readers:
            reader.thread.join(GRACE_S)

    def _show_kept(self) -> None:
        """Show what was kept: output of a job that has ended well, else words about its end, which are no results."""
        if self._kept and not self._errors.falls:
            sink = sys.stderr if self._process.returncode else sys.stdout
            with suppress(OSError, ValueError):
                write(sink, self._kept)

    def _tell_begun(self) -> None:
        """Say in a terminal how many processes have begun, where that are not all."""
        came = self._processes.came
        if came < self._count and terminal.columns() is not None:
            terminal.tell(f"{PATIENCE_S:g} s: {came} of {self._count} processes have begun")

    def _tell_fallen(self) -> None:
        """Say which rank's process has ended the job, or which ranks' may have, where that is not known."""
        processes, falls = self._processes, self._errors.falls
        if not processes.found or self._told:  # the launcher or the network itself has said what is wrong
            return
        if falls:
            for _, (_, text) in sorted(falls.items()):
                self._tell_failure(text)
            return
        ranks = processes.who_fell(results=bool(self._outcome.results))
        which = f"rank {ranks[0]}" if len(ranks) == 1 else f"one of the ranks {', '.join(map(str, ranks))}"
        how = exit_ways.how({rank: processes.ways.get(rank) for rank in ranks})
        self._tell_failure(f"the process of {which} has ended without an error of Python's, {how}")

    def _tell_failure(self, text: str) -> None:
        """Say how the job has failed, which no rank could say."""
        sys.stderr.write(self._words(f"{terminal.shown(text)}\n"))
        sys.stderr.flush()

    # -- called by the readers, each in its thread --------------------------------------------------

    def _frame(self, reader: OutputReader, rank: int, kind: str, data: bytes) -> None:
        match kind:
            case output.LINES:
                reader.show(data)
            case output.ERROR:
                self._explained = True
                self._errors.error(reader, rank, data)
            case output.WARNING:
                self._errors.warning(reader, rank, data)
            case output.NOTES:
                self._errors.notes[rank] = pickle.loads(data)
            case output.ENDS:
                self._explained = True
            case output.FALLS:
                self._errors.falls[rank] = pickle.loads(data)
            case output.LEAVES:
                self._processes.leave(rank)
            case output.RESULT:
                self._outcome.results.append(data)
            case output.RECORDING:
                self.recorded.append(data)
            case output.PROGRESS if self._progress is not None:
                self._progress(data)
            case output.STATE:
                self._states[rank] = pickle.loads(data)
            case output.BEGUN:
                self._processes.come(output.process_here(data))
            case output.PROCESS:
                self._processes.know(rank, output.process_here(data))

    def _printed(self, reader: OutputReader, data: bytes) -> None:
        """Show what no rank has said on standard output; once a process has ended it may be the launcher's: keep it."""
        if not self._explained and self._processes.any_ended():
            self._kept += data
        else:
            self._plain(reader, data)

    def _plain(self, reader: OutputReader, data: bytes) -> None:
        """Show what no rank has said; what a launcher says of an end that a rank has explained is left out."""
        if not self._explained and not self._errors.falls:
            self._told = self._told or any(map(self._tells_end, data.splitlines()))
            reader.show(data)
