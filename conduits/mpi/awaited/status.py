"""What is known of a message that was received."""

from __future__ import annotations

from typing import Any

from conduit import BadRequest
from conduit.words import is_a, plain
from conduits.mpi.awaited.buffers import datatype_of, of_mpi4py, whole
from conduits.mpi.awaited.datatypes import BYTE, Datatype
from conduits.mpi.engine.transfer import ANY_SOURCE, ANY_TAG
from conduits.mpi.errors import ErrorClass

UNDEFINED = -32766


def check_status(status: Any, call: str, name: str = "status") -> None:
    """Refuse what a program gives as `status` to a call, where it is no `Status`.

    Args:
        status: as given; None: none is wanted.
        call: in words.
        name: the argument.

    Raises:
        BadRequest: it is none.
    """
    if status is None or isinstance(status, Status):
        return
    if of_mpi4py(status):
        raise BadRequest(f"{call}: {name} is of mpi4py itself; write `from conduits.mpi import MPI` at the top")
    if status is Status:
        raise BadRequest(f"{call}: {name}=MPI.Status is the class; give an object of it, {name}=MPI.Status()")
    raise BadRequest(f"{call}: {name}={plain(status)} {is_a(status)}; give an object, {name}=MPI.Status()")


def check_statuses(statuses: Any, requests: int, call: str) -> None:
    """Refuse what a program gives as `statuses` to a call of several requests, where it cannot be filled.

    Args:
        statuses: as given.
        requests: how many requests there are.
        call: in words.

    Raises:
        BadRequest: it is neither None nor a list, or a tuple that is long enough, of `Status`.
    """
    if statuses is None:
        return
    if not isinstance(statuses, list | tuple):
        raise BadRequest(f"{call}: statuses={plain(statuses)} {is_a(statuses)}; give a list, which may be empty")
    for place, status in enumerate(statuses):
        if status is None:
            raise BadRequest(f"{call}: statuses[{place}] is None; give MPI.Status(), or an empty list")
        check_status(status, call, f"statuses[{place}]")
    if isinstance(statuses, tuple) and len(statuses) < requests:
        raise BadRequest(
            f"{call}: statuses is a tuple of {len(statuses)}, and there are {requests} requests; give a list, "
            "which gets what it has too few of"
        )


class Status:
    """What is known of a message, or of the end of a request.

    Attributes:
        source: the sender's rank in the communicator.
        tag: of the message.
        error: the class of the error, SUCCESS for none.
        count: bytes of the message.
        cancelled: whether it ended without a message.
    """

    __slots__ = ("cancelled", "count", "error", "source", "tag")

    def __init__(self, status: Status | None = None) -> None:
        self.source: int = ANY_SOURCE
        self.tag: int = ANY_TAG
        self.error: int = ErrorClass.SUCCESS
        self.count: int = 0
        self.cancelled: bool = False
        if status is not None:
            for name in Status.__slots__:
                setattr(self, name, getattr(status, name))

    def clear(self) -> None:
        """Make it that of no message."""
        self.source, self.tag = ANY_SOURCE, ANY_TAG
        self.error = ErrorClass.SUCCESS
        self.count = 0
        self.cancelled = False

    def fill(self, plain: Any) -> None:
        """Make it that of a plain request, or of a message that was found."""
        self.clear()
        self.source = getattr(plain, "source", ANY_SOURCE)
        self.tag = getattr(plain, "tag", ANY_TAG)
        self.count = getattr(plain, "nbytes", 0)
        self.cancelled = getattr(plain, "cancelled", False)
        self.error = error_class(getattr(plain, "error", None))
        if self.error == ErrorClass.ERR_TRUNCATE:  # what was received counts, as on real MPI, not what was sent
            self.count = min(self.count, getattr(plain, "room", self.count))

    def Get_source(self) -> int:
        """Return the sender's rank in the communicator."""
        return self.source

    def Set_source(self, source: int) -> None:
        """Set the source."""
        self.source = whole(source, "Status.Set_source: source", low=-(1 << 31))

    def Get_tag(self) -> int:
        """Return the tag."""
        return self.tag

    def Set_tag(self, tag: int) -> None:
        """Set the tag."""
        self.tag = whole(tag, "Status.Set_tag: tag", low=-(1 << 31))

    def Get_error(self) -> int:
        """Return the class of the error."""
        return self.error

    def Set_error(self, error: int) -> None:
        """Set the error."""
        self.error = whole(error, "Status.Set_error: error", low=-(1 << 31))

    def Get_count(self, datatype: Datatype = BYTE) -> int:
        """Return how many whole elements the message has, UNDEFINED where it has a broken one."""
        count, rest = divmod(self.count, datatype_of(datatype, "Status.Get_count: datatype").extent)
        return UNDEFINED if rest else count

    def Get_elements(self, datatype: Datatype) -> int:
        """As `Get_count`: all datatypes are basic."""
        return self.Get_count(datatype)

    def Set_elements(self, datatype: Datatype, count: int) -> None:
        """Set how many elements it has."""
        size = datatype_of(datatype, "Status.Set_elements: datatype").extent
        self.count = whole(count, "Status.Set_elements: count") * size

    def Is_cancelled(self) -> bool:
        """Return whether the request ended without a message."""
        return self.cancelled

    def Set_cancelled(self, flag: bool) -> None:
        """Set whether it did."""
        self.cancelled = bool(flag)

    def __repr__(self) -> str:
        return f"<Status source={self.source} tag={self.tag} error={self.error} count={self.count}>"


def error_class(error: BaseException | None) -> int:
    """Return the class of an error, SUCCESS for none."""
    if error is None:
        return ErrorClass.SUCCESS
    found = getattr(error, "Get_error_class", None)
    return int(found()) if found is not None else ErrorClass.ERR_OTHER
