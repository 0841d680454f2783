"""A report in a run of MLflow: numbers as metrics, the whole record as an artifact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchharmony.errors import BenchharmonyError

if TYPE_CHECKING:
    from benchharmony.report import Report


def log(report: Report, run_id: str | None = None, *, prefix: str = "harmony") -> None:
    """Add a report to a run.

    Parameters
    ----------
    report : Report
        ``prefix/benchmark/measure`` become metrics (with the model where there are several), and
        the record the artifact ``prefix/report.json``.
    run_id : str, optional
        The active run by default; MLflow starts one where there is none.
    prefix : str
        First part of every name.

    Raises
    ------
    BenchharmonyError
        When mlflow is not installed.
    """
    try:
        import mlflow
    except ImportError:
        raise BenchharmonyError(
            "exports.mlflow needs MLflow: pip install mlflow (or mlflow-skinny)"
        ) from None
    from benchharmony.exports.measures import measures

    numbers = {f"{prefix}/{k}": v for k, v in measures(report.record).items()}
    mlflow.log_metrics(numbers, run_id=run_id)
    mlflow.log_dict(report.record, f"{prefix}/report.json", run_id=run_id)
