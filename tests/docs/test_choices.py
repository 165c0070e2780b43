"""The table of choices in docs/extended_inside.md: what is chosen, and what it takes beside the best.

The usual run measures each second cell, `-m every` and `--record` all of them.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import conduit
from extended import Extended
from extended.collectives.algorithms import TABLE, pick

PAGE = Path(__file__).parents[2] / "docs" / "extended_inside.md"
MARKS = re.compile(r"(?<=<!-- choices -->\n).*?(?=<!-- end of choices -->)", re.DOTALL)
NETWORKS = ("loggp", "sci", "sunfire", "startx", "udp")
CALLS = ("scatter", "gather", "all_gather")
SIZES = (64, 1024, 16384, 65536)
RANKS, PER_HOST = 8, 2


async def timed(ep, call, name, nbytes):
    """Time one call after another one, which has opened the connections; give what is chosen, too."""
    x = await Extended.attach(ep)
    mine, all_ = np.zeros(nbytes, np.uint8), np.zeros((x.size, nbytes), np.uint8)
    for _ in range(2):
        await x.barrier()
        begun = ep.now
        await getattr(x, call)(all_ if call == "scatter" else mine, algorithm=name)
        await x.barrier()
    return ep.now - begun, pick(call, x.topology, nbytes, None, x.model)


def cell(network, call, nbytes):
    """Give the choice, and its time over that of the best."""
    times, chosen = {}, ""
    for name in TABLE[call]:
        values = conduit.run(timed, call, name, nbytes, ranks=RANKS, ranks_per_host=PER_HOST, conduit=network).values
        times[name], chosen = max(seconds for seconds, _ in values), values[0][1]
        assert {each for _, each in values} == {chosen}, "ranks disagree"
    return chosen, times[chosen] / min(times.values())


PLACES = [(network, call, nbytes) for network in NETWORKS for call in CALLS for nbytes in SIZES]


def in_turn(network, call, nbytes):
    """Say whether the usual run measures a cell: of each network, call and size half of the others."""
    return (NETWORKS.index(network) + CALLS.index(call) + SIZES.index(nbytes)) % 2 == 0


def table(cells):
    """Give the table as Markdown."""
    lines = ["| network | call |" + "".join(f" {nbytes} |" for nbytes in SIZES), "|---|---|" + "---|" * len(SIZES)]
    lines += [
        f"| {network} | {call} |" + "".join(f" {cells[network, call, nbytes]} |" for nbytes in SIZES)
        for network in NETWORKS
        for call in CALLS
    ]
    return "\n" + "\n".join(lines) + "\n\n"


def shown(text):
    """Give the cells of a table."""
    rows = [line.strip("| ").split(" | ")[2:] for line in text.split("\n")[3:-2]]
    return dict(zip(PLACES, (each for row in rows for each in row), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.every)], ids=["by turns", "all"])
def test_the_table_of_choices_is_true_and_the_choices_are_good(record, every):
    measured = {place: cell(*place) for place in PLACES if record or every or in_turn(*place)}
    cells = {place: f"{name} {ratio:.2f}" for place, (name, ratio) in measured.items()}
    text = PAGE.read_text(encoding="utf-8")
    if record:
        PAGE.write_text(MARKS.sub(table(cells), text), encoding="utf-8")
    else:
        found = shown(MARKS.search(text)[0])
        assert table(found) == MARKS.search(text)[0]
        assert {place: found[place] for place in cells} == cells
    ratios = {place: ratio for place, (_, ratio) in measured.items()}
    assert max(ratio for (_, _, nbytes), ratio in ratios.items() if nbytes >= 16384) < 1.1
    in_order = sorted(ratios.values())
    assert in_order[-1] < 1.3
    assert in_order[len(in_order) * 9 // 10] < 1.15
