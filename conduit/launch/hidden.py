"""A file of the user's own that is imported in the place of a package, because it stands beside the program.

Whatever it hides may be what this package needs itself: so nothing but Python's own modules is imported here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


def hiding(error: BaseException) -> str:
    """Return which file hides a package that an error's import or attribute is of, and what to do; "" for none."""
    if not isinstance(error, ImportError | AttributeError):
        return ""
    for name, file in _suspects(error):
        if os.path.basename(file) == f"{name}.py" and (spec := _elsewhere(name, os.path.dirname(file))) is not None:
            kind = "module" if spec.submodule_search_locations is None else "package"
            return f"{file} hides the {kind} {name}: give the file another name, such as my_{name}.py"
    return ""


def _suspects(error: ImportError | AttributeError) -> Iterator[tuple[str, str]]:
    """Yield names of modules with their files: that the error names, and those whose import has led to it."""
    there = getattr(error, "obj", None)
    named = there.__name__ if isinstance(there, ModuleType) else error.name if isinstance(error, ImportError) else None
    name = (named or "").partition(".")[0]
    yield name, getattr(sys.modules.get(name), "__file__", None) or ""
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_name == "<module>":
            yield step.tb_frame.f_globals.get("__name__", ""), step.tb_frame.f_code.co_filename
        step = step.tb_next


def _elsewhere(name: str, folder: str) -> ModuleSpec | None:
    """Return where else a module of that name is than in a folder."""
    hidden = os.path.realpath(folder)
    path = [each for each in sys.path if os.path.realpath(each) != hidden]
    for finder in sys.meta_path:
        spec = PathFinder.find_spec(name, path) if finder is PathFinder else finder.find_spec(name, None)
        if spec is not None and os.path.realpath(spec.origin or folder) != os.path.join(hidden, f"{name}.py"):
            return spec
    return None
