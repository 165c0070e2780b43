"""Checks of the conformance suites with all 24 CPUs of two hosts taken, in any order of lines and with links that fail.

The suites themselves run with up to four ranks on a host; `conduit conform sunfire --full` runs all on full hosts.
"""

import attrs
import pytest

from conduit.conformance import test_flow, test_hosts, test_messages
from conduit.conformance.cases import cases
from extended.conformance import test_barrier, test_putget

CHECKS = [
    test_hosts.test_all_ranks_agree_on_the_hosts,
    test_hosts.test_messages_cross_hosts_and_stay_on_them_alike,
    test_messages.test_long_writes_its_range_and_not_a_byte_more,
    test_messages.test_every_rank_writes_to_every_rank_with_longs,
    test_flow.test_every_resource_of_a_reply_is_set_aside_with_its_request,
    test_flow.test_all_ranks_to_all_ranks_in_all_categories,
    test_putget.test_every_rank_to_every_rank,
    test_barrier.test_many_barriers_in_a_row,
]


@pytest.mark.parametrize(
    "spec", ["sunfire:order=weak,stripes=2", "sunfire:config=q,stripes=1,poll=directed,fault=ni0.0~700us/300us"]
)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_full_hosts(check, spec):
    check(attrs.evolve(cases(spec, full=False, seed=3)[0], ranks=48, ranks_per_host=24))
