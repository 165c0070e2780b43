"""What the page says of which calls are awaited holds."""

import inspect

import pytest

from conduits.mpi import MPI

PLAIN = ("Get_", "Set_", "Is_", "Compare", "Attach_buffer", "Abort")


def public(cls):
    return [name for name in dir(cls) if name[0].isupper() and callable(getattr(cls, name))]


@pytest.mark.parametrize("cls", [MPI.Comm, MPI.Request, MPI.Prequest])
def test_calls_that_may_take_time_are_awaited_and_no_others(cls):
    for name in public(cls):
        made = inspect.unwrap(getattr(cls, name))
        plain = name.startswith(PLAIN) or name.endswith("_init")
        awaited = inspect.iscoroutinefunction(made) or name in {"Send", "Recv"}  # which give an awaitable of their own
        assert awaited != plain, name


@pytest.mark.parametrize("cls", [MPI.Group, MPI.Op, MPI.Datatype])
def test_nothing_of_groups_operators_and_datatypes_is_awaited(cls):
    for name in public(cls):
        assert not inspect.iscoroutinefunction(inspect.unwrap(getattr(cls, name))), name
