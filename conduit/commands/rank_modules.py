"""The modules of one program, one for each rank, and what stands for them in `sys.modules`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from conduit.core.checked_call import CURRENT


class RankModules:
    """The modules of a program's ranks, each under a name with its rank while the job runs.

    Args:
        file: the program.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._modules: dict[int, ModuleType] = {}
        self._names: list[str] = []

    def new(self, rank: int) -> ModuleType:
        """Return a new module for a rank."""
        name = f"{self._file.stem.replace('.', '_')}_rank{rank}"
        module = self._modules[rank] = ModuleType(name)
        module.__file__ = str(self._file)
        module.__package__ = ""  # it is in none
        sys.modules[name] = _StandIn(name, rank, self._modules)
        self._names.append(name)
        return module

    def close(self) -> None:
        """Forget the names."""
        for name in self._names:
            sys.modules.pop(name, None)


class _StandIn(ModuleType):
    """Stands in `sys.modules` for the module of a rank; another rank that runs finds its own in it.

    Pickle and dataclasses look for a class by the name of its module.  So an object that travels to another rank is
    there of the class that the program of that rank has, as it is where ranks are processes.  Where no rank runs, as in
    the threads of `multiprocessing.Pool`, it is the module whose name it has.

    Args:
        name: of the module.
        rank: whose it is.
        modules: of all ranks.
    """

    def __init__(self, name: str, rank: int, modules: dict[int, ModuleType]) -> None:
        super().__init__(name)
        self._rank_of_name = rank
        self._modules_of_ranks = modules

    def __getattr__(self, name: str) -> Any:
        """Return what the program of the running rank has under a name."""
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """The globals of the rank that runs; where none does, of the rank whose name it has."""
        endpoint = CURRENT.get()
        modules = self._modules_of_ranks
        running = None if endpoint is None else modules.get(endpoint.rank)
        return vars(modules[self._rank_of_name] if running is None else running)
