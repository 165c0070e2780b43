"""The table of what other libraries' calls are here: each name is there, and takes what is shown."""

import ast
import inspect
import re
from pathlib import Path

import conduit
from extended import Atomic, Extended

OWNERS = {"ep": conduit.Endpoint, "x": Extended, "token": conduit.Token, "d": Atomic, "conduit": conduit}


def _said_here(root: Path) -> list[str]:
    rows = re.findall(r"^\| .*\|$", (root / "docs" / "from_others.md").read_text(encoding="utf-8"), flags=re.M)
    return [text for row in rows[2:] for text in re.findall(r"`([^`]+)`", row.split("|")[-2])]


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
