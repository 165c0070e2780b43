"""What is given to be called - main, actions of layers, what is decorated - and cannot be called as it is to be."""

import functools
import gc
import warnings

import pytest
import trio

import conduit


class _Calls:
    """Has functions of all kinds that are none of `async def main(ep)`."""

    def __call__(self, ep):
        return 3

    def plain(self, ep):
        return 3

    async def method(self, ep):
        return ep.rank

    async def two(self, ep, more):
        return more


@pytest.mark.parametrize(
    ("main", "why"),
    [
        (_Calls(), r"<.*_Calls object> is an object whose `__call__` is an ordinary function; write `async def main"),
        (_Calls().plain, r"<bound method _Calls\.plain of .*> is an ordinary function; write `async def main"),
        (repr, "repr returned a str, which cannot be awaited"),  # of which nothing can be seen before it is called
    ],
)
def test_a_main_that_is_not_async_is_refused(main, why):
    with pytest.raises(conduit.BadRequest, match=rf"\Arun: main={why}"):
        conduit.run(main, conduit="loggp")


@pytest.mark.parametrize(
    ("main", "args", "why"),
    [
        (_Calls().method, (1,), "too many positional arguments"),
        (functools.partial(_Calls().two, 1), (2,), "too many positional arguments"),
    ],
)
def test_a_main_that_does_not_take_what_it_is_called_with_is_refused(main, args, why):
    message = rf"\Arun: main=.*\(.*\) cannot be called with an endpoint and {len(args)} arguments?: {why}; write"
    with pytest.raises(conduit.BadRequest, match=message) as caught:
        conduit.run(main, *args, conduit="loggp")
    assert not hasattr(caught.value, "__notes__")  # before any rank began


def test_the_name_of_a_file_is_told_the_command_that_runs_it():
    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run("double.py")
    assert str(caught.value) == (
        "run: main='double.py' cannot be called; write `async def main(ep, *args)`; the program of a file is run by "
        "`conduit run double.py`"
    )


def test_a_method_of_no_object_is_told_to_be_taken_of_one():
    message = r"\(self, ep\) is a method of no object; give that of one, as conduit.run\(_Calls\(\).method, ...\)\Z"
    with pytest.raises(conduit.BadRequest, match=message):
        conduit.run(_Calls.method, conduit="loggp")


def test_a_main_may_be_decorated_or_bound():
    def with_more(function):
        @functools.wraps(function)
        async def main(ep):
            return await function(ep, "more")

        return main

    async def two(ep, more):
        return more

    assert conduit.run(with_more(two), conduit="loggp").values == ["more", "more"]
    assert conduit.run(_Calls().method, conduit="loggp").values == [0, 1]
    assert conduit.run(functools.partial(_Calls().two, more=5), conduit="loggp").values == [5, 5]


async def _one_argument(given):
    pass


def _generator():
    yield


async def _async_generator():
    yield


@pytest.mark.parametrize("register", ["on_exit", "on_progress"])
@pytest.mark.parametrize(
    ("function", "why"),
    [
        (3, "function=3 cannot be called"),
        (_one_argument, r"function=_one_argument takes arguments \(missing a required argument: 'given'\)"),
        (_generator, "function=_generator is a generator function"),
        (_async_generator, "function=_async_generator is a generator function"),
    ],
)
def test_an_action_that_is_no_async_function_is_refused_at_once(register, function, why):
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=rf"\Aep\.{register}: {why}; pass an async function of no arg"):
            getattr(ep, register)(function)

    conduit.run(main, ranks=1, conduit="loggp")


def _gives_nothing():
    print("the end")


def _gives_a_constant(more=1):
    if more:
        return 3
    return 4


class _Tidies:
    def __call__(self):
        if self:
            return None
        with open("file") as file:
            file.write("x")

    def tidy(self):
        for _ in range(3):
            pass


@pytest.mark.parametrize("register", ["on_exit", "on_progress"])
@pytest.mark.parametrize(
    ("function", "name"),
    [
        (_gives_nothing, "_gives_nothing"),
        (_gives_a_constant, "_gives_a_constant"),
        (_Tidies().tidy, "tidy"),
    ],
)
def test_an_ordinary_function_that_gives_nothing_to_await_is_refused_at_once(register, function, name):
    async def main(ep):
        with pytest.raises(conduit.BadRequest) as refused:
            getattr(ep, register)(function)
        return str(refused.value)

    assert conduit.run(main, ranks=1, conduit="loggp").values == [
        f"ep.{register}: function={name} is an ordinary function, which gives nothing to await; pass an async function "
        f"of no arguments: write `async def {name}`"
    ]


def test_an_exit_function_that_ends_the_job_need_give_nothing():
    async def main(ep):
        def stop():
            ep.exit(3)

        ep.on_exit(stop)

    with pytest.raises(SystemExit) as ended:
        conduit.run(main, ranks=2, conduit="loggp")
    assert ended.value.code == 3


@pytest.mark.parametrize("function", [lambda: None, _Tidies(), functools.partial(_gives_a_constant, 2)])
def test_what_has_no_name_and_gives_nothing_to_await_is_refused_at_once(function):
    async def main(ep):
        with pytest.raises(conduit.BadRequest) as refused:
            ep.on_exit(function)
        return str(refused.value)

    (text,) = conduit.run(main, ranks=1, conduit="loggp").values
    assert text.startswith("ep.on_exit: function=")
    assert text.endswith("which gives nothing to await; pass an async function of no arguments")


