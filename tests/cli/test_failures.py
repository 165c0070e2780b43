"""What `conduit run` shows of a program that fails: the exact words, and no line of this package."""

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import conduit
from conduit.launch.program import folders
from conduits.loggp.port import LoggpTransport


@pytest.fixture
def shown(command, tmp_path, monkeypatch):
    """Run a program that fails, in its own folder; return what is printed, with times left out."""
    monkeypatch.chdir(tmp_path)

    def write_and_run(source, *words, name="prog.py"):
        (tmp_path / name).write_text(textwrap.dedent(source).lstrip("\n"))
        status, out, err = command("run", name, "--conduit", "loggp", *words)
        assert (status, out) == (1, "")
        return re.sub(r"at \d+\.\d+ s\b", "at T s", err)

    return write_and_run


TOP = "Traceback (most recent call last):\n"


def test_a_forgotten_await_is_named_beside_the_error_that_follows_it(shown):
    assert shown(
        """
        from extended import Extended
        async def main(ep):
            x = await Extended.attach(ep)
            x.barrier()
            raise ValueError("mine")
        """
    ) == (
        TOP + '  File "prog.py", line 5, in main\n'
        '    raise ValueError("mine")\n'
        "ValueError: mine\n"
        "raised by rank 0 at T s\n"
        "x.barrier() at prog.py:4 was called but never awaited, so it did nothing; write `await x.barrier()`\n"
    )


def test_a_forgotten_await_is_named_where_its_result_is_used(shown):
    text = shown(
        """
        from extended import Extended
        async def main(ep):
            x = await Extended.attach(ep)
            print(x.all_reduce(1) + 1)
        """
    )
    assert "\nx.all_reduce(1) at prog.py:4 was called but never awaited, so it did nothing; write `await x." in text
    assert "RuntimeWarning" not in text


def test_a_forgotten_await_explains_a_handler_that_fails(shown):
    text = shown(
        """
        async def main(ep):
            got = {}
            def h(token, number):
                got[number].append(1)
            await ep.attach(h)
            ep.poll()
            await ep.request_short(1 - ep.rank, h, 3)
            await ep.block_until(lambda: False)
        """
    )
    assert "ep.poll() at prog.py:6 was called but never awaited, so it did nothing; write `await ep.poll()`\n" in text


@pytest.mark.parametrize(
    ("handler", "request_", "said"),
    [
        (
            "h(token, a, b)",
            "request_short(1, h, 5)",
            "takes 2 integers; the request of rank 0 (prog.py:6) carries 1",
        ),
        ("h(token)", "request_short(1, h, 5)", "takes no integers; the request of rank 0 (prog.py:6) carries 1"),
        (
            "h(token, a, b=1)",
            "request_short(1, h)",
            "takes 1 to 2 integers; the request of rank 0 (prog.py:6) carries 0",
        ),
        (
            "h(token, a, *rest)",
            "request_short(1, h)",
            "takes at least 1 integer; the request of rank 0 (prog.py:6) carries 0",
        ),
        (
            "h(token, payload, a)",
            "request_medium(1, h, b'x')",
            "takes a payload and 1 integer; the request of rank 0 (prog.py:6) carries a payload and 0",
        ),
        (
            "h(token)",
            "request_long(1, h, b'x', 0, 4)",
            "takes no payload; write `def handler(token, payload, ...)`; the request of rank 0 (prog.py:6) carries a "
            "payload and 1",
        ),
        (
            "h(number)",
            "request_short(1, h, 5)",
            "takes no integers; the request of rank 0 (prog.py:6) carries 1; its first parameter, number, is given the "
            "token: write `def h(token, number)`",
        ),
        (
            "h(self, token, number)",
            "request_short(1, h, 5)",
            "takes 2 integers; the request of rank 0 (prog.py:6) carries 1; its first parameter, self, is given the "
            "token: attach a bound method, or leave self out",
        ),
        (
            "h(payload, number)",
            "request_medium(1, h, b'x', 5)",
            "takes a payload and no integers; the request of rank 0 (prog.py:6) carries a payload and 1; its first "
            "parameter, payload, is given the token: write `def h(token, payload, number)`",
        ),
        (
            "h(token, a)",
            "request_short(1, h, *numbers)",
            "takes 1 integer; the request of rank 0 (prog.py:6) carries 2",
        ),
    ],
)
def test_the_wrong_number_of_arguments_is_told_with_both_lines(shown, handler, request_, said):
    assert shown(
        f"""
        async def main(ep, numbers=(1, 2)):
            def {handler}:
                pass
            await ep.attach(h)
            if ep.rank == 0:
                await ep.{request_}
            await ep.block_until(lambda: False)
        """
    ) == (f"conduit.errors.HandlerError: handler 'h' (prog.py:2) {said}\nraised by rank 1 at T s\n")


