"""Programs that ask mpi4py itself who is there, in a job whose ranks are no processes: each would be rank 0 of 1."""

from __future__ import annotations

import ast
import linecache
import sys
from contextlib import suppress
from importlib import import_module

from conduit.contract import RankKind
from conduit.launch.reached import reached
from conduit.launch.registry import FRONT_ENDS, Spec, installed
from conduit.launch.tracebacks import program_frame

_PACKAGE, _MODULE, _WORLD = "mpi4py", "mpi4py.MPI", "COMM_WORLD"
_OF_EP = "`ep.rank` and `ep.size`"
_TOLD: set[str] = set()
"""Files of which this process has been warned: once is enough."""


def of_caller(spec: Spec) -> str:
    """Return a warning where the program that runs a job asks for that world, "" where it does not; once."""
    if _PACKAGE not in sys.modules or spec.rank_kind is RankKind.PROCESS:
        return ""
    frame, _ = program_frame()
    file = "" if frame is None else frame.f_code.co_filename
    if file in _TOLD:
        return ""
    _TOLD.add(file)
    source = "".join(linecache.getlines(file, frame and frame.f_globals))
    if _PACKAGE not in source or _WORLD not in source:
        return ""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""  # it has been edited meanwhile
    return warning(tree, file, spec)


def warning(tree: ast.Module, file: str, spec: Spec) -> str:
    """Return a warning where a program asks for that world and its ranks are no processes, "" where it does not.

    Args:
        tree: the program.
        file: its name.
        spec: where it is to run.
    """
    lines = [] if spec.rank_kind is RankKind.PROCESS else _lines(tree)
    if not lines:
        return ""
    return (
        f"{file}:{min(lines)} asks {_PACKAGE}'s own {_WORLD}, in which each process is a rank; those of '{spec.text}' "
        f"are tasks of one process; write {_in_its_place(_front(tree))}"
    )


def _front(tree: ast.Module) -> str:
    """Return the front end that a program names, "" for none."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="api")], value=ast.Constant(value=str(name))):
                return name
    return ""


def _in_its_place(front: str) -> str:
    """Return what to write: the import of what stands for mpi4py here, if anything does; for main(ep), its endpoint."""
    for name, entry in installed(FRONT_ENDS).items():
        with suppress(ImportError):
            if getattr(import_module(entry.module), "_stands_for", "") == _PACKAGE:
                package, _, last = entry.module.rpartition(".")
                if name == front:
                    return f"`from {package} import {last}`, and use the communicator that main is called with"
                return f"{_OF_EP}, or, where main takes a communicator, `from {package} import {last}`"
    return _OF_EP


def _lines(tree: ast.Module) -> list[int]:
    """Return the lines on which ranks ask for it by a name which stands for mpi4py's module alone."""
    lines: list[int] = []
    worlds: dict[str, int] = {}
    modules: set[str] = set()
    others: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                for each in node.names:
                    if f"{above}{each.name}" == f"{_MODULE}.{_WORLD}":
                        worlds[each.asname or each.name] = node.lineno
                    names = modules if f"{above}{each.name}" == _MODULE else others
                    names.add(each.asname or each.name)
    modules.add(_MODULE)  # `import mpi4py` alone does not import it, but another line may
    for node in reached(tree):
        match node:
            case ast.Attribute(attr=name, value=there) if name == _WORLD and ast.unparse(there) in modules - others:
                lines.append(node.lineno)
            case ast.Name(id=name) if name in worlds:
                lines.append(worlds[name])
    return lines
