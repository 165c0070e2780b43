"""What `conduit run` does: a job on each conduit, and what is told at their end."""

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

import conduit
from conduit.commandline.files import (
    STANDARD_OUTPUT,
    check_apart,
    check_beside,
    check_trace,
    json_text,
    package_version,
    write_file,
)
from conduit.commands.failure import failure
from conduit.commands.failures import Failures, KeptReport, ProgramFailed
from conduit.commands.program import NotAProgram, ProgramFile
from conduit.commands.progress import shown
from conduit.commands.ran import Ran, per_host, print_end
from conduit.commands.unreported import Unreported
from conduit.contract import RankKind
from conduit.core.calls import quiet_python
from conduit.errors import (
    BadRequest,
    ConduitError,
    ConduitWarning,
    Deadlock,
    Livelock,
    NetworkError,
    TimeLimit,
    UnknownConduit,
)
from conduit.launch import interrupts
from conduit.launch.call_words import DEFAULT_RANKS
from conduit.launch.entry_points import CONDUITS, FRONT_ENDS, installed
from conduit.launch.errors.complaints import complain, complain_of
from conduit.launch.errors.exits import exit_status
from conduit.launch.errors.tracebacks import whole
from conduit.launch.errors.warned import warned
from conduit.launch.errors.watches import ended_by
from conduit.launch.jobs.fitting import check_fits
from conduit.launch.jobs.kinds import kind_of_job
from conduit.launch.oversights import mpi4py_world, unawaited, uncalled
from conduit.launch.oversights.seeds import shared_seeds
from conduit.launch.printing import output, terminal
from conduit.launch.printing.endings import ended
from conduit.launch.printing.formatting import formatted
from conduit.launch.processes import of_spec, standard_input
from conduit.launch.registry import Spec, parse_spec
from conduit.launch.traced import tracing
from conduit.options import describe, read_float
from conduit.words import closest, like, text_of

if TYPE_CHECKING:
    from conduit.commands.reported import Reported

DEFAULT = "sci"
_PART = "CONDUIT_PART"
"""The environment variable that says, by number, which of several conduits a process was started for."""

_REPORTED = "CONDUIT_REPORTED"
"""The environment variable that names the conduit whose report is in the file of `--full-report` already."""


def run_program(
    program: Path,
    args: tuple[str, ...],
    conduits: Sequence[str],
    settings: Mapping[str, Any],
    files: Mapping[str, Path | None],
    *,
    report: Path | None,
    stats: bool,
    whole_traceback: bool,
) -> int:
    """Do what `conduit run` was asked for; return the exit status.

    Args:
        program: its file.
        args: its arguments.
        conduits: where to run, none for where such programs run if that is not said.
        settings: of what runs it, by their names there, but for the conduit.
        files: for results, by the options that name them; checked each by itself.
        report: the folder for reports, None for none.
        stats: whether counts are printed.
        whole_traceback: whether lines of this package are shown too.
    """
    json, trace, full_report = files["json"], files["trace"], files["full-report"]
    if _is_read_once(program):
        _check_one_reader(program, conduits)
    file = ProgramFile(program)
    runner = _runner(file)
    specs = [parse_spec(text) for text in conduits or (_default(runner),)]
    _check_front_end(runner, specs)
    check_trace(trace, specs)
    check_apart(files, program)
    reported = _reported(report, files, specs, file)
    part = os.environ.pop(_PART, "")
    if os.environ.pop(_REPORTED, ""):
        full_report = None
    if part:
        standard_input.take()
        json = None  # written by who has started this process, as is decided where its lines go
    else:
        of_spec.warn_of_copies(specs)
        _warn_of_world(file, specs)
        if any("=" in text for text in conduits):
            from conduit.launch.pace import warn_of_units  # needed for options alone

            warn_of_units(conduits)
        if output.is_first():
            seeds = shared_seeds(file.tree) if any(spec.simulated for spec in specs) else []
            for line, text in sorted([*uncalled.uncalled(file.tree), *seeds]):
                terminal.tell(f"warning: {file.path}:{line}: {text}")
    asked = _Asked(
        file=file, runner=runner, args=args, settings=settings, specs=specs, part=part, json=json,
        full_report=full_report, stats=stats, whole_traceback=whole_traceback,
    )  # fmt: skip
    if len(specs) > 1 and not part:
        for spec in specs:  # before the first one runs
            check_fits(
                spec, ranks=settings["ranks"], ranks_per_host=settings["ranks_per_host"], segment=settings["segment"],
                time_limit=settings["time_limit"], stall_limit=settings.get("stall_limit"),
            )  # fmt: skip
    tables = {"conduit.commands.counted": stats, "conduit.commands.times": len(specs) > 1}
    _import_what_follows(specs, [module for module, wanted in tables.items() if wanted and not part])
    return _Series(asked, reported).run(trace)


