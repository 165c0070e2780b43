"""Which conduits, commands and suites are installed, and what a spec string means.

Everything is found by entry point (`entry_points`), so that a plugin appears without a change here.  Only what is
asked for is imported.
"""

import ast
import functools
import inspect
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import Any

import attrs

from conduit.contract import Conduit, Constant, Costs, Limits, RankKind
from conduit.core.arguments import shown
from conduit.core.steps import steps_of
from conduit.errors import BadRequest, ConduitError, UnknownConduit
from conduit.launch import wrong_spec
from conduit.launch.class_problems import attribute_problem, making_problem, signature_problem
from conduit.launch.entry_points import CONDUITS, FRONT_ENDS, installed, lookup, malformed
from conduit.options import (
    declaration_problem,
    in_effect,
    named_values,
    options_problem,
    parse_options,
    render,
    with_comma,
)
from conduit.words import like


@attrs.frozen
class ImportFailure:
    """A conduit that is registered but cannot be used.

    Attributes:
        name: its registered name.
        target: the entry point's value, `package.module:Class`.
        error: what its import raised.
    """

    name: str
    target: str
    error: Exception | SystemExit

    def __str__(self) -> str:
        error = self.error
        if isinstance(error, SyntaxError) and error.filename:  # Python's own text has the file without its folder
            return f"{type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})"
        text = str(self.error).strip().splitlines()
        kind = "" if type(self.error) is ConduitError else f"{type(self.error).__name__}: "
        return f"{kind}{text[0] if text else 'no further text'}{self._line()}"

    def _line(self) -> str:
        """Return where in the plugin its import has failed, "" where that is not in a line of its own."""
        return _line_in(self.error, self.target.partition(":")[0])


@attrs.frozen
class Spec:
    """A network with its options, as a spec string names them: what all others ask about a network.

    Attributes:
        name: the registered name.
        cls: the class of the network, of several under one name the one that is meant.
        options: an instance of `cls.Options`.
        chosen: the option that says which of several is meant, as in "library=mpi4py"; "" where there is one, and
            for the default one.
        choice: that option and its value, also of the default one; {} where there is one network.
    """

    name: str
    cls: type[Conduit]
    options: object
    chosen: str = ""
    choice: Mapping[str, str] = attrs.field(factory=dict, eq=False)

    @property
    def in_effect(self) -> dict[str, object]:
        """All options with their values, first that which says which network is meant, where there are several."""
        return {**self.choice, **in_effect(self.options)}

    @property
    def text(self) -> str:
        """The spec in canonical form: only what differs from the defaults."""
        rest = ",".join(filter(None, (self.chosen, render(self.options))))
        return f"{self.name}:{rest}" if rest else self.name

    @property
    def title(self) -> str:
        """That with the option which says which network is meant, though it be the default: for who compares specs."""
        chosen = ",".join(f"{name}={value}" for name, value in self.choice.items())
        rest = ",".join(filter(None, (chosen, render(self.options))))
        return f"{self.name}:{rest}" if rest else self.name

    @property
    def simulated(self) -> bool:
        """Whether its time is virtual."""
        return self.cls.simulated

    @property
    def rank_kind(self) -> RankKind:
        """What its ranks are, and so how its jobs are started."""
        return self.cls.rank_kind

    @functools.cached_property  # all ranks ask
    def limits(self) -> Limits:
        """What one message may carry under these options."""
        return self.cls.limits(self.options)

    @functools.cached_property  # all ranks ask
    def costs(self) -> Costs:
        """What a message costs under these options, as far as the network says."""
        return self.cls.costs(self.options)

    @functools.cached_property  # all ranks ask
    def library_costs(self) -> Mapping[str, float]:
        """What calls of a vendor's libraries cost beside that, by their names."""
        return self.cls.library_costs(self.options)

    def placement(self, ranks: int, ranks_per_host: int | None) -> tuple[int, ...]:
        """Return the host of every rank, as `Conduit.placement`.

        Raises:
            BadRequest: it does not fit; the text says on which network, of several under one name too.
        """
        try:
            return self.cls.placement(self.options, ranks, ranks_per_host)
        except BadRequest as error:
            if not self.chosen:
                raise
            raise BadRequest(str(error).replace(f"on {self.name!r}", f"on '{self.name}:{self.chosen}'", 1)) from None

    def larger_segment(self, segment: int) -> str:
        """What to do for a segment of that size, over the network's largest; "" where nothing helps."""
        return self.cls.larger_segment(self.options, segment)

    def with_options(self, **values: object) -> "Spec":
        """Return the spec with some options set to other values."""
        changed: Any = self.options
        return attrs.evolve(self, options=attrs.evolve(changed, **values))


