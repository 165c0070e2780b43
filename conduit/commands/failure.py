"""How `conduit run` shows the error that a program ended with."""

from types import TracebackType

from conduit.commands import progress
from conduit.commands.program import ProgramFile
from conduit.errors import HandlerError
from conduit.launch.errors.own_words import chain_in_own_words
from conduit.launch.printing import endings
from conduit.launch.printing.formatting import formatted
from conduit.launch.program.public import is_ours

_STREAMS = (progress.__file__, endings.__file__)
"""Modules whose streams stand before standard output."""


def failure(error: BaseException, file: ProgramFile) -> str:
    """Return an error with its traceback, as Python shows it, from the program's first line on.

    Args:
        error: what ended the job; changed.
        file: the program.
    """
    shown = _without_its_name(error)
    chain_in_own_words(shown, is_ours)
    link: BaseException | None = shown
    chain: list[BaseException] = []
    while link is not None and link not in chain:
        chain.append(link)
        link.__traceback__ = _without_streams(file.own_part(link))
        if isinstance(link, AttributeError | NameError | ImportError):
            link.name = None  # Python would say once more what it might have been meant to be
        link = link.__cause__ or link.__context__
    return formatted(shown)


def _without_streams(part: TracebackType | None) -> TracebackType | None:
    """Return a traceback without its end in a stream that stands before standard output, which nobody has called."""
    step = part
    while step is not None and step.tb_next is not None:
        if step.tb_next.tb_frame.f_code.co_filename in _STREAMS:
            step.tb_next = None
        step = step.tb_next
    return part


def _without_its_name(error: BaseException) -> BaseException:
    """Return what a handler raised, with where that was as a note, in the place of the error that says both."""
    cause = error.__cause__
    if not (isinstance(error, HandlerError) and error.where and cause is not None):
        return error
    for note in (error.where, *getattr(error, "__notes__", ())):
        cause.add_note(note)
    return cause
