"""The programs of SHMEM in docs/examples/shmem: what they print, on every network, with several numbers of PEs."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path
from random import Random

import numpy as np
import pytest

from extended import shmem

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "examples" / "shmem"
PAGE = DOCS / "shmem.md"
NETWORKS = ("loggp:order=weak", "origin:order=weak", "sci", "startx", "sunfire", "t3e:order=weak", "udp:loss=0.03")
PES = (1, 2, 3, 5)


def lines_of(name, pes, network):
    """Run a program in this process and give the lines that it prints."""
    place = importlib.util.spec_from_file_location(f"shmem_{name}", FOLDER / f"{name}.py")
    program = importlib.util.module_from_spec(place)
    place.loader.exec_module(program)
    assert program.api == "shmem"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        shmem.run(program.main, pes=pes, conduit=network)
    return out.getvalue().splitlines()


def one_was_first(lines, n):
    (winner,) = [int(found[1]) for line in lines if (found := re.fullmatch(r"PE (\d+) was first", line))]
    assert 0 <= winner < n
    return [f"PE {winner} was first", *(f"PE {me} hears of PE {winner}" for me in range(n))]


def one_was_seen(lines, n):
    if n == 1:
        return []
    (seen,) = [int(found[1]) for line in lines if (found := re.match(r"PE 0 saw PE (\d+) first", line))]
    assert 0 < seen < n
    return [f"PE 0 saw PE {seen} first, which has set {seen}"]


def counted(lines, n):
    """Each number once; whose turn it was is for the lock to say."""
    pes = [int(line.split(":")[0]) for line in lines]
    assert sorted(pes) == list(range(n))
    return [f"{me}: count is {turn}" for turn, me in enumerate(pes)]


def ends_of_rally(n):
    return [f"PE {me}: the last ball had stroke {10 - me}" for me in range(2)] if n > 1 else [ONE_HAND]


ONE_HAND = "PE 0: the last ball had stroke 0"


def circle(n):
    inside = 0
    for me in range(n):
        draw = Random(1 + me)
        inside += sum(draw.random() ** 2 + draw.random() ** 2 < 1 for _ in range(2000))
    return [f"Pi from {2000 * n} points on {n} PEs: {4 * inside / (2000 * n):.6f}"]


def transposed(n):
    pairs = np.repeat(np.arange(n * n, dtype="i4").reshape(n, n), 2, axis=1)
    back = np.repeat(np.arange(n * n, dtype="i4").reshape(n, n).T, 2, axis=1)
    return [f"{me}: {what} {row[me]}" for what, row in (("source", pairs), ("target", back)) for me in range(n)]


# What each prints, of the lines that it has printed and the number of PEs; in any order of lines.
PRINTS = {
    "hello": lambda _, n: [f"Hello from PE {me} of {n}" for me in range(n)],
    "ping": lambda _, n: ends_of_rally(n),
    "rotget": lambda _, n: [f"PE {me}: source {me}, found {(me + 1) % n}" for me in range(n)],
    "rotput": lambda _, n: [f"PE {me}: target {(me - 1) % n}" for me in range(n)],
    "broadcast": lambda _, n: [f"{me}: {np.arange(1, n + 1)}" for me in range(n)],
    "fcollect": lambda _, n: [
        f"{when}: {me} of {n} has {what}"
        for when, what in (("before", np.full(n, 10101)), ("after", np.arange(100, 100 + n)))
        for me in range(n)
    ],
    "collect": lambda _, n: [
        f"{me} of {n}: {np.array([11 + k for pe in range(n) for k in range(pe + 1)])}" for me in range(n)
    ],
    "alltoall": lambda _, n: transposed(n),
    "pi": lambda _, n: circle(n),
    "race_winner": one_was_first,
    "race_test": one_was_seen,
    "lock": counted,
    "lock_object": counted,
    "signal": lambda _, n: [f"PE {me}: {me or n} hops, every element {me or n}" for me in range(n)],
}


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", PRINTS)
def test_a_program_prints_what_it_should(name, network):
    pes = PES[(list(PRINTS).index(name) + NETWORKS.index(network)) % len(PES)]
    lines = lines_of(name, pes, network)
    assert sorted(lines) == sorted(PRINTS[name](lines, pes))


def test_these_are_all_programs_of_the_folder_and_of_the_page():
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(PRINTS)
    assert sorted(re.findall(r"\(examples/shmem/(\w+)\.py\)", PAGE.read_text("utf-8"))) == sorted(PRINTS)


def test_the_counts_of_a_lock_go_up_in_the_order_of_their_printing():
    assert counted(["1: count is 0", "0: count is 1"], 2) == ["1: count is 0", "0: count is 1"]
    assert counted(["1: count is 0", "0: count is 0"], 2) != ["1: count is 0", "0: count is 0"]
