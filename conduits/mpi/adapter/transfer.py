"""Requests and messages of real MPI, as the awaited names know them."""

from __future__ import annotations

from typing import Any, Protocol

from conduits.mpi.errors import ErrorClass, MpiError

_CLASSES = [each for each in ErrorClass if each is not ErrorClass.SUCCESS]


class RequestOwner(Protocol):
    """What a request sees of its rank's library.

    Attributes:
        mpi: the module mpi4py.MPI.
        status: of whatever was asked after last.
        under_way: the requests that are not over; their buffers live as long.
        receives: how many have begun.
    """

    mpi: Any
    receives: int
    status: Any
    under_way: dict[Begun, None]


def own_error(mpi: Any, error: Any, what: str) -> MpiError:
    """Return an error of mpi4py's as one of the awaited names; other libraries number the classes in their own way."""
    number = error.Get_error_class()
    known = next((each for each in _CLASSES if getattr(mpi, each.name) == number), ErrorClass.ERR_OTHER)
    first, *stack = error.Get_error_string().splitlines()
    text = first.removesuffix(", error stack:")
    if known == ErrorClass.ERR_OTHER and stack:  # which the innermost call alone explains
        text = stack[-1].partition(": ")[2] or text
    return MpiError(known, f"{what}: {text}")


class Begun:
    """A send, a receive or a collective that was begun on real MPI.

    Args:
        library: its rank's.
        request: mpi4py's.
        data: what must live until it is over.
        what: the call, for errors.
        receives: whether it gets a message.

    Attributes:
        what, receives: the same.
        source, tag, nbytes: of the message.
        cancelled: whether it has ended without one.
        error: what its end is to raise.
    """

    __slots__ = (
        "_data", "_library", "_over", "_request", "cancelled", "error", "nbytes", "receives", "source", "tag", "what"
    )  # fmt: skip

    def __init__(self, library: RequestOwner, request: Any, data: Any, what: str, *, receives: bool = False) -> None:
        self._library = library
        self._request = request
        self._data = data
        self.what = what
        self._over = False
        self.receives = receives
        self.source: int = library.mpi.ANY_SOURCE
        self.tag: int = library.mpi.ANY_TAG
        self.nbytes = 0
        self.cancelled = False
        self.error: BaseException | None = None
        library.under_way[self] = None

    @property
    def over(self) -> bool:
        """Whether it has ended; asks MPI, which moves messages meanwhile."""
        return self._over or self._ask()

    def Test(self) -> bool:
        """Return whether it has ended.

        Raises:
            MpiError: `error`.
        """
        if self.over and self.error is not None:
            raise self.error
        return self._over

    def Start(self) -> None:
        """Refuse: it is not persistent."""
        raise TypeError("Start: this request is no persistent one")

    def Cancel(self) -> None:
        """End a receive without a message, unless it has one; a send that has begun goes on."""
        if self.receives and not self._over:
            self._request.Cancel()
            self._ask()

    def Free(self) -> None:
        """Do nothing: it goes on by itself."""

    def _ask(self) -> bool:
        library = self._library
        mpi = library.mpi
        status = library.status if self.receives else None
        try:
            if not self._request.Test(status):
                return False
        except mpi.Exception as error:
            self.error = self._failed(error)
        if status is not None:
            self.source, self.tag = status.Get_source(), status.Get_tag()
            self.nbytes = status.Get_count(mpi.BYTE)
            self.cancelled = status.Is_cancelled()
        self._over = True
        self._data = None
        del library.under_way[self]
        return True

    def _failed(self, error: Any) -> MpiError:
        mpi, status = self._library.mpi, self._library.status
        if not self.receives or error.Get_error_class() != mpi.ERR_TRUNCATE:
            return own_error(mpi, error, self.what)
        return MpiError(
            ErrorClass.ERR_TRUNCATE,
            f"the message from rank {status.Get_source()}, tag {status.Get_tag()}, is longer than the buffer of its "
            f"receive, which has {len(memoryview(self._data))}; the rest of it is lost",
        )


class ProbedMessage:
    """A message that a probe has found.

    Attributes:
        source, tag, nbytes: of the message.
    """

    __slots__ = ("nbytes", "source", "tag")

    def __init__(self, library: RequestOwner) -> None:
        status = library.status
        self.source: int = status.Get_source()
        self.tag: int = status.Get_tag()
        self.nbytes: int = status.Get_count(library.mpi.BYTE)


class ExtractedMessage(ProbedMessage):
    """A message that a probe has taken out, for one receive."""

    __slots__ = ("_library", "_message")

    def __init__(self, library: RequestOwner, message: Any) -> None:
        super().__init__(library)
        self._library = library
        self._message = message

    def Irecv(self, buf: Any) -> Begun:
        """Begin to receive it; once."""
        message, self._message = self._message, None
        if message is None:
            raise MpiError(ErrorClass.ERR_REQUEST, "Message.Irecv: this message has been received already")
        library = self._library
        begun = Begun(library, message.Irecv([buf, library.mpi.BYTE]), buf, "Message.Recv", receives=True)
        library.receives += 1
        return begun
