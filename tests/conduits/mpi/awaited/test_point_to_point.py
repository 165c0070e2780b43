"""Sends, receives and probes, as MPI's standard has them, on every simulated library."""

import contextlib

import numpy as np
import pytest
import trio

import conduit
import conduit.launch.registry
from conduit.core import refusals
from conduit.sim import livelock
from conduits.mpi import MPI


def two(main, library, *args, **options):
    return MPI.run(main, *args, ranks=2, library=library, **options)


def text(number, size):
    return np.arange(number, number + size).astype(np.uint8)


# -- matching ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True], ids=["receives first", "messages first"])
def test_a_receive_gets_the_first_message_that_fits(library, late):
    async def main(comm):
        if comm.rank == 0:
            await conduit.current().compute(0 if late else 1e-3)
            for number, tag in enumerate((5, 7, 5, 9, 7)):
                await comm.Send(np.array([number]), 1, tag)
            return None
        await conduit.current().compute(1e-3 if late else 0)
        wanted = [(7, 0), (MPI.ANY_TAG, 0), (MPI.ANY_TAG, MPI.ANY_SOURCE), (7, MPI.ANY_SOURCE), (MPI.ANY_TAG, 0)]
        buffers = [np.zeros(1, int) for _ in wanted]
        requests = [await comm.Irecv(b, source, tag) for b, (tag, source) in zip(buffers, wanted, strict=True)]
        statuses = []
        await MPI.Request.Waitall(requests, statuses)
        assert not any(requests)
        return [(int(b[0]), s.tag, s.source, s.Get_count(MPI.LONG)) for b, s in zip(buffers, statuses, strict=True)]

    # Message 0 (tag 5) goes to the second receive, 1 (7) to the first, 2 (5) to the third, 3 (9) to the fifth.
    assert two(main, library).values[1] == [
        (1, 7, 0, 1), (0, 5, 0, 1), (2, 5, 0, 1), (4, 7, 0, 1), (3, 9, 0, 1),
    ]  # fmt: skip


def test_communicators_do_not_see_one_another_s_messages(library):
    async def main(comm):
        other = await comm.Dup()
        if comm.rank == 0:
            await comm.Send(np.array([1]), 1, 3)
            await other.Send(np.array([2]), 1, 3)
            return None
        await conduit.current().compute(1e-3)
        got = np.zeros(2, int)
        await other.Recv(got[:1], MPI.ANY_SOURCE, MPI.ANY_TAG)
        await comm.Recv(got[1:], MPI.ANY_SOURCE, MPI.ANY_TAG)
        return got.tolist()

    assert two(main, library).values[1] == [2, 1]


def test_create_takes_no_tag(library):
    """As in mpi4py, of all processes; Create_group takes one."""

    async def main(comm):
        with pytest.raises(TypeError, match=r"^Comm\.Create\(\) takes 2 positional arguments but 3 were given$"):
            await comm.Create(comm.Get_group(), 5)
        return (await comm.Create(comm.Get_group())).size, (await comm.Create_group(comm.Get_group(), 5)).size

    assert two(main, library).values[1] == (2, 2)


@pytest.mark.parametrize("by", ["Dup", "Split", "Create_group"])
def test_communicators_that_tasks_make_at_once_do_not_see_one_another_s_messages(library, by):
    """Of groups that overlap: calls on one communicator are ordered, those on two of them are not (MPI 6.4.2)."""

    async def main(comm):
        groups = [(0, 1, 2), (0, 1, 3)]
        parents = [await comm.Create_group(comm.Get_group().Incl(group)) for group in groups]
        made = {}

        async def make(place):
            parent = parents[place]
            if by == "Create_group":
                made[place] = await parent.Create_group(parent.Get_group(), place)
            else:
                made[place] = await getattr(parent, by)()

        async with trio.open_nursery() as nursery:
            for place in sorted(range(2), reverse=comm.rank == 1):
                if parents[place]:
                    nursery.start_soon(make, place)
        if comm.rank == 0:
            for place in range(2):
                await made[place].Send(np.array([place]), 1, 3)
        if comm.rank != 1:
            return None
        await conduit.current().compute(1e-3)
        got = np.full(2, -1)
        for place in (1, 0):
            await made[place].Recv(got[place : place + 1], 0, MPI.ANY_TAG)
        return got.tolist()

    assert MPI.run(main, ranks=4, library=library).values[1] == [0, 1]


def test_a_thousand_receives_wait_at_once(library):
    async def main(comm):
        count = 1000
        if comm.rank == 0:
            await comm.Barrier()
            for tag in reversed(range(count)):
                await comm.Send(np.array([tag * 3]), 1, tag)
            return None
        got = np.zeros(count, int)
        requests = [await comm.Irecv(got[tag : tag + 1], 0, tag) for tag in range(count)]
        await comm.Barrier()
        await MPI.Request.Waitall(requests)
        return (got == np.arange(count) * 3).all()

    assert two(main, library).values[1]


def test_a_thousand_messages_nobody_wanted_do_not_keep_others_back(library):
    """Both halves of the pair with tag 1 have begun: it must complete, whatever else is under way (MPI 3.5)."""

    async def main(comm):
        count = 1000
        if comm.rank == 0:
            requests = [await comm.Isend(text(number, 500), 1, 0) for number in range(count)]
            requests.append(await comm.Isend(b"now", 1, 1))
            await MPI.Request.Waitall(requests)
            return None
        first = bytearray(3)
        await comm.Recv(first, 0, 1)
        rest = np.zeros((count, 500), np.uint8)
        for row in rest:
            await comm.Recv(row, 0, 0)
        return bytes(first), all((row == text(number, 500)).all() for number, row in enumerate(rest))

    assert two(main, library).values[1] == (b"now", True)


