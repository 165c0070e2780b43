"""What a program tells by `ep.on_report`: clues are asked beside those of other ranks, and none loses a report."""

import pickle
import subprocess
import sys

import attrs
import pytest

import conduit
from conduit.launch.reports.clues import CarriedClue


@attrs.frozen
class Number:
    """Says which numbers all ranks have told."""

    number: int

    def advice(self, rank, waits, others):
        return f"told by {sorted(others)}: {[others[each].number for each in sorted(others)]}; {len(waits(rank))} wait"


class Failing:
    def advice(self, rank, waits, others):
        raise LookupError("lost")


class Stays:
    """Cannot be pickled."""

    def __init__(self):
        self.function = lambda: None

    def advice(self, rank, waits, others):
        return f"asked with {sorted(others)}"


def report(clue):
    async def main(ep):
        ep.on_report(lambda told: told.clue(clue(ep.rank)))
        await ep.block_until(lambda: False)

    with pytest.raises(conduit.Deadlock) as error:
        conduit.run(main, ranks=2, conduit="loggp")
    return str(error.value).splitlines()


def test_clues_of_all_ranks_are_asked_beside_one_another():
    assert "told by [0, 1]: [10, 11]; 1 wait" in report(lambda rank: Number(10 + rank))


def test_ranks_that_have_a_module_each_for_one_program_have_clues_of_one_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        "class Mine:\n"
        "    def advice(self, rank, waits, others):\n"
        "        return f'told by {sorted(others)}'\n"
        "async def main(ep):\n"
        "    ep.on_report(lambda told: told.clue(Mine()))\n"
        "    await ep.block_until(lambda: False)\n"
    )
    words = [sys.executable, "-m", "conduit", "run", "prog.py", "--conduit", "loggp"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "told by [0, 1]" in done.stderr.splitlines()


def test_one_that_fails_is_told_and_the_report_is_whole():
    lines = report(lambda rank: Failing())
    assert "a clue of rank 1 could not be asked: Failing.advice raised LookupError: lost" in lines
    assert lines[0].startswith("deadlock at ")


@pytest.mark.parametrize("clue", [3, len], ids=["a number", "a function"])
def test_what_cannot_be_asked_is_refused_where_it_is_given(clue):
    told = f"raised BadRequest: told.clue: clue={clue!r} has no method advice(rank, waits, others); give an object of a"
    assert told in "\n".join(report(lambda rank: clue))


def test_one_that_cannot_come_along_is_left_out():
    carried = pickle.loads(pickle.dumps([CarriedClue.of(Stays()), CarriedClue.of(Number(1))]))
    assert [each.name for each in carried] == ["Stays", "Number"]
    assert carried[0].clue is None
    assert carried[0].advice(0, lambda rank: [], {}) == ""
    assert carried[1].advice(0, lambda rank: [], {0: Number(4)}) == "told by [0]: [4]; 0 wait"


def test_a_function_that_leaves_its_work_to_a_generator_is_told():
    """Nothing runs it: what it would tell is not in the report."""

    def later(told):
        yield told.note("never told")

    async def main(ep):
        ep.on_report(lambda told: later(told))
        await ep.block_until(lambda: False)

    with pytest.raises(conduit.Deadlock) as error:
        conduit.run(main, ranks=1, conduit="loggp")
    told = (
        "<lambda>, given to ep.on_report, returned a generator, which nothing runs where a report is made; pass a plain"
    )
    assert told in str(error.value)
    assert "never told" not in str(error.value)
