"""What is called otherwise in UPC, UPC++ and numpy than here, for who writes those names of an array or a thread."""

from __future__ import annotations

import numpy as np

from extended.of_others import OPERATIONS

OF_ARRAYS = {
    name: f"write `a.local.{name}` for this thread's elements, `(await a[:]).{name}` for all"
    for name in dir(np.ndarray)
    if not name.startswith("_")
} | {
    **{
        name: f"read it, change it, store it, on one thread: `copy = await a[:]; copy.{name}(...); a[:] = copy`"
        for name in ("partition", "setfield")
    },
    "byteswap": "read it, change it, store it, on one thread: `a[:] = (await a[:]).byteswap()`",
    "resize": "a shared array keeps its size: write `b = await t.all_alloc(shape, dtype=a.dtype)` for another one",
    **{
        f"local_{name}": f"write `a.local.{name}`, of this thread's elements"
        for name in ("size", "shape", "nbytes", "data", "array")
    },
    "sort": "read it, change it, store it, on one thread: `copy = await a[:]; copy.sort(); a[:] = copy`",
    "fill": "write `a[:] = value` on one thread, or `a.local.fill(value)` on each",
    **dict.fromkeys(("put", "set", "itemset", "write_at"), "write `a[i] = value`"),
    **dict.fromkeys(("get", "get_value", "read_at"), "write `await a[i]`"),
    **dict.fromkeys(
        ("add", "iadd", "atomic_add", "add_to"),
        "write `await a.add_at(i, value)`, or `await a.fetch_add(i, value)` for the value before",
    ),
    **dict.fromkeys(
        ("inc", "increment", "atomic_inc", "fetch_inc", "fetch_and_inc", "finc"),
        "write `await a.fetch_add(i, 1)`, which gives the value before",
    ),
    **dict.fromkeys(("fadd", "fetch_and_add", "atomic_fetch_add"), "write `await a.fetch_add(i, value)`"),
    **dict.fromkeys(("cast", "local_view"), "write `a.local`: this thread's elements, an array of numpy"),
    **dict.fromkeys(
        ("indices", "index", "local_indices", "my_indices"),
        "write `a.local_index` for the indices of this thread's elements, or `for i in a.forall():`",
    ),
    "async for": "write `for value in await a[:]`",
    **dict.fromkeys(
        ("swap", "max_at", "min_at", "fetch_max", "fetch_min"),
        "write `await a.compare_swap(i, expected, new)`, again with what it gives until that is `expected`",
    ),
    **dict.fromkeys(
        ("cas", "cswap", "compare_and_swap", "compare_exchange"), "write `await a.compare_swap(i, expected, new)`"
    ),
    **dict.fromkeys(("affinity", "owner"), "write `a.threadof(i)`"),
    "[][]": "write `await a[i, j]`",
    "gather_to None": "the thread that it is gathered to alone is given the array",
    "local[]": "`a.local` has the elements of this thread alone; `await a[i]` and `a[i] = value` take an index of all",
    "local[,]": "`a.local` has the elements of this thread in one dimension; where they are whole rows, write "
    "`a.local.reshape(-1, *a.shape[1:])`",
    "await": "write `await a[:]` for all elements, `await a[i]` for some",
}
"""Of a `SharedArray`."""

