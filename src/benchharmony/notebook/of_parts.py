"""What a partition and the HARMONY of one evaluation show in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchharmony.errors import BenchharmonyError
from benchharmony.notebook.frame import chart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchharmony.metric import Subdomains
    from benchharmony.notebook.frame import Library
    from benchharmony.plots import Chart

Spec = dict[str, Any]


class PartitionInNotebook:
    """Frame, charts and the rich representation of a partition."""

    if TYPE_CHECKING:
        kind: str
        labels: Any
        names: tuple[str, ...]
        silhouette_by_k: Mapping[int, float]
        undefined: str | None
        notes: tuple[str, ...]

        @property
        def k(self) -> int:  # noqa: D102
            ...

        @property
        def sizes(self) -> NDArray[np.int64]:  # noqa: D102
            ...

    def to_frame(self, *, library: Library = "pandas") -> Any:
        """Return a data frame with one row per item: its place, and its subdomain's name."""
        from benchharmony.notebook.frame import frame

        rows = [
            {"row": i, "label": int(label), "subdomain": self.names[int(label)]}
            for i, label in enumerate(self.labels)
        ]
        return frame(rows, library)

    def plot_by_k(self) -> Chart:
        """Return the silhouette for every k that was tried as an Altair chart."""
        return chart(self._curve(), "the subdomains were not chosen over k")

    def plot_map(self) -> Chart:
        """Return a map of the items, coloured by subdomain, as an Altair chart."""
        from benchharmony.plots.item_map import item_map_spec
        from benchharmony.plots.places import LAID_OUT, item_places, sample_by_subdomain

        rows = sample_by_subdomain(self, LAID_OUT)  # type: ignore[arg-type]
        places = item_places(self)  # type: ignore[arg-type]
        if places is None:
            raise BenchharmonyError(
                f"nothing to plot: a partition of kind {self.kind!r} places no items"
            )
        items = [
            {"x": float(x), "y": float(y), "subdomain": self.names[int(self.labels[row])],
             "correct": None, "declared": None, "id": str(row)}
            for row, (x, y) in zip(rows, places[rows], strict=True)
        ]  # fmt: skip
        return chart(item_map_spec(items), "there are no items")

    def _repr_html_(self) -> str:
        from benchharmony.notebook.markup import paragraph, picture, table

        n = len(self.labels)
        words = f"Partition {self.kind}: {n} items, k = {self.k}"
        if self.undefined:
            return paragraph(f"{words}; undefined: {self.undefined}")
        rows = [
            [name, int(size), f"{size / n:.1%}"]
            for name, size in zip(self.names, self.sizes, strict=True)
        ]
        notes = "".join(paragraph(f"! {note}") for note in self.notes)
        drawn = picture(self._curve(), "silhouette of every k")
        return paragraph(words) + table(("subdomain", "items", "share"), rows, (0,)) + notes + drawn

    def _curve(self) -> Spec | None:
        from benchharmony.plots.by_k import silhouette_spec

        curve = {str(k): float(s) for k, s in self.silhouette_by_k.items()}
        chosen = None if self.undefined else self.k
        return silhouette_spec(
            {"benchmark": None, "partition": {"silhouette_by_k": curve, "k": chosen},
             "harmony": {"by_k": {}}}
        )  # fmt: skip


class HarmonyInNotebook:
    """Frame, charts and the rich representation of HARMONY under one partition."""

    if TYPE_CHECKING:
        value: float | None
        adjusted: float | None
        mean: float
        size_evenness: float | None
        agreement: float | None
        by_k: Mapping[int, float | None]
        subdomains: Subdomains
        masses: NDArray[np.float64]
        names: tuple[str, ...]
        undefined: str | None
        settings: Mapping[str, Any]
        notes: tuple[str, ...]

    def to_frame(self, *, library: Library = "pandas") -> Any:
        """Return a data frame with one row per subdomain."""
        from benchharmony.notebook.frame import frame

        return frame(self._rows(), library)

    def plot_subdomains(self) -> Chart:
        """Return the scores of the subdomains as an Altair chart."""
        from benchharmony.plots.subdomains import subdomain_spec

        return chart(subdomain_spec(self._entry()), self.undefined or "there are no subdomains")

    def plot_masses(self) -> Chart:
        """Return what each subdomain weighs in H as an Altair chart."""
        from benchharmony.plots.subdomains import masses_spec

        return chart(masses_spec(self._entry()), self.undefined or "there are no subdomains")

    def _repr_html_(self) -> str:
        from benchharmony.notebook.markup import paragraph, picture, table
        from benchharmony.plots.subdomains import subdomain_spec
        from benchharmony.report.shown import number

        if self.undefined:
            return paragraph(f"HARMONY is undefined: {self.undefined}")
        words = (
            f"HARMONY {number(self.value)}, noise-adjusted {number(self.adjusted)}, agreement "
            f"{number(self.agreement)}, size evenness {number(self.size_evenness)}; mean score "
            f"{self.mean:.3f}"
        )
        rows = [
            [r["subdomain"], r["size"], f"{r['weight']:.1%}", f"{r['score']:.3f}",
             f"{r['mass']:.3f}"]
            for r in self._rows()
        ]  # fmt: skip
        notes = "".join(paragraph(f"! {note}") for note in self.notes)
        made = table(("subdomain", "items", "share", "score", "mass"), rows, (0,))
        drawn = picture(subdomain_spec(self._entry()), "score of each subdomain")
        return paragraph(words) + made + notes + drawn

    def _rows(self) -> list[dict[str, Any]]:
        parts = self.subdomains
        names = self.names or tuple(f"S{i + 1}" for i in range(len(parts.sizes)))
        return [
            {
                "subdomain": name, "size": int(parts.sizes[i]), "weight": float(parts.weights[i]),
                "score": float(parts.performance[i]), "mass": float(self.masses[i]),
            }
            for i, name in enumerate(names)
        ]  # fmt: skip

    def _entry(self) -> dict[str, Any]:
        """Return what the plots of a report's evaluation read."""
        parts = [] if self.undefined else self._rows()
        return {
            "benchmark": None,
            "score": {"mean": self.mean, "name": "mean of the items"},
            "harmony": {"bandwidth": self.settings.get("bandwidth")},
            "subdomains": [
                {**row, "label": row["subdomain"], "ci": None, "keywords": []} for row in parts
            ],
        }
