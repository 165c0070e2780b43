"""Files that commands write their results to: named before the work, written after it."""

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from conduit.commandline.names import Value
from conduit.errors import BadRequest, ConduitError
from conduit.launch.entry_points import DISTRIBUTION
from conduit.launch.printing.terminal import tell_written

if TYPE_CHECKING:
    from conduit.launch.registry import Spec

STANDARD_OUTPUT = Path("-")


_NAME, _OR_OUTPUT = "name one", ", or write - for standard output"


def _file_option(instead: str) -> tuple[object, object]:
    """Return how an option takes a file: one word.  One that looks like an option is refused: its file was forgotten.

    Args:
        instead: what to do about that.
    """

    def take(type_: Any, tokens: Sequence[Token]) -> Path:
        word = tokens[0].value
        if word.startswith("-") and word != "-":
            raise ValueError(f"'{word}' is no file; {instead}")
        return Path(word)

    return Parameter(converter=take, allow_leading_hyphen=True, negative=()), Value(f"a file; {instead}")


File = Annotated[Path, *_file_option(_NAME + _OR_OUTPUT)]
"""The type of an option that names a file for results; - is standard output."""

Trace = Annotated[Path, *_file_option(_NAME)]
"""The type of an option that names a file for a trace, which is never standard output: - is refused with the reason."""


def _folder(type_: Any, tokens: Sequence[Token]) -> Path:
    """Take one word, which must name something: pathlib alone takes none for the folder that one is in."""
    word = tokens[0].value
    if not word or word.startswith("-"):
        raise ValueError(f"'{word}' is no folder; name one, as reports or ./reports")
    return Path(word)


Folder = Annotated[
    Path, Parameter(converter=_folder, allow_leading_hyphen=True, negative=()), Value("a folder; name one")
]
"""The type of an option that names a folder for results."""


def make_folder(option: str, path: Path) -> None:
    """Make the folder that an option names, unless it is there.

    Args:
        option: without hyphens.
        path: of the folder.

    Raises:
        BadRequest: it cannot be made.
    """
    try:
        path.mkdir(exist_ok=True)
    except FileExistsError:
        raise BadRequest(f"--{option} {path} is a file; name a folder") from None
    except PermissionError:
        raise BadRequest(f"--{option} {path} may not be made; name a folder in one that may be written") from None
    except OSError as exc:
        raise BadRequest(
            f"--{option} {path} cannot be made: {exc.strerror}; name a folder in one that exists"
        ) from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise BadRequest(f"--{option} {path} may not be written; name a folder that may")


def check_files(outputs: Mapping[str, Path | None]) -> None:
    """Refuse files that cannot be written before the work, not after it, and all of them at once.

    Args:
        outputs: the files by the options that name them, without hyphens; None where none is wanted.

    Raises:
        BadRequest: one is a folder, its folder does not exist, or it may not be written; a line for each.
    """
    problems = [_problem(option, path) for option, path in outputs.items() if path is not None]
    if told := [each for each in problems if each]:
        raise BadRequest("\n  ".join(told))


def _problem(option: str, path: Path) -> str:
    """Return why a file that an option names cannot be written, and what to do; "" where it can."""
    if path == STANDARD_OUTPUT:
        return ""
    folder = path.absolute().parent
    if path.is_dir():
        return f"--{option} {path} is a folder; name a file in it"
    if not folder.is_dir():
        return f"--{option} {path} cannot be written; name a file in a folder that exists"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return f"--{option} {path} may not be written; name a file that may"
    return ""


def check_trace(path: Path | None, specs: "Iterable[Spec]") -> None:
    """Refuse a trace to what is no file, or of what cannot be traced, before the work.

    Args:
        path: what `--trace` names, None where there is to be none.
        specs: what will be traced.

    Raises:
        BadRequest: it is to standard output, or of a network that cannot be traced.
    """
    if path is None:
        return
    if path == STANDARD_OUTPUT:
        raise BadRequest("--trace - : standard output is for what is printed; name a file")
    from conduit.contract import RankKind  # with numbers, which no help needs

    for spec in specs:
        if not spec.simulated and spec.rank_kind is not RankKind.PROCESS:
            raise BadRequest(
                f"--trace {path}: conduit '{spec.text}' runs in real time with all its ranks in one process, which "
                "tells of none of them what it does; leave one of the two out"
            )


def check_apart(outputs: Mapping[str, Path | None], program: Path | None = None) -> None:
    """Refuse files for results of which one would overwrite another, or the program, before anything is written.

    Args:
        outputs: the files by the options that name them, without hyphens; None where none is wanted.
        program: the file of the program, None for a command that has none.

    Raises:
        BadRequest: two of them are one file, by whatever path, or one of them is the program.
    """
    named = [(option, path) for option, path in outputs.items() if path is not None]
    for option, path in named:
        if program is not None and path != STANDARD_OUTPUT and _same(path, program):
            raise BadRequest(f"--{option}={path} is the program itself; give another file")
    for (first, one), (second, other) in combinations(named, 2):
        if one == other == STANDARD_OUTPUT:
            raise BadRequest(f"--{first} - and --{second} - would both be printed; name a file for one of them")
        if STANDARD_OUTPUT not in (one, other) and _would_overwrite(one, other):
            raise BadRequest(
                f"--{first} {one} and --{second} {other} would be written to one file; name another for one of them"
            )


def check_beside(outputs: Mapping[str, Path | None], option: str, folder: Path, inside: Iterable[Path]) -> None:
    """Refuse files for results that a folder for results would overwrite, or that are that folder.

    Args:
        outputs: as in `check_apart`.
        option: which one names the folder, without hyphens.
        folder: where files are written to.
        inside: these files.

    Raises:
        BadRequest: one of the files is one of these, by whatever path, or the folder itself.
    """
    taken = {os.path.realpath(each) for each in (folder, *inside)}
    for name, path in outputs.items():
        if path is None or path == STANDARD_OUTPUT:
            continue
        if os.path.realpath(path) in taken:
            raise BadRequest(
                f"--{name} {path} and --{option} {folder} would be written to one place; name another for one of them"
            )


def _would_overwrite(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one place for a file; what is there and no file, as /dev/null, holds nothing."""
    if one.exists() or other.exists():
        return one.is_file() and _same(one, other)
    return os.path.realpath(one) == os.path.realpath(other)


def _same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file that is there."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def write_file(option: str, path: Path, text: str) -> None:
    """Write a text to a file that an option names, and say so on standard error.

    Raises:
        ConduitError: it cannot be written.
    """
    if path == STANDARD_OUTPUT:
        print(text, end="")
        return
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")  # names of files may be any bytes
    except OSError as exc:
        raise ConduitError(f"--{option} {path} cannot be written: {exc.strerror}") from exc
    tell_written(path)


def json_text(content: object) -> str:
    """Return what `--json` writes."""
    return json.dumps(content, indent=1) + "\n"


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return what `--csv` writes: a line of titles, then the rows; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def package_version() -> str:
    """Return the version of this package, which every JSON has."""
    return version(DISTRIBUTION)
