"""What `conduit run` says of slips with shared arrays, symmetric ones and windows: the exact words."""

import pytest

UPC = "api = 'upc'\nasync def main(t):\n    a = await t.all_alloc(1, dtype='i8')\n    "
EXTENDED = "from extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n    "
POLLS = "    2 ranks wait for it; it polls and has handled all that came"
SOON = ("--ranks", "3", "--time-limit", "1ms")


@pytest.mark.parametrize(
    ("read", "call"),
    [
        ("await a[0]", "a[0]"),
        ("await a.read(0)", "a.read"),
        (f"await a[{' + '.join('0' * 20)}]", "a call that polls"),
        (f"await (lambda: {'0 or ' * 20}a)().read(0)", "a call that polls"),
    ],
)
def test_a_loop_of_reads_of_what_lies_here_polls(shown, read, call):
    """Such a read waits for nothing; it was said to be a wait of Trio's own, in which nothing is polled."""
    _polls_in(call, shown(f"{UPC}if t.MYTHREAD == 0:\n        while {read} == 0: pass\n    await t.barrier()", *SOON))


def test_a_loop_over_handles_that_are_done_polls(shown):
    loop = "while True:\n            h = await x.get_nb(0, 0, 8)\n            await h"
    _polls_in("await h", shown(f"{EXTENDED}if ep.rank == 0:\n        {loop}\n    await x.barrier()", *SOON), line=7)


def _polls_in(call, lines, line=5):
    assert lines[1:3] == [f"rank 0: prog.py:{line} in main: is in {call}", POLLS]
    assert "Trio" not in "".join(lines)
