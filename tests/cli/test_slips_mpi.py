"""What `conduit run` says of slips in programs of MPI alone, on a simulated library: the exact words."""

import pytest

MPI = "import numpy as np\nfrom conduits.mpi import MPI\napi = 'mpi'\nasync def main(comm):\n    b = np.zeros(4)\n    "
OTHER = MPI + "other = 1 - comm.rank\n    "

SLIPS = {
    MPI + "await comm.Igather(b, b)": (
        "Comm has no Igather; it is not here; write `await comm.Gather(...)`, in a task of its own if others go on"
    ),
    MPI + "comm.Bcast_init(b)": (
        "Comm has no Bcast_init; persistent collectives are not here; write `await comm.Bcast(...)` each time"
    ),
    MPI + "MPI.Datatype.Create_struct([1], [0], [MPI.INT])": (
        "Datatype has no Create_struct; derived datatypes are not here; send a contiguous copy "
        "(numpy.ascontiguousarray), or the bytes"
    ),
    MPI + "MPI.DOUBLE.Create_vector(2, 1, 2)": (
        "Datatype has no Create_vector; derived datatypes are not here; send a contiguous copy "
        "(numpy.ascontiguousarray), or the bytes"
    ),
    MPI + "MPI.SUM(1, 2)": (
        "MPI.SUM is a ReductionOp: it cannot be called here; give it to a reduction, `op=...`, and combine values by "
        "Python or numpy"
    ),
    MPI + "f = MPI.Op.Create(lambda a, b, datatype: None)\n    f(b, b)": (
        "f is a ReductionOp: it cannot be called here; give it to a reduction, `op=...`, and combine values by Python "
        "or numpy"
    ),
    MPI + "MPI.INTEGER": "conduits.mpi.MPI has no INTEGER; Fortran's datatypes are not here; write `MPI.INT`",
    OTHER + "r = await comm.Isend(b, other)\n    await r": "r is a Request, which is no call: write `await r.Wait()`",
    **{
        OTHER + f"p = comm.{call}(b, other)\n    await p.Start()\n    await p.Start()": (
            "conduits.mpi.errors.MpiError: p.Start: this request is active: it was started at prog.py:8; `await` its "
            "Wait() before it is started again"
        )
        for call in ("Send_init", "Recv_init")
    },
    MPI + "await comm.Recv(b, 0, 0, MPI.Status)": (
        "conduit.errors.BadRequest: comm.Recv: status=MPI.Status is the class; give an object of it, "
        "status=MPI.Status()"
    ),
    MPI + "r = await comm.Irecv(b)\n    await r.Wait(3)": (
        "conduit.errors.BadRequest: r.Wait: status=3 is an int; give an object, status=MPI.Status()"
    ),
    MPI + "await MPI.Request.Waitany([], MPI.Status)": (
        "conduit.errors.BadRequest: MPI.Request.Waitany: status=MPI.Status is the class; give an object of it, "
        "status=MPI.Status()"
    ),
    MPI + "await comm.Probe(0, status=MPI.Status)": (
        "conduit.errors.BadRequest: comm.Probe: status=MPI.Status is the class; give an object of it, "
        "status=MPI.Status()"
    ),
    MPI + "await MPI.Request.Waitall([None])": (
        "conduit.errors.BadRequest: MPI.Request.Waitall: requests[0] is None; write MPI.REQUEST_NULL in the place of "
        "no request"
    ),
    MPI + "await comm.Create_group([0, 1])": (
        "conduits.mpi.errors.MpiError: comm.Create_group: group=[0, 1] is a list and no group; give "
        "comm.Get_group().Incl([0, 1])"
    ),
    MPI + "s = await comm.Dup()\n    await s.Free()\n    await s.Barrier()": (
        "conduits.mpi.errors.MpiError: s.Barrier: this communicator, a duplicate of MPI_COMM_WORLD (made at "
        "prog.py:6), was freed at prog.py:7"
    ),
    MPI + "s = await comm.Split(MPI.UNDEFINED)\n    await s.Barrier()": (
        "conduits.mpi.errors.MpiError: s.Barrier: this communicator is null: this rank is in none, by MPI.UNDEFINED or "
        "a group without it; ask `if comm:` before calls"
    ),
}


@pytest.mark.parametrize(("program", "said"), SLIPS.items())
def test_a_slip_is_told_what_to_write(shown, program, said):
    assert said in shown(program)


