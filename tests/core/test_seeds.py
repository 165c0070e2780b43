"""A program that seeds a module's generator for each rank is told that simulated ranks share it."""

import ast

import pytest

import conduit
from conduit.launch.oversights.seeds import shared_seeds

TOLD = {
    "np.random.seed(ep.rank)": "rng = np.random.default_rng(ep.rank)",
    "numpy.random.seed(42 + t.MYTHREAD)": "rng = numpy.random.default_rng(42 + t.MYTHREAD)",
    "random.seed(comm.Get_rank())": "rng = random.Random(comm.Get_rank())",
    "random.seed(f'{seed}/{rank}')": "rng = random.Random(f'{seed}/{rank}')",
}
NOT_TOLD = [
    "np.random.seed(1)",
    "np.random.seed()",
    "random.seed(seed)",
    "rng.seed(ep.rank)",
    "torch.random.seed(rank)",
]


@pytest.mark.parametrize("call", TOLD)
def test_a_seed_of_a_rank_is_told(call):
    assert shared_seeds(ast.parse(f"async def main(ep):\n    {call}")) == [
        (
            2,
            f"`{call}` seeds one generator, which all simulated ranks share: write `{TOLD[call]}` and draw from that, "
            "or draw from `ep.random`",
        )
    ]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("np.random.seed(1)\n    await ep.attach()\n    np.random.rand()", True),
        ("random.seed(1)\n    v = [random.random() for _ in range(9)]\n    await ep.attach()", False),
        ("random.seed(1)\n    await ep.attach()\n    v = random.Random(ep.rank)", False),
        ("random.seed(1)\n    await ep.attach()\n    v = np.random.rand()", False),
        ("rng.seed(1)\n    await ep.attach()\n    v = rng.random()", False),
    ],
)
def test_a_seed_is_told_where_others_may_draw_before_it_is_used(body, told):
    found = shared_seeds(ast.parse(f"async def main(ep):\n    {body}"))
    assert [line for line, _ in found] == [2] * told


@pytest.mark.parametrize("call", NOT_TOLD)
def test_other_seeds_are_not(call):
    assert shared_seeds(ast.parse(f"async def main(ep):\n    {call}")) == []


PROGRAM = """\
import random
import conduit

async def main(ep):
    random.seed(ep.rank)

if __name__ == "__main__":
    conduit.run(main, conduit="loggp", ranks=1)
"""


def test_a_script_is_warned_at_its_line(tmp_path, monkeypatch):
    program = tmp_path / "prog.py"
    program.write_text(PROGRAM)
    names = {"__name__": "__main__"}
    with pytest.warns(conduit.ConduitWarning, match="seeds one generator") as caught:
        exec(compile(program.read_text(), str(program), "exec"), names)
    assert (caught[0].filename, caught[0].lineno) == (str(program), 5)
