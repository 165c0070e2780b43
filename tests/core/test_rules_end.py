"""Rules E1, E2, E3, E6: how a job ends, and what `run` returns or raises."""

import pickle
import re
import sys

import numpy as np
import pytest
import trio

import conduit


def test_E1_a_rank_whose_main_has_returned_serves_until_all_have(both_ways):
    async def main(ep):
        answers = []

        def answer(token):
            answers.append(1)

        def ask(token):
            token.reply_short(answer)

        await ep.attach(ask, answer)
        if ep.rank:
            return ep.now  # and yet it answers below
        await ep.compute(1e-3)
        for _ in range(40):
            await ep.request_short(1, ask)
        await ep.block_until(lambda: len(answers) == 40)
        return ep.now

    late, early = both_ways.run(main).values
    assert early < 1e-3 < late


def test_E1_every_message_is_handled_before_the_job_ends(both_ways):
    handled = []

    async def main(ep):
        def note(token):
            handled.append("note")
            ep.charge(1e-4)

        def ask(token):
            handled.append("ask")
            token.reply_short(note)

        await ep.attach(note, ask)
        for _ in range(5):
            await ep.request_short(1 - ep.rank, ask)
        await ep.request_short(ep.rank, ask)  # to itself, as the last act

    result = both_ways.run(main)
    assert sorted(handled) == ["ask"] * 24 + ["note"] * 24
    assert result.seconds > 6e-4


def test_E1_the_result_says_what_a_job_was(both_ways):
    async def main(ep, factor):
        await ep.compute(1e-6 * (ep.rank + 1))
        return ep.rank * factor

    result = both_ways.run(main, 3, ranks=3)
    assert result.values == [0, 3, 6]
    assert result.ranks == 3
    assert result.seconds >= 3e-6
    assert len(result.statistics) == len(result.warnings) == 3
    assert int(result.digest, 16) >= 0


@pytest.mark.parametrize("code", [0, 1, 17])
@pytest.mark.parametrize("where", ["main", "handler", "predicate", "child", "shielded"])
def test_E2_exit_ends_the_job_at_once_everywhere(both_ways, code, where):
    reached = []

    async def main(ep):
        def leave(token):
            ep.exit(code)

        async def child():
            await ep.compute(1e-6)
            ep.exit(code)

        def predicate():
            ep.exit(code)

        await ep.attach(leave)
        if ep.rank == 0:
            await ep.compute(1e-6)
            if where == "main":
                ep.exit(code)
            elif where == "handler":
                await ep.request_short(1, leave)
            elif where == "predicate":
                await ep.block_until(predicate)
            elif where == "child":
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(child)
                    await ep.block_until(lambda: False)
            else:
                with trio.CancelScope(shield=True):
                    await ep.compute(1e-6)
                    ep.exit(code)
        await ep.block_until(lambda: False)
        reached.append(ep.rank)

    error = both_ways.fails(SystemExit, main, ranks=3)
    assert error.code == code
    notes = getattr(error, "__notes__", [])
    assert [note.partition(f" at {__file__}:")[0] for note in notes] == [
        f"rank {int(where == 'handler')} ended the job with status {code}"
    ]
    assert not reached


@pytest.mark.parametrize("code", [None, 0, 5, "a text"])
def test_E2_a_system_exit_out_of_a_rank_is_an_exit(both_ways, code):
    async def main(ep):
        if ep.rank == 1:
            await ep.compute(1e-6)
            sys.exit(code)
        await ep.block_until(lambda: False)

    assert both_ways.fails(SystemExit, main, ranks=3).code == code


@pytest.mark.parametrize(
    ("code", "status"), [(256, 1), (-256, 1), (1 << 64, 1), (263, 7), (-1, 255), (True, 1), (False, 0)]
)
def test_E2_the_status_of_an_exit_is_what_a_system_keeps_of_it_and_no_failure_is_0(both_ways, code, status):
    async def main(ep):
        await ep.attach()
        if ep.rank == 1:
            sys.exit(code)
        await ep.block_until(lambda: False)

    error = both_ways.fails(SystemExit, main, ranks=3)
    assert repr(error.code) == str(status)
    (note,) = error.__notes__
    assert note.startswith(f"rank 1 ended the job with status {status} at ")


def test_E2_a_system_exit_out_of_a_nursery_is_an_exit_too(both_ways):
    async def leave():
        sys.exit(5)

    async def main(ep):
        if ep.rank == 1:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ep.block_until, lambda: False)
                nursery.start_soon(leave)
        await ep.block_until(lambda: False)

    assert both_ways.fails(SystemExit, main, ranks=3).code == 5


