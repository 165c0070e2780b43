"""The page on limits against the code."""

import random
import re
import threading
from pathlib import Path

import numpy as np
import pytest
import trio

import conduit
from conduit.launch.registry import networks


@pytest.fixture
def page(root: Path) -> str:
    """The page."""
    return (root / "docs" / "limits.md").read_text(encoding="utf-8")


def test_the_table_of_sizes_is_that_of_the_networks(page: str) -> None:
    pytest.importorskip("mpi4py", reason="one of the networks needs mpi4py")
    stated = {}
    for name, *cells in (line.split("|")[1:-1] for line in page.splitlines() if line.startswith("  | `")):
        texts = [cell.strip().strip("`") for cell in cells]
        stated[name.strip().strip("`")] = [eval(text) if text else None for text in texts]
    there = {}
    for name, cls in networks().items():
        assert isinstance(cls, type), cls
        options = cls.Options()
        limits = cls.limits(options)
        assert limits.max_long_request == limits.max_long_reply
        there[name] = [
            cls.max_hosts(options),
            cls.max_ranks_per_host(options),
            limits.max_medium,
            limits.max_long_request,
            cls.max_segment(options),
        ]
    assert stated == there


def test_every_network_is_named_as_what_it_is(page: str) -> None:
    simulated, real = re.findall(r"^- \*\*(?:Networks|Real networks)\*\*: (.*?)(?=^- )", page, flags=re.M | re.S)
    for name, cls in networks().items():
        if isinstance(cls, type):
            _, _, variant = name.rpartition("=")
            assert f"{variant}`" in (simulated if cls.simulated else real), name
            assert f"{variant}`" not in (real if cls.simulated else simulated), name


def test_python_s_own_random_numbers_have_no_seed() -> None:
    async def main(ep: conduit.Endpoint) -> tuple[float, ...]:
        return ep.random.random(), random.random(), np.random.rand(), np.random.default_rng().random()

    first, again = (conduit.run(main, ranks=2, seed=3).values for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert [left == right for left, right in zip(one, other, strict=True)] == [True, False, False, False]
    assert first[0][0] != first[1][0]


def test_a_thread_of_trio_s_is_waited_for_and_another_one_is_not() -> None:
    async def main(ep: conduit.Endpoint, known: bool) -> None:
        over, done = threading.Event(), []

        def work() -> None:
            over.wait(0 if known else 60)
            done.append(1)

        thread = threading.Thread(target=work)
        try:
            async with trio.open_nursery() as nursery:
                if known:
                    nursery.start_soon(trio.to_thread.run_sync, work)
                else:
                    thread.start()
                await ep.block_until(lambda: done)
        finally:
            over.set()

    assert conduit.run(main, True, ranks=1).digest is None
    with pytest.raises(conduit.Deadlock):
        conduit.run(main, False, ranks=1)
