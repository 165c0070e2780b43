"""Python's collector while jobs run: nothing is looked through meanwhile, and what is left goes at the first look."""

import gc
import weakref
from collections.abc import Iterator

import pytest

import conduit
from conduit.sim.collector import PatientCollector


@pytest.fixture
def looks() -> Iterator[list[int]]:
    """The collections so far, by generation."""
    seen: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(700, 10, 10)
    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    gc.set_threshold(*before)


class Held:
    """Something that lives as long as the job."""

    async def leave(self) -> None:
        """Take part in the end of the job."""


def test_a_job_runs_without_a_look_and_the_next_one_frees_it(looks: list[int]) -> None:
    held: list[weakref.ref[Held]] = []

    async def main(ep: conduit.Endpoint) -> None:
        each = Held()
        held.append(weakref.ref(each))
        ep.on_exit(each.leave)
        await ep.attach()

    conduit.run(main, ranks=1)  # the first job of a program reads its file
    held.clear()
    looks.clear()
    conduit.run(main, ranks=32)
    during = len(looks)  # a new list might begin the first look
    gc.collect(0)
    assert not during
    assert [each() for each in held] == [None] * 32


def test_the_collector_is_as_before_when_the_last_job_has_ended(looks: list[int]) -> None:
    with PatientCollector():
        patient = gc.get_threshold()
        with PatientCollector(100):
            assert gc.get_threshold() > patient > (700, 10, 10)
        with pytest.raises(ZeroDivisionError), PatientCollector():
            raise ZeroDivisionError
        assert gc.get_threshold()[0] > 700
    assert gc.get_threshold() == (700, 10, 10)


def test_a_collector_that_is_off_stays_off(looks: list[int]) -> None:
    gc.set_threshold(0, 10, 10)
    with PatientCollector():
        assert gc.get_threshold() == (0, 10, 10)
    assert gc.get_threshold() == (0, 10, 10)