def test_E2_an_exit_that_was_put_into_a_group_unraised_is_told_with_the_groups_line(both_ways):
    async def main(ep):
        await ep.attach()
        if ep.rank == 1:
            raise BaseExceptionGroup("of tasks", [BaseExceptionGroup("inside", [SystemExit(3)])])
        await ep.block_until(lambda: False)

    line = main.__code__.co_firstlineno + 3
    (note,) = both_ways.fails(SystemExit, main, ranks=3).__notes__
    assert note == f"rank 1 ended the job with status 3 at {__file__}:{line} in main"


@pytest.mark.parametrize("codes", [(0, 3), (3, 0), (None, 3), (0, "words"), (5, 3)])
def test_E2_of_exits_in_one_group_a_failure_decides(on_loggp, codes):
    async def leave(code):
        sys.exit(code)

    async def main(ep):
        await ep.attach()
        errors = []
        for code in codes:
            try:
                await leave(code)
            except SystemExit as error:
                errors.append(error)
        raise BaseExceptionGroup("of tasks", errors)

    error = on_loggp.fails(SystemExit, main, ranks=1)
    assert error.code == next(code for code in codes if code)
    assert f"{__file__}:{leave.__code__.co_firstlineno + 1} in leave" in error.__notes__[0]


def test_E2_exit_never_returns_and_raises_in_its_caller(on_loggp):
    async def main(ep):
        with pytest.raises(SystemExit):
            ep.exit(4)

    assert on_loggp.fails(SystemExit, main).code == 4


class _Own(Exception):
    pass


def test_E3_an_exception_of_a_rank_is_raised_as_the_same_object_with_a_note(both_ways):
    for spec in both_ways.specs():
        error = _Own("own")

        async def main(ep, error=error):
            await ep.compute(2e-3)
            if ep.rank == 1:
                raise error
            await ep.block_until(lambda: False)

        with pytest.raises(_Own) as caught:
            conduit.run(main, conduit=spec)
        assert caught.value is error
        assert error.__notes__ == [
            f"raised by rank 1 at {0.002 + (1e-9 if both_ways.network == 'loggp' else 4e-4):.9f} s"
        ]


def test_E3_of_several_exceptions_the_earliest_is_raised(both_ways):
    async def main(ep):
        await ep.compute(1e-6 * (3 - ep.rank))
        raise _Own(ep.rank)

    assert both_ways.fails(_Own, main, ranks=3).args == (2,)


@pytest.mark.parametrize("seed", range(5))
def test_E3_of_several_at_one_time_that_of_the_lowest_rank_is_raised_and_the_others_noted(both_ways, seed):
    """Trio lets tasks that meet at one instant go on in an order of the seed's."""

    async def main(ep):
        await trio.sleep(1e-3)
        if ep.rank:
            raise _Own(ep.rank)
        await ep.block_until(lambda: False)

    error = both_ways.fails(_Own, main, ranks=5, seed=seed)
    assert error.args == (1,)
    assert error.__notes__[0].startswith("raised by rank 1 at 0.00")
    assert error.__notes__[1:] == ["ranks 2-4 raised the same, with other numbers"]


def test_E3_a_cancellation_that_is_raised_outside_its_scope_is_an_error_and_not_the_jobs_end(both_ways):
    async def main(ep):
        kept = []
        await ep.attach()
        if ep.rank == 1:
            with trio.move_on_after(1e-6):
                try:
                    await ep.block_until(lambda: False)
                except trio.Cancelled as error:
                    kept.append(error)
                    raise
            raise kept[0]
        await ep.block_until(lambda: False, what="rank 1", ranks=[1])

    error = both_ways.fails(conduit.BadRequest, main)
    assert str(error).startswith("run: main raised trio.Cancelled where nothing is cancelled, so a scope that was")
    assert isinstance(error.__cause__, trio.Cancelled)
    assert re.fullmatch(r"raised by rank 1 at \d\.\d+ s", error.__notes__[0])


def test_E3_an_exception_of_a_handler_becomes_a_handler_error_that_names_all(both_ways):
    async def main(ep):
        def answer(token):
            {}["missing"]

        def ask(token):
            token.reply_short(answer)

        await ep.attach(ask, answer)
        if ep.rank == 2:
            await ep.request_short(0, ask)
        await ep.block_until(lambda: False)

    error = both_ways.fails(conduit.HandlerError, main, ranks=3)
    assert str(error) == "in handler 'answer' on rank 2, for a reply from rank 0: KeyError: 'missing'"
    assert type(error.__cause__) is KeyError
    assert [note[:20] for note in error.__notes__] == ["raised by rank 2 at "]