@pytest.mark.parametrize("ranks_per_host", [1, 2])
def test_sizes_round_the_thresholds(library, ranks_per_host):
    spec = conduit.launch.registry.parse_spec(f"mpi:library={library}")
    edges = {0, 1, 4096, 100_000, *spec.cls.library.thresholds(spec.options)}
    sizes = sorted({max(0, edge + step) for edge in edges for step in (-1, 0, 1)})

    async def main(comm):
        status = MPI.Status()
        for size in sizes:
            if comm.rank == 0:
                await comm.Send(text(size, size), 1)
                await comm.Recv(back := np.zeros(size, np.uint8), 1)
                assert (back == text(size + 1, size)).all()
            else:
                got = np.zeros(size + 3, np.uint8)
                await comm.Recv(got, 0, status=status)
                assert status.Get_count() == size
                assert (got[:size] == text(size, size)).all()
                assert not got[size:].any()
                await comm.Ssend(text(size + 1, size), 0)

    two(main, library, ranks_per_host=ranks_per_host)


# -- truncation ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [100, 2000, 100_000])
@pytest.mark.parametrize("late", [False, True], ids=["receives first", "messages first"])
def test_a_message_that_is_too_long_is_an_error_of_its_receive_alone(library, size, late):
    async def main(comm):
        if comm.rank == 0:
            await conduit.current().compute(0 if late else 1e-3)
            await comm.Send(text(1, size), 1, 4)
            await comm.Send(text(2, size), 1, 5)
            return None
        await conduit.current().compute(1e-3 if late else 0)
        short, status = np.zeros(60, np.uint8), MPI.Status()
        with pytest.raises(MPI.Exception, match=f"message of {size} bytes from rank 0, tag 4.* has 50") as caught:
            await comm.Recv(short[:50], 0, 4, status)
        assert caught.value.Get_error_class() == status.Get_error() == MPI.ERR_TRUNCATE
        assert status.Get_count() == 50
        assert (short[:50] == text(1, 50)).all()
        assert not short[50:].any()
        whole = np.zeros(size, np.uint8)
        await comm.Recv(whole, 0, 5, status)
        return status.Get_count(), (whole == text(2, size)).all()

    assert two(main, library).values[1] == (size, True)


def test_waitall_says_which_has_failed(library):
    async def main(comm):
        if comm.rank == 0:
            await comm.Send(b"1234", 1, 0)
            await comm.Send(b"5678", 1, 1)
            return None
        buffers, statuses = [bytearray(4), bytearray(2)], []
        requests = [await comm.Irecv(buffer, 0, tag) for tag, buffer in enumerate(buffers)]
        with pytest.raises(MPI.Exception, match="1 of 2 requests have failed; request 1: the message") as caught:
            await MPI.Request.Waitall(requests, statuses)
        assert caught.value.Get_error_class() == MPI.ERR_IN_STATUS
        return buffers, [status.Get_error() for status in statuses], [bool(request) for request in requests]

    assert two(main, library).values[1] == (
        [b"1234", b"56"], [MPI.SUCCESS, MPI.ERR_TRUNCATE], [False, False],
    )  # fmt: skip


@pytest.mark.parametrize("call", ["Waitall", "Testall", "Waitsome", "Testsome"])
@pytest.mark.parametrize("given", [0, 1, 2, 4])
def test_the_objects_of_statuses_are_filled_and_a_list_gets_what_it_has_too_few_of(library, call, given):
    async def main(comm):
        statuses = [MPI.Status() for _ in range(given)]
        own = list(statuses)
        requests = [await comm.Irecv(bytearray(3), 0, tag) for tag in range(2)]
        for tag in range(2):
            await comm.Send(bytes(tag + 2), 0, tag)
        while not await getattr(MPI.Request, call)(requests, statuses):
            pass
        assert all(one is other for one, other in zip(own, statuses, strict=False))
        return [(status.source, status.tag, status.count) for status in statuses]

    filled = MPI.run(main, ranks=1, library=library).values[0]
    assert filled == [(0, 0, 2), (0, 1, 3)] + [(MPI.ANY_SOURCE, MPI.ANY_TAG, 0)] * (given - 2)


def test_a_test_that_fails_and_a_wait_for_nothing_leave_statuses_as_they_are(library):
    async def main(comm):
        status, request = MPI.Status(), await comm.Irecv(bytearray(1), 0, 5)
        status.tag = 9
        found = [await MPI.Request.Testall([request], [status]), await MPI.Request.Testsome([request], [status])]
        await comm.Send(b"1", 0, 5)
        await request.Wait()
        return [*found, await MPI.Request.Waitsome([request], [status]), status.tag]

    assert MPI.run(main, ranks=1, library=library).values[0] == [False, [], None, 9]


def test_a_status_in_two_lists_and_in_a_tuple_is_filled(library):
    async def main(comm):
        statuses = [MPI.Status() for _ in range(2)]
        requests = [await comm.Irecv(bytearray(1), 0, tag) for tag in range(2)]
        for tag in range(2):
            await comm.Send(b"1", 0, tag)
        await MPI.Request.Waitall([*requests, MPI.REQUEST_NULL], (*statuses, MPI.Status()))
        return [status.tag for status in statuses]

    assert MPI.run(main, ranks=1, library=library).values[0] == [0, 1]


