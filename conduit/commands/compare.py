"""`conduit compare`."""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, get_args, get_type_hints

import attrs
from cyclopts import Parameter

from conduit.benchmarks.options import SIMULATED_RANKS
from conduit.commandline.console import make_console, print_table, print_text
from conduit.commandline.files import json_text, make_folder
from conduit.commandline.integers import Integer, RankCount, Size
from conduit.commandline.names import BenchmarkNames, ConduitNames, Value
from conduit.commands.tables import grid
from conduit.contract import RankKind
from conduit.errors import BadRequest, ConduitError
from conduit.launch.entry_points import COMMANDS, commands, installed
from conduit.launch.printing import output
from conduit.launch.printing.terminal import writing_for_itself
from conduit.launch.registry import parse_spec
from conduit.options import describe, question
from conduit.seeing.comparison import (
    BenchmarkResult,
    Difference,
    comparison_page,
    difference_page,
    differences,
    pictures,
    ratio_pictures,
    results_of,
)
from conduit.seeing.comparison.differences import called_otherwise, only_in_one, unknown_in
from conduit.seeing.comparison.pages import most_changed, summary
from conduit.seeing.comparison.results import cut_short, from_json, results_of_files
from conduit.seeing.pictures import Picture, check_drawing, draw
from conduit.words import like, many

_OF_THE_JOB = ("ranks", "ranks-per-host")
"""Options of benchmarks that can be swept; all others are those of conduits."""


@attrs.frozen
class _Call:
    """One call of a benchmark.

    Attributes:
        words: after `conduit`.
        swept: for each of its conduits what was swept; none without a sweep.
    """

    words: tuple[str, ...]
    swept: tuple[tuple[str, str, str], ...] = ()


def compare(
    *args: str,
    conduit: ConduitNames = (),
    command: BenchmarkNames = (),
    sweep: str | None = None,
    out: Path | None = None,
    from_: Annotated[
        tuple[Path, ...], Parameter(name="--from", consume_multiple=True, negative=(), show_default=False)
    ] = (),
    diff: Annotated[
        tuple[Path, Path] | None,
        Parameter(negative=()),
        Value("two files of results, as --diff before.json after.json"),
    ] = None,
    ranks: RankCount | None = None,
    ranks_per_host: Integer | None = None,
    iterations: Integer | None = None,
    min_size: Size | None = None,
    max_size: Size | None = None,
    sections: str | None = None,
    repeat: Integer | None = None,
    seed: Integer | None = None,
) -> int:
    """Run benchmarks on several conduits, and draw what came out.

    Writes pictures as SVG and PNG, compare.html, a page that holds them all, and
    results.json, to draw them again with --from.

    Args:
        args: After '--': further options for the benchmarks.
        conduit: Conduit to measure, as NAME or NAME:option=value,...; repeat it to compare several. [default: sci]
        command: Benchmark to run; repeat it for several. [default: testam]
        sweep: Measure with each of some values of an option of the conduits, as slots=1,2,4, or of ranks, as
            ranks=2,4,8.
        out: Folder for the files; it is made.
        from_: Draw these results, which --json of benchmarks or of conduit run has written, in the place of new ones.
        diff: Two files of results: the times in the second by those in the first.
        ranks: Number of ranks; by default 2.
        ranks_per_host: Consecutive ranks on each host.
        iterations: How often each operation is done.
        min_size: Smallest payload in bytes; K, M and G stand for powers of 2.
        max_size: Largest payload in bytes.
        sections: Letters of the sections to run; by default those that are drawn.
        repeat: Run so often, with one seed after the other: pictures show the median, the least and the most.
        seed: Of everything random.
    """
    _check_words(args, conduit)
    given = {
        "ranks": ranks, "ranks-per-host": ranks_per_host, "iterations": iterations, "min-size": min_size,
        "max-size": max_size, "sections": sections, "repeat": repeat, "seed": seed,
    }  # fmt: skip
    options = {name: str(value) for name, value in given.items() if value is not None}
    measuring = {"conduit": conduit, "command": command, "sweep": sweep, "words": args, **options}
    _check_alone(measuring, from_, diff)
    if diff is not None:
        return _differ(diff, out)
    if out is None:
        raise BadRequest("--out is missing; name a folder for the pictures")
    if from_:
        results = results_of_files("from", from_)
        check_drawing("it")
        make_folder("out", out)
        _write(results, out, [])
        return 0
    calls = list(_calls(tuple(dict.fromkeys(command)) or ("testam",), conduit or ("sci",), sweep, options, args))
    check_drawing("it")
    make_folder("out", out)
    results, status, made = [], 0, []
    for call in calls:
        made.append(" ".join(["conduit", *map(quote, call.words)]))
        status, found = _measure(call)
        results += found
        if status:  # what was measured till then is kept, as benchmarks do
            break
    if output.is_first() and (results or not status):
        _write(results, out, made)
    return status


