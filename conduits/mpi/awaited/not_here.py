"""Names of mpi4py that are not here, and what to say to who writes them; the README has the list."""

from __future__ import annotations

from collections.abc import Mapping

_BEGUN = ("Barrier", "Bcast", "Allreduce", "Alltoall")
"""Collectives that have a call which only begins them."""
_BEGINNING = (
    "Allgather", "Allgatherv", "Alltoallv", "Exscan", "Gather", "Gatherv", "Reduce", "Reduce_scatter",
    "Reduce_scatter_block", "Scan", "Scatter", "Scatterv",
)  # fmt: skip
_TOPOLOGIES = (
    "Create_cart", "Create_graph", "Create_dist_graph", "Create_dist_graph_adjacent", "Get_topo", "Get_topology",
    "Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw",
    "Get_coords", "Get_cart_rank", "Shift", "Cart_map", "Graph_map",
)  # fmt: skip
_NO_TOPOLOGIES = "topologies are not here; compute neighbours of `comm.rank`"
_PLAIN = "it is not here"
_FIXED = "processes of other jobs are not here: the ranks are those that the job has begun with"
_FAILURES = "it is not here: where a rank fails the job ends"
DERIVED = "derived datatypes are not here; send a contiguous copy (numpy.ascontiguousarray), or the bytes"

OF_COMMS: Mapping[str, str] = {
    **dict.fromkeys(_TOPOLOGIES, _NO_TOPOLOGIES),
    **{
        f"I{call.lower()}": f"it is not here; write `await comm.{call}(...)`, in a task of its own if others go on"
        for call in _BEGINNING
    },
    **{
        f"{call}_init": f"persistent collectives are not here; write `await comm.{call}(...)` each time"
        for call in (*_BEGUN, *_BEGINNING)
    },
    **dict.fromkeys(
        ("Alltoallw", "Ialltoallw", "Alltoallw_init"), "it is not here; write `await comm.Alltoallv(...)`, of bytes"
    ),
    **{
        f"I{call.lower()}": f"it is not here; write `await comm.{call}(...)`, or Irecv and Isend"
        for call in ("Sendrecv", "Sendrecv_replace")
    },
    **dict.fromkeys(("Idup", "Idup_with_info", "Dup_with_info"), "it is not here; write `await comm.Dup()`"),
    **dict.fromkeys(("Psend_init", "Precv_init"), "partitioned calls are not here; write Send_init and Recv_init"),
    **dict.fromkeys(
        ("Accept", "Connect", "Disconnect", "Join", "Get_parent", "Spawn", "Spawn_multiple"), _FIXED
    ),
    "Create_intercomm": "intercommunicators are not here; make one communicator of all, by `comm.Split`",
    "Create_from_group": "it is not here; write `await comm.Create_group(group)`",
    **dict.fromkeys(
        ("Ack_failed", "Agree", "Get_failed", "Iagree", "Is_revoked", "Ishrink", "Revoke", "Shrink"), _FAILURES
    ),
    **dict.fromkeys(("Flush_buffer", "Iflush_buffer"), "it is not here; Detach_buffer waits for all in the buffer"),
    **dict.fromkeys(
        ("Get_errhandler", "Set_errhandler", "Call_errhandler", "Create_errhandler"),
        "errors are raised, always: write `try: ... except MPI.Exception as error: ...`",
    ),
    **dict.fromkeys(
        ("Get_attr", "Set_attr", "Delete_attr", "Create_keyval", "Free_keyval", "Get_info", "Set_info", "py2f"), _PLAIN
    ),
}  # fmt: skip

OF_REQUESTS: Mapping[str, str] = {
    **dict.fromkeys(
        ("Get_status_all", "Get_status_any", "Get_status_some"), "it is not here; ask `request.Get_status()` of each"
    ),
    **dict.fromkeys(
        ("Parrived", "Pready", "Pready_list", "Pready_range"),
        "partitioned calls are not here; write Send_init and Recv_init",
    ),
}

OF_MESSAGES: Mapping[str, str] = {
    "Probe": "write `await comm.Mprobe(...)`",
    "Iprobe": "write `await comm.Improbe(...)`",
}

OF_GROUPS: Mapping[str, str] = {
    "Intersect": "write `MPI.Group.Intersection(group1, group2)`",
    "Create_from_session_pset": _PLAIN,
}

OF_OPERATORS: Mapping[str, str] = {
    "Reduce_local": "it is not here; combine the arrays by numpy",
    "()": "it cannot be called here; give it to a reduction, `op=...`, and combine values by Python or numpy",
    **{
        name: f"write `MPI.{name}`"
        for name in ("MAX", "MIN", "SUM", "PROD", "LAND", "BAND", "LOR", "BOR", "LXOR", "BXOR", "MAXLOC", "MINLOC")
    },
}

