"""Reductions and scans: what operands come to, in which order, and with which operations."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import names, refusal
from extended.conformance.oracle import NUMERIC, concatenated, folded, same, small
from extended.conformance.programs import attached

OPERATIONS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
REDUCE = ("flat", "tree", "two_level", "pipelined")
ALL_REDUCE = ("dissemination", "tree", "two_level", "pipelined")
SCAN = ("dissemination", "pipelined")


def _numbers(rank: int, count: int = 4, dtype: Any = "i8") -> Any:
    return small(rank, (count,), dtype)


def _digits(rank: int) -> Any:
    return np.array([rank + 1, 17], "u8")


@pytest.mark.rule("X72", "X79")
@pytest.mark.crowds
def test_reduce_combines_at_the_root(case: Case) -> None:
    """For roots first, middle and last; None elsewhere."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        expected = folded([_numbers(rank) for rank in range(ep.size)], np.add)
        for root in sorted({0, ep.size // 2, ep.size - 1}):
            found = await x.reduce(_numbers(ep.rank), root=root)
            assert same(found, expected) if ep.rank == root else found is None

    case.run(main)


@pytest.mark.rule("X73", "X76")
@pytest.mark.crowds
def test_all_reduce_by_every_named_operation(case: Case) -> None:
    """They mean numpy's functions."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for name, function in OPERATIONS.items():
            expected = folded([_numbers(rank) + 1 for rank in range(ep.size)], function)
            assert same(await x.all_reduce(_numbers(ep.rank) + 1, name), expected)

    case.run(main)


@pytest.mark.rule("X74")
@pytest.mark.crowds
def test_scan_combines_the_ranks_up_to_each(case: Case) -> None:
    """This rank's own operand included, by any operation and algorithm."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for algorithm in (None, *SCAN):
            for name in ("sum", "max"):
                below = [_numbers(rank) for rank in range(ep.rank + 1)]
                assert same(await x.scan(_numbers(ep.rank), name, algorithm=algorithm), folded(below, OPERATIONS[name]))

    case.run(main)


@pytest.mark.rule("X76", "X77")
def test_the_result_has_the_operand_s_dtype(case: Case) -> None:
    """Small integers wrap, bools stay bools, byte orders are kept; dates have a least and a largest."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        with np.errstate(all="ignore"):
            for dtype in NUMERIC:
                operands = [_numbers(rank, 4, dtype) for rank in range(ep.size)]
                expected = folded(operands, np.add).astype(dtype)
                assert same(await x.all_reduce(operands[ep.rank]), expected)
            full = np.full(2, 200, "u1")
            assert same(await x.all_reduce(full), np.full(2, 200 * ep.size % 256, "u1"))
            dates = (np.datetime64("2000-01-01") + np.arange(ep.size)).astype(">M8[D]")
            assert same(await x.all_reduce(dates[ep.rank : ep.rank + 1], "max"), dates[-1:])

    case.run(main)


@pytest.mark.rule("X75", "X80")
@pytest.mark.crowds
def test_operands_meet_in_rank_order(case: Case) -> None:
    """An operation for which the order matters, by every algorithm that the team allows, from every kind of root."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        with np.errstate(all="ignore"):
            operands = [_digits(rank) for rank in range(ep.size)]
            expected = folded(operands, concatenated)
            for algorithm in (None, "flat", "tree", "two_level"):
                root = ep.size // 2
                found = await x.reduce(operands[ep.rank], concatenated, root, algorithm=algorithm)
                assert same(found, expected) if ep.rank == root else found is None
            for algorithm in (None, "dissemination", "tree", "two_level"):
                assert same(await x.all_reduce(operands[ep.rank], concatenated, algorithm=algorithm), expected)
            below = folded(operands[: ep.rank + 1], concatenated)
            assert same(await x.scan(operands[ep.rank], concatenated), below)

    case.run(main)


@pytest.mark.rule("X75", "X80")
def test_order_is_kept_in_pieces(case: Case) -> None:
    """A ufunc for which the order matters, over several pieces: the size of the first, the sign of the last."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        count, last = 2500, ep.size - 1
        operands = [(small(rank, (count,), "f8", rank) + 1) * (-1) ** rank for rank in range(ep.size)]
        expected = folded(operands, np.copysign)
        assert same(await x.all_reduce(operands[ep.rank], np.copysign, algorithm="pipelined"), expected)
        found = await x.reduce(operands[ep.rank], np.copysign, last // 2, algorithm="pipelined")
        assert found is None or same(found, expected)
        below = folded(operands[: ep.rank + 1], np.copysign)
        assert same(await x.scan(operands[ep.rank], np.copysign, algorithm="pipelined"), below)

    case.run(main)


@pytest.mark.rule("X73")
@pytest.mark.crowds
def test_all_ranks_get_the_same_bits(case: Case) -> None:
    """Of floating-point sums that depend on how they are grouped, by every algorithm."""

    async def main(ep: Endpoint) -> list[bytes]:
        x = await attached(ep)
        mine = np.float32(0.1) * (np.arange(5) + 1) * 10.0 ** (ep.rank % 5)
        return [(await x.all_reduce(mine, algorithm=name)).tobytes() for name in (None, *ALL_REDUCE)]

    values = case.run(main).values
    assert all(value == values[0] for value in values)


@pytest.mark.rule("X75", "X76")
def test_functions_get_whole_arrays(case: Case) -> None:
    """Matrices are multiplied in rank order; the function sees the shape and dtype that was given."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)

        def product(left: Any, right: Any) -> Any:
            assert left.shape == right.shape == (2, 2)
            assert left.dtype == right.dtype == np.dtype(">i8")
            return left @ right

        matrices = [np.array([[1, rank], [rank % 2, 1]], ">i8") for rank in range(ep.size)]
        expected = folded(matrices, np.matmul).astype(">i8")
        assert same(await x.all_reduce(matrices[ep.rank], product), expected)
        assert same(await x.all_reduce(matrices[ep.rank], np.matmul), expected)

    case.run(main)


@pytest.mark.rule("X76")
def test_operations_on_records(case: Case) -> None:
    """No ufunc, but a function: the position of the largest value."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)

        def larger(left: Any, right: Any) -> Any:
            return right if right["value"] > left["value"] else left

        mine = np.array((ep.rank * 7 % 5, ep.rank), "i4,i4")
        mine = mine.view([("value", "i4"), ("rank", "i4")])
        found = await x.all_reduce(mine, larger)
        values = [rank * 7 % 5 for rank in range(ep.size)]
        assert (int(found["value"]), int(found["rank"])) == (max(values), values.index(max(values)))

    case.run(main)


@pytest.mark.rule("X76", "X88")
def test_operations_that_are_none_are_refused(case: Case) -> None:
    """Unknown names, ufuncs of one or of two results, those that cannot keep the dtype, and what only begins."""

    async def later(left: Any, right: Any) -> Any:
        return left + right

    def piece(left: Any, right: Any) -> Any:
        yield left + right

    async def pieces(left: Any, right: Any) -> Any:
        yield left + right

    class Later:
        async def __call__(self, left: Any, right: Any) -> Any:
            return left + right

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for name in ("reduce", "all_reduce", "scan"):
            for call in (getattr(x, name), getattr(x, name + "_nb")):
                wrongs: list[Any] = ["add", "SUM", None, 3, np.negative, np.divmod]
                for wrong in wrongs:
                    names(refusal(partial(call, np.zeros(2), wrong)), call.__name__, "op")
                for wrong in (later, piece, pieces, partial(later), Later()):
                    message = refusal(partial(call, np.zeros(2), wrong))
                    names(message, call.__name__, "op", "is async or a generator function", "ordinary function")
                pairs = ("f8", "and"), ("i8", np.logaddexp), ("M8[s]", "sum"), ("i4,i4", "max"), ("U1", "sum")
                for dtype, wrong in pairs:
                    message = refusal(partial(call, np.zeros(2, dtype), wrong))
                    names(message, call.__name__, "op", "dtype")
        assert await x.all_reduce(True, np.logical_and) == True  # noqa: E712

    case.run(main)


@pytest.mark.rule("X76")
@pytest.mark.ends
def test_a_function_that_changes_the_shape_is_an_error(case: Case) -> None:
    """It names the function and both shapes, and ends the job like any other."""
    case = case.at_least(2)

    def cut(left: Any, right: Any) -> Any:
        return (left + right)[1:]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.all_reduce(np.zeros(3), cut, algorithm="tree")

    with pytest.raises(conduit.BadRequest, match=r"\Aall_reduce: op=cut made an array of shape \(2,\) "):
        case.run(main)


@pytest.mark.rule("X76")
def test_an_error_of_a_function_is_raised_where_it_was_called(case: Case) -> None:
    """From the call or from the handle, as the same object."""
    case = case.at_least(2)

    class Own(Exception):
        """Raised by an operation."""

    def fail(left: Any, right: Any) -> Any:
        raise Own

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        handle = await x.reduce_nb(1, fail)
        if ep.rank == 0:
            with pytest.raises(Own):
                await handle
        else:
            assert await handle is None

    # Only rank 0 combines, where there are two.
    case.with_ranks(2).run(main)


@pytest.mark.rule("X76")
def test_an_error_of_a_function_breaks_the_team(case: Case) -> None:
    """The ranks that wait for what is not made hear of it, and the others at their next call; other teams go on."""
    case = case.at_least(3)

    async def main(ep: Endpoint) -> None:
        def sum_(left: Any, right: Any) -> Any:
            if ep.rank == 1:
                raise ArithmeticError("no more")
            return left + right

        x = await attached(ep)
        team = await x.split(0)

        async def calls() -> None:
            await team.scan(np.ones(3), sum_)  # rank 1 combines, and those after it wait for what it makes
            await team.all_gather(1)  # rank 0 may get as far as here

        with pytest.raises(ArithmeticError if ep.rank == 1 else conduit.ConduitError, match="no more"):
            await calls()
        await x.barrier()
        pattern = r"this team is broken: .*scan\(op=sum_, .* raised ArithmeticError: no more, on rank 1 of the job"
        with pytest.raises(conduit.ConduitError, match=pattern):
            await team.all_reduce(1)
        assert await x.all_reduce(1) == ep.size

    case.run(main)


@pytest.mark.rule("X75")
def test_a_function_cannot_change_its_operands(case: Case) -> None:
    """They are the caller's own array, or on their way to other ranks."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        mine = np.full(4, ep.rank)

        def add_up(left: Any, right: Any) -> Any:
            left += right
            return left

        def first(left: Any, right: Any) -> Any:
            return left

        team = await x.split(0)

        async def calls() -> None:
            await team.scan(mine, add_up)
            await team.all_gather(1)

        if ep.size > 1:
            with pytest.raises((ValueError, conduit.ConduitError), match="read-only"):
                await calls()
        assert (mine == ep.rank).all()
        assert (await x.all_reduce(mine, first) == 0).all()
        assert mine.flags.writeable

    case.run(main)
