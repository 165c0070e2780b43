"""Seeds that a program gives to the generator of a module, for each rank or for all: simulated ranks share that one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_OF_A_RANK = {"rank", "my_rank", "myrank", "me", "MYTHREAD", "my_pe", "mype", "Get_rank"}
"""Names of what programs have for their rank."""
_GENERATORS = {
    "random": "random.Random({})",
    "np.random": "np.random.default_rng({})",
    "numpy.random": "numpy.random.default_rng({})",
}
"""The generators of modules, each with what makes one of a seed, {}, that nobody shares."""
_NO_DRAWS = ("seed", "default_rng", "Generator", "RandomState", "Random", "SystemRandom", "getstate", "get_state")
"""Names of these modules that draw nothing."""


def shared_seeds(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the line of each such call and what is to be said of it, in the order of lines.

    Args:
        tree: the program.
    """
    found = {node.lineno: text for node in ast.walk(tree) if isinstance(node, ast.Call) and (text := _of_a_rank(node))}
    for function in ast.walk(tree):
        if isinstance(function, ast.AsyncFunctionDef):
            found = {**dict(_drawn_later(function)), **found}
    return sorted(found.items())


def _of_a_rank(node: ast.Call) -> str:
    """Return what is said of a call that gives the generator a seed of the rank, "" for every other call."""
    match node:
        case ast.Call(func=ast.Attribute(value=module, attr="seed"), args=[seed]) if _names(seed) & _OF_A_RANK:
            return _text(node, module, seed)
    return ""


def _drawn_later(function: ast.AsyncFunctionDef) -> Iterator[tuple[int, str]]:
    """Yield the seeds of a function after which it awaits something before it draws: others draw meanwhile."""
    waits = [node.lineno for node in ast.walk(function) if isinstance(node, ast.Await)]
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=module, attr="seed"), args=[seed]):
                later = any(
                    node.lineno < wait < draw for draw in _draws(function, ast.unparse(module)) for wait in waits
                )
                if later and (text := _text(node, module, seed)):
                    yield node.lineno, text


def _draws(function: ast.AsyncFunctionDef, module: str) -> Iterator[int]:
    """Yield the lines of a function that draw from the generator of a module."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if ast.unparse(of) == module:
                if name not in _NO_DRAWS:
                    yield node.lineno


def _text(node: ast.Call, module: ast.expr, seed: ast.expr) -> str:
    own = _GENERATORS.get(ast.unparse(module))
    return (
        f"`{ast.unparse(node)}` seeds one generator, which all simulated ranks share: write "
        f"`rng = {own.format(ast.unparse(seed))}` and draw from that, or draw from `ep.random`"
        if own
        else ""
    )


def _names(node: ast.expr) -> set[str]:
    below = list(ast.walk(node))
    return {each.attr for each in below if isinstance(each, ast.Attribute)} | {
        each.id for each in below if isinstance(each, ast.Name)
    }
