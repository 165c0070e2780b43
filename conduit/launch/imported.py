"""Ctrl-C that comes while this package is imported: a command ends with a word, and a script at its own line.

It may come at once.  So this is imported first, and imports only what Python has imported itself by then.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as `typing` has it, which takes long to import
if TYPE_CHECKING:
    from types import FrameType, TracebackType

_COMMAND = "conduit"
PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_INTERRUPTED = 130


def install() -> None:
    """Let Ctrl-C be shown so until `uncaught` shows all errors, unless others than Python show them."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show


def shows_python() -> bool:
    """Say whether Python shows errors, or this does."""
    return sys.excepthook in (sys.__excepthook__, _show)


def tell_interrupt(error: KeyboardInterrupt, step: TracebackType | None) -> bool:
    """Take the lines of this package's import from what is shown of a Ctrl-C; False: it has come elsewhere.

    Raises:
        SystemExit: this is the command line, which has told it in a word; its commands tell it themselves.
    """
    if is_command():
        print("interrupted", file=sys.stderr)
        raise SystemExit(_INTERRUPTED)
    if not _in_imports(step):
        return False
    error.__traceback__ = _cut(step)
    return True


def is_command() -> bool:
    """Say whether this process is the command line, and no script."""
    if os.path.basename(sys.argv[0]) == _COMMAND or sys.argv[0] == f"{PACKAGE}__main__.py":
        return True
    words = sys.orig_argv  # while Python looks for the module, its options come first
    return sys.argv[0] == "-m" and _COMMAND in words[words.index("-m") + 1 :][:1] if "-m" in words else False


def _show(kind: type[BaseException], error: BaseException, step: TracebackType | None) -> None:
    if isinstance(error, KeyboardInterrupt):
        tell_interrupt(error, step)
    sys.__excepthook__(kind, error, error.__traceback__)


def _in_imports(step: TracebackType | None) -> bool:
    """Say whether what runs is the import of this package."""
    while step is not None:
        if _is_import(step.tb_frame):
            return True
        step = step.tb_next
    return False


def _is_import(frame: FrameType) -> bool:
    return frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(PACKAGE)


def _cut(step: TracebackType | None) -> TracebackType | None:
    """Return a traceback up to where the import of this package begins."""
    if step is None or step.tb_frame.f_code.co_filename.startswith(("<frozen ", PACKAGE)):
        return None
    return type(step)(_cut(step.tb_next), step.tb_frame, step.tb_lasti, step.tb_lineno)
