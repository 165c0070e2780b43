"""Which of the five tests run, in which form, at which sizes; what each needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

import conduit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from extended.scaling.library import Form

Test: TypeAlias = Literal["distant", "shift", "naive", "tree", "alltoall"]
Library: TypeAlias = Literal["shmem", "mpi2"]

TESTS: tuple[Test, ...] = ("distant", "shift", "naive", "tree", "alltoall")
LIBRARIES: tuple[Library, ...] = ("shmem", "mpi2")
ITEM = 8
"""Bytes of a number (`sh.m.real`)."""

SIZES: dict[Test, tuple[int, ...]] = {
    "distant": (8, 10_000, 1_000_000),  # sh.m.sizes.t124
    "shift": (8, 10_000, 1_000_000),
    "naive": (8, 10_000),  # sh.m.sizes.t3
    "tree": (8, 10_000, 1_000_000),
    "alltoall": (8, 1_000, 10_000),  # sh.m.sizes.t5
}
"""Bytes of a message in the paper; its KB is 1000 bytes (`sh.m.kb`)."""

FORMS: dict[tuple[Test, Library], tuple[Form, ...]] = {
    ("shift", "shmem"): ("get", "put"),
    ("shift", "mpi2"): ("get", "put"),
    ("tree", "shmem"): ("put",),
    ("tree", "mpi2"): ("get", "put"),
}
"""The forms of a test, its usual one first; of all others get alone."""


@attrs.frozen
class ScalingBlock:
    """One test of a series.

    Attributes:
        test: which of the five.
        library: by what.
        form: by gets or by puts.
        nbytes: of a message.
    """

    test: Test
    library: Library
    form: Form
    nbytes: int

    @property
    def count(self) -> int:
        """Numbers in a message."""
        return self.nbytes // ITEM

    def room(self, size: int) -> int:
        """Return how many numbers source and target have on each of `size` PEs."""
        return size * self.count if self.test == "alltoall" else self.count


def forms(test: Test, library: Library, asked: Form | None) -> tuple[Form, ...]:
    """Return the forms in which a test runs.

    Args:
        test: which of the five.
        library: by what.
        asked: the form that the user gave; None: the usual one.

    Raises:
        conduit.BadRequest: the test has no such form.
    """
    known = FORMS.get((test, library), ("get",))
    if asked is None:
        return known[:1]
    if asked not in known:
        raise conduit.BadRequest(
            f"--form {asked}: {test} by {library} is made of {known[0]}s alone; leave --form out, or choose --test and "
            "--library"
        )
    return (asked,)


def blocks(
    tests: Sequence[Test], libraries: Sequence[Library], form: Form | None, sizes: Sequence[int]
) -> tuple[ScalingBlock, ...]:
    """Return all that runs, in the order of the tests, sizes and libraries.

    Args:
        tests: names.
        libraries: names.
        form: of all; None: each test's usual one.
        sizes: bytes; none: those of the paper.

    Raises:
        conduit.BadRequest: a test has no such form, or a size is no number of 8-byte numbers.
    """
    for nbytes in sizes:
        if nbytes < ITEM or nbytes % ITEM:
            raise conduit.BadRequest(f"--sizes {nbytes} is no number of {ITEM}-byte reals; give multiples of {ITEM}")
    return tuple(
        ScalingBlock(test, library, way, nbytes)
        for test in tests
        for nbytes in (sizes or SIZES[test])
        for library in libraries
        for way in forms(test, library, form)
    )
