"""A program file, executed once per rank in a module of its own."""

import ast
import inspect
import linecache
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import decode_source, find_spec
from pathlib import Path
from traceback import format_exception_only
from types import CodeType, ModuleType, TracebackType
from typing import Any

from conduit import current
from conduit.commands.progress import JobProgress
from conduit.commands.rank_modules import RankModules
from conduit.core import to_await, written
from conduit.core.calls import kept_in, note_kept
from conduit.core.steps import steps_of
from conduit.errors import BadRequest, ConduitError, ConduitWarning
from conduit.launch import entry_points
from conduit.launch.errors.at_end import raise_error
from conduit.launch.errors.tracebacks import plugins_part
from conduit.launch.program.folders import is_below, is_of_project
from conduit.launch.program.front_ends import first_argument
from conduit.words import closest, not_async

_NO_PROGRAMS = (Path(__file__).parents[1], Path(sysconfig.get_path("purelib")))
"""This package, and where others are installed: in an environment or a clone they may be below a program's folder."""


class NotAProgram(Exception):
    """The file has no `async def main` that takes the arguments given: a wrong call of `conduit run`."""

    exit_status = 2


class ProgramFile:
    """A program, compiled once.

    Args:
        path: the file.

    Attributes:
        path: the file.
        tree: what it says.
        started: whether a rank of the job that runs, or ran last, has begun to execute it.
        progress: how far the job is.
        api: the front end it is written for (`api = "upc"` at its top level), None for the core.
        api_source: what stands there as its source has it, "" where nothing does.

    Raises:
        BadRequest: there is no such file, or it is no Python.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        source = _read(path)
        try:
            self.tree = ast.parse(source, str(path))
            self._code: CodeType = compile(self.tree, str(path), "exec")
        except (SyntaxError, ValueError) as exc:
            raise BadRequest(_no_python(path, exc)) from None
        if path.stem in _imported(self.tree) and _is_hidden(path):
            raise BadRequest(
                f"{path} hides the package {path.stem}, which it imports: give the file another name, such as "
                f"my_{path.name}"
            )
        # What is shown of it is what runs, although the file may be edited meanwhile, or the program go elsewhere.
        linecache.cache[str(path)] = (len(source), None, _lines(source), str(path))
        self._folder = path.absolute().parent
        api = _api(self.tree, entry_points.installed(entry_points.FRONT_ENDS))
        self.api: str | None = api.value if isinstance(api, ast.Constant) and isinstance(api.value, str) else None
        self.api_source = "" if api is None else textwrap.shorten(ast.unparse(api), written.SHOWN, placeholder=" ...")
        self._is_script = any(isinstance(node, ast.If) and "__name__" in ast.dump(node.test) for node in self.tree.body)
        self.started = False
        self.progress = JobProgress()
        self._modules: RankModules | None = None

    async def main(self, first: Any, *args: str) -> None:
        """Execute the file for the running rank, and run its `main`; what that returns is not used.

        Args:
            first: what the front end gives to programs: the endpoint, or a thread.
            args: the words after `--`.
        """
        self.started = True
        endpoint = current()
        self.progress.begin(endpoint)
        try:
            module = self._execute(endpoint.rank)
        except RuntimeError as error:
            if line := self._line_of_own_run(error):
                raise NotAProgram(
                    f"{self.path}, line {line} runs a simulation by itself; start it as a script: python {self.path}"
                ) from None
            raise
        found = getattr(module, "main", None)
        if found is None:
            script = f", or start it as a script: python {self.path}" if self._is_script else ""
            raise NotAProgram(
                f"{self.path} defines no `async def main({first_argument(self.api)}, *args)`; "
                f"{_in_other_letters(module) or 'give it one'}{script}"
            )
        write = f"write `async def main({first_argument(self.api)}, *args)`"
        wrong = not_async(found, write) if callable(found) else f"is of type {type(found).__name__}; {write}"
        if wrong:
            raise NotAProgram(f"main of {self.path} {wrong}")
        self._check_arguments(found, args)
        await found(first, *args)
        note_kept(endpoint, kept_in(vars(module)))
        self.progress.returned += 1

    @contextmanager
    def importable(self, args: Sequence[str] = ()) -> Iterator[None]:
        """Let the program import from its own folder, and its parts be found, while a job runs.

        Args:
            args: what it finds in `sys.argv` after its own name.
        """
        self.started = False
        self.progress = JobProgress()
        folder, words = str(self._folder), sys.argv
        sys.path.insert(0, folder)
        sys.argv = [str(self.path), *args]
        self._modules = RankModules(self._folder / self.path.name)
        try:
            yield
        finally:
            sys.argv = words
            sys.path.remove(folder)
            self._modules.close()
            self._modules = None

    def own_part(self, error: BaseException) -> TracebackType | None:
        """Return an error's traceback from the program's first line in it on.

        One that has none begins where a plug-in's network does.  An error of this package that has neither says all in
        its text, and so do one of Python's for a StopIteration and one that nothing but the end of the job has raised;
        of any other the whole traceback is returned.
        """
        folder = self._folder
        others = [each for each in _NO_PROGRAMS if each != folder and each.is_relative_to(folder)]
        for step in steps_of(error):
            name = step.tb_frame.f_code.co_filename
            file = Path(name)
            if name == str(self.path) or (
                file.is_relative_to(folder) and not any(file.is_relative_to(each) for each in others)
            ):
                return step
        of_own = isinstance(error, ConduitError | ConduitWarning) or isinstance(error.__cause__, StopIteration)
        of_own = of_own or any(step.tb_frame.f_code is raise_error.__code__ for step in steps_of(error)[-1:])
        return plugins_part(error) or (None if of_own else error.__traceback__)

    def _line_of_own_run(self, error: RuntimeError) -> int:
        """Return the line that has had this package start a Trio of its own, where one runs already; 0 for others."""
        steps = list(steps_of(error))
        files = [step.tb_frame.f_code.co_filename for step in steps]
        if str(self.path) not in files or not is_below(files[-1]):
            return 0
        own = len(files) - 1 - files[::-1].index(str(self.path))
        return steps[own].tb_lineno if is_of_project(files[own + 1]) else 0

    def _check_arguments(self, main: Callable[..., Any], args: tuple[str, ...]) -> None:
        signature = inspect.signature(main)
        try:
            signature.bind_partial(None)
        except TypeError:
            given = first_argument(self.api)
            what = "endpoint" if given == "ep" else f"`{given}`"
            raise NotAProgram(
                f"main{signature} of {self.path} takes no {what}; write `async def main({given})`"
            ) from None
        try:
            signature.bind(None, *args)
        except TypeError as exc:
            given = " ".join(args) or "none"
            lacking = str(exc).startswith("missing")
            remedy = (
                "give them behind the file" if lacking else f"write `async def main({first_argument(self.api)}, *args)`"
            )
            raise NotAProgram(
                f"main{signature} of {self.path} does not take the arguments given ({given}): {exc}; {remedy}"
            ) from None

    def _execute(self, rank: int) -> ModuleType:
        """Execute the file in a new module."""
        assert self._modules is not None  # a job runs
        module = self._modules.new(rank)
        exec(self._code, module.__dict__)  # running the user's program is the purpose
        return module


def _read(path: Path) -> bytes:
    try:
        source = path.read_bytes()
    except OSError as exc:
        remedy = "give the path of a Python file"
        if path.is_symlink() and not path.exists():
            remedy = f"it is a link to {path.readlink()}, which leads to no file"
        elif isinstance(exc, FileNotFoundError) and (meant := _meant(path)):
            remedy = f"did you mean {meant}?"
        raise BadRequest(f"cannot read the program {path}: {exc.strerror}; {remedy}") from None
    if path.suffix == ".ipynb":
        raise BadRequest(
            f"{path} is a notebook and no program: `jupyter nbconvert --to script {path}` makes one, whose "
            "`async def main` runs; in a notebook itself `conduit.run(main)` starts a job"
        )
    if path.suffix == ".json":
        raise BadRequest(
            f"{path} is no program; if it holds results, conduit compare --from {path} --out FOLDER draws them"
        )
    return source


def _meant(path: Path) -> Path | None:
    """Return the Python file that a path may stand for which leads to none."""
    with_suffix = path.with_name(f"{path.name}.py")
    if with_suffix.is_file():
        return with_suffix
    close = closest(path.stem, (each.stem for each in path.parent.glob("*.py")))
    return path.with_name(f"{close}.py") if close else None


def _imported(tree: ast.Module) -> set[str]:
    """Return the names of the packages and modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {each.name.partition(".")[0] for each in names}
            case ast.ImportFrom(module=str() as name, level=0):
                found.add(name.partition(".")[0])
    return found


