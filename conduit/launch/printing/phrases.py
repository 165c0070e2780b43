"""Ranks, times and waits in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_RANGES = 8  # of ranks that a line shows
_MS = 10_000_000_000  # picoseconds from which on times of many ranks are given in milliseconds
_S = 1_000_000_000_000  # picoseconds from which on a time is given in seconds


def time(ticks: int) -> str:
    """Return a time as text, from a second on in seconds."""
    return f"{ticks / 1e6:.3f} us" if ticks < _S else f"{ticks / 1e12:.3f} s"


def span(times: Iterable[int]) -> str:
    """Return the time of several ranks: `102.26 to 102.31 ms`."""
    all_times = list(times)
    first, last = min(all_times), max(all_times)
    if first == last:
        return time(first)
    if last < _MS:
        return f"{first / 1e6:.3f} to {last / 1e6:.3f} us"
    low, high = f"{first / 1e9:.2f}", f"{last / 1e9:.2f}"
    return f"{low} ms" if low == high else f"{low} to {high} ms"


def wall(times: Iterable[int]) -> str:
    """Return the time of several ranks on real processes, always in seconds: `0.212 to 0.340 s`."""
    all_times = list(times)
    low, high = f"{min(all_times) / _S:.3f}", f"{max(all_times) / _S:.3f}"
    return f"{low} s" if low == high else f"{low} to {high} s"


def ranges(ranks: Sequence[int], most: int = _RANGES) -> str:
    """Return ranks as text: 0, 2-5, 9.  Of more than `most` ranges the middle is left out."""
    parts: list[str] = []
    start = previous = ranks[0]
    for rank in [*ranks[1:], -1]:
        if rank != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = rank
        previous = rank
    if len(parts) > most:
        parts[most - 2 : -1] = ["..."]
    return ", ".join(parts)


def named(ranks: Sequence[int]) -> str:
    """Return ranks with the word: rank 3, ranks 0, 2-5."""
    return f"rank{'s' * (len(ranks) > 1)} {ranges(ranks)}"


def counted(ranks: Sequence[int]) -> str:
    """Return ranks with their number: 255 ranks (0-199, 201-255)."""
    return named(ranks) if len(ranks) == 1 else f"{len(ranks)} ranks ({ranges(ranks)})"


def common(texts: Iterable[str]) -> str:
    """Return texts that differ in numbers alone as one: a number that is not the same in all of them is a #."""
    parts = [re.split(r"(\d+)", text) for text in dict.fromkeys(texts)]
    return "".join(each[0] if len(set(each)) == 1 else "#" for each in zip(*parts, strict=True))


def shorten(text: str, files: Iterable[str]) -> str:
    """Return a text in which each file has its whole path once, and from then on its name, where one alone has that."""
    known = sorted(set(files), key=len, reverse=True)
    names = [_name(file) for file in known]
    for file, name in zip(known, names, strict=True):
        before, found, after = text.partition(f"{file}:")
        if found and names.count(name) == 1 and name != file:
            text = before + found + after.replace(found, f"{name}:")
    return text


def _name(file: str) -> str:
    return re.split(r"[/\\]", file)[-1]
