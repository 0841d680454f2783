"""What rebalancing one benchmark gives back."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchharmony._version import __version__
from benchharmony.errors import BenchharmonyWarning
from benchharmony.rebalancing.curve import Point
from benchharmony.rebalancing.fragility import Fragility
from benchharmony.rebalancing.post_stratified import PostStratified
from benchharmony.rebalancing.removal_tests import Effect, RankChange

if TYPE_CHECKING:
    from benchharmony.plots import Chart

SCHEMA = "benchharmony/rebalance/1"


@dataclass(frozen=True)
class Dropped:
    """An item that was dropped, and why.

    Attributes
    ----------
    place : int
        1 for the first item dropped.
    item_id, subdomain : str
        The item and its subdomain.
    nearest_kept : str or None
        Its most similar kept item of the same subdomain, where items can be compared.
    similarity : float or None
        Similarity to it, in [0, 1].
    reason : str
        In words.
    """

    place: int
    item_id: str
    subdomain: str
    nearest_kept: str | None
    similarity: float | None
    reason: str


@dataclass(frozen=True)
class SizeChange:
    """Items of one subdomain, before and after."""

    label: str
    before: int
    after: int


@dataclass(frozen=True)
class ModelResult:
    """What rebalancing did to one model's numbers.

    Attributes
    ----------
    model : str
        Name.
    before, after : mapping of str to (float or None)
        Score, harmony, adjusted, agreement, size_evenness and k, of all and of the kept items.
    effect : Effect
        The shift of the score; corrected over the models.
    post_stratified : PostStratified
        The score with every subdomain weighted equally.
    fragility : mapping of str to (Fragility or None)
        "removal" and "gain"; None where undefined.
    curve : tuple of Point
        The whole curve; its p-values are corrected over models and points.
    """

    model: str
    before: Mapping[str, float | None]
    after: Mapping[str, float | None]
    effect: Effect
    post_stratified: PostStratified
    fragility: Mapping[str, Fragility | None]
    curve: tuple[Point, ...]


@dataclass(frozen=True, eq=False)
class Rebalance:
    """A rebalanced benchmark. Made by :func:`benchharmony.rebalance`.

    Attributes
    ----------
    benchmark, strategy : str
        Names.
    stopped : str
        Where pruning stopped, in words.
    kept : tuple of str
        Ids of the kept items, in the order of the first evaluation.
    kept_subdomains : tuple of str
        Subdomain of each kept item.
    dropped : tuple of Dropped
        In the order in which they were dropped.
    sizes : tuple of SizeChange
        One a subdomain.
    models : tuple of ModelResult
        One an evaluation.
    fragility : mapping of str to (Fragility or None)
        Of the benchmark: the mean over the models.
    rank_changes : tuple of RankChange
        Pairs of models that change places.
    settings : mapping
        Every parameter, the partition and the similarity.
    notes : tuple of str
        Warnings in words.
    """

    benchmark: str
    strategy: str
    stopped: str
    kept: tuple[str, ...]
    kept_subdomains: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    sizes: tuple[SizeChange, ...]
    models: tuple[ModelResult, ...]
    fragility: Mapping[str, Fragility | None]
    rank_changes: tuple[RankChange, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        """Items before pruning."""
        return len(self.kept) + len(self.dropped)

    def to_dict(self) -> dict[str, Any]:
        """Return the document of this benchmark; plain JSON values."""
        return {
            "benchmark": self.benchmark,
            "strategy": self.strategy,
            "stopped": self.stopped,
            "n_items": self.n_items,
            "n_kept": len(self.kept),
            "n_dropped": len(self.dropped),
            "fragility": _plain(dict(self.fragility)),
            "models": [_plain(m) for m in self.models],
            "rank_changes": [_plain(r) for r in self.rank_changes],
            "subdomains": [_plain(s) for s in self.sizes],
            "settings": _plain(dict(self.settings)),
            "warnings": list(self.notes),
            "kept": list(self.kept),
            "dropped": [_plain(d) for d in self.dropped],
        }

    def export(
        self, folder: str | Path, *, items: str | Path | None = None, task: str | None = None
    ) -> list[Path]:
        """Write keep and drop lists and what else is possible; see docs/rebalance.md.

        Parameters
        ----------
        folder : path
            Made where it is missing.
        items : path, optional
            The benchmark's own JSON Lines file, for a pruned copy and lm-eval's sample list.
        task : str, optional
            Name of the lm-eval task; the benchmark's name by default.
        """
        from benchharmony.rebalancing.export import export

        written, notes = export(self, folder, items=items, task=task)
        for note in notes:
            warnings.warn(note, BenchharmonyWarning, stacklevel=2)
        return written

    def plot(self, path: str | Path) -> None:
        """Write the curve as .svg or .png (extra "plots") or as a Vega-Lite .json."""
        from benchharmony.rebalancing.plot import write_plot

        write_plot(document([self]), path)

    def plot_curve(self) -> Chart:
        """Return the curve as an Altair chart (needs ``benchharmony[plots]``)."""
        from benchharmony.plots import as_chart
        from benchharmony.rebalancing.plot import chart

        return as_chart(chart(document([self])))

    def __str__(self) -> str:
        from benchharmony.rebalancing.text import to_text

        return to_text(document([self]))


def document(results: list[Rebalance]) -> dict[str, Any]:
    """Return the document of several benchmarks, schema ``benchharmony/rebalance/1``."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "benchmarks": [r.to_dict() for r in results],
    }


def _plain(value: Any) -> Any:
    """Return dataclasses, mappings and tuples as plain JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return value
