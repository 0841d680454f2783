"""Reports: from evaluations to one record, and from the record to every view.

Imports of the maths and the views are inside the functions: ``import benchharmony`` stays quick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.notebook.of_report import ReportInNotebook
from benchharmony.report.settings import Settings, settings_with

if TYPE_CHECKING:
    from benchharmony.cache import Cache
    from benchharmony.parallel import Backend
    from benchharmony.splits import Split

__all__ = ["Report", "Settings", "report"]

Format = Literal["text", "json", "csv", "md", "latex"]


@dataclass(frozen=True)
class Report(ReportInNotebook):
    """HARMONY of one or more evaluations, with everything that made it.

    Attributes
    ----------
    record : dict
        The document, schema ``benchharmony/report/1``.
    splits : tuple of Split
        Evaluation and partition behind each entry of the record, in its order; for views that
        show items.
    """

    record: dict[str, Any]
    splits: tuple[Split, ...] = field(default=(), repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the document, schema ``benchharmony/report/1``."""
        return self.record

    def render(self, format: Format = "text") -> str:  # noqa: A002 - the field's own word
        """Return the report as text, JSON, CSV, Markdown or LaTeX."""
        from benchharmony.report.views import render

        return render(self.record, format)

    def to_html(self, path: str | Path | None = None, *, command: str | None = None) -> str | None:
        """Write the page to a file, or return it where no file is given.

        Parameters
        ----------
        path : path, optional
            One self-contained HTML file: no network, scripts and styles inside.
        command : str, optional
            What made the report, for its reader.
        """
        from benchharmony.page import report_page, write_page

        return write_page(report_page(self, command=command), path)

    def __repr__(self) -> str:
        return f"<Report of {len(self.record['evaluations'])} evaluations>"

    def __str__(self) -> str:
        return self.render("text")


def report(
    evaluations: Evaluation | Iterable[Evaluation],
    *,
    settings: Settings | None = None,
    jobs: int | None = None,
    backend: Backend = "local",
    cache: Cache | str | Path | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Report:
    """Compute score, HARMONY and subdomains of every evaluation.

    Parameters
    ----------
    evaluations : Evaluation or iterable of Evaluation
        At least one.
    settings : Settings, optional
        All parameters; or give them as keywords (``partition="declared:subject"``, ``k=15``, ...).
    jobs : int, optional
        Processes to use; the result does not depend on it.
    backend : {"local", "ray", "dask"}
        Local processes, or a cluster that is there (:func:`benchharmony.parallel.run`).
    cache : path or Cache, optional
        Directory where each evaluation's partition and record are kept, and looked up first; "user"
        is the user's cache directory. The result does not depend on it.
    progress : callable, optional
        Called with a name whenever a partition or a record of an evaluation is done.

    Raises
    ------
    BenchharmonyError
        When there is no evaluation, or not one of them could be analysed.
    """
    from benchharmony.cache import cache_of
    from benchharmony.report.record import document
    from benchharmony.report.records import records_of
    from benchharmony.work import Work

    chosen = settings_with(settings, options, "report")
    todo = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    if not todo:
        raise BenchharmonyError("no evaluation to report on")
    if not all(isinstance(e, Evaluation) for e in todo):
        raise BenchharmonyError("report takes Evaluations; benchharmony.read makes them")
    if chosen.score is not None:
        todo = [e.with_score(chosen.score) for e in todo]
    work = Work(jobs, backend, cache_of(cache), progress)
    splits, records = records_of(todo, chosen, work)
    errors = [r["error"] for r in records if r["error"]]
    if len(errors) == len(records):
        more = f" (and {len(errors) - 1} more of the same kind)" if len(errors) > 1 else ""
        raise BenchharmonyError(f"no evaluation could be analysed: {errors[0]}{more}")
    return Report(document(records, chosen.to_dict()), tuple(splits))