def test_E3_an_error_of_ours_goes_through_a_handler_as_it_is_with_a_note(both_ways):
    for spec in both_ways.specs():
        fault = conduit.NetworkError("a cable is cut")

        async def main(ep, fault=fault):
            def fail(token):
                raise fault

            await ep.attach(fail)
            if ep.rank == 0:
                await ep.request_short(1, fail)
            await ep.block_until(lambda: False)

        with pytest.raises(conduit.NetworkError) as caught:
            conduit.run(main, conduit=spec)
        assert caught.value is fault
        assert fault.__notes__[0] == "in handler 'fail' on rank 1, for a request from rank 0"
        assert fault.__notes__[1].startswith("raised by rank 1 at ")
        assert len(fault.__notes__) == 2


def test_E3_a_bad_request_in_a_handler_is_the_handlers_error(both_ways):
    async def main(ep):
        def wrong(token):
            token.reply_short(wrong, 1 << 40)

        await ep.attach(wrong)
        if ep.rank == 0:
            await ep.request_short(1, wrong)
        await ep.block_until(lambda: False)

    error = both_ways.fails(conduit.HandlerError, main)
    assert str(error).startswith("in handler 'wrong' on rank 1, for a request from rank 0: BadRequest: ")
    assert type(error.__cause__) is conduit.BadRequest


def test_E3_a_group_of_exceptions_is_raised_as_the_group(both_ways):
    async def fail(number):
        raise _Own(number)

    async def main(ep):
        if ep.rank == 1:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fail, 1)
        await ep.block_until(lambda: False)

    error = both_ways.fails(ExceptionGroup, main)
    assert [type(each) for each in error.exceptions] == [_Own]
    assert len(error.__notes__) == 1


async def _exchange(ep):
    got = []

    def note(token, payload, number):
        got.append((number, bytes(payload)))

    await ep.attach(note)
    for number in range(5):
        await ep.request_medium((ep.rank + 1) % ep.size, note, bytes([number]) * number * 7, number)
        await ep.block_until(lambda number=number: len(got) > number)
    return got


def test_E6_the_digest_is_of_what_ranks_did_not_of_how_it_was_simulated(both_ways):
    """The tests with `inline=no` say the same: other tasks, other events, the same acts."""
    digests = {conduit.run(_exchange, conduit=spec, ranks=3).digest for spec in both_ways.specs()}
    assert len(digests) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda ep, note: ep.request_short(1, note, 1),
        lambda ep, note: ep.request_short(1, note, 2),
        lambda ep, note: ep.request_short(0, note, 1),
        lambda ep, note: ep.compute(1e-9),
        lambda ep, note: ep.block_until(lambda: True),
    ],
    ids=["send", "argument", "peer", "time", "wake"],
)
def test_E6_the_digest_tells_every_observable_act(change):
    def make(act):
        async def main(ep):
            def note(token, *args):
                pass

            await ep.attach(note)
            if ep.rank == 0:
                if act is not None:
                    await act(ep, note)
                await ep.request_short(1, note)

        return main

    digest_log = [None, lambda ep, note: ep.request_short(1, note, 3), change]
    assert len({conduit.run(make(act), conduit="loggp").digest for act in digest_log}) == 3


def test_E6_the_digest_tells_a_payload_and_its_size():
    def make(data, category):
        async def main(ep):
            def note(token, payload):
                pass

            await ep.attach(note)
            if ep.rank == 0:
                if category == "medium":
                    await ep.request_medium(1, note, data)
                else:
                    await ep.request_long(1, note, data, 0)

        return main

    cases = [(b"ab", "medium"), (b"ac", "medium"), (b"ab\0", "medium"), (b"ab", "long")]
    assert len({conduit.run(make(*case), conduit="loggp:G=0").digest for case in cases}) == 4


def test_E6_a_result_can_be_pickled(on_loggp):
    result = on_loggp.run(_exchange)
    again = pickle.loads(pickle.dumps(result))
    assert again == result


def test_E6_numbers_of_numpy_are_numbers(on_loggp):
    async def main(ep):
        return ep.rank

    assert on_loggp.run(main, ranks=np.int64(3), seed=np.int32(4)).values == [0, 1, 2]


def test_E3_what_ends_a_rank_says_so_to_a_program_that_catches_it(both_ways):
    caught = []

    async def main(ep):
        await ep.attach()
        if ep.rank == 1:
            await ep.compute(1e-3)
            raise LookupError("lost")
        try:
            await ep.block_until(lambda: False)
        except BaseException as error:
            caught.append(str(error))
            raise

    with pytest.raises(LookupError):
        both_ways.run(main)
    assert caught == [
        "the job has ended, and this rank's main with it: let this pass, as `except Exception:` does, or raise it again"
    ]
