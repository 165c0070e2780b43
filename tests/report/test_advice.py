"""Advice of reports: each kind comes first where it alone is the cause, no untrue one beside it, and it helps."""

import re
from dataclasses import dataclass, field

import numpy as np
import pytest

import conduit
from conduit.launch.tracing import reporting
from conduit.seeing.report.advice import advice
from extended import Extended
from extended.windows import LOCK_SHARED, Win

MANY = 60


async def polls(ep, seconds, every):
    """Compute, with a poll now and then."""
    while seconds > 1e-9:
        await ep.compute(min(every, seconds))
        seconds -= every
        await ep.poll()


async def late(ep, every):
    """The others get from rank 0, which computes as long as they do after each get."""
    x = await Extended.attach(ep)
    for _ in range(4):
        if ep.rank == 0:
            await polls(ep, 1e-3, every)
        else:
            await x.get(0, 0, 8)
            await ep.compute(1e-3)
    await x.barrier()


async def all_late(ep, every):
    """Each rank computes while its neighbour waits for what it has."""
    x = await Extended.attach(ep)
    for _ in range(4):
        await ep.compute(1e-4 * (ep.rank % 2))
        await x.get((ep.rank + 1) % ep.size, 0, 8)
        await polls(ep, 1e-3, every)
    await x.barrier()


async def split_phase(ep, every):
    """Rank 0 computes between its coming to a barrier and its wait, which holds up the others."""
    x = await Extended.attach(ep)
    for _ in range(4):
        await x.barrier_notify()
        if ep.rank == 0:
            await polls(ep, 1e-3, every)
        await x.barrier_wait()
        if ep.rank:
            await ep.compute(1e-3)


async def keeps_lock(ep, every):
    """The rank that keeps a lock's queue computes, while two others pass the lock on."""
    x = await Extended.attach(ep)
    lock = x.lock("a")
    for _ in range(3):
        if ep.rank == lock.home:
            await polls(ep, 1e-3, every)
        elif ep.rank == 1:
            async with lock:
                await ep.compute(5e-5)
            await ep.compute(9e-4)
        else:
            await ep.compute(9.5e-4)
    await x.barrier()


async def heavy(ep, work):
    """Each rank has its own amount of work before a barrier."""
    x = await Extended.attach(ep)
    for _ in range(10):
        await ep.compute(work[ep.rank % len(work)])
        await x.barrier()


async def in_turn(ep, work):
    """In each turn another rank has most of the work."""
    x = await Extended.attach(ep)
    for turn in range(2 * ep.size):
        await ep.compute(work[(ep.rank + turn) % len(work)])
        await x.all_reduce(np.arange(2))


async def needed(ep, seconds):
    """Rank 0 computes while the others need it, and all wait for it at the end: polls alone would bring little."""
    x = await Extended.attach(ep)
    await ep.compute(seconds if ep.rank == 0 else seconds / 3 if seconds < 5e-3 else 0)
    if ep.rank:
        for _ in range(5):
            await x.get(0, 0, 8)
    await x.barrier()


async def one_late(ep, seconds):
    """One rank comes late to the first of several barriers."""
    x = await Extended.attach(ep)
    await ep.compute(seconds if ep.rank == 3 else 0)
    for _ in range(11):
        await x.barrier()


async def elements(ep, at_once):
    """Rank 0 reads an array of rank 1."""
    x = await Extended.attach(ep)
    if ep.rank == 0:
        if at_once:
            await x.get(1, 0, 8 * MANY)
        for index in range(0 if at_once else MANY):
            await x.get(1, 8 * index, 8)
    await x.barrier()


async def bytes_put(ep, at_once):
    """Rank 0 writes bytes to rank 1."""
    x = await Extended.attach(ep)
    if ep.rank == 0:
        for index in range(1 if at_once else MANY):
            await x.put(1, index, bytes(MANY if at_once else 1))
    await x.barrier()


async def handles(ep, at_once):
    """Rank 0 begins to write numbers to rank 1, and waits for each in the next line."""
    x = await Extended.attach(ep)
    if ep.rank == 0:
        begun = []
        for index in range(MANY):
            handle = await x.put_nb(1, 8 * index, bytes(8))
            if at_once:
                begun.append(handle)
            else:
                await handle
        await x.wait_all(begun)
    await x.barrier()


async def handles_of_gets(ep, at_once):
    """The same of gets, in two functions."""

    async def ended(handle):
        return await handle

    x = await Extended.attach(ep)
    if ep.rank == 0:
        begun = []
        for index in range(MANY):
            begun.append(await x.get_nb(1, 8 * index, 8))
            if not at_once:
                await ended(begun.pop())
        for handle in begun:
            await ended(handle)
    await x.barrier()


