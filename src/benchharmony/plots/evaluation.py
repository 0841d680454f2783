"""Every plot of one evaluation of a report: Vega-Lite specifications, made without any extra.

Names and labels are data of the specifications, made safe and short; they are never markup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchharmony.errors import BenchharmonyError
from benchharmony.plots.by_k import silhouette_spec
from benchharmony.plots.files import save_for_print
from benchharmony.plots.item_map import COLOURED_BY, item_map_spec
from benchharmony.plots.naming import subdomain_names
from benchharmony.plots.overview import overview_spec
from benchharmony.plots.similarity import similarity_spec
from benchharmony.plots.style import SCREEN, Size
from benchharmony.plots.subdomains import masses_spec, subdomain_spec
from benchharmony.report.shown import shown
from benchharmony.writing import file_stem

if TYPE_CHECKING:
    from benchharmony.plots.items import SimilarityCells
    from benchharmony.splits import Split

__all__ = [
    "Items", "evaluation_specs", "item_map_spec", "items_of", "masses_spec", "save_report",
    "silhouette_spec", "similarity_spec", "subdomain_spec",
]  # fmt: skip

Spec = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Items:
    """What the plots of single items show; computed once for every size.

    Attributes
    ----------
    cells : SimilarityCells or None
        The sampled similarity matrix.
    points : list of dict or None
        The map of the items.
    """

    cells: SimilarityCells | None = None
    points: list[dict[str, Any]] | None = None


def items_of(split: Split | None) -> Items:
    """Return what the plots of single items show; nothing where there is no partition."""
    if split is None or split.partition is None or split.partition.undefined:
        return Items()
    from benchharmony.plots.items import map_points, similarity_cells

    return Items(
        similarity_cells(split.evaluation, split.partition),
        map_points(split.evaluation, split.partition),
    )


def evaluation_specs(
    entry: dict[str, Any], items: Items | None = None, size: Size = SCREEN
) -> dict[str, Spec]:
    """Return every plot that an evaluation has, by file stem.

    Parameters
    ----------
    entry : dict
        One evaluation of a document ``benchharmony/report/1``.
    items : Items, optional
        For the plots of single items (:func:`items_of`).
    size : Size
        Of the pictures.
    """
    found: dict[str, Spec | None] = {
        "subdomains": subdomain_spec(entry, size),
        "masses": masses_spec(entry, size),
        "by-k": silhouette_spec(entry, size),
    }
    names = subdomain_names(entry)
    if items is not None and items.cells is not None:
        cells = items.cells
        title = f"similarity of {cells.sampled} of {cells.n_items} items, from {cells.made_from}"
        labels = names or cells.labels
        found["similarity"] = similarity_spec(cells.matrix, cells.bounds, labels, size, title)
    if items is not None and items.points:
        called = {s["label"]: name for s, name in zip(entry["subdomains"], names, strict=True)}
        points = [
            {**p, "subdomain": called.get(p["subdomain"], p["subdomain"])} for p in items.points
        ]
        for colour in COLOURED_BY:
            found[f"map-by-{colour}"] = item_map_spec(points, colour, size, _map_title(entry))
    return {stem: spec for stem, spec in found.items() if spec is not None}


def _map_title(entry: dict[str, Any]) -> str:
    kind = entry["partition"]["kind"] or "none"
    to_whom = "the model" if kind.startswith("declared:") else f"the partition ({shown(kind, 24)})"
    return f"map of the {entry['n_items']} items: near ones are alike to {to_whom}"


def save_report(
    record: dict[str, Any],
    splits: Sequence[Split],
    folder: str | Path,
    told: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write every plot of a report in both sizes of print; return the files.

    Several evaluations have an overview, and each a folder of its own, named after its benchmark
    and model.

    Parameters
    ----------
    record : dict
        A document ``benchharmony/report/1``.
    splits : sequence of Split
        Evaluation and partition behind each entry; may be empty, then there are no plots of
        single items.
    folder : str or Path
        Where the files go.
    told : callable, optional
        Called with the name of each evaluation before it is drawn.

    Raises
    ------
    BenchharmonyError
        When no evaluation has subdomains, the extra for plots is not installed, or a file cannot
        be written.
    """
    entries = record["evaluations"]
    if not any(e["subdomains"] for e in entries):
        raise BenchharmonyError("nothing to plot: no evaluation has subdomains")
    out = []
    if len(entries) > 1 and overview_spec(record) is not None:
        out += save_for_print(lambda size: {"overview": overview_spec(record, size) or {}}, folder)
    for entry, place in zip(entries, folders_of(entries), strict=True):
        if told is not None:
            told(f"{entry['benchmark']} / {entry['model']}")
        if not entry["subdomains"]:
            continue
        items = items_of(splits[entries.index(entry)] if splits else None)
        out += save_for_print(_specs(entry, items), Path(folder) / place)
    return out


def _specs(entry: dict[str, Any], items: Items) -> Callable[[Size], dict[str, Spec]]:
    return lambda size: evaluation_specs(entry, items, size)


def folders_of(entries: Sequence[dict[str, Any]]) -> list[str]:
    """Return a folder's name for each evaluation, no two alike whatever a file system ignores."""
    if len(entries) == 1:
        return ["."]
    out: list[str] = []
    for entry in entries:
        stem = file_stem(entry["benchmark"], entry["model"])
        name, number = stem, 1
        while name.lower() in (o.lower() for o in out):
            number += 1
            name = f"{stem}-{number}"
        out.append(name)
    return out
