"""The port of a rank of which somebody listens to what it does, in real time: as the plain one, and tells.

What its CPU does is told from where its tasks are: in a call, in a handler, in code of the program's own ("compute"),
or waiting, and then the clock polls.

A message has no identity on its way, and does not get longer.  A slot holds one request at a time, and its reply; so
sender and receiver count the requests of a slot alike, and what either has counted gives each its identity when the job
is over (`Counted`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import attrs
import trio

from conduit.contract import REQUEST, Hooks, Identity, Message
from conduit.wall.port import Posted, WallPort
from conduit.wall.waiting import WallWait

_OF_RANK: ContextVar[WallPort | None] = ContextVar("conduit.wall.of_rank", default=None)
"""Whose task it is, of the program's tasks."""


@attrs.define
class Counted:
    """What one rank has counted of the requests in its slots.

    Attributes:
        sent: by receiver and slot, the numbers (`Identity.number`) of the requests that were sent in it, in order.
        came: of every request that came, in order: its sender, the slot there, and how many had come in that before.
    """

    sent: dict[tuple[int, object], list[int]] = attrs.Factory(dict)
    came: list[tuple[int, object, int]] = attrs.Factory(list)


class _Identities:
    """Gives arrived messages their identities, requests one that stands for a place in `Counted.came`."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self.counted = Counted()
        self._open: dict[tuple[int, object], Identity] = {}  # by receiver and slot, what was sent in it last
        self._nth: defaultdict[tuple[int, object], int] = defaultdict(int)  # by sender and slot

    def sent(self, dest: int, slot: object, identity: Identity) -> None:
        """Take note of a request."""
        key = dest, slot
        self._open[key] = identity
        self.counted.sent.setdefault(key, []).append(identity.number)

    def arrived(self, message: Message) -> Identity:
        """Return that of a message that has come."""
        key = message.source, message.slot
        if not message.word & REQUEST:
            return self._open[key]._replace(reply=True)
        came = self.counted.came
        came.append((*key, self._nth[key]))
        self._nth[key] += 1
        return Identity(message.source, self._rank, -len(came))


def found_number(rank: int, number: int, counted: Callable[[int], Counted | None]) -> int:
    """Return the number of a request as its sender has numbered it; negative where that is not known.

    Args:
        rank: who tells of it.
        number: as it was told there.
        counted: returns what a rank has counted, None where that is not known.
    """
    mine = counted(rank)
    if number >= 0 or mine is None:
        return number
    source, slot, nth = mine.came[-number - 1]
    its = counted(source)
    numbers = () if its is None else its.sent.get((rank, slot), ())
    return numbers[nth] if nth < len(numbers) else number


def observe(port: WallPort, hooks: Hooks) -> None:
    """Let a port that has not started yet tell what it does."""
    port.__class__ = _observed_port(type(port))
    assert isinstance(port, _Telling)
    port.listen(hooks)


def counted_of(port: WallPort) -> Counted:
    """Return what a port that tells has counted."""
    assert isinstance(port, _Telling)
    return port.identities.counted


@cache
def _observed_port(plain: type[WallPort]) -> type[_Telling]:
    return type(plain.__name__, (_Telling, plain), {"__module__": plain.__module__})


class _Cpu:
    """How a CPU spends its time: on one thing after the other.

    Args:
        rank: the rank.
        spent: is told of every span.
    """

    __slots__ = ("_rank", "_since", "_spent", "why")

    def __init__(self, rank: int, spent: Callable[..., object]) -> None:
        self._rank = rank
        self._spent = spent
        self._since = 0
        self.why = ""

    def turn(self, why: str, now: int) -> None:
        """Spend the time from now on on something else, "": nothing."""
        if why != self.why:
            if self.why and now > self._since:
                self._spent(self._rank, self._since, now, self.why)
            self.why, self._since = why, now


class _Steps(trio.abc.Instrument):
    """Tells a port which task runs.  Its hooks must not raise (I7)."""

    def __init__(self, port: _Telling) -> None:
        self._port = port

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """A task goes on."""
        self._port.turn_to(task)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Trio's own loop goes on, and polls for tasks that wait."""
        self._port.turn_to(None)


@attrs.define
class _Waiting:
    """What a call may have to wait for."""

    what: str
    ranks: Sequence[int]
    told: bool = False


