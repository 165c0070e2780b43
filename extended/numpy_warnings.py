"""numpy's warnings of what a program's numbers come to: at the program's line.

numpy warns of the line that calls it, which may be one of this package.  Some modules let it raise there instead, and
warn of the program's line, as the program's filters say.  Where it has nothing to warn of, this costs nothing.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from extended.program_lines import SourceLine

MODULES = ("extended.collectives.operators", "extended.upc.array")
"""Those that catch what is raised."""

_FILTER = ("error", None, RuntimeWarning, re.compile("|".join(rf"{re.escape(name)}\Z" for name in MODULES)), 0)
_SHOWN: dict[str, dict[str | tuple[str, type[Warning], int], int]] = {}
"""What has been warned of in each file, as Python keeps it."""


def let_raise() -> None:
    """Let numpy raise its warnings in `MODULES`, whatever filters there are so far."""
    filters: list[Any] = warnings.filters  # type: ignore[assignment]  # a list that programs change too
    if _FILTER not in filters:
        warnings.filterwarnings("error", category=RuntimeWarning, module=_FILTER[3].pattern)


def warn_at(warning: Warning, place: SourceLine) -> None:
    """Warn of a line of the program.

    Args:
        warning: what numpy has raised.
        place: the line.

    Raises:
        Warning: the program's filters make it an error.
    """
    file, line = place
    module = "__main__" if _is_script(file) else Path(file).stem
    try:
        warnings.warn_explicit(str(warning), type(warning), file, line, module, _SHOWN.setdefault(file, {}))
    except Warning as error:
        raise error from None


def _is_script(file: str) -> bool:
    import __main__  # the one that runs now

    script = getattr(__main__, "__file__", None)
    return script is not None and Path(script).absolute() == Path(file).absolute()