def _check_words(words: Sequence[str], conduits: Sequence[str]) -> None:
    """Refuse programs in the place of benchmarks' options.

    Raises:
        BadRequest: there is one.
    """
    for word in words:
        if word.endswith(".py"):
            chosen = "".join(f" --conduit {quote(each)}" for each in conduits or ("sci", "loggp"))
            raise BadRequest(
                f"{word} is a program, and compare runs benchmarks; write `conduit run {quote(word)}{chosen} --json "
                "FILE`, which shows them side by side, and `conduit compare --from FILE --out DIR` for pictures"
            )


def _check_alone(measuring: Mapping[str, Any], files: Sequence[Path], diff: object) -> None:
    """Refuse options of measuring beside files of results."""
    where = "--from" if files else "--diff" if diff is not None else ""
    if files and diff is not None:
        raise BadRequest("--from and --diff are both given; choose one")
    used = [name for name, value in measuring.items() if value]
    if where and used:
        name = f"--{used[0]}"
        if used[0] == "words":
            given = measuring["words"][0]
            if diff is not None and given.endswith(".json"):
                raise BadRequest(f"--diff takes two files; leave {given} out, and compare it by a call of its own")
            name = repr(given)
        raise BadRequest(f"{name} means nothing to results that {where} reads; leave it out")


# Measuring


def _calls(
    names: Sequence[str], conduits: Sequence[str], sweep: str | None, options: Mapping[str, str], words: Sequence[str]
) -> Iterator[_Call]:
    """Yield the calls of benchmarks that are to be made, in order."""
    for name in names:
        _check_benchmark(name)
    taken = set().union(*map(_taken, names))  # what means nothing to one of several is left out for that one
    option, values = _sweep(sweep)
    if option in options:
        raise BadRequest(f"--{option} and --sweep {sweep} are both given; leave one out")
    specs = list(dict.fromkeys(parse_spec(text).text for text in conduits))
    if option in _OF_THE_JOB:
        _check_places(specs, option, values, options)
    for name in names:
        own = {each: value for each, value in options.items() if each in _taken(name) or each not in taken}
        if option in _OF_THE_JOB:
            for value in values:
                swept = tuple((option, value, spec) for spec in specs)
                yield _Call(_words(name, specs, {**own, option: value}, words), swept)
            continue
        varied: dict[str, tuple[str, str, str]] = {}
        for spec in specs:
            for value in values if option else ():
                varied.setdefault(_with(spec, option, value), (option, value, spec))  # slots=1K is slots=1024
        yield _Call(_words(name, list(varied) or specs, own, words), tuple(varied.values()))


def _words(name: str, specs: Sequence[str], options: Mapping[str, str], words: Sequence[str]) -> tuple[str, ...]:
    chosen = [part for spec in specs for part in ("--conduit", spec)]
    return (name, *chosen, "--drawn", *(part for key, value in options.items() for part in (f"--{key}", value)), *words)


def _sweep(text: str | None) -> tuple[str, list[str]]:
    """Take a sweep apart: the option, with hyphens where it is the job's, and its values."""
    if text is None:
        return "", []
    name, _, rest = text.partition("=")
    values = [value.strip() for value in rest.split(",") if value.strip()]
    if not name.strip() or not values:
        raise BadRequest(f"--sweep '{text}' names no values; write it as slots=1,2,4 or ranks=2,4,8")
    job = name.strip().replace("_", "-")
    if job in _OF_THE_JOB:  # each once however it is written, and the least first, of which a benchmark says soonest
        return job, [str(each) for each in sorted({_counted(text, value) for value in values})]  # that it is too few
    return name.strip().replace("-", "_"), list(dict.fromkeys(values))


