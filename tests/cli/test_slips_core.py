"""What `conduit run` says of slips with calls of the core and of the extended API: the exact words."""

import pytest

import conduit
from extended import Extended

CORE = "async def main(ep):\n    def h(token, n): {}\n    await ep.attach(h)\n    {}"
EXTENDED = "from extended import Extended\nasync def main(ep):\n    x = await Extended.attach(ep)\n    "
OWN = (
    "from extended import Extended\nasync def total(x, v): return int(await x.all_reduce(v))\nasync def main(ep):\n"
    "    x = await Extended.attach(ep)\n    "
)
HOLDER = (
    "from extended import Extended\nclass Holder: pass\nasync def main(ep):\n    x = await Extended.attach(ep)\n    "
)
INIT = (
    "from extended import Extended\nclass Held:\n    def __init__(self, x): self.place = x.all_alloc(80)\n"
    "async def main(ep):\n    x = await Extended.attach(ep)\n    Held(x).place + 8"
)
NEVER = "{} at prog.py:{} was called but never awaited, so it did nothing; "
TOTAL = NEVER.format("total(x, 1)", 5) + "write `await total(x, 1)`"
ALLOC = NEVER.format("x.all_alloc(80)", "{}") + "write `await x.all_alloc(80)`"
PLACE = ALLOC.format(5)
LATER = (
    " was called in a handler, which may not wait, so it did nothing; a handler may reply through its token and use "
    "ep.charge; let it set a flag and do the rest after block_until, or in ep.on_progress"
)

