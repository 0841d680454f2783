"""The page of a rebalancing: does the score hang on over-represented items, and which to drop."""

from __future__ import annotations

from typing import Any

from benchharmony.page.pictures import PHONE, Drawer, Picture
from benchharmony.page.safe import block, line
from benchharmony.page.settings import settings_rows
from benchharmony.page.shell import render
from benchharmony.page.short import in_short
from benchharmony.page.words import Answer, counted, isolated, listed
from benchharmony.plots.style import Size
from benchharmony.rebalancing.removal_tests import holm
from benchharmony.report.shown import interval, number

#: Models whose curves are drawn, those whose score moves most.
_CURVES = 6
#: Dropped items that the page lists; --export writes all.
_DROPPED = 1000

_HOLDS = Answer(
    "yes", "it holds", "The score does not hang on over-represented items",
    "Pruning moves it no more than removing as many items at random.", 3,
)  # fmt: skip
_SIZES = Answer(
    "no", "it moves", "The score hangs on the sizes of the subdomains",
    "With even sizes it is another one, by more than chance.", 0,
)  # fmt: skip
_CHOICE = Answer(
    "but", "it moves by choice", "The score moves with which items are dropped",
    "It does so by more than chance, but the sizes of the subdomains alone do not explain it.", 1,
)  # fmt: skip

_STRATEGIES = {
    "redundancy": "the most similar items of the largest subdomains were dropped",
    "threshold": "one of every pair of near-duplicates was dropped",
    "balance": "every subdomain was cut to the same number of items",
    "weights": "no item was dropped; every subdomain counts equally instead",
}
_GLOSSARY = (
    ("shift", "The score of the kept items less that of all items."),
    (
        "p",
        "How often removing as many items at random moves the score at least as far, corrected "
        "for the number of models. Small: more than chance.",
    ),
    (
        "by sizes, by choice",
        "The shift falls into two parts: what the new sizes of the subdomains do, and what it "
        "does which items of each were kept. The p of the sizes: how often scores shuffled over "
        "the items give as much, corrected for the number of models.",
    ),
    (
        "fragility",
        "How far the score moves, on average over the models, when a set share of the items is "
        "pruned, or until H has risen by a set amount.",
    ),
    ("H", "HARMONY: how evenly the score is spread over the subdomains, from 0 to 1."),
)
_LIMITS = (
    "A shift can be honest difficulty: it says what the average hangs on, not that it is wrong."
)


def page(document: dict[str, Any], command: str | None) -> str:
    """Return the page of a document ``benchharmony/rebalance/1``."""
    drawer = Drawer(len(document["benchmarks"]))
    rows = [_row(i, e) for i, e in enumerate(document["benchmarks"])]
    views = [_view(e, row, drawer) for e, row in zip(document["benchmarks"], rows, strict=True)]
    names = [e["benchmark"] for e in document["benchmarks"]]
    context = {
        "title": f"Does the score hang on over-represented items? {listed(names, 3)}",
        "version": document["version"],
        "lead": _lead(document),
        "short": in_short(rows),
        "views": views,
        "open": len(views) <= 2,
        "glossary": _GLOSSARY,
        "limits": _LIMITS,
        "settings": [],
        "command": command and block(command, 20_000),
        "files": [],
        "why_not": drawer.why_not,
    }
    return render("rebalance.html.j2", context, {})


def _lead(document: dict[str, Any]) -> str:
    entries = document["benchmarks"]
    models = {m["model"] for e in entries for m in e["models"]}
    what = "; ".join(
        f"{isolated(e['benchmark'], 50)}: {e['n_kept']:,} of {e['n_items']:,} items kept"
        for e in entries[:4]
    )
    more = f" and {len(entries) - 4} more" if len(entries) > 4 else ""
    return (
        f"A benchmark with many items of one kind is mostly a test of that kind. Here items were "
        f"pruned ({what}{more}) and the scores of {counted(len(models), 'model')} computed again, "
        "beside those after removing as many items at random."
    )


