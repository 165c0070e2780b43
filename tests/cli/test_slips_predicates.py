"""What `conduit run` says of predicates of `block_until` that are not what was meant: the exact words."""

import pytest

MAIN = "async def main(ep):\n    got = []\n    def h(token, n): got.append(n)\n    await ep.attach(h)\n    "
EXTENDED = (
    "import numpy as np\nfrom extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n    "
)
TOP = "\nclass Own:\n    def append(self, n): return False\n    def ready(self): self.done\n    done = False\n"
RETURN = "the predicate at prog.py:{} returns None, which is never true: write `return {}` in it"
OVER = RETURN.format("{}", "...") + ", with whether the wait is over"
GIVE = "the predicate at prog.py:{} returns None, as {} does, which is never true: let it give whether the wait is over"
LEN = GIVE + ", as `lambda: len({}) > 0`"
NOTHING = {
    "def ready(): got == [1]\n    await ep.block_until(ready)": RETURN.format(10, "got == [1]"),
    "def ready():\n        'Doc.'\n        if got: return\n    await ep.block_until(predicate=ready, what='it')": (
        OVER.format(10)
    ),
    "def ready(): got.clear()\n    await ep.block_until(ready)": OVER.format(10),
    "def ready(): got.clear()\n    await ep.block_until(lambda: ready())": GIVE.format(11, "ready()"),
    "own = Own()\n    await ep.block_until(own.ready)": RETURN.format(4, "self.done"),
    "await ep.block_until(lambda: got.append(1))": LEN.format(10, "got.append(1)", "got"),
    "r = lambda: got.clear()\n    await ep.block_until(r)": LEN.format(10, "got.clear()", "got"),
    "Own.got = {1}\n    await ep.block_until(lambda: Own.got.add(1))": LEN.format(11, "Own.got.add(1)", "Own.got"),
    "await ep.block_until(lambda: print(end=''))": GIVE.format(10, "print(end='')"),
    "await ep.block_until(lambda: None)": (
        "the predicate at prog.py:10 returns None, which is never true: let it give whether the wait is over"
    ),
}


@pytest.mark.parametrize("line", NOTHING)
def test_one_that_returns_nothing_is_told_to_return(shown, line):
    lines = shown(f"{TOP}{MAIN}{line}")
    assert "deadlock" in lines[0]
    assert [each for each in lines if "returns None" in each] == [NOTHING[line]]
    assert lines[-1] == NOTHING[line]


@pytest.mark.parametrize(
    "line",
    [
        "v = None\n    await ep.block_until(lambda: v)",  # a handler may set it
        "d = {}\n    await ep.block_until(lambda: d.get(1))",
        "await ep.block_until(lambda: got)",
        "own = Own()\n    await ep.block_until(lambda: own.append(1))",  # which is no list
        "def ready():\n        if got: return True\n    await ep.block_until(ready)",
        "def ready():\n        def inner(): return\n        return got\n    await ep.block_until(ready)",
        "await ep.block_until(bool)",
    ],
)
def test_one_that_may_give_something_is_not(shown, line):
    lines = shown(f"{TOP}{MAIN}{line}")
    assert "deadlock" in lines[0]
    assert "None" not in "".join(lines).replace("(v is None; ", "")


NO_WAIT = (
    "x.get(1, 0, 8) at prog.py:5 was called but never awaited, so it did nothing; a predicate cannot wait: let it look "
    "at what this rank has, as ep.segment or what a handler has kept, or write a loop in its place, {}"
)
OF_CALLS = {
    "a = np.zeros(8)\n    c = x.get(1, 0, 8)\n    await ep.block_until(lambda: c == a)": (
        "x.get(1, 0, 8) at prog.py:6 was called but never awaited, so it did nothing; write `await x.get(1, 0, 8)`"
    ),
    "await ep.block_until(lambda: x.get(1, 0, 8) == np.zeros(8))": (
        NO_WAIT.format("`while not (await x.get(1, 0, 8) == np.zeros(8)).all(): pass`, or with `.any()`")
    ),
    "def r(): return np.zeros(8) == x.get(1, 0, 8)\n    await ep.block_until(r)": NO_WAIT.format("which may `await`"),
}


@pytest.mark.parametrize("line", OF_CALLS)
def test_one_that_compares_a_call_with_an_array_is_told_to_await_alone(shown, line):
    """What it returned is an array; but to take `.all()` of that would compare the call as ever."""
    lines = shown(f"{EXTENDED}{line}")
    assert lines[-1] == OF_CALLS[line]
    assert "many truth values" not in "".join(lines)


def test_another_call_that_is_forgotten_leaves_what_is_told_of_an_array(shown):
    lines = shown(
        f"import numpy as np\n{MAIN}a = np.zeros(8)\n    c = ep.poll()\n    await ep.block_until(lambda: a == 1)"
    )
    assert lines[-2:] == [
        "ep.poll() at prog.py:7 was called but never awaited, so it did nothing; write `await ep.poll()`",
        "the predicate at prog.py:8 returned an array, which has many truth values: write `lambda: (a == 1).all()`, or "
        "`.any()`",
    ]
