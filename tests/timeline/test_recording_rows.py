"""Rows of a recording are whole, whenever Ctrl-C comes."""

import sys

import pytest

from conduit.seeing.timeline.recording import Carried, Spans


def interrupted(add, at):
    """Call `add`, with Ctrl-C before its bytecode number `at`; return whether that came."""
    seen = 0

    def trace(frame, event, arg):
        nonlocal seen
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode" and frame.f_code is add.__func__.__code__:
            seen += 1
            if seen == at:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        add(10, 20, "compute" if isinstance(add.__self__, Spans) else 5)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("make", [lambda: Spans({}), Carried])
def test_a_row_is_added_as_a_whole_or_not_at_all(make):
    at = 1
    while True:
        rows = make()
        came = interrupted(rows.add, at)
        assert list(rows.added()) in ([], [(10, 20, 0)], [(10, 20, 5)])
        assert len(rows) == len(list(rows.added()))
        rows.add(30, 40, "compute" if isinstance(rows, Spans) else 6)
        assert list(rows.added())[-1][:2] == (30, 40)
        if not came:
            break
        at += 1
    assert at > 5


def test_rows_show_how_many_they_are_and_can_be_looped_over():
    spans, carried = Spans({}), Carried()
    spans.add(1, 2, "compute")
    carried.add(5, 7, 64)
    carried.add(3, 4, 32)
    assert (repr(spans), repr(carried)) == ("<Spans: 1 row>", "<Carried: 2 rows>")
    assert list(carried) == carried.rows() == [(3, 4, 32), (5, 7, 64)]