def _may_give(ep):
    """What only its call tells."""

    def plain():
        return ep.rank

    def sometimes():
        return 3 if ep.rank >= 0 else ep.poll()

    return [("plain", plain), ("<lambda>", lambda: len([1])), ("sometimes", sometimes)]


@pytest.mark.parametrize("register", ["on_exit", "on_progress"])
@pytest.mark.parametrize("number", range(3))
def test_an_action_that_turns_out_not_to_be_async_is_refused(register, number):
    names = []

    async def main(ep):
        name, function = _may_give(ep)[number]
        place = f" ({__file__}:{function.__code__.co_firstlineno})" if name == "<lambda>" else ""
        names.append(f"{name}{place}")
        getattr(ep, register)(function)
        ep.want_progress()
        await ep.poll()

    with pytest.raises(conduit.BadRequest) as refused:
        conduit.run(main, ranks=1, conduit="loggp")
    assert str(refused.value).startswith(
        f"ep.{register}: function={names[0]} returned a int, which cannot be awaited; pass an async function"
    )


@pytest.mark.parametrize("register", ["on_exit", "on_progress"])
def test_an_action_may_be_whatever_gives_something_to_await(register):
    async def main(ep, done):
        async def note(name):
            done.append(name)

        for action in (functools.partial(note, "partial"), lambda: note("lambda"), trio.lowlevel.checkpoint):
            getattr(ep, register)(action)
        ep.want_progress()
        await ep.poll()
        ep.on_exit(functools.partial(note, "end"))
        return done

    found = set(conduit.run(main, [], ranks=1, conduit="loggp").values[0])
    assert found == {"partial", "lambda", "end"}


def test_an_action_for_the_exit_that_comes_too_late_is_refused():
    async def last():
        pass

    async def main(ep):
        def register(token):
            ep.on_exit(last)

        await ep.attach(register)
        if ep.rank == 1:
            await ep.compute(1e-3)  # rank 0 has returned by then, and serves
            await ep.request_short(0, register)

    with pytest.raises(conduit.HandlerError, match=r"BadRequest: ep\.on_exit: .*returned.*; register last before"):
        conduit.run(main, conduit="loggp")


def test_an_action_for_the_exit_may_register_others():
    async def main(ep, order):
        async def first():
            order.append("first")
            ep.on_exit(second)

        async def second():
            order.append("second")

        ep.on_exit(first)
        return order

    assert conduit.run(main, [], conduit="loggp", ranks=1).values == [["first", "second"]]


def test_a_decorator_says_what_it_cannot_decorate():
    def plain(given):
        return given

    with pytest.raises(conduit.BadRequest, match=r"\Achecked_call: check=3 cannot be called"):
        conduit.checked_call(3)
    bare = conduit.checked_call(plain)  # taken for the check of what is to be decorated
    with pytest.raises(conduit.BadRequest, match=r"\Achecked_call: 1 is no .*; used without parentheses, as on plain,"):
        bare(1)


def test_a_decorated_function_that_is_not_async_is_refused_when_it_is_awaited():
    @conduit.checked_call()
    def plain(given):
        return given

    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=r"\Achecked_call: .* returned a int, which cannot be awaited"):
            await plain(1)
        plain(2)
        gc.collect()
        await ep.poll()

    with pytest.raises(conduit.BadRequest, match=r"plain\(2\) at .* was called but never awaited"):
        conduit.run(main, ranks=1, conduit="loggp")


class Layer:
    """A layer whose calls check their arguments themselves."""

    def call(self, number):
        if number < 0:
            raise conduit.BadRequest(f"Layer.call: number={number} is negative")
        return self._guarded_call(conduit.call_guard("Layer.call"), number)

    async def _guarded_call(self, unused, number):
        unused.clear()
        return number + 1


def test_a_call_with_a_guard_of_its_own_checks_and_runs():
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=r"\ALayer.call: number=-1 is negative"):
            Layer().call(-1)
        return await Layer().call(1)

    assert conduit.run(main, ranks=1, conduit="loggp").values == [2]


def test_a_call_with_a_guard_of_its_own_is_noticed_when_it_is_forgotten():
    async def main(ep):
        Layer().call(1)
        gc.collect()
        await ep.poll()

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # and Python says nothing of its own
        with pytest.raises(
            conduit.BadRequest, match=r"\ALayer\(\)\.call\(1\) at .*given\.py:\d+ was called but never aw"
        ):
            conduit.run(main, ranks=1, conduit="loggp")


def test_a_call_with_a_guard_of_its_own_is_refused_in_handlers():
    async def main(ep):
        def handler(token):
            Layer().call(1)

        await ep.attach(handler)
        await ep.request_short(0, handler)

    with pytest.raises(conduit.HandlerError, match=r"Layer\.call: called in handler 'handler', which may not wait"):
        conduit.run(main, ranks=1, conduit="loggp")


def test_a_type_error_of_a_decorated_function_is_its_own():
    @conduit.checked_call
    async def broken():
        raise TypeError("the program's own")

    async def main(ep):
        await broken()

    with pytest.raises(TypeError, match=r"\Athe program's own\b"):
        conduit.run(main, ranks=1, conduit="loggp")
