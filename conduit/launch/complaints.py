"""How an error that ends a job is told: once, where several ranks that are processes have the same."""

from __future__ import annotations

import sys

from conduit.launch import output
from conduit.launch.errors import told_of
from conduit.launch.process import after_error


def complain(text: str, error: BaseException, *, alike: bool = False) -> None:
    """Print an error's text: of a rank as that which ends the job.

    Where frames are read, who reads them shows what several ranks say alike once; elsewhere the lowest of them does.

    Args:
        text: whole lines.
        error: what they are about.
        alike: whether all ranks say the same, before there is a job, so that rank 0 alone need do so.
    """
    own, told = output.speech(), told_of(error)
    if own is not None and own.framed:
        own.error(text, *told)
        return
    if own is not None and own.rank and alike:
        return
    after = "" if own is None or alike else after_error(told)
    if after is not None:
        sys.stderr.write(text + after)
