"""Runs `python -m MODULE WORDS...` and `python FILE` in children of a process that has imported what they need.

A fresh process spends most of a short command on imports.  Here one process per worker of the tests imports what they
need, once and nothing else, and is forked for each command.  The child has the folder, the environment, the arguments
and the streams that a fresh process would have, ends as one ends, and nothing that it does is there for the next one.

What begins processes of its own, or is about what is imported, is no work for it.
"""

from __future__ import annotations

import builtins
import ctypes
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

SUITES = ("pytest", "_pytest.assertion.rewrite", "conduit", "conduit.launch.jobs.simulated", "extended", "hypothesis")
"""What a run of parts of the conformance suites imports."""


@attrs.frozen
class Done:
    """What a command has left behind.

    Attributes:
        returncode: its exit status, as `subprocess` has it.
        stdout: what it printed.
        stderr: what it printed there; empty where both go to one place.
    """

    returncode: int
    stdout: str
    stderr: str


class Forking:
    """The process that is forked.

    Args:
        modules: what it imports.
        environment: its own; that of a command comes with it.
    """

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        ours, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(its.fileno()), *modules],
                # Threads of a library would not be there in a child.
                env={**environment, "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
            )
        with ours:
            self._stream = ours.makefile("rw", encoding="utf-8")

    def run(self, module: str, *words: str, cwd: Path | str, env: Mapping[str, str], together: bool = False) -> Done:
        """Run a module as a program.

        Args:
            module: its name; or the name of a file, which ends in `.py`.
            words: the arguments.
            cwd: the folder in which it runs.
            env: the environment; `PYTHONPATH` of it counts, other settings of Python are those of `environment`.
            together: whether errors are printed among the rest.
        """
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            out.touch()
            err.touch()
            streams = [str(out), str(out if together else err)]
            call = {"module": module, "words": words, "cwd": str(cwd), "env": dict(env), "streams": streams}
            print(json.dumps(call), file=self._stream, flush=True)
            answer = self._stream.readline()
            if not answer:
                raise RuntimeError(f"the process that is forked has ended with status {self._process.wait()}")
            return Done(int(answer), out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))

    def close(self) -> None:
        """End it."""
        self._stream.close()
        self._process.wait()


@contextmanager
def forking(*modules: str, environment: Mapping[str, str]) -> Iterator[Forking]:
    """Have a process that has imported some modules, for commands."""
    made = Forking(modules, environment)
    try:
        yield made
    finally:
        made.close()


def _serve(descriptor: int, modules: Sequence[str]) -> None:
    """Fork for each command; a child returns from here with its command run, and ends as every process does."""
    sys.path.pop(0)  # the folder of this file
    for module in modules:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # no child looks through what all have
    with socket.socket(fileno=descriptor) as server:
        stream = server.makefile("rw", encoding="utf-8")
    with stream:
        for line in stream:
            command = json.loads(line)
            child = os.fork()
            if not child:
                break
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status), file=stream, flush=True)
        else:
            return
    _become(**command)


def _become(module: str, words: list[str], cwd: str, env: dict[str, str], streams: list[str]) -> None:
    """Be the process that `python -m module words...` would be."""
    out, err = (os.open(name, os.O_WRONLY | os.O_APPEND) for name in streams)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:0] = [os.getcwd(), *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv[:] = [module, *words]
    sys.dont_write_bytecode = bool(env.get("PYTHONDONTWRITEBYTECODE"))
    importlib.invalidate_caches()
    if module.endswith(".py"):
        sys.exit(_run_file(module))
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _run_file(name: str) -> int:
    """Run a file by the function of Python that does it, so that no line of this file is in its tracebacks."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    library = ctypes.CDLL(None)
    library.fopen.restype = ctypes.c_void_p
    file = ctypes.c_void_p(library.fopen(os.fsencode(name), b"rb"))
    return int(ctypes.pythonapi.PyRun_SimpleFileExFlags(file, os.fsencode(name), 1, None) != 0)


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2:])