def available() -> Mapping[str, "type[Conduit] | ImportFailure"]:
    """Import every registered conduit; one whose import fails stands there with its error.

    A class with `variants` stands for several networks: `networks` gives these.
    """
    return MappingProxyType({name: _load(name, entry) for name, entry in sorted(installed(CONDUITS).items())})


def networks() -> Mapping[str, "type[Conduit] | ImportFailure"]:
    """As `available`, with each network that one name stands for under a spec of its own, `mpi:library=mpi4py`."""
    found: dict[str, type[Conduit] | ImportFailure] = {}
    for name, cls in available().items():
        if not isinstance(cls, type) or not cls.chooser:
            found[name] = cls
            continue
        for value in cls.variants():
            try:
                found[f"{name}:{cls.chooser}={value}"] = _variant(name, cls, value)
            except UnknownConduit as failed:
                cause = failed.__cause__ if isinstance(failed.__cause__, Exception) else failed
                found[f"{name}:{cls.chooser}={value}"] = ImportFailure(name, f"{cls.__name__}.variant", cause)
    return MappingProxyType(found)


def find(name: str) -> type[Conduit]:
    """Return the conduit class registered under a name; imports no other.

    Raises:
        UnknownConduit: there is none, or its import failed.
    """
    entry = installed(CONDUITS).get(name)
    if entry is None:
        lookup.cache_clear()  # it may have been installed since the first look
        entry = installed(CONDUITS).get(name)
    if entry is None:
        chosen = {**_with_value(name), **_chosen()}
        raise UnknownConduit(wrong_spec.no_such(name, sorted(installed(CONDUITS)), chosen, installed(FRONT_ENDS)))
    found = _load(name, entry)
    if isinstance(found, ImportFailure):
        raise UnknownConduit(f"conduit '{name}' ({found.target}) cannot be used: {found}") from found.error
    return found


def parse_spec(spec: str) -> Spec:
    """Read a spec string: a name, then options, as in `sci:torus=4x2,slots=4`.

    Raises:
        BadRequest: the text is no spec, or an option is unknown or not allowed.
        UnknownConduit: no such conduit.
    """
    if not isinstance(spec, str):
        raise BadRequest(f"conduit must be a spec string such as 'sci' or 'sci:torus=4x2', not {shown(spec)}")
    name, _, tail = spec.strip().partition(":")
    if not name.strip():
        raise BadRequest(f"the spec '{spec}' names no conduit; write it as NAME or NAME:option=value,option=value")
    return resolve(name.strip(), _pairs(spec, name.strip(), tail))