WRAPPED = """
import functools
def wrapping(function):
    @functools.wraps(function)
    def wrapper({given}):
        {before}
        return function(*args)
    return wrapper
@wrapping
def h(token, n, *, k=1):
    pass
async def main(ep):
    await ep.attach(h)
    if ep.rank == 0:
        await ep.request_short(1, h, 1, 2)
    await ep.block_until(lambda: False)
"""


def test_the_wrong_number_of_arguments_is_told_of_a_wrapped_handler_too(shown):
    assert shown(WRAPPED.format(given="*args", before="")) == (
        "conduit.errors.HandlerError: handler 'h' (prog.py:8) takes 1 integer; the request of rank 0 (prog.py:14) "
        "carries 2\nraised by rank 1 at T s\n"
    )


@pytest.mark.parametrize(
    ("given", "before", "said"),
    [
        ("*args", "int(1, 2, 3)", "TypeError: int() takes at most 2 arguments (3 given)"),
        ("token, a, b", "args = (token, a, b)", "TypeError: h() takes 2 positional arguments but 3 were given"),
    ],
)
def test_a_type_error_of_what_wraps_a_handler_is_its_own(shown, given, before, said):
    text = shown(WRAPPED.format(given=given, before=before))
    assert "in wrapper\n" in text
    assert f"\n{said}\nin handler 'h' on rank 1, for a request from rank 0\nraised by rank 1 at T s\n" in text


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        ("lambda: got == 1", "write `lambda: (got == 1).all()`, or `.any()`"),
        ("lambda: got", "write `lambda: got.all()`, or `.any()`"),
        ("lambda: got if got[0] else False", "write `lambda: (got if got[0] else False).all()`, or `.any()`"),
        ("over", "return its `.all()`, or its `.any()`"),
    ],
)
@pytest.mark.parametrize("network", ["loggp", "udp"])
def test_a_predicate_that_gives_an_array_is_told_what_to_write(command, tmp_path, network, predicate, said):
    """At its first evaluation, and at one after a message has come."""
    program = tmp_path / "prog.py"
    program.write_text(
        f"""
import numpy as np
async def main(ep):
    got = np.zeros(3)
    def h(token): got[0] = 1
    def over(): return got == 1 if got[0] else False
    await ep.attach(h)
    if ep.rank == 0: await ep.block_until({predicate})
    else: await ep.request_short(0, h)
"""
    )
    outcome = command("run", str(program), "--conduit", network)
    *lines, raised, last = outcome.err.splitlines()
    assert lines == [
        "Traceback (most recent call last):",
        f'  File "{program}", line 8, in main',
        f"    if ep.rank == 0: await ep.block_until({predicate})",
        *lines[3:-1],
        "ValueError: The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
    ]
    assert all(set(line) <= set(" ^") for line in lines[3:-1])
    assert raised.startswith("raised by rank 0 at ")
    line = 6 if predicate == "over" else 8
    assert last == f"the predicate at {program}:{line} returned an array, which has many truth values: {said}"


def test_the_wrong_number_of_arguments_of_a_reply(shown):
    assert "handler 'back' (prog.py:4) takes 1 integer; the reply of rank 1 (prog.py:3) carries 0" in shown(
        """
        async def main(ep):
            def ask(token):
                token.reply_short(back)
            def back(token, number):
                pass
            await ep.attach(ask, back)
            if ep.rank == 0:
                await ep.request_short(1, ask)
            await ep.block_until(lambda: False)
        """
    )


def test_a_type_error_inside_a_handler_is_its_own(shown):
    text = shown(
        """
        async def main(ep):
            def h(token):
                int(1, 2, 3)
            await ep.attach(h)
            await ep.request_short(ep.rank, h)
            await ep.block_until(lambda: False)
        """
    )
    assert text.startswith(TOP + '  File "prog.py", line 3, in h\n    int(1, 2, 3)\nTypeError: ')
    assert "\nin handler 'h' on rank 0, for a request from rank 0\nraised by rank 0 at T s\n" in text
    assert "takes" not in text.splitlines()[-1]


