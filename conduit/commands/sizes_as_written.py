"""Sizes in what is told of a call, in the units that it has them in: `--segment 100G`, not 107374182400."""

import re
from collections.abc import Iterator, Sequence

from conduit.options import POWERS

_WRITTEN = re.compile(r"(?<![\w.])(\d[\d_]*)([KMG])(?!\w)", re.IGNORECASE)
_GIVEN = re.compile(r"((?:--[\w-]+ |\b\w+=))(\d+)\b( bytes)?")
"""An option, or an argument, with its value."""
_BOUND = re.compile(r"\b(at most |at least |over the |smallest size of )(\d+)\b( bytes)?")


def in_units(text: str, words: Sequence[str]) -> str:
    """Return a message with sizes as the user has written them, and what is allowed in such units; most are unchanged.

    Args:
        text: the message, with bytes.
        words: the call, of which some may be sizes, as 64K.
    """
    written = {nbytes: word for word, nbytes, _ in _sizes(words)}
    if not any(int(found[2]) in written for found in _GIVEN.finditer(text)):
        return text
    letters = [letter for _, _, letter in _sizes(words)]

    def given(found: re.Match[str]) -> str:
        word = written.get(int(found[2]))
        return found[0] if word is None else found[1] + word

    def bound(found: re.Match[str]) -> str:
        nbytes = int(found[2])
        if nbytes in written or (whole := _in_unit(nbytes, letters)):
            return found[1] + (written.get(nbytes) or whole)
        below = _in_unit(nbytes + 1, letters) if found[1] == "at most " else ""
        return f"below {below}" if below else found[0]

    return _BOUND.sub(bound, _GIVEN.sub(given, text))


def _sizes(words: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Yield the sizes in words that have a letter: each as it is written, its bytes, its letter."""
    for word in words:
        for found in _WRITTEN.finditer(word):
            letter = found[2].upper()
            yield found[0], int(found[1]) << POWERS[letter], letter


def _in_unit(nbytes: int, preferred: Sequence[str]) -> str:
    """Return a size with one of the letters, or with the largest that it is a whole number of; "" if it is of none."""
    for letter in (*preferred, *sorted(POWERS, key=lambda each: -POWERS[each])):
        if letter and nbytes and nbytes % (1 << POWERS[letter]) == 0:
            return f"{nbytes >> POWERS[letter]}{letter}"
    return ""