def resolve(name: str, texts: Mapping[str, str]) -> Spec:
    """Turn the name of a conduit and the texts of its options into the network that is meant.

    Raises:
        BadRequest: an option is unknown or not allowed.
        UnknownConduit: no such conduit, or it cannot be imported.
    """
    cls = find(name)
    if not cls.chooser:
        return Spec(name, cls, parse_options(name, cls.Options, texts))
    known = cls.variants()
    default = cls.preferred or known[0]
    value = texts.get(cls.chooser, default)
    if value not in known:
        why = f"option '{cls.chooser}' of conduit '{name}' cannot be '{value}'"
        if write := with_comma(name, cls.chooser, value):
            raise BadRequest(f"{why}: {write}")
        raise BadRequest(f"{why}{like(value, known)}; there are: {', '.join(known)}")
    variant = _variant(name, cls, value)
    rest = {option: text for option, text in texts.items() if option != cls.chooser}
    options: object = parse_options(f"{name}:{cls.chooser}={value}", variant.Options, rest, cls.chooser)
    return Spec(name, variant, options, "" if value == default else f"{cls.chooser}={value}", {cls.chooser: value})


def _variant(name: str, cls: type[Conduit], value: str) -> type[Conduit]:
    """Return one of the networks that a name stands for."""
    what = f"conduit '{name}:{cls.chooser}={value}'"
    try:
        found = cls.variant(value)
    except ImportError as error:
        raise UnknownConduit(f"{what} cannot be imported: {type(error).__name__}: {error}") from error
    problem = _problem(name, found) or (
        f"the class {found.__name__} has variants itself; return one that has none" if found.chooser else ""
    )
    if not problem and cls.chooser in attrs.fields_dict(found.Options):
        problem = f"its Options, the class {found.Options.__name__}, declare {cls.chooser!r} too, which chooses it"
    if problem:
        raise UnknownConduit(f"{what} cannot be used: {problem}")
    return found


def _in_conflict(name: str) -> str:
    """Return which packages have registered different conduits under one name, "" where it is one package."""
    entries = lookup(CONDUITS).get(name, ())
    if len({entry.value for entry in entries}) < 2:
        return ""
    who = [f"{'a package' if entry.dist is None else entry.dist.name} ({entry.value})" for entry in entries]
    return f"several packages have registered the name: {' and '.join(who)}; uninstall all but one of them"


def _load(name: str, entry: EntryPoint) -> "type[Conduit] | ImportFailure":
    """Import a conduit; whatever its import raises belongs to that conduit alone, be it that it exits."""
    if problem := malformed(entry) or _in_conflict(name):
        return ImportFailure(name, entry.value, ConduitError(problem))
    try:
        found = entry.load()
    except (Exception, SystemExit) as exc:
        return ImportFailure(name, entry.value, exc)
    problem = _problem(name, found)
    return ImportFailure(name, entry.value, TypeError(problem)) if problem else found


def _problem(name: str, found: Any) -> str:
    """Return why what an entry point leads to cannot be used as a conduit, "" where it can."""
    if not (isinstance(found, type) and issubclass(found, Conduit)):
        return f"{found!r} is no subclass of conduit.Conduit"
    if getattr(found, "name", None) != name:
        named = f"is named {found.name!r}" if hasattr(found, "name") else "has no name"
        return f"the class {named}; set name = {name!r} in it"
    if problem := attribute_problem(found) or signature_problem(found):
        return problem
    if found.chooser:
        return "" if found.variants() else f"it has chooser = {found.chooser!r} but no variants; return their names"
    options = getattr(found, "Options", None)
    if not (isinstance(options, type) and attrs.has(options)):
        return f"its Options are {options!r}; write a class decorated with attrs.frozen(kw_only=True)"
    if problem := _problem_of_options(options, found.simulated):
        return problem
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        return f"the class lacks {', '.join(missing)}; define what a conduit must have"
    return _problem_of_constants(found) or _problem_of_limits(found) or making_problem(found)


# Every job asks these three.


@functools.cache
def _problem_of_options(options: type, simulated: bool) -> str:
    if problem := options_problem(options, simulated=simulated):
        return f"its Options, the class {options.__name__}, {problem}"
    option, problem = declaration_problem(options)
    return f"option {option!r}{problem}{_declared_at(options, option)}" if problem else ""


