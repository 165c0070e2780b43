"""The libraries that MPI's semantics are tested on."""

import pytest

LIBRARIES = ["scampi", "sunmpi", "start"]


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param
