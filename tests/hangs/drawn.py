"""Draws small programs that hang, each with a planted cause that is known.

One rank, or a cycle of two, is the cause.  Each other rank waits for it in one of many ways, some through others.
"""

import linecache
from random import Random
from zlib import crc32

import attrs

import conduit
from extended import shmem, upc

NETWORKS = [
    "loggp", "sci", "sci:queue=single", "sci:queue=split", "sunfire", "startx", "udp", "t3e", "origin",
    "mpi:library=scampi", "mpi:library=start", "mpi:library=sunmpi",
]  # fmt: skip
CAUSE = "  # cause"
LIMIT = 0.03  # seconds: behind the start on every network

# What the cause does: lines, whether it polls meanwhile, and the time limit that ends it.
ALONE = {
    "sleeps": (["await trio.sleep_forever()"], False, False),
    "event": (["await trio.Event().wait()"], False, False),
    "channel": (["await trio.open_memory_channel(0)[1].receive()"], False, False),
    "told wait": (["await ep.block_until(lambda: False, what='a word')"], True, False),
    "untold wait": (["await ep.block_until(lambda: False)"], True, False),
    "returns": (["return"], True, False),
    "ticks": (["while True:", "    await trio.sleep(1e-4)"], False, True),
    "computes": (["while True:", "    await ep.compute(1e-4)"], False, True),
    "asks again": (["while await {get} != 77:", "    pass"], True, True),
}
ALONE_IN_SHMEM = ALONE | {
    "flag": (["await pe.wait_until(a[:1], pe.CMP.EQ, 77)"], True, False),
    "signal": (["await pe.wait_until_any(a, None, pe.CMP.GT, 77)"], True, False),
}
# How others wait for `{to}`: lines, and what it needs: "silent": that rank does not poll, "lock": it holds one,
# "all": every rank but that one must make this call before any other.
MESSAGES = {
    "named": (["await ep.block_until(lambda: False, what='a message', ranks=[{to}])"], ""),
    "asks": (["await ep.request_short({to}, ask)", "await ep.block_until(lambda: state.get('answer'))"], "silent"),
    "floods": (["while True:", "    await ep.request_short({to}, note)"], "silent"),
    "floods with data": (
        ["while True:", "    await ep.request_medium({to}, mark, bytes(ep.limits.max_medium))"],
        "silent",
    ),
}
EXTENDED = MESSAGES | {
    "lock": (["await x.lock('kept').acquire()"], "lock"),
    "put": (["await x.put({to}, 0, bytes(8))"], "silent"),
    "put of many": (["await x.put({to}, 0, bytes(5000))"], "silent"),
    "get": (["await x.get({to}, 0, 8)"], "silent"),
    "handle": (["await (await x.get_nb({to}, 0, 8))"], "silent"),
    "sync": (["await x.put_nbi({to}, 0, bytes(8))", "await x.sync()"], "silent"),
    "atomic": (["await x.atomic('i8').fetch_add({to}, 8, 1)"], "silent"),
    "window": (["await win.Lock({to})", "await win.Get(np.zeros(1, 'i8'), {to})", "await win.Unlock({to})"], "silent"),
}
EXTENDED_TOGETHER = {
    "barrier": ["await x.barrier()"],
    "barrier with an id": ["await x.barrier(3)"],
    "notify and wait": ["await x.barrier_notify()", "await x.barrier_wait()"],
    "all_reduce": ["await x.all_reduce(1)"],
    "all_gather": ["await x.all_gather(1)"],
    "all_to_all": ["await x.all_to_all(np.arange(ep.size))"],
    "broadcast": ["await x.broadcast(1, root={odd})"],
    "split": ["await x.split(0)"],
    "all_alloc": ["await x.all_alloc(64)"],
    "fence": ["await win.Fence()"],
}
UPC = MESSAGES | {
    "lock": (["await t.lock('kept').acquire()"], "lock"),
    "element": (["await a[{to}]"], "silent"),
    "atomic": (["await a.add_at({to}, 1)"], "silent"),
}
UPC_TOGETHER = {
    "barrier": ["await t.barrier()"],
    "notify and wait": ["await t.notify()", "await t.wait()"],
    "all_alloc": ["await t.all_alloc(8, dtype='i8', block=1)"],
}
SHMEM = MESSAGES | {
    "get": (["await pe.get(np.zeros(1, 'i8'), a[:1], {to})"], "silent"),
    "put": (["await pe.put(a[:1], np.ones(1, 'i8'), {to})", "await pe.quiet()"], "silent"),
    "atomic": (["await pe.atomic_fetch_add(a[:1], 1, {to})"], "silent"),
}
SHMEM_TOGETHER = {
    "barrier_all": ["await pe.barrier_all()"],
    "sync_all": ["await pe.sync_all()"],
    "alloc": ["await pe.zeros(4, 'i8')"],
    "reduce": ["await pe.sum_reduce(a, a)"],
}
WAITS_FOR = {"ask": "state.get('answer')", "note": ", note)"}
"""Handlers of messages that lie at the cause where a rank stands at such a line; it may have handled earlier ones.  Of
large ones the envelope alone may have come."""
BEGIN = {
    "extended": ["x = await Extended.attach(ep)", "win = await Win.Allocate(64, 8, comm=x)"],
    "upc": ["ep = t.ep", "a = await t.all_alloc(ep.size, dtype='i8', block=1)"],
    "shmem": ["ep = pe.ep", "a = await pe.zeros(8, 'i8')"],
}
KINDS = {
    "extended": (EXTENDED, EXTENDED_TOGETHER, "ep", "x.barrier()", "x.lock('kept')", "x.get_value({to}, 0)"),
    "upc": (UPC, UPC_TOGETHER, "t", "t.barrier()", "t.lock('kept')", "a[{to}]"),
    "shmem": (SHMEM, SHMEM_TOGETHER, "pe", "pe.barrier_all()", "", "pe.atomic_fetch(a[:1], {to})"),
}
RUN = {
    "extended": (conduit.run, "ranks"),
    "upc": (upc.run, "threads"),
    "shmem": (shmem.run, "pes"),
}