@functools.cache
def _problem_of_constants(cls: type[Conduit]) -> str:
    known: dict[str, Constant] = {}
    constants: object = cls.constants
    if not isinstance(constants, tuple | list):
        return f"its constants are {constants!r}; write a tuple, of one Constant `(Constant(...),)`"
    for each in constants:
        if not isinstance(each, Constant):
            return f"its constants have {each!r}, which is no conduit.contract.Constant"
        if known.setdefault(each.name, each) != each:
            return f"its constants have two that differ under the name {each.name!r}; give each a name of its own"
    return ""


@functools.cache
def _problem_of_limits(cls: type[Conduit]) -> str:
    what = "Options()"
    try:
        options: object = cls.Options()
        what = "limits"
        cls.limits(options)
    except Exception as error:
        if type(error) is ConduitError:  # which says already what has returned what
            return str(error)
        raised = f"{what} raised {type(error).__name__}: {error}{_line_in(error, cls.__module__)}"
        return f"with its options as they are by default, {raised}"
    return ""


def _line_in(error: BaseException, module: str) -> str:
    """Return the last line of a module's package that an error came through, in brackets; "" for none."""
    package = module.partition(".")[0]
    lines = [
        f" ({step.tb_frame.f_code.co_filename}:{step.tb_lineno})"
        for step in steps_of(error)
        if str(step.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == package
    ]
    return lines[-1] if lines else ""


def _declared_at(options: type, option: str) -> str:
    """Return where a class of options declares one of them, in brackets; "" where there is no source."""
    with suppress(OSError, TypeError, SyntaxError):
        lines, first = inspect.getsourcelines(options)
        (declared,) = ast.parse(textwrap.dedent("".join(lines))).body
        for each in ast.walk(declared):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id == option:
                return f" ({inspect.getsourcefile(options)}:{first + each.lineno - 1})"
    return ""


def _chosen() -> dict[str, str]:
    """Return the specs of the networks that share a name, by what chooses them: `{"mpi4py": "mpi:library=mpi4py"}`.

    What users may call such a network is there as well.
    """
    found: dict[str, str] = {}
    for name, cls in available().items():
        if isinstance(cls, type) and cls.chooser:
            names = {**{value: value for value in cls.variants()}, **cls.other_names}
            found.update((word, f"{name}:{cls.chooser}={value}") for word, value in names.items())
    return found


def _with_value(value: str) -> dict[str, str]:
    """Return the spec of the one network that has a value of an option by that name, `loggp:set=ethernet100`; or none.

    Values that several networks have say nothing of which is meant.
    """
    found = [
        f"{name}:{option}={value}"
        for name, cls in available().items()
        if isinstance(cls, type) and not cls.chooser and (option := named_values(cls.Options).get(value))
    ]
    return {value: found[0]} if len(found) == 1 else {}


def _pairs(spec: str, name: str, tail: str) -> dict[str, str]:
    """Split `k=v,k=v`."""
    pairs: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in tail.split(","))):
        option, equals, value = (piece.strip() for piece in part.partition("="))
        if not (option and equals and value):
            raise _no_pair(spec, name, pairs, part)
        if option in pairs:
            raise BadRequest(f"option '{option}' is given twice in the spec '{spec}'; give it once")
        pairs[option] = value
    return pairs


def _no_pair(spec: str, name: str, pairs: Mapping[str, str], part: str) -> BadRequest:
    """Return the error of a part of a spec that is no `option=value`, after those pairs."""
    cls = find(name)
    if part in installed(CONDUITS):
        first = ":".join(filter(None, [name, ",".join(map("=".join, pairs.items()))]))
        return BadRequest(wrong_spec.several(spec, [first, part]))
    if not cls.chooser:
        return BadRequest(wrong_spec.no_pair(spec, part, cls.Options, {}))
    known = cls.variants()
    options = _variant(name, cls, cls.preferred or known[0]).Options
    return BadRequest(wrong_spec.no_pair(spec, part, options, dict.fromkeys(known, cls.chooser)))
