"""benchharmony: how evenly a model's performance is spread over a benchmark's subdomains.

The names below are the public interface. Functions and the modules that hold them share names
(``benchharmony.partition`` is the function), so import from modules with ``from ... import``.
"""

from benchharmony._version import __version__
from benchharmony.errors import BenchharmonyError, BenchharmonyWarning
from benchharmony.evaluation import Evaluation
from benchharmony.harmony import HarmonyResult, harmony
from benchharmony.landscape import Landscape, landscape
from benchharmony.metric import harmony_score, performance_masses
from benchharmony.partition import Partition, partition
from benchharmony.predictive import Predictive
from benchharmony.reading import read
from benchharmony.rebalance import Rebalance, on_shared_items, rebalance
from benchharmony.report import Report, report
from benchharmony.similarity import jeffreys, predictive_similarity

__all__ = [
    "BenchharmonyError",
    "BenchharmonyWarning",
    "Evaluation",
    "HarmonyResult",
    "Landscape",
    "Partition",
    "Predictive",
    "Rebalance",
    "Report",
    "__version__",
    "harmony",
    "harmony_score",
    "jeffreys",
    "landscape",
    "on_shared_items",
    "partition",
    "performance_masses",
    "predictive_similarity",
    "read",
    "rebalance",
    "report",
]