@attrs.frozen
class Drawn:
    """A program that hangs.

    Attributes:
        name: of its kind: front end, cause, and how others wait.
        front: which front end it is for.
        source: its text.
        size: how many ranks.
        causes: the ranks that are the cause.
        cycle: whether these wait for one another.
        limit: whether a time limit ends it.
    """

    name: str
    front: str
    source: str
    size: int
    causes: tuple[int, ...]
    cycle: bool
    limit: bool

    @property
    def file(self):
        """The name of its file, which is not there."""
        return f"drawn_{crc32(self.source.encode()):08x}.py"

    @property
    def lines(self):
        """The numbers of the lines of its cause."""
        return [at for at, line in enumerate(self.source.splitlines(), 1) if CAUSE in line]

    def fails(self, network):
        """Run it; return the error that ends it."""
        names, file = {}, self.file
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(keepends=True), file)
        exec(compile(self.source, file, "exec"), names)
        run, ranks = RUN[self.front]
        try:
            run(
                names["main"], conduit=network, segment=1 << 16, time_limit=LIMIT if self.limit else None,
                **{ranks: self.size},
            )  # fmt: skip
        except (conduit.Deadlock, conduit.TimeLimit) as error:
            return error
        raise AssertionError(f"it has ended\n{self.source}")


def wrong(drawn, error):
    """Return what is wrong with the report of a program: "" for nothing."""
    report, lines = error.report, str(error).splitlines()
    if "a mistake of the network" in lines[0]:
        return "a mistake of the network"
    if not report.causes:
        return "no cause"
    first = report.causes[0]
    if drawn.cycle != bool(first.cycle) or set(first.ranks) != set(drawn.causes):
        return f"cause {first.ranks}, cycle {first.cycle}"
    told = lines[1 : 2 + len(drawn.causes)] if drawn.cycle else lines[1:2]
    if drawn.cycle and not lines[1].startswith("cycle: "):
        return "the first sentence tells no cycle"
    if not drawn.cycle and not lines[1].startswith(f"rank {drawn.causes[0]}: "):
        return "the first sentence is about another rank"
    if "returns" not in drawn.name and not all(
        any(f"{drawn.file}:{at} " in line for line in told) for at in drawn.lines
    ):
        return f"lines {drawn.lines} are not told first"
    lie = {each.handler for each in report.ranks[drawn.causes[0]].unhandled}
    stand = {task.place.line for rank in report.ranks for task in rank.tasks if task.place is not None}
    text = drawn.source.splitlines()
    for handler, line in WAITS_FOR.items():
        if handler not in lie and any(line in text[at - 1] for at in stand):
            return f"of messages for {handler} nothing is told, of those for {lie}"
    return ""