def _import_what_follows(specs: Sequence[Spec], tables: Sequence[str]) -> None:
    """Import what is needed from the program's start on: beside it may be a file named as a part of that."""
    for spec in specs:
        if not of_spec.wanted(spec):
            with suppress(BadRequest):  # raised again when the job is to begin
                kind_of_job(spec)
    for module in tables:
        import_module(module)


def _reported(
    folder: Path | None, files: Mapping[str, Path | None], specs: Sequence[Spec], file: ProgramFile
) -> "Reported | Unreported":
    """Return what writes the reports of `--report`, once it is checked that it can."""
    if folder is None:
        return Unreported()
    from conduit.commands.reported import Reported, report_files  # with all that reports are made of

    check_beside(files, "report", folder, report_files(folder, specs))
    return Reported(folder, specs, file.path)


@attrs.frozen(kw_only=True)
class _Asked:
    """What `conduit run` was asked for, checked.

    Attributes:
        file: the program.
        runner: what runs programs of its kind.
        args: its arguments.
        settings: of the runner, but for the conduit.
        specs: where to run.
        part: the number of the one that this process was started for; "" in who has started it.
        json: file for results.
        full_report: file for the report of a job that gets no further.
        stats: whether counts are printed.
        whole_traceback: whether lines of this package are shown too.
    """

    file: ProgramFile
    runner: Callable[..., Any]
    args: tuple[str, ...]
    settings: Mapping[str, Any]
    specs: Sequence[Spec]
    part: str
    json: Path | None
    full_report: Path | None
    stats: bool
    whole_traceback: bool


