"""What mpi4py has and this package has not is on the page of the network, and is told to who writes it."""

import re
import subprocess
import sys
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path

import pytest

from conduits.mpi import MPI

pytest.importorskip("mpi4py", reason="its names are compared")

README = Path(MPI.__file__).parent / "README.md"
CLASSES = ("Comm", "Request", "Prequest", "Status", "Message", "Group", "Op", "Datatype", "Exception")
NAMES = f"""
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(*(name for name in dir(MPI) if name[0].isupper() and not isinstance(getattr(MPI, name), (int, str))))
for kind in {CLASSES}:
    print(*(name for name in dir(getattr(MPI, {{"Comm": "Intracomm"}}.get(kind, kind))) if name[0].isupper()))
"""
"""Run in a process of its own, prints the names that are compared: constants are not."""


def has(there, name):
    try:
        getattr(there, name)
    except AttributeError:
        return False
    except Exception:  # COMM_WORLD, where no rank runs
        return True
    return True


@pytest.fixture(scope="module")
def missing():
    """Those that are not here, each with what it is of."""
    done = subprocess.run([sys.executable, "-c", NAMES], capture_output=True, text=True, timeout=60, check=True)
    kinds = {"MPI": MPI, **{kind: getattr(MPI, kind) for kind in CLASSES}}
    lines = zip(kinds, done.stdout.splitlines(), strict=True)
    return [(kind, name) for kind, line in lines for name in line.split() if not has(kinds[kind], name)]


@pytest.fixture(scope="module")
def patterns():
    """Names on the page, with `*`; one that begins with a period is of the class before it."""
    section = README.read_text().partition("## What is not here\n")[2].partition("\n## ")[0]
    found, kind = [], ""
    for before, name in re.findall(r"`(\w*)\.([\w*]+)`", section):
        kind = before or kind
        found.append((kind, name))
    return found


def test_the_page_names_all_that_is_not_here(missing, patterns):
    if not version("mpi4py").startswith("4.1."):
        pytest.skip("the page is about the names of mpi4py 4.1")
    bases = {"Prequest": ("Prequest", "Request")}
    told = {
        (kind, name)
        for kind, name in missing
        if any(its in bases.get(kind, (kind,)) and fnmatchcase(name, pattern) for its, pattern in patterns)
    }
    assert [each for each in missing if each not in told] == []
    used = [any(its == kind and fnmatchcase(name, pattern) for kind, name in missing) for its, pattern in patterns]
    assert [each for each, some in zip(patterns, used, strict=True) if not some] == []


def test_what_is_not_here_is_told_to_who_writes_it(missing):
    instead = {"MPI": MPI._instead, **{kind: getattr(getattr(MPI, kind), "_instead", {}) for kind in CLASSES}}
    elsewhere = [("MPI", "Win")]  # told of as a name that another module has
    assert [(kind, name) for kind, name in missing if name not in instead[kind]] == elsewhere


def test_nothing_that_is_here_is_said_not_to_be():
    kinds = [MPI, *(getattr(MPI, kind) for kind in CLASSES)]
    assert [
        (kind, name)
        for kind in kinds
        for name in getattr(kind, "_instead", {})
        if name != "compute" and has(kind, name)
    ] == []
