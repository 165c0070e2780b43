"""Communicators, and how new ones are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

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
        return await self._made("Dup", self.plain.group, self._named("a duplicate"))

    @checked_call(_alone("Clone"))
    async def Clone(self) -> Comm:
        """As `Dup`."""
        return await self._made("Clone", self.plain.group, self._named("a duplicate"))

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
        members = group.members
        made = await self._made("Create", members, self._named(_part(members)))
        return made if self._running().rank in members else COMM_NULL

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

        def agree() -> Any:
            channel = CollectiveChannel(plain, plain.GROUP, tag, hosts, process, members)
            return process.library.schedule(_agreement(process.library, channel), "Create_group")

        try:
            _, context = await self._all(agree, "Create_group", group.members)
        except BaseException as error:  # which leaves this communicator as it is
            self._failed(RequestPlace.here("Create_group"), error)
            raise
        return await self._of(group.members, context, self._named(_part(group.members)))

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

    async def _agreed(self, call: str, color: int, key: int) -> tuple[list[tuple[int, ...]], int]:
        """Return what every rank has told of color and key, and the context of the new communicator."""
        library = self._running().library
        agreed: tuple[list[tuple[int, ...]], int] = await self._run(
            call, Beginning(lambda channel: _agreement(library, channel, color, key), Given(_ENTRY.size))
        )
        return agreed

    async def _made(self, call: str, group: Sequence[int], name: str) -> Comm:
        _, context = await self._agreed(call, 0, 0)
        return await self._of(group, context, name)

    async def _split(self, call: str, color: int, key: int, kind: str) -> Comm:
        told, context = await self._agreed(call, color, key)
        chosen = sorted((their_key, rank) for rank, (its, their_key) in enumerate(told) if its == color)
        world = self.plain.group
        made = await self._of([world[rank] for _, rank in chosen], context, self._named(kind))
        return COMM_NULL if color == UNDEFINED else made

    async def _of(self, group: Sequence[int], context: int, name: str) -> Comm:
        """Return the communicator of a group with a context that all have agreed upon."""
        process = self._running()
        plain = await process.make(tuple(group), context, name)
        return COMM_NULL if plain is None else self._like(plain)

    def _like(self, plain: Any) -> Comm:
        """Return this rank's handle of a new communicator, of the kind that this one is."""
        return Comm(self.process, plain)


def _agreement(library: Any, channel: CollectiveChannel, *mine: int) -> Steps:
    """Agree upon the context of a new communicator, and tell each other a color and a key where they are given.

    It ends by itself, also where its caller was cancelled: only then does this rank propose ordinary numbers again.

    Returns:
        what each rank has told of color and key, and the context.
    """
    form = _ENTRY if mine else _CONTEXT
    taken = first = library.next_context()
    try:
        came = yield from all_gather_bytes(channel, form.pack(*mine, first))
        told = [form.unpack(each) for each in came]
        taken = max(context for *_, context in told)
    finally:
        library.agreed(taken)  # where it has failed, this rank's proposal: another may have taken it
    return [tuple(given) for *given, _ in told], taken


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
