"""What the calls of other libraries are called here, for who writes those of an `Extended`."""

_OPERATIONS = ("sum", "prod", "min", "max", "and", "or", "xor")
_TYPES = ("I32", "U32", "I64", "U64", "FLT", "DBL", "I", "U")  # the last two: hints leave digits at an end out
_HANDLE = "write `h = await x.{0}_nb({1})`, then `await h`"
_UNLOCK = "write `await x.lock(name).release()`, or `async with x.lock(name):` around what it is held for"

OPERATIONS = {
    **{
        name: f"operations are words here: write op={word!r}"
        for word, names in {
            "sum": ("UPC_ADD", "MPI_SUM"),
            "prod": ("UPC_MULT", "MPI_PROD"),
            "min": ("UPC_MIN", "MPI_MIN"),
            "max": ("UPC_MAX", "MPI_MAX"),
            "and": ("UPC_AND", "MPI_BAND"),
            "or": ("UPC_OR", "MPI_BOR"),
            "xor": ("UPC_XOR", "MPI_BXOR"),
        }.items()
        for name in names
    },
    **{
        name: f"operations without a word are functions: write op=numpy.{function}"
        for function, names in {
            "logical_and": ("UPC_LOGAND", "MPI_LAND"),
            "logical_or": ("UPC_LOGOR", "MPI_LOR"),
            "logical_xor": ("MPI_LXOR",),
        }.items()
        for name in names
    },
    **dict.fromkeys(
        ("UPC_FUNC", "UPC_NONCOMM_FUNC"),
        "write the function itself, op=f, which combines two arrays, element by element",
    ),
}
"""Operations of reductions, as UPC and MPI name them."""

_COLLECTIVES = {
    **OPERATIONS,
    **dict.fromkeys(("reduce None", "gather None"), "the root alone is given the result"),
    "bcast": "write `await x.broadcast(array, root)`",
    **dict.fromkeys(("ibcast", "Coll_BroadcastNB"), _HANDLE.format("broadcast", "array, root")),
    **dict.fromkeys(("iallreduce", "Coll_ReduceToAllNB"), _HANDLE.format("all_reduce", "array")),
    **dict.fromkeys(("ireduce", "Coll_ReduceToOneNB"), _HANDLE.format("reduce", "array")),
    **{
        name: _HANDLE.format(call, "array")
        for name, call in {
            "igather": "gather",
            "iallgather": "all_gather",
            "iscatter": "scatter",
            "ialltoall": "all_to_all",
            "iscan": "scan",
        }.items()
    },
    **{f"{name}_reduce": f"write `await x.all_reduce(array, {name!r})`" for name in _OPERATIONS},
    **{f"{name}_to_all": f"write `await x.all_reduce(array, {name!r})`" for name in _OPERATIONS},
    "reduce_all": "write `await x.all_reduce(array)`",
    **{name: f"write `await x.all_reduce(array, {name!r})`" for name in _OPERATIONS},
    **dict.fromkeys(
        ("reduce_scatter", "reduce_scatter_block"),
        "write `(await x.all_reduce(array))[x.rank]`, with a row of `array` for each rank",
    ),
    "exscan": "x.scan counts this rank in: write `await x.scan(array) - array` for the sum of those before it",
    "iexscan": "x.scan_nb counts this rank in: write `h = await x.scan_nb(array)`, then `await h - array` for the sum "
    "of those before it",
    **dict.fromkeys(
        ("gatherv", "allgatherv", "all_gatherv", "scatterv", "alltoallv", "all_to_allv"),
        "collectives take arrays of one shape of all ranks: pad them to the longest, and exchange the lengths first",
    ),
    **dict.fromkeys(("fcollect", "collect"), "write `await x.all_gather(array)`"),
    **dict.fromkeys(
        ("comm_split", "team_split", "team_split_strided", "TM_Split"), "write `team = await x.split(color)`"
    ),
    **dict.fromkeys(
        ("dup", "comm_dup", "clone"), "write `team = await x.split(0)` for a team of its own with the same ranks"
    ),
    **dict.fromkeys(("barrier_all", "sync_all"), "write `await x.barrier()`"),
    **dict.fromkeys(("ibarrier", "Coll_BarrierNB"), "write `await x.barrier_notify()`, then `await x.barrier_wait()`"),
    "barrier_result": "leave it out: a mismatch is the exception BarrierMismatch",
    **{
        f"coll_{name}": f"write `await x.{call}`"
        for name, call in {
            "broadcast": "broadcast(array, root)",
            "scatter": "scatter(array, root)",
            "gather": "gather(array, root)",
            "gather_all": "all_gather(array)",
            "exchange": "all_to_all(array)",
        }.items()
    },
    "TM_QueryRank": "write `x.rank`",
    "TM_QuerySize": "write `x.size`",
    "TM_TranslateRankToJobrank": "write `x.job_rank(rank)`",
    "TM_TranslateJobrankToRank": "write `x.rank_of(job_rank)`",
    "TM_Create": "write `team = await x.split(color)`: the same color on its ranks, None on all others",
    "TM_Destroy": "write `await team.destroy()`, of a team that x.split has made",
    "TM_Pair": "leave it out: puts, gets, messages and atomics take ranks of the job, which `x.job_rank(rank)` gives",
}
"""Those of the calls that a team has."""

