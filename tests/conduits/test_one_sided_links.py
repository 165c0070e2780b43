"""The names of links of origin and t3e, as traces and reports show them: each says where the link leads."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import conduit
from conduit.launch.tracing import reporting
from conduits.origin import port as origin
from conduits.t3e import port as t3e

SIDE = 8
TORUS = t3e.build(None, t3e.T3eOptions())
CUBES = origin.build(None, origin.OriginOptions())


def names_of(fabric, source, target):
    return [name for name, _ in fabric.steps(source, target)]


@given(source=st.integers(0, SIDE**3 - 1), target=st.integers(0, SIDE**3 - 1))
def test_links_of_the_torus_lead_from_each_to_the_next(source, target):
    names = names_of(TORUS, source, target)
    if source == target:
        assert not names
        return
    here = [source % SIDE, source // SIDE % SIDE, source // SIDE**2]
    assert names[0] == f"from node {source}"
    for name in names[1:-1]:
        found = re.fullmatch(r"\((\d),(\d),(\d)\) to ([+-])([xyz])", name)
        assert [int(each) for each in found.groups()[:3]] == here
        axis = "xyz".index(found[5])
        here[axis] = (here[axis] + (1 if found[4] == "+" else -1)) % SIDE
    assert here[0] + SIDE * here[1] + SIDE**2 * here[2] == target
    assert names[-1] == f"to node {target}"


@given(source=st.integers(0, 127), target=st.integers(0, 127))
def test_links_of_the_hypercubes_lead_from_each_to_the_next(source, target):
    names = names_of(CUBES, source, target)
    if source == target:
        assert not names
        return
    here = f"router {source // 2}"
    assert names[0] == f"from node {source}"
    for name in names[1:-1]:
        begin, end = name.split(" to ")
        assert begin == here
        one, other = (int(each.split()[1]) for each in (begin, end))
        if "meta" in name:
            assert one % 8 == other % 8  # a metarouter joins the same corner of all hypercubes
        else:
            assert (one ^ other) in (1, 2, 4)
        here = end
    assert here == f"router {target // 2}"
    assert names[-1] == f"to node {target}"


@pytest.mark.parametrize(
    ("network", "names"),
    [
        ("t3e", {"link from node 0", "link (0,0,0) to +x", "link to node 1"}),
        ("origin", {"link from node 0", "link router 0 to router 1", "link to node 2"}),
    ],
)
def test_a_report_shows_them(network, names):
    async def main(ep):
        await ep.attach()
        if ep.rank == 0:
            await ep.rma.put(2 if network == "origin" else 1, 0, bytes(8), lambda: None)
            await ep.rma.quiet()

    with reporting() as reports:
        conduit.run(main, conduit=network, ranks=4, ranks_per_host=1)
    assert names <= {link.name for link in reports[0].profile.links}
