"""Communicators, and how new ones are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, TypeAlias

from conduit import BadRequest, checked_call
from conduit.words import is_a
from conduit.words import plain as plain_
from conduits.mpi.awaited.base import NullComm
from conduits.mpi.awaited.buffers import span, whole
from conduits.mpi.awaited.collective import Beginning, Collective
from conduits.mpi.awaited.group import Group
from conduits.mpi.awaited.peers import ranks_in_words
from conduits.mpi.awaited.point_to_point import PointToPoint
from conduits.mpi.awaited.process import RequestPlace, current
from conduits.mpi.awaited.same_calls import Given
from conduits.mpi.awaited.status import UNDEFINED
from conduits.mpi.collectives.channel import CollectiveChannel, Steps, all_gather_bytes
from conduits.mpi.errors import ErrorClass, MpiError

COMM_TYPE_SHARED = 1
_ENTRY = Struct("<qqQ")  # color, key, the lowest context that a rank has not used
_CONTEXT = Struct("<Q")
_FAR = 1 << 62
"""Bound of colors and keys."""
_MADE_AT = " (made at "
_Chosen: TypeAlias = Callable[[Sequence[tuple[int, ...]]], Sequence[int]]


def _splitting(self: Comm, color: int = 0, key: int = 0) -> tuple[Any, ...]:
    if color is None:
        raise BadRequest("Comm.Split: color=None; for a rank that is to be in none write MPI.UNDEFINED")
    number = whole(color, "Comm.Split: color", low=-_FAR, high=_FAR)
    if number < 0 and number != UNDEFINED:
        raise MpiError(ErrorClass.ERR_ARG, f"Comm.Split: color={number} is negative; use 0 or more, or MPI.UNDEFINED")
    self._alive("Split")
    return self, number, whole(key, "Comm.Split: key", low=-_FAR, high=_FAR)


def _splitting_type(self: Comm, split_type: int, key: int = 0, info: Any = None) -> tuple[Any, ...]:
    if split_type not in (COMM_TYPE_SHARED, UNDEFINED):
        raise MpiError(
            ErrorClass.ERR_ARG, f"Comm.Split_type: split_type={split_type!r} is not here; use MPI.COMM_TYPE_SHARED"
        )
    self._alive("Split_type")
    return self, split_type, whole(key, "Comm.Split_type: key", low=-_FAR, high=_FAR), info


def _check_part(call: str, self: Comm, group: Any) -> None:
    """Refuse what is no group of processes of this communicator."""
    own = self._alive(call).group
    if not isinstance(group, Group):
        ranks = plain_(group) if isinstance(group, list | tuple | range) else "ranks"
        raise MpiError(
            ErrorClass.ERR_GROUP,
            f"Comm.{call}: group={plain_(group)} {is_a(group)} and no group; give comm.Get_group().Incl({ranks})",
        )
    foreign = [each for each in group.members if each not in own]
    if foreign:
        raise MpiError(ErrorClass.ERR_GROUP, f"Comm.{call}: ranks {foreign} of the world are not in {self.Get_name()}")


def _creating(self: Comm, group: Any) -> tuple[Any, ...]:
    _check_part("Create", self, group)
    return self, group


def _creating_group(self: Comm, group: Any, tag: int = 0) -> tuple[Any, ...]:
    _check_part("Create_group", self, group)
    return (self, group) if tag == 0 else (self, group, self._tag(tag, "Create_group"))


def _duplicating(self: Comm, info: Any = None) -> None:
    self._alive("Dup")


def _alone(call: str) -> Callable[[Comm], None]:
    def check(self: Comm) -> None:
        self._alive(call)

    return check


class Comm(PointToPoint, Collective):
    """A communicator."""

    __slots__ = ()

    @classmethod
    def of(cls, plain: Any) -> Comm:
        """Return the running rank's handle of a plain communicator."""
        return cls(current("Comm"), plain)

    # -- the buffer of buffered sends --------------------------------------------------------------------

    def Attach_buffer(self, buf: Any) -> None:
        """Give a buffer for buffered sends, of this rank in all communicators."""
        attach_buffer(buf)

    @checked_call
    async def Detach_buffer(self) -> Any:
        """Wait until all messages in the buffer are away; return it."""
        return await detach_buffer()

    # -- new communicators -------------------------------------------------------------------------------

    @checked_call(_duplicating)
    async def Dup(self, info: Any = None) -> Comm:
        """Return another one of the same processes; collective."""
        return await self._made("Dup", _all_of(self.plain.group), "a duplicate")

    @checked_call(_alone("Clone"))
    async def Clone(self) -> Comm:
        """As `Dup`."""
        return await self._made("Clone", _all_of(self.plain.group), "a duplicate")

    @checked_call(_splitting)
    async def Split(self, color: int = 0, key: int = 0) -> Comm:
        """Return one of those that give the same color, in the order of their keys; collective.

        With color UNDEFINED the null communicator.
        """
        return await self._split("Split", color, key, f"the part of color {color}")

    @checked_call(_splitting_type)
    async def Split_type(self, split_type: int, key: int = 0, info: Any = None) -> Comm:
        """Return one of those that share this rank's host (COMM_TYPE_SHARED); collective."""
        process = self._running()
        host = process.hosts[process.rank]
        color = UNDEFINED if split_type == UNDEFINED else host
        return await self._split("Split_type", color, key, f"the part on host {host}")

    @checked_call(_creating)
    async def Create(self, group: Group) -> Comm:
        """Return one of a group; collective over all of this one, those outside get the null communicator."""
        return await self._made("Create", _all_of(group.members), _part(group.members))

    @checked_call(_creating_group)
    async def Create_group(self, group: Group, tag: int = 0) -> Comm:
        """Return one of a group; collective over the group alone.

        Raises:
            MpiError: this rank is not in it.
        """
        process, plain = self._running(), self._alive("Create_group")
        if process.rank not in group.members:
            return COMM_NULL
        members = [plain.group.index(each) for each in group.members]
        hosts = [process.hosts[each] for each in group.members]
        chosen, name = _all_of(group.members), self._named(_part(group.members))

        def begin() -> Any:
            channel = CollectiveChannel(plain, plain.GROUP, tag, hosts, process, members)
            return process.library.schedule(_making(process.library, channel, chosen, name), "Create_group")

        try:
            made = await self._all(begin, "Create_group", group.members)
        except BaseException as error:  # which leaves this communicator as it is
            self._failed(RequestPlace.here("Create_group"), error)
            raise
        return self._handle(made)

    @checked_call(_alone("Free"))
    async def Free(self) -> None:
        """Give it back; collective.  The handle is null then; what was begun in it goes on."""
        plain = self.plain
        if self in self._running().handles.values():
            raise MpiError(ErrorClass.ERR_COMM, f"Comm.Free: {plain.name} cannot be freed")
        await self._running().call(plain.Free)
        place = RequestPlace.here("Free")
        at = f"{place.file}:{place.line}"
        self.plain = NullComm(f", {plain.name}, was freed at {at}", plain, at)

    # -- inside ------------------------------------------------------------------------------------------

    def _named(self, kind: str) -> str:
        """Return the name of one that is made of this one, with the line of the program, which tells it apart."""
        place = RequestPlace.here("")
        return f"{kind} of {self._known().name.partition(_MADE_AT)[0]}{_MADE_AT}{place.file}:{place.line})"

    async def _made(self, call: str, chosen: _Chosen, kind: str, color: int = 0, key: int = 0) -> Comm:
        """Return a communicator that all processes of this one make together."""
        library, name = self._running().library, self._named(kind)
        return self._handle(
            await self._run(
                call,
                Beginning(lambda channel: _making(library, channel, chosen, name, color, key), Given(_ENTRY.size)),
            )
        )

    async def _split(self, call: str, color: int, key: int, kind: str) -> Comm:
        world = self.plain.group

        def chosen(told: Sequence[tuple[int, ...]]) -> list[int]:
            if color == UNDEFINED:
                return []
            order = sorted((their_key, rank) for rank, (its, their_key) in enumerate(told) if its == color)
            return [world[rank] for _, rank in order]

        return await self._made(call, chosen, kind, color, key)

    def _handle(self, made: Any) -> Comm:
        """Return the handle of what `_making` has made."""
        if isinstance(made, MpiError):
            raise made
        return COMM_NULL if made is None else self._like(made)

    def _like(self, plain: Any) -> Comm:
        """Return this rank's handle of a new communicator, of the kind that this one is."""
        return Comm(self.process, plain)


