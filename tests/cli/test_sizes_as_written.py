"""Sizes in messages: as the user has written them, `--segment 100G`, and what is allowed in such units too."""

import pytest

from conduit.commands.sizes_as_written import in_units


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["run", "PROGRAM", "--segment", "100G"],
            "run: --segment 100G: the SCI driver gives at most 2M of contiguous memory; ask for at most 2M",
        ),
        (
            ["run", "PROGRAM", "--segment=3072k"],
            "run: --segment 3072k: the SCI driver gives at most 2048K of contiguous memory; ask for at most 2048K, or "
            "use sci:patched=yes",
        ),
        (
            ["run", "PROGRAM", "--segment", "107374182400"],
            "run: --segment 107374182400: the SCI driver gives at most 2097152 bytes of contiguous memory; ask for at "
            "most 2097152",
        ),
        (
            ["run", "PROGRAM", "--segment", "100G", "--conduit", "sunfire"],
            "run: --segment 100G is over the 16G that 'sunfire' can give; ask for at most that",
        ),
        (["testam", "--max-size", "100G"], "testam: --max-size 100G is too large; it must be below 2G"),
        (["mpi-pingpong", "--min-size=4G"], "mpi-pingpong: --min-size 4G is too large; it must be below 2G"),
        (
            ["testam", "--max-size", "1K", "--min-size", "1M"],
            "testam: --max-size 1K is below the smallest size of 1M; raise it to at least that",
        ),
        (
            ["testsmall", "--max-size", "4M"],
            "testsmall: --max-size 4M needs segment=4M: the SCI driver gives at most 2M of contiguous memory; ask for "
            "at most 2M, or use sci:patched=yes",
        ),
        (
            ["explain", "--size", "4M", "--category", "medium"],
            "explain: --size 4M is more than a medium message carries on 'sci': at most 2K",
        ),
        (
            ["compare", "--out", "OUT", "--max-size", "100G"],
            "compare: testam: --max-size 100G is too large; it must be below 2G",
        ),
    ],
)
def test_a_size_that_is_refused_is_told_in_the_units_it_was_given_in(command, tmp_path, words, message):
    program = tmp_path / "it.py"
    program.write_text("async def main(ep): pass")
    named = {"PROGRAM": str(program), "OUT": str(tmp_path / "out")}
    status, out, err = command(*(named.get(word, word) for word in words))
    assert (status, out) == (2, "")
    assert err == f"conduit {message}\n"


@pytest.mark.parametrize(
    ("words", "text", "shown"),
    [
        (["--segment", "64K"], "ranks=9 does not fit, with room for 65 ranks on each of 1024 hosts", None),
        (["--segment", "64K"], "65536 hosts hold 1024 ranks", None),  # of what is no size
        (["--size", "1_024K"], "--size 1048576 is over 1000 bytes", "--size 1_024K is over 1000 bytes"),
        (["--size", "3M"], "--size 3145728 is over 1536 bytes", "--size 3M is over 1536 bytes"),
        (["--size", "3M"], "at most 10485760 bytes", None),  # not of what was given
        (["--size", "0K"], "--size 0: at least 8192 bytes", "--size 0K: at least 8K"),
    ],
)
def test_only_sizes_are_in_units_and_only_whole_ones(words, text, shown):
    assert in_units(text, words) == (text if shown is None else shown)
