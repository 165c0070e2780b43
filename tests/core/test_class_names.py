"""One name, one meaning: no public class of the packages has the name of another."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import conduit

ROOT = Path(__file__).parents[2]
PACKAGES = ("conduit", "conduits", "extended")


def test_no_public_class_has_the_name_of_another():
    places = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 500  # they were found
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("trace", [False, True])
def test_an_endpoint_has_one_name_whether_it_is_observed_or_not(trace):
    async def main(ep):
        await ep.put_signal(1)

    with pytest.raises(AttributeError, match=r"\A'Endpoint' object has no attribute 'put_signal'"):
        conduit.run(main, ranks=2, trace=trace)
