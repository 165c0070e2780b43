"""The pictures in the documentation show what is measured today."""

import json
from pathlib import Path

import pytest

from conduit.commands.cli import call

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
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
