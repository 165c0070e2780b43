"""What the processes of a job print: whole lines, so that those of several never mix inside one.

A rank writes a line when it is complete, in one piece.  Pieces of up to `PIECE` bytes are atomic in a pipe.  Where this
package has started the processes (`conduit.launch.processes.starting`), each piece has a head that says whose it is, so
that longer lines are put together again, and errors and results are told from lines.
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import select
import stat
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, TextIO

import attrs

from conduit.launch.launchers import started_together

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

FRAMES = "CONDUIT_FRAMES"
"""The environment variable that says that who has started the processes reads frames."""

PIECE = 4096 - 64
"""Bytes that a pipe takes in one piece on every system that matters, less those of a head."""

LINES, MORE, ERROR, WARNING, NOTES, ENDS, RESULT = "lines", "more", "error", "warning", "notes", "ends", "result"
STATE, BEGUN, PROCESS, RECORDING, PROGRESS = "state", "begun", "process", "recording", "progress"
LEAVES, FALLS = "leaves", "falls"
"""Kinds of frames: whole lines; a part of something of which more comes; the error that ends the job, as `error_of`
reads it; a warning of Python's; what users are to know of a rank whose job fails; that this rank ends the job; a
result; what the rank did when it was interrupted; which process has begun, and does not know yet which rank it is;
which process it is, now that it knows; what it has recorded; how far it is; that the process ends as Python does;
that its program ends it at once."""


@attrs.frozen
class FinalError:
    """What a rank tells of the error that ends its job.

    Attributes:
        text: whole lines, for who is shown whole.
        kind: what error it is.
        said: what it says, for where another one is shown whole.
        status: that a SystemExit ends the process with, as the system keeps it; None for other errors.
        last_words: what a SystemExit has in the place of a status, which Python prints at the end; else "".
    """

    text: str
    kind: str
    said: str
    status: int | None = None
    last_words: str = ""

    @property
    def succeeds(self) -> bool:
        """Whether it is an exit with status 0."""
        return self.status == 0


def frames(rank: int, kind: str, data: bytes) -> Iterator[bytes]:
    """Yield the frames that carry `data`."""
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)] or [b""]
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        yield b"\x1e%d %s %d\x1f" % (rank, (kind if last else MORE).encode(), len(piece)) + piece


def begin() -> None:
    """Say that this process has begun, if this package has started it to be a rank.

    From now on it is missed where it ends before the processes have found one another.
    """
    if os.environ.get(FRAMES, ""):
        (frame,) = frames(-1, BEGUN, _process())
        with suppress(OSError):  # nobody reads any more
            os.write(2, frame)


def _process() -> bytes:
    """Return this process's id and host."""
    return f"{os.getpid()} {os.uname().nodename}".encode()


def process_here(data: bytes) -> int | None:
    """Return the id of the process that a frame has told, None where it is another machine's."""
    number, _, host = data.decode().partition(" ")
    return int(number) if host == os.uname().nodename else None


class WholeLines(io.TextIOBase):
    """A text stream that passes on whole lines only.

    Args:
        file: where to; its descriptor is written to directly.
        rank: that of the lines, for frames.
        framed: whether there are frames.
    """

    def __init__(self, file: IO[str], rank: int, *, framed: bool) -> None:
        self._file = file
        self._descriptor = file.fileno()
        self._rank = rank
        self._framed = framed
        self._rest = b""
        self._lock = threading.RLock()
        self.buffer = _LineBytes(self)
        """The same stream for bytes, as programs know it of Python's own."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """UTF-8, whatever it was: the reader is not a terminal."""
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        """What becomes of characters that have no code: they are written as escapes."""
        return "backslashreplace"

    @property
    def line_buffering(self) -> bool:
        """Whether lines are written when they end: always."""
        return True

    @property
    def write_through(self) -> bool:
        """Whether all is written at once, parts of lines too: never."""
        return False

    @property
    def name(self) -> object:
        """As of the file."""
        return self._file.name

    @property
    def mode(self) -> str:
        """As of the file."""
        return self._file.mode

    def reconfigure(
        self,
        *,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        line_buffering: bool | None = None,
        write_through: bool | None = None,
    ) -> None:
        """Do nothing: lines are written whole, in UTF-8, or they could mix with those of other processes."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor that lines are written to."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether lines go to a terminal."""
        return self._file.isatty()

    def write(self, text: str) -> int:
        """Keep `text` up to its last line end back, and write what is complete."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.write_bytes(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def write_bytes(self, data: bytes) -> None:
        """Do the same with bytes."""
        with self._lock:
            whole, end, self._rest = (self._rest + data).rpartition(b"\n")
            if end:
                self._send(whole + end)

    def finish(self) -> None:
        """Write what has no line end; for the end of the process."""
        with self._lock:
            rest, self._rest = self._rest, b""
            if rest:
                self._send(rest + b"\n")

    def send(self, kind: str, data: bytes) -> None:
        """Write frames of a kind."""
        with self._lock:
            for frame in frames(self._rank, kind, data):
                self._put(frame)

    def _send(self, data: bytes) -> None:
        if self._framed:
            self.send(LINES, data)
            return
        while data:
            end = len(data) if len(data) <= PIECE else data.rfind(b"\n", 0, PIECE) + 1 or data.find(b"\n") + 1
            self._put(data[:end])
            data = data[end:]

    def _put(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]


