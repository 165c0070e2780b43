"""The kernel can be read in one sitting."""

import ast
import inspect
import tokenize
from io import StringIO

from conduit.sim import kernel

MOST = 260
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines_of_code(source):
    """Count the lines that hold more than comments and docstrings."""
    lines = set()
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def test_lines_of_code_are_counted_without_comments_and_docstrings():
    assert lines_of_code('"""Text\n\nof two lines."""\n\n# why\na = (\n    1,  # one\n)\n') == 3


def test_the_kernel_has_no_more_lines_of_code_than_can_be_read_in_one_sitting():
    assert lines_of_code(inspect.getsource(kernel)) <= MOST