OF_DATATYPES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "Commit", "Create_contiguous", "Create_darray", "Create_dup", "Create_f90_complex", "Create_f90_integer",
            "Create_f90_real", "Create_hindexed", "Create_hindexed_block", "Create_hvector", "Create_indexed",
            "Create_indexed_block", "Create_resized", "Create_struct", "Create_subarray", "Create_vector", "Dup",
            "Free", "Get_contents", "Get_envelope", "Get_true_extent", "Resized",
        ),
        DERIVED,
    ),
    **dict.fromkeys(
        ("Pack", "Pack_external", "Pack_external_size", "Pack_size", "Unpack", "Unpack_external"),
        "packing is not here; give the array itself, or copy its parts into one",
    ),
    **dict.fromkeys(
        (
            "Create_keyval", "Delete_attr", "Free_keyval", "Get_attr", "Set_attr", "Set_name", "Get_value_index",
            "Match_size",
        ),
        _PLAIN,
    ),
}  # fmt: skip

BEGAN = "leave it out: MPI has begun when main is called, and ends after it"
_FORTRAN = "Fortran's datatypes are not here; write {}"
_CXX = "C++'s datatypes are not here; write `MPI.{}`"
_WIDE = "it is not here; send it as bytes, [array, MPI.BYTE]"

OF_MPI: Mapping[str, str] = {
    **dict.fromkeys(
        ("Init", "Init_thread", "Finalize", "Is_initialized", "Is_finalized", "Query_thread", "Is_thread_main"), BEGAN
    ),
    **dict.fromkeys(
        ("THREAD_SINGLE", "THREAD_FUNNELED", "THREAD_SERIALIZED", "THREAD_MULTIPLE"),
        "leave it out: a rank has one thread, and any number of tasks that take turns",
    ),
    **dict.fromkeys(
        (
            "File", "FILE_NULL", "Register_datarep", "Info", "INFO_ENV", "INFO_NULL", "Alloc_mem", "Free_mem",
            "Get_version", "Get_library_version", "Get_abi_version", "Get_abi_info", "Get_abi_fortran_info",
            "Get_hw_resource_info", "Pcontrol", "Grequest", "Get_address", "Aint_add", "Aint_diff",
            "BUFFER_AUTOMATIC", "BufferAutomaticType",
        ),
        _PLAIN,
    ),
    **dict.fromkeys(
        (
            "Errhandler", "ERRHANDLER_NULL", "ERRORS_RETURN", "ERRORS_ARE_FATAL", "ERRORS_ABORT", "Add_error_class",
            "Add_error_code", "Add_error_string", "Remove_error_class", "Remove_error_code", "Remove_error_string",
            "Get_error_class", "Get_error_string",
        ),
        "errors are raised, always: write `try: ... except MPI.Exception as error: ...`",
    ),
    **dict.fromkeys(
        ("Compute_dims", "Cartcomm", "Graphcomm", "Distgraphcomm", "Topocomm"), _NO_TOPOLOGIES
    ),
    **dict.fromkeys(
        (
            "Intercomm", "Session", "SESSION_NULL", "Open_port", "Close_port", "Publish_name", "Unpublish_name",
            "Lookup_name",
        ),
        _FIXED,
    ),
    **dict.fromkeys(("Flush_buffer", "Iflush_buffer"), "it is not here; Detach_buffer waits for all in the buffer"),
    "Pickle": "calls that pickle objects are not here; give arrays, or pickle to bytes yourself",
    "WIN_NULL": "windows are those of extended.windows, for programs without `api = ...`",
    "PACKED": "packing is not here; give the array itself, or copy its parts into one",
    **dict.fromkeys(("InPlaceType", "BottomType"), _PLAIN),
    **dict.fromkeys(("FLOAT64", "FLOAT64_T"), "write `MPI.DOUBLE`, the type of numpy's float64"),
    **dict.fromkeys(("FLOAT32", "FLOAT32_T"), "write `MPI.FLOAT`, the type of numpy's float32"),
    **dict.fromkeys(("FLOAT16_T", "BFLOAT16_T"), _WIDE),
    **{
        name: _FORTRAN.format(f"`MPI.{c}`")
        for c, names in {
            "INT": "INTEGER INTEGER4 F_INT", "INT8_T": "INTEGER1", "SHORT": "INTEGER2", "LONG": "INTEGER8",
            "FLOAT": "REAL REAL4 F_FLOAT", "DOUBLE": "REAL8 DOUBLE_PRECISION F_DOUBLE",
            "C_FLOAT_COMPLEX": "COMPLEX COMPLEX8 F_COMPLEX F_FLOAT_COMPLEX",
            "C_DOUBLE_COMPLEX": "COMPLEX16 F_DOUBLE_COMPLEX", "CHAR": "CHARACTER",
            "C_BOOL": "LOGICAL LOGICAL1 F_BOOL",
        }.items()
        for name in names.split()
    },
    **dict.fromkeys(
        ("COMPLEX4", "COMPLEX32", "INTEGER16", "REAL2", "REAL16", "LOGICAL2", "LOGICAL4", "LOGICAL8", "LOGICAL16"),
        _FORTRAN.format("those of C, such as `MPI.DOUBLE`"),
    ),
    "CXX_BOOL": _CXX.format("C_BOOL"),
    "CXX_FLOAT_COMPLEX": _CXX.format("C_FLOAT_COMPLEX"),
    "CXX_DOUBLE_COMPLEX": _CXX.format("C_DOUBLE_COMPLEX"),
    "CXX_LONG_DOUBLE_COMPLEX": _CXX.format("C_LONG_DOUBLE_COMPLEX"),
}  # fmt: skip
