"""What to do where numpy refuses what a program does with memory of this project: text, indices, freed arrays."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from conduit.core import written
from conduit.launch.program.program_node import ProgramNode, as_called, is_name, program_node, source_of


def into_bytes(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Say how text or bytes are stored in an array of bytes, as a segment is; "" for other errors."""
    failed = program_node(error, ours)
    match None if failed is None else failed.tree:
        case ast.Assign(targets=[ast.Subscript() as place]) | (ast.Subscript() as place):
            pass
        case _:
            return ""
    array = failed.value(place.value) if failed is not None else None
    if failed is None or not isinstance(array, np.ndarray) or array.dtype != np.uint8:
        return ""
    if isinstance(error, OverflowError) and not _stores_text(failed, place):
        return ""
    given = _stored(failed, place)
    text = ".encode()" if re.search(r": '", str(error)) or _stores_text(failed, place) is str else ""
    data = "data" if given is None or len(ast.unparse(given)) > written.SHOWN else ast.unparse(given)
    match place:
        case ast.Subscript(value=ast.Attribute(value=ast.Attribute() as port, attr="segment")) if port.attr == "port":
            stored = f"{ast.unparse(port)}.memory.write(offset, {data})"
            return f"a transport stores by the memory of its port: write `{stored}`"
    return (
        f"{ast.unparse(place.value)} is an array of numbers: write `{ast.unparse(place)} = "
        f"numpy.frombuffer({data}{text}, 'u1')`"
    )