@pytest.mark.parametrize("call", ["Waitall", "Testall", "Waitsome", "Testsome"])
@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        (lambda: MPI.Status(), r"statuses=.*; give a list, which may be empty"),
        (lambda: "statuses", r"statuses='statuses' .*; give a list"),
        (lambda: [MPI.Status(), None], r"statuses\[1\] is None; give MPI.Status\(\), or an empty list"),
        (lambda: [MPI.Status], r"statuses\[0\]=MPI.Status is the class"),
        (lambda: [3], r"statuses\[0\]=3 "),
        (lambda: (MPI.Status(),), "statuses is a tuple of 1, and there are 2 requests; give a list"),
    ],
)
def test_statuses_that_cannot_be_filled_are_refused_before_anything_is_over(call, statuses, message):
    async def main(comm):
        requests = [MPI.REQUEST_NULL, await comm.Irecv(bytearray(1), 0)]
        await comm.Send(b"1", 0)
        with pytest.raises(conduit.BadRequest, match=f"Request.{call}: {message}"):
            await getattr(MPI.Request, call)(requests, statuses())
        assert requests[1]
        await requests[1].Wait()

    MPI.run(main, ranks=1)


# -- send modes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 8, 2000, 200_000])
def test_a_synchronous_send_is_over_only_after_its_receive_has_begun(library, size):
    async def main(comm):
        ep = conduit.current()
        if comm.rank == 0:
            await comm.Ssend(np.zeros(size, np.uint8), 1)
            return ep.now
        await ep.compute(5e-3)
        begun = ep.now
        await comm.Recv(np.zeros(size, np.uint8), 0)
        return begun

    over, begun = two(main, library).values
    assert over > begun


def test_a_small_standard_send_does_not_wait_for_its_receive(library):
    async def main(comm):
        ep = conduit.current()
        if comm.rank == 0:
            await comm.Send(b"small", 1)
            return ep.now
        await ep.compute(5e-3)
        await comm.Recv(bytearray(5), 0)
        return None

    assert two(main, library).values[0] < 5e-3


@pytest.mark.parametrize("size", [8, 200_000])
def test_a_ready_send_without_its_receive_ends_the_job(library, size):
    async def main(comm):
        if comm.rank == 0:
            await comm.Rsend(np.zeros(size, np.uint8), 1, 6)
        else:
            await conduit.current().compute(5e-3)
            await comm.Recv(np.zeros(size, np.uint8), 0, 6)

    with pytest.raises(MPI.Exception, match=r"ready send of rank 0 to rank 1 with tag 6, sent at .*, has found no"):
        two(main, library)


def test_a_ready_send_to_a_receive_that_waits(library):
    async def main(comm):
        if comm.rank == 1:
            request = await comm.Irecv(got := bytearray(3), 0)
            await comm.Barrier()
            await request.Wait()
            return bytes(got)
        await comm.Barrier()
        await comm.Rsend(b"abc", 1)
        return None

    assert two(main, library).values[1] == b"abc"


def test_buffered_sends_need_room_in_the_buffer(library):
    async def main(comm):
        if comm.rank == 1:
            await conduit.current().compute(1e-3)
            got = [bytearray(1000), bytearray(1000)]
            for buffer in got:
                await comm.Recv(buffer, 0)
            return got
        with pytest.raises(MPI.Exception, match="no buffer is attached"):
            await comm.Bsend(bytes(1000), 1)
        space = bytearray(2 * (1000 + MPI.BSEND_OVERHEAD))
        MPI.Attach_buffer(space)
        with pytest.raises(MPI.Exception, match="attached already"):
            MPI.Attach_buffer(space)
        data = bytearray(b"a" * 1000)
        await comm.Bsend(data, 1)
        data[:] = b"b" * 1000
        begun = await comm.Ibsend(data, 1)
        data[:] = b"c" * 1000
        with pytest.raises(MPI.Exception, match="2192 bytes, with 2 messages under way") as caught:
            await comm.Bsend(data, 1)
        assert caught.value.Get_error_class() == MPI.ERR_BUFFER
        await begun.Wait()
        return await MPI.Detach_buffer() is space

    freed, got = two(main, f"{library}:{NOTHING_EAGER[library]}").values
    assert freed
    assert got == [b"a" * 1000, b"b" * 1000]


def test_a_buffer_that_tasks_detach_at_once_is_given_to_one_of_them(library):
    async def main(comm):
        if comm.rank == 1:
            await conduit.current().compute(1e-3)
            for _ in range(2):
                await comm.Recv(bytearray(1000), 0)
            return None
        space, told = bytearray(1000 + MPI.BSEND_OVERHEAD), []
        MPI.Attach_buffer(space)
        await comm.Bsend(bytes(1000), 1)

        async def detach():
            try:
                found = await MPI.Detach_buffer()
            except MPI.Exception as error:
                told.append(str(error))
                return
            assert found is space
            told.append("detached")
            if len(told) == 1:  # the other task is waiting still
                MPI.Attach_buffer(space)
                await comm.Bsend(bytes(1000), 1)

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(detach)
        return told

    told, _ = two(main, f"{library}:{NOTHING_EAGER[library]}").values
    assert sorted(told) == [NO_BUFFER, "detached", "detached"]


NO_BUFFER = "Detach_buffer: no buffer is attached"
NOTHING_EAGER = {
    "scampi": "channel_inline_threshold=0,eager_count=0", "sunmpi": "short=0,rendezvous=1", "start": "pool=0",
}  # fmt: skip
"""By library, options under which a message of 1,000 bytes waits for its receive."""


def test_two_sends_that_wait_for_each_other_are_a_deadlock(library):
    async def main(comm):
        other = 1 - comm.rank
        await comm.Send(np.zeros(1 << 20), other, 7)
        await comm.Recv(np.zeros(1 << 20), other, 7)

    with pytest.raises(conduit.Deadlock) as caught:
        two(main, library)
    assert "MPI Send to rank 1, tag 7, on MPI_COMM_WORLD" in str(caught.value)
    assert "MPI Send to rank 0, tag 7, on MPI_COMM_WORLD" in str(caught.value)


def test_a_receive_that_nobody_sends_to_is_a_deadlock(library):
    async def main(comm):
        if comm.rank == 1:
            await comm.Recv(bytearray(1), MPI.ANY_SOURCE, 9)

    with pytest.raises(conduit.Deadlock, match="MPI Recv from any rank, tag 9, on MPI_COMM_WORLD"):
        two(main, library)