_PLACES = {
    ("v", "Vector", "vector"): "dest, pieces",
    ("i", "Indexed", "indexed"): "dest, offsets, nbytes",
    ("s", "Strided", "strided"): "dest, offset, strides",
}
"""What GASNet, GASNet-EX and this layer call transfers that are not contiguous, and how these say where."""

_NOT_CONTIGUOUS = {
    name: f"write `{text}`"
    for (letter, kind, own), places in _PLACES.items()
    for verb, data in (("put", "data"), ("get", "out"))
    for bulk, how, text in (
        ("_bulk", "Blocking", f"await x.{verb}_{own}({places}, {data})"),
        ("_nb_bulk", "NB", f"h = await x.{verb}_{own}_nb({places}, {data})`, then `await h"),
        ("_nbi_bulk", "NBI", f"await x.{verb}_{own}_nbi({places}, {data})`, then `await x.sync_{verb}s()"),
    )
    for name in (f"{verb}{letter}{bulk}", f"VIS_{kind}{verb.capitalize()}{how}")
}

OF_TEAMS = {
    **_COLLECTIVES,
    "COMM_WORLD": "the team of all ranks is what `await Extended.attach(ep)` gives",
    **dict.fromkeys(("free", "comm_free", "disconnect", "delete", "close", "TM_Destroy"), "write `await x.destroy()`"),
    **dict.fromkeys(
        ("rank_to_job", "to_job", "world_rank", "global_rank", "translate_ranks"), "write `x.job_rank(rank)`"
    ),
    **dict.fromkeys(("job_to_rank", "from_job", "team_rank"), "write `x.rank_of(job_rank)`"),
}
"""Names of other libraries, as `OF_OTHERS`, for who writes those of a team that `split` has made."""

