"""Communication contexts: which operations a fence or quiet is about.

A context keeps the handles of its operations.  A quiet waits for all of them, a fence for the puts, since Active
Messages have no order.  Where operations are native both are the network's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

import conduit
from extended.front_ends import integer, public, shown
from extended.left_behind import LeftBehind
from extended.shmem.teams import ShmemTeam, check_team

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from types import TracebackType

    from extended import Extended, Handle

_ENOUGH = 64
"""How many handles are kept before those that are done are dropped."""
_LEFT = "puts and gets that main has left"
"""What is waited for where the program's last call is over."""


class OperationStream:
    """The operations that were begun on one context and are not known to be complete.

    Args:
        x: the extended layer.
        team: in which the context counts PEs.

    Attributes:
        left: what cancelled tasks have left under way, which is completed with the others.
    """

    def __init__(self, x: Extended, team: ShmemTeam) -> None:
        self.x = x
        self.team = team
        self.ended = False
        self._puts: list[Handle[Any]] = []
        self._gets: list[Handle[Any]] = []
        self._unordered: dict[int, list[Handle[Any]]] = {}
        self._enough = _ENOUGH
        self.left = LeftBehind(x)

    @property
    def over(self) -> bool:
        """Whether it was ended, and all that was begun on it is complete, as it is not while its end waits for that."""
        return self.ended and not (self._puts or self._gets or self.left.some)

    def put(self, handle: Handle[Any], dest: int) -> None:
        """Take note of a put, and to which rank a fence must order it."""
        self._puts.append(handle)
        self._unordered[dest] = [*self._unordered.pop(dest, ()), handle]
        self._forget()

    def get(self, handle: Handle[Any]) -> None:
        """Take note of a get."""
        self._gets.append(handle)
        self._forget()

    def _forget(self) -> None:
        # The limit doubles with what is left, so that a put costs a constant time on average.
        if len(self._puts) + len(self._gets) > self._enough:
            self._drop_complete()
            self._enough = 2 * (len(self._puts) + len(self._gets)) + _ENOUGH

    def _drop_complete(self) -> None:
        """Keep the handles that are not done, those that other tasks have begun meanwhile or wait for too."""
        self._puts = [handle for handle in self._puts if not handle.done]
        self._gets = [handle for handle in self._gets if not handle.done]
        self._unordered = {
            dest: left
            for dest, handles in self._unordered.items()
            if (left := [handle for handle in handles if not handle.done])
        }

    async def order(self, call: str) -> None:
        """Order the puts: by the network's own fences, else by completing them, since messages have no order.

        Args:
            call: that asks for it, which reports name while it waits.
        """
        rma = self.x.ep.rma
        await self.left.complete()
        if rma is None:
            await self.x.wait_all(self._puts, called=call)
            self._drop_complete()
            return
        await self.x.ep.poll()
        # A fence that finds nothing put has its price as well: to oneself, since no rank is meant.
        dests = list(self._unordered) or [self.x.ep.rank]
        for dest in dests:
            ordered = self._unordered.get(dest, [])
            # Complete puts need no fence, but a call that finds all complete has its price as well.
            if dest == dests[-1] or not all(handle.done for handle in ordered):
                await rma.fence(dest)
            known = set(map(id, ordered))
            if left := [handle for handle in self._unordered.pop(dest, ()) if id(handle) not in known]:
                self._unordered[dest] = left  # another task has begun them meanwhile

    async def quiet(self, call: str) -> None:
        """Complete all that was begun, as a call of its own: the network's quiet, where it has one, has a price.

        Args:
            call: as of `order`.
        """
        rma = self.x.ep.rma
        if rma is not None:
            await rma.quiet()
        await self.complete(call)

    async def complete(self, call: str) -> None:
        """Complete all that was begun, as a part of another call; `call` as of `order`."""
        await self.left.complete()
        # They stay here until they are complete: for another task of this PE, and where this one is cancelled.
        await self.x.wait_all(self._puts + self._gets, called=call)
        self._drop_complete()


