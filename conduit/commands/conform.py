"""`conduit conform SPEC`."""

import io
import os
import shlex
from contextlib import redirect_stdout
from importlib.util import find_spec
from random import SystemRandom
from typing import Annotated, Any

from cyclopts import Parameter

from conduit.commandline.names import ConduitName
from conduit.errors import BadRequest, ConduitError
from conduit.launch.registry import parse_spec
from conduit.words import to_install

PLUGIN = "conduit.conformance.plugin"
_FEW = 40
"""Checks, with the suite's own numbers of ranks, that are run sooner than workers have collected them."""


def conform(
    spec: ConduitName,
    /,
    *,
    full: Annotated[bool, Parameter(negative=())] = False,
    keyword: Annotated[str, Parameter(name=["-k"], show_default=False)] = "",
    exit_first: Annotated[bool, Parameter(name=["-x"], negative=())] = False,
    ranks: Annotated[str, Parameter(show_default=False)] = "",
    seed: int | None = None,
) -> int:
    """Run the conformance suite on a conduit.

    Args:
        spec: The conduit, as NAME or NAME:option=value,...; options that it names stay as they are.
        full: Every number of ranks and all combinations of options (or of three), weak order with five seeds.
        keyword: Only the checks whose names or cases match, as pytest's -k: 'test_replies and 3ranks'.
        exit_first: Stop at the first check that fails.
        ranks: The numbers of ranks, separated by commas, in the place of those of the suite.
        seed: Of this run, as an earlier one has printed it; otherwise one is drawn.
    """
    counts = _rank_counts(ranks)
    found = parse_spec(spec)
    try:
        import pytest
    except ImportError:
        raise ConduitError(f"the suite needs pytest; install it with: {to_install('conform')}") from None
    if keyword:
        _check_keyword(keyword)
    from conduit.conformance.pace import refuse_slow
    from conduit.conformance.suites import suite_folders

    refuse_slow(spec)

    # The suite's own settings count, not those of the project in whose folder the command is called.
    settings = ["-c", os.devnull, "--rootdir", str(suite_folders()["core"]), "--import-mode=importlib"]
    chosen = ["-p", PLUGIN, "-p", "no:cacheprovider", "--conduit", spec, *(["--full"] if full else [])]
    chosen += [f"-k={keyword}"] if keyword else []
    chosen += ["-x"] if exit_first else []
    chosen += [f"--conformance-ranks={counts}"] if counts else []
    spread = _spread(simulated=found.simulated)
    if keyword and spread and seed is None:  # the cases are counted, and then run
        seed = SystemRandom().randrange(1_000_000)
    chosen += [] if seed is None else [f"--conformance-seed={seed}"]
    folders = [str(folder) for folder in suite_folders().values()]
    pressed, selected = _Pressed(), _Selected()
    status: int = pytest.ExitCode.OK
    if keyword and spread:  # every worker collects all checks, before any knows how few are selected
        with redirect_stdout(io.StringIO()):
            status = pytest.main([*settings, *chosen, "--collect-only", "-q", *folders], plugins=[pressed, selected])
        if status == pytest.ExitCode.OK and selected.count <= _FEW and not counts:
            spread = []
    if not pressed and status not in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        status = pytest.main([*settings, *chosen, *spread, *folders], plugins=[pressed])
    if pressed:
        raise KeyboardInterrupt
    if status == pytest.ExitCode.USAGE_ERROR:
        raise BadRequest(f"the suite refused '{found.text}'; see above")
    if keyword and status == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise BadRequest(
            f"-k {shlex.quote(keyword)} matches none of the suite's checks on {found.text!r}; give a part of a name or "
            "case, as test_replies"
        )
    return 0 if status == pytest.ExitCode.OK else 1


def _check_keyword(text: str) -> None:
    """Refuse what pytest cannot read, and its workers would fail at, each with a traceback."""
    try:
        from _pytest.mark.expression import Expression  # pytest reads it so, and has no public name for it
    except ImportError:
        return
    try:
        Expression.compile(text)
    except Exception as error:  # of which kind depends on pytest's version
        why = getattr(error, "msg", error)
        raise BadRequest(
            f"-k {shlex.quote(text)} is no expression ({why}); give parts of names or cases, joined by and, or, not "
            "and parentheses, as 'test_replies and 3ranks'"
        ) from None


class _Selected:
    """Knows how many checks pytest has collected.

    Attributes:
        count: that.
    """

    def __init__(self) -> None:
        self.count = 0

    def pytest_collection_finish(self, session: Any) -> None:
        """Count them."""
        self.count = len(session.items)


class _Pressed:
    """Knows whether Ctrl-C has ended a run of pytest, which calls an end at the first failure an interruption too."""

    def __init__(self) -> None:
        self._pressed = False

    def __bool__(self) -> bool:
        return self._pressed

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        """Look at what has ended it; a worker of pytest-xdist says in words that it was Ctrl-C."""
        self._pressed = excinfo.type is KeyboardInterrupt or "keyboard-interrupt" in str(excinfo.value)


def _rank_counts(text: str) -> str:
    """Check numbers of ranks."""
    parts = [part.strip() for part in text.split(",")] if text else []
    if not all(part.isascii() and part.isdecimal() and int(part) for part in parts):
        raise BadRequest(f"--ranks {text} is not allowed; give numbers from 1 on, separated by commas, as 2,3")
    return ",".join(parts)


def _spread(*, simulated: bool) -> list[str]:
    """Use all processors, where pytest can; real jobs want them for their own ranks."""
    return ["-n", "auto"] if simulated and find_spec("xdist") is not None else []
