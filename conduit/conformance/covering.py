"""Covering arrays: few rows in which every pair (or triple) of values of different factors meets.

A product of all options is out of reach as soon as there are six of them; faults that need more than two or three
particular settings at once are rare.  The rows are found greedily: each new row is built around a combination that
no row has yet, and its other values are chosen to meet as many missing combinations as they can.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from random import Random

Row = dict[str, Hashable]
Combination = frozenset[tuple[str, Hashable]]

_TRIES = 12


def covering_array(
    factors: Mapping[str, Sequence[Hashable]],
    strength: int = 2,
    *,
    allowed: Callable[[Row], bool] = lambda row: True,
    seed: int = 0,
) -> list[Row]:
    """Give rows in which every combination of ``strength`` values that an allowed row can hold occurs.

    Args:
        factors: the values of each factor, at least one each, by its name.
        strength: how many factors' values must meet: 2 for pairs, 3 for triples.
        allowed: whether a whole row may be used; combinations that only rows it refuses could hold are left out.
        seed: of the choices between rows that are equally good; the same seed gives the same rows.

    Raises:
        ValueError: a factor without values, or a strength below 1.
    """
    if strength < 1:
        raise ValueError(f"strength is {strength}; it must be at least 1")
    for name, values in factors.items():
        if not values:
            raise ValueError(f"factor {name!r} has no values; leave it out or give it one")
    strength = min(strength, len(factors))
    random = Random(seed)
    # A dict, not a set: the order must not depend on the hashes of strings.
    missing = dict.fromkeys(_all_combinations(factors, strength))
    rows: list[Row] = []
    while missing:
        wanted = next(iter(missing))
        row = _best_row(factors, wanted, missing, strength, allowed, random)
        if row is None:
            del missing[wanted]
            continue
        rows.append(row)
        for met in _combinations_of(row, strength):
            missing.pop(met, None)
    return rows


def full_product(
    factors: Mapping[str, Sequence[Hashable]], allowed: Callable[[Row], bool] = lambda row: True
) -> list[Row]:
    """Give every allowed row, in the order of the factors' values."""
    return [row for row in _rows(factors) if allowed(row)]


def _all_combinations(factors: Mapping[str, Sequence[Hashable]], strength: int) -> list[Combination]:
    return [
        frozenset(zip(names, values, strict=True))
        for names in combinations(factors, strength)
        for values in product(*(factors[name] for name in names))
    ]


def _combinations_of(row: Row, strength: int) -> list[Combination]:
    return [frozenset(items) for items in combinations(row.items(), strength)]


def _best_row(
    factors: Mapping[str, Sequence[Hashable]],
    wanted: Combination,
    missing: Mapping[Combination, None],
    strength: int,
    allowed: Callable[[Row], bool],
    random: Random,
) -> Row | None:
    """Build some rows that hold what is wanted and take the one that meets most of what is missing."""
    candidates = (_grow(factors, wanted, missing, strength, random) for _ in range(_TRIES))
    good = [row for row in candidates if allowed(row)]
    if good:
        return max(good, key=lambda row: sum(met in missing for met in _combinations_of(row, strength)))
    fixed = {name: [value] for name, value in wanted}
    narrowed = {name: fixed.get(name, list(values)) for name, values in factors.items()}
    return next((row for row in _rows(narrowed) if allowed(row)), None)


def _rows(factors: Mapping[str, Sequence[Hashable]]) -> Iterator[Row]:
    return (dict(zip(factors, values, strict=True)) for values in product(*factors.values()))


def _grow(
    factors: Mapping[str, Sequence[Hashable]],
    wanted: Combination,
    missing: Mapping[Combination, None],
    strength: int,
    random: Random,
) -> Row:
    """Give a row that holds what is wanted, its other values added one by one in an order of chance."""
    row: Row = dict(wanted)
    rest = [name for name in factors if name not in row]
    random.shuffle(rest)
    for name in rest:
        values = list(factors[name])
        random.shuffle(values)
        row[name] = max(values, key=partial(_gain, row, name, missing=missing, strength=strength))
    return {name: row[name] for name in factors}


def _gain(row: Row, name: str, value: Hashable, missing: Mapping[Combination, None], strength: int) -> int:
    """Count the missing combinations that this value completes with those already chosen."""
    others = combinations(row.items(), strength - 1)
    return sum(frozenset((*chosen, (name, value))) in missing for chosen in others)
