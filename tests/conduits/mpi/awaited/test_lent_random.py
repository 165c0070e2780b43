"""Random programs whose calls share one array are warned of what an oracle of sets of elements finds, and no more."""

import re
import warnings
from collections import defaultdict
from random import Random

import pytest

from conduit import ConduitWarning
from conduits.mpi import MPI

ELEMENTS = 16
IN_PLACE = "MPI.IN_PLACE"


class Program:
    """The text of a program of two ranks, a line for each step of rank 0, and what its requests have of the array.

    Rank 1 answers each step out of arrays of its own.

    Attributes:
        shared: of each line that shares what is forbidden, the lines whose requests it shares it with.
    """

    def __init__(self):
        self.lines = ["async def first(comm, MPI, a):"]
        self.messages = []
        self.collectives = []
        self.open = {}
        self.persistent = {}
        self.shared = defaultdict(set)

    def step(self, text):
        self.lines.append(f"    {text}")
        return len(self.lines)

    def made(self, text, reads, writes, name=None):
        """Add a call, and keep its elements where it only begins something, as `name`."""
        self.uses(self.step(f"{name} = await {text}" if name else f"await {text}"), reads, writes, name)

    def uses(self, line, reads, writes, name):
        for other, its_reads, its_writes in self.open.values():
            if writes & (its_reads | its_writes) or reads & its_writes:
                self.shared[line].add(other)
        if name:
            self.open[name] = line, reads, writes

    def start(self, name, text):
        """Start a persistent request."""
        reads, writes, answer = self.persistent[name]
        self.messages.append(answer)
        self.uses(self.step(text.format(name)), reads, writes, name)

    def inactive(self):
        return sorted(self.persistent.keys() - self.open.keys())

    def end(self, name, text):
        self.step(text.format(name))
        del self.open[name]

    def text(self):
        begun = [*(f"r.append(await {each})" for each in self.messages), *self.collectives]
        ends = [f"    await MPI.Request.Waitall([{', '.join(self.open)}])"]
        other = ["async def second(comm, MPI, zeros):", "    r = []", *(f"    {each}" for each in begun)]
        return "\n".join([*self.lines, *ends, *other, "    await MPI.Request.Waitall(r)"])


def span(start, size):
    start %= ELEMENTS - size + 1
    return f"a[{start}:{start + size}]", frozenset(range(start, start + size))


def apart(start, size, other):
    """Return two spans that share nothing."""
    (one, mine), (two, its) = span(start, size), span(other, size)
    if mine & its:
        (one, mine), (two, its) = span(0, size), span(size + other % (ELEMENTS - 2 * size + 1), size)
    return one, mine, two, its


NOTHING = frozenset()


def point_to_point(program, kind, size, start, other, number):
    where, mine = span(start, size)
    name, tag = f"r{number}", number
    sends, receives = f"comm.Isend(zeros({size}), 0, {tag})", f"comm.Irecv(zeros({size}), 0, {tag})"
    match kind:
        case "Isend" | "Issend":
            program.messages.append(receives)
            program.made(f"comm.{kind}({where}, 1, {tag})", mine, NOTHING, name)
        case "Irecv":
            program.messages.append(sends)
            program.made(f"comm.Irecv({where}, 1, {tag})", NOTHING, mine, name)
        case "Send" | "Ssend":
            program.messages.append(receives)
            program.made(f"comm.{kind}({where}, 1, {tag})", mine, NOTHING)
        case "Recv":
            program.messages.append(sends)
            program.made(f"comm.Recv({where}, 1, {tag})", NOTHING, mine)
        case "Sendrecv":
            one, reads, two, writes = apart(start, size, other)
            program.messages += [receives, sends]
            program.made(f"comm.Sendrecv({one}, 1, {tag}, {two}, 1, {tag})", reads, writes)
        case "Sendrecv_replace":
            program.messages += [receives, sends]
            program.made(f"comm.Sendrecv_replace({where}, 1, {tag}, 1, {tag})", mine, mine)
        case "Send_init" | "Ssend_init" | "Recv_init":
            program.step(f"{name} = comm.{kind}({where}, 1, {tag})")
            receiving = kind == "Recv_init"
            program.persistent[name] = (NOTHING, mine, sends) if receiving else (mine, NOTHING, receives)