def _is_hidden(path: Path) -> bool:
    """Say whether the file would be found in the place of an installed package, which nobody has imported yet."""
    if path.stem in sys.modules:
        return False
    spec = find_spec(path.stem)
    return spec is not None and spec.origin != str(path.absolute())


_TO_WAIT = (
    "; write `async` before the `def` that it is in, unless that is a handler, which cannot wait: let it take note of "
    "what has come, and wait in main"
)


def _in_lambda(path: Path, error: SyntaxError) -> str:
    """Say what to do where an `await` stands in a lambda, "" where it does not."""
    tree = ast.parse(_read(path))  # which is no error yet: what is refused is what it means
    for each in ast.walk(tree):
        if isinstance(each, ast.Await) and (each.lineno, each.col_offset) == _begin(error):
            end = each.end_lineno or each.lineno, each.end_col_offset or 0
            around = written.enclosing(ast.walk(tree), _begin(error), end)
            if any(isinstance(node, ast.Lambda) for node in around):
                return f"; {to_await.instead([*around, each.value], ast.unparse(each.value))}"
    return ""


def _begin(error: SyntaxError) -> tuple[int, int]:
    """Return where a part begins that is refused: its line, and its column in bytes."""
    before = (error.text or "")[: (error.offset or 1) - 1]
    return error.lineno or 0, len(before.encode())


