"""Whether a function of a program looks at a variable again behind a call, by its text."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_OF_SHAPE = {"dtype", "itemsize", "nbytes", "ndim", "shape", "size"}
"""Attributes of arrays that say nothing of what is in them."""

_Place = tuple[int, int]


class Reads:
    """Where the variables of a program are looked at.

    Args:
        tree: the program.
        unread: names in it that do not count as looks at their variables.
    """

    def __init__(self, tree: ast.Module, unread: Collection[ast.Name]) -> None:
        """Find what each part of the program stands in."""
        self._tree = tree
        self._unread = set(unread)
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def again(self, call: ast.Call, name: str) -> bool:
        """Return whether a variable is looked at when a call has been made: below it, or in a loop's next turn.

        What is set anew in between is another value. A variable of an outer function may be looked at at any time.
        """
        owner = self._owner(call, name)
        named = [node for node in ast.walk(owner) if isinstance(node, ast.Name) and node.id == name]
        named = [node for node in named if self._owner(node, name) is owner]
        reads = [node for node in named if self._is_read(node)]
        here = self._function(call)
        if owner is not here or any(self._function(node) is not here for node in reads):
            return bool(reads)
        begin = (call.end_lineno or 0, call.end_col_offset or 0)
        stores = [node for node in named if node not in reads and isinstance(node.ctx, ast.Store)]
        if any(_place(read) > begin and not self._anew(read, begin, stores) for read in reads):
            return True
        loops = [node for node in self._above(call) if isinstance(node, _LOOPS) and self._function(node) is here]
        return any(
            loop in self._above(read) and not self._anew(read, _place(loop), stores) for loop in loops for read in reads
        )

    def _above(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self._parents:
            node = self._parents[node]
            yield node

    def _function(self, node: ast.AST) -> ast.AST:
        """Return the innermost function that something stands in, else the program."""
        return next((each for each in self._above(node) if isinstance(each, _FUNCTIONS)), self._tree)

    def _owner(self, node: ast.AST, name: str) -> ast.AST:
        """Return the function whose variable a name is there, else the program."""
        functions = (each for each in self._above(node) if isinstance(each, _FUNCTIONS))
        return next((each for each in functions if self._binds(each, name)), self._tree)

    def _binds(self, function: ast.AST, name: str) -> bool:
        bound = False
        for node in ast.walk(function):
            match node:
                case ast.arg(arg=other) | ast.Name(id=other, ctx=ast.Store()) if other == name:
                    bound = bound or self._function(node) is function
                case ast.Global(names=names) | ast.Nonlocal(names=names) if name in names:
                    if self._function(node) is function:
                        return False
        return bound

    def _is_read(self, node: ast.Name) -> bool:
        above = self._parents[node]
        match above:
            case ast.AugAssign():
                return True
            case ast.Subscript(value=value, ctx=ast.Store()) if value is node:
                return isinstance(self._parents[above], ast.AugAssign)
            case ast.Attribute(attr=attribute) if attribute in _OF_SHAPE:
                return False
            case ast.Call(func=ast.Name(id="len")):
                return False
        return isinstance(node.ctx, ast.Load) and node not in self._unread

    def _anew(self, read: ast.Name, begin: _Place, stores: Collection[ast.Name]) -> bool:
        """Return whether a variable is set anew on the way from a place to where it is read."""
        around = set(self._above(read))
        for store in stores:
            statement = next(each for each in self._above(store) if isinstance(each, ast.stmt))
            whole = isinstance(statement, (ast.Assign, ast.AnnAssign))  # their right side is read before
            place = (statement.end_lineno or 0, statement.end_col_offset or 0) if whole else _place(store)
            if begin <= place < _place(read) and (statement in around or self._parents[statement] in around):
                return True
        return False


def _place(node: ast.expr | ast.stmt) -> _Place:
    return node.lineno, node.col_offset
