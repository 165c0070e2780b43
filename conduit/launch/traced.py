"""The trace of what a command runs, if it is to write one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def tracing(path: Path | None) -> Iterator[None]:
    """Write a trace of all jobs that start inside to one file, each as soon as it is over.

    Args:
        path: the file; None: there is to be none.

    Raises:
        ConduitError: it cannot be written.
    """
    if path is None:
        yield
        return
    from conduit.launch.tracing import written_to  # with all that recordings are made of, for traces alone

    with written_to(path):
        yield
