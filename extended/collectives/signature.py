"""What a collective call says of itself in every message, so that ranks that disagree find out.

A signature is a few arguments: the call, the algorithm asked for, the root, a checksum of the rest, and as much of the
rest as text as fits, so that an error can name both calls.  In broadcast and scatter only the root knows what is sent;
there the text describes that instead, and is not compared.

Layout of the first word, from bit 0: call (5 bits), algorithm asked for (5), algorithm chosen (5), flags (3), length of
the text in bytes (6), and where ranks are processes a checksum of what a front end's user has called (7).  There the
line of the call follows the text, which is shorter by as much: an error can name the line of a call that another
process made.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import conduit
from extended.dtypes import dtype_text, read_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    Words = tuple[int, ...]

CALLS = (
    "fence", "destroy", "split", "broadcast", "scatter", "gather", "all_gather", "all_to_all", "reduce", "all_reduce",
    "scan",
)  # fmt: skip
ALGORITHMS = [""]
"""Names of algorithms, filled by the table of them (`name_algorithms`); the place of each is its number in messages."""

ROOTED = {"broadcast", "scatter", "gather", "reduce"}

NUMBER = 1
"""Flag: the root gave a number, and the result is one."""
ELSEWHERE = 2
"""Flag: the description is too long for the text and travels as payload, in as many pieces as it takes."""

PLACED = 4
"""Flag: the line of the call is told, by the word after the text."""

HEAD_WORDS = 3
TEXT_BYTES = 28
_WORD = 4
_COMPARED = 0x3FF


NAMES: dict[str, set[str]] = {}
"""What front ends have for calls, by the calls that they make of it."""

_NAME_AT, _NAME_BITS = 24, 127


def name_calls(call: str, names: Iterable[str]) -> None:
    """Let a front end's names for a call be known, so that what another process tells of one is understood."""
    NAMES.setdefault(call, set()).update(names)


def _name_code(name: str) -> int:
    # Of the name alone, for processes may not have imported the same front ends.  Shifted, the names that there are for
    # one call differ.
    return (crc32(name.partition("(")[0].encode()) >> 8) % _NAME_BITS + 1


def with_name(signature: Signature, name: str) -> Signature:
    """Add to a call's signature what the user of a front end has called."""
    first, *rest = signature.words
    return Signature((first | _name_code(name) << _NAME_AT, *rest))


def name_of(words: Words) -> str:
    """Return what the user of a front end has called, as a message tells it; "" where that is not known for sure."""
    code = words[0] >> _NAME_AT & _NAME_BITS
    found = [name for name in NAMES.get(CALLS[words[0] & 31], ()) if code and _name_code(name) == code]
    return found[0] if len(found) == 1 else ""


def name_algorithms(names: Iterable[str]) -> None:
    """Give numbers to the algorithms that there are, the same on all ranks."""
    ALGORITHMS.extend(names)
    assert len(ALGORITHMS) <= 32, "the first word of a signature has 5 bits for an algorithm"


class CollectiveMismatch(conduit.ConduitError):
    """Ranks made different calls where one collective was expected; the message names two ranks and their calls."""

    __module__ = "extended"  # as programs import it, and as tracebacks are to name it


class Signature(NamedTuple):
    """One call's signature.

    Attributes:
        words: the arguments that messages carry.
    """

    words: Words

    @property
    def key(self) -> Words:
        """What must be the same on all ranks."""
        return key(self.words)


def key(words: Words) -> Words:
    """Return what must be the same on all ranks, out of a message's words."""
    return words[0] & _COMPARED, words[1], words[2]


def sign(call: str, algorithm: str, root: int, text: str, line: int = 0) -> Signature:
    """Make the signature of a call.

    Args:
        call: its name.
        algorithm: the one asked for, "" for none.
        root: the rank given, 0 where there is none.
        text: what else must agree.
        line: of the program that calls, as a word; 0 where messages do not tell it.
    """
    data = text.encode()
    return _packed(call, algorithm, "", root, crc32(data), data, 0, line)


