"""The pictures in the documentation show what is measured, configured and modelled today.

`pytest tests/docs/test_pictures.py --record` makes those that are drawn here anew.
"""

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest

import conduit
from conduit.commands.cli import call
from conduit.launch.explanation import explained
from conduit.launch.registry import parse_spec
from conduit.seeing.pictures.sketch import JOINED, HostPart, MachineSketch, draw_sketch

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = DOCS / "pictures"
MACHINES = tomllib.loads((PICTURES / "machines.toml").read_text(encoding="utf-8"))
MOST = 30_000
"""Bytes of a picture that is drawn here."""

ROUND_TRIP = [
    "--conduit", "sci", "--conduit", "sunfire", "--conduit", "startx", "--conduit", "udp", "--command", "testam",
    "--sections", "G", "--max-size", "262144", "--iterations", "3",
]  # fmt: skip


def test_the_curves_of_the_networks_are_current(tmp_path):
    """Make them anew by `conduit compare` with these words: its results are docs/pictures/round-trip.json."""
    pytest.importorskip("matplotlib")
    assert call(["compare", *ROUND_TRIP, "--out", str(tmp_path)]) == 0
    shown = json.loads((PICTURES / "round-trip.json").read_text())
    assert json.loads((tmp_path / "results.json").read_text()) == shown
    assert (PICTURES / "round-trip.svg").is_file()


def compare(name, drawn, record):
    """Compare a picture with its file, or write it."""
    path = PICTURES / name
    if record:
        path.write_text(drawn, encoding="utf-8")
    assert path.is_file(), f"docs/pictures/{name} is missing; make it with --record"
    assert path.read_text(encoding="utf-8") == drawn, f"docs/pictures/{name} is not current; make it anew with --record"
    assert len(drawn) < MOST


def written(constant):
    """A constant as a sketch shows it."""
    value, unit = constant.value, {"us": " µs", "us/byte": " µs", "count": ""}.get(constant.unit, f" {constant.unit}")
    return f"{value:,}{unit}" if isinstance(value, int) and value >= 10_000 else f"{value:g}{unit}"


@pytest.mark.parametrize("name", MACHINES)
def test_the_sketch_of_a_machine_is_current(name, record):
    machine = MACHINES[name]
    values = {each.name: each for each in parse_spec(machine["conduit"]).cls.constants}

    def filled(text):
        return re.sub(r"\{([\w.]+)\}", lambda match: written(values[match[1]]), text)

    parts = [
        HostPart(filled(part["name"]), [filled(line) for line in part.get("text", [])], filled(part.get("onward", "")))
        for part in machine["parts"]
    ]
    sketch = MachineSketch(
        title=machine["title"], host=filled(machine["host"]), parts=parts, joined=machine["joined"],
        network=[filled(line) for line in machine["network"]],
    )  # fmt: skip
    compare(f"{name}.svg", draw_sketch(sketch), record)


@pytest.mark.parametrize("name", MACHINES)
def test_the_sequence_of_a_message_is_current(name, record):
    compare(f"{name}-sequence.svg", explained(MACHINES[name]["conduit"], 100).svg(), record)


@pytest.mark.parametrize(("name", "args"), [("heat", ("3",)), ("hello", ())])
def test_the_timeline_of_a_program_is_current(name, args, record):
    main = runpy.run_path(str(DOCS / "examples" / f"{name}.py"))["main"]
    result = conduit.run(main, *args, ranks=4, conduit="sci", trace=True)
    compare(f"{name}-timeline.svg", result.trace.svg(), record)


def test_every_way_of_joining_hosts_is_used():
    assert {machine["joined"] for machine in MACHINES.values()} == set(JOINED)


def test_every_model_shows_its_machine_and_a_message():
    for page in (DOCS / "models").glob("*.md"):
        shown = re.findall(r"!\[([^\]]+)\]\(\.\./pictures/([\w-]+)\.svg\)", page.read_text(encoding="utf-8"))
        assert [name for _, name in shown] == [page.stem, f"{page.stem}-sequence"]


def test_a_text_without_room_is_refused():
    sketch = MachineSketch(title="it", host="x" * 100, parts=[HostPart("a")], joined="any", network=[])
    with pytest.raises(ValueError, match=r"sketch: 'x+' has no room; it may have \d+ letters"):
        draw_sketch(sketch)
