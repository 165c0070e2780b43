"""The command line: finds commands by entry point, runs one, turns its outcome into an exit status.

Only the command that is called is imported; `conduit --help` reads the first lines of the others from their sources.
"""

import os
import sys
from collections.abc import Callable, Collection, Sequence
from errno import ENOSPC
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter

from conduit.commands.help_shown import ShownHelp
from conduit.commands.listed import listed
from conduit.commands.sizes_as_written import in_units
from conduit.commands.wrong_call import explain, in_options
from conduit.errors import BadRequest, ConduitError, UnknownConduit
from conduit.launch import interrupts
from conduit.launch.call_words import WORDS, WRONG_CALL
from conduit.launch.entry_points import DISTRIBUTION, commands
from conduit.launch.errors.complaints import complain_of
from conduit.launch.hints.hidden import hiding
from conduit.launch.printing import output, terminal

DONE, FAILED = 0, 1

_ABOUT = """Active Messages over simulated interconnects.

Begin with conduit run PROGRAM.py, conduit testam or conduit list; conduit
COMMAND --help explains a command.
"""

_NO_FOLDER = "the folder that it was called in is not there any more; go to one that is, as by `cd ~`"


def main() -> None:
    """Run the command that the arguments of the process name, and exit with its status."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed before this process began; its number would go to another file
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the process ends
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str], within: str = "") -> int:
    """Run one command.

    Args:
        arguments: the words after `conduit`.
        within: the command that the user has called, which makes this call; "" for none.

    Returns:
        0 when the work was done, 1 when it failed, 2 for a wrong call.

    Raises:
        SystemExit: a program that `conduit run` ran exited with a status of its own.
    """
    name = next(iter(arguments), "")
    known_as = f"{within}: {name}" if within else name
    words = (*_own(arguments), *(_own(WORDS.get()) if within else ()))
    WORDS.set(tuple(arguments))
    try:
        with interrupts.tried_again():  # a job's calls may die after it, as while its report is written
            line = _line_of(arguments)
            status = line(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
        if sys.stdout is not None:  # by who calls this; of a process of its own `main` sees to it
            sys.stdout.flush()
        return status if isinstance(status, int) else DONE
    except CycloptsError as exc:
        terminal.tell(explain(name, exc).replace(f"conduit {name}:", f"conduit {known_as}:", 1))
        return WRONG_CALL
    except ConduitError as exc:
        return _say(known_as, exc, words)
    except MemoryError as exc:
        terminal.tell(f"conduit {known_as}: out of memory: {exc or 'no more of it'}")
        return FAILED
    except BrokenPipeError:
        _drop_output()  # its reader has gone
        return FAILED
    except OSError as exc:
        why = (
            str(exc) if exc.filename is not None or exc.errno != ENOSPC else f"output cannot be written: {exc.strerror}"
        )
        terminal.tell(f"conduit {known_as}: {why if _has_folder() else _NO_FOLDER}")
        _drop_output()
        return FAILED
    except KeyboardInterrupt as exc:
        if output.tells_the_end() and not interrupts.is_told(exc):
            print("interrupted", file=sys.stderr)
        return interrupts.status(exc)


def _own(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a call that are not a program's."""
    return words[: words.index("--")] if "--" in words else words


def _has_folder() -> bool:
    """Say whether the folder that the command was called in is still there."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _drop_output() -> None:
    """Write what is still buffered; where that cannot be written, let it go and all that follows."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(name: str, exc: ConduitError, words: Sequence[str]) -> int:
    """Tell the user what went wrong with a call; an error with notes comes out of a running job, not from the call."""
    noted = getattr(exc, "__notes__", ())
    wrong_call = isinstance(exc, BadRequest | UnknownConduit) and not noted
    of_options = not noted and str(exc).startswith(("run: ", "segment="))

    def shown(text: str) -> str:
        text = in_options(text) if of_options else text
        return in_units(text, words) if wrong_call else text

    complain_of(name, exc, shown)
    return WRONG_CALL if wrong_call else FAILED


def _line_of(arguments: Sequence[str]) -> App:
    """Return the command line as a call needs it: with one command, or with all, of which it may name one for help."""
    name, known = next(iter(arguments), ""), commands()
    if name in known or name == "--version":
        return app({name} & known.keys())
    return app(known.keys() & arguments, known)


def app(called: Collection[str], shown: Collection[str] = (), kind: type[App] = App) -> App:
    """Return the command line.

    Args:
        called: the commands that may be called, or explained.
        shown: those that are listed; which of them may not be called too are not imported, as far as that is possible.
        kind: what to make it of.
    """
    made = kind(
        name="conduit",
        help=_ABOUT,
        help_format="plaintext",
        help_formatter=ShownHelp(),
        version=lambda: version(DISTRIBUTION),
        suppress_keyboard_interrupt=False,
    )
    for name, target in commands().items():
        if name in called:
            made.command(_command(name, target), name=name)
        elif name in shown:
            made.command(listed(target) or _command(name, target), name=name)
    return made


def _command(name: str, target: str) -> Callable[..., Any]:
    """Import a command; one that cannot be imported says so when it is called, and breaks no other."""
    module, _, attribute = target.partition(":")
    try:
        command: Callable[..., Any] = getattr(import_module(module), attribute)
    except Exception as exc:
        return _broken(name, target, exc)
    return command


def _broken(name: str, target: str, error: Exception) -> Callable[..., Any]:
    text = "; ".join(filter(None, (f"{type(error).__name__}: {error}", hiding(error))))

    def unusable(*words: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> None:
        raise ConduitError(f"the command '{name}' ({target}) cannot be imported: {text}") from error

    unusable.__doc__ = f"Cannot be imported: {text}"
    return unusable