def test_a_print_of_what_the_output_has_no_character_for_is_the_programs_line(tmp_path):
    (tmp_path / "prog.py").write_text("async def main(ep):\n    print(chr(233))\n")
    ended = subprocess.run(
        [sys.executable, "-m", "conduit", "run", "prog.py", "--ranks", "1"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    frames = [line for line in ended.stderr.splitlines() if line.startswith("  File ")]
    assert frames == ['  File "prog.py", line 2, in main']


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no file that takes nothing")
def test_a_print_for_which_there_is_no_room_is_the_programs_line(tmp_path):
    (tmp_path / "prog.py").write_text("async def main(ep):\n    print('hello', flush=True)\n")
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "conduit", "run", "prog.py", "--ranks", "1"],
            cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120,
        )  # fmt: skip
    assert "OSError: [Errno 28] No space left on device\n" in ended.stderr
    assert '  File "prog.py", line 2, in main\n' in ended.stderr
    assert "conduit/launch" not in ended.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no file that takes nothing")
def test_a_command_for_whose_output_there_is_no_room_says_so():
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "conduit", "list"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert ended.stderr == "conduit list: output cannot be written: No space left on device\n"
    assert ended.returncode == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no folder in which root makes no file")
def test_a_trace_that_cannot_be_made_is_refused_before_the_job(command, tmp_path):
    (tmp_path / "prog.py").write_text("async def main(ep): print('ran')\n")
    assert command("run", str(tmp_path / "prog.py"), "--trace", "/proc/x.json") == (
        2,
        "",
        "conduit run: --trace /proc/x.json cannot be made: No such file or directory; name a file in a folder that "
        "takes one\n",
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no file that takes nothing")
def test_a_trace_for_which_there_is_no_room_is_no_failure_of_the_program(tmp_path):
    (tmp_path / "prog.py").write_text("async def main(ep):\n    for _ in range(999): await ep.compute(1e-6)\n")
    ended = subprocess.run(
        [sys.executable, "-m", "conduit", "run", "prog.py", "--ranks", "1", "--trace", "/dev/full"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ended.stderr == "conduit run: --trace /dev/full cannot be written: No space left on device\n"
    assert ended.stdout.startswith("ranks=1 conduit=sci seconds=")
    assert ended.returncode == 1


def test_a_warning_that_a_program_makes_an_error_is_told_without_lines_of_the_package(shown):
    said = shown(
        """
        import warnings
        from extended import Extended
        async def main(ep):
            x = await Extended.attach(ep)
            h = await x.put_nb(1 - ep.rank, 0, b"abc")
            warnings.simplefilter("error")
        """
    )
    assert said.startswith("conduit.errors.ConduitWarning: ranks 0-1: a handle of put_nb, made at ")
    assert "Traceback" not in said


def test_advice_is_told_in_letters_that_the_output_has(tmp_path):
    (tmp_path / "prog.py").write_text(
        "from extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n    "
        "await ep.compute(1e-3 * (1 + ep.rank))\n    await x.barrier()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "conduit", "run", "prog.py", "--report", "r"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert "Rank 1 computes 2,000.0 us" in ended.stdout
    assert ended.returncode == 0


def test_what_a_handler_raises_is_said_once(shown):
    assert shown(
        """
        async def main(ep):
            def h(token):
                raise KeyError("oops")
            await ep.attach(h)
            if ep.rank == 0:
                await ep.request_short(1, h)
            await ep.block_until(lambda: False)
        """
    ) == (
        TOP + '  File "prog.py", line 3, in h\n'
        '    raise KeyError("oops")\n'
        "KeyError: 'oops'\n"
        "in handler 'h' on rank 1, for a request from rank 0\n"
        "raised by rank 1 at T s\n"
    )


def test_collectives_that_differ_are_told_with_both_lines(shown):
    text = shown(
        """
        from extended import Extended
        async def main(ep):
            x = await Extended.attach(ep)
            if ep.rank == 0:
                await x.broadcast(1)
            else:
                await x.all_reduce(3)
        """
    )
    assert "rank 0 called broadcast(root=0) at prog.py:5, but rank 1 called all_reduce(op=sum, (), int64) at p" in text
    assert " at prog.py:7; all ranks of a team must make the same collective calls" in text


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            "ep.request_short(9, main)",
            "conduit.errors.BadRequest: ep.request_short: dest=9 is no rank of this job; ran",
        ),
        ("x.put(9, 0, b'a')", "conduit.errors.BadRequest: x.put: dest=9 is no rank of this job; its ranks are 0 to"),
        ("x.put(1, 0)", "TypeError: Extended.put() missing 1 required positional argument: 'data'"),
        ("x.barrier(1.5)", "conduit.errors.BadRequest: x.barrier: id=1.5 is a float"),
    ],
)
def test_the_traceback_of_a_wrong_call_ends_in_the_users_line(shown, call, said):
    source = f"""
        from extended import Extended
        async def main(ep):
            x = await Extended.attach(ep)
            await {call}
        """
    lines = shown(source).splitlines()
    assert lines[:3] == [TOP.rstrip(), '  File "prog.py", line 4, in main', f"    await {call}"]
    rest = [line for line in lines[3:] if line.strip(" ^")]
    assert rest[0].startswith(said)
    assert rest[1] == "raised by rank 0 at T s"
    assert "During handling" not in "\n".join(lines)
    whole = shown(source, "--traceback")
    assert whole.count('  File "') > 5
    assert said.replace(": x.", ": ") in whole, "as it was raised"


def test_what_a_program_was_handling_is_its_own_affair(shown):
    text = shown(
        """
        async def main(ep):
            try:
                {}["lost"]
            except KeyError:
                await ep.compute(-1)
        """
    )
    assert "KeyError: 'lost'\n\nDuring handling of the above exception" in text
    assert text.count("  File") == 2


def test_a_fault_that_is_not_told_on_purpose_keeps_the_lines_behind_the_programs(shown):
    """It may be one of this package's own."""
    text = shown(
        """
        async def main(ep):
            ep._port.poll = lambda: 1 / 0
            await ep.poll()
        """
    )
    assert "line 3, in main" in text
    assert "line 2, in <lambda>" in text


HINTS = {
    "import asyncio\nasync def main(ep): await asyncio.sleep(1e-6)": (
        "RuntimeError: no running event loop",
        "programs run on Trio, where nothing of asyncio works: write `await ep.compute(seconds)` for work that takes "
        "time, `await ep.block_until(predicate)` to wait for messages, `await trio.sleep(seconds)` for time alone",
    ),
    "import asyncio\napi = 'shmem'\nasync def main(pe): await asyncio.sleep(1e-6)": (
        "RuntimeError: no running event loop",
        "programs run on Trio, where nothing of asyncio works: write `await pe.wait_until(ivar, cmp, value)` to wait "
        "for what others do, `await trio.sleep(seconds)` for time alone",
    ),
    "async def main(ep): await ep.barrier()": (
        "AttributeError: 'Endpoint' object has no attribute 'barrier'",
        "Endpoint has no barrier, but Extended has barrier: `from extended import Extended`, then `x = await "
        "Extended.attach(ep)` and `await x.barrier()`",
    ),
    "async def main(t): await t.all_alloc(20, block=2)": (
        "AttributeError: 'Endpoint' object has no attribute 'all_alloc'",
        "Endpoint has no all_alloc, but Extended has all_alloc: `from extended import Extended`, then `x = await "
        'Extended.attach(ep)` and `await x.all_alloc(...)`; if this is a program of upc, put `api = "upc"` at its top',
    ),
    "async def main(t): t.MYTHREAD": (
        "AttributeError: 'Endpoint' object has no attribute 'MYTHREAD'",
        'Endpoint has no MYTHREAD; if this is a program of upc, put `api = "upc"` at its top',
    ),
    "async def main(pe): pe.my_pe()": (
        "AttributeError: 'Endpoint' object has no attribute 'my_pe'",
        'Endpoint has no my_pe; if this is a program of shmem, put `api = "shmem"` at its top',
    ),
    "async def main(comm): comm.Get_rank()": (
        "AttributeError: 'Endpoint' object has no attribute 'Get_rank'",
        'Endpoint has no Get_rank (did you mean rank?); if this is a program of mpi, put `api = "mpi"` at its top',
    ),
    "from extended import upc\nasync def main(t): await t.all_alloc(20, block=2)": (
        "AttributeError: 'Endpoint' object has no attribute 'all_alloc'",
        'Endpoint has no all_alloc; if this is a program of upc, put `api = "upc"` at its top',
    ),
    "async def main(comm): await comm.Send(b'abc', 1)": (
        "AttributeError: 'Endpoint' object has no attribute 'Send'",
        'Endpoint has no Send; if this is a program of mpi, put `api = "mpi"` at its top',
    ),
    "from extended import Extended\nasync def main(ep): await (await Extended.attach(ep)).allreduce(1)": (
        "AttributeError: 'Extended' object has no attribute 'allreduce'",
        "Extended has no allreduce (did you mean all_reduce?)",
    ),
    "from conduit import Extended\nasync def main(ep): pass": (
        "ImportError: cannot import name 'Extended' from 'conduit'",
        "Extended is in extended: write `from extended import Extended`",
    ),
    "import conduit\nasync def main(ep): conduit.Extended": (
        "AttributeError: module 'conduit' has no attribute 'Extended'; Extended is in extended: write `from extended "
        "import Extended`",
        "raised by rank 0",
    ),
    "async def main(ep): await ep.request_shrt(1, main)": (
        "AttributeError: 'Endpoint' object has no attribute 'request_shrt'",
        "Endpoint has no request_shrt (did you mean request_short?)",
    ),
    """
async def main(ep):
    kept = []
    def h(token, payload):
        kept.append(payload)
    await ep.attach(h)
    await ep.request_medium(1 - ep.rank, h, b"abc")
    await ep.block_until(lambda: kept)
    print(bytes(kept[0]))
""": (
        "ValueError: operation forbidden on released memoryview object",
        "the payload of a medium message is the handler's until it returns; keep a copy of it: bytes(payload)",
    ),
}


@pytest.mark.parametrize("source", HINTS, ids=range(len(HINTS)))
def test_what_to_do_is_said_of_common_mistakes(shown, source):
    error, hint = HINTS[source]
    text = shown(source)
    assert f"\n{error}" in text
    assert any(line.startswith(hint) for line in text.splitlines()), text
    assert text.count("did you mean") + text.count("Did you mean") <= 1
    assert text.count("import Extended") <= 2
    assert "conduit/__init__.py" not in text.replace(f"({conduit.__file__})", "")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("SCI", "there is no conduit 'SCI' (did you mean sci?); installed are: "),
        ("scii", "there is no conduit 'scii' (did you mean sci?); installed are: "),
        ("sun-fire", "there is no conduit 'sun-fire' (did you mean sunfire?); installed are: "),
        ("sci:Torus=4x2", "conduit 'sci' has no option 'Torus' (did you mean torus?); its options are: "),
        ("sci:tours=4x2", "conduit 'sci' has no option 'tours' (did you mean torus?); its options are: "),
        ("sci:nothing_like=1", "conduit 'sci' has no option 'nothing_like'; its options are: "),
    ],
)
def test_a_conduit_or_option_misspelt_by_case_or_letter(command, tmp_path, spec, said):
    (tmp_path / "prog.py").write_text("async def main(ep): pass")
    status, _, err = command("run", str(tmp_path / "prog.py"), "--conduit", spec)
    assert status == 2
    assert err.startswith(f"conduit run: {said}")


