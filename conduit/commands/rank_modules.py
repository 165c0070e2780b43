"""The modules of one program, one for each rank, under one name."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from conduit.core.checked_call import CURRENT


class RankModules(ModuleType):
    """What stands in `sys.modules` for the modules of all ranks: the running rank finds its own in it.

    Pickle and dataclasses look for a class by the name of its module.  So an object that travels to another rank is
    there of the class that the program of that rank has, as it is where ranks are processes.

    Args:
        file: the program.
    """

    def __init__(self, file: Path) -> None:
        super().__init__(_name(file))
        self.__file__ = str(file)
        self._modules_of_ranks: dict[int, ModuleType] = {}
        self._stood_before = sys.modules.get(self.__name__)
        sys.modules[self.__name__] = self

    def new(self, rank: int) -> ModuleType:
        """Return a new module for a rank."""
        module = self._modules_of_ranks[rank] = ModuleType(self.__name__)
        module.__file__, module.__package__ = self.__file__, ""
        return module

    def close(self) -> None:
        """Let the name stand for what it stood for before."""
        if self._stood_before is None:
            sys.modules.pop(self.__name__, None)
        else:
            sys.modules[self.__name__] = self._stood_before

    def __getattr__(self, name: str) -> Any:
        """Return what the program of the running rank has under a name."""
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """The globals of the rank that runs; where none does, of the first one."""
        modules = self._modules_of_ranks
        endpoint = CURRENT.get()
        rank = next(iter(modules), -1) if endpoint is None else endpoint.rank
        return vars(modules[rank]) if rank in modules else {}


def _name(file: Path) -> str:
    """Return the name by which a program would be imported; where others may import another module by it, a new one."""
    name = file.stem.replace(".", "_")
    known = sys.modules.get(name)
    taken = name in sys.stdlib_module_names or (known is not None and getattr(known, "__file__", "") != str(file))
    return f"{name}_program" if taken else name
