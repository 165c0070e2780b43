"""Times that say what they are for, and the CPU that divides its time by them."""

from hypothesis import example, given
from hypothesis import strategies as st

from conduit.sim import Kernel
from conduit.sim.labels import Labelled, Named, NamedRate
from conduit.sim.observed import ObservedCpu
from conduit.sim.units import duration

TICKS = st.integers(0, 1000)
TERMS = st.lists(st.tuples(TICKS, st.sampled_from(["", "copy"])), min_size=1, max_size=8)


def labelled(ticks, why):
    return Labelled(ticks, ((ticks, why),)) if why else ticks


@given(TERMS)
def test_a_sum_is_the_sum_and_knows_its_parts(terms):
    total = sum(labelled(*term) for term in terms)
    assert total == sum(ticks for ticks, _ in terms)
    assert hash(total) == hash(int(total))
    if isinstance(total, Labelled):
        assert sum(ticks for ticks, _ in total.parts) == total
        copies = [(ticks, why) for ticks, why in terms if why]
        assert [part for part in total.parts if part[1]] == copies


def test_all_but_sums_are_plain():
    ticks = labelled(10, "copy")
    for other in (ticks - 3, 3 - ticks, ticks * 2, ticks // 3, -ticks, int(ticks)):
        assert type(other) is int


@given(charges=st.lists(TERMS, max_size=6), once=st.booleans())
@example(charges=[[(1, ""), (0, "copy")]], once=True)
def test_a_cpu_tells_what_each_part_is_for(charges, once):
    heard = []
    cpu = ObservedCpu(Kernel(), 5, None, lambda *what: heard.append(what))
    cpu.busy = True
    cpu.why = "send"
    for terms in charges:
        if once:
            cpu.free += sum(labelled(*term) for term in terms)
        else:
            for term in terms:
                cpu.free += labelled(*term)
    assert type(cpu.free) is int
    cpu.busy = False
    expected = []
    for ticks, why in (term for terms in charges for term in terms):
        expected += [why or "send"] * ticks
    found = []
    for rank, begin, end, why in heard:
        assert rank == 5
        assert begin == len(found) < end
        found += [why] * (end - begin)
    assert found == expected


# -- names of constants ------------------------------------------------------------------------------

numbers = st.integers(0, 10**9)


@st.composite
def sums(draw):
    """A time made of constants by what networks do with theirs, with the same from plain numbers."""
    ticks = draw(numbers)
    made, plain = Named.of(ticks, "a"), ticks
    for what in draw(st.lists(st.sampled_from(["add", "radd", "times", "bytes", "less"]), max_size=8)):
        number = draw(numbers)
        if what == "add":
            made, plain = made + Named.of(number, "b"), plain + number
        elif what == "radd":
            made, plain = number + made, number + plain
        elif what == "times":
            made, plain = 3 * made * 2, 6 * plain
        elif what == "bytes":
            rate = draw(st.integers(1, 10**9))
            made, plain = made - -number * 10**12 // NamedRate.of(rate, "r"), plain - (-number * 10**12 // rate)
        elif number <= plain:
            made, plain = made - number, plain - number
    return made, plain


@given(sums())
def test_what_is_made_of_constants_is_the_same_number(found):
    made, plain = found
    assert type(made) is Named
    assert made == plain
    assert sum(ticks for ticks, _ in made.parts) == plain
    assert all(ticks >= 0 for ticks, _ in made.parts)
    assert {label for ticks, label in made.parts} <= {"", ":a", ":b", ":r"}


@given(numbers, numbers, st.integers(1, 10**9))
def test_differences_and_durations(one, two, rate):
    assert Named.of(one, "a") - two == one - two
    assert two - Named.of(one, "a") == two - one
    assert Named.of(one, "a") - Named.of(two, "b") == one - two
    assert two - -Named.of(one, "a") == one + two
    took = duration(one, NamedRate.of(rate, "r"))
    assert took == duration(one, rate) == duration(one, float(rate))
    assert sum(ticks for ticks, _ in took.parts) == took


def test_only_the_last_parts_are_kept():
    made = Named.of(1, "a")
    for number in range(100):
        made = made + Named.of(number + 1, f"b{number}")
    assert made == 1 + sum(range(101))
    assert len(made.parts) == 40
    assert made.parts[0][1] == ""
    assert made.parts[-1] == (100, ":b99")
    assert sum(ticks for ticks, _ in made.parts) == made
