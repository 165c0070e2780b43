"""How the network is named, and what is refused before anything begins."""

import os
import subprocess
import sys

import pytest

from conduit.contract import RankKind
from conduit.errors import BadRequest
from conduit.launch.registry import parse_spec
from conduits.mpi import real


def test_the_default_library_is_simulated():
    spec = parse_spec("mpi")
    assert spec.text == parse_spec("mpi:library=scampi").text == "mpi"
    assert (spec.rank_kind, spec.simulated) == (RankKind.TASK, True)


def test_a_library_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(BadRequest, match=r"option 'library' of conduit 'mpi' cannot be 'scampy' .*scampi.*mpi4py"):
        parse_spec("mpi:library=scampy")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            "mpi:library=sunmpi:credits=3",
            "option 'library' of conduit 'mpi' cannot be 'sunmpi:credits=3': options are joined by commas; write "
            "mpi:library=sunmpi,credits=3",
        ),
        (
            "mpi:library=sunmpi,credits=3;medium=512",
            "option 'credits' of conduit 'mpi:library=sunmpi' cannot be '3;medium=512': options are joined by commas; "
            "write mpi:library=sunmpi,credits=3,medium=512",
        ),
    ],
)
def test_options_that_are_not_joined_by_commas_are_told_so(spec, text):
    with pytest.raises(BadRequest) as refused:
        parse_spec(spec)
    assert str(refused.value) == text


def test_the_options_of_a_library_are_the_machine_s_and_its_own():
    spec = parse_spec("mpi:library=scampi,torus=2x2,eager_count=3,credits=2")
    assert spec.text == "mpi:torus=2x2,eager_count=3,credits=2"


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("channel_entries=1", "channel_entries.*an integer from 2 to 4096"),
        ("transporter_size=1000000", "channel_entries, .* need a region of .* bytes .*, the driver gives 2097152"),
        ("slots=2", "has no option 'slots'; its options are: .*eager_count"),
    ],
)
def test_options_of_a_simulated_library_are_checked(option, text):
    with pytest.raises(BadRequest, match=text):
        parse_spec(f"mpi:{option}")


def test_the_text_of_a_spec_names_the_library():
    spec = parse_spec("mpi:library=mpi4py,credits=3,shared=no")
    assert spec.text == "mpi:library=mpi4py,credits=3,shared=no"
    assert (spec.rank_kind, spec.simulated, spec.limits.max_medium) == (RankKind.PROCESS, False, 65536)


@pytest.mark.parametrize(
    ("option", "text"),
    [("credits=0", "credits"), ("credits=2000", "credits"), ("medium=511", "medium"), ("shared=perhaps", "shared")],
)
def test_options_are_checked(option, text):
    with pytest.raises(BadRequest, match=text):
        parse_spec(f"mpi:library=mpi4py,{option}")


def test_naming_the_network_does_not_begin_mpi():
    program = (
        "import sys; from conduit.launch.registry import networks, parse_spec; parse_spec('mpi:library=mpi4py'); "
        "networks(); sys.exit('mpi4py.MPI' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=120).returncode == 0


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({}, None), ({"PMI_SIZE": "3"}, 3), ({"OMPI_COMM_WORLD_SIZE": "4"}, 4), ({"PMIX_RANK": "0"}, 0)],
)
def test_a_launcher_is_known_by_the_environment(monkeypatch, variables, expected):
    for name in [name for name in os.environ if name.startswith(("PMI", "OMPI"))]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    spec = parse_spec("mpi:library=mpi4py")
    assert spec.cls.announced(spec.options) == expected


def test_more_processes_than_the_machine_holds_are_refused_unless_others_may_take_them(monkeypatch):
    for name in real._ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    sizes = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 1 << 20}
    monkeypatch.setattr(real.os, "sysconf", sizes.get)
    assert real.start_command(31, ["it.py"])[0][1:3] == ["-n", "31"]
    with pytest.raises(BadRequest) as refused:
        real.start_command(32, ["it.py"])
    assert str(refused.value) == (
        "ranks=32 are processes of at least 32 MB each on this machine, whose 1 GB of memory hold 31; ask for fewer, "
        "start them on several machines by a launcher, or choose a simulated network, whose ranks are tasks"
    )
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert real.start_command(100_000, ["it.py"])[0][1:3] == ["-n", "100000"]
