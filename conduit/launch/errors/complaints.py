"""How an error that ends a job is told: once, where several ranks that are processes have the same."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from conduit.launch.errors.exits import exit_status, in_words
from conduit.launch.errors.raised import told_of
from conduit.launch.errors.watches import after_error, ended_by
from conduit.launch.printing import output, terminal


def complain(text: str, error: BaseException, *, alike: bool = False) -> bool:
    """Print an error's text: of a rank as that which ends the job; return whether this process has it shown.

    Where frames are read, who reads them shows what several ranks say alike once; elsewhere the lowest of them does.

    Args:
        text: whole lines.
        error: what they are about.
        alike: whether all ranks say the same, before there is a job, so that rank 0 alone need do so.
    """
    own = output.speech()
    if own is not None and own.framed:
        own.error(_final(text, error))
        return True
    if own is not None and own.rank and alike:
        return False
    after = "" if own is None or alike else after_error(told_of(error))
    if after is not None:
        sys.stderr.write(text + after)
    return after is not None


def complain_of_exit(notes: Sequence[str], error: SystemExit) -> None:
    """Print who has ended a job by an exit; of what is there in the place of a status Python prints it at the end.

    In the processes of several ranks it would do so in each: there it is printed as part of what is told once.

    Args:
        notes: lines on who has.
        error: the exit; has a status alone where Python is to print nothing.
    """
    sys.stdout.flush()
    own = output.speech()
    within = own is not None and own.framed and in_words(error)
    words = f"{error.code}\n" if within else ""
    is_told = complain(terminal.shown("\n".join(notes)) + f"\n{words}", error)
    if in_words(error) and (within or not is_told):
        error.code = exit_status(error)


def complain_of(command: str, error: BaseException, words: Callable[[str], str] = str) -> None:
    """Print what a command says of an error of this package; one with notes comes out of a running job.

    Args:
        command: its name.
        error: what ended it.
        words: gives what is shown of the text.
    """
    notes: Sequence[str] = getattr(error, "__notes__", ())
    text = str(error).removeprefix(f"{command}: ")  # errors of conduit.run begin with "run: "
    lines = "\n  ".join((f"conduit {command}: {text}", *notes))
    complain(terminal.shown(words(f"{lines}\n")), error, alike=not notes and ended_by() is None)


def _final(text: str, error: BaseException) -> output.FinalError:
    """Return an error as it is told to who reads frames."""
    kind, said = told_of(error)
    if not isinstance(error, SystemExit):
        return output.FinalError(text, kind, said)
    return output.FinalError(text, kind, said, exit_status(error), said if in_words(error) else "")
