"""Programs that ask mpi4py itself who is there or what time it is, in a job whose ranks are no processes.

Each would be rank 0 of 1, and the time be that of the machine which simulates.
"""

from __future__ import annotations

import ast
import linecache
import sys
from contextlib import suppress
from importlib import import_module

from conduit.contract import RankKind
from conduit.launch.entry_points import FRONT_ENDS, installed
from conduit.launch.program.folders import program_frame
from conduit.launch.program.reached import reached
from conduit.launch.registry import Spec

_PACKAGE, _MODULE, _WORLD, _TIME = "mpi4py", "mpi4py.MPI", "COMM_WORLD", "Wtime"
_OF_EP = "`ep.rank` and `ep.size`"
_TOLD: set[str] = set()
"""Files of which this process has been warned: once is enough."""


def of_caller(spec: Spec) -> str:
    """Return a warning where the program that runs a job asks for that world or time, "" where it does not; once."""
    if _PACKAGE not in sys.modules or spec.rank_kind is RankKind.PROCESS:
        return ""
    frame, _ = program_frame()
    file = "" if frame is None else frame.f_code.co_filename
    if file in _TOLD:
        return ""
    _TOLD.add(file)
    source = "".join(linecache.getlines(file, frame and frame.f_globals))
    if _PACKAGE not in source or (_WORLD not in source and _TIME not in source):
        return ""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""  # it has been edited meanwhile
    return warning(tree, file, spec)


def warning(tree: ast.Module, file: str, spec: Spec) -> str:
    """Return a warning where a program asks for that world or time and its ranks are no processes, else "".

    Args:
        tree: the program.
        file: its name.
        spec: where it is to run.
    """
    if spec.rank_kind is RankKind.PROCESS:
        return ""
    if lines := _lines(tree, _WORLD):
        return (
            f"{file}:{min(lines)} asks {_PACKAGE}'s own {_WORLD}, in which each process is a rank; those of "
            f"'{spec.text}' are tasks of one process; write {in_its_place(_front(tree))}"
        )
    if lines := _lines(tree, _TIME):
        return (
            f"{file}:{min(lines)} asks {_PACKAGE}'s own {_TIME}, the clock of this machine; time on '{spec.text}' is "
            f"virtual; write {_clock_in_its_place(_front(tree))}"
        )
    return ""


def is_communicator(value: object) -> bool:
    """Say whether a value is a communicator of mpi4py itself."""
    kind = type(value)
    return kind.__module__.partition(".")[0] == _PACKAGE and kind.__name__.lower().endswith("comm")


def _front(tree: ast.Module) -> str:
    """Return the front end that a program names, "" for none."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="api")], value=ast.Constant(value=str(name))):
                return name
    return ""


def in_its_place(front: str) -> str:
    """Return what to write: the import of what stands for mpi4py here, if anything does; for main(ep), its endpoint."""
    name, imported = _stands_for_it()
    if not imported:
        return _OF_EP
    if name == front:
        return f"{imported}, and use the communicator that main is called with"
    return f"{_OF_EP}, or, where main takes a communicator, {imported}"


def _clock_in_its_place(front: str) -> str:
    """Return what to write to read the clock of the job."""
    name, imported = _stands_for_it()
    return imported if imported and name == front else "`ep.now`"


def _stands_for_it() -> tuple[str, str]:
    """Return the front end that has mpi4py's names, and how it is imported; empty texts where there is none."""
    for name, entry in installed(FRONT_ENDS).items():
        with suppress(ImportError):
            if getattr(import_module(entry.module), "_stands_for", "") == _PACKAGE:
                package, _, last = entry.module.rpartition(".")
                return name, f"`from {package} import {last}`"
    return "", ""


def _lines(tree: ast.Module, asked: str) -> list[int]:
    """Return the lines on which ranks ask for that by a name which stands for mpi4py's module alone."""
    lines: list[int] = []
    imported: dict[str, int] = {}
    modules: set[str] = set()
    others: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                for each in node.names:
                    if f"{above}{each.name}" == f"{_MODULE}.{asked}":
                        imported[each.asname or each.name] = node.lineno
                    names = modules if f"{above}{each.name}" == _MODULE else others
                    names.add(each.asname or each.name)
    modules.add(_MODULE)  # `import mpi4py` alone does not import it, but another line may
    for node in reached(tree):
        match node:
            case ast.Attribute(attr=name, value=there) if name == asked and ast.unparse(there) in modules - others:
                lines.append(node.lineno)
            case ast.Name(id=name) if name in imported:
                lines.append(imported[name])
    return lines
