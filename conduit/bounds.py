"""What attrs' comparing validators allow of a number, in words: "from 1 to 64"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

_LOW, _HIGH = (">=", ">"), ("<=", "<")


@attrs.frozen
class Range:
    """Numbers between two bounds.

    Attributes:
        low: the comparison and the bound below, as (">=", 1); None where there is none.
        high: those above.
    """

    low: tuple[str, Any] | None = None
    high: tuple[str, Any] | None = None

    def meets(self, other: Range) -> Range:
        """Return what is in both, where each bound is in one of them; of two alike the first counts."""
        return Range(self.low or other.low, self.high or other.high)

    def __str__(self) -> str:
        if self.low and self.high and (self.low[0], self.high[0]) == (">=", "<="):
            return f"from {_text(self.low[1])} to {_text(self.high[1])}"
        low = self.low and f"{'of at least' if self.low[0] == '>=' else 'over'} {_text(self.low[1])}"
        high = self.high and f"{'of at most' if self.high[0] == '<=' else 'below'} {_text(self.high[1])}"
        return " and ".join(filter(None, (low, high)))


def ranges(validator: Any) -> list[Range]:
    """Return the ranges in one of which a number must be, none where it may be any: of what attrs' validators state."""
    if hasattr(validator, "compare_op"):
        bound = validator.compare_op, validator.bound
        return [Range(low=bound)] if bound[0] in _LOW else [Range(high=bound)] if bound[0] in _HIGH else []
    if isinstance(validator, _OR):
        return [each for part in validator.validators for each in ranges(part)]
    found: list[Range] = []
    for part in parts(validator):
        other = ranges(part)
        found = [each.meets(more) for each in found for more in other] if found and other else found or other
    return found


def parts(validator: Any) -> Iterator[Any]:
    """Yield the validators that one of attrs asks all of."""
    yield from getattr(validator, "_validators", ())  # and_
    if isinstance(validator, _OPTIONAL):
        yield validator.validator


def objecting(validator: Any, field: attrs.Attribute[Any], value: object) -> Any:
    """Return the validator that refuses a value: of those that are asked together, the one that does.

    Raises:
        AttributeError: it compares fields, and cannot be asked alone.
    """
    for part in parts(validator) if value is not None else ():
        if (found := objecting(part, field, value)) is not None:
            return found
    if validator is not None:
        try:
            validator(None, field, value)
        except (ValueError, TypeError):
            return validator
    return None


def is_told(validator: Any) -> bool:
    """Say whether ranges, with the words that are the type's own, say all that a validator asks for."""
    if isinstance(validator, _OR):
        return all(is_told(part) for part in validator.validators)
    return bool(ranges(validator)) or isinstance(validator, _IN)


def _text(bound: Any) -> str:
    return str(int(bound)) if isinstance(bound, float) and bound.is_integer() and abs(bound) < 1e15 else str(bound)


_V, _ANY = attrs.validators, attrs.validators.gt(0)
_OR: type[Any] = type(_V.or_(_ANY, _ANY))
_OPTIONAL: type[Any] = type(_V.optional(_ANY))
_IN: type[Any] = type(_V.in_(()))
