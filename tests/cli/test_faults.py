"""Faults in a spec, two joined by `+`: every command takes them, and they happen."""

import json

import pytest

FAULTS = "sunfire:fault=links%1e-4+link0.0.0@1ms-3ms"
COMMANDS = ["testam", "testsmall", "testlarge", "testlogp", "testbarrier", "testcoll"]


@pytest.mark.parametrize("name", COMMANDS)
def test_benchmarks_run_through_faults_and_take_longer(command, tmp_path, name):
    def records(spec):
        path = tmp_path / "out.json"
        sizes = [] if name == "testbarrier" else ["--max-size", "8" if name == "testcoll" else "64"]
        assert command(name, "--conduit", spec, "--iterations", "2", "--json", str(path), *sizes).status == 0
        return [record for found in json.loads(path.read_text()) for record in found["records"]]

    good, bad = records("sunfire"), records(FAULTS)
    key = ("section", "operation", "bytes")
    assert [[record.get(name) for name in key] for record in bad] == [
        [record.get(name) for name in key] for record in good
    ]
    assert sum(record["microseconds"] for record in bad) > sum(record["microseconds"] for record in good)


def test_a_program_runs_through_faults(command, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "async def main(ep):\n"
        "    got = []\n"
        "    def request(token, payload): got.append(len(payload))\n"
        "    await ep.attach(request)\n"
        "    for _ in range(20): await ep.request_medium(1 - ep.rank, request, bytes(9000))\n"
        "    await ep.block_until(lambda: got == [9000] * 20)\n"
    )
    good, bad = (command("run", str(path), "--conduit", spec) for spec in ("sunfire", FAULTS))
    assert (good.status, bad.status) == (0, 0), bad.err
    assert FAULTS in bad.out
    assert good.out.split("digest=")[1] != bad.out.split("digest=")[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_path_that_is_gone_is_named(command, name):
    found = command(name, "--conduit", "sunfire:fault=ni0.0@1us+ni0.1@1us", "--ranks-per-host", "1")
    assert found.status != 0
    assert "no path from host" in found.err
    assert "down: ni0.0, ni0.1" in found.err


def test_figures_of_the_driver_say_that_nothing_fails_there(command):
    found = command("raw", FAULTS)
    assert found.status == 0
    assert "without the faults of the spec" in found.out
    assert "without the faults" not in command("raw", "sunfire").out