async def two_under_way(ep):
    """Rank 0 waits for the last access only when it has begun the next one."""
    x = await Extended.attach(ep)
    if ep.rank == 0:
        before = await x.put_nb(1, 0, bytes(8))
        for index in range(1, MANY):
            handle = await x.put_nb(1, 8 * index, bytes(8))
            await before
            before = handle
        await before
    await x.barrier()


async def by_messages(ep):
    """Rank 0 sends numbers to rank 1, and waits for each answer: neither a put nor a get would do that."""
    got = []

    def ask(token, payload, number):
        token.reply_short(answer, number)

    def answer(token, number):
        got.append(number)

    await ep.attach(ask, answer)
    for number in range(0 if ep.rank else MANY):
        await ep.request_medium(1, ask, bytes(8), number)
        await ep.block_until(lambda number=number: number in got, ranks=[1])


async def in_pairs(ep):
    """Rank 0 begins two accesses in a line, and waits for them."""
    x = await Extended.attach(ep)
    if ep.rank == 0:
        for index in range(0, MANY, 2):
            begun = [await x.put_nb(1, 8 * each, bytes(8)) for each in (index, index + 1)]
            for handle in begun:
                await handle
    await x.barrier()


async def in_order(ep, at_once):
    """Rank 0 writes eight bytes to each other rank."""
    x = await Extended.attach(ep)
    if ep.rank == 0:
        handles = []
        for rank in range(1, ep.size):
            if at_once:
                handles.append(await x.put_nb(rank, 0, bytes(8)))
            else:
                await x.put(rank, 0, bytes(8))
        for handle in handles:
            await handle
    await x.barrier()


async def lists(ep, options):
    """Rank 0 gives lists of offsets."""
    x = await Extended.attach(ep)
    if ep.rank == 0:
        for _ in range(3):
            await x.get_indexed(1, np.arange(0, 1600, 16), 8)
    await x.barrier()


async def steps(ep, at_once):
    """One number to each of several ranks in each of many steps."""
    x = await Extended.attach(ep)
    for _ in range(20):
        handles = []
        for step in range(1, ep.size):
            if at_once:
                handles.append(await x.put_nb((ep.rank + step) % ep.size, 8 * ep.rank, bytes(8)))
            else:
                await x.put((ep.rank + step) % ep.size, 8 * ep.rank, bytes(8))
        for handle in handles:
            await handle
        await x.barrier()


async def sums(ep, tree):
    """All ranks add to one number by requests to rank 0."""
    x = await Extended.attach(ep)
    total = 0

    def add(token):
        nonlocal total
        total += 1

    await ep.attach(add)
    if tree:
        await x.all_reduce(np.array([30]))
    elif ep.rank:
        for _ in range(30):
            await ep.request_short(0, add)
    else:
        await ep.block_until(lambda: total == 30 * (ep.size - 1))


async def from_one(ep, at_once):
    """Rank 0 has an array that all others get, too."""
    x = await Extended.attach(ep)
    given = np.arange(10_000) if ep.rank == 0 else None
    await x.barrier()
    for _ in range(10):
        if at_once:
            ep.segment[:80_000].view("i8")[:] = await x.broadcast(given, 0)
        elif ep.rank == 0:
            for other in range(1, ep.size):
                await x.put(other, 0, given)
        await x.barrier()
    assert ep.rank == 0 or np.array_equal(ep.segment[:80_000].view("i8"), np.arange(10_000))


