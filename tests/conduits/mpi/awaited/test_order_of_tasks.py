"""Collective calls of several tasks are begun in the order in which they are made, whatever holds one of them up."""

import pytest

from conduits.mpi import MPI


def test_a_call_that_gets_there_first_begins_those_that_were_made_before():
    """A library that takes its own collectives by their order alone would mix them up otherwise."""

    async def main(comm):
        order = []

        def beginning(name, error=None):
            def begin():
                order.append(name)
                if error is not None:
                    raise error
                return name

            begun = []
            comm._to_begin.append((begin, begun))
            return begun

        first, failing, last = beginning("first"), beginning("failing", ValueError("oops")), beginning("last")
        assert comm._begin_in_order(last) == "last"
        assert order == ["first", "failing", "last"]
        assert comm._begin_in_order(first) == "first"
        with pytest.raises(ValueError, match="oops"):
            comm._begin_in_order(failing)
        assert order == ["first", "failing", "last"]
        await comm.Barrier()

    MPI.run(main, ranks=1, library="scampi")