# -- oneself, nobody -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 10, 5000, 1_000_000])
def test_a_rank_sends_to_itself(library, size):
    async def main(comm):
        me = comm.rank
        got = [np.zeros(size, np.uint8) for _ in range(3)]
        early = await comm.Irecv(got[0], me, 1)
        await comm.Send(text(1, size), me, 1)
        request = await comm.Issend(text(2, size), me, 2)
        assert not await request.Test()
        await comm.Recv(got[1], me, 2)
        await MPI.Request.Waitall([early, request])
        await comm.Sendrecv(text(3, size), me, 3, got[2], me, 3)
        return [(each == text(number, size)).all() for number, each in enumerate(got, 1)]

    assert all(map(all, two(main, library).values))


def test_a_small_message_to_oneself_is_kept_and_a_large_one_waits(library):
    async def main(comm, size):
        await comm.Send(np.zeros(size, np.uint8), comm.rank)
        await comm.Recv(np.zeros(size, np.uint8), comm.rank)

    two(main, library, 100)
    with pytest.raises(conduit.Deadlock, match="MPI Send to rank 1, tag 0"):
        two(main, library, 50_000_000)


def test_nobody_gets_and_gives_nothing(library):
    async def main(comm):
        status = MPI.Status()
        await comm.Send(b"x", MPI.PROC_NULL)
        got = bytearray(b"y")
        await comm.Recv(got, MPI.PROC_NULL, status=status)
        request = await comm.Isend(b"x", MPI.PROC_NULL)
        await comm.Send(None, np.int64(MPI.PROC_NULL))
        await comm.Recv(None, MPI.PROC_NULL, status=MPI.Status())
        await comm.Sendrecv(None, MPI.PROC_NULL, 0, None, MPI.PROC_NULL)
        await comm.Sendrecv_replace(None, MPI.PROC_NULL, 0, MPI.PROC_NULL)
        await (await comm.Irecv(None, MPI.PROC_NULL)).Wait()
        assert await request.Test()
        assert (await comm.Mprobe(MPI.PROC_NULL)) == MPI.MESSAGE_NO_PROC
        return bytes(got), status.source, status.tag, status.Get_count()

    assert two(main, library).values[0] == (b"y", MPI.PROC_NULL, MPI.ANY_TAG, 0)


def test_the_message_of_nobody_is_received_once_and_its_constant_stays(library):
    async def main(comm):
        for way in ("Recv", "Irecv"):
            message = await comm.Mprobe(MPI.PROC_NULL)
            assert message == MPI.MESSAGE_NO_PROC != MPI.MESSAGE_NULL
            begun = await getattr(message, way)(bytearray(3))
            if begun is not None:
                await begun.Wait()
            assert message == MPI.MESSAGE_NULL
            assert not message
            with pytest.raises(MPI.Exception, match="this message is null") as caught:
                await getattr(message, way)(bytearray(3))
            assert caught.value.Get_error_class() == MPI.ERR_REQUEST
        for _ in range(2):
            await MPI.MESSAGE_NO_PROC.Recv(bytearray(3))
        return bool(MPI.MESSAGE_NO_PROC), await comm.Improbe(MPI.PROC_NULL) == MPI.MESSAGE_NO_PROC

    assert MPI.run(main, ranks=1, library=library).values == [(True, True)]


def test_the_message_of_nobody_is_received_from_nobody(library):
    async def main(comm):
        buffer, found = np.full(2, 7.0), []
        for way in ("Recv", "Irecv"):
            probed, status = MPI.Status(), MPI.Status()
            message = await comm.Mprobe(MPI.PROC_NULL, status=probed)
            if way == "Recv":
                await message.Recv(buffer, status)
            else:
                await (await message.Irecv(buffer)).Wait(status)
            found += [(each.source, each.tag, each.Get_count()) for each in (probed, status)]
        return found, buffer.tolist()

    assert two(main, library).values == [([(MPI.PROC_NULL, MPI.ANY_TAG, 0)] * 4, [7.0, 7.0])] * 2


def test_a_message_is_received_once_also_by_calls_that_were_made_before(library):
    async def main(comm):
        request = await comm.Isend(b"x", comm.rank)
        message = await comm.Mprobe(comm.rank)
        one, other = message.Recv(bytearray(1)), message.Recv(bytearray(1))
        await one
        with pytest.raises(MPI.Exception, match=r"^Message\.Recv: this message is null: it has been received already$"):
            await other
        await request.Wait()

    two(main, library)


def test_a_receive_of_a_message_that_is_never_waited_for_is_told_by_its_name(library):
    async def main(comm):
        request = await comm.Isend(b"x", comm.rank)
        for source in (comm.rank, MPI.PROC_NULL):
            message = await comm.Mprobe(source)
            await message.Irecv(bytearray(1))
        await request.Wait()

    with pytest.warns(conduit.ConduitWarning, match="2 requests of Message.Irecv, begun at .*, never waited for"):
        MPI.run(main, ranks=1, library=library)


# -- cancel, probe -------------------------------------------------------------------------------------


def test_a_cancelled_receive_takes_no_message(library):
    async def main(comm):
        if comm.rank == 1:
            request = await comm.Irecv(first := bytearray(b"---"), 0)
            await request.Cancel()
            status = MPI.Status()
            await request.Wait(status)
            await comm.Barrier()
            await comm.Recv(second := bytearray(3), 0)
            return status.Is_cancelled(), bytes(first), bytes(second)
        await comm.Barrier()
        await comm.Send(b"abc", 1)
        return None

    assert two(main, library).values[1] == (True, b"---", b"abc")


