"""benchharmony: how evenly a model's performance is spread over a benchmark's subdomains."""

from benchharmony._version import __version__
from benchharmony.errors import BenchharmonyError, BenchharmonyWarning
from benchharmony.evaluation import Evaluation
from benchharmony.predictive import Predictive

__all__ = [
    "BenchharmonyError",
    "BenchharmonyWarning",
    "Evaluation",
    "Predictive",
    "__version__",
]