def _lines(source: bytes) -> list[str]:
    """Return the lines of a program as tracebacks take them: those of Python's, each with its end."""
    *whole, last = decode_source(source).split("\n")
    return [f"{line}\n" for line in (*whole, *filter(None, [last]))]


def _no_python(path: Path, error: SyntaxError | ValueError) -> str:
    """Return what is wrong with a file, and the line of it, marked as Python does."""
    if not isinstance(error, SyntaxError) or not error.lineno:
        return f"{path} is no Python: {error.args[0]}"
    remedy = (_in_lambda(path, error) or _TO_WAIT) if "outside async function" in error.msg else ""
    lines = "".join(format_exception_only(error)).splitlines()
    marked = [line for line in lines if line.startswith("    ")]
    return "\n".join([f"{path}, line {error.lineno} is no Python: {error.msg}{remedy}", *marked])


def _in_other_letters(module: ModuleType) -> str:
    """Say that a program has a function `Main`, or `MAIN`, and how it is to be called; "" where it has none."""
    for name, value in vars(module).items():
        if name.lower() == "main" and inspect.isfunction(value):
            is_async = inspect.iscoroutinefunction(value)
            return f"its `{name}` is to be called `main`{'' if is_async else ', and to be async'}"
    return ""


def _api(tree: ast.Module, fronts: Container[str]) -> ast.expr | None:
    """Return what is assigned to `api` at the top level, None where that names no front end, and is not meant to.

    It may be something of the program's own; meant are a constant other than None, and the module of a front end.
    """
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name("api")], value=value) | ast.AnnAssign(ast.Name("api"), value=value):
                match value:
                    case ast.Constant(value=constant) if constant is not None:
                        return value
                    case ast.Name(id=name) | ast.Attribute(attr=name) if name.lower() in fronts:
                        return value
                return None
    return None
