"""What `conduit run` says of predicates of `block_until` that are not what was meant: the exact words."""

import pytest

MAIN = "async def main(ep):\n    got = []\n    def h(token, n): got.append(n)\n    await ep.attach(h)\n    "
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
    assert "None" not in "".join(lines)
