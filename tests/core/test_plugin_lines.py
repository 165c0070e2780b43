"""A program in the package of a plug-in: its lines are a program's; who registers a layer has them left out."""

import subprocess
import sys

import pytest

NETWORK = """
from conduits.loggp import Loggp

class Myring(Loggp):
    name = "myring"

    def __init__(self, options, setup, world):
        super().__init__(options, setup, world)
        self.stations = options.stations

    @classmethod
    def raw_tables(cls, options):
        return [options.table]
"""
FILES = {
    "myring/__init__.py": "from conduit.contract import Limits\ndef f():\n    return Limits(1, 2, 3, 4)\n",
    "myring/network.py": NETWORK,
    "myring/helper.py": "async def far(ep, h):\n    await ep.request_short(9, h)\n"
    "async def never(ep):\n    await ep.block_until(lambda: False, what='x')\n",
    "myring/prog.py": "import sys, conduit\nfrom myring import helper\n"
    "async def main(ep):\n    def h(token): pass\n    await ep.attach(h)\n    await helper.far(ep, h)\n"
    "async def wrong(ep):\n    await ep.attach()\n    int('abc')\n"
    "async def stuck(ep):\n    await ep.attach()\n    await helper.never(ep)\n"
    'conduit.run(globals()[sys.argv[1]], conduit="loggp")\n',
    "myring-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: myring\nVersion: 1.0\n",
}
CONDUIT = "[conduit.conduits]\nmyring = myring:Myring\n"
LAYER = CONDUIT + "[conduit.layers]\nmyring = myring.helper\n"
DEADLOCK = (
    "conduit.errors.Deadlock: deadlock at 7.001 us: nothing can happen any more: no message is on its way and every "
    "rank waits"
)


@pytest.fixture
def shown(tmp_path):
    """Run Python in a folder with a plug-in; return what it prints of the error, without the lines' texts."""

    def run(*words, entry_points=CONDUIT):
        for name, text in {**FILES, "myring-1.0.dist-info/entry_points.txt": entry_points}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        lines = done.stderr.replace(f"{tmp_path}/", "").splitlines()
        return [line.strip() for line in lines if not line.startswith("    ")]

    return run


@pytest.mark.slow
def test_a_program_in_the_package_of_a_plug_in_is_shown_with_its_lines(shown):
    run = 'File "myring/prog.py", line 13, in <module>'
    assert shown("-m", "myring.prog", "main") == [
        "Traceback (most recent call last):",
        run,
        'File "myring/prog.py", line 6, in main',
        'File "myring/helper.py", line 2, in far',
        "conduit.errors.BadRequest: ep.request_short: dest=9 is no rank of this job; ranks go from 0 to 1",
        "raised by rank 0 at 0.000007001 s",
    ]
    assert shown("-m", "myring.prog", "wrong") == [
        "Traceback (most recent call last):",
        run,
        'File "myring/prog.py", line 9, in wrong',
        "ValueError: invalid literal for int() with base 10: 'abc'",
        "raised by rank 0 at 0.000007001 s",
    ]
    assert shown("-m", "myring.prog", "stuck") == [
        "Traceback (most recent call last):",
        run,
        DEADLOCK,
        "ranks 0-1, each: myring/helper.py:4 in never: waits for x since 7.001 us",
    ]


@pytest.mark.slow
def test_a_layer_of_a_plug_in_is_left_out(shown):
    assert shown("-m", "myring.prog", "stuck", entry_points=LAYER)[-1] == (
        "ranks 0-1, each: myring/prog.py:12 in stuck: waits for x in helper.never since 7.001 us"
    )


@pytest.mark.slow
def test_what_a_plug_in_declares_wrongly_is_shown_with_its_line(shown):
    assert shown("-c", "import myring; myring.f()") == [
        "Traceback (most recent call last):",
        'File "<string>", line 1, in <module>',
        'File "myring/__init__.py", line 3, in f',
        "conduit.errors.BadRequest: Limits: max_args=1 is not allowed; pass an int of at least 16",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("-X", "dev")])
def test_an_error_of_a_plug_in_s_network_is_shown_from_its_first_line_on(shown, flags):
    registered = CONDUIT.replace("myring:Myring", "myring.network:Myring")
    options = "AttributeError: 'LoggpOptions' object has no attribute"
    command = *flags, "-m", "conduit"
    assert shown(*command, "raw", "myring", entry_points=registered) == [
        "Traceback (most recent call last):",
        'File "myring/network.py", line 13, in raw_tables',
        f"{options} 'table'",
    ]
    assert shown(*command, "testam", "--conduit", "myring", "--sections", "A", entry_points=registered) == [
        "Traceback (most recent call last):",
        'File "myring/network.py", line 9, in __init__',
        f"{options} 'stations'",
    ]
