"""A report in a run of Weights & Biases: numbers in its summary, and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchharmony.errors import BenchharmonyError

if TYPE_CHECKING:
    from benchharmony.report import Report


def log(report: Report, run: Any = None, *, prefix: str = "harmony") -> None:
    """Add a report to a run.

    Parameters
    ----------
    report : Report
        ``prefix/benchmark/measure`` go into the run's summary (with the model where there are
        several), and a table ``prefix/report`` with a row per evaluation.
    run : wandb run, optional
        The active one by default.
    prefix : str
        First part of every name.

    Raises
    ------
    BenchharmonyError
        When wandb is not installed, or no run is active.
    """
    try:
        import wandb
    except ImportError:
        raise BenchharmonyError("exports.wandb needs wandb: pip install wandb") from None
    from benchharmony.exports.measures import measures
    from benchharmony.report.views import rows

    run = run or wandb.run
    if run is None:
        raise BenchharmonyError("exports.wandb: no run is active; call wandb.init() or give run=")
    table = rows(report.record)
    columns = list(table[0])
    data = [[row[c] for c in columns] for row in table]
    run.summary.update({f"{prefix}/{k}": v for k, v in measures(report.record).items()})
    run.log({f"{prefix}/report": wandb.Table(columns=columns, data=data, allow_mixed_types=True)})
