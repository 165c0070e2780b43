"""What is installed is told as `importlib.metadata` tells it."""

import importlib.metadata
import sys
import zipfile

import pytest

from conduit.launch import distributions, registry

GROUPS = (registry.CONDUITS, registry.COMMANDS, registry.FRONT_ENDS, registry.LAYERS, "console_scripts", "no.such")


def told(entries):
    return [(entry.name, entry.value, entry.module, entry.dist.name) for entry in entries]


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Make a folder that tells of a distribution, in the first place of the path."""
    monkeypatch.syspath_prepend(tmp_path)

    def put(name, entry_points=None, metadata="", place=tmp_path):
        folder = place / name
        folder.mkdir(parents=True)
        distribution = name.rpartition(".")[0].partition("-")[0]
        text = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 7.1\n{metadata}"
        (folder / ("METADATA" if name.endswith(".dist-info") else "PKG-INFO")).write_text(text)
        if entry_points is not None:
            (folder / "entry_points.txt").write_text(entry_points)

    return put


@pytest.mark.parametrize("group", GROUPS)
def test_entry_points_are_those_that_python_tells(group):
    assert told(distributions.entry_points(group=group)) == told(importlib.metadata.entry_points(group=group))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[a.group]\none = the_module:Class\n",
        "[a.group]\none=the_module:Class.part\ntwo = other\n\n[b.group]\nthree = no.such:thing\n",
        "# [a.group]\n[ a.group ]\nnone = x:y\n[a.group]\n# out = x:y\n  one  =  a.b : C [extra]  \n",
        "nowhere = x:y\n[[a.group]]\none = x:y = z\n[a.group]\none = again:Same\n",
        "[b.group]\nname = [a.group]\n",
        "[a.group]\nodd = not a module\n",
    ],
)
@pytest.mark.parametrize("name", ["mine-1.0.dist-info", "mine.egg-info", "My.Other_thing-2.dist-info"])
def test_entry_points_are_read_as_python_reads_them(install, text, name):
    install(name, text)
    found = distributions.entry_points(group="a.group")
    expected = importlib.metadata.entry_points(group="a.group")
    assert [(each.name, each.value, each.dist.name) for each in found] == [
        (each.name, each.value, each.dist.name) for each in expected
    ]
    assert all(isinstance(each, distributions.EntryPoint) for each in found)


def test_of_two_folders_of_one_distribution_the_first_on_the_path_counts(install, tmp_path, monkeypatch):
    install("the_thing-1.0.dist-info", "[a.group]\none = first:x\n")
    install("The.thing-2.0.dist-info", "[a.group]\none = second:x\n", place=tmp_path / "later")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "later"), str(tmp_path / "not there")])
    (found,) = distributions.entry_points(group="a.group")
    assert told([found]) == told(importlib.metadata.entry_points(group="a.group"))
    assert found.value == "first:x"


def test_an_entry_point_leads_where_it_says(install):
    install("mine-1.0.dist-info", "[a.group]\none = os.path:join\ntwo = os\nthree = os:path.split\n")
    import os

    assert [each.load() for each in distributions.entry_points(group="a.group")] == [os.path.join, os, os.path.split]


@pytest.mark.parametrize("where", ["an archive", "a finder", "a line"])
def test_python_is_asked_where_there_may_be_more_than_folders_tell(install, tmp_path, monkeypatch, where):
    if where == "an archive":
        with zipfile.ZipFile(tmp_path / "them.zip", "w") as archive:
            archive.writestr("zipped-1.0.dist-info/METADATA", "Name: zipped\nVersion: 3\n")
            archive.writestr("zipped-1.0.dist-info/entry_points.txt", "[a.group]\none = x:y\n")
        monkeypatch.syspath_prepend(tmp_path / "them.zip")
        assert distributions.version("zipped") == "3"
    elif where == "a finder":

        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                return None

            @staticmethod
            def find_distributions(context):
                yield importlib.metadata.Distribution.at(tmp_path / "apart" / "mine-1.0.dist-info")

        install("mine-1.0.dist-info", "[a.group]\none = x:y\n", place=tmp_path / "apart")
        monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    else:
        install("mine-1.0.dist-info", "[a.group]\none\n")
        with pytest.raises(TypeError):  # as Python has it
            distributions.entry_points(group="a.group")
        return
    (found,) = distributions.entry_points(group="a.group")
    assert (found.name, found.value) == ("one", "x:y")
    assert isinstance(found, importlib.metadata.EntryPoint)


def test_a_version_is_that_which_python_tells(install):
    for name in ("conduit-am", "Conduit.AM", "numpy", "trio", "attrs"):
        assert distributions.version(name) == importlib.metadata.version(name)
    install("mine-1.0.dist-info", metadata="\nVersion: of the text\n")
    install("old.egg-info")
    assert [distributions.version(name) for name in ("mine", "old")] == ["7.1", "7.1"]
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        distributions.version("no-such-thing")