OF_THREADS = {
    **dict.fromkeys(("rank", "my_rank", "my_thread", "mynode", "me", "id"), "write `t.MYTHREAD`"),
    **dict.fromkeys(
        ("size", "nthreads", "n_threads", "num_threads", "nprocs", "num_procs", "nranks", "num_ranks"),
        "write `t.THREADS`",
    ),
    "rank_me": "write `t.MYTHREAD`",
    "rank_n": "write `t.THREADS`",
    **dict.fromkeys(
        ("addrfield", "resetphase"), "there are no pointers-to-shared: an index of a shared array stands for one"
    ),
    "global_exit": "write `t.ep.exit(code)`",
    "ticks_now": "write `t.ep.now`, in seconds",
    **dict.fromkeys(("poll", "progress"), "write `await t.ep.poll()`"),
    **dict.fromkeys(("init", "finalize"), "leave it out: the job begins before main and ends when all have returned"),
    "COMM_WORLD": "a program has all threads: write `t.MYTHREAD`, `t.THREADS`, `await t.barrier()`",
    **OPERATIONS,
    **dict.fromkeys(
        (f"UPC_{end}_{kind}SYNC" for end in ("IN", "OUT") for kind in ("ALL", "MY", "NO")),
        "leave it out: collectives have UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC",
    ),
    **dict.fromkeys(
        ("atomic_relaxed", "atomic_strict", "all_atomicdomain_alloc", "atomic_domain"),
        "write `await a.add_at(i, v)`, `await a.fetch_add(i, v)` or `await a.compare_swap(i, expected, new)`, of a "
        "shared array `a`",
    ),
    "rput": "write `a[i] = value`, of a shared array `a`",
    "rget": "write `await a[i]`, of a shared array `a`",
    **dict.fromkeys(("dist_object", "new_array", "shared"), "write `a = await t.all_alloc(shape, dtype)`"),
    **dict.fromkeys(("zeros", "empty"), "write `a = await t.all_alloc(shape, dtype)`: a new array is zero"),
    **dict.fromkeys(
        ("ones", "full"),
        "write `a = await t.all_alloc(shape, dtype)`: a new array is zero; then `a.local[:] = value`, and `await "
        "t.barrier()`",
    ),
    **dict.fromkeys(
        ("rpc", "rpc_ff"), "write a handler, `await t.ep.attach(f)`, and `await t.ep.request_short(dest, f, *args)`"
    ),
    **dict.fromkeys(("allocate", "new_"), "write `a = await t.alloc(shape, dtype)`: elements on this thread alone"),
    **dict.fromkeys(("deallocate", "delete_", "delete_array"), "write `await t.free(a)`, of a shared array `a`"),
    "global_ptr": "there are no pointers-to-shared: a shared array and an index stand for one",
    "local_team": "a program has all threads: those on this thread's host are `t.ep.ranks_on_host`",
    "when_all": "write `await t.fence()`: what this thread has written is done then",
    **dict.fromkeys(("rput_irregular", "rput_strided"), "write `a[indices] = values`, of a shared array `a`"),
    **dict.fromkeys(("rget_irregular", "rget_strided"), "write `await a[indices]`, of a shared array `a`"),
    "cast": "write `a.local`, of a shared array `a`: the elements on this thread",
    "affinitysize": "write `a.local.nbytes`, of a shared array `a`: the bytes on this thread",
    "localsizeof": "write `a.local.nbytes`, of a shared array `a`",
    "blocksizeof": "write `a.block`, of a shared array `a`: in elements",
    "elemsizeof": "write `a.dtype.itemsize`, of a shared array `a`",
    **dict.fromkeys(
        ("all_lock_alloc", "global_lock_alloc", "lock_alloc", "upc_lock"),
        "locks are made by their names: write `async with t.lock(name):` around what it is held for",
    ),
    "barrier_notify": "write `await t.notify()`",
    "barrier_wait": "write `await t.wait()`",
    **{
        call: f"for values of each thread write `await t.extended.{call}(...)`, for shared arrays `await "
        f"t.all_{call}(...)`"
        for call in ("broadcast", "gather", "scatter", "reduce")
    },
    "all_reduce()": "for a number of each thread write `await t.extended.all_reduce(value)`",
    "lock_attempt": "write `await t.lock(name).try_acquire()`",
    "lock_free": "locks are by their names, and none is freed",
    "unlock": "write `await t.lock(name).release()`, or `async with t.lock(name):` around what it is held for",
}
"""Of a `Thread`."""
