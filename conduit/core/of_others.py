"""What the calls of other libraries are called here, for who writes those of an `Endpoint`."""

_OF_RANDOM = (
    "choice",
    "choices",
    "gauss",
    "getrandbits",
    "randbytes",
    "randint",
    "randrange",
    "sample",
    "shuffle",
    "uniform",
)

OF_OTHERS = {
    **dict.fromkeys(
        ("init", "init_thread", "finalize", "Client_Init"),
        "leave it out: `conduit run PROGRAM.py`, or `conduit.run(main)` in a script, begins the job before main",
    ),
    **dict.fromkeys(
        ("mynode", "my_node", "my_rank", "my_pe", "comm_rank", "me", "id", "mythread", "my_thread"),
        "write `ep.rank`",
    ),
    **dict.fromkeys(
        (
            "nodes",
            "ranks",
            "n_ranks",
            "nranks",
            "num_ranks",
            "n_pes",
            "comm_size",
            "np",
            "nprocs",
            "n_procs",
            "num_procs",
            "threads",
            "nthreads",
            "num_nodes",
            "world_size",
        ),
        "write `ep.size`",
    ),
    "COMM_WORLD": "write `ep.rank` and `ep.size`",
    **dict.fromkeys(("wtime", "time", "clock", "ticks_now"), "write `ep.now`"),
    **dict.fromkeys(("ticks", "timer", "timestamp"), "write `ep.now`, in seconds"),
    **dict.fromkeys(("node", "node_id", "host_id", "hostname"), "write `ep.host`: the index of this rank's host"),
    "local_rank": "write `ep.ranks_on_host.index(ep.rank)`",
    "local_size": "write `len(ep.ranks_on_host)`",
    **{name: f"write `ep.random.{name}(...)`" for name in _OF_RANDOM},
    "rand": "write `ep.random.random()`",
    "rng": "write `ep.random`",
    "seed": "write `conduit.run(main, seed=3)` in a script, or `conduit run --seed 3`; `ep.random` is seeded by it "
    "and the rank",
    **dict.fromkeys(("memory", "mem", "heap", "seg"), "write `ep.segment`"),
    **dict.fromkeys(("abort", "global_exit"), "write `ep.exit(code)`"),
    **dict.fromkeys(
        (
            "register",
            "register_handler",
            "register_handlers",
            "add_handler",
            "add_handlers",
            "attach_handler",
            "attach_handlers",
            "set_handler",
            "RegisterHandlers",
            "EP_RegisterHandlers",
        ),
        "write `await ep.attach(handler)`",
    ),
    **dict.fromkeys(("AMMaxArgs", "AM_MaxArgs"), "write `ep.limits.max_args`"),
    **dict.fromkeys(
        (
            "AMMaxMedium",
            "AM_MaxMedium",
            "AM_MaxRequestMedium",
            "AM_MaxReplyMedium",
            "AM_LUBRequestMedium",
            "AM_LUBReplyMedium",
            "Token_MaxReplyMedium",
        ),
        "write `ep.limits.max_medium`",
    ),
    **dict.fromkeys(
        ("max_long", "AMMaxLongRequest", "AM_MaxRequestLong", "AM_LUBRequestLong"),
        "write `ep.limits.max_long_request`, of replies `ep.limits.max_long_reply`",
    ),
    **dict.fromkeys(
        ("AMMaxLongReply", "AM_MaxReplyLong", "AM_LUBReplyLong", "Token_MaxReplyLong"),
        "write `ep.limits.max_long_reply`",
    ),
    **dict.fromkeys(
        ("send", "isend"),
        "write `await ep.request_short(dest, handler, *args)`, with bytes `await ep.request_medium(dest, handler, "
        "payload, *args)`",
    ),
    **dict.fromkeys(
        ("request", "rpc", "rpc_ff"),
        "write `await ep.request_short(dest, handler, *args)`, which runs the handler over there",
    ),
    "put_signal": "write `await ep.request_long(dest, handler, payload, offset)`, whose handler is the signal",
    **dict.fromkeys(
        ("recv", "irecv", "receive", "wait"),
        "messages run handlers here: let a handler keep what has come, and `await ep.block_until(lambda: kept)`",
    ),
    **dict.fromkeys(("wait_until", "blockuntil"), "write `await ep.block_until(predicate)`"),
    "sleep": "write `await ep.compute(seconds)`",
    **dict.fromkeys(("AMPoll", "probe", "iprobe", "progress"), "write `await ep.poll()`"),
    **dict.fromkeys(("AMGetMsgSource", "Token_Info", "source", "get_source"), "write `token.rank`, in a handler"),
    **dict.fromkeys(
        ("AMRequestShort", "RequestShort", "send_short", "am_short"),
        "write `await ep.request_short(dest, handler, *args)`",
    ),
    **dict.fromkeys(
        ("AMRequestMedium", "RequestMedium", "send_medium", "am_medium"),
        "write `await ep.request_medium(dest, handler, payload, *args)`",
    ),
    "AMRequestLongAsync": "write `await ep.request_long_async(dest, handler, payload, offset, *args)`",
    **dict.fromkeys(
        ("AMRequestLong", "RequestLong", "send_long", "am_long"),
        "write `await ep.request_long(dest, handler, payload, offset, *args)`",
    ),
    **dict.fromkeys(
        ("AMReplyShort", "ReplyShort", "reply_short"), "write `token.reply_short(handler, *args)`, in a handler"
    ),
    **dict.fromkeys(
        ("AMReplyMedium", "ReplyMedium", "reply_medium"),
        "write `token.reply_medium(handler, payload, *args)`, in a handler",
    ),
    **dict.fromkeys(
        ("AMReplyLong", "ReplyLong", "reply_long"),
        "write `token.reply_long(handler, payload, offset, *args)`, in a handler",
    ),
    **dict.fromkeys(
        ("AM_PrepareRequestMedium", "AM_CommitRequestMedium", "AM_CancelRequestMedium"),
        "write `await ep.request_medium(dest, handler, payload, *args)`: a payload is copied once in any case",
    ),
    **dict.fromkeys(
        ("AM_PrepareRequestLong", "AM_CommitRequestLong", "AM_CancelRequestLong"),
        "write `await ep.request_long(dest, handler, payload, offset, *args)`: a payload is copied once in any case",
    ),
    **dict.fromkeys(
        ("AM_PrepareReplyMedium", "AM_CommitReplyMedium", "AM_CancelReplyMedium"),
        "write `token.reply_medium(handler, payload, *args)`, in a handler: a payload is copied once in any case",
    ),
    **dict.fromkeys(
        ("AM_PrepareReplyLong", "AM_CommitReplyLong", "AM_CancelReplyLong"),
        "write `token.reply_long(handler, payload, offset, *args)`, in a handler: a payload is copied once in any case",
    ),
    **dict.fromkeys(
        ("hsl_init", "hsl_destroy", "hsl_lock", "hsl_unlock", "hsl_trylock"),
        "leave it out: handlers of a rank run between the awaits of its program, never beside it",
    ),
    **dict.fromkeys(
        ("hold_interrupts", "resume_interrupts"),
        "leave it out: no handler of a rank runs where its program awaits nothing",
    ),
    "set_waitmode": "leave it out: a simulated rank polls in no time, and a real one decides by itself",
    "getenv": "write `os.environ`, which all ranks of a simulated job share",
    **dict.fromkeys(
        ("ErrorName", "ErrorDesc"), "errors are exceptions here: write `except conduit.ConduitError as error:`"
    ),
    **dict.fromkeys(
        ("getMaxLocalSegmentSize", "getMaxGlobalSegmentSize"),
        "write `ep.max_segment`; the job is given its segments by `segment=` of conduit.run",
    ),
    **dict.fromkeys(
        ("getSegmentInfo", "Segment_QuerySize", "Segment_QueryAddr"),
        "write `ep.segment_size(rank)`; addresses are offsets from 0",
    ),
    **dict.fromkeys(
        ("EP_QueryBoundSegment", "EP_QueryBoundSegmentNB"),
        "write `ep.segment_size(rank)`, of memory that is in reach `ep.segment_of(rank)`",
    ),
    **dict.fromkeys(
        ("Segment_Attach", "Segment_Create", "EP_BindSegment", "EP_PublishBoundSegment"),
        "leave it out: each rank has one segment, made with the job, as large as `segment=` of conduit.run asks",
    ),
    "EP_Create": "leave it out: a rank has one endpoint; teams and handlers keep layers apart",
    **dict.fromkeys(
        ("System_QueryNbrhdInfo", "System_QueryHostInfo", "System_QueryMyPosition", "getNodeInfo"),
        "write `ep.host`, `ep.host_of(rank)` and `ep.ranks_on_host`",
    ),
}
"""Their names, in any case and without the library's own prefix, with what to write, as
`conduit.launch.hints.wrong_names` says it."""
