"""Random transfers of every form against a model that is plain numpy."""

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from extended import Extended

hypothesis: Any = pytest.importorskip("hypothesis")
strategies: Any = pytest.importorskip("hypothesis.strategies")

LANE = 6000
"""Bytes of every segment that belong to one rank's operations."""

DTYPES = ("u1", "<i2", ">f4", "f8", "V3", "V600")


@attrs.frozen
class ScatteredOperation:
    """One operation of one rank on its lane of a segment.

    Attributes:
        put: whether it is a put, else a get.
        form: vector, indexed or strided.
        suffix: how it is waited for.
        dest: that of the segment.
        given: the places in the lane: pieces, offsets and size, or offset and strides.
        shape: of the array here.
        dtype: of its elements.
        turn: how the array lies in memory here.
        key: of the bytes that are put.
    """

    put: bool
    form: str
    suffix: str
    dest: int
    given: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: str
    turn: int
    key: int

    def places(self) -> npt.NDArray[np.int64]:
        """Give the addresses in the lane, of each byte in the order of the walk."""
        if self.form == "vector":
            parts = [start + np.arange(nbytes) for start, nbytes in self.given[0]]
            return np.concatenate([np.zeros(0, int), *parts]).astype(np.int64)
        if self.form == "indexed":
            return (np.array(self.given[0], np.int64)[:, None] + np.arange(self.given[1])).reshape(-1)
        starts: npt.NDArray[np.int64] = np.array(self.given[0])
        for count, stride in zip(self.shape, self.given[1], strict=True):
            starts = starts[..., None] + stride * np.arange(count)
        return (starts[..., None] + np.arange(np.dtype(self.dtype).itemsize)).reshape(-1)

    def data(self) -> npt.NDArray[Any]:
        """Give what is put, or room for what is got, as an array that lies in memory in some order."""
        size = np.dtype(self.dtype).itemsize
        values = ((np.arange(size * int(np.prod(self.shape))) * 7 + self.key * 31) % 251 + 1).astype(np.uint8)
        array = (
            values.view(self.dtype).reshape(self.shape)
            if size * int(np.prod(self.shape))
            else np.zeros(self.shape, self.dtype)
        )
        if self.form != "strided":
            return array
        if self.turn % 3 == 1:
            return np.array(array, order="F")
        if self.turn % 3 == 2:
            # Every other element of a larger array, backwards.
            wide: npt.NDArray[Any] = np.zeros([2 * count + 1 for count in array.shape], array.dtype)
            picked: tuple[Any, ...] = (*(slice(2 * count, 0, -2) for count in array.shape), ...)
            part: npt.NDArray[Any] = wide[picked]
            part[...] = array
            return part
        return array


def _listed(draw: Any) -> tuple[tuple[Any, ...], tuple[int, ...], str]:
    nbytes = strategies.one_of(strategies.integers(0, 9), strategies.integers(0, 900))
    pieces = draw(strategies.lists(strategies.tuples(strategies.integers(0, LANE - 900), nbytes), max_size=8))
    return (pieces,), (sum(nbytes for _, nbytes in pieces),), "u1"


def _indexed(draw: Any) -> tuple[tuple[Any, ...], tuple[int, ...], str]:
    nbytes = draw(strategies.sampled_from((0, 1, 3, 8, 8, 100, 700)))
    offsets = draw(strategies.lists(strategies.integers(0, LANE - 700), max_size=12))
    return (offsets, nbytes), (len(offsets), nbytes), "u1"


