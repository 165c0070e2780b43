"""Seeds that a program gives for each rank to the generator of a module: simulated ranks share that one."""

from __future__ import annotations

import ast

_OF_A_RANK = {"rank", "my_rank", "myrank", "me", "MYTHREAD", "my_pe", "mype", "Get_rank"}
_GENERATORS = {"random": "random.Random({})", "np.random": "np.random.default_rng({})"}
_GENERATORS["numpy.random"] = "numpy.random.default_rng({})"


def seeds_of_ranks(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the line of each such call and what is to be said of it, in the order of lines.

    Args:
        tree: the program.
    """
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=module, attr="seed"), args=[seed]):
                own = _GENERATORS.get(ast.unparse(module))
                if own is not None and _names(seed) & _OF_A_RANK:
                    found[node.lineno] = (
                        f"`{ast.unparse(node)}` seeds one generator, which all simulated ranks share: write "
                        f"`rng = {own.format(ast.unparse(seed))}` and draw from that, or draw from `ep.random`"
                    )
    return sorted(found.items())


def _names(node: ast.expr) -> set[str]:
    below = list(ast.walk(node))
    return {each.attr for each in below if isinstance(each, ast.Attribute)} | {
        each.id for each in below if isinstance(each, ast.Name)
    }
