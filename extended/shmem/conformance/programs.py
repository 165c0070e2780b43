"""What the checks of SHMEM have in common."""

from collections.abc import Callable
from typing import Any

import pytest

import conduit
from conduit.conformance.cases import Case
from extended import shmem


def play(case: Case, main: Callable[..., Any], *args: Any, **settings: Any) -> Any:
    """Run a program of PEs on a case and give the result."""

    async def program(ep: conduit.Endpoint, *given: Any) -> Any:
        return await main(await shmem.attach(ep), *given)

    return case.run(program, *args, **settings)


def refused(call: Callable[[], Any], words: str) -> None:
    """Say that a call is refused where it is made, before it is awaited."""
    with pytest.raises(conduit.BadRequest, match=words):
        call()
