"""What threads and PEs have is not overwritten in silence."""

import pytest

import conduit
from extended import shmem, upc


@pytest.mark.parametrize(
    ("run", "name", "called"),
    [
        (upc.run, "barrier", "t"),
        (upc.run, "all_alloc", "t"),
        (upc.run, "MYTHREAD", "t"),
        (shmem.run, "barrier_all", "pe"),
        (shmem.run, "my_pe", "pe"),
        (shmem.run, "TEAM_WORLD", "pe"),
    ],
)
def test_a_public_name_is_not_assigned_to(run, name, called):
    async def main(given):
        before = getattr(given, name)
        with pytest.raises(conduit.BadRequest) as caught:
            setattr(given, name, 300)
        assert str(caught.value) == (
            f"{called}.{name} = 300 is not allowed: {name} is a name of its own; keep the value in a variable"
        )
        assert getattr(given, name) == before

    run(main, conduit="loggp")


def test_other_attributes_are_the_programs():
    async def main(t):
        t.mine = 1
        t.mine += 1
        assert t.mine == 2

    upc.run(main, conduit="loggp")