def _row(i: int, e: dict[str, Any]) -> dict[str, Any]:
    answer = _answer(e)
    return {
        "i": i,
        "benchmark": line(e["benchmark"], 80),
        "model": None,
        "answer": answer,
        "why": _why(e),
        "order": (answer.rank, -max((abs(_shift(e, m)[0]) for m in e["models"]), default=0.0)),
    }


def _shift(e: dict[str, Any], m: dict[str, Any]) -> tuple[float, float | None]:
    """Return the shift of a model's score and its p-value."""
    if e["strategy"] == "weights":
        p = _corrected(e, m, [x["post_stratified"]["p_value"] for x in e["models"]])
        return m["post_stratified"]["shift"], p
    return m["effect"]["shift"], m["effect"]["p_holm"]


def _moved(e: dict[str, Any]) -> list[dict[str, Any]]:
    alpha = 1 - e["settings"]["level"]
    found = [(m, _shift(e, m)[1]) for m in e["models"]]
    return [m for m, p in found if p is not None and p <= alpha]


def _answer(e: dict[str, Any]) -> Answer:
    moved, alpha = _moved(e), 1 - e["settings"]["level"]
    if not moved:
        return _HOLDS
    if e["strategy"] == "weights":
        return _SIZES
    return _SIZES if any(_sizes_p(e, m) <= alpha for m in moved) else _CHOICE


def _sizes_p(e: dict[str, Any], m: dict[str, Any]) -> float:
    """Return the p-value of what the sizes alone do to a model, corrected over the models."""
    return _corrected(e, m, [x["effect"]["p_sizes"] for x in e["models"]])


def _corrected(e: dict[str, Any], m: dict[str, Any], p_values: list[float]) -> float:
    return float(holm(p_values)[[x["model"] for x in e["models"]].index(m["model"])])


def _why(e: dict[str, Any]) -> str:
    """Say what moves most: by the sizes where they are the answer, else altogether."""
    if not e["models"]:
        return ""
    several = "" if len(e["models"]) == 1 else (
        f" {len(_moved(e))} of {len(e['models'])} models move by more than chance."
    )  # fmt: skip
    most = max(e["models"], key=lambda m: abs(_shift(e, m)[0]))
    shift, p = _shift(e, most)
    if e["strategy"] == "weights":
        after = most["post_stratified"]["score"]
        return f"{isolated(most['model'])} moves most: {_way(most, after, shift, p)}.{several}"
    alpha = 1 - e["settings"]["level"]
    by_sizes = [m for m in _moved(e) if _sizes_p(e, m) <= alpha]
    if by_sizes:
        most = max(by_sizes, key=lambda m: abs(m["effect"]["by_sizes"]))
        effect = most["effect"]
        way = _way(most, effect["after"], *_shift(e, most))
        return (
            f"The sizes alone move the score of {isolated(most['model'])} by "
            f"{effect['by_sizes']:+.3f}{_sure(_sizes_p(e, most), ' (', ')')}; with the choice of "
            f"the items it moves {way}.{several}"
        )
    said = f"{isolated(most['model'])} moves most: {_way(most, most['effect']['after'], shift, p)}."
    p_sizes = _sizes_p(e, most)
    if not _moved(e) and p_sizes <= alpha:
        said += (
            f" What the sizes alone do, {most['effect']['by_sizes']:+.3f}, is more than chance"
            f"{_sure(p_sizes, ' (', ')')}, but the whole shift is not."
        )
    return said + several


def _way(m: dict[str, Any], after: float, shift: float, p: float | None) -> str:
    return f"from {m['effect']['before']:.3f} to {after:.3f} ({shift:+.3f}{_sure(p, ', ')})"


def _sure(p: float | None, before: str, after: str = "") -> str:
    return "" if p is None else f"{before}p {'' if p < 0.001 else '= '}{_p(p)}{after}"