def test_what_is_matched_can_not_be_cancelled(library):
    async def main(comm):
        if comm.rank == 1:
            request = await comm.Irecv(got := bytearray(3), 0)
            await conduit.current().compute(1e-3)
            await comm.Barrier()
            await request.Cancel()
            status = MPI.Status()
            await request.Wait(status)
            return status.Is_cancelled(), bytes(got)
        await comm.Send(b"abc", 1)
        await comm.Barrier()
        return None

    assert two(main, library).values[1] == (False, b"abc")


def test_a_task_whose_receive_is_cancelled_leaves_the_queue(library):
    async def main(comm):
        if comm.rank == 1:
            with trio.move_on_after(1e-3) as scope:
                await comm.Recv(bytearray(3), 0)
            await comm.Barrier()
            await comm.Recv(got := bytearray(3), 0)
            return scope.cancelled_caught, bytes(got)
        await comm.Barrier()
        await comm.Send(b"abc", 1)
        return None

    assert two(main, library).values[1] == (True, b"abc")


@pytest.mark.parametrize("size", [3, 100_000])
def test_a_probe_leaves_the_message_and_a_matched_probe_takes_it(library, size):
    async def main(comm):
        if comm.rank == 0:
            await MPI.Request.Waitall([await comm.Isend(text(each, size), 1, each) for each in (1, 2)])
            return None
        status = MPI.Status()
        assert await comm.Probe(0, 2, status)
        sizes = [status.Get_count()]
        assert await comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        assert status.tag == 1
        message = await comm.Mprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        assert await comm.Iprobe(0, 1) is False
        assert (await comm.Improbe(0, 3)) is None
        later = np.zeros(size, np.uint8)
        await comm.Recv(later, 0, MPI.ANY_TAG, status)
        assert status.tag == 2
        taken = np.zeros(size, np.uint8)
        await message.Recv(taken, status)
        assert message == MPI.MESSAGE_NULL
        with pytest.raises(MPI.Exception, match="received already"):
            await message.Recv(taken)
        return sizes, (taken == text(1, size)).all(), (later == text(2, size)).all(), status.tag

    assert two(main, library).values[1] == ([size], True, True, 1)


def test_tasks_of_a_rank_that_probe_for_one_message_get_it_once(library):
    async def main(comm):
        if comm.rank == 0:
            await conduit.current().compute(1e-4)
            await comm.Send(b"abc", 1)
            await conduit.current().compute(1e-3)
            await comm.Send(b"def", 1)
            return None
        got = []

        async def take():
            message = await comm.Mprobe()
            await message.Recv(buffer := bytearray(3))
            got.append(bytes(buffer))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(take)
            nursery.start_soon(take)
        return sorted(got)

    assert two(main, library).values[1] == [b"abc", b"def"]


# -- requests ------------------------------------------------------------------------------------------


def test_persistent_requests_begin_again_and_again(library):
    async def main(comm):
        data = np.zeros(4)
        make = comm.Send_init if comm.rank == 0 else comm.Recv_init
        request = make(data, 1 - comm.rank, 2)
        got = []
        for turn in range(5):
            if comm.rank == 0:
                data[:] = turn
            await request.Start()
            await request.Wait()
            assert request
            assert await request.Test()
            got.append(data[0])
        await request.Free()
        assert request == MPI.REQUEST_NULL
        return got

    assert two(main, f"{library}:{NOTHING_EAGER[library]}").values[1] == [0, 1, 2, 3, 4]


def test_what_waits_for_any_and_for_some(library):
    async def main(comm):
        if comm.rank == 0:
            for tag in (2, 0, 1):
                await conduit.current().compute(1e-3)
                await comm.Send(bytes([tag]), 1, tag)
            return None
        buffers = [bytearray(1) for _ in range(3)]
        requests = [await comm.Irecv(buffer, 0, tag) for tag, buffer in enumerate(buffers)]
        assert await MPI.Request.Testany(requests) == (MPI.UNDEFINED, False)
        assert await MPI.Request.Testsome(requests) == []
        assert not await MPI.Request.Testall(requests)
        status = MPI.Status()
        first = await MPI.Request.Waitany(requests, status)
        assert (first, status.tag, bool(requests[2])) == (2, 2, False)
        some = await MPI.Request.Waitsome(requests)
        await MPI.Request.Waitall(requests)
        assert await MPI.Request.Waitany(requests) == MPI.UNDEFINED
        assert await MPI.Request.Testany(requests) == (MPI.UNDEFINED, True)
        assert await MPI.Request.Waitsome(requests) is None
        return some, [buffer[0] for buffer in buffers]

    assert two(main, library).values[1] == ([0], [0, 1, 2])


