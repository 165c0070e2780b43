"""The expression or statement of a program that an error has come from, and how it is shown."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from types import FrameType, FunctionType, ModuleType
from typing import NamedTuple

from conduit.core import written
from conduit.core.steps import steps_of
from conduit.launch.program.folders import is_own

UNKNOWN = object()


class ProgramNode(NamedTuple):
    """What a program's line that failed is made of.

    Attributes:
        tree: the expression or statement.
        frame: whose line it is.
        ours: says of a class, or a function, whether it is one of this project.
    """

    tree: ast.AST
    frame: FrameType
    ours: Callable[[object], bool]

    def value(self, node: ast.AST) -> object:
        """Return what a name stands for, an attribute, or an element of a list, tuple or dict.

        No property of an object of the program's is called.
        """
        match node:
            case ast.Name(id=name):
                for names in (self.frame.f_locals, self.frame.f_globals):
                    if name in names:
                        return names[name]
            case ast.Attribute(value=owner, attr=name):
                there = self.value(owner)
                if not self.is_ours(there):
                    return getattr(there, "__dict__", {}).get(name, UNKNOWN)
                try:
                    return getattr(there, name)
                except Exception:  # out of a property, while the report of another error is made
                    return UNKNOWN
            case ast.Subscript(value=held, slice=ast.Constant(value=key)):
                return self._element(self.value(held), key)
            case ast.Subscript(value=held, slice=ast.Name() as name):
                return self._element(self.value(held), self.value(name))
        return UNKNOWN

    def _element(self, held: object, key: object) -> object:
        """Return what a list, tuple or dict of Python's own has at a place; `UNKNOWN` for others."""
        if type(held) not in (list, tuple, dict) or type(key) not in (int, str):
            return UNKNOWN
        try:
            return held[key]  # type: ignore[index]
        except (LookupError, TypeError):
            return UNKNOWN

    def is_ours(self, there: object) -> bool:
        """Say whether an object is one of this project, or a module."""
        return self.ours(there if isinstance(there, type) else type(there)) or isinstance(there, ModuleType)

    def is_method(self, node: ast.AST) -> bool:
        """Say whether an expression is a method or function of this project that is not called."""
        return isinstance(node, ast.Attribute) and inspect.isroutine(self.value(node))

    def function(self, node: ast.AST) -> Callable[..., object] | None:
        """Return the method or function of this project that an expression stands for, or calls; None for another."""
        node = node.func if isinstance(node, ast.Call) else node
        found = self.value(node)
        if found is UNKNOWN and isinstance(node, ast.Attribute) and (kind := self.kind_given(node.value)):
            method = getattr(kind, node.attr, UNKNOWN)  # of what a call gives at once: `x.atomic(dtype).add`
            found = method.__get__(kind) if isinstance(method, FunctionType) else method
        return found if inspect.isroutine(found) and self.ours(found) else None

    def kind_given(self, node: ast.AST) -> type | None:
        """Return the class of what a call of this project gives, as its head says; None where that is not known."""
        function = self.function(node) if isinstance(node, ast.Call) else None
        given: object = getattr(function, "__annotations__", {}).get("return")
        if isinstance(given, str) and function is not None:
            given = getattr(inspect.unwrap(function), "__globals__", {}).get(given)
        return given if isinstance(given, type) else None

    def calls_ours(self, node: ast.AST) -> bool:
        """Say whether an expression is a call of such a one."""
        return isinstance(node, ast.Call) and self.is_method(node.func)


def program_node(
    error: BaseException, ours: Callable[[object], bool], *, beyond: Callable[[str], bool] = lambda _: False
) -> ProgramNode | None:
    """Return what the innermost line of a program that an error came through is made of.

    Args:
        error: the error.
        ours: says of a class whether it is one of this project.
        beyond: says of a file whether the line that is meant comes before it.

    Returns:
        None where the error came through no program, or its source cannot be found.
    """
    for step in reversed(steps_of(error)):
        code = step.tb_frame.f_code
        if not is_own(code.co_filename) and not beyond(code.co_filename):
            tree = written.node(code, step.tb_lasti)
            return None if tree is None else ProgramNode(tree, step.tb_frame, ours)
    return None


def is_name(node: ast.AST) -> bool:
    """Say whether an expression is a name, or an attribute of one."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_name(node.value))


def name_of(node: ast.AST) -> str:
    """Return an expression as it is written, if it is a name or parts of one; "" for others."""
    return ast.unparse(node) if is_name(node) else ""


def source_of(node: ast.AST) -> str:
    """Return an expression as it is written, a long call without its arguments."""
    text = ast.unparse(node)
    if len(text) <= written.SHOWN or not isinstance(node, ast.Call):
        return text
    return f"{ast.unparse(node.func)}(...)"


def as_called(text: str, kind: type, name: str) -> str:
    """Return an advice with the program's name for an object, where it has one of its own.

    Args:
        text: with the name that the docs have, which the object's class says: `_called`.
        kind: that class.
        name: as the program's line has it, "" where that is not known.
    """
    word = getattr(kind, "_called", "")
    return re.sub(rf"(?<![\w.]){word}(?=[.[])", lambda _: name, text) if word and name else text
