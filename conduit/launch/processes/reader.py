"""What a launcher and its processes print, taken apart: what ranks have sent in frames, and other lines.

The frames are those of `conduit.launch.printing.output`.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import IO

from conduit.launch.printing import output

_HEAD = re.compile(rb"\x1e(-?\d+) (\w+) (\d+)\x1f")
_LONGEST_HEAD = 64


class OutputReader:
    """Reads one stream of the launcher, in a thread of its own.

    Args:
        source: the stream.
        sink: where it is shown.
        frame: told of each whole thing that a rank has sent: this, the rank, its kind, the bytes.
        plain: told of lines that were in no frame.

    Attributes:
        unread: whether what is shown goes to a pipe that nobody reads any more.
        thread: that which reads.
    """

    def __init__(
        self,
        source: IO[bytes],
        sink: IO[str],
        frame: Callable[[OutputReader, int, str, bytes], None],
        plain: Callable[[OutputReader, bytes], None],
    ) -> None:
        self._source = source
        self._sink = sink
        self._frame = frame
        self._plain = plain
        self._parts: dict[int, list[bytes]] = {}
        self._line = b""  # that has begun and was in no frame
        self.unread = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def show(self, data: bytes) -> None:
        """Show lines; where they are not read any more, they are read here all the same."""
        try:
            write(self._sink, data)
        except BrokenPipeError:
            self.unread = True
        except (OSError, ValueError):
            pass

    def show_text(self, text: str) -> None:
        """Show a rank's text where this stream is shown."""
        self.show(text.encode("utf-8", "backslashreplace"))

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


def write(sink: IO[str], data: bytes) -> None:
    """Write lines; what the sink's encoding has nothing for is written as escapes."""
    text = data.decode("utf-8", "replace")
    encoding = getattr(sink, "encoding", None) or "utf-8"
    sink.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sink.flush()
