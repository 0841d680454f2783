"""A paired comparison of two models as a record, and as text."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from benchharmony._version import __version__
from benchharmony.alignment import line_up
from benchharmony.comparison import Comparison, compare
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.partition import Partition
from benchharmony.report.names import ASCII_ELLIPSIS, ELLIPSIS, columns_of, cut_names
from benchharmony.report.settings import Settings
from benchharmony.report.shown import interval, shown
from benchharmony.report.sureness import bounds_of, defined
from benchharmony.report.views import to_json
from benchharmony.splits import split_all
from benchharmony.terminal import can_draw, page_console

SCHEMA = "benchharmony/compare/1"
#: q-value up to which a subdomain is marked as different.
_DIFFERENT = 0.05


def compared(a: Evaluation, b: Evaluation, settings: Settings) -> dict[str, Any]:
    """Compare two models on the items that both answered, on one partition for both.

    Parameters
    ----------
    a, b : Evaluation
        With scores. Of one benchmark, or of one under two names: items of benchmarks with
        different names are the same only where their questions are.
    settings : Settings
        "auto" takes the shared partition where both recorded distributions, else the kind that
        the first evaluation allows.

    Raises
    ------
    BenchharmonyError
        When a model has no scores, the two share no item, or there is no partition.
    """
    lined = line_up([a, b], order="first", trust_ids=a.benchmark == b.benchmark)
    left = tuple(len(e) - len(lined.evaluations[0]) for e in (a, b))
    names = [a.benchmark] if a.benchmark == b.benchmark else [a.benchmark, b.benchmark]
    a, b = lined.evaluations
    b = replace(b, benchmark=a.benchmark)
    if a.scores is None or b.scores is None:
        raise BenchharmonyError("compare: both models need scores")
    split = _one_partition(a, b, settings)
    found = compare(
        a.scores,
        b.scores,
        split.labels,
        draws=max(settings.bootstrap, 1),
        level=settings.level,
        seed=settings.seed,
        bandwidth=settings.bandwidth,
        epsilon=settings.epsilon,
    )
    return {
        "schema": SCHEMA,
        "version": __version__,
        "settings": settings.to_dict(),
        "benchmark": " = ".join(names),
        "a": a.model,
        "b": b.model,
        "n_items": len(a),
        "items_of_one_only": list(left),
        "partition": {"kind": split.kind, "k": split.k},
        "score": {
            "a": float(a.scores.mean()),
            "b": float(b.scores.mean()),
            "difference": found.score_difference,
            "ci": bounds_of(found.score_interval),
            "p_value": defined(found.score_p),
        },
        "harmony": {
            "difference": defined(found.harmony_difference),
            "adjusted_difference": defined(found.adjusted_difference),
            "ci": bounds_of(found.harmony_interval),
        },
        "subdomains": _subdomains(split, found),
        "warnings": [
            *([split.undefined] if split.undefined else []),
            *split.notes,
            *lined.notes,
        ],
    }


def _one_partition(a: Evaluation, b: Evaluation, settings: Settings) -> Partition:
    if settings.partition == "auto" and set(a.predictive) & set(b.predictive):
        settings = replace(settings, partition="shared")
    first = split_all([a, b], settings).splits[0]
    if first.partition is None:
        raise BenchharmonyError(f"compare: {first.error}")
    return first.partition


def _subdomains(split: Partition, found: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "label": name,
            "size": int(split.sizes[i]),
            "difference": float(found.subdomain_differences[i]),
            "p_value": defined(float(found.subdomain_p[i])),
            "q_value": defined(float(found.subdomain_q[i])),
        }
        for i, name in enumerate(split.names)
    ]


def render(record: dict[str, Any], format: str) -> str:  # noqa: A002 - the field's own word
    """Return the comparison as strict JSON, as a LaTeX table or as text."""
    if format == "json":
        return to_json(record)
    if format == "latex":
        from benchharmony.report.latex import compared_to_latex

        return compared_to_latex(record)
    out = io.StringIO()
    print_compared(record, page_console(out))
    return out.getvalue()


def print_compared(record: dict[str, Any], console: Console) -> None:
    """Print the comparison: the means, H, and the subdomains where the models differ."""
    score, h = record["score"], record["harmony"]
    names = f"{shown(record['a'], 60)} less {shown(record['b'], 60)}"
    console.print(Text(f"{shown(record['benchmark'], 60)}: {names}", style="bold"))
    split = record["partition"]
    p = "-" if score["p_value"] is None else f"{score['p_value']:.2g}"
    lines = [
        f"{record['n_items']} items in common, partition {shown(split['kind'], 40)}, "
        f"k = {split['k']}",
        f"score {score['a']:.3f} less {score['b']:.3f}: {_signed(score['difference'])} "
        f"{interval(score['ci'])} (p = {p})",
        f"HARMONY {_signed(h['difference'])}   noise-adjusted "
        f"{_signed(h['adjusted_difference'])}   true difference within {interval(h['ci']) or '-'}",
    ]
    if any(record["items_of_one_only"]):
        one, other = record["items_of_one_only"]
        lines.append(f"left out: {one} items of the first only, {other} of the second only")
    console.print(Text("\n".join(f"  {line}" for line in lines)))
    mark = ELLIPSIS if can_draw(console) else ASCII_ELLIPSIS
    labels = cut_names([s["label"] for s in record["subdomains"]], 30, mark=mark)
    width = max([len("subdomain"), *map(columns_of, labels)])
    console.print(Text(f"  {'subdomain':<{width}}  items  difference  q-value", style="dim"))
    for s, label in zip(record["subdomains"], labels, strict=True):
        q = "-" if s["q_value"] is None else f"{s['q_value']:.2g}"
        mark = " *" if s["q_value"] is not None and s["q_value"] <= _DIFFERENT else ""
        figures = f"{s['size']:>6} {_signed(s['difference']):>11}  {q:>7}{mark}"
        console.print(Text(f"  {label}{' ' * (width - columns_of(label))} {figures}"))
    console.print(Text("  * differs, false discoveries held at 5 %", style="dim"))
    for warning in record["warnings"]:
        console.print(Text(f"  ! {shown(warning, 600)}", style="yellow"))


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"