def collective(program, kind, size, start, other, number, root, in_place):
    """Two ranks: a block of this rank is the first one of a buffer, which has two."""
    one, mine, two, its = apart(start, size, other)
    both, all_of = span(start, 2 * size)
    ordered = sorted(all_of)
    own, rest = frozenset(ordered[:size]), frozenset(ordered[size:])
    name = f"r{number}" if kind.startswith("I") else None
    small, large = f"zeros({size})", f"zeros({2 * size})"
    given, out = (IN_PLACE, None) if in_place else (one, mine)
    # A rank's block beside a buffer of two is where that is not.
    beside = frozenset(range(ELEMENTS)) - all_of
    place = min((n for n in range(ELEMENTS - size + 1) if set(range(n, n + size)) <= beside), default=None)
    if place is not None:
        block, block_of = span(place, size)
    elif kind in ("Gather", "Scatter", "Allgather", "Reduce_scatter_block", "Reduce_scatter"):
        return
    match kind:
        case "Bcast" | "Ibcast":
            call, answer = f"{kind}({one}, {root})", f"{kind}({small}, {root})"
            used = (NOTHING, mine) if root else (mine, NOTHING)
        case "Allreduce" | "Iallreduce" | "Scan" | "Exscan":
            call, answer = f"{kind}({given}, {two})", f"{kind}({small}, {small})"
            used = (out or its, NOTHING if kind == "Exscan" else its)
        case "Reduce":
            result = root == 0
            call = f"Reduce({given if result else one}, {two if result else None}, root={root})"
            answer = f"Reduce({small}, {small}, root={root})"
            used = ((out or its), its) if result else (mine, NOTHING)
        case "Alltoall" | "Ialltoall" | "Alltoallv":
            if 4 * size > ELEMENTS or in_place:
                call, used = f"{kind}({IN_PLACE}, {both})", (all_of, all_of)
            else:
                (send, reads), (receive, writes) = span(0, 2 * size), span(ELEMENTS - 2 * size, 2 * size)
                call, used = f"{kind}({send}, {receive})", (reads, writes)
            answer = f"{kind}({large}, {large})"
        case "Allgather":
            call, answer = f"{kind}({IN_PLACE if in_place else block}, {both})", f"{kind}({small}, {large})"
            used = (own, rest) if in_place else (block_of, all_of)
        case "Gatherv":  # the blocks are the last one and the first one, with a gap between them
            last = ELEMENTS - size
            outside, outside_of = span(size, size)
            call = f"Gatherv({IN_PLACE if in_place else outside}, [a, [{size}, {size}], [{last}, 0], MPI.LONG])"
            answer = f"Gatherv({small}, None)"
            first, mine = frozenset(range(size)), frozenset(range(last, ELEMENTS))
            used = (NOTHING, first) if in_place else (outside_of, first | mine)
        case "Gather":
            if root:
                call, answer, used = f"Gather({one}, None, 1)", f"Gather({small}, {large}, 1)", (mine, NOTHING)
            else:
                call, answer = f"Gather({IN_PLACE if in_place else block}, {both})", f"Gather({small}, None)"
                used = (NOTHING, rest) if in_place else (block_of, all_of)
        case "Scatter":
            if root:
                call, answer, used = f"Scatter(None, {one}, 1)", f"Scatter({large}, {small}, 1)", (NOTHING, mine)
            else:
                call, answer = f"Scatter({both}, {IN_PLACE if in_place else block})", f"Scatter(None, {small})"
                used = (rest, NOTHING) if in_place else (all_of, block_of)
        case "Reduce_scatter_block" | "Reduce_scatter":
            counts = f", [{size}, {size}]" if kind == "Reduce_scatter" else ""
            given = f"{IN_PLACE}, {both}" if in_place else f"{both}, {block}"
            call, answer = f"{kind}({given}{counts})", f"{kind}({large}, {small}{counts})"
            used = (all_of, own if in_place else block_of)
    program.made(f"comm.{call}", *used, name)
    program.collectives.append(f"r.append(await comm.{answer})" if name else f"await comm.{answer}")


