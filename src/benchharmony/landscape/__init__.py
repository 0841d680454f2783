"""The landscape: many models on many benchmarks, as mean and variance of H over the models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.models import ModelInfo, describe, read_models
from benchharmony.report.settings import Settings, settings_with

if TYPE_CHECKING:
    from benchharmony.cache import Cache
    from benchharmony.notebook.frame import Library
    from benchharmony.parallel import Backend
    from benchharmony.plots import Chart

__all__ = ["Landscape", "landscape"]

Format = Literal["text", "json", "csv", "md", "latex"]


@dataclass(frozen=True)
class Landscape:
    """Benchmarks over models, with everything that made the numbers.

    Attributes
    ----------
    record : dict
        The document, schema ``benchharmony/landscape/1``.
    """

    record: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the document, schema ``benchharmony/landscape/1``."""
        return self.record

    def render(self, format: Format = "text") -> str:  # noqa: A002 - the field's own word
        """Return the landscape as text, JSON, CSV, Markdown or LaTeX."""
        from benchharmony.landscape.views import render

        return render(self.record, format)

    def to_html(self, path: str | Path | None = None, *, command: str | None = None) -> str | None:
        """Write the page to a file, or return it where no file is given.

        Parameters
        ----------
        path : path, optional
            One self-contained HTML file: no network, scripts and styles inside.
        command : str, optional
            What made the landscape, for its reader.
        """
        from benchharmony.page import landscape_page, write_page

        return write_page(landscape_page(self, command=command), path)

    def to_frame(self, *, library: Library = "pandas") -> Any:
        """Return a frame of pandas or polars with one row per benchmark."""
        from benchharmony.landscape.views import benchmark_rows
        from benchharmony.notebook.frame import frame

        return frame(benchmark_rows(self.record), library)

    def evaluations_frame(self, *, library: Library = "pandas") -> Any:
        """Return a frame of pandas or polars with one row per evaluation."""
        from benchharmony.notebook.frame import frame

        return frame(self.record["evaluations"], library)

    def plot_plane(self, which: str = "adjusted") -> Chart:
        """Return the mean-variance plane as an Altair chart (needs ``benchharmony[plots]``)."""
        from benchharmony.plots import plane

        return plane(self.record, which)

    def plot_trends(self, over: str = "parameters") -> Chart:
        """Return H and score against size (or "tokens") as an Altair chart."""
        from benchharmony.plots import trends

        return trends(self.record, over)

    def plot_matched(self) -> Chart:
        """Return the planes of raw H of all items, and cut to one number, as an Altair chart."""
        from benchharmony.plots import as_chart, matched_spec

        return as_chart(matched_spec(self.record))

    def plot_agreement(self, benchmark: str) -> Chart:
        """Return how far the models' own partitions of a benchmark agree as an Altair chart."""
        from benchharmony.plots import as_chart, matrix_spec

        found = self.record["partitions"].get(benchmark, {})
        if len(found.get("models", ())) < 2:
            raise BenchharmonyError(
                f"nothing to plot: no partitions of several models of {benchmark!r}; landscape "
                "with partition='shared' compares them"
            )
        return as_chart(matrix_spec(benchmark, found))

    def __repr__(self) -> str:
        return f"<Landscape of {len(self.record['benchmarks'])} benchmarks>"

    def __str__(self) -> str:
        return self.render("text")

    def _repr_html_(self) -> str:
        from benchharmony.landscape.views import html_table
        from benchharmony.notebook.markup import picture
        from benchharmony.plots import plane_spec

        drawn = picture(plane_spec(self.record), "mean and standard deviation of H over models")
        return html_table(self.record) + drawn


def landscape(
    evaluations: Iterable[Evaluation],
    *,
    settings: Settings | None = None,
    models: Mapping[str, ModelInfo] | str | Path | None = None,
    keep: Literal["common", "all"] = "common",
    matched_items: int | None = None,
    repeats: int = 100,
    jobs: int | None = None,
    backend: Backend = "local",
    cache: Cache | str | Path | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Landscape:
    """Compute the mean-variance plane of benchmarks over models, and trends with model size.

    Parameters
    ----------
    evaluations : iterable of Evaluation
        At least one with scores.
    settings : Settings, optional
        Parameters of partition, H and intervals; or give them as keywords
        (``partition="shared"``, ``level=0.9``, ...). ``bootstrap`` is the number of resamples of
        the items, which the models of a benchmark share.
    models : mapping, path or None
        Facts about the models: :class:`~benchharmony.models.ModelInfo` by name, or a CSV. What it
        does not say comes from the evaluations' metadata, else from the names.
    keep : {"common", "all"}
        Which models count: those on every benchmark, or all (then benchmarks differ in their
        models, and a difference between them may be a difference of models).
    matched_items : int, optional
        Items that every benchmark is cut to for the size-matched landscape; the smallest
        benchmark's number otherwise.
    repeats : int
        Random cuts for it.
    jobs : int, optional
        Processes for the partitions; the result does not depend on it.
    backend : {"local", "ray", "dask"}
        Local processes, or a cluster that is there (:func:`benchharmony.parallel.run`).
    cache : path or Cache, optional
        Directory where partitions are kept, and looked up first; "user" is the user's cache
        directory. The result does not depend on it.
    progress : callable, optional
        Called with a name whenever a partition is done.

    Raises
    ------
    BenchharmonyError
        When nothing is given, no evaluation has a defined H, or no model is on every benchmark.
    """
    from benchharmony.cache import cache_of
    from benchharmony.landscape.record import Plan, landscape_record
    from benchharmony.work import Work

    chosen = settings_with(settings, options, "landscape")
    todo = list(evaluations)
    if not todo:
        raise BenchharmonyError("no evaluation for a landscape")
    if chosen.score is not None:
        todo = [e.with_score(chosen.score) for e in todo]
    given = read_models(models) if isinstance(models, (str, Path)) else models
    plan = Plan(chosen, keep, matched_items, repeats)
    work = Work(jobs, backend, cache_of(cache), progress)
    return Landscape(landscape_record(todo, describe(todo, given), plan, work))
