"""From the arguments of a call to the memory that it works on: checked when the call is made, built when it begins."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np

import conduit
from extended.collectives.algorithms import check_algorithm, heads_from, pick
from extended.collectives.call import Work
from extended.collectives.operands import (
    ResultBuffer,
    as_bytes,
    check_out,
    check_root,
    check_rows,
    check_writable_out,
    contiguous,
    taken,
)
from extended.collectives.operators import Operator
from extended.collectives.signature import describe, read_description

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from extended.collectives.algorithms.model import Model
    from extended.topology import Topology

    Array = npt.NDArray[Any]


_NUMBERS = {dtype: str(dtype) for dtype in map(np.dtype, np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?")}

NO_ROOT = object()
"""What calls without a root give for it."""


class Members(Protocol):
    """What a plan asks of its team.

    Attributes:
        topology: its ranks by host.
    """

    topology: Topology

    @property
    def rank(self) -> int:
        """Return this rank in the team."""

    @property
    def eager_bytes(self) -> int:
        """Return the largest data that is sent at once."""

    @property
    def model(self) -> Model | None:
        """Return what the network says of itself, None where that is nothing."""


@attrs.frozen(kw_only=True)
class Plan:
    """One call, its arguments checked.

    Attributes:
        kind: the collective.
        build: makes the memory; gives the bytes that were copied for it too.
        root: rank of the team.
        asked: the algorithm that the user named, or "", where all ranks must name the same.
        used: the algorithm, "" where the root tells.
        text: what else must be the same on all ranks.
    """

    kind: str
    build: Callable[[], tuple[Work, int]]
    root: int = 0
    asked: str
    used: str
    text: str = ""


def from_root(team: Members, call: str, kind: str, array: object, root: object, out: Any, algorithm: object) -> Plan:
    """Plan a broadcast or scatter.

    Raises:
        conduit.BadRequest: a wrong argument.
    """
    size = team.topology.size
    number = check_root(call, root, size)
    if out is not None:
        check_writable_out(call, out)
    if team.rank != number:
        named = check_algorithm(kind, algorithm, team.topology, 0, None, team.eager_bytes)
        senders = partial(heads_from, kind, named, team.topology, number, team.rank, team.model)
        return Plan(kind=kind, build=lambda: (_to_come(call, out, senders), 0), root=number, asked="", used="")
    if array is None:
        raise conduit.BadRequest(f"{call}: array=None on the root, rank {number} of the team; give what is to be sent")
    given, is_number = taken(call, array)
    shape = given.shape
    if kind == "scatter":
        check_rows(call, given, size)
        shape, is_number = given.shape[1:], given.ndim == 1
    if out is not None:
        check_out(call, out, given.dtype, shape)
    nbytes = given.nbytes if kind == "broadcast" else given.nbytes // size
    asked = check_algorithm(kind, algorithm, team.topology, nbytes, None, team.eager_bytes)
    try:
        description = describe(given.dtype, shape)
    except ValueError as error:
        raise conduit.BadRequest(f"{call}: array cannot be described to other ranks: {error}; send a view") from None

    def build() -> tuple[Work, int]:
        result = ResultBuffer(given.dtype, shape, out, number=is_number)
        work = Work(made=as_bytes(result.array), result=result)
        work.description, work.number = description, is_number
        if kind == "scatter":
            flat, copied = _private(given, out)
            work.given = as_bytes(flat).reshape(size, nbytes)
            return work, copied
        if result.array is array:
            return work, 0
        as_bytes(result.array)[:] = as_bytes(contiguous(given))
        return work, given.nbytes

    used = asked or pick(kind, team.topology, nbytes, None, team.model)
    return Plan(kind=kind, build=build, root=number, asked="", used=used)


def _to_come(call: str, out: Any, senders: Callable[[], Iterable[int]]) -> Work:
    work = Work()
    work.heads_from = senders

    work.accept = partial(_accept, call, out)
    return work


def _accept(call: str, out: Any, work: Work, description: bytes, number: bool) -> None:
    """Make the memory of a call by its root's description; see `Work.accept`."""
    dtype, shape = read_description(description)
    target = out
    if out is not None:
        try:
            check_out(call, out, dtype, shape)
        except conduit.BadRequest as error:
            # Without its traceback, which would keep this frame, and so the memory, alive.
            work.refused, target = error.with_traceback(None), None
    work.result = ResultBuffer(dtype, shape, target, number=number)
    work.made = as_bytes(work.result.array)