async def flood(ep, at_once):
    """Rank 0 sends many messages to rank 1."""
    got = 0

    def take(token, payload):
        nonlocal got
        got += len(payload)

    await ep.attach(take)
    if ep.rank == 0:
        for _ in range(400 // at_once):
            await ep.request_medium(1, take, bytes(100 * at_once))
    elif ep.rank == 1:
        await ep.block_until(lambda: got == 40_000)


async def loose(ep, offset):
    """Each rank puts to its neighbour, at some offset."""
    x = await Extended.attach(ep)
    for _ in range(20):
        await x.put((ep.rank + 1) % ep.size, offset, np.zeros(16384, "u1"))
    await x.barrier()


async def short(ep, at_once):
    """All send short messages to all, which wait for nothing."""
    x = await Extended.attach(ep)
    for turn in range(200 // at_once):
        await x.put_nbi((ep.rank + turn) % ep.size, 8 * turn, np.zeros(at_once))
    await x.sync()
    await x.barrier()


async def contacts(ep, warm):
    """Each rank gets from the others; returns what that took, perhaps after messages along each pair."""
    x = await Extended.attach(ep)
    if warm:
        for rank in range(ep.size):
            await x.get(rank, 0, 8)
    await x.barrier()
    if warm:
        await ep.compute(0.1)  # a long program is not hurt by what comes once
    since = ep.now
    for _ in range(5):
        for rank in range(ep.size):
            await x.get(rank, 0, 8)
    await x.barrier()
    return ep.now - since


async def long_contacts(ep, warm):
    """Rank 0 puts a long block to each rank, of which there is no later one; returns as `contacts`."""
    x = await Extended.attach(ep)
    if warm:
        for rank in range(ep.size):
            await x.get(rank, 0, 8)
        await x.barrier()
        await ep.compute(0.1)
    since = ep.now
    if ep.rank == 0:
        for rank in range(ep.size):
            await x.put(rank, 0, np.zeros(20_000))
    await x.barrier()
    return ep.now - since


async def locked(ep, at_once):
    """All ranks take one lock, for one thing or for several."""
    x = await Extended.attach(ep)
    for _ in range(20 // at_once):
        async with x.lock("a"):
            await ep.compute(1e-6 * at_once)
    await x.barrier()


async def computed_in_lock(ep, inside):
    """All ranks compute while they have a lock, or before they take it."""
    x = await Extended.attach(ep)
    for _ in range(10):
        await ep.compute(0 if inside else 1e-4)
        async with x.lock("a"):
            await ep.compute(1e-4 if inside else 0)
    await x.barrier()


async def counted(ep, at_once):
    """All ranks count on rank 0, each time or once."""
    x = await Extended.attach(ep)
    number = x.atomic("i8")
    if at_once:
        await number.fetch_add(0, 0, 100)
    for _ in range(0 if at_once else 100):
        await number.fetch_inc(0, 0)
    await x.barrier()


async def window_flushed(ep, at_once):
    """Each rank reads numbers of its neighbour's part of a window, and completes each of them before the next."""
    x = await Extended.attach(ep)
    win, numbers = await Win.Allocate(8 * MANY, 8, comm=x), np.zeros(MANY)
    there = (ep.rank + 1) % ep.size
    await win.Lock_all()
    if at_once:
        await win.Get(numbers, there)
    for index in range(0 if at_once else MANY):
        await win.Get(numbers[index : index + 1], there, index)
        await win.Flush(there)
    await win.Unlock_all()
    await x.barrier()
    await win.Free()


async def window_flushed_once(ep):
    """The same, completed together: two gets of a line between two flushes."""
    x = await Extended.attach(ep)
    win, numbers = await Win.Allocate(8 * MANY, 8, comm=x), np.zeros(MANY)
    there = (ep.rank + 1) % ep.size
    await win.Lock_all()
    for first in range(0, MANY, 2):
        for index in (first, first + 1):
            await win.Get(numbers[index : index + 1], there, index)
        await win.Flush(there)
    await win.Unlock_all()
    await x.barrier()
    await win.Free()


async def window_locked(ep, once):
    """Each rank reads numbers of its neighbour's part of a window, with a lock for each of them or one for all."""
    x = await Extended.attach(ep)
    win, numbers = await Win.Allocate(8 * MANY, 8, comm=x), np.zeros(MANY)
    there = (ep.rank + 1) % ep.size
    if once:
        await win.Lock(there, LOCK_SHARED)
        await win.Get(numbers, there)
        await win.Unlock(there)
    for index in range(0 if once else MANY):
        await win.Lock(there, LOCK_SHARED)
        await win.Get(numbers[index : index + 1], there, index)
        await win.Unlock(there)
    await x.barrier()
    await win.Free()


async def window_added(ep, kind):
    """Rank 0 adds to a number of rank 1's part of a window, with a lock for each time."""
    x = await Extended.attach(ep)
    win, one = await Win.Allocate(8, 8, comm=x), np.ones(1, kind)
    if ep.rank == 0:
        for _ in range(MANY):
            _ = await win.Lock(1), await win.Accumulate(one, 1), await win.Unlock(1)
    await x.barrier()
    await win.Free()


async def window_combined(ep):
    """Rank 0 changes four numbers of rank 1's part of a window at a time, and brings those before."""
    x = await Extended.attach(ep)
    win, four, before = await Win.Allocate(32, 8, comm=x, checks=False), np.ones(4, "i8"), np.zeros(4, "i8")
    await win.Fence()
    for _ in range(0 if ep.rank else MANY):
        await win.Get_accumulate(four, before, 1)
    await win.Fence()
    await x.barrier()
    await win.Free()


@dataclass
class Cause:
    """A program with one cause, and with that mended.

    `first` is in what is said first, `also` in what may be said beside; `least` by how many times mending is faster,
    and `gone` whether nothing of it is told then.
    """

    main: object
    bad: object
    mended: object
    first: str
    remedy: str
    conduit: str = "sci"
    also: tuple = ()
    ranks: int = 4
    least: float = 1.2
    gone: bool = True
    into: dict = field(default_factory=dict)


POLL = "Call `await ep.poll()`"
SPREAD = "Give it less work"
BLOCK = "Move a whole block"
FEWER = "Make fewer of them"
LESS = "Take it less often"
ONE_LOCK = (
    "Call `win.Lock` once for all of the accesses, or `win.Lock_all` once and `win.Flush` where one must be complete; "
    "or move the range at once by one `win.Get`, `win.Put` or `win.Accumulate`."
)
NOT = " did not poll while others waited for it"
HOT = "is a hot spot"
FORETOLD = (POLL, SPREAD, "Let offsets, sizes", "Send one message along")
"""Remedies whose share of the time is what they save."""
EVEN = [2.5e-4]
UNEVEN = [1e-4, 2e-4, 3e-4, 4e-4]

CAUSES = {
    "late": Cause(late, 1, 1e-5, f"Rank 0{NOT}", POLL),
    "late, slowly": Cause(late, 1, 5e-5, f"Rank 0{NOT}", POLL, "udp", least=1.1),
    "all late": Cause(all_late, 1, 1e-5, f"other ranks,{NOT}", POLL, ranks=6),
    "split-phase": Cause(split_phase, 1, 1e-5, f"Rank 0{NOT}", POLL),
    "keeps a lock": Cause(keeps_lock, 1, 1e-5, NOT, POLL),
    "heavy": Cause(heavy, UNEVEN, EVEN, "Rank 3 computes 4,000.0 µs, 2.0 times what the others compute on", SPREAD),
    "heavy, natively": Cause(heavy, UNEVEN, EVEN, "Rank 3 computes 4,000.0 µs, 2.0 times what", SPREAD, "t3e"),
    "two heavy": Cause(
        heavy, [1e-4, 1e-4, 3e-4, 3e-4], [2e-4], "Rank 2, like 1 other rank, computes 3,000.0 µs, 3.0 times", SPREAD
    ),
    "heavy in turn": Cause(
        in_turn, UNEVEN, EVEN,
        "in turn with 3 other ranks, computes 800.0 µs (of 2,000.0 µs in all), 2.0 times what", SPREAD,
    ),
    "needed": Cause(needed, 1e-2, 2.5e-3, "Rank 0 computes 10,000.0 µs, and the others hardly", SPREAD),
    "one late": Cause(one_late, 2e-2, 5e-3, "Rank 3 computes 20,000.0 µs, and the others hardly", SPREAD),
    "elements": Cause(elements, False, True, "Rank 0 accesses rank 1 element by element", BLOCK),
    "elements, natively": Cause(elements, False, True, "Rank 0 accesses rank 1 element by element", BLOCK, "t3e"),
    "bytes": Cause(bytes_put, False, True, f"{MANY} times 1 byte, and waits for each one", BLOCK),
    "handles": Cause(handles, False, True, f"{MANY} times 8 bytes, and waits for each one", BLOCK),
    "handles, on udp": Cause(handles, False, True, f"{MANY} times 8 bytes, and waits for each one", BLOCK, "udp"),
    "handles of gets": Cause(handles_of_gets, False, True, f"{MANY} times 8 bytes, and waits for each one", BLOCK,
                             "loggp"),
    "in order": Cause(in_order, False, True, "Rank 0 accesses 39 ranks one after the other", "Begin all", ranks=40),
    "in steps": Cause(steps, False, True, "accesses 5 ranks one after the other", "Begin all", "loggp", ranks=6),
    "lists": Cause(lists, 0, 0, "The lists that rank 0 gives", "Try the conduit's option `rma=am`", "t3e",
                   into={"conduit": "t3e:rma=am"}),
    "from one": Cause(from_one, False, True, "Rank 0 accesses 15 ranks one after the other",
                      "If all of them get the same", ranks=16),
    "from one, natively": Cause(from_one, False, True, "Rank 0 accesses 15 ranks one after the other",
                                "If all of them get the same", "t3e", ranks=16),
    "hot spot": Cause(sums, False, True, f"Rank 0 {HOT}", "Let a tree combine", also=("Queues are full",), ranks=8),
    "full": Cause(flood, 1, 10, "Queues are full", "Let the receiver poll more often, send fewer and larger",
                  "loggp:slots=2", gone=False),
    "loose": Cause(loose, 3, 8, "long messages go to offsets that are no multiple", "Let offsets, sizes", least=1.15),
    "short": Cause(short, 1, 100, "in sending and receiving, not in waits", "Send fewer and larger messages"),
    "first contacts": Cause(contacts, False, True, "First contacts are in the time after the start",
                            "Send one message along", "sunfire"),
    "long first contacts": Cause(long_contacts, False, True, "First contacts are in the time after the start",
                                 "Send one message along", "sunfire", ranks=8,
                                 also=("Rank 0 accesses 7 ranks one after the other",)),
    "lock": Cause(locked, 1, 20, "waits for lock 'a' while others have it", LESS, ranks=8, gone=False),
    "computed in a lock": Cause(
        computed_in_lock, True, False, "waits for lock 'a' while others have it", LESS, gone=False
    ),
    "window's flushes": Cause(window_flushed, False, True, "element by element", BLOCK),
    "window's locks": Cause(window_locked, False, True, "calls win.Lock and win.Unlock 60 times each", ONE_LOCK),
    "counted": Cause(counted, False, True, "atomic operations on rank 0", FEWER, also=(HOT,), ranks=8),
    "counted, natively": Cause(counted, False, True, "atomic operations on rank 0", FEWER, "t3e", ranks=8),
}  # fmt: skip


def reported(main, *args, **settings):
    """The report of a program, and its result."""
    with reporting() as reports:
        result = conduit.run(main, *args, **settings)
    (found,) = reports
    return found, result


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_is_told_first_and_nothing_untrue_and_to_mend_it_helps(name):
    cause = CAUSES[name]
    found, before = reported(cause.main, cause.bad, ranks=cause.ranks, conduit=cause.conduit)
    assert found.advice
    first, *others = found.advice
    assert cause.first in first.what
    assert first.remedy.startswith(cause.remedy)
    assert [each.what for each in others if not any(words in each.what for words in cause.also)] == []
    mended = {"ranks": cause.ranks, "conduit": cause.conduit, **cause.into}
    then, after = reported(cause.main, cause.mended, **mended)
    if cause.main in (contacts, long_contacts):
        was, now = max(before.values), max(after.values)
    else:
        was, now = (each.profile.working / 1e12 for each in (found, then))
    assert was > cause.least * now
    if cause.remedy in FORETOLD:
        assert first.share * found.profile.working / 1e12 == pytest.approx(was - now, rel=0.25)
    assert not (cause.gone and [each.what for each in then.advice if cause.first in each.what])


async def all_meet(ep):
    """All ranks meet in many barriers."""
    x = await Extended.attach(ep)
    for _ in range(40):
        await x.barrier()


async def puts_once(ep):
    """Rank 0 puts a block to each of the others, which wait for all."""
    x = await Extended.attach(ep)
    await x.barrier()
    if ep.rank == 0:
        for rank in range(1, ep.size):
            await x.put(rank, 0, np.zeros(4000, "u1"))
    await x.barrier()


@pytest.mark.parametrize(
    ("main", "others"),
    [
        (
            all_meet,
            r"Rank \d, like \d other ranks, spends \d\d % of its time after the start but for first contacts in "
            r"sending and receiving, not in waits: \d+ messages of 0 bytes on the average, \d\.\d µs of its "
            r"processor for each\. Most of them are for 40 barriers, at \S*test_advice\.py:\d+ in all_meet\.",
        ),
        (
            puts_once,
            r"Rank 0 accesses 8 ranks one after the other at \S*test_advice\.py:\d+ in puts_once: 8 times; the others "
            r"wait at \S*test_advice\.py:\d+ in puts_once for "
            r"\d\d % of the time after the start but for first contacts\.",
        ),
    ],
)
def test_first_contacts_are_told_beside_the_rest_and_not_in_its_place(main, others):
    found, _ = reported(main, ranks=9, conduit="sunfire")
    first, second = found.advice
    assert first.what.startswith("First contacts are in the time after the start")
    assert re.fullmatch(others, second.what)
    assert first.share + second.share < 1
    (alone,) = reported(main, ranks=9, conduit="sci")[0].advice  # which has no first contacts
    assert alone.remedy == second.remedy


async def heavy_at_last(ep):
    x = await Extended.attach(ep)
    await x.barrier()
    await ep.compute(1e-3)
    await x.barrier()
    await ep.compute(2e-3 if ep.rank == 1 else 2e-4)
    await x.barrier()


def test_work_that_lets_nobody_wait_is_told_apart_from_what_does():
    """Of both together pictures and tables tell."""
    found, _ = reported(heavy_at_last, ranks=4, conduit="loggp")
    (told,) = found.advice
    assert told.what.startswith(
        "Rank 1 computes 2,000.0 µs (of 3,000.0 µs in all), 10.0 times what the others compute on the average; they "
    )


def test_in_real_time_uneven_work_may_be_what_else_the_machine_did(monkeypatch):
    found, _ = reported(heavy, UNEVEN, ranks=4, conduit="sci")
    (sure,) = found.advice
    assert not re.search(r"seems|unless|again", sure.what + sure.remedy)
    monkeypatch.setattr(found.recording, "clock_errors", [0] * 4)
    (told,) = advice(found.recording, found.profile)
    assert told.what.startswith("Rank 3 seems to compute 4,000.0 µs, 2.0 times what the others compute on the average")
    assert told.what.endswith(" less, unless the machine did something else meanwhile.")
    assert told.what.partition(" less")[0] == sure.what.partition(" less")[0].replace("computes", "seems to compute")
    assert told.remedy == (
        "Run it again: where it is the same rank each time, spread the work evenly over the ranks; where it is "
        "another, other programs had the processors."
    )


def test_in_real_time_nobody_is_said_for_sure_not_to_have_polled(monkeypatch):
    found, _ = reported(late, 1, ranks=4, conduit="sci")
    (sure,) = found.advice
    assert not re.search(r"seems|unless|again", sure.what + sure.remedy)
    monkeypatch.setattr(found.recording, "clock_errors", [0] * 4)
    (told,) = advice(found.recording, found.profile)
    known = "did not poll while others waited for it: it computed for"
    seems = sure.what.replace(known, "seems to compute without a poll while others wait for it: for")
    assert told.what == seems.removesuffix(".") + ", unless the machine did something else meanwhile."
    assert told.remedy == (
        "Run it again: where it is the same rank each time, call `await ep.poll()` in long computations, or cut them "
        "into shorter ones, since only a poll runs handlers; where it is another, other programs had the processors."
    )


HERE = r"at \S*test_advice.py:\d+ in \w+"
WORDS = {
    "all late": (
        r"Rank \d, like 5 other ranks, did not poll while others waited for it: it computed for 3,\d{3}\.\d µs, up to "
        rf"\d{{3}}\.\d µs at a time, with 4 messages under way to it\. That cost the others, which waited {HERE}, "
        r"3,\d{3}\.\d µs together, and the job about 3,\d00 µs\."
    ),
    "heavy": (
        r"Rank 3 computes 4,000\.0 µs, 2\.0 times what the others compute on the average; they wait for it, mostly "
        rf"{HERE}\. Spread evenly, the work would take about 1,[34]00 µs less\."
    ),
    "counted": (
        rf"Rank \d, like 6 other ranks, makes 100 atomic operations on rank 0 {HERE}, one by one\. They take \d\d % of "
        r"its time after the start\."
    ),
    "lock": (
        rf"Rank \d, like 7 other ranks, waits for lock 'a' while others have it, {HERE}: 4,\d{{3}}\.\d µs, \d\d % "
        r"of its time after the start\. It was held 160 times, for 5\.\d µs on the average, 1\.0 µs of them computing, "
        r"and \d\d\.\d µs passed from one to the next\."
    ),
    "hot spot": (
        r"Rank 0 is a hot spot: 210 of 210 requests go to it, from 7 ranks, and it spends \d\d % of its time after the "
        r"start on messages and handlers, and the others wait for it for \d\d % of theirs on the average\."
    ),
    "bytes": (
        rf"Rank 0 accesses rank 1 element by element {HERE}: 60 times 1 byte, and waits for each one\. Calls and waits "
        r"there take \d\d % of its time after the start\."
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_what_is_said(name):
    cause = CAUSES[name]
    found, _ = reported(cause.main, cause.bad, ranks=cause.ranks, conduit=cause.conduit)
    assert re.fullmatch(WORDS[name], found.advice[0].what)


def test_the_line_is_that_of_the_meeting_and_not_of_other_waits_meanwhile():
    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        for _ in range(10):
            await ep.compute(1e-4 * (1 + 5 * (ep.rank == 2)))
            for _ in range(30):
                await x.atomic("i8").fetch_add(0, 0, 1)
            await x.barrier()

    found, _ = reported(main, ranks=4, conduit="sci")
    (told,) = [each.what for each in found.advice if "Rank 2 computes" in each.what]
    line = main.__code__.co_firstlineno + 7
    assert re.search(rf"they wait for it, mostly at \S*test_advice.py:{line} in main\. Spread evenly", told)


def test_requests_for_locks_are_said_to_be_left_out_of_a_hot_spot():
    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        for _ in range(40):
            await x.atomic("i8").fetch_add(0, 0, 1)
            async with x.lock(f"own {ep.rank}"):
                await ep.compute(1e-6)
        await x.barrier()

    found, _ = reported(main, ranks=6, conduit="sci")
    (told,) = [each.what for each in found.advice if "hot spot" in each.what]
    assert re.match(
        r"Rank 0 is a hot spot: 20\d of 2\d\d requests \(those for locks apart\) go to it, from 5 ranks, ", told
    )


def test_locks_of_one_line_are_told_as_one():
    async def main(ep):
        x = await Extended.attach(ep)
        for turn in range(12):
            async with x.lock(turn % 3):
                await ep.compute(1e-5)
        await x.barrier()

    (told,) = reported(main, ranks=8, conduit="sci")[0].advice
    assert " waits for lock " in told.what
    assert " while others have it, as for 2 other locks, at " in told.what


async def stencil(ep):
    """A balanced stencil: rows to both neighbours, the same work for all."""
    x = await Extended.attach(ep)
    near = [rank for rank in (ep.rank - 1, ep.rank + 1) if 0 <= rank < ep.size]
    for _ in range(10):
        handles = [await x.put_nb(rank, 8192 * (ep.rank < rank), np.zeros(512)) for rank in near]
        await ep.compute(2e-4)
        for handle in handles:
            await handle
        await x.barrier()


async def reducing(ep):
    """A sum of all ranks after each step."""
    x = await Extended.attach(ep)
    for _ in range(20):
        await ep.compute(2e-4)
        await x.all_reduce(np.arange(4.0))


async def ping_pong(ep):
    """Large blocks to and fro, each waited for."""
    x = await Extended.attach(ep)
    for turn in range(10):
        if ep.rank == turn % 2:
            await x.put(1 - ep.rank, 0, np.zeros(20_000))
        await x.barrier()


async def one_to_all(ep):
    """Rank 0 puts a large array to each rank: the first put takes as long as the others."""
    x = await Extended.attach(ep)
    if ep.rank == 0:
        for rank in range(ep.size):
            await x.put(rank, 0, np.zeros(20_000))
    await x.barrier()


async def pipeline(ep):
    """Each rank waits for the one before it, and all have the same work."""
    got = []

    def take(token, number):
        got.append(number)

    await ep.attach(take)
    for turn in range(30):
        if ep.rank:
            await ep.block_until(lambda turn=turn: len(got) > turn)
        await ep.compute(5e-5)
        if ep.rank < ep.size - 1:
            await ep.request_short(ep.rank + 1, take, turn)


async def exchanging(ep):
    """All send to all, some blocks of thirty kilobytes."""
    x = await Extended.attach(ep)
    for _ in range(5):
        await x.all_to_all(np.zeros((ep.size, 4000)))


async def own(ep):
    """Each rank reads its own segment, word by word."""
    x = await Extended.attach(ep)
    for index in range(200):
        await x.get(ep.rank, 8 * index, 8)
    await x.barrier()


async def uncontended(ep):
    """A lock that nobody else wants."""
    x = await Extended.attach(ep)
    if ep.rank == 0:
        for _ in range(3):
            async with x.lock("a"):
                pass
    await x.barrier()


async def edges(ep):
    """One number to each neighbour in each of many steps: there is no block to move."""
    x = await Extended.attach(ep)
    near = [rank for rank in (ep.rank - 1, ep.rank + 1) if 0 <= rank < ep.size]
    for _ in range(40):
        handles = [await x.put_nb(rank, 8 * (ep.rank < rank), bytes(8)) for rank in near]
        for handle in handles:
            await handle
        await x.barrier()


@pytest.mark.parametrize("network", ["sci", "sunfire", "udp", "startx", "loggp"])
@pytest.mark.parametrize("main", [two_under_way, in_pairs, by_messages])
def test_who_has_others_under_way_or_sends_messages_does_not_wait_for_each(main, network):
    found, _ = reported(main, ranks=2, conduit=network)
    assert [each.what for each in found.advice if "waits for each one" in each.what] == []


@pytest.mark.parametrize("network", ["sci", "t3e", "mpi"])
def test_accesses_of_windows_that_are_flushed_one_by_one_are_told_with_their_line(network):
    found, _ = reported(window_flushed, False, ranks=4, conduit=network)
    line = window_flushed.__code__.co_firstlineno + 9
    assert re.fullmatch(
        rf"Rank \d, like 3 other ranks, accesses rank \d element by element at \S*test_advice\.py:{line} in "
        r"window_flushed: 60 times 8 bytes, and waits for each one\. Calls and waits there take \d\d % of its time "
        r"after the start\.",
        found.advice[0].what,
    )
    assert found.advice[0].remedy == (
        "Move a whole block at once (one `win.Get`, `win.Put` or `win.Accumulate` of the range), or begin all of them "
        "in one epoch, which waits for them once, at its end."
    )
    assert len(found.advice) == 1


@pytest.mark.parametrize("network", ["sci", "mpi"])
def test_accesses_of_windows_that_are_flushed_together_are_not_said_to_be_waited_for_each(network):
    found, _ = reported(window_flushed_once, ranks=4, conduit=network)
    assert [each.what for each in found.advice if "waits for each one" in each.what] == []


@pytest.mark.parametrize("network", ["sci", "t3e", "mpi"])
def test_locks_of_windows_are_told_as_their_calls_at_the_line_of_the_first(network):
    found, _ = reported(window_locked, False, ranks=4, conduit=network)
    (told,) = [each for each in found.advice if "win.Lock" in each.what]
    line = window_locked.__code__.co_firstlineno + 10
    assert re.fullmatch(
        r"Rank \d, like 3 other ranks, calls win\.Lock and win\.Unlock 60 times each for accesses to rank \d at "
        rf"\S*test_advice\.py:{line} in window_locked, for one access each time\. These calls take \d\d % of its time "
        r"after the start\.",
        told.what,
    )
    assert told.remedy == ONE_LOCK
    assert "atomic operation" not in "".join(each.what for each in found.advice)


@pytest.mark.parametrize("kind", ["f8", "i8"])
@pytest.mark.parametrize("network", ["sci", "t3e", "mpi"])
def test_accumulates_of_windows_are_counted_without_what_their_locks_are_made_of(network, kind):
    found, _ = reported(window_added, kind, ranks=2, conduit=network)
    line = window_added.__code__.co_firstlineno + 6
    here = rf"at \S*test_advice\.py:{line} in window_added, "
    share = r" take \d\d % of its time after the start\."
    told = [each.what for each in found.advice if "win.Lock" in each.what or "atomic" in each.what]
    patterns = (
        rf"Rank 0 calls win\.Lock and win\.Unlock 60 times each for accesses to rank 1 {here}for one access each "
        rf"time\. These calls{share}",
        rf"Rank 0 makes 60 atomic operations on rank 1 {here}one by one\. They{share}",
    )
    for pattern in patterns:
        assert len([what for what in told if re.fullmatch(pattern, what)]) == 1, told
    assert len(told) == 2


def test_a_range_that_a_window_combines_is_a_list_of_native_operations():
    found, _ = reported(window_combined, ranks=2, conduit="t3e")
    line = window_combined.__code__.co_firstlineno + 6
    assert re.fullmatch(
        rf"The lists that rank 0 gives at \S*test_advice\.py:{line} in window_combined are one native operation for "
        r"each element: 240 times 8 bytes in 60 lists\. Calls and waits there take \d\d % of its time after the "
        r"start\.",
        found.advice[0].what,
    )
    assert [each.what for each in found.advice if "atomic operation" in each.what] == []


GOOD = (stencil, edges, reducing, ping_pong, one_to_all, pipeline, exchanging, own, uncontended)


@pytest.mark.parametrize("network", ["sci", "sunfire", "t3e", "udp", "startx"])
@pytest.mark.parametrize("main", GOOD, ids=lambda main: main.__name__)
def test_a_program_with_nothing_wrong_is_told_nothing_untrue(main, network):
    found, _ = reported(main, ranks=2 if main is ping_pong else 4, conduit=network)
    told = [each.what for each in found.advice]
    if network == "startx" and main is stencil:  # long payloads move by polls of both ranks
        assert len(told) == 1
        assert NOT in told.pop()
    if network == "sunfire":  # whose first contacts are in every short program
        told = [what for what in told if not what.startswith("First contacts are in the time after the start")]
    if main is edges:  # most of whose time is in short messages, on some
        told = [what for what in told if " in sending and receiving, not in waits: " not in what]
    assert told == []


def test_who_has_most_work_by_little_where_others_have_it_at_other_times():
    """Rank 0 has a tenth more in the longest of three epochs; all that ranks 1 and 2 have, the others wait for."""

    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        await ep.compute(10e-3 if ep.rank == 0 else 9.1e-3)
        await x.barrier()
        for rank in (1, 2):
            await ep.compute(0.8e-3 * (ep.rank == rank))
            await x.barrier()

    with reporting() as reports:
        conduit.run(main, conduit="loggp", ranks=16)
    (advised,) = reports[0].advice
    assert advised.what.startswith(
        "Rank 0, in turn with 2 other ranks, computes 10,000.0 µs, 1.1 times what the others compute on the average; "
    )
