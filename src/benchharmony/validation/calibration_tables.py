"""The calibration figures as Markdown tables, for docs/uncertainty.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchharmony.indices import indices
from benchharmony.metric import harmony_score
from benchharmony.power import detectable_spread
from benchharmony.validation.calibration import (
    BANDS,
    TIED,
    UNEVEN_BAND,
    VARIED,
    confounded_error,
    coverage,
    harmony_error,
    percentile_coverage,
    planted_stream,
    type_one_error,
    verdict_table,
)
from benchharmony.validation.planted import planted_performance
from benchharmony.verdict import EXCEPTIONS, REPRESENTATIVE, TOO_FEW, UNEVEN

CELLS = [(n, k) for n in (300, 1000, 5000) for k in (3, 10, 20)]


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _head(*names: str) -> list[str]:
    return [_row(*names), _row(*["---"] * len(names))]


def coverage_table(evaluations: int) -> Iterator[str]:
    """Coverage on varied performances, per n and k; fixed sizes on half, percentiles on a fifth."""
    half, fifth = max(evaluations // 2, 1), max(evaluations // 5, 1)
    yield from _head(
        "n", "k", "H (sizes sampled)", "below / above", "agreement", "score", "subdomains",
        "H (sizes fixed)", "percentiles of raw H",
    )  # fmt: skip
    for n, k in CELLS:
        c = coverage(planted_stream(n, k, VARIED, evaluations, sampled=True), sizes="sampled")
        fixed = coverage(planted_stream(n, k, VARIED, half), sizes="fixed")
        plain = percentile_coverage(planted_stream(n, k, VARIED, fifth, sampled=True))
        yield _row(
            n, k, f"{c.harmony:.1%}", f"{c.below:.1%} / {c.above:.1%}", f"{c.agreement:.1%}",
            f"{c.score:.1%}", f"{c.subdomains:.1%}", f"{fixed.harmony:.1%}", f"{plain:.1%}",
        )  # fmt: skip


def edge_table(evaluations: int) -> Iterator[str]:
    """Coverage of H by shape of true performance, ties included, sizes sampled."""
    shapes = (*TIED, *VARIED)
    yield from _head("n", "k", *[str(s) for s in shapes])
    for n, k in CELLS:
        found = [
            coverage(planted_stream(n, k, (s,), evaluations, sampled=True), sizes="sampled")
            for s in shapes
        ]
        yield _row(n, k, *[f"{c.harmony:.0%}" for c in found])


def other_scores_table(evaluations: int) -> Iterator[str]:
    """Coverage with graded scores and with clustered items."""
    yield from _head("n", "k", "scores", "H", "agreement", "score", "subdomains")
    for n, k in ((300, 10), (1000, 10), (1000, 20), (5000, 20)):
        graded = planted_stream(n, k, VARIED, evaluations, graded=True, sampled=True)
        passages = planted_stream(n, k, VARIED, evaluations, cluster_size=4)
        for name, stream, sizes in (
            ("graded", graded, "sampled"),
            ("clusters of 4", passages, "fixed"),
        ):
            c = coverage(stream, sizes=sizes)  # type: ignore[arg-type]
            yield _row(
                n, k, name, f"{c.harmony:.1%}", f"{c.agreement:.1%}", f"{c.score:.1%}",
                f"{c.subdomains:.1%}",
            )  # fmt: skip


def nulls_table(evaluations: int) -> Iterator[str]:
    """Type I errors at 5 %: same-size on three times the evaluations, graded on a quarter."""
    yield from _head(
        "n", "k", "same-size, even", "same-size, even, graded", "same-size, confounded",
        "difficulty-matched, confounded",
    )  # fmt: skip
    for n, k in ((300, 3), (300, 20), (1000, 10), (5000, 20)):
        even = type_one_error(n, k, 3 * evaluations)
        graded = type_one_error(n, k, max(evaluations // 4, 1), graded=True)
        same, matched = confounded_error(n, k, evaluations)
        yield _row(n, k, f"{even:.1%}", f"{graded:.1%}", f"{same:.1%}", f"{matched:.1%}")


def adjusted_table(evaluations: int) -> Iterator[str]:
    """Bias and error of raw and adjusted H, by true performance."""
    yield from _head("n", "k", "true performance", "bias raw", "adjusted", "RMSE raw", "adjusted")
    for n, k in ((300, 20), (1000, 20), (300, 3)):
        for shape in (0.0, 0.02, 0.05, 0.1, 0.2, "uniform", "halves", "one weak", "one easy"):
            e = harmony_error(planted_stream(n, k, (shape,), evaluations))
            yield _row(
                n, k, shape, f"{e.raw_bias:+.3f}", f"{e.adjusted_bias:+.3f}",
                f"{e.raw_rmse:.3f}", f"{e.adjusted_rmse:.3f}",
            )  # fmt: skip


def verdicts_table(evaluations: int) -> Iterator[str]:
    """Verdicts by band of true agreement."""
    labels = (REPRESENTATIVE, EXCEPTIONS, TOO_FEW, UNEVEN)
    yield from _head("n", "k", "true agreement", "evaluations", *labels)
    for n, k in ((300, 3), (300, 20), (1000, 10), (5000, 20)):
        shapes = (0.0, 0.02, 0.04, 0.06, 0.08, 0.12, 0.2, "halves", "one weak", "one easy")
        table = verdict_table(planted_stream(n, k, shapes, evaluations, sampled=True))
        for name in [*(name for _, name in BANDS), UNEVEN_BAND]:
            counts = table.get(name)
            if counts is not None:
                total = counts.total()
                yield _row(n, k, name, total, *[f"{counts[x] / total:.0%}" for x in labels])


def indices_table(_: int) -> Iterator[str]:
    """Each index on planted truths without noise, 10 subdomains."""
    rng = np.random.default_rng(0)
    yield from _head(
        "truth", "H", "agreement", "weighted SD", "CV", "Gini", "Renyi-2", "Hill", "min/max",
        "worst",
    )  # fmt: skip
    equal = np.full(10, 0.1)
    big = np.array([0.91, *[0.01] * 9])
    mostly = np.array([0.55, *[0.05] * 9])
    cases = [
        ("all at 0.7", equal, np.full(10, 0.7)),
        ("all at 0.7, one subdomain holds 91 %", big, np.full(10, 0.7)),
        ("SD 0.05", equal, planted_performance(0.05, 10, rng)),
        ("SD 0.2", equal, planted_performance(0.2, 10, rng)),
        ("two halves at 0.9 and 0.4", equal, planted_performance("halves", 10, rng)),
        ("two halves at 1 and 0", equal, np.repeat([1.0, 0.0], 5)),
        ("one weak (0.3 among 0.7)", equal, planted_performance("one weak", 10, rng)),
        ("one easy (0.9 among 0.45)", equal, planted_performance("one easy", 10, rng)),
        ("one easy, 55 % of the items", mostly, planted_performance("one easy", 10, rng)),
    ]
    for name, weights, psi in cases:
        panel = indices(weights, psi)
        yield _row(
            name,
            f"{harmony_score(weights, psi):.2f}",
            *[
                f"{x:.2f}"
                for x in (
                    panel.agreement, panel.weighted_sd, panel.coefficient_of_variation,
                    panel.gini, panel.renyi2_evenness, panel.hill_evenness,
                    panel.min_max_ratio, panel.worst_subdomain,
                )
            ],
        )  # fmt: skip


def power_table(_: int) -> Iterator[str]:
    """Smallest spread detected 80 % of the time, mean score 0.6, equal sizes."""
    yield from _head("n", *[f"k = {k}" for k in (3, 5, 10, 20)])
    for n in (100, 300, 1000, 3000, 10_000):
        found = [detectable_spread(np.full(k, n / k), 0.6) for k in (3, 5, 10, 20)]
        yield _row(n, *[f"{x:.3f}" for x in found])


TABLES: dict[str, Callable[[int], Iterator[str]]] = {
    "coverage": coverage_table,
    "edge": edge_table,
    "other-scores": other_scores_table,
    "nulls": nulls_table,
    "adjusted": adjusted_table,
    "verdicts": verdicts_table,
    "indices": indices_table,
    "power": power_table,
}
