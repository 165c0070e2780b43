"""Times that say what they are for, and the CPU that divides its time by them."""

from hypothesis import example, given
from hypothesis import strategies as st

from conduit.sim import Kernel
from conduit.sim.labels import Labelled
from conduit.sim.observed import ObservedCpu

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
