"""Requests: what was begun and is waited for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, SupportsIndex

import trio

from conduit import BadRequest, checked_call
from conduit.words import is_a, plain
from conduits.mpi.awaited import not_here
from conduits.mpi.awaited.base import NullComm
from conduits.mpi.awaited.lent import BytesOfCall
from conduits.mpi.awaited.open_requests import OpenRequest, OpenRequests
from conduits.mpi.awaited.process import Process, RequestPlace, TransferComm
from conduits.mpi.awaited.status import UNDEFINED, Status, check_status, check_statuses, error_class
from conduits.mpi.errors import ErrorClass, MpiError


def _with_status(call: str) -> Any:
    def check(self: Request, status: Any = None) -> None:
        if not isinstance(self, Request):
            raise BadRequest(f"Request.{call}: {plain(self)} is no request; write `await request.{call}()`")
        check_status(status, f"Request.{call}")

    return check


def _given(call: str) -> Any:
    """Return the check of a call of several requests that finishes one of them."""

    def check(requests: Any, status: Any = None, **_: Any) -> None:
        check_status(status, f"Request.{call}")
        _checked(requests, f"Request.{call}")

    return check


def _given_statuses(call: str) -> Any:
    """Return the check of a call of several requests that finishes any number of them."""

    def check(requests: Any, statuses: Any = None, **_: Any) -> None:
        _checked(requests, f"Request.{call}")
        check_statuses(statuses, len(requests), f"Request.{call}")

    return check


def _checked(requests: Any, call: str) -> None:
    if isinstance(requests, Request):
        raise BadRequest(f"{call}: requests is a single one; give a list, [request], or `await request.Wait()`")
    if not isinstance(requests, Sequence):
        raise BadRequest(f"{call}: requests={plain(requests)} {is_a(requests)}; give a list of requests")
    for place, request in enumerate(requests):
        if request is None:
            raise BadRequest(f"{call}: requests[{place}] is None; write MPI.REQUEST_NULL in the place of no request")
        if not isinstance(request, Request):
            hint = (
                "a call that was not awaited (write `r = await ...`)" if inspect.iscoroutine(request) else "no request"
            )
            raise BadRequest(f"{call}: requests[{place}] {is_a(request)}, {hint}; give requests")


_PARTS = ("_begun", "_note", "_plain", "_process", "_ranks", "_receives", "_what")


class Request:
    """A send, a receive or a collective that was begun.

    False, and equal to REQUEST_NULL, when it is over and was waited for.

    Args:
        request: one to be the same as; None: the null handle.
    """

    _instead: ClassVar = {
        "await": "write `await request.Wait()`",
        "await []": "write `await MPI.Request.Waitall(requests)`",
        **not_here.OF_REQUESTS,
        **{
            name: f"write `await MPI.Request.{call}(requests)`"
            for call in ("Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome")
            for name in (call.lower(), f"{call[:4].lower()}_{call[4:]}", f"{call[:4]}_{call[4:]}")
        },
        **dict.fromkeys(
            ("completed", "is_complete", "done", "is_done"),
            "write `await request.Test()`, which polls and says whether it is over",
        ),
        "result": "write `await request.Wait()`; what was received is in its buffer",
    }
    _called: ClassVar = "request"

    __slots__ = (*_PARTS, "__weakref__")

    def __init__(self, request: Request | None = None) -> None:
        self._plain: Any = None
        self._process: Process | None = None
        self._what = ""
        self._ranks: Iterable[int] = ()
        self._receives = False
        self._note: Callable[[], object] | None = None
        self._begun: RequestPlace | None = None
        if request is not None:
            for name in _PARTS:
                setattr(self, name, getattr(request, name))

    @classmethod
    def begun(
        cls, process: Process, plain: Any, what: str, ranks: Iterable[int], *, receives: bool = False,
        note: Callable[[], object] | None = None, reads: BytesOfCall = None, writes: BytesOfCall = None,
    ) -> Request:  # fmt: skip
        """Return the handle of what was begun.

        Args:
            process: its rank's.
            plain: the request of the plain interface.
            what: the call and whom it concerns, for reports.
            ranks: whom it waits for; read when a call waits, and when a report is made.
            receives: whether its status is that of a message.
            note: called when a persistent one is started.
            reads: the bytes that it sends, until it is waited for; None for none.
            writes: the bytes that it receives into, likewise.
        """
        made = cls()
        made._process, made._plain, made._what, made._ranks = process, plain, what, ranks
        made._receives, made._note = receives, note
        made._expect()
        if made._begun is not None and not (reads is None and writes is None):
            process.lent.lend(plain, made, made._begun, reads, writes)
        return made

    # -- plain -----------------------------------------------------------------------------------------

    def Get_status(self, status: Status | None = None) -> bool:
        """Return whether it is over; it stays what it is."""
        check_status(status, "Request.Get_status")
        if self._over():
            if self._begun is not None:
                self._of().lent.give_back(self._plain)
            self._fill(status)
            return True
        return False

    def __bool__(self) -> bool:
        return self._plain is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and self._plain is other._plain

    def __hash__(self) -> int:
        return hash(id(self._plain))

    def __repr__(self) -> str:
        over = f"null, was {self._what}" if self._what else "null"
        return f"<{type(self).__name__} {over if self._plain is None else self._what}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Refuse to be copied or pickled, unless it is null.

        Raises:
            TypeError: it is a request.
        """
        if self._plain is None:
            return super().__reduce_ex__(protocol)
        raise TypeError(f"cannot pickle or copy {self!r}: it stays on its rank, as all does that has it")

    # -- one -------------------------------------------------------------------------------------------

    @checked_call(_with_status("Wait"))
    async def Wait(self, status: Status | None = None) -> Literal[True]:
        """Wait until it is over; its handle is null then.

        Raises:
            MpiError: the message was longer than the buffer.
        """
        await _wait([self], all)
        self._finish(status)
        return True

    @checked_call(_with_status("Test"))
    async def Test(self, status: Status | None = None) -> bool:
        """Poll once; return whether it is over.  Then its handle is null."""
        await _poll([self], "Test")
        if not self._over():
            return False
        self._finish(status)
        return True

    @checked_call
    async def Cancel(self) -> None:
        """Ask for its end without a message; it is waited for all the same."""
        plain = self._active("Cancel")
        await self._of().call(plain.Cancel)

    @checked_call
    async def Free(self) -> None:
        """Give the handle up; what is under way goes on."""
        plain = self._active("Free")
        await self._of().call(plain.Free)
        self._null()

    # -- many ------------------------------------------------------------------------------------------

    @staticmethod
    @checked_call(_given_statuses("Waitall"))
    async def Waitall(requests: Sequence[Request], statuses: list[Status] | None = None) -> Literal[True]:
        """Wait until all are over.

        Args:
            requests: any, null ones too.
            statuses: its objects are filled, one for each request; a list gets what it has too few of.

        Raises:
            MpiError: ERR_IN_STATUS where some have failed; which, and why, say the statuses, or the text.
        """
        await _wait(requests, all)
        _finish_all(requests, range(len(requests)), statuses)
        return True

    @staticmethod
    @checked_call(_given_statuses("Testall"))
    async def Testall(requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Poll once; return whether all are over; only then are their handles null."""
        await _poll(requests, "Testall")
        if not all(each._over() for each in requests):
            return False
        _finish_all(requests, range(len(requests)), statuses)
        return True

    @staticmethod
    @checked_call(_given("Waitany"))
    async def Waitany(requests: Sequence[Request], status: Status | None = None) -> int:
        """Wait until one is over; return its place, UNDEFINED where all are null."""
        open_ = [each for each in requests if each._counts()]
        await _wait(open_, any)
        return _finish_one(requests, status)[0]

    @staticmethod
    @checked_call(_given("Testany"))
    async def Testany(requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool]:
        """Poll once; return the place of one that is over, and whether there is one or all are null."""
        await _poll(requests, "Testany")
        return _finish_one(requests, status)

    @staticmethod
    @checked_call(_given_statuses("Waitsome"))
    async def Waitsome(requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """Wait until at least one is over; return the places of those that are, None where all are null."""
        await _wait([each for each in requests if each._counts()], any)
        return _finish_some(requests, statuses)

    @staticmethod
    @checked_call(_given_statuses("Testsome"))
    async def Testsome(requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """Poll once; return the places of those that are over, None where all are null."""
        await _poll(requests, "Testsome")
        return _finish_some(requests, statuses)

    # -- inside ----------------------------------------------------------------------------------------

    @property
    def place(self) -> RequestPlace:
        """The line that has begun it, as long as it was not waited for."""
        assert self._begun is not None
        return self._begun

    def _of(self) -> Process:
        assert self._process is not None
        return self._process

    def _active(self, call: str) -> Any:
        if self._plain is None:
            raise MpiError(ErrorClass.ERR_REQUEST, f"Request.{call}: this request is null")
        return self._plain

    def _over(self) -> bool:
        return self._plain is None or bool(self._plain.over)

    def _counts(self) -> bool:
        """Whether `any` and `some` look at it: null and inactive ones do not count."""
        return self._plain is not None and getattr(self._plain, "begun", True)

    def _fill(self, status: Status | None) -> None:
        if status is None:
            return
        if self._receives and self._counts():
            status.fill(getattr(self._plain, "active", None) or self._plain)
        else:
            status.clear()
            status.error = error_class(self._error())

    def _error(self) -> BaseException | None:
        found: BaseException | None = None if self._plain is None else self._plain.error
        return found

    def _settle(self) -> None:
        """Take note that it was waited for."""
        self._null()

    def _null(self) -> None:
        self._waited()
        self._plain = self._note = None

    def _waited(self) -> None:
        if self._begun is not None:
            process = self._of()
            process.unwaited[self._begun] -= 1
            process.lent.give_back(self._plain)
            self._begun = None

    def _expect(self) -> None:
        """Take note that the program is to wait for it."""
        self._begun = RequestPlace.here(self._what.split()[1])  # "MPI Irecv from rank 1 ..."
        self._of().unwaited[self._begun] += 1

    def _finish(self, status: Status | None) -> None:
        self._fill(status)
        error = self._error()
        self._settle()
        if error is not None:
            raise error


class Prequest(Request):
    """A request that can be begun again and again; waited for, it is inactive, and not null.

    Args:
        request: one to be the same as; None: the null handle.
    """

    __slots__ = ("_comm", "_data")

    def __init__(self, request: Request | None = None) -> None:
        super().__init__(request)
        self._comm: TransferComm | None = getattr(request, "_comm", None)
        self._data: memoryview | None = getattr(request, "_data", None)

    @classmethod
    def of(
        cls, comm: TransferComm, process: Process, plain: Any, what: str, ranks: Iterable[int], *, receives: bool,
        note: Callable[[], object] | None, data: memoryview | None,
    ) -> Prequest:  # fmt: skip
        """Return the handle of what can be begun on a communicator.

        Its bytes are those of `data`, None for none, each time from its start until it is waited for.  The other
        arguments are those of `begun`.
        """
        made = cls.begun(process, plain, what, ranks, receives=receives, note=note)
        assert isinstance(made, Prequest)
        made._comm, made._data = comm, data
        return made

    @checked_call
    async def Start(self) -> None:
        """Begin it.

        Raises:
            MpiError: it was started, and not waited for; or its communicator was freed.
        """
        self._active("Start")
        await self._of().call(self._start, "Start")

    @staticmethod
    @checked_call(_given("Startall"))
    async def Startall(requests: Sequence[Prequest]) -> None:
        """Begin all, in order.

        Raises:
            MpiError: one is null, not persistent, there twice, was started and not waited for, or has a communicator
                that was freed; none is begun then.
        """
        places: dict[int, int] = {}
        for number, each in enumerate(requests):
            each._active("Startall")
            if not isinstance(each, Prequest):
                raise MpiError(
                    ErrorClass.ERR_REQUEST,
                    f"Request.Startall: requests[{number}] ({each._what}) is not persistent; give what Send_init, "
                    "Recv_init and their like have returned",
                )
            earlier = places.setdefault(id(each), number)
            if earlier != number:
                raise MpiError(
                    ErrorClass.ERR_REQUEST,
                    f"Request.Startall: requests[{number}] is requests[{earlier}] once more; give each request once",
                )
            each._can_begin("Startall")

        def start() -> None:
            for each in requests:
                each._start("Startall")

        if requests:
            await requests[0]._of().call(start)

    def _can_begin(self, call: str) -> None:
        if self._plain.begun:
            raise MpiError(ErrorClass.ERR_REQUEST, f"Request.{call}: this request is active{self._where()}")
        comm = None if self._comm is None else self._comm.plain
        if isinstance(comm, NullComm):
            raise MpiError(
                ErrorClass.ERR_COMM,
                f"Request.{call}: the communicator of this request, {self._what.removeprefix('MPI ')}, was freed at "
                f"{comm.at}; free a communicator when its persistent requests are to be started no more",
            )

    def _start(self, call: str) -> None:
        self._can_begin(call)
        self._plain.Start()
        Request._expect(self)
        if self._data is not None:
            self._lend(call, self._data)
        if self._note is not None:
            self._note()

    def _lend(self, call: str, data: memoryview) -> None:
        place = self.place._replace(call=f"{self.place.call} ({call})")  # the line is that of the start
        reads, writes = (None, data) if self._receives else (data, None)
        self._of().lent.lend(self._plain, self, place, reads, writes)

    def _where(self) -> str:
        place = self._begun
        started = "" if place is None else f": it was started at {place.file}:{place.line}"
        return f"{started}; `await` its Wait() before it is started again"

    def _settle(self) -> None:
        if self._plain is not None:
            self._plain.settle()
            self._waited()

    def _expect(self) -> None:
        """It need not be waited for before it is started."""


REQUEST_NULL = Request()


async def _wait(requests: Sequence[Request], enough: Callable[..., bool]) -> None:
    left = [each for each in requests if each._plain is not None]
    if left:
        left[0]._of().tested = None
    over = [each._over() for each in left]  # asked once: on real MPI the answer may change at any time
    if not left or enough(over):
        await _pass_on(left)
        return
    begun = [
        OpenRequest(each._plain, each._what, each._ranks) for each, done in zip(left, over, strict=True) if not done
    ]
    plains = [each._plain for each in left]
    await left[0]._of().wait_for(lambda: enough(plain.over for plain in plains), OpenRequests(begun, sum(over)))


async def finished(request: Request, status: Status | None) -> None:
    """Wait for a request and finish it, as its `Wait` does, in another call of MPI."""
    await _wait([request], all)
    request._finish(status)


async def _poll(requests: Sequence[Request], call: str) -> None:
    for each in requests:
        if each._plain is not None:
            process = each._of()
            process.tested = partial(_still_open, requests, call)
            await process.poll()
            return
    await _pass_on(())


def _still_open(requests: Sequence[Request], call: str) -> str:
    """Say in a report which requests of a test are open by then; "" where it would find what it looks for.

    A program that tests in a loop waits in no call: its report has no other word of them.
    """
    left = [each for each in requests if each._counts()]
    begun = [OpenRequest(each._plain, each._what, each._ranks) for each in left if not each._over()]
    if not begun or (call in ("Testany", "Testsome") and len(begun) < len(left)):
        return ""
    return f"its last {call} was of {OpenRequests(begun, len(left) - len(begun)).words()}"


async def _pass_on(open_: Sequence[Request]) -> None:
    """Let others go on where a call has nothing to wait for: a loop of such calls would keep all else from running.

    Args:
        open_: those of its requests that are not null.
    """
    if not any(each._counts() for each in open_):
        await trio.lowlevel.checkpoint()


def _finish_one(requests: Sequence[Request], status: Status | None) -> tuple[int, bool]:
    """Finish the first that is over; return its place and True, or UNDEFINED and whether none counts."""
    counted = [place for place, each in enumerate(requests) if each._counts()]
    for place in counted:
        if requests[place]._over():
            requests[place]._finish(status)
            return place, True
    if status is not None:
        status.clear()
    return UNDEFINED, not counted


def _finish_some(requests: Sequence[Request], statuses: list[Status] | None) -> list[int] | None:
    counted = [place for place, each in enumerate(requests) if each._counts()]
    if not counted:
        return None
    over = [place for place in counted if requests[place]._over()]
    _finish_all(requests, over, statuses)
    return over


def _finish_all(requests: Sequence[Request], places: Sequence[int], statuses: list[Status] | None) -> None:
    """Finish those at `places`; the first objects of `statuses` are filled, one for each of them."""
    errors: dict[int, BaseException] = {}
    filled = [] if statuses is None else statuses
    while len(filled) < len(places):  # never a tuple: it was refused
        filled.append(Status())
    for place, status in zip(places, filled, strict=False):
        request = requests[place]
        request._fill(status)
        error = request._error()
        request._settle()
        if error is not None:
            errors[place] = error
            status.error = error_class(error)
    if errors:
        place, error = next(iter(errors.items()))
        raise MpiError(
            ErrorClass.ERR_IN_STATUS, f"{len(errors)} of {len(places)} requests have failed; request {place}: {error}"
        ) from error