def _view(e: dict[str, Any], row: dict[str, Any], drawer: Drawer) -> dict[str, Any]:
    weights = e["strategy"] == "weights"
    return {
        **row,
        "strategy": _STRATEGIES.get(e["strategy"], line(e["strategy"])),
        "stopped": block(e["stopped"], 400),
        "n_items": e["n_items"],
        "n_kept": e["n_kept"],
        "n_dropped": e["n_dropped"],
        "k": e["settings"]["k"],
        "partition": line(e["settings"]["partition"], 80),
        "similarity": e["settings"]["similarity"] and line(e["settings"]["similarity"], 40),
        "warning_texts": [block(w, 1000) for w in e["warnings"]],
        "weights": weights,
        "models": [_model(e, m) for m in e["models"]],
        "sizes": [(line(s["label"], 100), s["before"], s["after"]) for s in e["subdomains"]],
        "curves": _curves(e, drawer),
        "fragility": _fragility(e),
        "ranks": _ranks(e),
        "dropped": [
            (
                str(d["place"]),
                line(d["item_id"], 80),
                line(d["subdomain"], 60),
                line(d["nearest_kept"] or "-", 80),
                number(d["similarity"], 2),
                line(d["reason"], 200),
            )
            for d in e["dropped"][:_DROPPED]
        ],
        "settings": settings_rows(e["settings"]),
    }


def _model(e: dict[str, Any], m: dict[str, Any]) -> dict[str, Any]:
    effect, before, after = m["effect"], m["before"], m["after"]
    weights = m["post_stratified"]
    shift, p = _shift(e, m)
    plain = e["strategy"] != "weights"
    return {
        "model": line(m["model"], 80),
        "before": effect["before"],
        "after": effect["after"] if plain else weights["score"],
        "shift": shift,
        "ci": interval(effect["ci"] if plain else weights["shift_ci"]),
        "p": p,
        "p_words": _p(p),
        "by_sizes": effect["by_sizes"] if plain else shift,
        "by_choice": effect["by_choice"] if plain else 0.0,
        "h": f"{number(before['harmony'], 2)} to {number(after['harmony'], 2)}",
    }


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _curves(e: dict[str, Any], drawer: Drawer) -> list[tuple[str, Picture]]:
    """Return the curves of the models whose score moves most."""
    from benchharmony.rebalancing.plot import curve_specs

    out = []
    for m in sorted(e["models"], key=lambda m: -abs(_shift(e, m)[0]))[:_CURVES]:
        if len(m["curve"]) < 2:
            continue

        def spec(size: Size, model: dict[str, Any] = m) -> dict[str, Any]:
            used = size if size is PHONE else Size(min(size.width, 560), size.font)
            one = {"benchmarks": [{**e, "models": [model]}]}
            return next(iter(curve_specs(one, used).values()))

        words = f"Score and H of {line(m['model'], 60)} as more and more items are removed."
        picture = drawer.both(spec, words)
        if picture is not None:
            out.append((line(m["model"], 80), picture))
    return out


def _fragility(e: dict[str, Any]) -> list[str]:
    lines = []
    for kind, words in (("removal", "of the items removed"), ("gain", "gained in H")):
        f = e["fragility"].get(kind)
        if f is None:
            continue
        at = f"{f['at']:.0%}" if kind == "removal" else f"{f['at']:g}"
        lines.append(
            f"With {at} {words}, the score moves by {f['value']:.3f} {interval(f['ci'])}: "
            f"{f['by_sizes']:.3f} by sizes; {f['by_chance']:.3f} would be chance."
        )
    return lines


def _ranks(e: dict[str, Any]) -> dict[str, Any] | None:
    if len(e["models"]) < 2:
        return None
    changes = e["rank_changes"]
    return {
        "count": len(changes),
        "beyond": sum(bool(c["beyond_noise"]) for c in changes),
        "rows": [
            (
                line(c["behind"], 60),
                line(c["ahead"], 60),
                f"{c['gap_before']:+.3f}",
                f"{c['gap_after']:+.3f}",
                _p(c["p_holm"]),
            )
            for c in changes[:50]
        ],
    }
