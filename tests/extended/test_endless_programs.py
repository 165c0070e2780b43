"""Programs that catch all errors in an endless loop end with their job, whichever layer refuses their calls (D6)."""

import contextlib
import subprocess
import sys

import pytest

import conduit
from conduit.sim import livelock
from extended import Extended, shmem, upc
from extended.windows import Win

LATE = 1e-3
LEFT = "what caught all that was to end it was left where it stood (`except Exception:` lets it through): task rank 0"


async def _for_ever(call):
    while True:
        with contextlib.suppress(BaseException):
            await call()


async def _fails(ep):
    await ep.compute(LATE)
    raise ValueError("the reason")


async def _barrier(ep):
    x = await Extended.attach(ep)
    await (_fails(ep) if ep.rank else _for_ever(x.barrier))


async def _all_reduce(ep):
    x = await Extended.attach(ep)
    await (_fails(ep) if ep.rank else _for_ever(lambda: x.all_reduce(1)))


async def _fence(ep):
    win = await Win.Allocate(64, 1, comm=await Extended.attach(ep))
    await (_fails(ep) if ep.rank else _for_ever(win.Fence))


async def _of_upc(t):
    await (_fails(t.ep) if t.MYTHREAD else _for_ever(t.barrier))


async def _of_shmem(pe):
    await (_fails(pe.ep) if pe.my_pe() else _for_ever(pe.barrier_all))


PROGRAMS = {
    "x.barrier": (conduit.run, _barrier),
    "x.all_reduce": (conduit.run, _all_reduce),
    "win.Fence": (conduit.run, _fence),
    "t.barrier": (upc.run, _of_upc),
    "pe.barrier_all": (shmem.run, _of_shmem),
}


@pytest.mark.parametrize("inline", ["yes", "no"])
@pytest.mark.parametrize("call", PROGRAMS)
def test_the_error_of_another_rank_ends_what_catches_everything(call, inline, monkeypatch):
    monkeypatch.setattr(livelock, "STILL_ENDING", 100)
    run, main = PROGRAMS[call]
    with pytest.raises(ValueError, match=r"\Athe reason\nraised by rank 1 at ") as caught:
        run(main, conduit=f"loggp:inline={inline}")
    assert any(LEFT in note for note in caught.value.__notes__), caught.value.__notes__


@pytest.mark.parametrize("call", ["x.barrier()", "ep.block_until(lambda: False)", "ep.poll()"])
def test_its_process_ends(tmp_path, call):
    """Python closes the tasks that are left as it ends, and they would catch that too."""
    (tmp_path / "prog.py").write_text(f"""
from conduit.sim import livelock
from extended import Extended

livelock.STILL_ENDING = 100  # of its 10,000

async def main(ep):
    x = await Extended.attach(ep)
    while True:
        try:
            await {call}
        except:
            pass
""")
    words = [sys.executable, "-m", "conduit", "run", "prog.py", "--conduit", "loggp", "--ranks", "2"]
    done = subprocess.run([*words, "--time-limit", "100us"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert done.stderr.startswith(("conduit run: time limit at 100.000 us: ", "conduit run: deadlock at "))
    assert done.stderr.count("left where it stood (`except Exception:` lets it through): task rank ") == 2
