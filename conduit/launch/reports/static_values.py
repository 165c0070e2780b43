"""What an expression of a program stands for, found without running any of its code, not even a property."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping


def static_value(node: ast.AST, names: Mapping[str, object]) -> object:
    """Return what a name stands for, or an attribute of one; None where that is not known, and for other expressions.

    Args:
        node: the expression.
        names: what names stand for where it is written.
    """
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=owner, attr=name):
            return inspect.getattr_static(static_value(owner, names), name, None)
    return None
