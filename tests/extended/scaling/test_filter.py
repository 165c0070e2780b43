"""The filter of a series of trials."""

import math

import pytest

from conduit import BadRequest
from extended import shmem


@pytest.mark.parametrize(
    ("seconds", "mean"),
    [
        ([9.0, 1.0], 1.0),  # the first never counts
        ([1.0] + [2.0] * 50, 2.0),
        ([1.0] + [2.0] * 49 + [3.6], (49 * 2 + 3.6) / 50),  # 1.8 times the median is no spike
        ([1.0] + [2.0] * 49 + [3.7], 2.0),
        ([1.0] + [2.0] * 45 + [9.0] * 5, 2.0),  # a tenth may go
        ([1.0] + [2.0] * 44 + [9.0, 8.0, 7.0, 6.0, 5.0, 4.0], (44 * 2 + 4) / 45),  # more may not: the largest five go
        ([1.0, 2.0, 2.0, 90.0], 94 / 3),  # a tenth of three is none
        ([0.0, 0.0, 0.0], 0.0),
    ],
)
def test_spikes_go_and_no_more_than_a_tenth(seconds, mean):
    assert shmem.filtered_mean(seconds) == pytest.approx(mean, rel=1e-12)
    assert shmem.filtered_mean(iter(seconds)) == pytest.approx(mean, rel=1e-12)


def test_the_order_of_what_counts_does_not_matter():
    series = [5.0, 1.0, 2.0, 30.0, 3.0, *[2.0] * 20]
    assert shmem.filtered_mean(series) == shmem.filtered_mean([series[0], *sorted(series[1:])])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        ([1.0], r"seconds has 1 trials; give at least 2, since the first one is thrown away"),
        ([], r"seconds has 0 trials"),
        ([1.0, math.nan], r"seconds\[1\]=nan is no time; give finite numbers, 0 or more"),
        ([1.0, -2.0], r"seconds\[1\]=-2\.0 is no time"),
        (3.0, r"seconds=3\.0 is no series of numbers; give the time of each trial"),
        (["a", "b"], r"is no series of numbers"),
    ],
)
def test_what_is_no_series_is_refused(seconds, words):
    with pytest.raises(BadRequest, match=words):
        shmem.filtered_mean(seconds)