class _Series:
    """The jobs of one command: one on each conduit, in their order, and what is told at their end.

    Args:
        asked: what was asked for.
        reported: writes the reports of `--report`.
    """

    def __init__(self, asked: _Asked, reported: "Reported | Unreported") -> None:
        self._asked = asked
        self._reported = reported
        self._several = len(asked.specs) > 1 and not asked.part
        self._runs: list[Ran] = []
        self._found: list[dict[str, object]] = []  # for `--json`
        self._failures = Failures([spec.text for spec in asked.specs])
        self._kept = KeptReport(asked.full_report)
        self._stopped: int | None = None  # the conduit on which an end was asked for
        self._begun = 0  # how many jobs have

    def run(self, trace: Path | None) -> int:
        """Run all jobs, or that of this process; return the exit status."""
        part = self._asked.part
        try:
            with tracing(trace):
                for number, spec in enumerate(self._asked.specs):
                    if part and number != int(part):
                        continue
                    self._begun = number + 1
                    if not self._goes_on_after(number, spec):
                        break
            if part and self._runs:
                _hand_over(self._runs[0])
        except BaseException as exc:
            self._note_end(exc)
            if not (self._failures.status and isinstance(exc, SystemExit) and exit_status(exc) == 0):
                raise
        finally:  # what has run is shown even if it fails on a later conduit
            if output.is_first() and not part:
                self._tell()
        return self._failures.status

    def _goes_on_after(self, number: int, spec: Spec) -> bool:
        """Run one job, and show what it has come to; return whether the next one follows."""
        words = partial(self._failures.words, number) if self._several else str
        try:
            with _failing(words) if self._several else nullcontext():
                self._runs.append(self._job(number, spec, words))
        except ProgramFailed as exc:
            self._failures.add(number, exc)
            self._found.append(self._failed(spec, str(exc)))
            if not self._several or ended_by() is not None:  # which has ended these processes
                return False
            self._kept.look(spec.text)
            self._reported.tell_where()
            return True
        self._found.append(self._runs[-1].as_json())
        if output.is_first():
            output.end_lines()
            if not self._asked.part:  # else it is printed by who has started this process
                with _output(self._asked.json):
                    self._reported.tell()
                    print_end(self._runs[-1], stats=self._asked.stats)
        return True

    def _job(self, number: int, spec: Spec, words: Callable[[str], str]) -> Ran:
        asked, kept = self._asked, self._kept
        if of_spec.wanted(spec):
            with _output(asked.json), self._reported.job(number):
                return _in_processes(spec, asked.settings["ranks"], number, words, reported_on=kept.of)
        with _report_in(None if kept.of else asked.full_report), _output(asked.json), self._reported.job(number):
            settings = {**_with_a_meaning(asked.settings, spec, asked.specs), "conduit": spec.text}
            result = _run(asked.runner, asked.file, asked.args, settings, words, whole_traceback=asked.whole_traceback)
        return _ran(asked.file, spec, asked.args, asked.settings, result)

    def _failed(self, spec: Spec, error: str) -> dict[str, object]:
        return _failed(self._asked.file, spec, self._asked.args, self._asked.settings, error)

    def _note_end(self, error: BaseException) -> None:
        """Take note of what ends all jobs: an end that was asked for, or a wrong call, which has begun nothing."""
        if len(self._found) == self._begun:  # its results are known: what it prints at the end cannot be printed
            return
        if line := _in_a_line(error):
            self._stopped = self._begun - 1
            self._found.append(self._failed(self._asked.specs[self._stopped], line))
        else:
            self._begun -= 1

    def _tell(self) -> None:
        """Say at the end what has become of all jobs, and write it."""
        json = self._asked.json
        try:
            if self._several and self._runs:
                from conduit.commands.times import print_times  # imported before the first of them

                print_times(self._runs, stderr=json == STANDARD_OUTPUT)
            self._reported.tell_where()
        finally:  # even if nobody reads what is printed
            if json is not None and self._found:
                write_file("json", json, json_text(self._found))
        self._kept.tell()
        if self._several:
            self._failures.tell(stopped=self._stopped, not_run=self._begun)


def _is_read_once(program: Path) -> bool:
    """Return whether a path leads each process to something of its own, or to what only one of them can read."""
    own = str(program.absolute()).startswith(("/dev/stdin", "/dev/fd/", "/proc/"))
    return own or (program.exists() and not program.is_file() and not program.is_dir())


def _check_one_reader(program: Path, conduits: Sequence[str]) -> None:
    """Refuse a program that several processes cannot read."""
    for text in conduits:
        if parse_spec(text).rank_kind is RankKind.PROCESS:
            raise BadRequest(
                f"the program {program} is no file that every process can read, as ranks of '{text}' have to; write "
                "it to a file, and give that"
            )


@contextmanager
def _failing(words: Callable[[str], str]) -> Iterator[None]:
    """Show how a job on one of several conduits got no further, so that the next one can follow.

    Raises:
        ProgramFailed: so it was.
    """
    try:
        yield
    except (Deadlock, Livelock, TimeLimit, NetworkError) as exc:
        sys.stdout.flush()
        complain_of("run", exc, words)
        raise ProgramFailed(_in_a_line(exc)) from None


def _of_a_pipe(error: BaseException | None) -> bool:
    """Return whether an error, or what caused it, is that of a pipe that nobody reads."""
    return error is not None and (isinstance(error, BrokenPipeError) or _of_a_pipe(error.__cause__))


