"""`conduit new`: the package it writes is complete and works unchanged."""

import sys
import tomllib

import pytest

import conduit
from conduit.launch.entry_points import CONDUITS


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_package_is_written(command, elsewhere):
    status, out, _ = command("new", "my_net")
    assert status == 0
    assert out.startswith("wrote conduit-my_net:\n  README.md\n  conduit_my_net/__init__.py\n")
    project = tomllib.loads((elsewhere / "conduit-my_net" / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["conduit.conduits"] == {"my_net": "conduit_my_net:MyNet"}
    brought = project["project"]["optional-dependencies"]["test"]
    assert any(each.startswith("pytest-trio") for each in brought)  # for the test in docs/writing_a_conduit.md
    assert project["tool"]["pytest"]["ini_options"]["conformance"] == ["my_net"]
    assert "conduit.conformance.plugin" in (elsewhere / "conduit-my_net" / "pyproject.toml").read_text()


def test_no_trace_of_the_old_name_is_left_in_the_code(command, elsewhere):
    command("new", "my_net")
    for path in (elsewhere / "conduit-my_net" / "conduit_my_net").iterdir():
        assert "loggp" not in path.read_text()
        assert "Loggp" not in path.read_text()


def test_no_page_is_named_that_the_package_has_not(command, elsewhere):
    assert command("new", "ring")[0] == 0
    assert "docs/models" not in (elsewhere / "conduit-ring" / "conduit_ring" / "__init__.py").read_text()


def test_new_conduit_runs(command, elsewhere, install, monkeypatch):
    command("new", "my_net")
    monkeypatch.syspath_prepend(str(elsewhere / "conduit-my_net"))
    install(CONDUITS, "my_net", target="conduit_my_net:MyNet")

    async def main(ep):
        await ep.attach(count)
        await ep.request_short((ep.rank + 1) % ep.size, count)
        await ep.block_until(lambda: seen)

    seen = []

    def count(token):
        seen.append(token.rank)

    try:
        result = conduit.run(main, ranks=3, conduit="my_net:slots=1")
    finally:
        for name in [name for name in sys.modules if name.startswith("conduit_my_net")]:
            del sys.modules[name]
    assert result.conduit == "my_net:slots=1"
    assert sorted(seen) == [0, 1, 2]


@pytest.mark.parametrize("name", ["", "My", "a-b", "9net", "a.b", "../up", "néts"])
def test_name_that_cannot_be_one(command, elsewhere, name):
    status, _, err = command("new", name)
    assert status == 2
    assert err.startswith(f"conduit new: '{name}' cannot be the name of a conduit; use lower-case letters, digits and ")
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("class", "it is a keyword of Python; choose another"),
        ("async", "it is a keyword of Python; choose another"),
        ("conduit", "there is a package of that name; choose another"),
        ("conduits", "there is a package of that name; choose another"),
        ("extended", "there is a package of that name; choose another"),
        ("true", "True is the name of another thing"),
        ("message", "Message is the name of another thing"),
        ("transport", "Transport is the name of another thing"),
        ("sim", "SimOptions is the name of another thing"),
        ("simulated_conduit", "SimulatedConduit is the name of another thing"),
        ("am", "conduit-am is this package"),
    ],
)
def test_name_that_would_break_the_copy(command, elsewhere, name, why):
    """Written all the same, the class would hide what it is derived from, or pip would replace this package."""
    status, _, err = command("new", name)
    assert status == 2
    assert err.startswith(f"conduit new: '{name}' cannot be the name of a conduit: {why}")
    assert not list(elsewhere.iterdir())


def test_folder_that_cannot_be_written(command, elsewhere, monkeypatch):
    def refuse(path, *args, **settings):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    status, _, err = command("new", "mine")
    assert (status, err) == (
        1,
        "conduit new: cannot write conduit-mine/conduit_mine: Permission denied; call it in a folder that may be "
        "written\n",
    )


def test_name_that_is_taken(command):
    status, _, err = command("new", "loggp")
    assert status == 2
    assert err.startswith("conduit new: there is a conduit 'loggp' already; choose a name other than loggp, mpi")


def test_folder_that_exists_is_left_alone(command, elsewhere):
    (elsewhere / "conduit-mine").mkdir()
    status, _, err = command("new", "mine")
    assert status == 2
    assert err == "conduit new: conduit-mine exists already; choose another name, or remove it first\n"
    assert not list((elsewhere / "conduit-mine").iterdir())