class Ctx:
    """A communication context; get one by ``await pe.Ctx.create()`` or ``await team.create_ctx()``.

    Args:
        stream: its operations; None of the invalid one.
        default: whether it is the one of calls that name none.
    """

    def __init__(self, stream: OperationStream | None = None, *, default: bool = False) -> None:
        self._stream = stream
        self._default = default

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ctx) and self._live() is other._live()

    def __hash__(self) -> int:
        return hash(id(self._live()))

    def __bool__(self) -> bool:
        return self._live() is not None

    def __repr__(self) -> str:
        kind = "default" if self._default else "open" if self else "invalid"
        return f"<Ctx {kind}>"

    def _live(self) -> OperationStream | None:
        return None if self._stream is None or self._stream.ended else self._stream

    def alias(self) -> Ctx:
        """Return another handle of the same context."""
        return Ctx(self._stream, default=self._default)

    def stream(self, call: str) -> OperationStream:
        """Return its operations.

        Raises:
            conduit.BadRequest: invalid, or destroyed.
        """
        found = self._live()
        if found is None:
            why = "is invalid" if self._stream is None else "was destroyed"
            raise conduit.BadRequest(f"{call}: the context {why}; make one with `await pe.Ctx.create()`")
        return found

    def get_team(self) -> ShmemTeam:
        """Return the team in which it counts PEs; plain."""
        return self.stream("ctx.get_team").team.alias()

    @public("ctx")
    def fence(self) -> Any:
        """Order the puts that were begun on it before those that follow."""
        return self.stream("ctx.fence").order("ctx.fence")

    @public("ctx")
    def quiet(self) -> Any:
        """Complete what was begun on it."""
        return self.stream("ctx.quiet").quiet("ctx.quiet")

    @public("ctx")
    def destroy(self) -> Any:
        """Complete what was begun on it, and end it and all its aliases; the default one stays."""
        return self._destroy(self._live())

    async def _destroy(self, stream: OperationStream | None) -> None:
        if stream is not None:
            if not self._default:
                stream.ended = True
            with trio.CancelScope(shield=True):  # it could not be called again
                await stream.complete("ctx.destroy")

    async def __aenter__(self) -> Ctx:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._destroy(self._live())


class CtxMaker:
    """What ``pe.Ctx`` is: ``pe.Ctx(c)`` gives an alias of a context, ``await pe.Ctx.create()`` makes one.

    Args:
        x: the extended layer.
        world: the team of all PEs.

    Attributes:
        default: the context of calls that name none.
    """

    def __init__(self, x: Extended, world: ShmemTeam) -> None:
        self._x = x
        self._world = world
        self._streams = [OperationStream(x, world)]
        self.default = Ctx(self._streams[0], default=True)

    def __call__(self, ctx: Ctx | None = None) -> Ctx:
        """Return an alias of a context, an invalid one of None.

        Raises:
            conduit.BadRequest: no context.
        """
        if ctx is None:
            return Ctx()
        if not isinstance(ctx, Ctx):
            raise conduit.BadRequest(f"pe.Ctx: ctx={shown(ctx)} is no context; give one, or None")
        return ctx.alias()

    @public("pe.Ctx")
    def create(self, options: Any = 0, team: ShmemTeam | None = None) -> Coroutine[Any, Any, Ctx]:
        """Make a context.

        Args:
            options: of `CTX`; they change nothing.
            team: in which it counts PEs; None for all.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        call = "pe.Ctx.create"
        return self.make(call, options, self._world if team is None else check_team(call, team))

    def make(self, call: str, options: Any, team: ShmemTeam) -> Coroutine[Any, Any, Ctx]:
        """Return a coroutine that makes a context."""
        integer(call, "options", options, 0, 7, "0, or some of CTX")
        team.members(call)

        async def create() -> Ctx:
            await self._x.ep.poll()
            stream = OperationStream(self._x, team.alias())
            self._streams = [*(each for each in self._streams if not each.over), stream]
            return Ctx(stream)

        return create()

    async def finish(self) -> None:
        """Complete what a program that has returned has left on its contexts."""
        for stream in self._streams:
            await stream.complete(_LEFT)
