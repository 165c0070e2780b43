"""Programs that write to what they have kept of an array whose memory was freed."""

import pytest

SHMEM = "api = 'shmem'\nasync def main(pe):\n    a = await pe.zeros(8)\n    await pe.free(a)\n    "
UPC = "api = 'upc'\nasync def main(t):\n    a = await t.all_alloc(8)\n    mine = a.local\n    await t.barrier()\n    "
SLIPS = {
    SHMEM + "a[0] = 1": "a",
    SHMEM + "a += 1": "a",
    UPC + "await t.all_free(a)\n    mine[:] = 1": "mine",
    UPC + "if t.MYTHREAD: await t.free(a)\n    await t.barrier()\n    mine += 1": "mine",
}


@pytest.mark.parametrize("source", SLIPS)
def test_who_writes_to_one_is_told(command, tmp_path, source):
    (tmp_path / "program.py").write_text(source)
    status, _, err = command("run", str(tmp_path / "program.py"), "--conduit", "loggp")
    assert status == 1
    assert "is read-only" in err
    assert err.splitlines()[-1] == (
        f"the memory of {SLIPS[source]} was freed, or the program has made it read-only: use arrays before they are "
        "freed"
    )


def test_nothing_is_said_of_freed_memory_where_an_array_of_the_programs_own_is_read_only(command, tmp_path):
    source = "import numpy as np\nasync def main(ep):\n    a = np.zeros((2, 2)).diagonal()\n    a[0] = 1"
    (tmp_path / "program.py").write_text(source)
    _, _, err = command("run", str(tmp_path / "program.py"), "--conduit", "loggp")
    assert "is read-only" in err
    assert err.splitlines()[-1].startswith("raised by rank ")
