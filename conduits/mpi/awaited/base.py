"""A communicator's handle: what all its calls need."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, ClassVar, NoReturn, SupportsIndex

from conduit import BadRequest
from conduits.mpi.awaited import not_here
from conduits.mpi.awaited.buffers import whole
from conduits.mpi.awaited.failed_calls import FailedCall
from conduits.mpi.awaited.group import CONGRUENT, IDENT, SIMILAR, UNEQUAL, Group
from conduits.mpi.awaited.peers import peer_in_words
from conduits.mpi.awaited.process import Process
from conduits.mpi.crossed_sends import UntilReceived
from conduits.mpi.engine.transfer import ANY_SOURCE, ANY_TAG, PROC_NULL, TAG_UB
from conduits.mpi.errors import ErrorClass, MpiError

_LOWER = {
    "send", "recv", "bsend", "ssend", "sendrecv", "isend", "irecv", "ibsend", "issend", "probe", "iprobe", "mprobe",
    "improbe", "barrier", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce", "scan",
    "exscan",
}  # fmt: skip
"""mpi4py's calls for objects."""
_UNTIL_RECEIVED = ("Send", "Ssend")
"""The calls that a receive may have to take their message from before they return; others of the kind need none."""
_WITHOUT_OBJECTS = {"barrier", "probe", "iprobe"}
"""Those of them that carry none."""