# -- refusals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "error_class", "match"),
    [
        (
            lambda comm: comm.Send(b"", 2),
            MPI.Exception,
            MPI.ERR_RANK,
            "dest=2 is no rank of MPI_COMM_WORLD; use 0 to 1",
        ),
        (lambda comm: comm.Send(b"", MPI.ANY_SOURCE), MPI.Exception, MPI.ERR_RANK, "dest=-2 is no rank"),
        (lambda comm: comm.Recv(bytearray(1), -3), MPI.Exception, MPI.ERR_RANK, "source=-3 is no rank.*ANY_SOURCE"),
        (lambda comm: comm.Send(b"", 0, -1), MPI.Exception, MPI.ERR_TAG, "tag=-1 is no tag; use 0 to"),
        (lambda comm: comm.Send(b"", 0, MPI.TAG_UB + 1), MPI.Exception, MPI.ERR_TAG, "is no tag"),
        (lambda comm: comm.Recv(bytearray(1), 0, -2), MPI.Exception, MPI.ERR_TAG, "tag=-2 is no tag.*ANY_TAG"),
        (lambda comm: comm.Send(b"", 1.0), conduit.BadRequest, None, "dest=1.0 is no integer"),
        (lambda comm: comm.Send("text", 1), conduit.BadRequest, None, "buf='text' is no buffer"),
        *(
            pytest.param(
                act,
                conduit.BadRequest,
                None,
                f"^Comm.{call}=None is no buffer, but for PROC_NULL; give an array, or b'' "
                r"for no data; a call that changes an array, such as a.sort\(\), gives None$",
                id=f"nothing {number}, {call}",
            )
            for number, (call, act) in enumerate(
                (
                    ("Send: buf", lambda comm: comm.Send(np.zeros(1).sort(), 1)),
                    ("Recv: buf", lambda comm: comm.Recv(None, 1)),
                    ("Recv: buf", lambda comm: comm.Recv(None)),
                    ("Ssend: buf", lambda comm: comm.Ssend(None, 1)),
                    ("Isend: buf", lambda comm: comm.Isend(None, 1)),
                    ("Irecv: buf", lambda comm: comm.Irecv(None)),
                    ("Send_init: buf", lambda comm: comm.Send_init(None, 1)),
                    ("Recv_init: buf", lambda comm: comm.Recv_init(None, 1)),
                    ("Sendrecv: sendbuf", lambda comm: comm.Sendrecv(None, 1, 0, bytearray(1), MPI.PROC_NULL)),
                    ("Sendrecv: recvbuf", lambda comm: comm.Sendrecv(b"", MPI.PROC_NULL)),
                    ("Sendrecv_replace: buf", lambda comm: comm.Sendrecv_replace(None, 1, 0, MPI.PROC_NULL)),
                    ("Sendrecv_replace: buf", lambda comm: comm.Sendrecv_replace(None, MPI.PROC_NULL, 0, 1)),
                )
            )
        ),
        (lambda comm: comm.Recv(b"abc", 1), conduit.BadRequest, None, "read-only"),
        (lambda comm: comm.Send(np.zeros((4, 4))[:, 1], 1), conduit.BadRequest, None, "not contiguous"),
        (lambda comm: comm.Send([np.zeros(4), 5], 1), conduit.BadRequest, None, "5 elements.* take 40 bytes.* has 32"),
        (lambda comm: comm.Send([np.zeros(4), -1], 1), MPI.Exception, MPI.ERR_COUNT, "count=-1"),
        (lambda comm: comm.Send([bytes(3), MPI.INT], 1), conduit.BadRequest, None, "no multiple of the 4 of MPI_INT"),
        (lambda comm: comm.Send(MPI.BOTTOM, 1), MPI.Exception, MPI.ERR_BUFFER, "BOTTOM"),
        (lambda comm: MPI.COMM_NULL.Send(b"", 1), MPI.Exception, MPI.ERR_COMM, "null"),
        (lambda comm: comm.send(b"", 1), conduit.BadRequest, None, "Comm.send: calls that pickle.*`await comm.Send"),
        (lambda comm: MPI.Request.Waitall([comm]), conduit.BadRequest, None, r"requests\[0\] is an? \w+, no request"),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(call, kind, error_class, match):
    async def main(comm):
        with pytest.raises(kind, match=match) as caught:
            call(comm)
        assert error_class is None or caught.value.Get_error_class() == error_class
        return True

    assert all(two(main, "scampi").values)


LOOPS = {
    "a rank": (lambda comm: comm.Send(b"", 9), r"Comm\.Send: dest=9 is no rank of MPI_COMM_WORLD"),
    "a buffer": (lambda comm: comm.Recv(b"abc", 0), r"Comm\.Recv: buf: the buffer is read-only"),
    "a checked call": (lambda comm: comm.Isend(b"", 9), r"Comm\.Isend: dest=9 is no rank of MPI_COMM_WORLD"),
}
"""Calls that are refused, and by what."""


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_catches_what_refuses_its_call_ends_the_job(name, monkeypatch):
    """It is refused when it is made: nothing else would ever run."""
    monkeypatch.setattr(refusals, "MOST_REFUSED", 1000)
    call, words = LOOPS[name]

    async def main(comm):
        while True:
            with contextlib.suppress(Exception):
                await call(comm)

    with pytest.raises(conduit.ConduitError, match=words) as caught:
        two(main, "scampi")
    assert caught.value.__notes__[0] == (
        f"the call at {__file__}:{call.__code__.co_firstlineno} was refused 1000 times, one after another, and the "
        "program goes on: end the loop, or let the error end it"
    )


def test_a_call_that_is_not_awaited_ends_the_job():
    async def sends(comm):
        comm.Send(b"", 0)

    async def receives(comm):
        comm.Recv(bytearray(1), source=0, status=MPI.Status())

    async def begins(comm):
        comm.Isend(b"", 0)

    for main, words in (
        (sends, r'comm.Send\(b"", 0\)'),
        (receives, r"comm.Recv\(bytearray\(1\), source=0, status=MPI.Status\(\)\)"),
        (begins, r'comm.Isend\(b"", 0\)'),
    ):
        with pytest.raises(
            conduit.BadRequest, match=rf"\A{words} at .*test_point_to_point.py:\d+ was called but never"
        ):
            two(main, "scampi")


@pytest.mark.parametrize("name", ["Send", "Recv", "Isend"])
def test_a_call_in_a_handler_is_refused(name):
    async def main(ep):
        def handler(token):
            getattr(MPI.COMM_WORLD, name)(bytearray(1), 0)

        await ep.attach(handler)
        await ep.request_short(0, handler)

    with pytest.raises(conduit.HandlerError, match=rf"HandlerError: Comm\.{name}: called in handler 'handler'"):
        conduit.run(main, ranks=1, conduit="mpi:library=scampi")


def test_active_messages_are_refused_where_mpi_is_alone():
    async def main(comm):
        def handler(token):
            pass

        assert conduit.current().rank == comm.rank
        await conduit.current().attach(handler)

    with pytest.raises(conduit.BadRequest, match="on MPI alone, without Active Messages"):
        two(main, "scampi")


def test_abort_ends_the_job(library):
    async def main(comm):
        if comm.rank == 0:
            comm.Abort(3)
        await comm.Recv(bytearray(1), 0)

    with pytest.raises(SystemExit) as caught:
        two(main, library)
    assert caught.value.code == 3


@pytest.mark.parametrize(
    ("given", "status"), [((), 1), ((0,), 1), ((256,), 1), ((-512,), 1), ((257,), 1), ((263,), 7), ((-1,), 255)]
)
def test_what_was_aborted_is_never_a_success(given, status):
    """Of an error code the system keeps 8 bits."""

    async def main(comm):
        if comm.rank == 0:
            comm.Abort(*given)
        await comm.Recv(bytearray(1), 0)

    with pytest.raises(SystemExit) as caught:
        two(main, "scampi")
    assert caught.value.code == status
    line = main.__code__.co_firstlineno + 2
    assert caught.value.__notes__ == [f"rank 0 ended the job with status {status} at {__file__}:{line} in main"]


def test_a_rank_whose_main_is_over_lets_its_messages_go_on(library):
    async def main(comm):
        if comm.rank == 0:
            await comm.Isend(text(5, 300_000), 1)  # not waited for, and too large to be kept
            return True
        await conduit.current().compute(1e-3)
        got = np.zeros(300_000, np.uint8)
        await comm.Recv(got, 0)
        return (got == text(5, 300_000)).all()

    with pytest.warns(conduit.ConduitWarning, match="1 request of Isend, begun at .*, never waited for"):
        assert all(two(main, library).values)


def test_a_persistent_request_that_is_under_way_is_not_begun(library):
    async def main(comm):
        if comm.rank == 1:
            await conduit.current().compute(1e-3)
            await comm.Recv(bytearray(1000), 0)
            return
        request = comm.Ssend_init(bytes(1000), 1)
        await request.Start()
        with pytest.raises(MPI.Exception, match="Start: this request is active"):
            await request.Start()
        await request.Wait()

    two(main, library)


def test_a_persistent_request_of_a_freed_communicator_is_not_begun_again(library):
    async def main(comm):
        other = await comm.Dup()
        got = bytearray(1)
        requests = [other.Recv_init(got, 0, 3), other.Send_init(b"x", 0, 3)]
        await MPI.Prequest.Startall(requests)
        await other.Free()
        await MPI.Request.Waitall(requests)  # what was begun goes on
        made = r"a duplicate of MPI_COMM_WORLD \(made at .*:\d+\)"
        whose = rf"the communicator of this request, {{}}, on {made}, was freed at"
        for start, call, what in (
            (requests[1].Start, "Start", "Send_init to rank 0, tag 3"),
            (MPI.Prequest(requests[1]).Start, "Start", "Send_init to rank 0, tag 3"),
            (lambda: MPI.Prequest.Startall(requests), "Startall", "Recv_init from rank 0, tag 3"),
        ):
            with pytest.raises(MPI.Exception, match=rf"^Request\.{call}: {whose.format(what)} .*:\d+; free") as error:
                await start()
            assert error.value.Get_error_class() == MPI.ERR_COMM
        return bytes(got), [await request.Test() for request in requests]

    assert MPI.run(main, library=library, ranks=1).values == [(b"x", [True, True])]


def test_what_is_not_persistent_is_not_started(library):
    async def main(comm):
        if comm.rank:
            await comm.Recv(bytearray(1), 0)
            return
        request = await comm.Isend(b"a", 1)
        with pytest.raises(MPI.Exception) as refused:
            await MPI.Prequest.Startall([comm.Recv_init(bytearray(1), 1), request])
        await request.Wait()
        return str(refused.value)

    refused = two(main, library).values[0]
    assert refused.endswith(
        "Request.Startall: requests[1] (MPI Isend to rank 1, tag 0, on MPI_COMM_WORLD) is not persistent; give what "
        "Send_init, Recv_init and their like have returned"
    )


@pytest.mark.parametrize("wrong", ["twice", "active"])
def test_startall_begins_none_where_one_is_active(library, wrong):
    async def main(comm):
        if comm.rank == 1:
            await comm.Recv(got := bytearray(1), 0, 1)
            await comm.Recv(bytearray(1), 0, 2)
            return bytes(got)
        data = bytearray(b"a")
        first, second = comm.Send_init(data, 1, 1), comm.Send_init(bytes(1), 1, 2)
        if wrong == "active":
            await second.Start()
        with pytest.raises(MPI.Exception) as caught:
            await MPI.Prequest.Startall([first, first if wrong == "twice" else second])
        data[:] = b"b"
        await first.Start()
        await first.Wait()
        if wrong == "twice":
            await second.Start()
        await second.Wait()
        return str(caught.value)

    told, got = two(main, library).values
    if wrong == "twice":
        assert told == "Request.Startall: requests[1] is requests[0] once more; give each request once"
    else:
        place = f"{__file__}:{main.__code__.co_firstlineno + 8}"
        assert told == (
            f"Request.Startall: this request is active: it was started at {place}; `await` its Wait() before it is "
            "started again"
        )
    assert got == b"b"


def test_what_a_call_has_begun_before_it_fails_goes_on(library):
    async def main(comm):
        if comm.rank == 1:
            await comm.Recv(got := bytearray(1), 0, 1)
            return bytes(got)
        sent = comm.Send_init(b"a", 1, 1)
        with pytest.raises(MPI.Exception, match="no buffer is attached"):
            await MPI.Prequest.Startall([sent, comm.Bsend_init(b"b", 1, 2)])
        await sent.Wait()
        return None

    assert two(main, library).values[1] == b"a"


NONE_ACTIVE = {
    "Wait of a null one": lambda requests: requests[0].Wait(),
    "Wait of an inactive one": lambda requests: requests[1].Wait(),
    "Waitall of none": lambda requests: MPI.Request.Waitall([]),
    "Waitall": MPI.Request.Waitall,
    "Testall": lambda requests: MPI.Request.Testall(requests[:1]),
    "Waitany": MPI.Request.Waitany,
    "Testany of none": lambda requests: MPI.Request.Testany([]),
    "Waitsome of none": lambda requests: MPI.Request.Waitsome([]),
    "Testsome": lambda requests: MPI.Request.Testsome(requests[:1]),
}


@pytest.mark.parametrize("name", NONE_ACTIVE)
def test_a_loop_over_requests_of_which_none_is_active_is_no_hang(monkeypatch, name):
    monkeypatch.setattr(livelock, "STILL", 5_000)  # steps, of 100,000: what counts them is the same

    async def main(comm):
        requests = [MPI.REQUEST_NULL, comm.Recv_init(bytearray(1), 1 - comm.rank)]
        while comm.rank == 0:
            await NONE_ACTIVE[name](requests)
        await comm.Barrier()

    with pytest.raises(conduit.Livelock):
        two(main, "scampi")


def test_a_request_that_is_over_says_so(library):
    async def main(comm):
        call = comm.Isend if comm.rank == 0 else comm.Irecv
        request = await call(np.zeros(4), 1 - comm.rank, 3)
        before = repr(request)
        await request.Wait()
        return before, repr(request), repr(MPI.REQUEST_NULL)

    what = "MPI Isend to rank 1, tag 3, on MPI_COMM_WORLD"
    assert two(main, library).values[0] == (f"<Request {what}>", f"<Request null, was {what}>", "<Request null>")


@pytest.mark.parametrize("call", ["Recv", "Ssend", "Sendrecv", "Irecv", "Probe", "Allreduce"])
def test_a_call_that_waits_on_a_communicator_that_was_freed_is_told_with_its_name(call):
    calls = {
        "Recv": lambda comm: comm.Recv(bytearray(1), 1),
        "Ssend": lambda comm: comm.Ssend(b"x", 1),
        "Sendrecv": lambda comm: comm.Sendrecv(bytes(200_000), 1, 3, bytearray(1), 1, 3),
        "Irecv": lambda comm: comm.Irecv(bytearray(1), 1),
        "Probe": lambda comm: comm.Probe(1),
        "Allreduce": lambda comm: comm.Allreduce(np.zeros(1), np.zeros(1)),
    }

    async def wait(comm):
        made = await calls[call](comm)
        if call == "Irecv":
            await made.Wait()

    async def main(comm):
        other = await comm.Dup()
        other.Set_name("the other")
        if comm.rank == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait, other)
                await trio.sleep(1e-3)
                await other.Free()

    with pytest.raises(conduit.Deadlock, match=rf"waits for MPI {call} .*on the other"):
        MPI.run(main, library="scampi", ranks=2)