@pytest.mark.parametrize("call", ["Send_init", "Recv_init"])
def test_a_persistent_request_that_was_started_and_never_waited_for_is_warned_of(
    command, tmp_path, monkeypatch, call
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        f"""{OTHER}p, q = comm.{call}(b, other), comm.{call}(b, other, tag=2)
    for _ in range(2):
        await p.Start()
        await {"comm.Recv(b, other)" if call == "Send_init" else "comm.Send(b, other)"}
        await p.Wait()
    await MPI.Prequest.Startall([q])
"""
    )
    outcome = command("run", "prog.py", "--conduit", "mpi:library=scampi")
    assert outcome.status == 0
    assert (
        f"warning from ranks 0-1: 1 request of {call}, begun at prog.py:12, never waited for: `await` the Wait() of "
        "each, or give them to MPI.Request.Waitall\n"
    ) in outcome.err


@pytest.mark.parametrize(
    "send", ["comm.Rsend(b, other)", "comm.Irsend(b, other)", "MPI.Prequest.Startall([comm.Rsend_init(b, other)])"]
)
def test_a_ready_send_without_its_receive_is_told_with_its_line(shown, send):
    program = (
        f"{OTHER}comm = await comm.Dup()\n    if comm.rank == 0:\n        await {send}\n        "
        "await comm.Send(b, other)\n    await comm.Recv(b, other, tag=1)"
    )
    assert (
        "conduits.mpi.errors.MpiError: a ready send of rank 0 to rank 1 with tag 0, sent at prog.py:9, has found no "
        "receive there; begin the receive first and let the sender know, or use a standard send"
    ) in shown(program)


@pytest.mark.parametrize("call", ["Rsend", "Irsend"])
@pytest.mark.parametrize("dest", [0, 1])
def test_so_is_one_that_is_a_task_of_its_own(shown, call, dest):
    """Such a task runs no line of the program: that of Trio was told, which started it."""
    program = (
        f"{MPI}import trio\n    async with trio.open_nursery() as nursery:\n        "
        f"if comm.rank == 0:\n            nursery.start_soon(comm.{call}, b, {dest})"
    )
    assert (
        f"conduits.mpi.errors.MpiError: a ready send of rank 0 to rank {dest} with tag 0, sent at prog.py:9, has found "
        "no receive there; begin the receive first and let the sender know, or use a standard send"
    ) in shown(program)


@pytest.mark.parametrize("call", ["Send", "Isend"])
def test_a_message_that_a_task_of_its_own_sends_is_told_with_the_line_that_started_it(
    command, tmp_path, monkeypatch, call
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        f"{MPI}import trio\n    async with trio.open_nursery() as nursery:\n        "
        f"if comm.rank == 0:\n            nursery.start_soon(comm.{call}, b, 1)"
    )
    err = command("run", "prog.py", "--conduit", "mpi:library=scampi").err
    assert (
        "warning from rank 1: 1 message from rank 0, tag 0, on MPI_COMM_WORLD, sent at prog.py:9, never received\n"
    ) in err
    assert ("1 request of Isend, begun at prog.py:9, never waited for" in err) == (call == "Isend")


@pytest.mark.parametrize("call", ["Rsend", "Irsend"])
def test_so_is_one_to_the_rank_itself(shown, call):
    assert shown(f"{MPI}if comm.rank:\n        await comm.{call}(b, 1, 5)")[0] == (
        "conduits.mpi.errors.MpiError: a ready send of rank 1 to rank 1 with tag 5, sent at prog.py:7, has found no "
        "receive there; begin the receive first and let the sender know, or use a standard send"
    )


@pytest.mark.parametrize(
    ("send", "sent"),
    [
        ("await c.Send(b, 0, 5)", ", sent at prog.py:10,"),
        ("await c.Isend(b, 0, 5)", ", sent at prog.py:10,"),
        ("await MPI.Prequest.Startall([c.Send_init(b, 0, 5)])", ", sent at prog.py:10,"),
        ("await c.Sendrecv(b, 0, 5, b.copy(), 0, 7)", ", sent at prog.py:10,"),
        ("c.rank or await c.Send(b, 0, 5)\n        await c.Send(b, 0, 5)", ", sent at prog.py:11,"),
        ("await c.Send(b, 0, 4)\n        await c.Send(b, 0, 5)", ", sent at prog.py:11,"),
    ],
)
def test_a_message_that_is_longer_than_its_receive_is_told_with_the_line_of_its_send(shown, send, sent):
    program = f"""{MPI}c = await comm.Split(0, -comm.rank)
    if c.rank == 0:
        await c.Recv(b[:2], tag=5)
    else:
        {send}
"""
    assert (
        f"conduits.mpi.errors.MpiError: the message of 32 bytes from rank 1, tag 5{sent} is longer than the buffer of "
        "its receive, which has 16; the rest of it is lost"
    ) in shown(program)


