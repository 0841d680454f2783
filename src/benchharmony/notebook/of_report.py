"""What a report shows in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from benchharmony.errors import BenchharmonyError
from benchharmony.notebook.frame import chart

if TYPE_CHECKING:
    from benchharmony.notebook.frame import Library
    from benchharmony.plots import Chart
    from benchharmony.plots.evaluation import Items
    from benchharmony.splits import Split

Rows = Literal["evaluations", "subdomains"]


#: Evaluations in the small picture of a report.
_FEW = 12


class ReportInNotebook:
    """Frames, charts and the rich representation of a report.

    Charts take ``which``: the place of an evaluation in the report, or its model's name.
    """

    record: dict[str, Any]
    splits: tuple[Split, ...]

    def to_frame(self, rows: Rows = "evaluations", *, library: Library = "pandas") -> Any:
        """Return a data frame with one row per evaluation, or per subdomain of each.

        Parameters
        ----------
        rows : {"evaluations", "subdomains"}
            What a row is.
        library : {"pandas", "polars"}
            Which must be installed.
        """
        from benchharmony.notebook.frame import frame
        from benchharmony.report.views import rows as evaluation_rows

        if rows == "subdomains":
            return frame(subdomain_rows(self.record), library)
        if rows != "evaluations":
            raise BenchharmonyError(f"rows must be 'evaluations' or 'subdomains', got {rows!r}")
        return frame(evaluation_rows(self.record), library)

    def plot_overview(self) -> Chart:
        """Return H and score of every evaluation as an Altair chart (``benchharmony[plots]``)."""
        from benchharmony.plots.overview import overview_spec

        return chart(overview_spec(self.record), "no evaluation has a defined H")

    def plot_subdomains(self, which: int | str = 0) -> Chart:
        """Return the scores of an evaluation's subdomains as an Altair chart."""
        from benchharmony.plots.subdomains import subdomain_spec

        return chart(subdomain_spec(self._entry(which)), _NO_PARTS)

    def plot_masses(self, which: int | str = 0) -> Chart:
        """Return what each subdomain weighs in H as an Altair chart."""
        from benchharmony.plots.subdomains import masses_spec

        return chart(masses_spec(self._entry(which)), _NO_PARTS)

    def plot_by_k(self, which: int | str = 0) -> Chart:
        """Return silhouette and H for every k that was tried as an Altair chart."""
        from benchharmony.plots.by_k import silhouette_spec

        return chart(silhouette_spec(self._entry(which)), "the subdomains were not chosen over k")

    def plot_similarity(self, which: int | str = 0) -> Chart:
        """Return the items' similarity, ordered by subdomain, as an Altair chart."""
        return chart(self._spec_of_items(which, "similarity"), "the items cannot be compared")

    def plot_map(
        self,
        which: int | str = 0,
        colour: Literal["subdomain", "correct", "declared"] = "subdomain",
    ) -> Chart:
        """Return a map of the items as an Altair chart."""
        return chart(
            self._spec_of_items(which, f"map-by-{colour}"),
            f"the partition places no items, or none has what should colour it ({colour})",
        )

    def _repr_html_(self) -> str:
        from benchharmony.notebook.markup import picture
        from benchharmony.plots.overview import overview_spec
        from benchharmony.plots.subdomains import subdomain_spec
        from benchharmony.report.views import html_table

        entries = self.record["evaluations"]
        if len(entries) == 1:
            drawn = picture(subdomain_spec(entries[0]), "score of each subdomain")
        else:
            drawn = picture(overview_spec(self.record, most=_FEW), "H and score of the evaluations")
        return html_table(self.record) + drawn

    def _place(self, which: int | str) -> int:
        entries = self.record["evaluations"]
        if isinstance(which, str):
            found = [i for i, e in enumerate(entries) if e["model"] == which]
            if len(found) == 1:
                return found[0]
            if found:
                raise BenchharmonyError(
                    f"{len(found)} evaluations are of a model {which!r}; give the place of one: "
                    f"{', '.join(map(str, found))}"
                )
            there = ", ".join(dict.fromkeys(e["model"] for e in entries))
            raise BenchharmonyError(f"no evaluation is of a model {which!r}; there are: {there}")
        if not -len(entries) <= which < len(entries):
            raise BenchharmonyError(
                f"there is no evaluation {which}: the report has {len(entries)}, counted from 0"
            )
        return which % len(entries)

    def _entry(self, which: int | str) -> dict[str, Any]:
        entry: dict[str, Any] = self.record["evaluations"][self._place(which)]
        return entry

    def _spec_of_items(self, which: int | str, stem: str) -> dict[str, Any] | None:
        from benchharmony.plots.evaluation import evaluation_specs, items_of

        if not self.splits:
            raise BenchharmonyError("this report was read from a record, which holds no items")
        place = self._place(which)
        items: Items = items_of(self.splits[place])
        return evaluation_specs(self._entry(place), items).get(stem)


_NO_PARTS = "the evaluation has no subdomains"


def subdomain_rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one flat dict per subdomain of every evaluation."""
    out = []
    for e in record["evaluations"]:
        for s in e["subdomains"]:
            low, high = s["ci"] or (None, None)
            out.append(
                {
                    "benchmark": e["benchmark"], "model": e["model"], "subdomain": s["label"],
                    "size": s["size"], "weight": s["weight"], "score": s["score"],
                    "score_low": low, "score_high": high, "mass": s["mass"],
                    "keywords": ", ".join(s["keywords"]),
                }
            )  # fmt: skip
    return out
