"""Traces: every event in order, the same each time, and no change of what is traced."""

import pytest

import conduit
from conduit.contract import JobSetup
from conduit.launch.jobs.simulated import SimulatedJob
from conduit.launch.registry import parse_spec
from conduit.sim import Kernel, Trace, TracingKernel, simulate


async def main(ep):
    answers = []

    def ask(token, number):
        token.reply_medium(answer, bytes(number))

    def answer(token, payload):
        answers.append(len(payload))

    await ep.attach(ask, answer)
    for number in range(3):
        await ep.request_short((ep.rank + 1) % ep.size, ask, number)
        await ep.block_until(lambda number=number: len(answers) > number)
    return answers


def traced(spec, seed=0):
    trace = Trace()
    parsed = parse_spec(spec)
    hosts = parsed.cls.placement(parsed.options, 3, None)
    auxiliary = parsed.cls.auxiliary_beside(parsed.options, 4096)
    setup = JobSetup(ranks=3, hosts=hosts, segment=4096, auxiliary=auxiliary, seed=seed)
    return trace, SimulatedJob(main, (), parsed, setup, listener=trace).run()


@pytest.mark.parametrize("order", ["strict", "weak"])
@pytest.mark.parametrize("network", ["loggp", "sci", "startx", "sunfire"])
def test_trace_repeats_and_changes_nothing(network, order):
    spec = f"{network}:order={order}"
    first, result = traced(spec)
    second, _ = traced(spec)
    assert first.digest() == second.digest()
    assert len(first) > 50
    assert not [event.name for event in first if " at 0x" in event.name]
    assert result.digest == conduit.run(main, ranks=3, conduit=spec, segment=4096).digest


def test_trace_names_time_action_and_rank():
    trace, _ = traced("loggp")
    assert [event.time for event in trace] == sorted(event.time for event in trace)
    assert {event.rank for event in trace} >= {0, 1, 2}
    assert any(event.name == "SimulatedPort._look" for event in trace)


def test_another_seed_gives_another_trace_where_order_is_drawn():
    assert traced("loggp:order=weak", seed=1)[0].digest() != traced("loggp:order=weak", seed=2)[0].digest()


def test_error_of_a_traced_event_names_its_rank():
    class Part:
        rank = 7

        def act(self):
            raise ValueError("broken part")

    kernel = TracingKernel(listener=lambda event: None)
    kernel.call(5, Part().act)
    with pytest.raises(ValueError, match=r"^broken part$"):
        simulate(kernel, lambda: kernel.until(10))
    assert kernel.end.errors[0][1] == 7


@pytest.mark.parametrize("way", ["at", "call", "background"])
@pytest.mark.parametrize(
    ("when", "message"),
    [
        (7.0, r"^Part\.act: an event at 7\.0 ps, which is a float; times are whole numbers: use conduit\.sim\.units"),
        (4, r"^Part\.act: an event at 4 ps, which is past, now is 5 ps; use kernel\.now or cpu\.now\(\)$"),
    ],
)
def test_a_wrong_time_is_refused_where_it_is_given(way, when, message):
    class Part:
        def act(self):
            pass

    def begin():
        kernel.at(5, lambda: getattr(kernel, way)(when, Part().act))
        return kernel.until(10)

    kernel = TracingKernel()
    with pytest.raises((TypeError, ValueError), match=message.replace("Part", ".*Part")) as caught:
        simulate(kernel, begin)
    assert "getattr(kernel, way)(when" in str(caught.traceback[-3].statement)


def test_a_plain_kernel_has_no_trace_points():
    assert not hasattr(Kernel(), "_listener")