def test_of_one_to_the_rank_itself_the_line_of_its_send_is_not_known(shown):
    program = f"{MPI}r = await comm.Irecv(b[:2], tag=5)\n    await comm.Send(b, comm.rank, 5)\n    await r.Wait()"
    assert "from rank 0, tag 5, is longer than" in "\n".join(shown(program))


@pytest.mark.parametrize(
    "call", ["Sendrecv(b, other, 1, b.copy(), other, 2)", "Sendrecv_replace(b, other, 1, other, 2)"]
)
def test_a_message_of_a_sendrecv_that_no_receive_asks_for_is_in_the_report(shown, call):
    lines = shown(f"{OTHER}await comm.{call}")
    assert [line.partition(", since ")[0] for line in lines[-4:]] == [
        *(
            f"rank {rank}: prog.py:7 in main: waits for MPI {call.partition('(')[0]} from rank {1 - rank}, tag 2, on "
            f"MPI_COMM_WORLD, which rank {1 - rank} must bring about"
            for rank in range(2)
        ),
        *(
            f"    rank {rank}: 1 message from rank {1 - rank}, tag 1, on MPI_COMM_WORLD, sent at prog.py:7: no receive "
            "asks for it"
            for rank in range(2)
        ),
    ]


def test_of_a_message_that_a_sendrecv_waits_to_send_its_wait_tells(shown):
    lines = shown(f"{OTHER}b = np.zeros(1000000)\n    await comm.Sendrecv(b, other, 1, b.copy(), other, 2)")
    assert [line.partition(", since ")[0] for line in lines[-2:]] == [
        f"rank {rank}: prog.py:8 in main: waits for MPI Sendrecv to rank {1 - rank}, tag 1, on MPI_COMM_WORLD and from "
        f"rank {1 - rank}, tag 2, on MPI_COMM_WORLD, which rank {1 - rank} must bring about"
        for rank in range(2)
    ]


@pytest.mark.parametrize(
    ("rank_1", "rank_2", "left", "ranks"),
    [
        ("Recv(big, 0, tag=3)", "Barrier()", "from rank 2, tag 4", "rank 2"),
        ("Barrier()", "Send(b, 0, tag=4)", "to rank 1, tag 3", "rank 1"),
        ("Barrier()", "Barrier()", "to rank 1, tag 3, on MPI_COMM_WORLD and from rank 2, tag 4", "ranks 1-2"),
    ],
)
def test_a_sendrecv_of_two_other_ranks_waits_for_what_is_left(shown, rank_1, rank_2, left, ranks):
    program = f"""{MPI}big = np.zeros(100000)
    if comm.rank == 0:
        await comm.Sendrecv(big, 1, 3, b, 2, 4)
    elif comm.rank == 1:
        await comm.{rank_1}
    else:
        await comm.{rank_2}
    await comm.Recv(b, 0, tag=9)
"""
    lines = shown(program, "--ranks", "3")
    waits = f"rank 0: prog.py:8 in main: waits for MPI Sendrecv {left}, on MPI_COMM_WORLD, which {ranks} must bring "
    assert [line.partition("about, since ")[0] for line in lines if "Sendrecv" in line] == [waits]


def test_communicators_are_told_apart_by_the_lines_that_make_them(shown):
    source = f"""{MPI}c = await comm.Dup()
    d = await comm.Dup()
    await (c if comm.rank else d).Barrier()
"""
    lines = shown(source, "--ranks", "3")
    made = "MPI Barrier of all on a duplicate of MPI_COMM_WORLD (made at prog.py:{})"
    assert lines[-1] == (
        f"rank 0 is in {made.format(7)} at prog.py:8, ranks 1-2 are in {made.format(6)} at prog.py:8: all of them must "
        "make the same calls in the same order"
    )
    assert f"rank 1: prog.py:8 in main: waits for {made.format(6)}, to which rank 0 has not come, since " in lines[3]


def test_a_message_on_another_communicator_than_the_receive_is_told(shown):
    source = f"""{MPI}c, d = await comm.Dup(), await comm.Split(0, -comm.rank)
    if comm.rank == 0:
        await c.Send(b, 1, 3)
        await d.Send(b, 0, 3)
        await d.Send(b, 0, 3)
    elif comm.rank == 1:
        await comm.Recv(b, 0, 3)
"""
    assert [line for line in shown(source) if "message" in line and "deadlock" not in line] == [
        "    1 message from rank 0, tag 3, on a duplicate of MPI_COMM_WORLD (made at prog.py:6), sent at prog.py:8: no "
        "receive asks for it",
        "    2 messages from its rank 1 (rank 0 of the job), tag 3, on the part of color 0 of MPI_COMM_WORLD (made at "
        "prog.py:6), sent at prog.py:9 and prog.py:10: no receive asks for them",
    ]


