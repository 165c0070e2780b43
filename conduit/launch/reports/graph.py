"""The graph of who waits for whom, and what in it is the cause: what no wait explains.

It is made of records alone, so that these may have come from other processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from conduit.contract import Awaited
from conduit.launch.reports.records import Cause, Edge, RankRecord, TaskRecord, WaitRecord

_EFFORT = 200_000  # steps in search of a knot's shortest cycle
_CAUSES = 16  # groups of ranks whose waiters are counted; what comes after them explains little


def edges(ranks: Iterable[RankRecord]) -> tuple[Edge, ...]:
    """Return who waits for whom; ranks that wait for the same ones for the same thing are together."""
    groups: dict[tuple[tuple[int, ...], str], dict[int, None]] = {}
    for rank in ranks:
        for wait in waits(rank):
            if wait.awaited:
                groups.setdefault((wait.awaited, wait.what), {})[rank.rank] = None
    return tuple(Edge(tuple(waiting), awaited, what) for (awaited, what), waiting in groups.items())


def waits(rank: RankRecord) -> list[WaitRecord]:
    """Return what the tasks of a rank wait for, but not the answers of those that ask again and again."""
    return [task.wait for task in rank.tasks if task.wait is not None and not task.again]


def loose(task: TaskRecord) -> bool:
    """Say whether what a task does waits for no rank that is known."""
    return task.wait is None or bool(task.again) or not task.wait.awaited


class Graph:
    """Who waits for whom.  Nodes are the ranks, and behind them one for each edge, which many ranks may share.

    Args:
        size: number of ranks.
        between: the edges.
    """

    def __init__(self, size: int, between: Sequence[Edge]) -> None:
        self.size = size
        self.after: list[list[int]] = [[] for _ in range(size + len(between))]
        self.before: list[list[int]] = [[] for _ in range(size + len(between))]
        for node, edge in enumerate(between, size):
            for rank in edge.waiting:
                self._join(rank, node)
            for rank in edge.awaited:
                self._join(node, rank)

    def _join(self, node: int, other: int) -> None:
        self.after[node].append(other)
        self.before[other].append(node)

    def knots(self) -> list[list[int]]:
        """Return the sets of nodes each of which leads to all others of its set, and to nothing else.

        A rank that waits for no other is one by itself.  By Tarjan's algorithm, without recursion.
        """
        total = len(self.after)
        number = [-1] * total  # in the order in which they are found
        lowest = [0] * total
        home = [-1] * total  # which set a node belongs to
        sets: list[list[int]] = []
        stack: list[int] = []
        count = 0
        for start in range(total):
            if number[start] >= 0:
                continue
            path: list[tuple[int, int]] = [(start, 0)]
            while path:
                node, first = path.pop()
                if number[node] < 0:
                    number[node] = lowest[node] = count
                    count += 1
                    stack.append(node)
                for turn in range(first, len(self.after[node])):
                    other = self.after[node][turn]
                    if number[other] < 0:
                        path += [(node, turn), (other, 0)]
                        break
                    if home[other] < 0:
                        lowest[node] = min(lowest[node], lowest[other])
                else:
                    if lowest[node] == number[node]:
                        members = [stack.pop()]
                        while members[-1] != node:
                            members.append(stack.pop())
                        for each in members:
                            home[each] = len(sets)
                        sets.append(members)
        return [
            sorted(members)
            for index, members in enumerate(sets)
            if all(home[other] == index for node in members for other in self.after[node])
        ]

    def waiting_for(self, ranks: Sequence[int]) -> tuple[set[int], set[int]]:
        """Return the other ranks that wait for some of `ranks`, and those that wait for these in turn."""
        targets = set(ranks)
        direct = {rank for each in targets for edge in self.before[each] for rank in self.before[edge]} - targets
        seen = targets | direct
        pending = list(direct)
        passed: set[int] = set()
        while pending:
            for edge in self.before[pending.pop()]:
                if edge not in passed:
                    passed.add(edge)
                    pending += [rank for rank in self.before[edge] if rank not in seen]
                    seen.update(self.before[edge])
        return direct, seen - targets - direct

    def cycle(self, knot: Sequence[int], beside: Set[int] = frozenset()) -> tuple[int, ...]:
        """Return a shortest cycle through a rank of a knot, () if there is none.

        In a large knot only its lowest ranks are tried.

        Args:
            knot: its ranks.
            beside: those that the cycle must not have.
        """
        best: list[int] = []
        effort = _EFFORT
        for start in knot:
            if start in beside:
                continue
            found, steps = self._cycle_through(start, len(best), beside)
            best, effort = found or best, effort - steps
            if effort < 0:
                break
        return tuple(each for each in best if each < self.size)

    def _cycle_through(self, start: int, most: int, beside: Set[int]) -> tuple[list[int], int]:
        """Return a shortest cycle through a rank, and how many steps that took to find.

        Args:
            start: the rank.
            most: nodes that a longer one has already, counting the rank twice; 0 for no bound.
            beside: ranks that it must not have.
        """
        came: dict[int, int] = {}
        depth = {start: 1}
        pending, steps = [start], 0
        for node in pending:
            if most and depth[node] + 1 >= most:
                break
            for other in self.after[node]:
                steps += 1
                if other == start:
                    path = [start, node]
                    while path[-1] != start:
                        path.append(came[path[-1]])
                    return path[::-1], steps
                if other not in came and other not in beside:
                    came[other] = node
                    depth[other] = depth[node] + 1
                    pending.append(other)
        return [], steps


def shape(rank: RankRecord) -> tuple[object, ...]:
    """Return what ranks have in common that are in the same situation, whatever the peers and the times."""
    return rank.stage, tuple(dict.fromkeys(task_shape(task) for task in rank.tasks))


def task_shape(task: TaskRecord) -> tuple[object, ...]:
    """Return the line of a task and the kind of its wait."""
    wait = task.wait
    if task.again:
        return task.place, pattern(task.again)
    return task.place, task.call, None if wait is None else (wait.kind, pattern(wait.what))


def pattern(text: str) -> str:
    """Return a text without its numbers, which differ from rank to rank; those of lines, `file:7`, stay."""
    return re.sub(r"(?<![:\d])\d+", "#", text)


def causes(ranks: Sequence[RankRecord], between: Sequence[Edge]) -> tuple[Cause, ...]:
    """Return what no wait explains: first what most ranks wait for, then what is rarest."""
    graph = Graph(len(ranks), between)
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []  # ranks and their cycle
    alone: dict[object, list[int]] = {}
    for knot in graph.knots():
        members = [node for node in knot if node < graph.size]
        cycle = graph.cycle(members) if len(knot) > 1 else ()
        idle = [rank for rank in members if any(loose(task) and not task.ends for task in ranks[rank].tasks)]
        blamed = members
        if cycle and 0 < len(idle) < len(members):
            blamed, cycle = idle, graph.cycle(members, _helped(ranks, members, set(idle)))
        if cycle:
            found.append((tuple(dict.fromkeys(cycle)), cycle))
        else:
            for rank in blamed:
                # Of ranks at one line those that nobody waits for explain no wait: they are told apart.
                alone.setdefault((shape(ranks[rank]), bool(graph.before[rank])), []).append(rank)
    found += [(tuple(sorted(group)), ()) for group in alone.values()]
    found.sort(key=lambda each: (not each[1], -_urgency(ranks, each[0]), len(each[0])))
    known = {rank for group, _ in found for rank in group}
    primary = _counted(ranks, graph, found)
    secondary = _counted(ranks, graph, [(group, ()) for group in _half_explained(ranks, graph, known)])
    return primary + tuple(cause for cause in secondary if cause.direct)


def _helped(ranks: Sequence[RankRecord], members: Iterable[int], idle: Set[int]) -> set[int]:
    """Return the ranks of a knot whose waits do not make a cycle that is sure, for other tasks may yet do something.

    These are the ones with such tasks, but where they are waited for because of what a task holds that waits itself:
    no other task can let go of that.  Nor where they have not come to a call that all make, and main waits, which is to
    come to it.  And those for whom one of several ranks is enough, such a one among them.

    Args:
        ranks: all of them.
        members: those of the knot.
        idle: those of them with a task that waits for no rank that is known.
    """
    found: set[int] = set()
    known: dict[tuple[tuple[int, ...], frozenset[str], bool], set[int]] = {}  # which many ranks may share
    for rank in members:
        for wait in waits(ranks[rank]):
            key = (
                wait.awaited,
                frozenset(want.what for want in ranks[rank].wants if wait.what in (want.wait, want.held)),
                bool(wait.missing),
            )
            if key not in known:
                known[key] = {each for each in wait.awaited if each in idle and not _ties(ranks[each], *key[1:])}
                found |= known[key]
            if known[key] and len(wait.awaited) > 1 and not wait.missing:
                found.add(rank)
    return found


def _ties(rank: RankRecord, wanted: Set[str], together: bool) -> bool:
    """Say whether one of the tasks of a rank that wait for ranks which are known is what others wait for.

    Args:
        rank: the rank.
        wanted: what they want: a task may hold it.
        together: whether they wait in a call that all make: main is to come to it.
    """
    tied = [task for task in rank.tasks if not loose(task)]
    return any((together and task.main) or any(hold.what in wanted for hold in task.holds) for task in tied)


def _half_explained(ranks: Sequence[RankRecord], graph: Graph, known: Set[int]) -> list[tuple[int, ...]]:
    """Return the awaited ranks that wait for others, but also for what no rank is known to bring about.

    What every rank waits for so is no reason why some do: such as a task that serves until the end of all.
    """
    beside = {rank.rank: {task_shape(task) for task in rank.tasks if loose(task)} for rank in ranks if rank.running}
    everywhere = set.intersection(*beside.values()) if len(beside) > 1 else set()
    alike: dict[object, list[int]] = {}
    for rank in ranks:
        apart = rank.running and rank.rank not in known and beside[rank.rank] - everywhere
        if apart and graph.before[rank.rank]:
            alike.setdefault(shape(rank), []).append(rank.rank)
    return [tuple(group) for group in alike.values()]


def _counted(
    ranks: Sequence[RankRecord], graph: Graph, found: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]
) -> tuple[Cause, ...]:
    """Return causes with the ranks that wait for them, most important first."""
    counted = []
    for group, cycle in found[:_CAUSES]:
        direct, in_turn = graph.waiting_for(group)
        if cycle or direct or any(_unexplained(ranks[rank]) for rank in group):
            counted.append(Cause(group, cycle, tuple(sorted(direct)), tuple(sorted(in_turn))))
    return tuple(sorted(counted, key=lambda cause: _order(ranks, cause)))


def _unexplained(rank: RankRecord) -> bool:
    """Say whether a rank does something that needs explaining although no rank is known to wait for it."""
    return not rank.serving or any(task.wait is None or task.wait.kind != "return" for task in rank.tasks)


def _urgency(ranks: Sequence[RankRecord], group: Sequence[int]) -> int:
    """Return how sure it is that a group of ranks in one situation is a cause by itself."""
    first = ranks[group[0]]
    if any(task.blamed for rank in group for task in ranks[rank].tasks):
        return 3
    if any(wait.over and wait.kind != Awaited.ATTACH.value for rank in group for wait in waits(ranks[rank])):
        return 2
    return int(first.running and not first.may_poll and any(ranks[rank].undelivered for rank in group))


def _order(ranks: Sequence[RankRecord], cause: Cause) -> tuple[object, ...]:
    urgency = _urgency(ranks, cause.ranks)
    waiting = len(cause.direct) + len(cause.in_turn)
    return (
        urgency < 3,
        not (waiting or cause.cycle),
        -waiting,
        not cause.cycle,
        -urgency,
        len(cause.ranks),
        cause.ranks,
    )