def _counted(sweep: str, value: str) -> int:
    """Return one value of a sweep of ranks.

    Raises:
        BadRequest: it is no number of ranks; nothing has been measured then.
    """
    try:
        count = int(value)
    except ValueError:
        raise BadRequest(f"--sweep {sweep}: '{value}' is no integer; give whole numbers, joined by commas") from None
    if count < 1:
        raise BadRequest(f"--sweep {sweep}: {count} is too small; it must be at least 1")
    return count


def _check_places(specs: Sequence[str], option: str, values: Sequence[str], options: Mapping[str, str]) -> None:
    """Refuse ranks of a sweep that a conduit cannot place, before any are measured."""
    for spec in map(parse_spec, specs):
        if spec.rank_kind is RankKind.PROCESS:
            continue  # their launcher places them
        for value in values:
            given = {**options, option: value}
            per_host = given.get("ranks-per-host")
            spec.placement(int(given.get("ranks", SIMULATED_RANKS)), None if per_host is None else int(per_host))


def _with(spec: str, option: str, value: str) -> str:
    """Return a spec with one option more."""
    if re.search(rf"[:,]{re.escape(option)}=", spec):
        raise BadRequest(
            f"--sweep {option} and --conduit {spec}, which gives {option} already; leave it out of the spec"
        )
    parsed = parse_spec(spec)
    known = {*parsed.choice, *(each.name for each in describe(parsed.cls.Options))}
    if option not in known:
        asked = question(option, parsed.cls.Options, parsed.choice)
        seeds = "; --repeat N measures with N seeds" if option == "seed" else ""
        raise BadRequest(
            f"--sweep {option}: conduit '{spec}' has no such option{asked}; give one that every conduit "
            f"of the call has, or ranks, or ranks-per-host{seeds}"
        )
    return parse_spec(f"{spec}{',' if ':' in spec else ':'}{option}={value}").text


def _check_benchmark(name: str) -> None:
    """Refuse a command that is none, or no benchmark."""
    found = installed(COMMANDS)
    first, _, options = name.partition(" ")
    if options and first in found:
        raise BadRequest(f"--command '{name}' is a command and its options; write --command {first} {options}")
    if name not in found:
        raise BadRequest(
            f"--command '{name}' is no command{like(name, found)}; benchmarks are: {', '.join(benchmarks())}"
        )
    if not _is_benchmark(found[name].load()):
        raise BadRequest(f"--command '{name}' is no benchmark; these are: {', '.join(benchmarks())}")


def benchmarks() -> list[str]:
    """Return the commands that can be compared."""
    return [name for name in commands() if _is_benchmark(_loaded(name))]


def _loaded(name: str) -> Callable[..., Any]:
    try:
        found: Callable[..., Any] = installed(COMMANDS)[name].load()
    except Exception:  # one that cannot be imported says so when it is called
        return _loaded
    return found


def _is_benchmark(command: Callable[..., Any]) -> bool:
    """Whether a command takes the options that benchmarks share."""
    return _options_of(command) is not None


def _options_of(command: Callable[..., Any]) -> type | None:
    """Return the class of a benchmark's options: it has `drawn`, by which only what is drawn is measured."""
    hints = get_type_hints(command).values()
    return next((hint for hint in hints if isinstance(hint, type) and "drawn" in get_type_hints(hint)), None)


def _taken(name: str) -> set[str]:
    """Return the options that mean something to a benchmark: those of its help."""
    own = _options_of(_loaded(name))
    hints = get_type_hints(own, include_extras=True) if own is not None else {}
    hidden = {each for each, hint in hints.items() if any(_is_hidden(part) for part in get_args(hint)[1:])}
    return {each.replace("_", "-") for each in hints if each not in hidden}


def _is_hidden(part: object) -> bool:
    return isinstance(part, Parameter) and part.show is False