def of_blocks(
    team: Members, call: str, kind: str, array: object, out: Any, algorithm: object, root: object = NO_ROOT
) -> Plan:
    """Plan a gather, all_gather or all_to_all; `root` of a gather.

    Raises:
        conduit.BadRequest: a wrong argument.
    """
    size = team.topology.size
    number = 0 if root is NO_ROOT else check_root(call, root, size)
    given, _ = taken(call, array)
    shape = given.shape if kind == "all_to_all" else (size, *given.shape)
    nbytes = given.nbytes
    if kind == "all_to_all":
        check_rows(call, given, size)
        nbytes //= size
    receives = root is NO_ROOT or team.rank == number
    if out is not None:
        check_out(call, out, given.dtype, shape) if receives else check_writable_out(call, out)
    asked = check_algorithm(kind, algorithm, team.topology, nbytes, None, team.eager_bytes)

    def build() -> tuple[Work, int]:
        flat, copied = _private(given, out if receives else None)
        work = Work(given=as_bytes(flat))
        if kind == "all_to_all":
            work.given = as_bytes(flat).reshape(size, nbytes)
        if receives:
            work.result = ResultBuffer(given.dtype, shape, out, number=False)
            work.made = as_bytes(work.result.array).reshape(size, nbytes)
        return work, copied

    used = asked or pick(kind, team.topology, nbytes, None, team.model)
    text = f"{given.shape}; {_name_of(given.dtype)}"
    return Plan(kind=kind, build=build, root=number, asked=asked, used=used, text=text)


def of_operands(
    team: Members, call: str, kind: str, array: object, op: object, out: Any, algorithm: object, root: object = NO_ROOT
) -> Plan:
    """Plan a reduce, all_reduce or scan; `root` of a reduce.

    Raises:
        conduit.BadRequest: a wrong argument.
    """
    number = 0 if root is NO_ROOT else check_root(call, root, team.topology.size)
    given, is_number = taken(call, array)
    operator = Operator(call, op, given.dtype, given.shape)
    receives = root is NO_ROOT or team.rank == number
    if out is not None:
        check_out(call, out, given.dtype, given.shape) if receives else check_writable_out(call, out)
    asked = check_algorithm(kind, algorithm, team.topology, given.nbytes, operator, team.eager_bytes)

    def build() -> tuple[Work, int]:
        flat, copied = _private(given, out if receives else None)
        work = Work(given=flat.reshape(-1), operator=operator)
        if receives:
            work.result = ResultBuffer(given.dtype, given.shape, out, number=is_number)
            work.made = work.result.array.reshape(-1)
        return work, copied

    used = asked or pick(kind, team.topology, given.nbytes, operator, team.model)
    text = f"op={operator.name}; {given.shape}; {_name_of(given.dtype)}"
    return Plan(kind=kind, build=build, root=number, asked=asked, used=used, text=text)


def _name_of(dtype: np.dtype[Any]) -> str:
    """Return a dtype as text; numpy takes a while to make that of numbers, which nearly every call has."""
    return _NUMBERS.get(dtype) or str(dtype)


def _private(given: Array, out: Any) -> tuple[Array, int]:
    """Return a contribution as contiguous memory that the result does not overwrite, and how many bytes were copied."""
    target = out if isinstance(out, np.ndarray) or out is None else np.asarray(memoryview(out))
    overlaps = target is not None and np.may_share_memory(given, target)
    flat = contiguous(given)
    if overlaps and flat is given:
        flat = as_bytes(given).copy().view(given.dtype).reshape(given.shape)
    return flat, 0 if flat is given else given.nbytes
