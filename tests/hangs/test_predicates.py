"""What a report tells of a predicate that never becomes true: what its variables have, and what nothing assigns."""

import numpy as np
import pytest

import conduit

TIP = "block_until takes what= and ranks= for this report"


def report_of(main, ranks=2):
    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=ranks)
    return str(caught.value)


class Own:
    """Something of a program that must not be asked what it is."""

    def __repr__(self):
        raise AssertionError

    __len__ = __eq__ = __hash__ = __bool__ = __repr__


class OwnArray(np.ndarray):
    """An array of a class of the program, whose code must not run."""

    def __getitem__(self, key):
        raise AssertionError


LIMIT = 7
FLAGS = np.zeros(2, "i8")
SHARES = np.array([1.5, 0.5])
OWN_ARRAY = np.zeros(2).view(OwnArray)
THINGS = {"n": 3, "own": Own()}
PREDICATES = {
    "count": (lambda count, got, state, own: lambda: count == 5, "count is 4"),
    "global": (lambda count, got, state, own: lambda: count > LIMIT, "count is 4, LIMIT is 7"),
    "list": (lambda count, got, state, own: lambda: len(got) > 2, "len(got) is 2"),
    "element": (lambda count, got, state, own: lambda: got[-1] == "d", "got[-1] is 'b'"),
    "key": (lambda count, got, state, own: lambda: state["n"] == 7, "state['n'] is None"),
    "no key": (lambda count, got, state, own: lambda: "m" in state, "len(state) is 1"),
    "of a class": (
        lambda count, got, _, own: lambda: own is got or THINGS["n"] < 3,
        "len(got) is 2, THINGS['n'] is 3",
    ),
    "twice": (lambda count, got, state, own: lambda: count < 0 or count > 8, "count is 4"),
    "of an array": (lambda count, got, state, own: lambda: FLAGS[0] > count, "FLAGS[0] is 0, count is 4"),
    "of an array's end": (lambda count, got, state, own: lambda: SHARES[-1] > 9, "SHARES[-1] is 0.5"),
    "beyond an array": (lambda count, got, state, own: lambda: count > 9 and FLAGS[7], "count is 4"),
    "of a class like an array": (lambda count, got, state, own: lambda: count > 9 and OWN_ARRAY[0], "count is 4"),
    "none": (lambda count, got, state, own: lambda: False, ""),
}


@pytest.mark.parametrize("name", PREDICATES)
def test_what_the_variables_have_that_a_predicate_reads_is_told(name):
    make, values = PREDICATES[name]

    async def main(ep):
        await ep.attach()
        if ep.rank == 0:
            await ep.block_until(make(4, ["a", "b"], {"n": None}, Own()))

    assert f"waits for a predicate ({values}{'; ' * bool(values)}{TIP}) since " in report_of(main)


def test_where_words_are_given_no_values_are_told():
    async def main(ep):
        count = 0
        await ep.attach()
        if ep.rank == 0:
            await ep.block_until(lambda: count, what="the count")

    assert "waits for the count since " in report_of(main)


def test_values_that_differ_in_numbers_alone_are_told_of_many_ranks_together():
    async def main(ep):
        await ep.attach()
        count = ep.rank
        await ep.block_until(lambda: count < 0)

    assert f"waits for a predicate (count is #; {TIP}), since " in report_of(main, ranks=8)


def test_of_many_ranks_values_of_several_kinds_are_left_out():
    async def main(ep):
        await ep.attach()
        found = "no" if ep.rank % 2 else None
        await ep.block_until(lambda: found == "yes")

    assert "8 ranks (0-7): " in (told := report_of(main, ranks=8))
    assert f"waits for a predicate ({TIP}), since " in told


def test_a_variable_that_nothing_assigns_is_named():
    async def main(ep):
        ready = 0
        await ep.attach()
        if ep.rank == 0:
            await ep.block_until(lambda: ready)

    told = report_of(main)
    assert "nothing in the program assigns `ready` while main waits: let the predicate at " in told
    assert told.endswith(" read what a handler changes, or let a handler assign it, with `nonlocal`")


def _assigned():
    async def main(ep):
        count = 0

        def note(token):
            nonlocal count
            count += 1

        await ep.attach(note)
        await ep.block_until(lambda: count == 3)

    return main


def _changed():
    async def main(ep):
        count, got = 0, []
        await ep.attach()
        await ep.block_until(lambda: count or got)

    return main


def _called():
    async def main(ep):
        count = 0
        await ep.attach()
        await ep.block_until(lambda: _looks(count))

    return main


def _looks(count):
    return count


def _below():
    async def main(ep):
        count = 0

        def outer():
            def note(token):
                nonlocal count
                count = 1

            return note

        await ep.attach(outer())
        await ep.block_until(lambda: count)

    return main


@pytest.mark.parametrize("make", [_assigned, _changed, _called, _below])
def test_where_something_may_change_what_is_read_nothing_is_said(make):
    assert "nothing in the program assigns" not in report_of(make())


def test_a_variable_of_a_functions_own_is_told_of_the_predicate_alone_that_reads_it():
    async def main(ep):
        done, p = False, 0

        def note(token):
            p = 1  # noqa: F841  a mistake, of which this wait knows nothing
            nonlocal done
            done = True

        await ep.attach(note)
        keep = lambda: p  # noqa: E731
        await ep.block_until(lambda: keep is None or done)

    assert "of its own" not in report_of(main)
