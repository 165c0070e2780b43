"""What bash needs to complete words of a line by those before them, beside the script that Cyclopts generates.

That knows of every option one value, and takes the words of a program, behind `--`, for those of a command.
"""

from __future__ import annotations

from collections.abc import Mapping

from conduit.commands.completing_specs import bash_specs

_SCRIPT = """
# The words between an option and a further value of it are left out: each is completed as the first.
_conduit_further_value() {{
  local at given=0 most
  for ((at = COMP_CWORD - 1; at > 1; at--)); do
    case "${{COMP_WORDS[at]}}" in
{cases}
      -*) return ;;
      =) continue ;;
      *) ((given++)); continue ;;
    esac
    if ((given > 0 && given < most)); then
      COMP_WORDS=("${{COMP_WORDS[@]:0:at+1}}" "${{COMP_WORDS[COMP_CWORD]}}")
      COMP_CWORD=$((at + 1))
    fi
    return
  done
}}

_conduit_is_of_program() {{
  local word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ "$word" == -- ]] && return 0
  done
  return 1
}}

_conduit_line() {{
  local files
  _conduit_spec && return
  # A quote that is open stays in the line.
  COMP_WORDS[COMP_CWORD]="${{COMP_WORDS[COMP_CWORD]#[\\"\\']}}"
  mapfile -t files < <(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}")
  if _conduit_is_of_program; then
    COMPREPLY=("${{files[@]}}")
  else
    _conduit_further_value
    _conduit
  fi
  # Where these are what is offered, names with spaces are still whole here, and bash is told what they are.
  if (( ${{#files[@]}} )) && [[ "${{COMPREPLY[*]}}" == "${{files[*]}}" ]]; then
    COMPREPLY=("${{files[@]}}")
    compopt -o filenames 2> /dev/null
  fi
}}

complete -F _conduit_line conduit
"""


def bash_lines(values: Mapping[str, int | None]) -> str:
    """Return what is to follow the script for bash, and makes it complete by this.

    Args:
        values: of each option that takes several values how many they are at most, None for any number.
    """
    many = {name: "COMP_CWORD" if most is None else most for name, most in sorted(values.items())}
    cases = "\n".join(f"      {name}) most={most} ;;" for name, most in many.items())
    return bash_specs() + _SCRIPT.format(cases=cases)