def _in_a_line(error: BaseException) -> str:
    """Return what `--json` says of an end before its time, "" of a wrong call, which has begun nothing."""
    match error:
        case KeyboardInterrupt():
            return "interrupted"
        case _ExitOfProcesses(last_words=str(code)) if code:
            return _exit_in_a_line(code)
        case SystemExit(code=code):
            return _exit_in_a_line(code)
        case BadRequest() | UnknownConduit() if not getattr(error, "__notes__", ()):
            return ""
    first = next(iter(text_of(error).splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _exit_in_a_line(code: object) -> str:
    """Return the same of a `SystemExit`: with text, which Python prints, its status is 1."""
    if code is None or isinstance(code, int):
        return f"exit with status {exit_status(SystemExit(code))}"
    first = next(iter(str(code).splitlines()), "")
    return f"exit with status 1: {first}" if first else "exit with status 1"


def _ranks(file: ProgramFile, spec: Spec, asked: int | None) -> int:
    """Return how many ranks a job had that has not come to its end, or was to have."""
    begun = file.progress.endpoints
    return asked or of_spec.announced(spec) or (begun[0].size if begun else DEFAULT_RANKS)


def _failed(
    file: ProgramFile, spec: Spec, args: tuple[str, ...], settings: Mapping[str, Any], error: str
) -> dict[str, object]:
    """Return what `--json` writes for a conduit on which the program has not come to its end."""
    ranks = _ranks(file, spec, settings["ranks"])
    return {
        "program": str(file.path),
        "arguments": list(args),
        "version": package_version(),
        "conduit": spec.text,
        "options": spec.in_effect,
        "ranks": ranks,
        "seed": settings["seed"],
        "segment": settings["segment"],
        "ranks_per_host": per_host(spec, ranks, settings["ranks_per_host"]),
        "error": error,
    }


def _ran(file: ProgramFile, spec: Spec, args: tuple[str, ...], settings: Mapping[str, Any], result: Any) -> Ran:
    return Ran(
        program=str(file.path),
        arguments=args,
        conduit=result.conduit,
        title=spec.title,
        simulated=spec.simulated,
        options=spec.in_effect,
        seed=settings["seed"],
        segment=settings["segment"],
        ranks=result.ranks,
        ranks_per_host=per_host(spec, result.ranks, settings["ranks_per_host"]),
        seconds=result.seconds,
        digest=getattr(result, "digest", None),
        statistics=[dict(counts) for counts in result.statistics],
        warnings=[{"of": who, "text": text} for who, text in warned(_warnings(result))],
    )


class _ExitOfProcesses(SystemExit):
    """A program has ended itself in processes, which have shown its text.

    Args:
        status: that they have ended with.
        last_words: the text, "" where it has given none.
    """

    def __init__(self, status: int, last_words: str) -> None:
        super().__init__(status)
        self.last_words = last_words


def _in_processes(
    spec: Spec, ranks: int | None, number: int, words: Callable[[str], str], *, reported_on: str = ""
) -> Ran:
    """Have processes run the program on a conduit, the one of that number, and return what it came to.

    Raises:
        ProgramFailed: it has, or they have, and that was shown.
        SystemExit: the call was wrong, which was said; or the program has ended itself, with status 0 too.
    """
    environment = {_PART: str(number), **standard_input.told(), **({_REPORTED: reported_on} if reported_on else {})}
    outcome = of_spec.start(spec, ranks, environment, words=words, ends_unread=True)
    if outcome.interrupted:
        raise interrupts.by_signal(outcome.interrupted)
    if outcome.status or not outcome.results:
        status = outcome.status or int(not outcome.explained)
        if outcome.failed:
            raise ProgramFailed(outcome.failure or f"exit with status {status}", status)
        raise _ExitOfProcesses(status, outcome.last_words)
    ran: Ran = pickle.loads(outcome.results[0])
    return ran


def _hand_over(ran: Ran) -> None:
    """Give what the program came to, on rank 0, to who has started this process."""
    own = output.speech()
    if own is not None and own.rank == 0:
        own.result(pickle.dumps(ran))


def _warn_of_world(file: ProgramFile, specs: Sequence[Spec]) -> None:
    """Print, once, a warning where the program asks mpi4py who is there and its ranks are no processes."""
    texts = (mpi4py_world.warning(file.tree, str(file.path), spec) for spec in specs)
    if text := next(filter(None, texts), ""):
        terminal.tell(f"warning: {text}")


@contextmanager
def _output(json: Path | None) -> Iterator[None]:
    """Let what is printed go to standard error where standard output is for JSON."""
    with redirect_stdout(sys.stderr) if json == STANDARD_OUTPUT else nullcontext():
        yield


def _default(runner: Callable[..., Any]) -> str:
    """Return where programs run if that is not said: a front end may give its parameter `conduit` a default."""
    own = signature(runner).parameters.get("conduit")
    return DEFAULT if own is None or own.default is own.empty else own.default


def _runner(file: ProgramFile) -> Callable[..., Any]:
    """Return what runs programs of the file's kind: the core, or a front end that is installed."""
    if not file.api_source:
        core: Callable[..., Any] = conduit.run
        return core
    entry = installed(FRONT_ENDS).get(file.api or "")
    if entry is None:
        raise BadRequest(_no_front_end(file, sorted(installed(FRONT_ENDS))))
    runner: Callable[..., Any] = entry.load()
    return runner


def _no_front_end(file: ProgramFile, known: Sequence[str]) -> str:
    """Return what is wrong with the `api` of a file, and what it may be.

    Args:
        file: the program.
        known: the front ends that are installed.
    """
    what = f"a front end that is not installed{like(file.api or '', known)}"
    if file.api is None:
        meant = closest(file.api_source, known) or next(iter(known), "")
        what = f'which is no text; write a front end, as api = "{meant}"'
    return f"{file.path} is written for api = {file.api_source}, {what}; installed are: {', '.join(known) or 'none'}"


def _check_front_end(runner: Callable[..., Any], specs: Sequence[Spec]) -> None:
    """Refuse, before anything runs, conduits that programs of this kind do not run on, as a front end may tell."""
    check: Callable[[str], None] = getattr(runner, "check_conduit", lambda _: None)
    for spec in specs:
        check(spec.text)


def _run(
    runner: Callable[..., Any],
    file: ProgramFile,
    args: tuple[str, ...],
    settings: dict[str, Any],
    words: Callable[[str], str],
    *,
    whole_traceback: bool = False,
) -> Any:
    """Run the program; a failure of its own is shown as Python would, with the rank.

    Args:
        runner: what runs programs of its kind.
        file: the program.
        args: its arguments.
        settings: of the runner.
        words: gives what is shown of a failure's text.
        whole_traceback: whether lines of this package are shown too.

    Raises:
        ProgramFailed: there was one.
    """
    quiet_python()  # for what dies after the job, with the traceback of its error
    try:
        tracebacks = whole() if whole_traceback else nullcontext()
        alone = parse_spec(settings["conduit"]).rank_kind is RankKind.PROCESS  # it ends its lines itself
        with (
            nullcontext() if alone else ended(),
            nullcontext() if alone else interrupts.terminable(),
            warnings.catch_warnings(),
            unawaited.told(str(file.path), terminal.tell),
            file.importable(args),
            tracebacks,
            shown(file.progress, sys.stderr),
        ):
            warnings.simplefilter("ignore", ConduitWarning)  # shown from the result, with the rank
            return runner(file.main, *args, **settings)
    except NotAProgram as exc:
        meant = _meant(args, settings["conduit"], settings.get("time_limit"))
        raise BadRequest(f"{str(exc).partition('; write ')[0]}{meant}" if meant else str(exc)) from None
    except (Deadlock, TimeLimit, Livelock):  # their text is the whole report
        raise
    except KeyboardInterrupt as exc:
        sys.stdout.flush()
        if notes := getattr(exc, "__notes__", []):
            terminal.tell("\n".join(notes))
        if any(note.startswith("interrupted") for note in notes):
            interrupts.told(exc)
        raise
    except SystemExit:
        raise
    except BaseException as exc:  # a program may raise any
        if not file.started:
            raise
        sys.stdout.flush()
        if _of_a_pipe(exc) and output.is_unread(sys.stdout):
            raise BrokenPipeError from None  # what was printed is not read any more: no failure of the program's
        line = _in_a_line(exc)
        text = formatted(exc) if whole_traceback else failure(exc, file)
        complain(words(text + _of_conduits(args)), exc)
        raise ProgramFailed(line) from None


def _meant(args: tuple[str, ...], conduit: str, time_limit: float | None) -> str:
    """Return what was perhaps meant by words that a program does not take: parts of options; "" for others.

    Args:
        args: those words.
        conduit: where it runs.
        time_limit: as given.
    """
    spec = parse_spec(conduit)
    options = {each.name for each in describe(spec.cls.Options)}
    if own := [each for each in args if each.partition("=")[0] in options and "=" in each]:
        return f"; did you mean `--conduit {spec.text}{',' if ':' in spec.text else ':'}{','.join(own)}`?"
    if others := _conduits_in(args):
        return f"; --conduit takes one, and is repeated for each: write `--conduit {' --conduit '.join(others)}`"
    if time_limit is not None and args and args[0].isalpha() and _is_time(f"{time_limit:g}{args[0]}"):
        return f"; did you mean `--time-limit {time_limit:g}{args[0]}`?"
    return ""


def _conduits_in(args: tuple[str, ...]) -> list[str]:
    """Return the words that begin with the name of a conduit."""
    return [each for each in args if each.partition(":")[0] in installed(CONDUITS)]


def _of_conduits(args: tuple[str, ...]) -> str:
    """Return a line on words that main was given and that name conduits, for a program that has failed; "" for none."""
    named = _conduits_in(args)
    if not named:
        return ""
    each = "it" if len(named) == 1 else "each"
    return (
        f"{' and '.join(map(repr, named))} went to main; where a conduit was meant, write --conduit before {each}: "
        f"`--conduit {' --conduit '.join(named)}`\n"
    )


def _with_a_meaning(settings: Mapping[str, Any], spec: Spec, specs: Sequence[Spec]) -> Mapping[str, Any]:
    """Leave out limits that mean something to others of several conduits alone; who is alone is told so."""
    for_others = {
        "time_limit": not spec.simulated and any(each.simulated for each in specs),
        "stall_limit": not _is_of_processes(spec) and any(map(_is_of_processes, specs)),
    }
    return {name: value for name, value in settings.items() if not for_others.get(name)}


def _is_of_processes(spec: Spec) -> bool:
    return spec.rank_kind is RankKind.PROCESS


def _is_time(word: str) -> bool:
    try:
        read_float(word)
    except ValueError:
        return False
    return True


@contextmanager
def _report_in(path: Path | None) -> Iterator[None]:
    """Write the report of what ends the job to a file, if one is wanted and there is a report.

    Where there is none, an older report there may be taken for one of this job.
    """
    older = path is not None and path != STANDARD_OUTPUT and path.is_file() and path.stat().st_size > 0
    try:
        yield
        if older and output.is_first():
            terminal.tell(f"{path} is left from before: this job came to its end, and has no report")
    except BaseException as exc:
        if path is not None and (text := _full_report(exc, as_json=path.suffix == ".json")):
            try:
                write_file("full-report", path, f"{text}\n")
            except ConduitError as error:
                terminal.tell(str(error))
        raise


def _full_report(error: BaseException, *, as_json: bool) -> str:
    """Return the whole report that an error has, "" where it has none."""
    report = getattr(error, "report", None)
    if report is None:
        return ""
    from conduit.launch.reports import Report, full  # as the job has imported it that has made a report

    if not isinstance(report, Report):
        return ""
    return report.to_json() if as_json else full(report)


def _warnings(result: Any) -> Any:
    found = result.warnings
    return found.items() if hasattr(found, "items") else enumerate(found)