def draw(seed):
    """Return the program of a seed."""
    random = Random(seed)
    front = random.choice(["extended", "extended", "extended", "upc", "shmem"])
    kinds, together, given, barrier, lock, get = KINDS[front]
    size = random.randint(2, 6)
    odd = random.randrange(size)
    others = [rank for rank in range(size) if rank != odd]
    cycle = random.random() < 0.3
    common = random.choice(list(together))
    locked = bool(lock) and random.random() < 0.5
    bodies = {}
    if cycle:
        second = random.choice(others)
        meets = random.random() < 0.5
        bodies[odd] = _marked([kinds["named"][0][0].format(to=second)])
        bodies[second] = _marked(together[common] if meets else kinds["named"][0], odd, to=odd)
        cause, silent, limit, name = (odd, second), False, False, "cycle"
        others.remove(second)
    else:
        alone = ALONE_IN_SHMEM if front == "shmem" else ALONE
        name = random.choice(list(alone))
        lines, polls, limit = alone[name]
        peer = random.choice(others)
        bodies[odd] = _marked([line.replace("{get}", get.format(to=peer)) for line in lines])
        cause, silent = (odd,), not polls
    ways = [way for way, (_, needs) in kinds.items() if not needs or (needs == "silent" and silent)]
    ways += ["lock"] * (2 * locked)
    if cycle and meets:  # who did not come to that call either would be in a cycle too
        ways = []
    waits, used = [*cause], []
    for rank in random.sample(others, len(others)):
        way = random.choice(["", *ways])  # "": in the call that all make
        to = odd if way in ("asks", "lock") else random.choice([odd, odd, *waits])
        if way and kinds[way][1] == "silent":
            to = odd
        used.append(way or common)
        bodies[rank] = [line.format(to=to) for line in kinds[way][0]] if way else []
        if way:  # who waits for one that is in the call which it has not come to is in a cycle with it
            waits.append(rank)
    servers = [rank for rank in range(size) if rank not in cause and random.random() < 0.25]
    if cycle and meets and random.random() < 0.5:  # its main is to come to the call, not the task beside it
        servers.append(odd)
    text = _text(front, given, barrier, lock if locked else "", bodies, together[common], odd, servers)
    if limit:
        name += " at a limit"
    return Drawn(f"{front}: {name}; {', '.join(used)}", front, text, size, cause, cycle, limit)


def _marked(lines, odd=0, to=0):
    """Return lines of a cause: that where its rank stands is marked."""
    filled = [line.format(odd=odd, to=to) for line in lines]
    stands = next(at for at in reversed(range(len(filled))) if "await" in filled[at] or "return" in filled[at])
    filled[stands] += CAUSE
    return filled


def _text(front, given, barrier, lock, bodies, together, odd, servers):
    lines = [
        "import numpy as np", "import trio", "from extended import Extended", "from extended.windows import Win", "",
        f"async def main({given}):", *_indented(BEGIN[front]),
        "    state = {}",
        "    def note(token):", "        pass",
        "    def mark(token, payload):", "        pass",
        "    def ask(token):", "        token.reply_short(answer)",
        "    def answer(token):", "        state['answer'] = True",
        "    await ep.attach(note, mark, ask, answer)",
        "    async def work():",
    ]  # fmt: skip
    if lock:
        lines += [f"        if ep.rank == {odd}:", f"            await {lock}.acquire()"]
    lines.append(f"        await {barrier}")
    for rank, body in sorted(bodies.items()):
        if body:
            lines += [f"        if ep.rank == {rank}:", *_indented(body, 12)]
    lines += _indented([line.format(odd=odd) for line in together], 8)
    lines += [
        f"    if ep.rank in {servers}:",
        "        async with trio.open_nursery() as nursery:",
        "            nursery.start_soon(ep.block_until, lambda: state.get('stop'))",
        "            await work()",
        "            nursery.cancel_scope.cancel()",
        "    else:",
        "        await work()",
    ]
    return "\n".join(lines) + "\n"


def _indented(lines, by=4):
    return [" " * by + line for line in lines]