OWN_LAYER = (
    "import conduit\nimport numpy as np\nclass Own:\n    @conduit.checked_call()\n"
    "    async def get(self, dest, offset, nbytes) -> np.ndarray: return np.zeros(8)\n"
    "async def main(ep):\n    await ep.attach()\n    "
)
UNAWAITED = {
    # A function of the program's own, whose coroutine is kept.
    OWN + "t = total(x, 1)\n    t + 1": TOTAL,
    OWN + "total(x, 1).real": TOTAL,
    OWN + "t = total(x, 1)\n    t.real": TOTAL,
    OWN + "t = [total(x, 1)]\n    t[0] + 1": TOTAL,
    OWN + "t = total(x, 1)\n    await x.put(t, 0, b'a')": TOTAL,
    OWN + "t = total(x, 1)\n    raise ValueError('other')": TOTAL,
    OWN + "t = {0: total(x, 1)}\n    t[0] + 1": TOTAL,
    OWN + "t = total(x, 1)\n    s = total(x, 2)\n    t + 1": TOTAL,
    # One of this package, kept where no variable has it.
    HOLDER + "h = Holder(); h.place = x.all_alloc(80)\n    h.place + 8": PLACE,
    HOLDER + "h = {'place': x.all_alloc(80)}\n    h['place'] + 8": PLACE,
    HOLDER + "import numpy\n    numpy.array([x.all_alloc(80) for _ in 'ab']).sum()": ALLOC.format(6),
    HOLDER + "h = Holder(); h.place = x.all_alloc(80)\n    assert h.place == 0, 'other'": PLACE,
    INIT: ALLOC.format(3) + " where the object is made, and give __init__ what that gives: it cannot wait itself",
    # In a lambda.
    EXTENDED + "list(map(lambda r: x.get(r, 0, 8), range(2)))[0][0]": (
        NEVER.format("x.get(r, 0, 8)", 4)
        + "a lambda cannot wait: write `[await x.get(r, 0, 8) for r in range(2)]` in the place of `map`"
    ),
    EXTENDED + "sorted(range(2), key=lambda r: x.get_value(r, 0))": (
        NEVER.format("x.get_value(r, 0)", 4)
        + "a lambda cannot wait: write `[await x.get_value(r, 0) for r in ...]` before it, and use what that gives"
    ),
    EXTENDED + "f = lambda: x.get_value(0, 0)\n    f() + 1": (
        NEVER.format("x.get_value(0, 0)", 4) + "a lambda cannot wait itself: write `await` where the lambda is called"
    ),
    EXTENDED + "f = lambda: [x.get_value(0, 0)]\n    f()[0] + 1": (
        NEVER.format("x.get_value(0, 0)", 4)
        + "a lambda cannot wait: write `value = await x.get_value(0, 0)` before it, and use that"
    ),
    EXTENDED + "await ep.block_until(lambda: x.barrier())": (
        NEVER.format("x.barrier()", 4)
        + "a predicate cannot wait: let it look at what this rank has, as ep.segment or what a handler has kept, or "
        "write `await x.barrier()` in its place"
    ),
    EXTENDED + "await ep.block_until(lambda: x.get_value(0, 0))": (
        NEVER.format("x.get_value(0, 0)", 4)
        + "a predicate cannot wait: let it look at what this rank has, as ep.segment or what a handler has kept, or "
        "write a loop in its place, `while not await x.get_value(0, 0): pass`"
    ),
    **{
        f"{EXTENDED}await ep.block_until(lambda: {call}{given})": (
            "conduit.errors.BadRequest: " * given.startswith((" == 3", " == b"))  # which any coroutine can be asked
            + NEVER.format(call, 4)
            + "a predicate cannot wait: let it look at what this rank has, as ep.segment or what a handler has kept, "
            f"or write a loop in its place, {loop}"
        )
        for call, given, loop in [
            ("x.get(0, 0, 8)", "", "`while not await x.get_value(0, 0, 8): pass`"),
            ("x.get(0, 0, 8)", " == 3", "`while not await x.get_value(0, 0, 8) == 3: pass`"),
            ("x.get(0, 0, 2)", " == b'ab'", "`while not bytes(await x.get(0, 0, 2)) == b'ab': pass`"),
            ("x.get(0, 0, 9)", " == 3", "`while not (await x.get(0, 0, 9) == 3).all(): pass`, or with `.any()`"),
            ("x.get(0, 0, 9)", "", "`while not (await x.get(0, 0, 9)).all(): pass`, or with `.any()`"),
            ("x.get(0, 0, 9)", "[0] == 3", "`while not (await x.get(0, 0, 9))[0] == 3: pass`"),
            (
                "x.get(0, 0, 8)",
                " == ep.segment[:8]",
                "`while not (await x.get(0, 0, 8) == ep.segment[:8]).all(): pass`, or with `.any()`",
            ),
            ("x.get(0, 0, out=ep.segment[:9])", "", "`while not await x.get(0, 0, out=ep.segment[:9]): pass`"),
        ]
    },
    OWN_LAYER + "await ep.block_until(lambda: Own().get(0, 0, 8))": (  # which has no other method for numbers
        NEVER.format("Own().get(0, 0, 8)", 8)
        + "a predicate cannot wait: let it look at what this rank has, as ep.segment or what a handler has kept, or "
        "write a loop in its place, `while not (await Own().get(0, 0, 8)).all(): pass`, or with `.any()`"
    ),
    **{
        f"{EXTENDED}await ep.block_until({call})": (
            f"`{call.partition('.')[2]}` waits, and a predicate cannot wait: let it look at what this rank has, as "
            "ep.segment or what a handler has kept, or `await` that call in the place of `ep.block_until`"
        )
        for call in ("ep.poll", "x.barrier")
    },
    EXTENDED + "def come():\n        x.get_nb(0, 0, 8)\n        return False\n    await ep.block_until(come)": (
        "conduit.errors.BadRequest: "
        + NEVER.format("x.get_nb(0, 0, 8)", 5)
        + "a predicate cannot wait: let it look at what this rank has, as ep.segment or what a handler has kept, or "
        "write a loop in its place, which may `await`"
    ),
    # In a generator, which with `await` would be none that can be read.
    EXTENDED + "sum(x.get_value(r, 0) for r in range(2))": (
        NEVER.format("x.get_value(r, 0)", 4) + "write `[await x.get_value(r, 0) for r in range(2)]`, with the brackets"
    ),
    EXTENDED + "sum(int(x.get(r, 0, 8)[0]) for r in range(2))": (
        NEVER.format("x.get(r, 0, 8)", 4)
        + "write `[int((await x.get(r, 0, 8))[0]) for r in range(2)]`, with the brackets"
    ),
    EXTENDED + "sum(r for r in x.get(1, 0, 8))": NEVER.format("x.get(1, 0, 8)", 4) + "write `await x.get(1, 0, 8)`",
    EXTENDED + "sum(await x.get_value(r, 0) for r in range(2))": (
        "with `await` in it this is no list: put it into brackets, `sum([await x.get_value(r, 0) for r in range(2)])`"
    ),
    EXTENDED + "await x.wait_all(await x.get_nb(r, 0, 8) for r in range(2))": (
        "with `await` in it this is no list: put it into brackets, `x.wait_all([await x.get_nb(r, 0, 8) for r in "
        "range(2)])`"
    ),
    # In a plain function.
    EXTENDED + "def total(v): return x.all_reduce(v)\n    t = total(1)\n    t * 2": (
        NEVER.format("x.all_reduce(v)", 4)
        + "write `await x.all_reduce(v)`, and total as `async def`, which is awaited "
        "too"
    ),
}