OF_OTHERS = {
    **_COLLECTIVES,
    **dict.fromkeys(
        ("rank_to_job", "world_rank", "global_rank"), "write `x.rank`; of a team of split, `team.job_rank(rank)`"
    ),
    **dict.fromkeys(
        ("send", "sendrecv"),
        "write `await x.put(dest, offset, data)`, or `await x.ep.request_medium(dest, handler, payload)`",
    ),
    **dict.fromkeys(
        ("recv", "receive"),
        "write `await x.get(dest, offset, nbytes)`, or let a handler take what is sent, and "
        "`await x.ep.block_until(predicate)`",
    ),
    "COMM_WORLD": "`x` itself is the team of all ranks: write `x.rank`, `x.size`, `await x.barrier()`",
    **dict.fromkeys(("team", "comm"), "write `await x.split(color)` for a team, and `x` itself for that of all"),
    **dict.fromkeys(
        ("fence", "quiet", "flush", "win_flush", "win_flush_all"),
        "write `await x.sync()`, for what x.put_nbi and x.get_nbi have begun; x.put and x.get wait themselves",
    ),
    "wait_syncnbi_puts": "write `await x.sync_puts()`",
    "wait_syncnbi_gets": "write `await x.sync_gets()`",
    **dict.fromkeys(("wait_syncnbi_all", "NBI_Wait"), "write `await x.sync()`"),
    **dict.fromkeys(
        (
            *("try_syncnbi_puts", "try_syncnbi_gets", "try_syncnbi_all", "NBI_Test"),
            *("begin_nbi_accessregion", "NBI_BeginAccessRegion", "end_nbi_accessregion", "NBI_EndAccessRegion"),
        ),
        "write `async with x.access_region() as region:` around them, then `await region.handle`",
    ),
    **dict.fromkeys(("malloc", "alloc", "calloc"), "write `await x.all_alloc(nbytes)`"),
    **dict.fromkeys(
        ("win_allocate", "win_create", "win"),
        "write `await x.all_alloc(nbytes)`; windows like MPI's are made by `from extended.windows import Win`, then "
        "`win = await Win.Allocate(nbytes, comm=x)`",
    ),
    **dict.fromkeys(
        ("wait", "wait_syncnb", "Event_Wait", "coll_wait_sync"),
        "`await` the handle itself, several by `await x.wait_all(handles)`",
    ),
    **dict.fromkeys(
        ("waitall", "wait_syncnb_all", "Event_WaitAll", "coll_wait_sync_all"), "write `await x.wait_all(handles)`"
    ),
    **dict.fromkeys(
        ("wait_any", "waitany", "waitsome", "wait_syncnb_some", "Event_WaitSome", "coll_wait_sync_some"),
        "write `await x.wait_some(handles)`, which waits until one of them is done",
    ),
    **dict.fromkeys(("mynode", "my_rank", "me", "my_pe", "mythread", "rank_me"), "write `x.rank`"),
    **dict.fromkeys(("nodes", "n_ranks", "nranks", "n_pes", "nprocs", "threads", "rank_n"), "write `x.size`"),
    "gasnet_put_nb": "write `h = await x.put_nb(dest, offset, data, bulk=False)`, then `await h`; without bulk=False "
    "the data are in use until then",
    "gasnet_put_nbi": "write `await x.put_nbi(dest, offset, data, bulk=False)`, then `await x.sync()`; without "
    "bulk=False the data are in use until then",
    **dict.fromkeys(
        ("rpc", "rpc_ff"),
        "write a handler, `await ep.attach(f)`, and `await ep.request_short(dest, f, *args)`",
    ),
    "dist_object": "write `await x.all_alloc(nbytes)` for memory at the same offset on all ranks",
    **dict.fromkeys(("put_bulk", "RMA_PutBlocking"), "write `await x.put(dest, offset, data)`"),
    **dict.fromkeys(("get_bulk", "RMA_GetBlocking"), "write `await x.get(dest, offset, nbytes)`"),
    **dict.fromkeys(("put_val", "RMA_PutBlockingVal"), "write `await x.put_value(dest, offset, value, nbytes)`"),
    **dict.fromkeys(("get_val", "RMA_GetBlockingVal"), "write `await x.get_value(dest, offset, nbytes)`"),
    **dict.fromkeys(
        ("put_nb_val", "RMA_PutNBVal"), "write `h = await x.put_value_nb(dest, offset, value, nbytes)`, then `await h`"
    ),
    **dict.fromkeys(
        ("put_nbi_val", "RMA_PutNBIVal"),
        "write `await x.put_value_nbi(dest, offset, value, nbytes)`, then `await x.sync_puts()`",
    ),
    **dict.fromkeys(
        ("get_nb_val", "wait_syncnb_valget"),
        "write `h = await x.get_value_nb(dest, offset, nbytes)`, then `value = await h`",
    ),
    **dict.fromkeys(
        (
            "cas",
            "cswap",
            "compare_exchange",
            "compare_swap",
            "compare_and_swap",
            "atomic_compare_swap",
            "atomic_cas",
        ),
        "write `await x.atomic(dtype).compare_swap(dest, offset, expected, new)`",
    ),
    **dict.fromkeys(
        ("AD_Create", "AD_Destroy"),
        "write `d = x.atomic(dtype)`, with all operations of the type; nothing is to be destroyed",
    ),
    "accumulate": "write `await x.atomic(dtype).accumulate(dest, offsets, values)`",
    **dict.fromkeys(
        ("swap", "exchange", "atomic_swap", "atomic_exchange"),
        "write `await x.atomic(dtype).swap(dest, offset, value)`",
    ),
    **dict.fromkeys(("test", "try_syncnb", "Event_Test", "coll_try_sync"), "look at the handle's `done`"),
    **dict.fromkeys(
        ("try_syncnb_all", "Event_TestAll", "coll_try_sync_all"), "write `all(handle.done for handle in handles)`"
    ),
    **dict.fromkeys(
        ("try_syncnb_some", "Event_TestSome", "coll_try_sync_some"), "write `any(handle.done for handle in handles)`"
    ),
    **dict.fromkeys(
        ("Event_QueryLeaf", "INVALID_HANDLE"),
        "handles are objects; behind `await x.put_nb(dest, offset, data, bulk=False)` the data may be changed",
    ),
    **dict.fromkeys(
        ("rput", "put_nb_bulk", "RMA_PutNB"), "write `h = await x.put_nb(dest, offset, data)`, then `await h`"
    ),
    **dict.fromkeys(
        ("rget", "get_nb_bulk", "RMA_GetNB"), "write `h = await x.get_nb(dest, offset, nbytes)`, then `await h`"
    ),
    **dict.fromkeys(
        ("put_nbi_bulk", "RMA_PutNBI"), "write `await x.put_nbi(dest, offset, data)`, then `await x.sync_puts()`"
    ),
    **dict.fromkeys(
        ("get_nbi_bulk", "RMA_GetNBI"), "write `await x.get_nbi(dest, offset, out=array)`, then `await x.sync_gets()`"
    ),
    **_NOT_CONTIGUOUS,
    **dict.fromkeys(("iput", "type_vector"), "write `await x.put_strided(dest, offset, strides, array)`"),
    "iget": "write `await x.get_strided(dest, offset, strides, out)`",
    "VIS_SetPeerCompletionHandler": "write a request behind the operation: `await x.ep.request_short(dest, handler, "
    "*args)`",
    **dict.fromkeys(
        (
            "fetch_add",
            "atomic_add",
            "fetch_and_add",
            "atomics",
            "fetch_and_op",
            "get_accumulate",
            "atomic_fetch_add",
            "atomic_inc",
            "fadd",
            "finc",
            "fetch_inc",
            "fetch_and_inc",
            "add",
            "inc",
            "atomic_fetch_inc",
            "AD_OpNB",
            "AD_OpNBI",
            *(f"AD_Op{how}_{kind}" for how in ("NB", "NBI") for kind in _TYPES),
        ),
        "write `await x.atomic(dtype).fetch_add(dest, offset, value)`, or another of its operations",
    ),
    "all_alloc[]": "an offset in every rank's segment; an array there is `ep.segment[{0}:{0} + nbytes].view('f8')`"
    "; arrays that take an index have UPC and SHMEM",
    **dict.fromkeys(("set_lock", "win_lock", "mutex"), "write `async with x.lock(name):` around what it is held for"),
    **dict.fromkeys(("test_lock", "try_lock"), "write `await x.lock(name).try_acquire()`"),
    **dict.fromkeys(("unlock", "clear_lock", "win_unlock"), _UNLOCK),
}
"""Their names, in any case and without the library's own prefix, with what to write, as
`conduit.launch.hints.wrong_names` says it."""
