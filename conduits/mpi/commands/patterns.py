"""Permutations of p = 2**n processes that traffic is sent along, as the papers on Sun Fire Link define them.

A process is a string of n bits, bit 0 the least significant.  Where a family has stages, its single-stage pattern is
stage n - 1, and its multi-stage pattern all stages one after the other, made into one permutation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conduit import BadRequest


def _low(bits: int) -> int:
    return (1 << bits) - 1


def baseline(process: int, stage: int) -> int:
    """Rotate the low stage + 1 bits right by one."""
    kept = process & ~_low(stage + 1)
    return kept | (process & 1) << stage | (process & _low(stage + 1)) >> 1


def butterfly(process: int, stage: int) -> int:
    """Swap bit 0 and bit `stage`."""
    differ = (process ^ process >> stage) & 1
    return process ^ (differ | differ << stage)


def cube(process: int, stage: int) -> int:
    """Invert bit `stage`."""
    return process ^ 1 << stage


def bit_reversal(process: int, bits: int) -> int:
    """Reverse the bits."""
    return sum((process >> bit & 1) << (bits - 1 - bit) for bit in range(bits))


def complement(process: int, bits: int) -> int:
    """Invert all bits."""
    return process ^ _low(bits)


def transpose(process: int, bits: int) -> int:
    """Rotate right by half of the bits, rounded down."""
    half = bits // 2
    return process >> half | (process & _low(half)) << (bits - half)


def neighbor(process: int, bits: int) -> int:
    """Pair 0 with 1, 2 with 3 and so on."""
    return process ^ 1 if bits else process


def perfect_shuffle(process: int, bits: int) -> int:
    """Rotate left by one."""
    return (process << 1 & _low(bits)) | process >> (bits - 1) if bits else process


def _stages(stage: Callable[[int, int], int], *, descending: bool = False) -> Callable[[int, int], int]:
    def destination(process: int, bits: int) -> int:
        for each in reversed(range(bits)) if descending else range(bits):
            process = stage(process, each)
        return process

    return destination


def _last(stage: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda process, bits: stage(process, bits - 1) if bits else process


PATTERNS: Mapping[str, Callable[[int, int], int]] = {
    "baseline": _last(baseline),
    "baseline-multi": _stages(baseline, descending=True),
    "butterfly": _last(butterfly),
    "butterfly-multi": _stages(butterfly),
    "cube": _last(cube),
    "cube-multi": _stages(cube),
    "bit-reversal": bit_reversal,
    "complement": complement,
    "transpose": transpose,
    "neighbor": neighbor,
    "perfect-shuffle": perfect_shuffle,
}
"""Of each pattern the destination of a process, given the number of bits."""


def destinations(pattern: str, processes: int) -> list[int]:
    """Return to whom each process sends.

    Raises:
        BadRequest: the pattern is not known, or the number of processes is no power of two.
    """
    if pattern not in PATTERNS:
        raise BadRequest(f"pattern={pattern!r} is none of {', '.join(PATTERNS)}")
    if processes < 1 or processes & (processes - 1):
        raise BadRequest(f"processes={processes} is no power of 2; patterns are permutations of 2**n processes")
    bits = processes.bit_length() - 1
    return [PATTERNS[pattern](process, bits) for process in range(processes)]
