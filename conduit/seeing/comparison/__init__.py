"""Results of benchmarks side by side: read from JSON, drawn, and two of them as ratios."""

from conduit.seeing.comparison.charts import pictures
from conduit.seeing.comparison.differences import Difference, differences, ratio_pictures
from conduit.seeing.comparison.pages import comparison_page, difference_page
from conduit.seeing.comparison.results import BenchmarkResult, Row, read_results, results_of

__all__ = [
    "BenchmarkResult",
    "Difference",
    "Row",
    "comparison_page",
    "difference_page",
    "differences",
    "pictures",
    "ratio_pictures",
    "read_results",
    "results_of",
]
