"""A net for restructuring: a pytest plugin that writes down each job's digest, and a comparison of two such files.

PYTHONPATH=tests pytest -p digests --digests before ...    writes before.gw0, before.gw1 (before.main without xdist)
python tests/digests.py before after                       says which tests have jobs with other digests
"""

import json
import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from conduit.launch.result import Result


class Recorder:
    """Appends test, spec and digest of every job to a file of this process."""

    def __init__(self, prefix):
        self.path = f"{prefix}.{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
        self.test = ""

    def note(self, result):
        line = json.dumps((self.test, result.conduit, result.digest)) + "\n"
        handle = os.open(self.path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)  # never left open: warnings are errors
        os.write(handle, line.encode())
        os.close(handle)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.test = item.nodeid
        return (yield)


def pytest_addoption(parser):
    parser.addoption("--digests", metavar="PREFIX", help="append the digests of all jobs to PREFIX.<worker>")


def pytest_configure(config):
    prefix = config.getoption("--digests")
    if not prefix:
        return
    recorder = Recorder(Path(prefix).absolute())
    config.pluginmanager.register(recorder)
    plain = Result.__init__

    def noted(self, *args, **settings):
        plain(self, *args, **settings)
        recorder.note(self)

    Result.__init__ = noted
    config.add_cleanup(lambda: setattr(Result, "__init__", plain))


def _normal(spec):
    """Return a spec with its options in one order: where they are declared may have changed."""
    name, _, options = spec.partition(":")
    return f"{name}:{','.join(sorted(options.split(',')))}"


def read(prefix):
    """Return the jobs of each test: (spec, digest) of each, in order."""
    jobs = defaultdict(list)
    for path in sorted(Path(prefix).parent.glob(f"{Path(prefix).name}.*")):
        for line in path.read_text().splitlines():
            test, spec, digest = json.loads(line)
            jobs[test].append((_normal(spec), digest))
    return jobs


def compare(before, after):
    """Return (tests whose jobs are of the same specs in both, those of them whose digests differ)."""
    specs = [{test: [spec for spec, _ in jobs] for test, jobs in one.items()} for one in (before, after)]
    both = [test for test in after if specs[0].get(test) == specs[1][test]]
    return both, [test for test in both if before[test] != after[test]]


def main(before, after):
    both, different = compare(read(before), read(after))
    print(f"{len(both)} tests with the same jobs, {sum(len(read(after)[test]) for test in both)} jobs")
    print("\n".join(f"other digests: {test}" for test in different) or "all digests are the same")
    return bool(different) or not both


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
