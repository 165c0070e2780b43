"""What to write for `await asyncio.gather(...)` whose results a program takes: a nursery would lose them."""

from __future__ import annotations

import ast
import inspect

from conduit.core import written
from conduit.launch.program.program_node import ProgramNode, source_of

_TAKES = (ast.expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.NamedExpr)
_ONE_BY_ONE = (
    "`{}` in its place, which makes one call after the other; to make them at the same time, let each keep what it "
    "gets, in a list of main's, and start them in `async with trio.open_nursery() as nursery:`"
)
_IN_A_NURSERY = (
    "`for each in {0}: await each` in its place, which makes one call after the other; to make them at the same time, "
    "put no calls in {0}: start each in `async with trio.open_nursery() as nursery:` by `nursery.start_soon(function, "
    "*arguments)`"
)


def gathered(failed: ProgramNode | None) -> str:
    """Return what gives the results that a program takes from `gather`, or awaits the calls of a list; "" for others.

    Args:
        failed: the line that failed.
    """
    call = _call(failed)
    if call is None or failed is None:
        return ""
    if not _takes(failed, call):
        match call.args:
            case [ast.Starred(value=ast.Name(id=several))]:
                return _IN_A_NURSERY.format(several)
        return ""
    begun = _begun(failed, call)
    if begun is not None:
        owner, handles = begun
        return f"`handles = {_source(handles)}`, then `await {owner}.wait_all(handles)` in the place of `gather`"
    results = _awaited(call.args)
    return _ONE_BY_ONE.format(_source(results)) if results is not None else ""


def begun_before(failed: ProgramNode | None) -> set[int]:
    """Return the lines that have made the calls which `gather` is given in variables: that these are awaited is said.

    Args:
        failed: the line that failed.
    """
    call = _call(failed)
    if call is None or failed is None:
        return set()
    given = [each.value if isinstance(each, ast.Starred) else each for each in call.args]
    names = {each.id for each in given if isinstance(each, ast.Name)}
    found = set[int]()
    for node in written.nodes(failed.frame.f_code) if names else ():
        if isinstance(node, ast.stmt) and _fills(node) in names:
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _fills(node: ast.stmt) -> str:
    """Return the variable that a statement gives a value, or a further element; "" for every other statement."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            return name
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend"))):
            return name
    return ""


def _call(failed: ProgramNode | None) -> ast.Call | None:
    """Return the call of `gather` in the line that failed, None where it has none."""
    found = next(filter(_is_gather, ast.walk(failed.tree)), None) if failed is not None else None
    return found if isinstance(found, ast.Call) else None


def _is_gather(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="gather") | ast.Name(id="gather")):
            return True
    return False


def _takes(failed: ProgramNode, call: ast.Call) -> bool:
    """Say whether a program does anything with what a call gives."""
    begin = call.lineno, call.col_offset
    end = call.end_lineno or call.lineno, call.end_col_offset or 0
    around = written.enclosing(written.nodes(failed.frame.f_code), begin, end)
    outside = [each for each in around if not isinstance(each, ast.Await) and not written.same(each, call)]
    match outside[-1:]:
        case [ast.For(iter=ast.Await(value=iterated))]:
            return written.same(iterated, call)
        case [parent]:
            return isinstance(parent, _TAKES)
    return False


def _begun(failed: ProgramNode, call: ast.Call) -> tuple[str, ast.expr] | None:
    """Return who waits for handles, and a list of those of all calls; None where a call has no such variant."""
    owners = []
    for made in _calls(call.args):
        owner = made.func.value if isinstance(made.func, ast.Attribute) else None
        there = None if owner is None else failed.value(owner)
        if owner is None or not failed.is_ours(there) or not hasattr(there, "wait_all"):
            return None
        assert isinstance(made.func, ast.Attribute)
        if not inspect.isroutine(getattr(there, f"{made.func.attr}_nb", None)):
            return None
        owners.append(owner)
    if not owners or (handles := _awaited(call.args)) is None:
        return None
    for made in _calls(call.args):
        assert isinstance(made.func, ast.Attribute)
        made.func.attr += "_nb"
    return ast.unparse(owners[0]), handles


def _calls(args: list[ast.expr]) -> list[ast.Call]:
    """Return the calls that `gather` is given, those of a list in it too; none where any of them is no call."""
    inside = [_element(each) for each in args]
    calls = [each for each in inside if isinstance(each, ast.Call)]
    return calls if len(calls) == len(inside) else []


def _element(given: ast.expr) -> ast.expr:
    match given:
        case ast.Starred(value=ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt)):
            return elt
    return given


def _awaited(args: list[ast.expr]) -> ast.expr | None:
    """Return a list of what all that `gather` is given gives; None where that has no short way to be written."""
    match args:
        case [ast.Starred(value=ast.ListComp(elt, generators) | ast.GeneratorExp(elt, generators))]:
            return ast.ListComp(ast.Await(elt), generators)
        case [ast.Starred(value=ast.Name() as several)]:
            each = ast.Name("each")
            return ast.ListComp(ast.Await(each), [ast.comprehension(each, several, [], 0)])
    if not args or any(isinstance(each, ast.Starred) for each in args):
        return None
    return ast.List([ast.Await(each) for each in args])


def _source(results: ast.expr) -> str:
    """Return a list as it is written, a long one with its first element alone."""
    text = ast.unparse(results)
    if (
        len(text) <= written.SHOWN * 2
        or not isinstance(results, ast.List)
        or not isinstance(results.elts[0], ast.Await)
    ):
        return text
    return f"[await {source_of(results.elts[0].value)}, ...]"