@pytest.mark.parametrize(
    "call", ["Send", "Recv", "Irecv", "Isend", "Iprobe", "Barrier", "Ibarrier", "Dup", "Create_group"]
)
def test_a_call_that_was_made_before_its_communicator_was_freed_and_runs_after_that_is_refused(call):
    async def main(comm):
        other = await comm.Dup()
        given = {"Send": (b"x", 0), "Isend": (b"x", 0), "Recv": (bytearray(1), 0), "Irecv": (bytearray(1), 0)}
        given["Create_group"] = (comm.Get_group(),)
        begun = getattr(other, call)(*given.get(call, ()))
        await other.Free()
        with pytest.raises(
            MPI.Exception, match=rf"^Comm\.{call}: this communicator, .*, was freed at .*:\d+$"
        ) as error:
            await begun
        return error.value.Get_error_class()

    assert MPI.run(main, library="scampi", ranks=1).values == [MPI.ERR_COMM]


def test_what_a_matched_probe_has_found_and_nobody_has_received_is_told_where_its_sender_waits():
    async def main(comm):
        if comm.rank == 0:
            await comm.Ssend(b"x", 1, 3)
        else:
            await comm.Mprobe(0, 3)

    with pytest.raises(conduit.Deadlock) as error:
        MPI.run(main, library="scampi", ranks=2)
    assert "1 message that Mprobe or Improbe has found, never received: `await` the Recv() of each" in str(error.value)