class _Telling(WallPort):
    """What a port does where somebody listens."""

    def listen(self, hooks: Hooks) -> None:
        """Tell `hooks` from now on."""
        self._hooks = hooks
        self._cpu = _Cpu(self.rank, hooks.spent or _nobody)
        self.identities = _Identities(self.rank)
        self._calls: dict[trio.lowlevel.Task, int] = {}  # of each task, within one another
        self._waiting: dict[trio.lowlevel.Task, list[_Waiting]] = {}
        self._between = "compute"  # what tasks do outside of calls
        self._looking = ""  # what the pass is in that goes on

    # -- CPU time ------------------------------------------------------------------------------------

    def turn_to(self, task: trio.lowlevel.Task | None) -> None:
        """The CPU's time is from now on what `task` spends, None: no task runs."""
        self._cpu.turn(self._does(task), self.clock.now)

    def _does(self, task: trio.lowlevel.Task | None) -> str:
        """Return what the CPU's time is spent on while a task runs, when it is in no message."""
        if task is None or task.context.get(_OF_RANK) is not self:
            return "waiting" if self._blocked else ""
        if task not in self._calls:
            return self._between
        waiting = self._waiting.get(task)
        return "waiting" if waiting and waiting[-1].told else "polling"

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Let the time inside be that of a call."""
        task, calls = trio.lowlevel.current_task(), self._calls
        calls[task] = calls.get(task, 0) + 1
        self.turn_to(task)
        try:
            yield
        finally:
            calls[task] -= 1
            if not calls[task]:
                del calls[task]
            self.turn_to(task)

    async def start(self) -> None:
        _OF_RANK.set(self)
        trio.lowlevel.add_instrument(_Steps(self))
        self._between = "start"
        self._cpu.turn("start", 0)
        await super().start()
        self.shorten(self.take, self.send_request, self.send_reply)
        self._between = "compute"
        self.turn_to(trio.lowlevel.current_task())

    def close(self) -> None:
        self._cpu.turn("", self.clock.now)
        super().close()

    async def request(self, dest: int, message: Message) -> None:
        with self._call():
            await super().request(dest, message)

    async def poll(self) -> None:
        with self._call():
            await super().poll()

    async def allgather(self, data: bytes) -> Sequence[bytes]:
        with self._call():
            return await super().allgather(data)

    async def serve(self) -> None:
        with self._call():
            await super().serve()

    async def block_until(self, predicate: Callable[[], object], what: str, ranks: Iterable[int]) -> None:
        with self._call(), self._may_wait(what, tuple(ranks)):  # those by now; a report reads them anew
            await super().block_until(predicate, what, ranks)

    def handler_context(self) -> Callable[..., Any] | None:
        self._cpu.turn("handler", self.clock.now)
        return super().handler_context()

    def _pass(self, *args: int) -> None:
        self._looking = self._does(self.clock.task)
        super()._pass(*args)
        self._cpu.turn(self._looking, self.clock.now)

    # -- waits ---------------------------------------------------------------------------------------

    @contextmanager
    def _may_wait(self, what: str, ranks: Sequence[int]) -> Iterator[None]:
        """Say what a wait inside is for, if there is one."""
        task = trio.lowlevel.current_task()
        mine = self._waiting.setdefault(task, [])
        mine.append(_Waiting(what, ranks))
        try:
            yield
        finally:
            own = mine.pop()
            if own.told:
                self._tell(self._hooks.resumed, task)
            if not mine:
                del self._waiting[task]
            elif own.told and mine[-1].told:  # goes on with that
                self._tell(self._hooks.blocked, task, mine[-1].what, mine[-1].ranks)

    def _tell(self, hook: Callable[..., object] | None, *what: object) -> None:
        if hook is not None:
            hook(self.rank, self.clock.now, *what)

    async def _wait(self, blocked: WallWait) -> Any:
        with self._may_wait(blocked.what, blocked.peers()):
            return await super()._wait(blocked)

    async def _spin(self, ready: Callable[[], object]) -> object:
        task = trio.lowlevel.current_task()
        *outer, own = self._waiting[task]
        if not own.told:
            if outer and outer[-1].told:
                self._tell(self._hooks.resumed, task)
            own.told = True
            self._tell(self._hooks.blocked, task, own.what, own.ranks)
            self.turn_to(task)
        return await super()._spin(ready)

    # -- messages ------------------------------------------------------------------------------------

    def shorten(
        self,
        take: Callable[[], Message | None],
        send_request: Callable[[int, Any, Message], Posted],
        send_reply: Callable[[Message, Message], None],
    ) -> None:
        super().shorten(self._telling_take(take), self._telling_request(send_request), self._telling_reply(send_reply))

    def _telling_take(self, take: Callable[[], Message | None]) -> Callable[[], Message | None]:
        cpu, clock, hooks, identities = self._cpu, self.clock, self._hooks, self.identities

        def telling() -> Message | None:
            begin = clock.now
            cpu.turn(self._looking, begin)
            message = take()
            if message is not None:
                cpu.turn("receive", begin)
                if hooks.messages:
                    message.identity = identities.arrived(message)
                    if hooks.noticed is not None:  # not `begin`: others may have had the processor in between
                        hooks.noticed(message.identity, clock.now)
            return message

        return telling

    def _telling_request(self, send: Callable[[int, Any, Message], Posted]) -> Callable[[int, Any, Message], Posted]:
        def telling(dest: int, slot: Any, message: Message) -> Posted:
            if self._hooks.messages:
                self.identities.sent(dest, self.slot_number(slot), message.identity)
            self._cpu.turn("send", self.clock.now)
            posted = send(dest, slot, message)
            self.turn_to(self.clock.task)
            return posted

        return telling

    def _telling_reply(self, send: Callable[[Message, Message], None]) -> Callable[[Message, Message], None]:
        def telling(request: Message, reply: Message) -> None:
            self._cpu.turn("reply", self.clock.now)
            send(request, reply)
            if self._hooks.sent is not None and not reply.is_auto_reply:
                now = self.clock.now
                self._hooks.sent(reply.identity, reply.begun, now, reply.word >> 9 & 3, reply.nbytes)

        return telling


def _nobody(*what: object) -> None:
    """Listen to nothing."""
