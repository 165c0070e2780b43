"""Names of MPI in C that mpi4py writes otherwise, without their `MPI_`, and what to write for each."""

from __future__ import annotations

from collections.abc import Mapping

from conduits.mpi.awaited.not_here import BEGAN, DERIVED

_OF_REQUESTS = ("Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome")
_OF_ONE = ("Wait", "Test", "Cancel", "Start")
_OF_GROUPS = ("Incl", "Excl", "Range_incl", "Range_excl")
_OF_TWO_GROUPS = ("Union", "Intersection", "Difference")

OF_MPI: Mapping[str, str] = {
    **{call: f"write `await MPI.Request.{call}(requests)`" for call in _OF_REQUESTS},
    **{call: f"write `await request.{call}()`" for call in _OF_ONE},
    "Startall": "write `await MPI.Prequest.Startall(requests)`",
    "Request_free": "write `await request.Free()`",
    "Request_get_status": "write `request.Get_status()`",
    "Comm_rank": "write `comm.rank`",
    "Comm_size": "write `comm.size`",
    "Comm_split": "write `await comm.Split(color, key)`",
    "Comm_split_type": "write `await comm.Split_type(MPI.COMM_TYPE_SHARED)`",
    "Comm_dup": "write `await comm.Dup()`",
    "Comm_create": "write `await comm.Create(group)`",
    "Comm_create_group": "write `await comm.Create_group(group)`",
    "Comm_free": "write `await comm.Free()`",
    "Comm_group": "write `comm.Get_group()`",
    "Comm_compare": "write `comm1.Compare(comm2)`",
    "Group_rank": "write `group.rank`",
    "Group_size": "write `group.size`",
    "Group_compare": "write `group1.Compare(group2)`",
    **{f"Group_{call.lower()}": f"write `group.{call}(ranks)`" for call in _OF_GROUPS},
    **{f"Group_{call.lower()}": f"write `MPI.Group.{call}(group1, group2)`" for call in _OF_TWO_GROUPS},
    "Group_translate_ranks": "write `group1.Translate_ranks(ranks, group2)`",
    "Get_count": "write `status.Get_count(datatype)`",
    "Get_elements": "write `status.Get_elements(datatype)`",
    "Op_create": "write `MPI.Op.Create(function, commute)`",
    "Op_free": "write `op.Free()`",
    **dict.fromkeys(
        ("Type_commit", "Type_contiguous", "Type_create_struct", "Type_create_subarray", "Type_free", "Type_indexed",
         "Type_vector"),
        DERIVED,
    ),
    "Buffer_attach": "write `MPI.Attach_buffer(buffer)`",
    "Buffer_detach": "write `await MPI.Detach_buffer()`",
    **dict.fromkeys(("Initialized", "Finalized"), BEGAN),
}  # fmt: skip
