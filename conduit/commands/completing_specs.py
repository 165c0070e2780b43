"""What bash needs to complete the options of a network in its spec, as `sci:inline=yes`.

Bash takes `:` and `=` for ends of words, so that what it asks for is a part of a spec: the whole is read from the line.
"""

from __future__ import annotations

import re

from conduit.contract import Conduit
from conduit.launch.registry import networks
from conduit.options import describe

_CHOICES = re.compile(r"[\w.-]+(\|[\w.-]+)+")
"""How the allowed values of an option are shown where they are some words."""
_SCRIPT = """
_conduit_spec() {{
  local whole="${{COMP_LINE:0:COMP_POINT}}" cur="${{COMP_WORDS[COMP_CWORD]}}" given word quoted=""
  [[ "$cur" == [\\"\\']* ]] && quoted=yes
  whole="${{whole##*[[:space:]]}}"
  whole="${{whole#--*=}}"
  # A quote that is open is none of the spec's, and stays in the line.
  whole="${{whole#[\\"\\']}}" cur="${{cur#[\\"\\']}}"
  [[ "$cur" == [:=] ]] && cur=""
  [[ "$whole" == *:* && "$whole" == *"$cur" ]] || return 1
  case "$whole" in
{cases}
    *) return 1 ;;
  esac
  local part="${{whole##*[:,]}}" before="${{whole%"$cur"}}"
  local head="${{whole%"$part"}}"
  COMPREPLY=()
  for word in $(compgen -W "$given" -- "$part"); do
    # A name with its `=` first, then its values.
    if [[ "$part" == *=* && "$word" != *= ]] || [[ "$part" != *=* && "$word" == *= ]]; then
      word="$head$word"
      COMPREPLY+=("${{word#"$before"}}")
    fi
  done
  [[ "$part" == *=* ]] || compopt -o nospace 2> /dev/null
  # Of one word alone bash would close the quote, before the value is written.
  [[ "$quoted" && "${{#COMPREPLY[@]}}" == 1 && "$COMPREPLY" == *= ]] && COMPREPLY+=("${{COMPREPLY}}VALUE")
  return 0
}}
"""


def bash_specs() -> str:
    """Return a function of bash by which the options in specs are completed: it fails where there is none."""
    cases = (f'    {start}*) given="{" ".join(words)}" ;;' for start, words in _words())
    return _SCRIPT.format(cases="\n".join(cases))


def _words() -> list[tuple[str, dict[str, None]]]:
    """Return what a spec begins with and what may stand behind it: `order=` and, of some words, `order=weak`.

    The longest beginning is first: behind a choice, as `mpi:library=start,`, stand the options of what is chosen alone.
    """
    found: dict[str, dict[str, None]] = {}
    for text, cls in networks().items():
        if not isinstance(cls, type):
            continue
        name, _, chosen = text.partition(":")
        words = _options(cls)
        if chosen:
            found[f"{text},"] = words
            words = {f"{chosen.partition('=')[0]}=": None, chosen: None, **words}
        found.setdefault(f"{name}:", {}).update(words)
    return sorted(found.items(), key=lambda each: (-len(each[0]), each[0]))


def _options(cls: type[Conduit]) -> dict[str, None]:
    """Return what sets the options of a conduit: names with `=`, and of some their values too."""
    words: dict[str, None] = {}
    for option in describe(cls.Options):
        values = option.allowed.split("|") if _CHOICES.fullmatch(option.allowed) else []
        words.update(dict.fromkeys(f"{option.name}={value}" for value in ("", *values)))
    return words