@pytest.mark.filterwarnings("always:coroutine:RuntimeWarning")
@pytest.mark.parametrize("source", UNAWAITED)
def test_a_call_that_is_not_awaited_is_told_once(shown, source):
    lines = shown(source)
    assert UNAWAITED[source] in lines
    beside = [each for each in lines if "never awaited" in each and each != UNAWAITED[source]]
    assert [each for each in beside if "total(x, 2)" not in each] == []
    assert "RuntimeWarning" not in "\n".join(lines)


@pytest.mark.filterwarnings("always:coroutine:RuntimeWarning")
@pytest.mark.parametrize("call", ["trio.sleep(1)", "log(n)"])
def test_a_call_that_a_handler_cannot_await_is_told_what_it_may_do(command, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        "import trio\nasync def log(n): print(n)\nasync def main(ep):\n    got = []\n    def a(token, n):\n"
        f"        {call}\n        got.append(n)\n    await ep.attach(a)\n    await ep.request_short(1 - ep.rank, a, 4)"
        "\n    await ep.block_until(lambda: got)"
    )
    status, _, err = command("run", "prog.py", "--conduit", "loggp")
    assert (status, err) == (0, f"warning from ranks 0-1: {call} at prog.py:6{LATER}\n")


@pytest.mark.filterwarnings("always:coroutine:RuntimeWarning")
def test_what_a_handler_has_kept_of_such_a_call_is_told_too(shown):
    lines = shown(
        "async def log(n): print(n)\nasync def main(ep):\n    def a(token, n):\n        kept = log(n)\n        kept + 1"
        "\n    await ep.attach(a)\n    await ep.request_short(1 - ep.rank, a, 4)\n    await ep.block_until(bool)"
    )
    assert f"log(n) at prog.py:4{LATER}" in lines