def _strided(draw: Any) -> tuple[tuple[Any, ...], tuple[int, ...], str]:
    dtype = draw(strategies.sampled_from(DTYPES))
    size = np.dtype(dtype).itemsize
    shape = tuple(draw(strategies.lists(strategies.integers(0, 4), max_size=3)))
    steps, step = [], size + draw(strategies.integers(0, 5))
    for count in reversed(shape):
        steps.append(step * draw(strategies.sampled_from((1, -1))))
        step = step * max(count, 1) + draw(strategies.sampled_from((0, 0, 3)))
    strides = tuple(draw(strategies.permutations(steps)) if draw(strategies.booleans()) else reversed(steps))
    return (draw(strategies.integers(LANE // 3, 2 * LANE // 3)), strides), shape, dtype


FORMS = {"vector": _listed, "indexed": _indexed, "strided": _strided}


def _scripts(case: Case) -> Any:
    """Give for each rank batches of operations, those of a batch apart from one another."""
    turns = strategies.tuples(strategies.integers(0, 8), strategies.integers(0, 200))

    def batch(draw: Any) -> list[ScatteredOperation]:
        steps: list[ScatteredOperation] = []
        taken = np.zeros((case.size, LANE), bool)
        for _ in range(draw(strategies.integers(1, 6))):
            form = draw(strategies.sampled_from(list(FORMS)))
            given, shape, dtype = FORMS[form](draw)
            dest, put = draw(strategies.integers(0, case.size - 1)), draw(strategies.booleans())
            suffix = draw(strategies.sampled_from(("", "_nb", "_nbi")))
            step = ScatteredOperation(put, form, suffix, dest, given, shape, dtype, *draw(turns))
            places = step.places()
            if places.size and (places.min() < 0 or places.max() >= LANE or taken[dest, places].any()):
                continue
            if put and len(np.unique(places)) < len(places):
                continue
            taken[dest, places] = True
            steps.append(step)
        return steps

    ranks = min(case.size, 3)
    batches = strategies.composite(batch)
    return strategies.lists(strategies.lists(batches(), min_size=1, max_size=3), min_size=ranks, max_size=ranks)


def _shifted(step: ScatteredOperation, lane: int) -> tuple[Any, ...]:
    """Give the places as the call takes them, in a rank's lane."""
    if step.form == "vector":
        return ([(lane + offset, nbytes) for offset, nbytes in step.given[0]],)
    if step.form == "indexed":
        return ([lane + offset for offset in step.given[0]], step.given[1])
    return (lane + step.given[0], step.given[1])


async def _play(ep: Endpoint, script: list[list[list[ScatteredOperation]]]) -> tuple[list[bytes], bytes]:
    """Do this rank's batches; give what its gets brought, and its segment in the end."""
    x: Any = await Extended.attach(ep)
    brought: list[bytes] = []
    for steps in script[ep.rank] if ep.rank < len(script) else ():
        arrays, handles = [], []
        for step in steps:
            data = step.data()
            if not step.put:
                data[...] = np.zeros((), data.dtype)
                arrays.append(data)
            call = getattr(x, f"{'put' if step.put else 'get'}_{step.form}{step.suffix}")
            handles.append(await call(step.dest, *_shifted(step, LANE * ep.rank), data))
        await x.wait_all([handle for handle in handles if hasattr(handle, "done")])
        await x.sync()
        brought += [array.tobytes() for array in arrays]
    await x.barrier()
    return brought, bytes(ep.segment)


def _expected(
    script: list[list[list[ScatteredOperation]]], ranks: int
) -> tuple[list[list[bytes]], npt.NDArray[np.uint8]]:
    """Say what gets bring and segments hold, by walks over the bytes; lanes are apart, so rank after rank."""
    memory = np.zeros((ranks, LANE * ranks), np.uint8)
    brought: list[list[bytes]] = [[] for _ in range(ranks)]
    for rank, batches in enumerate(script):
        for step in (step for steps in batches for step in steps):
            places = LANE * rank + step.places()
            if step.put:
                memory[step.dest, places] = np.frombuffer(step.data().tobytes(), np.uint8)
            else:
                brought[rank].append(memory[step.dest, places].tobytes())
    return brought, memory


@pytest.mark.rule("X41", "X42", "X43", "X44", "X45", "X48")
def test_random_transfers_do_what_the_model_does(case: Case, request: pytest.FixtureRequest) -> None:
    """Of every form, shape, stride and type, in and out of order, several outstanding at once."""

    def check(script: list[list[list[ScatteredOperation]]]) -> None:
        result = case.run(_play, script, segment=LANE * case.size)
        brought, memory = _expected(script, case.size)
        for rank, (got, held) in enumerate(result.values):
            assert got == brought[rank]
            assert held == memory[rank].tobytes()
        assert not any(result.warnings)

    limits = hypothesis.settings(
        max_examples=40 if request.config.getoption("full") else 4,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.seed(case.seed)(limits(hypothesis.given(_scripts(case))(check)))()