def _all_of(group: Sequence[int]) -> _Chosen:
    """Return what chooses these ranks of the job, whatever they have told one another."""
    return lambda told: group


def _making(library: Any, channel: CollectiveChannel, chosen: _Chosen, name: str, *mine: int) -> Steps:
    """Make a communicator: agree upon its context, and tell each other a color and a key where they are given.

    It goes on to its end where its caller was cancelled: real MPI lets the others wait for this rank's part in it.

    Args:
        library: the rank's.
        channel: of those who agree.
        chosen: the ranks of the job that are in it with this one, of what each has told.
        name: of the communicator.
        mine: color and key; none where nobody has any.

    Returns:
        the plain communicator, None where this rank is in none; the error where MPI makes none, which leaves the one
        that it is made of as it is.
    """
    form = _ENTRY if mine else _CONTEXT
    taken = first = library.next_context()
    try:
        came = yield from all_gather_bytes(channel, form.pack(*mine, first))
        told = [form.unpack(each) for each in came]
        taken = max(context for *_, context in told)
    finally:
        library.agreed(taken)  # where it has failed, this rank's proposal: another may have taken it
    try:
        return (yield from library.make(tuple(chosen([tuple(given) for *given, _ in told])), taken, name))
    except MpiError as error:
        return error


def _part(members: Sequence[int]) -> str:
    """Return in words what part of a communicator these ranks of the job are."""
    return f"the part of {ranks_in_words(members)}" if members else "a part of no rank"


COMM_NULL = Comm()


def attach_buffer(buf: Any) -> None:
    """Give a buffer for buffered sends to the running rank."""
    where = span(buf, "Attach_buffer: buf", writable=True)
    current("Attach_buffer").library.buffer.attach(buf, where.view)


@checked_call
async def detach_buffer() -> Any:
    """Wait until all messages in the running rank's buffer are away; return it.

    Raises:
        MpiError: there is none, or another task has detached it meanwhile.
    """
    process = current("Detach_buffer")
    buffer = process.library.buffer
    while True:
        if buffer.attached is None:
            raise MpiError(ErrorClass.ERR_BUFFER, "Detach_buffer: no buffer is attached")
        if buffer.empty():
            return buffer.detach()
        await process.wait(buffer.empty, "MPI Detach_buffer: messages in the buffer to be sent", ())
        # Meanwhile another task may have detached it, or sent more.