def described(signature: Signature, chosen: str, description: bytes, *, number: bool) -> Signature:
    """Add to the root's signature what it sends and how.

    Args:
        signature: of the call.
        chosen: the algorithm that is used.
        description: of the data, see `describe`.
        number: whether the result is a number.
    """
    first, root, checksum = signature.words[:HEAD_WORDS]
    call, asked = CALLS[first & 31], ALGORITHMS[first >> 5 & 31]
    flags, line = NUMBER * number, line_of(signature.words)
    name = first & _NAME_BITS << _NAME_AT
    if len(description) > _room(line):
        description, flags = b"", flags | ELSEWHERE
    made = _packed(call, asked, chosen, root, checksum & 0xFFFF_FFFF, description, flags, line)
    return Signature((made.words[0] | name, *made.words[1:])) if name else made


def _room(line: int) -> int:
    """Return how many bytes of text fit."""
    return TEXT_BYTES - _WORD if line else TEXT_BYTES


def _packed(
    call: str, asked: str, chosen: str, root: int, checksum: int, text: bytes, flags: int, line: int
) -> Signature:
    text, flags = text[: _room(line)], flags | (PLACED if line else 0)
    code = CALLS.index(call) | ALGORITHMS.index(asked) << 5 | ALGORITHMS.index(chosen) << 10
    code |= flags << 15 | len(text) << 18
    padded = text + bytes(-len(text) % _WORD)
    words = struct.unpack(f"<{HEAD_WORDS + len(padded) // _WORD}i", struct.pack("<iiI", code, root, checksum) + padded)
    return Signature((*words, line) if line else words)


def flags_of(words: Words) -> int:
    """Return the flags of a message."""
    return words[0] >> 15 & 7


def chosen_of(words: Words) -> str:
    """Return the algorithm that the root of a message's call has chosen."""
    return ALGORITHMS[words[0] >> 10 & 31]


def text_of(words: Words) -> bytes:
    """Return the text of a message, or the part of it that fitted."""
    return struct.pack(f"<{len(words) - HEAD_WORDS}i", *words[HEAD_WORDS:])[: words[0] >> 18 & 63]


def line_of(words: Words) -> int:
    """Return the line of the call that a message tells, as a word; 0 where it tells none."""
    return words[HEAD_WORDS - (-(words[0] >> 18 & 63) // _WORD)] if flags_of(words) & PLACED else 0


def with_piece(words: Words, at: int, nbytes: int) -> Words:
    """Add to the words of a message whose description is `ELSEWHERE` which piece of it the payload is.

    Args:
        words: of the message.
        at: byte of the description with which the payload begins.
        nbytes: size of the whole description.
    """
    return *words, at, nbytes


def piece_of(words: Words) -> tuple[int, int]:
    """Return what `with_piece` has added: where the payload begins in the description, and the size of that."""
    return words[-2], words[-1]


def named(words: Words, called: str = "") -> str:
    """Return a call as a user would write it.

    Args:
        words: of a message.
        called: what the user of a front end has called, where that is known; as it is if it has arguments itself.
    """
    name = called or name_of(words)
    if "(" in name:
        return name
    call, asked = CALLS[words[0] & 31], ALGORITHMS[words[0] >> 5 & 31]
    parts = [f"root={words[1]}"] if call in ROOTED else []
    if call not in ("broadcast", "scatter"):
        text = text_of(words)
        parts += [part for part in text.decode(errors="replace").split("; ") if part]
        if len(text) == _room(line_of(words)):
            parts[-1] += "..."
    if asked:
        parts.append(f"algorithm={asked!r}")
    return f"{name or call}({', '.join(parts)})"


# -------------------------------------------------------------------------------------------- descriptions of arrays


def describe(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return dtype and shape as readable bytes, such as ``3:<f82,3``.

    Raises:
        ValueError: a dtype that has no text (`extended.dtypes.dtype_text`).
    """
    name = dtype_text(dtype).encode()
    return b"%d:%b%b" % (len(name), name, ",".join(map(str, shape)).encode())


def read_description(description: bytes) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the dtype and shape that `describe` was given."""
    length, _, rest = description.partition(b":")
    name, shape = rest[: int(length)].decode(), rest[int(length) :]
    return read_dtype(name), tuple(int(size) for size in shape.split(b",") if size)
