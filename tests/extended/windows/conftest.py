"""On which networks the tests of windows run."""

import pytest

NETWORKS = [
    "loggp:order=weak", "sci", "startx", "sunfire", "udp", "origin:order=weak", "t3e:order=weak", "mpi:library=sunmpi",
]  # fmt: skip


@pytest.fixture(scope="session", params=NETWORKS)
def network(request):
    """Give each network once, in weak order where it has that."""
    return request.param
