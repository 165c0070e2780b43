"""Which parts of a program's file its ranks may execute, by the names in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_MAIN = "main"
_RUNNERS = ("run", "run_async")


def reached(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that ranks may execute, or that are executed as the file is imported.

    A function that no such node names is left out, and so is what stands under `if __name__ == "__main__":`.
    Classes come with all their functions, and functions that something decorates count as named.
    What is named may be another thing of that name: there are rather too many nodes than too few.
    """
    functions: dict[str, list[ast.AST]] = {}
    nodes = [node for each in tree.body for node in _at_once(each, functions)]
    wanted = _started(tree)
    while nodes:
        yield from nodes
        wanted |= {name for node in nodes for name in _names(node)}
        nodes = [node for name in wanted for each in functions.pop(name, ()) for node in ast.walk(each)]


def _at_once(node: ast.AST, functions: dict[str, list[ast.AST]]) -> Iterator[ast.AST]:
    """Yield what is executed as a file is imported; collect functions, and classes for the sake of theirs, by name."""
    match node:
        case ast.FunctionDef(decorator_list=[]) | ast.AsyncFunctionDef(decorator_list=[]):
            functions.setdefault(node.name, []).append(node)
            inside: list[ast.AST] = [node.args]
        case ast.If(test=test, orelse=orelse) if _is_guard(test):
            inside = list(orelse)
        case ast.ClassDef(name=name):
            methods: dict[str, list[ast.AST]] = {}
            for each in ast.iter_child_nodes(node):
                yield from _at_once(each, methods)
            functions.setdefault(name, []).extend(each for some in methods.values() for each in some)
            for method, some in methods.items():
                functions.setdefault(method, []).extend(some)
            return
        case _:
            yield node
            inside = list(ast.iter_child_nodes(node))
    for each in inside:
        yield from _at_once(each, functions)


def _is_guard(test: ast.expr) -> bool:
    return ast.unparse(test) in ("__name__ == '__main__'", "'__main__' == __name__")


def _started(tree: ast.Module) -> set[str]:
    """Return the names of what is called on every rank: main, and what the file itself starts jobs with."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.AsyncFunctionDef(name=name) if name == _MAIN:  # an ordinary one is no rank's
                found.add(name)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _RUNNERS:
                given = [*node.args, *(each.value for each in node.keywords)]
                found |= {name for each in given for part in ast.walk(each) for name in _names(part)}
    return found


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
