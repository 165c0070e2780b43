"""Registers `late`, the network of these tests, as an installed package would."""

import os
import shutil
from pathlib import Path

import pytest

from tests.python_path import python_path

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Give a folder that, on the path, counts as an installed package with the network."""
    made = tmp_path_factory.mktemp("late")
    shutil.copy(HERE / "late_network.py", made)
    info = made / "late_network-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: late-network\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[conduit.conduits]\nlate = late_network:Late\n")
    return made


@pytest.fixture(scope="session")
def environment(folder):
    """Give the environment of a process that finds it."""
    return {**os.environ, "PYTHONPATH": python_path(folder), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def late(folder, monkeypatch):
    """Let this process find it; gives the spec."""
    from conduit.launch import entry_points

    monkeypatch.syspath_prepend(folder)
    entry_points.lookup.cache_clear()
    yield "late"
    entry_points.lookup.cache_clear()