def test_paths_are_as_the_user_gave_them(command, tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "prog.py").write_text(
        "async def main(ep):\n    await ep.block_until(lambda: False, what='it')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert re.search(r"^rank.* sub/prog.py:2 in main: waits for it", command("run", "sub/prog.py").err, flags=re.M)
    whole = str(tmp_path / "sub" / "prog.py")
    assert f" {whole}:2 in main: waits for it" in command("run", whole).err


def test_the_source_shown_is_that_which_ran(command, tmp_path, monkeypatch):
    """Although the program goes to another folder, and writes over its own file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        "import os\nasync def main(ep):\n    open(__file__, 'w').close()\n    os.chdir('/')\n    raise ValueError\n"
    )
    assert "    raise ValueError\n" in command("run", "prog.py").err


INVERTS = """
    import numpy as np
    async def main(ep):
        def h(token):
            np.linalg.inv(np.zeros((3, 4)))
        await ep.attach(h)
"""
SQUARE = "numpy.linalg.LinAlgError: Last 2 dimensions of the array must be square\n"


def test_an_error_inside_a_library_ends_at_the_programs_line(shown):
    assert shown(f"{INVERTS}        h(None)") == (
        f'{TOP}  File "prog.py", line 6, in main\n'
        "    h(None)\n"
        '  File "prog.py", line 4, in h\n'
        f"    np.linalg.inv(np.zeros((3, 4)))\n{SQUARE}"
        "raised by rank 0 at T s\n"
    )


def test_so_does_one_that_a_handler_raises(shown):
    text = shown(f"{INVERTS}        await ep.request_short(ep.rank, h)\n        await ep.poll()", "--ranks", "1")
    assert text == (
        f'{TOP}  File "prog.py", line 4, in h\n'
        f"    np.linalg.inv(np.zeros((3, 4)))\n{SQUARE}"
        "in handler 'h' on rank 0, for a request from rank 0\n"
        "raised by rank 0 at T s\n"
    )


def test_the_lines_of_the_library_are_shown_where_that_is_wanted(shown):
    text = shown(f"{INVERTS}        h(None)", "--traceback")
    assert f'in inv\n    _assert_stacked_square(a)\n  File "{np.linalg.__path__[0]}' in text
    assert text.endswith(f"{SQUARE}raised by rank 0 at T s\n")


def test_a_program_that_lies_among_the_libraries_shows_its_lines(command, tmp_path, monkeypatch):
    """As one that has been installed."""
    monkeypatch.setattr(folders, "_LIBRARIES", (f"{tmp_path}/", *folders._LIBRARIES))
    path = tmp_path / "prog.py"
    path.write_text("def fail():\n    raise LookupError('mine')\nasync def main(ep):\n    fail()\n")
    status, out, err = command("run", str(path), "--conduit", "loggp")
    assert (status, out) == (1, "")
    assert err.startswith(
        f'{TOP}  File "{path}", line 4, in main\n    fail()\n  File "{path}", line 2, in fail\n'
        "    raise LookupError('mine')\nLookupError: mine\nraised by rank 0"
    )


def test_an_event_that_nothing_can_call_is_told_without_a_traceback(command, tmp_path, monkeypatch):
    """No line of anybody's program has raised it: what schedules such events in a plug-in is not known any more."""
    begin_pass = LoggpTransport.begin_pass

    def begin(self):
        self.port.kernel.at(self.port.kernel.now, 3)
        begin_pass(self)

    monkeypatch.setattr(LoggpTransport, "begin_pass", begin)
    source = "async def main(ep):\n    def h(token): pass\n    await ep.attach(h)\n    await ep.request_short(0, h)\n"
    (tmp_path / "prog.py").write_text(source)
    err = command("run", str(tmp_path / "prog.py"), "--conduit", "loggp").err
    assert err == (
        "TypeError: an event is to call 3; kernel.at(when, f, x) calls f(x) then, and kernel.at(when, f(x)) calls it "
        "now; `python -X dev -m conduit ...` shows the line that schedules it\n"
        "raised by an event of no rank at 0.000007011 s\n"
    )


UNSAID = """
class Mute(Exception):
    def __str__(self):
        return 1 / 0

async def main(ep, where):
    def fail(token):
        raise Mute

    await ep.attach(fail)
    if where == "group" and ep.rank == 1:
        raise ExceptionGroup("two", [ValueError("mine"), Mute()])
    if where == "all" or where == "main" and ep.rank == 1:
        raise Mute
    if where == "handler" and ep.rank == 1:
        await ep.request_short(0, fail)
    await ep.block_until(lambda: where == "predicate" and fail(None))
"""


@pytest.mark.parametrize(
    ("where", "line", "rank"),
    [
        ("main", "13, in main\n    raise Mute\n", 1),
        ("all", "13, in main\n    raise Mute\n", 0),
        ("handler", "7, in fail\n    raise Mute\n", 0),
        ("predicate", "7, in fail\n    raise Mute\n", 0),
    ],
)
def test_an_error_that_cannot_say_what_it_is_is_shown_with_its_own_line_and_rank(shown, where, line, rank):
    text = shown(UNSAID, where)
    assert line in text
    assert "Mute: <exception str() failed>\n" in text
    assert f"raised by rank {rank} at T s\n" in text
    assert "ZeroDivisionError" not in text


def test_in_a_group_an_error_that_cannot_say_what_it_is_stands_beside_the_others(shown):
    text = shown(UNSAID, "group")
    assert "    | ValueError: mine\n" in text
    assert ".Mute: <exception str() failed>\n" in text
    assert "raised by rank 1 at T s\n" in text
    assert "ZeroDivisionError" not in text
