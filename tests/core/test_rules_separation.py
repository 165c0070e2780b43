"""Rule E5: simulated ranks share one interpreter and, as far as that goes, nothing else."""

import functools
import sys

import pytest

import conduit
from conduit.commands.cli import call

PROGRAM = """
import pickle
from dataclasses import dataclass

count = 0


@dataclass
class Note:
    number: int


async def main(ep, *args):
    global count
    count += 1
    await ep.compute(1e-6)
    count += 1
    again = pickle.loads(pickle.dumps(Note(count)))
    assert type(again) is Note
    print(ep.rank, again.number, __name__, *args)
"""


def test_E5_every_rank_gets_its_own_deep_copy_of_the_arguments(both_ways):
    given = {"list": [0, 0, 0], "deep": [[]]}

    async def main(ep, shared, *, name="x"):
        shared["list"][ep.rank] = ep.rank + 1
        shared["deep"][0].append(ep.rank)
        await ep.compute(1e-6)
        return shared

    values = both_ways.run(main, given, ranks=3).values
    assert [value["list"] for value in values] == [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
    assert [value["deep"] for value in values] == [[[0]], [[1]], [[2]]]
    assert given == {"list": [0, 0, 0], "deep": [[]]}


def test_E5_a_partial_and_a_method_are_programs_too(on_loggp):
    class Program:
        async def main(self, ep, number):
            return ep.rank + number

    assert on_loggp.run(functools.partial(Program().main, number=5)).values == [5, 6]
    assert on_loggp.run(Program().main, 7).values == [7, 8]


def test_E5_a_program_file_is_executed_once_per_rank_in_a_module_of_its_own(tmp_path, capsys):
    path = tmp_path / "counting.py"
    path.write_text(PROGRAM)
    before = set(sys.modules)
    assert call(["run", str(path), "--conduit", "loggp", "--ranks", "3", "--", "word"]) == 0
    lines = capsys.readouterr().out.splitlines()[:-1]
    assert [line.split()[:2] for line in lines] == [["0", "2"], ["1", "2"], ["2", "2"]]
    names = [line.split()[2] for line in lines]
    assert len(set(names)) == 3
    assert "__main__" not in names
    assert all(line.endswith(" word") for line in lines)
    assert not {name for name in set(sys.modules) - before if name.startswith("counting")}


def test_E5_ranks_have_random_numbers_of_their_own(both_ways):
    async def main(ep):
        return [ep.random.random() for _ in range(3)]

    first, second = both_ways.run(main, seed=4).values
    assert first != second
    assert both_ways.run(main, seed=4).values == [first, second]
    assert both_ways.run(main, seed=5).values != [first, second]


def test_E5_a_job_leaves_nothing_in_the_place_it_was_called_from(on_loggp):
    async def main(ep):
        return conduit.current() is ep

    assert on_loggp.run(main).values == [True, True]
    with pytest.raises(conduit.ConduitError, match=r"\Acurrent: no rank of a job is running here; "):
        conduit.current()
