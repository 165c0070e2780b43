"""The table of what other libraries' calls are here: each name is there, and takes what is shown."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import conduit
from conduit.launch.hints.of_errors import hint
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


IN_FULL = {
    "gasnet_put_nb_val gex_RMA_PutNBVal": {"put_value_nb"},
    "gasnet_put_nbi_val gex_RMA_PutNBIVal": {"put_value_nbi", "sync_puts"},
    "gasnet_wait_syncnb_valget gasnet_get_nb_val": {"get_value_nb"},
    "gasnet_putv_bulk gex_VIS_VectorPutBlocking": {"put_vector"},
    "gasnet_putv_nb_bulk gex_VIS_VectorPutNB": {"put_vector_nb"},
    "gasnet_getv_nbi_bulk gex_VIS_VectorGetNBI": {"get_vector_nbi", "sync_gets"},
    "gasnet_puti_nbi_bulk gex_VIS_IndexedPutNBI": {"put_indexed_nbi", "sync_puts"},
    "gasnet_geti_bulk gex_VIS_IndexedGetBlocking": {"get_indexed"},
    "gasnet_puts_nb_bulk gex_VIS_StridedPutNB": {"put_strided_nb"},
    "gasnet_gets_nb_bulk gex_VIS_StridedGetNB": {"get_strided_nb"},
    "gasnet_try_syncnb_all gex_Event_TestAll": {"all(handle.done"},
    "gasnet_try_syncnb_some gex_Event_TestSome": {"any(handle.done"},
    "gasnet_try_syncnbi_puts gex_NBI_Test": {"access_region"},
    "gasnet_wait_syncnb_all gex_Event_WaitAll": {"wait_all"},
    "gasnet_wait_syncnb_some gex_Event_WaitSome": {"wait_some"},
    "gasnet_AMMaxMedium gex_AM_MaxRequestMedium gex_AM_MaxReplyMedium gex_Token_MaxReplyMedium": {"max_medium"},
    "gasnet_AMMaxLongRequest gex_AM_MaxRequestLong": {"max_long_request"},
    "gasnet_AMMaxLongReply gex_AM_MaxReplyLong gex_AM_LUBReplyLong gex_Token_MaxReplyLong": {"max_long_reply"},
    "gex_AM_PrepareRequestMedium gex_AM_CommitRequestMedium gex_AM_RequestMedium2": {"request_medium"},
    "gex_AM_PrepareReplyLong gex_AM_CancelReplyLong gex_AM_ReplyLong1": {"reply_long"},
    "gex_AM_RequestShort0 gasnet_AMRequestShort4": {"request_short"},
    "gasnet_hsl_init gasnet_hsl_destroy gasnet_hsl_lock gasnet_hsl_unlock gasnet_hsl_trylock": {"leave it out"},
    "gasnet_hold_interrupts gasnet_resume_interrupts gasnet_set_waitmode gex_EP_Create": {"leave it out"},
    "gex_Segment_Attach gex_Segment_Create gex_EP_BindSegment gex_EP_PublishBoundSegment": {"leave it out"},
    "gasnet_getenv": {"os.environ"},
    "gasnet_ErrorName gasnet_ErrorDesc": {"except conduit.ConduitError"},
    "gex_System_QueryNbrhdInfo gex_System_QueryHostInfo gex_System_QueryMyPosition": {"ranks_on_host"},
    "gasnet_coll_gather_all": {"all_gather"},
    "gasnet_coll_exchange": {"all_to_all"},
    "gasnet_coll_wait_sync": {"`await` the handle"},
    "gasnet_coll_try_sync gex_Event_Test": {"done"},
    "gex_AD_OpNB_I64 gex_AD_OpNBI_DBL": {"atomic"},
    "gex_Client_Init": {"leave it out"},
    "gex_Event_QueryLeaf": {"bulk=False"},
    "gasnet_barrier_result": {"BarrierMismatch"},
    "gex_TM_Create": {"split"},
}
"""What the contract shortens or has not: names of GASNet and GASNet-EX, and words of what is told of them."""


def _of_the_contract(root: Path) -> dict[str, set[str]]:
    """Return the names of GASNet that the contract writes out, with the calls of their rows."""
    text = (root / "docs" / "contract.md").read_text(encoding="utf-8").partition("# Calls of GASNet and ours")[2]
    wanted: dict[str, set[str]] = {name: here for names, here in IN_FULL.items() for name in names.split()}
    for row in re.findall(r"^\| .*\|$", text.partition("## Performance programs")[0], flags=re.M):
        theirs, here = row.strip("|").split("|", 1)
        calls = set(re.findall(r"\b(?:ep|x|d|team|token|handle)\.(\w+)", here))
        for name in re.findall(r"`((?:gasnett?|gex)_\w+)`", theirs) if calls and "not offered" not in here else ():
            wanted.setdefault(name, calls)
    return wanted


def test_who_uses_a_name_of_gasnet_is_told_what_the_contract_says(root: Path) -> None:
    """On `ep` and on `x`, with and without the library's prefix; `x` may be attached or not."""
    wanted = _of_the_contract(root)
    assert len(wanted) > 120
    wanted |= {name.partition("_")[2]: here for name, here in wanted.items()}

    async def main(ep: conduit.Endpoint) -> list[tuple[str, str]]:
        x: Extended | None = None
        untold = []
        for attached in (False, True):
            if attached:
                x = await Extended.attach(ep)
            for name, here in wanted.items():
                for there in (ep, x) if x is not None else (ep,):
                    if not hasattr(there, name):
                        said = hint(AttributeError(name=name, obj=there))
                        if not any(each in said for each in here):
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