class _ForObjects:
    """What a communicator has instead of such a call; a `__getattr__` would make all its other names slow."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, comm: object, kind: type) -> _ForObjects:
        if comm is None:
            return self
        name, upper = self._name, self._name.capitalize()
        if name in _WITHOUT_OBJECTS:
            raise BadRequest(f"Comm.{name}: names begin with a capital here; write `await comm.{upper}()`")
        raise BadRequest(
            f"Comm.{name}: calls that pickle objects are not here; give arrays to `await comm.{upper}(...)`, or "
            "pickle to bytes yourself"
        )


_OF_PROGRAMS = {"send_bytes": "Send", "receive_bytes": "Recv"}
"""What programs call some of the plain calls."""


class NullComm:
    """What a null handle has in the place of a communicator of the plain interface: no ranks.

    Args:
        why: it is null, in words.
        freed: the communicator that was here before; None: none was.
        at: where it was freed, file and line; empty where none was.

    Attributes:
        freed, at: as given; what was begun in it goes on.
        group, name, context: of none.
    """

    group: ClassVar = ()
    name: ClassVar = "MPI_COMM_NULL"
    context: ClassVar = -1

    def __init__(self, why: str, freed: Any = None, at: str = "") -> None:
        self._why = why
        self.freed = freed
        self.at = at

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse a call that was made before the communicator was freed, and begins only now."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise self.refusal(_OF_PROGRAMS.get(name, name))

    def refusal(self, call: str) -> MpiError:
        """Return the error of a call."""
        return MpiError(ErrorClass.ERR_COMM, f"Comm.{call}: this communicator{self._why}")

    def Get_rank(self) -> NoReturn:
        """Refuse."""
        raise self.refusal("Get_rank")


_NULL = NullComm(" is null: this rank is in none, by MPI.UNDEFINED or a group without it; ask `if comm:` before calls")


class CommBase:
    """A communicator, as one of its ranks has it; false where it is null.

    Args:
        process: the rank; None: the null handle.
        plain: the communicator of the plain interface; of a null handle a `NullComm`.

    Attributes:
        process, plain: as given.
    """

    _instead: ClassVar = {
        **dict.fromkeys(("my_rank", "me"), "write `comm.rank`"),
        "COMM_SELF": "write `MPI.COMM_SELF`",
        **dict.fromkeys(("nprocs", "num_ranks"), "write `comm.size`"),
        "COMM_WORLD": "write `comm`, as main is given it, or `MPI.COMM_WORLD`",
        **dict.fromkeys(("Wtime", "now"), "write `MPI.Wtime()`"),
        **dict.fromkeys(
            ("ep", "poll", "segment"), "the rank's endpoint is `conduit.current()`, after `import conduit`"
        ),
        "compute": "write `await conduit.current().compute(seconds)`, after `import conduit`",
        **dict.fromkeys(
            ("put", "get", "Put", "Get", "Rput", "Rget", "Accumulate", "Get_accumulate", "Fetch_and_op"),
            "one-sided calls are those of windows, in extended.windows, for programs without `api = ...`",
        ),
        **{
            name: f"it is a call of a request: write `await request.{name.capitalize()}()`"
            for name in ("Wait", "wait", "Test", "test", "Cancel", "Start")
        },
        **{
            name: f"it is a call of requests: write `await MPI.Request.{name}(requests)`"
            for name in ("Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome")
        },
        **not_here.OF_COMMS,
    }
    _called: ClassVar = "comm"

    __slots__ = ("_broken", "_calls", "_to_begin", "plain", "process")

    def __init__(self, process: Process | None = None, plain: Any = _NULL) -> None:
        self.process = process
        self.plain = plain
        self._calls = 0
        self._to_begin: deque[tuple[Callable[[], Any], list[Any]]] = deque()
        self._broken: FailedCall | None = None

    # -- what programs ask -----------------------------------------------------------------------------

    def Get_rank(self) -> int:
        """Return this process's rank."""
        rank: int = self.plain.Get_rank()
        return rank

    def Get_size(self) -> int:
        """Return how many processes belong to it."""
        size: int = self._alive("Get_size").Get_size()
        return size

    def Get_name(self) -> str:
        """Return its name."""
        name: str = self._alive("Get_name").name
        return name

    def Set_name(self, name: str) -> None:
        """Give it another name, for reports."""
        self._alive("Set_name").name = str(name)

    def Get_group(self) -> Group:
        """Return its processes."""
        return Group.of(self._alive("Get_group").group)

    def Is_inter(self) -> bool:
        """Return False."""
        return False

    def Is_intra(self) -> bool:
        """Return True."""
        return True

    rank = property(Get_rank)
    size = property(Get_size)
    name = property(Get_name, Set_name)
    group = property(Get_group)

    @property
    def is_inter(self) -> bool:
        """False."""
        return False

    @property
    def is_intra(self) -> bool:
        """True."""
        return True

    def Compare(self, comm: CommBase) -> int:
        """Return IDENT for the same, CONGRUENT for the same processes in the same order, SIMILAR in another."""
        if self._alive("Compare") is comm._alive("Compare"):
            return IDENT
        order = self.Get_group().Compare(comm.Get_group())
        return {IDENT: CONGRUENT, SIMILAR: SIMILAR}.get(order, UNEQUAL)

    def Abort(self, errorcode: int = 0) -> NoReturn:
        """End the job at once, everywhere.

        Args:
            errorcode: any; the exit status is its last 8 bits, of which a system has no more, and 1 where these are 0:
                what was aborted is no success.
        """
        raise SystemExit(whole(errorcode, "Comm.Abort: errorcode", low=-(1 << 31)) & 0xFF or 1)

    def __init_subclass__(cls) -> None:
        """Let Python name the calls by the class that users know; which of its bases has one is nothing to tell."""
        for name, call in vars(cls).items():
            for each in (call, getattr(call, "check", None)):
                if isinstance(each, FunctionType) and not name.startswith("_"):
                    each.__qualname__ = f"Comm.{name}"
                    vars(each)["called"] = f"comm.{name}"  # where the line is not known that makes the call

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _LOWER]

    def __bool__(self) -> bool:
        return bool(self.plain.group)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CommBase) and (self.plain is other.plain or not (self or other))

    def __hash__(self) -> int:
        return hash(id(self.plain) if self else None)

    def __repr__(self) -> str:
        return f"<Comm {self.plain.name} of {self.plain.Get_size()}>" if self else "<Comm null>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Refuse to be copied or pickled, unless it is null.

        Raises:
            TypeError: it is a communicator.
        """
        if not self:
            return super().__reduce_ex__(protocol)
        raise TypeError(
            f"cannot pickle or copy {self!r}: it stays on its rank, as all does that has it; `await comm.Dup()` "
            "makes a communicator of the same ranks"
        )

    # -- checks ----------------------------------------------------------------------------------------

    def _alive(self, call: str) -> Any:
        """Return the plain communicator.

        Raises:
            MpiError: it is null.
        """
        if not self:
            raise self.plain.refusal(call)
        return self.plain

    def _running(self) -> Process:
        assert self.process is not None
        return self.process

    def _peer(self, rank: Any, call: str, name: str, *, any_source: bool = False) -> int:
        plain = self._alive(call)
        if rank.__class__ is int and 0 <= rank < len(plain.group):  # nearly always
            return rank
        number = whole(rank, f"Comm.{call}: {name}", low=-(1 << 31))
        size = plain.Get_size()
        if number == PROC_NULL or (any_source and number == ANY_SOURCE) or 0 <= number < size:
            return number
        allowed = f"0 to {size - 1}, PROC_NULL" + (", ANY_SOURCE" if any_source else "")
        raise MpiError(ErrorClass.ERR_RANK, f"Comm.{call}: {name}={number} is no rank of {plain.name}; use {allowed}")

    def _tag(self, tag: Any, call: str, name: str = "tag", *, any_tag: bool = False) -> int:
        if tag.__class__ is int and 0 <= tag <= TAG_UB:  # nearly always
            return tag
        number = whole(tag, f"Comm.{call}: {name}", low=-(1 << 31))
        if 0 <= number <= TAG_UB or (any_tag and number == ANY_TAG):
            return number
        allowed = f"0 to {TAG_UB}" + (", ANY_TAG" if any_tag else "")
        raise MpiError(ErrorClass.ERR_TAG, f"Comm.{call}: {name}={number} is no tag; use {allowed}")

    # -- words -----------------------------------------------------------------------------------------

    def _known(self) -> Any:
        """Return the plain communicator, also where it was freed since a call has begun that is told of."""
        plain = self.plain
        return plain.freed if plain.__class__ is NullComm and plain.freed is not None else plain

    def _sends(self, call: str, dest: int, tag: int) -> str:
        plain = self._known()
        who = peer_in_words(dest, plain.group[dest] if dest >= 0 else dest)
        return f"MPI {call} to {who}, tag {tag}, on {plain.name}"

    def _receives(self, call: str, source: int, tag: int) -> str:
        plain = self._known()
        who = peer_in_words(source, plain.group[source] if source >= 0 else source)
        if source == ANY_SOURCE:
            who = "any rank"
        which = "any tag" if tag == ANY_TAG else f"tag {tag}"
        return f"MPI {call} from {who}, {which}, on {plain.name}"

    def words(self, call: str, peer: int, tag: int) -> str:
        """Return what a call waits for, in words."""
        if call == "Recv":
            return self._receives(call, peer, tag)
        words = self._sends(call, peer, tag)
        return UntilReceived(words) if call in _UNTIL_RECEIVED else words

    def ranks_of(self, peer: int) -> Sequence[int]:
        """Return whom a call concerns, by numbers in the world."""
        group: Sequence[int] = self._known().group
        if peer == ANY_SOURCE:
            return [each for each in group if each != self._running().rank]
        return [] if peer == PROC_NULL else [group[peer]]


for _name in _LOWER:
    setattr(CommBase, _name, _ForObjects(_name))
