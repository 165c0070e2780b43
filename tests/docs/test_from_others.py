"""The table of what other libraries' calls are here: each name is there, and takes what is shown."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import conduit
from conduit.launch.hints import hint
from extended import Atomic, Extended

PREFIXES = ("gasnet_", "gasnett_", "gex_", "GASNET_", "MPI_", "shmem_")
OWNERS = {"ep": conduit.Endpoint, "x": Extended, "token": conduit.Token, "d": Atomic, "conduit": conduit}


def _said_here(root: Path) -> list[str]:
    rows = re.findall(r"^\| .*\|$", (root / "docs" / "from_others.md").read_text(encoding="utf-8"), flags=re.M)
    return [text for row in rows[2:] for text in re.findall(r"`([^`]+)`", row.split("|")[-2])]


def _rows(root: Path) -> list[tuple[list[str], set[str]]]:
    """Return the names of each row, of other libraries, and the names of the calls that it says are here."""
    rows = []
    for row in re.findall(r"^\| .*\|$", (root / "docs" / "from_others.md").read_text(encoding="utf-8"), flags=re.M)[2:]:
        _, *theirs, here = row.strip("|").split("|")
        names: list[str] = []
        for name in re.findall(r"`([\w.]+)`", "|".join(theirs)):
            whole = names[-1].rpartition("_")[0] + name if name.startswith("_") else name.rpartition(".")[2]
            names.append(whole)
        rows.append(([name for name in names if name != "mpiexec"], set(re.findall(r"\b\w+\.(\w+)", here))))
    return rows


def test_who_uses_a_name_of_another_library_is_told_what_to_write(root: Path) -> None:
    """On `ep` and on `x`, with and without the library's prefix: the call of its row, by its name."""
    wanted: dict[str, set[str]] = {}
    for names, here in _rows(root):
        for name in names:
            wanted.setdefault(name, set()).update(here)
            bare = name.partition("_")[2] if name.startswith(PREFIXES) else name
            wanted.setdefault(bare, set()).update(here)
    assert len(wanted) > 100
    wanted["MPI_Wait"].add("`await` the handle")
    wanted["Wait"].add("`await` the handle")
    wanted["wait_syncnb"].add("`await` the handle")
    wanted["gasnet_wait_syncnb"].add("`await` the handle")

    async def main(ep: conduit.Endpoint) -> list[tuple[str, str]]:
        untold = list(_alone(wanted, ep=ep))
        x = await Extended.attach(ep)
        untold += _alone(wanted, ep=ep, x=x)
        for name, here in wanted.items():
            for there in (ep, x):
                try:
                    getattr(there, name)
                except AttributeError as error:
                    said = hint(error)
                    if not any(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", said) for each in here):
                        untold.append((f"{type(there).__name__}.{name}", said))
        return untold

    (untold,) = conduit.run(main, conduit="loggp", ranks=1).values
    assert not untold, "\n".join(map(str, untold))


def _alone(wanted: dict[str, set[str]], **variables: object) -> Iterator[tuple[str, str]]:
    """Yield the names as C has them of which another thing is said, or nothing, where one stands alone in a program."""
    for name in wanted:
        if name.startswith(PREFIXES):
            function = ["def main(*, ep, x=None):", *(["    del x"] * ("x" not in variables)), f"    {name}"]
            defined: dict[str, Any] = {}
            exec("\n".join(function), defined)
            try:
                defined["main"](**variables)
            except NameError as error:
                said = hint(error)
                if not any(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", said) for each in wanted[name]):
                    yield name, said


def test_every_name_is_there(root: Path) -> None:
    found = [match for text in _said_here(root) for match in re.findall(r"\b(ep|x|token|d|conduit)\.(\w+)", text)]
    assert len(found) > 30
    missing = [name for owner, name in found if not hasattr(OWNERS[owner], name) and name not in ("rank", "segment")]
    assert missing == []
    assert hasattr(conduit.Endpoint, "segment_size")


def test_every_call_takes_what_is_shown(root: Path) -> None:
    calls = 0
    for text in _said_here(root):
        source = text.removesuffix(":") + (": pass" if text.startswith("async with") else "")
        if text.startswith(("conduit run", "segment=")):
            continue
        for node in ast.walk(ast.parse(f"async def f():\n {source}")):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name), args=args, keywords=named):
                    signature = inspect.signature(getattr(OWNERS[owner], name))
                    first = [] if owner == "conduit" else [None]
                    signature.bind(*first, *args, **{each.arg or "": None for each in named})
                    calls += 1
    assert calls > 25


def test_what_leaves_its_source_free_on_return_is_said_with_bulk_false(root: Path) -> None:
    """GASNet's puts without `_bulk`, and `shmem_put`, let the source change on return; ours do with `bulk=False`."""
    text = (root / "docs" / "from_others.md").read_text(encoding="utf-8")
    here = {}
    for row in re.findall(r"^\| .*\|$", text, flags=re.M):
        for name in re.findall(r"`(gasnet_put_nbi?(?:_bulk)?|shmem_put(?:_nbi)?|MPI_R?[pP]ut)`", row):
            here.setdefault(name, []).append(" ".join(re.findall(r"x\.\w+\([^)]*\)", row)))
    assert here == {
        "gasnet_put_nb": ["x.put_nb(rank, offset, data, bulk=False)"],
        "gasnet_put_nb_bulk": ["x.put_nb(rank, offset, data)"],
        "gasnet_put_nbi": ["x.put_nbi(rank, offset, data, bulk=False) x.sync_puts()"],
        "gasnet_put_nbi_bulk": ["x.put_nbi(rank, offset, data) x.sync_puts()"],
        "shmem_put": ["x.put(rank, offset, data)", "x.put_nbi(rank, offset, data, bulk=False) x.sync_puts()"],
        "shmem_put_nbi": ["x.put_nbi(rank, offset, data) x.sync_puts()"],
        "MPI_Put": ["x.put(rank, offset, data)", "x.put_nbi(rank, offset, data) x.sync_puts()"],
        "MPI_Rput": ["x.put_nb(rank, offset, data)"],
    }


def test_a_source_that_changes_arrives_as_it_was_with_bulk_false_alone() -> None:
    """As the tutorial says; on the SCI network large puts read their source late."""

    async def main(ep: conduit.Endpoint, bulk: bool) -> list[float]:
        x = await Extended.attach(ep)
        source = np.zeros(1000)
        handles = []
        for turn in range(4):
            source[:] = turn
            handles.append(await x.put_nb(1 - ep.rank, 8000 * turn, source, bulk=bulk))
        await x.wait_all(handles)
        await x.barrier()
        return ep.segment[:32000].view("f8")[::1000].tolist()

    assert conduit.run(main, False, conduit="sci").values == [[0, 1, 2, 3]] * 2
    assert conduit.run(main, True, conduit="sci").values != [[0, 1, 2, 3]] * 2
