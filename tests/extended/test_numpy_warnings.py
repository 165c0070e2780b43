"""What numpy warns of in calls of this package is told with the program's line, once for each, as its filters say."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import conduit
from extended import Extended, upc

LARGE = np.full(3, 3e38, "f4")


async def sums(ep):
    """Sums that are too large, in two lines, one of them twice."""
    x = await Extended.attach(ep)
    for _ in range(2):
        whole = await x.all_reduce(LARGE, "sum")
    handle = await x.all_reduce_nb(LARGE, "prod")
    assert np.isinf(whole).all()
    assert np.isinf(await handle).all()


async def no_ufuncs(ep):
    """A product in C, and a function whose result does not fit."""
    x = await Extended.attach(ep)
    found = await x.all_reduce(np.full((2, 2), 3e38, "f4"), np.matmul)
    assert np.isinf(found).all()
    found = await x.all_reduce(LARGE, lambda one, other: one.astype("f8") + other)
    assert np.isinf(found).all()


async def assigned(t):
    """Values that are too large for one element, several, or those of this thread."""
    a = await t.all_alloc(8, "f4", block=1)
    b = await t.all_alloc(8, "i4", block=1)
    if t.MYTHREAD == 0:
        a[0] = 1e300
        a[1] = 1e300
        a[2:4] = np.full(2, 1e300)
        b[:] = np.full(8, np.nan)
        a[4:6] = np.array([4 + 1j, 5])
        a.local = 1e300
        await t.fence()
        assert (await a[:]).tolist() == [np.inf] * 5 + [5, np.inf, 0]
    await t.barrier()


async def warns_in_python(ep):
    """A function of the program's own."""
    x = await Extended.attach(ep)

    def op(one, other):
        return one + other

    found = await x.all_reduce(LARGE, op)
    assert np.isinf(found).all()


def told(run, main):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        run(main, conduit="loggp")
    here = Path(__file__).read_text().splitlines()
    assert {each.filename for each in found} == {__file__}
    return [(here[each.lineno - 1].strip(), str(each.message)) for each in found]


OVERFLOW = "overflow encountered in "


def test_those_of_reductions():
    assert told(conduit.run, sums) == [
        ('whole = await x.all_reduce(LARGE, "sum")', OVERFLOW + "add"),
        ('handle = await x.all_reduce_nb(LARGE, "prod")', OVERFLOW + "multiply"),
    ]


def test_those_of_reductions_by_functions():
    assert told(conduit.run, no_ufuncs) == [
        ('found = await x.all_reduce(np.full((2, 2), 3e38, "f4"), np.matmul)', OVERFLOW + "matmul"),
        ('found = await x.all_reduce(LARGE, lambda one, other: one.astype("f8") + other)', OVERFLOW + "cast"),
    ]
    assert told(conduit.run, warns_in_python) == [("return one + other", OVERFLOW + "add")]


def test_those_of_assignments():
    assert told(upc.run, assigned) == [
        ("a[0] = 1e300", OVERFLOW + "cast"),
        ("a[1] = 1e300", OVERFLOW + "cast"),
        ("a[2:4] = np.full(2, 1e300)", OVERFLOW + "cast"),
        ("b[:] = np.full(8, np.nan)", "invalid value encountered in cast"),
        ("a[4:6] = np.array([4 + 1j, 5])", "Casting complex values to real discards the imaginary part"),
        ("a.local = 1e300", OVERFLOW + "cast"),
    ]


SCRIPT = """
import numpy as np
from extended import upc

async def main(t):
    a = await t.all_alloc(8, "f4", block=1)
    if t.MYTHREAD == 0:
        a[1] = 1e300
    await t.barrier()
    print(await a[1])

upc.run(main, conduit="loggp")
"""


def shown(tmp_path, *options):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    done = subprocess.run([sys.executable, *options, file], capture_output=True, text=True, check=False)
    return done.stdout, done.stderr.replace(str(file), "script.py")


WARNED = "script.py:8: RuntimeWarning: overflow encountered in cast\n  a[1] = 1e300\n"


@pytest.mark.parametrize("option", ["default", "always", "once", "ignore::RuntimeWarning:extended.upc.array"])
def test_a_script_is_shown_its_line(tmp_path, option):
    assert shown(tmp_path, "-W", option) == ("inf\ninf\n", WARNED)


@pytest.mark.parametrize("option", ["ignore", "ignore::RuntimeWarning:__main__"])
def test_a_script_that_ignores_them_is_shown_none(tmp_path, option):
    assert shown(tmp_path, "-W", option) == ("inf\ninf\n", "")


@pytest.mark.parametrize("option", ["error", "error::RuntimeWarning:__main__"])
def test_for_a_script_they_are_errors_where_it_wants_that(tmp_path, option):
    _, text = shown(tmp_path, "-W", option)
    assert 'script.py", line 8, in main\n    a[1] = 1e300\n' in text
    assert "\nRuntimeWarning: overflow encountered in cast\n" in text
    assert "During handling" not in text


def test_a_check_of_an_operation_warns_of_nothing():
    """`op` is tried on zeros, of which some operations of numpy make no number."""

    async def main(t):
        a = await t.all_alloc(4, "f8")
        b = await t.all_alloc(1, "f8")
        a.local = 1.0
        await t.all_reduce((b, 0), a, np.fmod)

    upc.run(main, conduit="loggp")