class _LineBytes(io.BufferedIOBase):
    """A stream of whole lines, for bytes.

    Args:
        lines: the stream.
    """

    def __init__(self, lines: WholeLines) -> None:
        self._lines = lines

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor that lines are written to."""
        return self._lines.fileno()

    def isatty(self) -> bool:
        """Return whether lines go to a terminal."""
        return self._lines.isatty()

    def write(self, data: ReadableBuffer, /) -> int:
        """Keep `data` up to its last line end back, and write what is complete."""
        given = bytes(memoryview(data))
        self._lines.write_bytes(given)
        return len(given)


class Speech:
    """What this process has to say, as one rank of a job.

    Args:
        rank: which one.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.framed = os.environ.pop(FRAMES, "") != ""
        self._streams: list[WholeLines] = []
        for name in ("stdout", "stderr"):  # but not where a test or a notebook catches what is printed
            stream = getattr(sys, name)
            if stream is not None and stream is getattr(sys, f"__{name}__"):
                setattr(sys, name, self._whole(stream))
                if name == "stderr" and sys.stdout is stream:  # what is printed goes there too
                    sys.stdout = sys.stderr
        self.framed = self.framed and bool(self._streams)
        if self.framed:
            self._streams[-1].send(PROCESS, _process())
            atexit.register(self._leaves, os.getpid())
            warnings.showwarning = self._warning

    def _whole(self, file: IO[str]) -> WholeLines:
        file.flush()
        stream = WholeLines(file, self.rank, framed=self.framed)
        self._streams.append(stream)
        return stream

    def _leaves(self, process: int) -> None:
        """Say that this process ends, where it is no copy of it."""
        if os.getpid() == process:
            with suppress(OSError):  # nobody reads any more
                self._streams[-1].send(LEAVES, b"")

    def finish(self) -> None:
        """Write what is left."""
        for stream in self._streams:
            stream.finish()

    def is_unread(self) -> bool:
        """Return whether something of what was written is in a pipe that somebody has still to read."""
        return any(_holds(stream.fileno()) and not is_unread(stream) for stream in self._streams)

    def error(self, error: FinalError) -> None:
        """Tell who has started the processes, which is this package, why the job ends."""
        self._streams[-1].send(ERROR, pickle.dumps(error))

    def _warning(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: IO[str] | None = None,
        line: str | None = None,
    ) -> None:
        """Say what Python warns of, so that what all ranks are warned of is shown once."""
        text = warnings.formatwarning(message, category, filename, lineno, line)
        if file is None:
            self._streams[-1].send(WARNING, text.encode("utf-8", "backslashreplace"))
        else:
            file.write(text)

    def warnings(self, texts: Sequence[str]) -> None:
        """Tell who has started the processes, if that is this package, what users are to know of this rank."""
        if self.framed and texts:
            self._streams[-1].send(NOTES, pickle.dumps(tuple(texts)))

    def ends(self) -> None:
        """Say that this rank ends the job on purpose, so that what the launcher says of that is no news."""
        if self.framed:
            self._streams[-1].send(ENDS, b"")

    def falls(self, status: int, text: str) -> bool:
        """Tell who has started the processes how the program ends this one; False where that is not this package."""
        if self.framed:
            self._streams[-1].send(FALLS, pickle.dumps((status, text)))
        return self.framed

    def state(self, data: bytes) -> bool:
        """Tell who has started the processes what this rank did; False where that is not this package."""
        if self.framed:
            self._streams[-1].send(STATE, data)
        return self.framed

    def result(self, data: bytes) -> bool:
        """Hand a result to who has started the processes; False where that is not this package."""
        if self.framed:
            self._streams[-1].send(RESULT, data)
        return self.framed

    def progress(self, data: bytes) -> None:
        """Tell who has started the processes, if that is this package, how far the work is."""
        if self.framed:
            self._streams[-1].send(PROGRESS, data)

    def recording(self, data: bytes) -> None:
        """Hand what this rank has recorded of a job to who has started the processes, which is this package."""
        if self.framed:
            self._streams[-1].send(RECORDING, data)


_SPEECH: list[Speech] = []


def speak(rank: int) -> Speech:
    """Make this process speak as a rank, from now to its end; again: the same."""
    if not _SPEECH:
        _SPEECH.append(Speech(rank))
    return _SPEECH[0]


def speech() -> Speech | None:
    """Return how this process speaks as a rank, None where it is none."""
    return _SPEECH[0] if _SPEECH else None


def error_of(data: bytes) -> FinalError:
    """Return what a frame has told of an error."""
    found: FinalError = pickle.loads(data)
    return found


def is_first() -> bool:
    """Return whether this process prints what is no rank's own: it is rank 0, or no rank at all."""
    own = speech()
    return own is None or own.rank == 0


def tells_the_end() -> bool:
    """Return whether this process says what has become of the job: who has started its processes does, or rank 0."""
    own = speech()
    if own is None:  # it may be one of several that have not found one another yet
        together = started_together()
        return not is_framed() and (together is None or together.number == 0)
    return own.rank == 0 and not own.framed


def is_framed() -> bool:
    """Return whether this process was started by this package to be a rank, so that frames are read."""
    own = speech()
    return os.environ.get(FRAMES, "") != "" if own is None else own.framed


def is_unread(stream: TextIO | WholeLines) -> bool:
    """Return whether what a stream writes to is a pipe that nobody reads any more."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(events & select.POLLERR for _, events in poll.poll(0))
    except (AttributeError, OSError, ValueError):  # a system without poll, or a stream that is no file
        return False


def _holds(descriptor: int) -> bool:
    """Return whether a pipe has bytes in it, as far as the system tells its writer; no file and no terminal has."""
    try:
        import fcntl
        import termios

        return stat.S_ISFIFO(os.fstat(descriptor).st_mode) and any(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))
    except (ImportError, OSError):
        return False


def end_lines() -> None:
    """End the lines that a rank's program has left without an end."""
    own = speech()
    if own is not None:
        own.finish()
