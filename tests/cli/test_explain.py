"""`conduit explain`."""

import json
import re

import pytest


def test_a_table_and_the_constants_behind_it(command):
    status, out, err = command("explain", "--size", "100")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "round trip, medium, 100 bytes, on sci: 16.917054 us"
    assert len(lines[1]) == 100
    assert set(lines[1]) <= set("ps-nra")
    assert "send: store header" in out
    assert "am.build  0.9 us, anchor: 1.800 us, 10.6 %" in lines
    assert out.endswith("of no constant: 0.053 us, 0.3 %\n")


def test_a_copy_on_a_host_of_default_costs_names_its_constant(command):
    """A network that says nothing else of its hosts has the constants that every `HostModel` has."""
    out = command("explain", "--conduit", "loggp", "--op", "get", "--size", "10000").out
    assert re.search(r" 10\.000 +15\.6 +0 +reply +copy +host\.copy_rate\n", out)
    assert "\nhost.copy_rate  1000 MB/s, assumed: 10.000 us, 15.6 %\n" in out
    assert out.endswith("of no constant: 0.004 us, 0.0 %\n")


def test_what_seems_not_to_add_up_has_a_word(command):
    """Rows that overlap, and a constant that is larger than its share."""
    out = command("explain", "--conduit", "t3e", "--op", "get", "--size", "8").out
    assert "move: pull, 2x " in out
    assert '2x, 3x: in so many parts, with other rows between them; "at" is when the first one begins\n' in out
    assert "get.8  3.7 us, anchor: 2.340 us, 70.1 %, in part\n" in out
    assert "\nin part: less than one whole time of it is counted here. " in out
    assert "link.hop  40 ns, assumed: 0.080 us, 2.4 %\n" in out  # two whole ones
    simple = command("explain", "--conduit", "loggp:set=myrinet2000", "--size", "64").out
    assert "in part" not in simple


def test_json_adds_up(command, tmp_path):
    status, out, _ = command("explain", "--conduit", "t3e", "--op", "get", "--size", "1K", "--json", "-")
    assert status == 0
    found = json.loads(out)
    assert (found["operation"], found["category"], found["bytes"]) == ("get", None, 1024)
    assert sum(step["ps"] for step in found["steps"]) == found["ps"]
    assert {step["rank"] for step in found["steps"]} <= {0, 1, None}
    named = sum(each["ps"] for each in found["constants"])
    assert named == sum(sum(step["constants_ps"].values()) for step in found["steps"])
    assert all(each["source"] and each["kind"] for each in found["constants"])
    path = tmp_path / "life.json"
    assert command("explain", "--conduit", "t3e", "--op", "get", "--size", "1K", "--json", str(path)).out
    assert json.loads(path.read_text()) == found


def test_a_picture(command, tmp_path):
    path = tmp_path / "life.svg"
    words = "explain", "--conduit", "loggp", "--size", "100", "--svg"
    assert command(*words, str(path)).out.startswith("round trip, medium, 100 bytes, on loggp: ")
    drawn = path.read_text()
    assert "round trip, medium, 100 bytes, on loggp: " in drawn
    assert drawn.startswith("<svg ")
    assert command(*words, "-").out == drawn
    status, out, err = command(*words, "-", "--json", "-")
    assert (status, out) == (2, "")
    assert "--json - and --svg - would both be printed; name a file for one of them" in err
    status, out, err = command(*words, str(path), "--json", str(path))
    assert (status, out) == (2, "")
    assert f"--json {path} and --svg {path} would be written to one file; name another for one of them" in err


@pytest.mark.parametrize(("size", "category"), [("0", "short"), ("1", "medium"), ("2K", "medium"), ("2049", "long")])
def test_the_category_that_carries_the_size(command, size, category):
    assert command("explain", "--size", size).out.startswith(f"round trip, {category}, ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--conduit", "mpi:library=mpi4py"), "runs in real time, and only simulated networks can be explained"),
        (("--op", "push"), "--op push is no operation; there are: am, get, put"),
        (("--op", "put", "--category", "long"), "--category long is of messages, and --op put has none; leave it out"),
        (
            ("--category", "short", "--size", "1"),
            "is more than a short message carries on 'sci': at most 0 bytes",
        ),
        (
            ("--category", "medium", "--size", "1M"),
            "is more than a medium message carries on 'sci': at most 2K",
        ),
        (("--size", "1G"), "is more than a long message carries on 'sci'"),
        (("--size", "-1"), "-1"),
        (("--json", "no/such/file"), "name a file in a folder that exists"),
    ],
)
def test_wrong_calls(command, words, told):
    status, out, err = command("explain", *words)
    assert (status, out) == (2, "")
    assert told in err


def test_a_seed_draws_what_a_network_loses(command):
    first, again, other = (
        command("explain", "--conduit", "udp:loss=0.5", *words).out for words in ((), (), ("--seed", "4"))
    )
    assert first == again != other
    assert command("explain", "--conduit", "loggp", "--seed", "4").out == command("explain", "--conduit", "loggp").out


@pytest.mark.parametrize(
    ("spec", "op", "tries", "options"),
    [
        ("udp:loss=1", "am", 25, "loss=1 (probability that a frame is lost; 0 by default)"),
        (
            "udp:loss=1,tries=4",
            "get",
            4,
            "loss=1 (probability that a frame is lost; 0 by default), tries=4 (how often a datagram is sent before its "
            "receiver counts as unreachable; 25 by default)",
        ),
    ],
)
def test_what_a_network_never_carries_is_told_with_its_options(command, spec, op, tries, options):
    """And with no line of the program that is explained, which users have not written."""
    status, out, err = command("explain", "--conduit", spec, "--op", op, "--size", "8")
    assert (status, out) == (1, "")
    assert err == (
        f"conduit explain: '{spec}' never carries the exchange, so that there is nothing to explain: nothing gets from "
        f"rank 0 to rank 1 and back: a datagram was sent {tries} times without an acknowledgement; leave out or change "
        f"what was given of its options: {options}\n"
    )