@pytest.mark.parametrize(("first", "second"), [((0, 5), (0, 5)), ((0, 5), (4, 9)), ((3, 9), (0, 4)), ((0, 9), (4, 5))])
def test_an_exchange_whose_two_buffers_share_bytes_is_refused(first, second):
    """What comes would be sent on where the send is late: which MPI forbids, and libraries do not notice."""

    async def main(comm):
        data, there, here = np.zeros(10), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        with pytest.raises(
            MPI.Exception, match=r"^Comm\.Sendrecv: sendbuf and recvbuf share bytes; .*Sendrecv_re"
        ) as error:
            await comm.Sendrecv(data[slice(*first)], there, 0, data[slice(*second)], here, 0)
        await comm.Sendrecv(data[slice(*first)], MPI.PROC_NULL, 0, data[slice(*second)], MPI.PROC_NULL, 0)
        await comm.Sendrecv(data[:5] + comm.rank, there, 0, data[5:], here, 0)
        await comm.Sendrecv(data[:0], there, 0, data[:0], here, 0)
        return error.value.Get_error_class(), data.tolist()

    values = MPI.run(main, library="scampi", ranks=3).values
    assert values == [(MPI.ERR_BUFFER, [0] * 5 + [(rank - 1) % 3] * 5) for rank in range(3)]