@pytest.mark.parametrize(
    ("call", "who"),
    [
        ("Recv(b, 0)", "from its rank 0 (rank 1 of the job), any tag"),
        ("Recv(b)", "from any rank, any tag"),
        ("Ssend(b, 0, 5)", "to its rank 0 (rank 1 of the job), tag 5"),
        ("Sendrecv(b, 0, 5, b.copy(), 0, 6)", "from its rank 0 (rank 1 of the job), tag 6"),
    ],
)
def test_ranks_of_a_part_are_told_with_their_numbers_in_the_job(shown, call, who):
    lines = shown(
        f"{MPI}part = await comm.Split(comm.rank > 0)\n    if comm.rank == 2:\n        await part.{call}",
        "--ranks",
        "3",
    )
    assert f"rank 2: prog.py:8 in main: waits for MPI {call.partition('(')[0]} {who}" in "\n".join(lines)


def test_ranks_of_a_part_that_have_the_same_numbers_in_the_job_are_told_as_ever(shown):
    source = f"""{MPI}part = await comm.Split(comm.rank > 1)
    if comm.rank == 1:
        await part.Recv(b, 0)
"""
    lines = shown(source, "--ranks", "3")
    waits = "waits for MPI Recv from rank 0, any tag, on the part of color 0 of MPI_COMM_WORLD"
    assert any(waits in line for line in lines)


def test_a_communicator_may_be_made_at_another_line_on_each_rank(shown):
    source = f"""{MPI}if comm.rank:
        c = await comm.Dup()
        await c.Barrier()
    else:
        c = await comm.Dup()
        await c.Split(0)
        await c.Recv(b, 1)
    await c.Barrier()
"""
    assert (
        "conduits.mpi.errors.MpiError: c.Split: in its place rank 1 has called Barrier at prog.py:8; all ranks of a "
        "duplicate of MPI_COMM_WORLD (made at prog.py:10) make the same collective calls in the same order"
    ) in shown(source)


def test_of_a_part_of_a_duplicate_the_line_of_its_own_is_told(shown):
    lines = shown(f"{OTHER}c = await comm.Dup()\n    d = await c.Split(0)\n    await d.Recv(b, other)")
    part = "on the part of color 0 of a duplicate of MPI_COMM_WORLD (made at prog.py:8)"
    assert f"{part}, which rank 1 must bring about" in lines[2]


@pytest.mark.parametrize("call", ["Isend(np.zeros(100_000), 1)", "Issend(b, 1)"])
def test_a_rank_that_has_returned_waits_for_what_nobody_receives(shown, call):
    lines = shown(f"{MPI}if not comm.rank:\n        await comm.{call}\n", "--ranks", "3")
    waits = (
        f"its main has returned: waits for its {call.partition('(')[0]} at prog.py:7 to rank 1 to be received since "
    )
    assert any(line.startswith(f"rank 0: {waits}") for line in lines)
    assert any(line.startswith("rank 2: its main has returned: waits for the other ranks to return") for line in lines)


def test_of_sends_that_nobody_receives_some_may_be_over(shown):
    source = f"""{MPI}if not comm.rank:
        for size in 1, 100_000:
            await comm.Isend(np.zeros(size), 1)
"""
    lines = shown(source)
    waits = (
        "its main has returned: waits for 1 of the messages of its Isend at prog.py:8 to rank 1 to be received since "
    )
    assert any(line.startswith(f"rank 0: {waits}") for line in lines)


def test_messages_of_many_tags_are_told_together(shown):
    source = f"""{MPI}if comm.rank == 0:
        for tag in range(40):
            await comm.Send(b, 1, tag)
    elif comm.rank == 1:
        await comm.Recv(b, 2)
"""
    note = (
        "40 messages from rank 0, 40 tags from 0 to 39, on MPI_COMM_WORLD, sent at prog.py:8: no receive asks for them"
    )
    assert f"    {note}" in shown(source, "--ranks", "3")


def test_messages_of_calls_that_are_not_known_are_told_as_such(shown):
    source = f"""{MPI}group = comm.Get_group().Incl([0, 1, 2])
    if comm.rank < 2:
        await comm.Create_group(group)
"""
    lines = shown(source, "--conduit", "mpi:library=start", "--ranks", "4")
    assert "    1 message of collective calls, or of other communicators" in lines
    assert not any("not handled" in line for line in lines)