def _measure(call: _Call) -> tuple[int, list[BenchmarkResult]]:
    """Run a benchmark as its own command does; return its status and its results, those before an end of it too."""
    from conduit.commands.cli import call as run  # which imports this command by its name alone

    if sys.stderr.isatty():
        print(" ".join(("conduit", *call.words)), file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "results.json")
        with redirect_stdout(StringIO()), writing_for_itself():
            status = run([*call.words, "--json", str(file)], within="compare")
        if not output.is_first() or (status and not file.exists()):  # who has written nothing
            return status, []
        contents = json.loads(file.read_text(encoding="utf-8"))
    for content, swept in zip(contents, call.swept, strict=False):
        content["swept"] = dict(zip(("option", "value", "conduit"), swept, strict=True))
    return status, [from_json(content) for content in contents]


# Writing


def _write(results: Sequence[BenchmarkResult], out: Path, calls: Sequence[str]) -> None:
    """Write pictures, page and results, and say so."""
    made = _drawn(pictures(results), out)
    older = _beside(out, made)
    _save(out / "results.json", json_text([dict(result.content) for result in results]).encode())
    _save(out / "compare.html", comparison_page(results, made, calls).encode(errors="backslashreplace"))
    console = make_console()
    for picture, _ in made:
        print_text(console, f"{picture.name}: {picture.title}")
    if missing := cut_short(results):
        print_text(console, missing)
    print_text(console, f"wrote {out / 'compare.html'}, results.json and {_count(made)}")
    if older:
        print_text(console, f"older pictures are still in {out}: {', '.join(older)}")


def _drawn(made: Sequence[Picture], folder: Path) -> list[tuple[Picture, bytes]]:
    """Draw pictures in both formats; return them with their SVG."""
    drawn = []
    for picture in made:
        files = draw(picture)
        _save(folder / f"{picture.name}.svg", files.svg)
        _save(folder / f"{picture.name}.png", files.png)
        drawn.append((picture, files.svg))
    return drawn


def _beside(folder: Path, made: Sequence[tuple[Picture, bytes]]) -> list[str]:
    """Return the names of other pictures in a folder, as of an earlier comparison."""
    there = {path.stem for path in folder.glob("*.svg") if path.with_suffix(".png").is_file()}
    return sorted(there - {picture.name for picture, _ in made})


def _count(made: Sequence[object]) -> str:
    return f"{many(len(made), 'picture')} (svg and png)"


def _save(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as exc:
        raise ConduitError(f"{path} cannot be written: {exc.strerror}") from exc


def _differ(files: tuple[Path, Path], out: Path | None) -> int:
    """Show what two files of results have in common, and draw it if a folder is named."""
    first, second = (results_of("diff", path) for path in files)
    found, alone = differences(first, second)
    unknown = unknown_in(first, second)
    if out is not None:
        check_drawing("--out")
        make_folder("out", out)
    console = make_console()
    if shown := most_changed(found):
        titles = ("conduit", "operation", "bytes", "first us", "second us", "ratio")
        print_table(console, grid(titles, map(_cells, shown), right=range(2, 6)))
        if len(shown) < sum(each.before != each.after for each in found):
            print_text(console, f"Above are the {len(shown)} that differ most; --out FOLDER writes a page with all.")
    print_text(console, summary(found, alone, unknown))
    said = (called_otherwise(first, second), only_in_one(first, second), cut_short([*first, *second]))
    missing = " ".join(filter(None, said))
    if missing:
        print_text(console, missing)
    if out is not None:
        made = _drawn(ratio_pictures(found), out)
        names = (str(files[0]), str(files[1]))
        page = difference_page(found, alone, made, names, missing, unknown)
        _save(out / "diff.html", page.encode(errors="backslashreplace"))
        print_text(console, f"wrote {out / 'diff.html'} and {_count(made)}")
    return 0


def _cells(each: Difference) -> tuple[object, ...]:
    return (
        each.label, each.operation, each.nbytes, f"{each.before:.3f}", f"{each.after:.3f}", f"{each.ratio:.3f}",
    )  # fmt: skip