def of_memory(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Say how numbers are stored in a memoryview of bytes, as a window's memory is; "" for other errors."""
    failed = program_node(error, ours)
    match None if failed is None else failed.tree:
        case ast.Assign(targets=[ast.Subscript() as place]) | (ast.Subscript() as place):
            there = place.value
            memory = None if failed is None else failed.value(there)
            if failed is None or not isinstance(memory, memoryview) or memory.readonly or memory.format != "B":
                return ""
            if _stores_numbers(failed, place):
                array = f"`a = numpy.frombuffer({source_of(there)}, dtype)`"
                return f"{source_of(there)} is a memoryview of bytes: write {array}, then `a[...] = ...`"
    return ""


def _stores_numbers(failed: ProgramNode, place: ast.Subscript) -> bool:
    """Say whether a line stores a number, or an array of numbers, there."""
    match _stored(failed, place):
        case None:
            return False
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.List() | ast.Tuple():
            return True
        case given:
            known = failed.value(given)
            return isinstance(known, np.ndarray | int | float) or ast.unparse(given).startswith(("np.", "numpy."))


def of_elements(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Say that slices of a segment count bytes, where too few were taken for an element; "" for other errors."""
    failed = program_node(error, ours)
    if failed is None:
        return ""
    for node in ast.walk(failed.tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(attr="segment") as segment, slice=there))
            ):
                return _short(failed, segment, there) or (
                    f"{ast.unparse(segment)} is bytes, and so are the bounds of its slices: for n elements of 8 bytes "
                    f"write `{ast.unparse(segment)}[:8 * n]`"
                )
    return ""


def _short(failed: ProgramNode, segment: ast.Attribute, there: ast.expr) -> str:
    """Say that a segment has fewer bytes than the bound of a slice that is taken of it; "" where it has as many."""
    memory = failed.value(segment)
    bound = _integer(failed, there.upper) if isinstance(there, ast.Slice) else None
    if not isinstance(memory, np.ndarray) or bound is None or bound <= memory.nbytes:
        return ""
    return (
        f"{ast.unparse(segment)} has {memory.nbytes} bytes, fewer than {bound}: ask for more, as by `conduit run "
        f"--segment {bound}`, in a script by `conduit.run(main, segment={bound})`"
    )


def _integer(failed: ProgramNode, node: ast.expr | None) -> int | None:
    """Return what an expression of integers and names of such comes to, None for any other."""
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name():
            known = failed.value(node)
            return known if type(known) is int else None
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add() | ast.Sub() as op, right=right):
            one, other = _integer(failed, left), _integer(failed, right)
            if one is None or other is None:
                return None
            return one * other if isinstance(op, ast.Mult) else one + other if isinstance(op, ast.Add) else one - other
    return None


def of_part(error: IndexError, index: str, ours: Callable[[object], bool]) -> str:
    """Say what a part of an object of this project has, where an index is none of it: `a.local[i]`; "" for others.

    Args:
        error: as numpy has raised it.
        index: "[]" where it is beyond the part, "[,]" where there are several of what has one dimension.
        ours: says of a class whether it is one of this project.
    """
    failed = program_node(error, ours)
    tree = None if failed is None else failed.tree
    match tree.targets[0] if isinstance(tree, ast.Assign) else tree:
        case ast.Subscript(value=ast.Attribute(value=owner, attr=name)):
            assert failed is not None
            there = failed.value(owner)
            instead = getattr(type(there), "_instead", {}) if failed.is_ours(there) else {}
            text = instead.get(f"{name}{index}", "")
            return as_called(text, type(there), ast.unparse(owner)) if text and is_name(owner) else ""
    return ""


def of_numbers(error: ValueError, ours: Callable[[object], bool]) -> str:
    """Say how numbers of more bytes are stored in a segment, where they are fewer than its bytes; "" for other errors.

    Args:
        error: as numpy has raised it.
        ours: says of a class whether it is one of this project.
    """
    shapes = [[int(each) for each in re.findall(r"\d+", shape)] for shape in re.findall(r"\(([^)]*)\)", str(error))]
    failed = program_node(error, ours)
    match None if failed is None else failed.tree:
        case ast.Assign(targets=[ast.Subscript(value=ast.Attribute(attr="segment") as segment) as place]) | (
            ast.Subscript(value=ast.Attribute(attr="segment") as segment) as place
        ) if failed is not None and len(shapes) == 2:
            memory, given = failed.value(segment), _stored(failed, place)
            numbers, places = (math.prod(shape) for shape in shapes)
            if not isinstance(memory, np.ndarray) or memory.dtype != np.uint8 or places not in _fitting(numbers):
                return ""
            stored = "..." if given is None or len(ast.unparse(given)) > written.SHOWN else ast.unparse(given)
            return (
                f"{ast.unparse(segment)} is bytes: for numbers of another dtype write "
                f"`{source_of(place)}.view(dtype)[:] = {stored}`"
            )
    return ""


def _fitting(numbers: int) -> set[int]:
    """Return how many bytes so many numbers have, of the dtypes that there are."""
    return {numbers * size for size in (2, 4, 8, 16)}


def of_freed(error: BaseException, ours: Callable[[object], bool]) -> str:
    """Return what to say where a program writes to an array that was freed, which is read-only; "" for others."""
    failed = program_node(error, ours)
    if failed is None:
        return ""
    for node in ast.walk(failed.tree):
        array = failed.value(node) if isinstance(node, ast.Name | ast.Attribute) else None
        if isinstance(array, np.ndarray) and not array.flags.writeable:
            owner = _owner(array)
            if owner.flags.writeable and owner.dtype == np.uint8 and owner.ndim == 1:  # as a segment
                return (
                    f"the memory of {source_of(node)} was freed, or the program has made it read-only: use arrays "
                    "before they are freed"
                )
    return ""


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array whose memory another one is a part of."""
    found: np.ndarray[Any, Any] = array
    there: Any = array.base
    while there is not None:
        if isinstance(there, np.ndarray):
            found = there
        there = there.obj if isinstance(there, memoryview) else getattr(there, "base", None)
    return found


def _stores_text(failed: ProgramNode, place: ast.Subscript) -> type | None:
    """Return whether a line stores a str or bytes, of digits say, in a part of an array; None: something else."""
    given = _stored(failed, place)
    if given is None:
        return None
    value = given.value if isinstance(given, ast.Constant) else failed.value(given)
    return next((kind for kind in (str, bytes) if isinstance(value, kind)), None)


def _stored(failed: ProgramNode, place: ast.Subscript) -> ast.expr | None:
    """Return what a line stores in a part of an array, None where that is not known."""
    for each in written.nodes(failed.frame.f_code):
        match each:
            case ast.Assign(targets=[ast.Subscript() as target], value=given) if target.lineno == place.lineno:
                return given
    return None
