"""What the model says, pinned: the worked examples of docs/models/sci.md, and the anchors it was made from."""

from functools import partial

import pytest

from conduit.contract import Category
from conduits.sci.port import Sci, SciOptions


@pytest.fixture
def ping_pong(ping_pong):
    """Give what measures round trips, on sci where no spec is named."""
    return partial(ping_pong, spec="sci")


def raw(category, nbytes, **options):
    return Sci.raw_time(SciOptions(**options), category, nbytes, round_trip=True) * 1e6


def test_a_short_round_trip(ping_pong):
    """The sum of docs/models/sci.md: 15.3 us, and what polling adds."""
    took = ping_pong("short", 0)
    request = 0.6 + 0.6 + 0.9 + (0.2 + 16 / 190) + (0.5 + 0.7 + 0.07) + (0.5 + 3 * 0.07)
    reply = 0.6 + 0.9 + (0.2 + 16 / 190) + (0.5 + 0.7 + 3 * 0.07) + (0.5 + 0.07)
    flags = 2 * (2 * 0.2 + 2 / 190 + 0.5 + 0.7) + 4 * 0.07
    handling = 2 * (1.1 + 0.7 + 8 * 0.002)
    assert request + reply + flags + handling == pytest.approx(15.26, abs=0.01)
    # One look before the request, one per hit, and at most one whose beginning had to be waited for.
    assert request + reply + flags + handling <= took <= request + reply + flags + handling + 5 * 0.05


def test_the_anchor_of_the_overhead(ping_pong):
    """Short messages take 12 us more per round trip than the raw ping-pong: calibrated, not predicted."""
    assert ping_pong("short", 0) - raw(Category.SHORT, 0) == pytest.approx(12.0, abs=0.4)


def test_the_anchor_of_the_long_bandwidth(ping_pong):
    """131072 bytes at 213 MB/s, as testam prints, whose MB is 2**20 bytes: calibrated, not predicted."""
    assert 2 * 131072 / ping_pong("long", 131072, turns=3) == pytest.approx(213 * 2**20 / 1e6, abs=1)


def test_the_threshold_is_where_dma_begins(ping_pong):
    below, at = ping_pong("long", 2047), ping_pong("long", 2048)
    assert at > below
    moved = ping_pong("long", 2047, spec="sci:dma_threshold=1024")
    assert moved > below


def test_one_transaction_trades_a_copy_for_a_store(ping_pong):
    """One store fewer per message, and a copy of header and payload."""
    for nbytes in (64, 2048):
        two, one = ping_pong("medium", nbytes), ping_pong("medium", nbytes, spec="sci:transactions=1")
        copy = 0.1 + (16 + nbytes) / 700
        assert one - two == pytest.approx(2 * (copy - 0.2), abs=0.15)


def test_a_payload_that_lies_wrong_is_staged(ping_pong):
    """Source and target differ modulo 8: one copy of the body more, and head and tail by PIO."""
    aligned, wrong = ping_pong("long", 65536, reply_bytes=0), ping_pong("long", 65536, reply_bytes=0, offset=3)
    assert wrong - aligned == pytest.approx(0.1 + 65528 / 700 + 0.2 + 8 / 190 + 2 * 0.1, rel=0.02)


def test_dynamic_mapping_costs_its_mappings(ping_pong):
    bounced, mapped = ping_pong("long", 1000), ping_pong("long", 1000, spec="sci:dynamic_mapping=yes")
    copy = 0.1 + 1000 / 700
    assert mapped - bounced == pytest.approx(2 * (200 + 200 - copy), rel=0.01)


def test_a_scan_costs_by_the_number_of_ranks(ping_pong):
    """2 ns for each of four flags a rank, once per message handled."""
    few, many = ping_pong("short", 0, spec="sci:torus=16"), ping_pong("short", 0, ranks=16, spec="sci:torus=16")
    assert many - few == pytest.approx(2 * 14 * 4 * 0.002, abs=0.06)


def test_hops_cost_little(ping_pong):
    near, far = ping_pong("short", 0, ranks=8), ping_pong("short", 0, ranks=8, peer=5)
    # The rings make 4 + 2 links there and back instead of 4, twice per message, and the dimensions change.
    assert near < far < near + 4 * (2 * 0.07 + 2 * 0.25)


def test_a_remote_read_is_ten_writes():
    tables = {table.title: table for table in Sci.raw_tables(SciOptions())}
    read = dict(zip([row[0] for row in tables["Remote read"].rows], tables["Remote read"].rows, strict=True))
    assert 10 <= read[8][1] < 100  # the decade that the paper names
    pio = {row[0]: row[2] for row in tables["PIO ping-pong (scipp)"].rows}
    assert pio[65536] * 2**20 / 1e6 == pytest.approx(190, rel=0.01)


def test_the_tables_of_the_driver_and_of_rsm():
    driver = ["PIO ping-pong (scipp)", "DMA, one way (dma_bench)", "Remote read"]
    rsm = ["RSMAPI, each call", "RSMAPI, put and get"]
    assert [table.title for table in Sci.raw_tables(SciOptions())] == driver + rsm
    # RSM joins hosts, and here is one alone.
    assert [table.title for table in Sci.raw_tables(SciOptions(torus=(1,)))] == driver


def test_the_calls_of_rsm_take_their_software_and_what_the_card_takes():
    tables = {table.title: table.rows for table in Sci.raw_tables(SciOptions())}
    calls = dict(tables["RSMAPI, each call"])
    assert calls["memseg_import_connect"] == 100 + 200  # a question to the other host, and a mapping
    assert calls["memseg_import_disconnect"] == 200
    store = 0.2 + 16384 / 190
    assert calls["memseg_import_put"] == pytest.approx(0.1 + store, abs=1e-3)
    for nbytes, put, closed, _, got, _ in tables["RSMAPI, put and get"]:
        store, wire = 0.2 + nbytes / 190, max(nbytes, 16) + 16 * -(-nbytes // 64)
        assert put == pytest.approx(0.1 + store, abs=1e-3)
        # One link there, three for the response; closing is called while the bytes are on their way.
        landed = max(store, 0.2 + wire / 528) + 0.5 + 0.07 + 0.7
        if nbytes <= 4096:  # in one piece
            assert closed == pytest.approx(0.1 + 0.1 + landed + 0.5 + 3 * 0.07, abs=2e-3)
        assert got == pytest.approx(0.1 + 10 * (store + 0.5 + 0.07 + 0.7), abs=1e-3)


def test_the_raw_time_of_a_long_message_is_that_of_its_way():
    assert raw(Category.LONG, 2047) == pytest.approx(raw(Category.MEDIUM, 2047))
    assert raw(Category.LONG, 2048) > raw(Category.MEDIUM, 2048)
    # A slot holds 2048 bytes, so that is as far as a higher threshold goes.
    assert raw(Category.LONG, 2048, dma_threshold=4096) == pytest.approx(raw(Category.MEDIUM, 2048))
    assert raw(Category.LONG, 2049, dma_threshold=4096) > 2 * 30
    one_way = Sci.raw_time(SciOptions(), Category.LONG, 65536, round_trip=False)
    assert raw(Category.LONG, 65536) == pytest.approx(2 * one_way * 1e6)
