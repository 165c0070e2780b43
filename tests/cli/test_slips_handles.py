"""What `conduit run` says of slips with handles, which calls of the names `..._nb` give: the exact words."""

import pytest

EXTENDED = "from extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n    "
ONCE = (
    "`await x.all_reduce_nb(1)` gives a Handle: write `await x.all_reduce(1)` for its result, or keep the handle and "
    "`await` that where the result is needed"
)
LATER = (
    "`await {0}` gives a Handle, since {0} is a call that was not awaited when it was made: {1}, and then `await {0}` "
    "gives its result"
)
FORGOTTEN = "x.all_reduce_nb(1) at prog.py:4 was called but never awaited, so it did nothing; write `{}`"
TWICE = FORGOTTEN.format("await (await x.all_reduce_nb(1))")
SLIPS = {
    "await x.all_reduce_nb(1) + 1": (ONCE, "await x.all_reduce(1) + 1"),
    "1 + await x.all_reduce_nb(1)": (ONCE, "1 + await x.all_reduce(1)"),
    "-(await x.all_reduce_nb(1))": (ONCE, "-(await x.all_reduce(1))"),
    "1 < await x.all_reduce_nb(1)": (ONCE, "1 < await x.all_reduce(1)"),
    "y = 1; y += await x.all_reduce_nb(1)": (ONCE, "y = 1; y += await x.all_reduce(1)"),
    "float(await x.all_reduce_nb(1))": (ONCE, "float(await x.all_reduce(1))"),
    "(await x.all_reduce_nb(1)).shape": (ONCE, "(await x.all_reduce(1)).shape"),
    "(await x.all_reduce_nb(1)).sum()": (ONCE, "(await x.all_reduce(1)).sum()"),
    "(await x.get_nb(0, 0, 8))[0]": (ONCE.replace("all_reduce", "get").replace("(1)", "(0, 0, 8)"), ""),
    "for _ in await x.get_nb(0, 0, 8): pass": (ONCE.replace("all_reduce", "get").replace("(1)", "(0, 0, 8)"), ""),
    "h = x.all_reduce_nb(1)\n    await h + 1": (
        LATER.format("h", "write `h = await x.all_reduce_nb(1)` at prog.py:4"),
        "h = await x.all_reduce_nb(1)\n    await h + 1",
    ),
    "hs = [x.all_reduce_nb(1)]\n    for h in hs: await h + 1": (
        LATER.format("h", "await it there"),
        "hs = [await x.all_reduce_nb(1)]\n    for h in hs: await h + 1",
    ),
    "f = lambda: x.all_reduce_nb(1)\n    await f() + 1": (
        "`await f()` gives a Handle: write `await (await f())` for its result",
        "f = lambda: x.all_reduce_nb(1)\n    await (await f()) + 1",
    ),
    "hs = [await x.all_reduce_nb(1)]\n    hs[0] + 1": (
        "hs[0] is a Handle: write `await hs[0]` for its result",
        "hs = [await x.all_reduce_nb(1)]\n    await hs[0] + 1",
    ),
    "x.all_reduce_nb(1) + 1": (TWICE, "await (await x.all_reduce_nb(1)) + 1"),
    "2 * x.all_reduce_nb(1)": (TWICE, "2 * await (await x.all_reduce_nb(1))"),
    "x.all_reduce_nb(1) < 2": (TWICE, "await (await x.all_reduce_nb(1)) < 2"),
    "x.all_reduce(1) + 1": (
        FORGOTTEN.format("await x.all_reduce(1)").replace("reduce_nb", "reduce"),
        "await x.all_reduce(1) + 1",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_what_is_told_of_it(shown, slip):
    assert shown(EXTENDED + slip)[-1] == SLIPS[slip][0]


@pytest.mark.parametrize("right", [right for _, right in list(SLIPS.values())[:-1] if right])
def test_what_is_told_works(command, tmp_path, monkeypatch, right):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(EXTENDED + right)
    assert command("run", "prog.py", "--conduit", "loggp").status == 0


@pytest.mark.parametrize("line", ["await f() + 1", "await f(1) < h"])
def test_an_object_of_the_programs_is_told_by_python_alone(shown, line):
    lines = shown(f"class Own: pass\nasync def f(*given): return Own()\nasync def main(ep):\n    h = 2\n    {line}")
    assert [each for each in lines if "write" in each or "Handle" in each] == []
