"""How the tests of this layer run their programs."""

import pytest

import conduit

# Limits as low as the conduit allows, so that few bytes make many pieces.
SMALL = "loggp:max_medium=512,max_long=1000"


def run(main, *args, ranks=2, spec=SMALL, segment=1 << 15, **settings):
    """Run a program with small limits."""
    return conduit.run(main, *args, ranks=ranks, conduit=spec, segment=segment, **settings)


@pytest.fixture(params=[1, 2, 3, 5, 8, 16])
def ranks(request):
    """Give each number of ranks that matters."""
    return request.param