BEGUN = ("Isend", "Irecv")
POINT_TO_POINT = (
    "Isend", "Issend", "Irecv", "Send", "Ssend", "Recv", "Sendrecv", "Sendrecv_replace", "Send_init", "Ssend_init",
    "Recv_init",
)  # fmt: skip
COLLECTIVE = (
    "Bcast", "Ibcast", "Allreduce", "Iallreduce", "Scan", "Exscan", "Reduce", "Alltoall", "Ialltoall", "Alltoallv",
    "Allgather", "Gather", "Gatherv", "Scatter", "Reduce_scatter_block", "Reduce_scatter",
)  # fmt: skip
STARTS = ("await {}.Start()", "await MPI.Prequest.Startall([{}])")
ENDS = (
    "await {}.Wait()", "await MPI.Request.Waitall([{}])", "await MPI.Request.Waitany([{}])",
    "while not await {}.Test(): pass",
)  # fmt: skip


def program_of(random):
    program = Program()

    def place():
        return random.randrange(ELEMENTS)

    for number in range(random.randint(4, 16)):
        match random.choice(("begun", "begun", "message", "collective", "collective", "start", "end")):
            case "begun":
                point_to_point(program, random.choice(BEGUN), random.randint(1, 3), place(), place(), number)
            case "message":
                size = random.randint(1, ELEMENTS // 2)
                point_to_point(program, random.choice(POINT_TO_POINT), size, place(), place(), number)
            case "collective":
                kind, size, root = random.choice(COLLECTIVE), random.randint(1, 5), random.randint(0, 1)
                collective(program, kind, size, place(), place(), number, root, random.random() < 0.5)
            case "start" if names := program.inactive():
                program.start(random.choice(names), random.choice(STARTS))
            case "end" if program.open:
                program.end(random.choice(sorted(program.open)), random.choice(ENDS))
    return program


def warned(text, library):
    """Run a program; return of each line of rank 0 that is warned of the lines of those that it shares bytes with."""
    made = {}
    exec(compile(text, "steps.py", "exec"), made)

    async def main(comm):
        import numpy as np

        if comm.rank:
            await made["second"](comm, MPI, lambda size: np.zeros(size, int))
        else:
            await made["first"](comm, MPI, np.zeros(ELEMENTS, int))

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ConduitWarning)
        MPI.run(main, ranks=2, library=library)
    lines = defaultdict(list)
    for each in found:
        said = re.search(
            r"rank 0: 1 buffer of \w+(?: \(\w+\))? at steps.py:(\d+) shared bytes with that of \w+(?: \(\w+\))?, begun "
            r"at steps.py:(\d+) and not waited for by then",
            str(each.message),
        )
        assert said, each.message
        lines[int(said[1])].append(int(said[2]))
    return lines


@pytest.mark.parametrize(("library", "first"), [("scampi", 0), ("sunmpi", 1), ("start", 2)])
def test_exactly_what_shares_bytes_of_which_some_are_received_is_told(library, first):
    right = 0
    for seed in range(first, 400, 3):
        program = program_of(Random(seed))
        found = warned(program.text(), library)
        assert found.keys() == program.shared.keys(), program.text()
        for line, others in found.items():
            assert set(others) <= program.shared[line], program.text()
            assert len(set(others)) == len(others), program.text()
        right += not found
    assert 20 < right < 110  # of 133: enough of both