@pytest.mark.filterwarnings("always:coroutine:RuntimeWarning")
def test_a_script_is_told_of_such_a_call_once(capsys):
    async def total(ep: conduit.Endpoint) -> int:
        return ep.rank

    async def main(ep: conduit.Endpoint) -> None:
        kept = total(ep)
        kept + 1  # type: ignore[operator]

    with pytest.raises(TypeError) as caught:
        conduit.run(main, conduit="loggp")
    said = [each for each in caught.value.__notes__ if "never awaited" in each]
    assert len(said) == 1
    assert "write `await total(ep)`" in said[0]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "list(map(lambda r: await x.get(r, 0, 8), range(2)))",
            "a lambda cannot wait: write `[await x.get(r, 0, 8) for r in range(2)]` in the place of `map`",
        ),
        (
            "await ep.block_until(lambda: await x.get_value(0, 0))",
            "a predicate cannot wait: let it look at what this rank has, as ep.segment or what a handler has kept, or "
            "write a loop in its place, `while not await x.get_value(0, 0): pass`",
        ),
        (
            "await ep.block_until(lambda: await x.get(0, 0, 16) == 3)",
            "a predicate cannot wait: let it look at what this rank has, as ep.segment or what a handler has kept, or "
            "write a loop in its place, `while not await x.get(0, 0, 16) == 3: pass`; end it with `.all()` where that "
            "gives an array",
        ),
    ],
)
def test_an_await_in_a_lambda_is_told_what_to_write(command, tmp_path, monkeypatch, body, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(EXTENDED + body)
    status, _, err = command("run", "prog.py", "--conduit", "loggp")
    assert status == 2
    assert err.splitlines()[0] == (f"conduit run: prog.py, line 4 is no Python: 'await' outside async function; {said}")


ATTACHED = ", after `from extended import Extended`, then `x = await Extended.attach(ep)`"
IN_HANDLER = "await ep.request_short(1 - ep.rank, h, 1)\n    await ep.block_until(bool)"
NAMES = {
    CORE.format("ep.reply_short(h, n)", IN_HANDLER): (
        "Endpoint has no reply_short; write `token.reply_short(handler, *args)`, in a handler"
    ),
    CORE.format("token.request_short(0, h)", IN_HANDLER): (
        "Token has no request_short; a handler cannot send requests: let it take note of what to send, and send that "
        "from main, or in ep.on_progress"
    ),
    CORE.format("pass", "await ep.wait_until(bool)"): (
        "Endpoint has no wait_until; write `await ep.block_until(predicate)`"
    ),
    CORE.format("pass", "await ep.bcast(1)"): (
        f"Endpoint has no bcast; write `await x.broadcast(array, root)`{ATTACHED}"
    ),
    CORE.format("pass", "ep.memory"): "Endpoint has no memory; write `ep.segment`",
    CORE.format("pass", "ep.abort(1)"): "Endpoint has no abort; write `ep.exit(code)`",
    CORE.format("pass", "ep.Wtime()"): "Endpoint has no Wtime; write `ep.now`",
    CORE.format("pass", "ep.Barrier()"): (
        "Endpoint has no Barrier, but Extended has barrier: `from extended import Extended`, then `x = await "
        "Extended.attach(ep)` and `await x.barrier()`"
    ),
    EXTENDED + "h = await x.get_nb(0, 0, 8)\n    h.value": "h is a Handle: write `await h`",
    EXTENDED + "x.lock('a').try_lock()": (
        "Lock has no try_lock; write `await lock.try_acquire()`, which takes it if it is free, or says that it is not"
    ),
    EXTENDED + "x.iput(0, 0, b'a')": "Extended has no iput; write `await x.put_strided(dest, offset, strides, array)`",
    EXTENDED + "x.sum_reduce(1)": "Extended has no sum_reduce; write `await x.all_reduce(array, 'sum')`",
    EXTENDED + "x.team_split_strided(0, 1)": (
        "Extended has no team_split_strided; write `team = await x.split(color)`"
    ),
    EXTENDED + "x.put_signal(0)": (
        "Extended has no put_signal; write `await x.ep.request_long(dest, handler, payload, offset)`, whose handler is "
        "the signal"
    ),
    EXTENDED + "x.Win_allocate(8)": (
        "Extended has no Win_allocate; write `await x.all_alloc(nbytes)`; windows like MPI's are made by `from "
        "extended.windows import Win`, then `win = await Win.Allocate(nbytes, comm=x)`"
    ),
    EXTENDED + "x.wait_any([])": (
        "Extended has no wait_any; write `await x.wait_some(handles)`, which waits until one of them is done"
    ),
    EXTENDED + "x.gasnet_exit(1)": "Extended has no gasnet_exit, but its ep has: write `x.ep.exit()`",
}


@pytest.mark.parametrize("source", NAMES)
def test_a_name_of_another_library_is_told_what_to_write(shown, source):
    assert NAMES[source] in shown(source)


REFUSED = "conduit.errors.BadRequest: "
NODE = (
    "class Node:\n    def got(self, token, n): pass\nasync def main(ep):\n    one, other = Node(), Node()\n"
    "    await ep.attach(one.got)\n    await ep.request_short(1, {}.got, 1)"
)
OTHER_METHOD = (
    REFUSED
    + "ep.request_short: handler=got is not the method that is attached, which is bound to one Node: pass it as "
    "it was attached, `node.got`, of that very object (attached: got)"
)
REDEFINED = (
    "async def main(ep):\n    def h(token): pass\n    await ep.attach(h)\n    def h(token): pass\n"
    "    await ep.request_short(1, h)"
)
MADE_TWICE = (
    "def make():\n    def h(token): pass\n    return h\nasync def main(ep):\n    await ep.attach(make())\n"
    "    await ep.request_short(1, make())"
)
NO_BYTES = (
    "import json\nasync def main(ep):\n    def h(token, payload): json.loads(payload)\n    await ep.attach(h)\n"
    "    await ep.request_medium(ep.rank, h, b'[]')\n    await ep.block_until(lambda: False)"
)
NO_INTEGER = "is a float; it must be an integer"
VALUES = {
    NODE.format("Node"): OTHER_METHOD,
    NODE.format("other"): OTHER_METHOD,
    REDEFINED: (
        REFUSED + "ep.request_short: handler=h is not the function that is attached: h of prog.py:2 is, and the one "
        "given is of prog.py:4; give them different names, and attach both (attached: h)"
    ),
    MADE_TWICE: (
        REFUSED + "ep.request_short: handler=h is not the function that is attached: its `def` at prog.py:2 has run "
        "several times and made a new one each time; keep one, and pass that everywhere (attached: h)"
    ),
    NO_BYTES: ("the payload that a handler is given is a memoryview: write `bytes(payload)` where bytes are asked for"),
    EXTENDED + "await x.put_value(0, 0, 1.5)": (
        f"{REFUSED}x.put_value: value=1.5 {NO_INTEGER}; for a float write `x.put(dest, offset, numpy.float64(value))`"
    ),
    EXTENDED + "await x.atomic('i8').fetch_add(0, 0, 0.5)": (
        f"{REFUSED}x.atomic('i8').fetch_add: v=0.5 {NO_INTEGER}; for floats take dtype 'f8'"
    ),
    EXTENDED + "await x.put(ep.size / 2, 0, b'a')": (
        f"{REFUSED}x.put: dest=1.0 {NO_INTEGER}, as `//` gives in the place of `/`, or int(dest)"
    ),
    EXTENDED + "await x.put(1, 1 / 2, b'a')": (
        f"{REFUSED}x.put: offset=0.5 {NO_INTEGER}, as `//` gives in the place of `/`"
    ),
    EXTENDED + "await x.put(ep.rank - 1, 0, b'a')": (
        f"{REFUSED}x.put: dest=-1 is no rank of this job; its ranks are 0 to 1, the rank before rank 0 is `(ep.rank - "
        "1) % ep.size`"
    ),
    EXTENDED + "await x.wait_all([await x.put(1, 0, b'a')])": (
        f"{REFUSED}x.wait_all: handles[0] is no value, no handle: of x.put and the like, which are done when they "
        "return, there is none; handles come from the _nb calls and from access regions"
    ),
    EXTENDED + "await (await x.put(1, 0, b'a'))": (
        "`await x.put(1, 0, b'a')` gives its result, which is no call: write one `await`"
    ),
    EXTENDED + "await x.put(1, 0, x.get(1, 0, 8))": (
        f"{REFUSED}x.put: data is a coroutine, which offers no bytes; give what that call gives: it was not awaited"
    ),
    "from conduit.extended import Extended": (
        "there is no conduit.extended here: write `from extended import Extended`"
    ),
    (
        "import numpy as np\n" + EXTENDED + "def op(a, b): a += b\n    await x.all_reduce(np.arange(3), op)"
    ): "an op must not change its arguments: let it return a new array, such as `a + b`",
    (
        "async def main(ep):\n    def h(token, data): data.view('f8')\n    await ep.attach(h)\n"
        "    await ep.request_medium(1 - ep.rank, h, bytes(8))\n    await ep.block_until(bool)"
    ): "data is memory: write `numpy.frombuffer(data, dtype)`, with the dtype of what was sent",
    (
        "async def main(ep):\n    def h(token, data): data.sum()\n    await ep.attach(h)\n"
        "    await ep.request_medium(1 - ep.rank, h, bytes(8))\n    await ep.block_until(bool)"
    ): "data is memory: write `numpy.frombuffer(data, dtype).sum`, with the dtype of what was sent",
    (
        "async def main(ep):\n    def h(token, data): pass\n    await ep.attach(h)\n"
        "    await ep.request_long_async(1 - ep.rank, h, bytes(8), 0)\n    await ep.block_until(bool)"
    ): (
        "conduit.errors.HandlerError: rank 1: handler 'h' (prog.py:2) made no reply to a long-async request of rank 0, "
        "whose source stays lent until the reply; reply, or send it with request_long"
    ),
}


@pytest.mark.parametrize("source", VALUES)
def test_a_wrong_value_is_told_what_to_write(shown, source):
    assert VALUES[source] in shown(source)


def test_a_job_that_asyncio_is_to_begin_is_told_to_begin_it_alone(tmp_path, ran):
    (tmp_path / "prog.py").write_text(
        "import asyncio, conduit\nasync def main(ep): pass\nasyncio.run(conduit.run(main, ranks=2))\n"
    )
    done = ran("prog.py")
    assert done.stderr.splitlines()[-1] == (
        "programs run on Trio, where nothing of asyncio works: write `conduit.run(main, ranks=2)` by itself: it begins "
        "the job, and returns when that is over"
    )


BY_ITSELF = (
    '`conduit run` calls main by itself: take line {} away, or for a script put `if __name__ == "__main__":` before '
    "it, and `conduit.run(main)` there"
)
IN_PLACE = "`conduit.run(prog)` begins the job: write that in the place of `asyncio.run(prog)`"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("async def main(ep): pass\nasyncio.run(main)", BY_ITSELF.format(3)),
        ("async def main(ep): pass\nasyncio.run(main())", BY_ITSELF.format(3)),
        ('async def main(ep): pass\nif __name__ == "__main__":\n    asyncio.run(main)', BY_ITSELF.format(4)),
        ("async def main(ep): pass\nasyncio.new_event_loop().run_until_complete(main)", BY_ITSELF.format(3)),
        ("async def prog(ep): pass\nasyncio.run(prog)", IN_PLACE),
        ("async def prog(ep): pass\ndef main():\n    asyncio.run(prog)\nmain()", IN_PLACE),
        (
            "async def other(ep): pass\nasync def main(ep): asyncio.run(other)\nconduit.run(main)",
            "programs run on Trio, where nothing of asyncio works: write `await` before the call, and nothing else: "
            "main runs already",
        ),
    ],
)
def test_a_program_that_asyncio_is_to_run_is_told_what_begins_the_job(tmp_path, ran, source, told):
    (tmp_path / "prog.py").write_text(f"import asyncio, conduit\n{source}\n")
    done = ran("prog.py")
    assert [line for line in done.stderr.splitlines() if "Warning" not in line][-1] == told


def test_ranks_that_attach_different_layers_are_told_which(shown):
    source = "from extended import Extended\nasync def main(ep):\n    if ep.rank: await Extended.attach(ep)\n    else: "
    said = shown(source + "await ep.attach()", "--ranks", "2")
    assert said[-1] == (
        "rank 0 has called `ep.attach`, rank 1 has called `Extended.attach`: let every rank make the same calls in the "
        "same order"
    )
    assert (
        "conduit.errors.BadRequest: ep.attach: every rank must pass the same handlers in the same order; rank 0 passed "
        "[], rank 1 passed [put_medium, put_long, fill, complete, get_medium, got_medium, get_long, got_long and 29 "
        "more]"
    ) in said


def test_the_layer_is_known_by_its_first_handler():
    async def main(ep):
        await Extended.attach(ep)
        return ep.handlers.names()[0]

    assert conduit.run(main, ranks=2).values == [Extended._first_handler] * 2
