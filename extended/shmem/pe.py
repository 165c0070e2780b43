"""A processing element: what main is called with."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import conduit
from extended import Extended
from extended.front_ends import integer, public
from extended.sealed import Sealed
from extended.shmem import arguments
from extended.shmem.atomics import ShmemAtomics
from extended.shmem.collectives import ShmemCollectives
from extended.shmem.constants import MAJOR_VERSION, MINOR_VERSION, THREAD, VENDOR_STRING, ShmemConstants
from extended.shmem.contexts import Ctx, CtxMaker
from extended.shmem.heap import Allocations
from extended.shmem.locks import LOCKS, ShmemLocks
from extended.shmem.teams import ShmemTeam, TeamState, check_team
from extended.shmem.waits import Waits


class PE(Sealed, ShmemConstants, Waits, ShmemAtomics, ShmemCollectives, ShmemLocks):
    """One PE, with the names of shmem4py's module as attributes; `shmem.run` gives it to main.

    Args:
        x: the extended layer.
        alone: the team of this PE, which is who shares its memory.

    Attributes:
        ep: the endpoint.
        extended: the extended layer.
        TEAM_WORLD: all PEs.
        TEAM_SHARED: the PEs whose memory `ptr` reaches, which is this one.
        TEAM_INVALID: no team.
        CTX_DEFAULT: the context of calls that name none.
        CTX_INVALID: no context.
        Ctx: makes contexts.
    """

    _instead: ClassVar = {
        **dict.fromkeys(("rank", "my_rank", "me", "id"), "write `pe.my_pe()`"),
        **dict.fromkeys(("size", "npes", "num_pes", "nprocs", "num_procs", "threads", "nranks"), "write `pe.n_pes()`"),
        **dict.fromkeys(
            ("malloc", "calloc", "align", "shmalloc"),
            "write `await pe.zeros(shape, dtype)` for an array, `await pe.alloc(count, size)` for memory",
        ),
        "p": "write `await pe.put(a[i:i+1], numpy.array([value], a.dtype), dest)`, or `await pe.atomic_set(a[i:i+1], "
        "value, dest)`",
        "g": "write `await pe.get(target, a[i:i+1], dest)`, into an array of one element, or `await "
        "pe.atomic_fetch(a[i:i+1], dest)`",
        **{
            f"{kind}_{call}": f"write `await pe.{call}(target, source, dest)`, of arrays of any type"
            for kind in ("char", "short", "int", "long", "longlong", "float", "double", "size")
            for call in ("put", "get", "put_nbi", "get_nbi")
        },
        **dict.fromkeys(
            ("cswap", "atomic_cswap", "cas", "compare_and_swap", "compare_exchange", "atomic_compare_exchange"),
            "write `await pe.atomic_compare_swap(target, cond, value, dest)`",
        ),
        **dict.fromkeys(("fadd", "fetch_and_add"), "write `await pe.atomic_fetch_add(target, value, dest)`"),
        **dict.fromkeys(("finc", "fetch_and_inc"), "write `await pe.atomic_fetch_inc(target, dest)`"),
        **dict.fromkeys(("exchange", "atomic_exchange"), "write `await pe.atomic_swap(target, value, dest)`"),
        **dict.fromkeys(("ctx_create", "create_ctx"), "write `ctx = await pe.Ctx.create()`"),
        "async with new_lock": "for a lock that is entered write `lock = await pe.Lock()`, then `async with lock:`",
        **dict.fromkeys(
            ("start_pes", "init", "finalize"),
            "leave it out: the job begins before main and ends when all have returned",
        ),
        "COMM_WORLD": "write `pe.my_pe()` and `pe.n_pes()`; the team of all PEs is `pe.TEAM_WORLD`",
        "barrier": "write `await pe.barrier_all()`, of a team `await pe.quiet()` and `await pe.sync(team)`",
        "wait": "write `await pe.wait_until(a[i:i+1], pe.CMP_NE, value)`",
        **{
            op: f"write `await pe.{op}_reduce(target, source)`"
            for op in ("and", "or", "xor", "max", "min", "sum", "prod")
        },
        **{
            f"team_{call}": f"write `await pe.TEAM_WORLD.{call}(...)`, or the same of another team"
            for call in ("split_strided", "sync", "destroy")
        },
        **{
            f"{op}_to_all": f"write `await pe.{op}_reduce(target, source)`"
            for op in ("and", "or", "xor", "max", "min", "sum", "prod")
        },
    }

    _called: ClassVar = "pe"
    _values: ClassVar = frozenset(
        {"ep", "extended", "TEAM_WORLD", "TEAM_SHARED", "TEAM_INVALID", "CTX_DEFAULT", "CTX_INVALID", "Ctx"}
    )

    def __init__(self, x: Extended, alone: Any) -> None:
        self._x = x
        self._blocks = Allocations(x.ep.segment)
        self.ep = x.ep
        self.extended = x
        config = {"num_contexts": 0}
        self.TEAM_WORLD = ShmemTeam(TeamState(x, x, self._open, config, predefined=True))
        self.TEAM_SHARED = ShmemTeam(TeamState(alone, x, self._open, config, predefined=True))
        self.TEAM_INVALID = ShmemTeam()
        x.title_locks(LOCKS, self._blocks.title, self._blocks.short_title)
        self.Ctx = CtxMaker(x, self.TEAM_WORLD)
        self.CTX_DEFAULT = self.Ctx.default
        self.CTX_INVALID = Ctx()

    def _open(self, call: str, options: Any, team: ShmemTeam) -> Any:
        return self.Ctx.make(call, options, team)

    def __repr__(self) -> str:
        return f"<PE {self.my_pe()} of {self.n_pes()}>"

    def Team(self, team: Any = None) -> ShmemTeam:
        """Return an alias of a team, the invalid one of None; plain.

        Raises:
            conduit.BadRequest: no team.
        """
        return ShmemTeam() if team is None else check_team("pe.Team", team).alias()

    def my_pe(self) -> int:
        """Return the number of this PE; plain."""
        return self._x.rank

    def n_pes(self) -> int:
        """Return the number of PEs; plain."""
        return self._x.size

    def pe_accessible(self, pe: Any) -> bool:
        """Return whether there is a PE of that number; plain."""
        number = integer("pe.pe_accessible", "pe", pe, -arguments.MOST, arguments.MOST, "the number of a PE")
        return 0 <= number < self.n_pes()

    def addr_accessible(self, addr: Any, pe: Any) -> bool:
        """Return whether an array can be reached on a PE: whether it is symmetric, and not freed; plain."""
        arguments.pe_number("pe.addr_accessible", pe, self.n_pes())
        block = self._blocks.find(arguments.array_of("pe.addr_accessible", "addr", addr))
        return block is not None and not block.freed

    def ptr(self, target: Any, pe: Any) -> Any:
        """Return the array itself for this PE, None for others, whose memory cannot be read directly; plain.

        Raises:
            conduit.BadRequest: not symmetric, or no PE.
        """
        self._blocks.symmetric("pe.ptr", "target", target)
        return target if arguments.pe_number("pe.ptr", pe, self.n_pes()) == self.my_pe() else None

    def info_get_version(self) -> tuple[int, int]:
        """Return the version of OpenSHMEM; plain."""
        return MAJOR_VERSION, MINOR_VERSION

    def info_get_name(self) -> str:
        """Return the name of this library; plain."""
        return VENDOR_STRING

    def query_thread(self) -> THREAD:
        """Return that all tasks of a PE may call; plain."""
        return THREAD.MULTIPLE

    def pcontrol(self, level: Any = 1) -> None:
        """Set the level of profiling, which changes nothing; plain."""
        integer("pe.pcontrol", "level", level, 0, arguments.MOST, "a level, 0 or more")

    def global_exit(self, status: Any = 0) -> NoReturn:
        """End the job on all PEs; plain, never returns."""
        self.ep.exit(integer("pe.global_exit", "status", status, 0, 255, "a status, 0 to 255"))

    @public("pe")
    def init(self) -> Any:
        """Do nothing but poll: `shmem.run` has initialised the PE."""
        return self.ep.poll()

    @public("pe")
    def init_thread(self, requested: Any = THREAD.MULTIPLE) -> Any:
        """As `init`; return that all tasks of a PE may call."""
        integer("pe.init_thread", "requested", requested, 0, 3, "one of THREAD")

        async def initialise() -> THREAD:
            await self.ep.poll()
            return THREAD.MULTIPLE

        return initialise()

    @public("pe")
    def finalize(self) -> Any:
        """Complete what was begun on the default context, and wait until all PEs are here; collective."""
        return self.barrier_all()


@public("shmem")
async def attach(ep: conduit.Endpoint) -> PE:
    """Make the PE of an endpoint; collective.  `shmem.run` does it for its program.

    Args:
        ep: the endpoint.
    """
    x = await Extended.attach(ep)
    x.call_ranks("PE")
    pe = PE(x, await x.split(ep.rank))
    ep.on_exit(pe.Ctx.finish)
    return pe
