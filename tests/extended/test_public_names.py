"""The layer is built on the public names of the core alone.

import-linter forbids it the core's modules and ruff the members with an underscore.  Here is what neither sees: modules
reached as attributes or by name, and members of endpoints and tokens that are there for the core's own parts.
"""

import ast
import tomllib
from pathlib import Path

import pytest

import conduit
import extended

ROOT = Path(extended.__file__).parent
SETTINGS = Path(__file__).parents[2] / "pyproject.toml"
ENDPOINT = """rank size limits now segment segment_size max_segment larger_segment host host_of hosts ranks_on_host
    random simulated attach request_short request_medium request_long request_long_async poll block_until compute
    charge charge_library exit on_exit on_progress on_report want_progress warn costs segment_of count take_auxiliary
    rma library_cost call_listener started_at refuse_forgotten shielded warnings"""
PUBLIC = {
    "conduit": {*conduit.__all__},
    "endpoint": {*ENDPOINT.split()},
    "token": {"rank", "ep", "is_request", "reply_short", "reply_medium", "reply_long"},
}
DYNAMIC = {"importlib", "sys", "gc", "pkgutil", "runpy"}


def _owner(node):
    """Say which of the core's things an expression is, by the names that the layer gives them."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "current":
        return "endpoint"
    return {"conduit": "conduit", "ep": "endpoint", "_ep": "endpoint", "endpoint": "endpoint", "token": "token"}.get(
        name
    )


def _strays(text):
    """Give what a module's text uses of the core beyond its public names."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and (owner := _owner(node.value)) and node.attr not in PUBLIC[owner]:
            found.append(f"{owner}.{node.attr}")
        elif isinstance(node, ast.ImportFrom) and node.module == "conduit":
            found += [f"conduit.{alias.name}" for alias in node.names if alias.name not in PUBLIC["conduit"]]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.partition(".")[0] in DYNAMIC]
        elif isinstance(node, ast.ImportFrom) and node.module in DYNAMIC:
            found.append(node.module)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("getattr", "setattr") and node.args and _owner(node.args[0]):
                found.append(f"{node.func.id} of the {_owner(node.args[0])}")
            elif node.func.id in ("__import__", "eval", "exec"):
                found.append(node.func.id)
    return found


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(ROOT.rglob("*.py")) if "conformance" not in path.parts],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_module_uses_public_names_alone(path):
    assert _strays(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "def f(ep): return ep.handlers",
        "class A:\n def f(self): self._ep.count_send",
        "class A:\n def f(self): self.ep.forgotten.clear()",
        "def f(token): token.reply",
        "import conduit\nconduit.endpoint.Endpoint",
        "import conduit\nconduit.current().counts",
        "from conduit import sim",
        "import importlib",
        "import sys",
        "from importlib import import_module",
        "__import__('conduit.sim')",
        "def f(ep): getattr(ep, '_po' + 'rt')",
    ],
)
def test_what_is_not_public_is_found(text):
    assert _strays(text)


def test_every_module_of_the_core_is_public_or_forbidden():
    core = Path(conduit.__file__).parent
    modules = {
        f"conduit.{path.stem}" for path in core.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    settings = tomllib.loads(SETTINGS.read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = (one for one in settings["contracts"] if one.get("source_modules") == ["extended"])
    assert modules - {"conduit.__init__", "conduit.__main__", "conduit.words"} == set(contract["forbidden_modules"]) - {
        "conduits"
    }


def test_ruff_looks_for_private_members_in_the_layer():
    lint = tomllib.loads(SETTINGS.read_text("utf-8"))["tool"]["ruff"]["lint"]
    assert "SLF" in lint["select"]
    assert not [where for where, rules in lint["per-file-ignores"].items() if "extended" in where and "SLF" in rules]
    texts = [path.read_text("utf-8") for path in ROOT.rglob("*.py")]
    assert not any("noqa: SLF" in text for text in texts)
