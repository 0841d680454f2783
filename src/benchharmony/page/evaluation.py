"""One evaluation of a report as the template shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchharmony.page.items import ItemStore
from benchharmony.page.pictures import MOST_WHOLE, Drawer
from benchharmony.page.safe import block, line
from benchharmony.page.words import DIAGNOSTICS, NULLS, partition_words
from benchharmony.report.shown import interval, number
from benchharmony.splits import Split

if TYPE_CHECKING:
    from benchharmony.plots.evaluation import Items

#: A map of more points is drawn as pixels: it would outweigh the rest of the page.
_VECTORS = 300
#: Items named among those left out.
_LEFT_OUT = 20


def evaluation_view(
    entry: dict[str, Any],
    row: dict[str, Any],
    split: Split | None,
    drawer: Drawer,
    store: ItemStore,
) -> dict[str, Any]:
    """Return everything that the page shows of one evaluation.

    Parameters
    ----------
    entry : dict
        Of the record.
    row : dict
        The same in the table at the top.
    split : Split or None
        Evaluation and partition, where items are at hand.
    drawer, store
        Of the page.
    """
    from benchharmony.plots.evaluation import items_of

    judged = entry["verdict"]
    # Laying out a map takes seconds: not for hundreds of evaluations.
    shown = items_of(split if drawer.sections <= MOST_WHOLE else None)
    return {
        **row,
        "error": entry["error"] and block(entry["error"], 600),
        "sentence": judged and block(judged["sentence"], 600),
        "notes": [block(n, 600) for n in judged["notes"]] if judged else [],
        "warning_texts": [block(w, 1000) for w in entry["warnings"]],
        "figures": _figures(entry),
        "partition": partition_words(entry["partition"]),
        "subdomains": [_subdomain(i, s) for i, s in enumerate(entry["subdomains"])],
        "keywords": any(s["keywords"] for s in entry["subdomains"]),
        "by_k": _by_k(entry),
        "diagnostics": [
            {
                "question": DIAGNOSTICS.get(a["name"], line(a["name"])),
                "ami": a["ami"],
                "flag": a["flag"],
            }
            for a in entry["partition"]["artefacts"]
        ],
        "tree": entry.get("tree") and "\n".join(_tree(entry["tree"])),
        "settings": _settings(entry),
        "left_out": _left_out(entry["source"]),
        **_pictures(entry, shown, drawer),
        "browse": _items(row["i"], entry, split, shown, store),
    }


def _figures(entry: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return name, value and explanation of the numbers of an evaluation."""
    h, score = entry["harmony"], entry["score"]
    out = [
        (
            f"score ({line(score['name'], 40)})",
            f"{number(score['mean'])} {interval(score['ci'])}".strip(),
            f"average of {entry['n_items']:,} items",
        )
    ]
    if h["value"] is None:
        return out
    loss, i = h["loss"], entry["indices"]
    out += [
        ("H, raw", number(h["value"]), "as the paper has it"),
        (
            "H, adjusted",
            f"{number(h['adjusted'])} {interval(h['ci'])}".strip(),
            "chance taken out; the interval is that of the true H",
        ),
        (
            "agreement",
            f"{number(h['agreement'])} {interval(h['agreement_ci'])}".strip(),
            "how near the subdomains score to the average",
        ),
        (
            "what H loses",
            f"{number(loss['sizes'])} + {number(loss['performance'])}",
            "1 - H, by uneven sizes and by uneven performance",
        ),
        (
            "spread",
            f"SD {number(i['weighted_sd'])}, worst {number(i['worst_subdomain'])}",
            "of the subdomains' scores",
        ),
    ]
    out += [
        (
            "less even than chance?",
            f"p = {n['p_value']:.2g}"
            + ("" if n["q_value"] is None else f" (q = {n['q_value']:.2g})"),
            f"against {NULLS.get(name, line(name))}",
        )
        for name, n in h["null"].items()
    ]
    bands = h["sensitivity"]["bandwidth"]
    if bands:
        values = ", ".join(f"{number(v, 2)} at {b}" for b, v in bands.items())
        out.append(("H by bandwidth", values, "how much hangs on this setting"))
    if h.get("detectable"):
        out.append(("what could not be seen", "", block(h["detectable"], 400)))
    if noise := h.get("partition_noise"):
        out.append(
            (
                "noise of H",
                f"items {number(noise['item_sd'])}, partition {number(noise['partition_sd'])}",
                "standard deviations of adjusted H",
            )
        )
    return out


def _subdomain(i: int, s: dict[str, Any]) -> dict[str, Any]:
    return {
        "i": i,
        "label": line(s["label"], 100),
        "size": s["size"],
        "weight": s["weight"],
        "score": s["score"],
        "ci": s["ci"],
        "mass": s["mass"],
        "keywords": ", ".join(line(w, 30) for w in s["keywords"]),
        "examples": ", ".join(line(e, 40) for e in s["examples"][:3]),
    }


def _by_k(entry: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    curve = entry["partition"]["silhouette_by_k"]
    chosen = str(entry["partition"]["k"])
    return [
        (k, number(curve.get(k)), number(h), "chosen" if k == chosen else "")
        for k, h in entry["harmony"]["by_k"].items()
    ]


def _tree(node: dict[str, Any], depth: int = 0) -> list[str]:
    name = ".".join(str(i + 1) for i in node["path"]) or "all"
    lines = [
        f"{'  ' * depth}{name}: {node['size']} items, {node['score']:.3f}; "
        f"{line(node['reason'], 200)}"
    ]
    for child in node["children"]:
        lines += _tree(child, depth + 1)
    return lines


def _settings(entry: dict[str, Any]) -> list[tuple[str, str]]:
    split, source = entry["partition"], entry["source"]
    made = [
        ("subdomains from", line(split["kind"] or "-", 80)),
        ("positions compared", split.get("positions")),
        ("tau", None if split.get("tau") is None else f"{split['tau']:.6g}"),
        ("k", split["k"]),
        ("k without the guard on small subdomains", split.get("unguarded_k")),
        ("engine", split.get("engine")),
        ("error of the engine", split.get("engine_error")),
        *(
            (f"partition: {name}", value)
            for name, value in (split.get("settings") or {}).items()
            if name not in ("tau", "k", "engine")
        ),
        ("format read", source["format"]),
        ("items read", source["items_read"]),
        ("items left out", source["items_left_out"]),
    ]
    rows = [(name, line(value, 300)) for name, value in made if value is not None]
    return [*rows, *(("file", line(f, 300)) for f in source["files"][:20])]


def _left_out(source: dict[str, Any]) -> dict[str, Any] | None:
    problems = source["left_out"]
    if not problems:
        return None
    return {
        "count": len(problems),
        "rows": [
            (line(p["item"] or "-", 60), str(p["line"] or "-"), line(p["reason"], 300))
            for p in problems[:_LEFT_OUT]
        ],
    }


def _pictures(entry: dict[str, Any], shown: Items, drawer: Drawer) -> dict[str, Any]:
    from benchharmony.plots.evaluation import masses_spec, silhouette_spec, subdomain_spec

    name = f"{line(entry['model'], 60)} on {line(entry['benchmark'], 60)}"
    return {
        "bars": drawer.both(
            lambda size: subdomain_spec(entry, size),
            f"Score of each subdomain, {name}; the table below has the numbers.",
            links=_indices(subdomain_spec(entry)), kind="subdomain",
        ),
        "masses": drawer.draw(
            masses_spec(entry), f"Mass of each subdomain in H beside its share, {name}."
        ),
        "curve": drawer.draw(
            silhouette_spec(entry), f"Silhouette and H for every number of subdomains, {name}."
        ),
        **_item_pictures(name, entry, shown, drawer),
    }  # fmt: skip


def _indices(spec: dict[str, Any] | None) -> list[int] | None:
    """Return which subdomain each mark of a picture stands for."""
    rows = (spec or {}).get("data", {}).get("values", [])
    return [r["index"] for r in rows] if rows and "index" in rows[0] else None


def _item_pictures(
    name: str, entry: dict[str, Any], shown: Items, drawer: Drawer
) -> dict[str, Any]:
    from benchharmony.plots.evaluation import evaluation_specs

    specs = evaluation_specs(entry, shown)
    return {
        "heat": drawer.draw(
            specs.get("similarity"), f"Similarity of the items, ordered by subdomain, {name}.",
            themed=False,
        ),
        "map": drawer.draw(
            specs.get("map-by-subdomain"),
            f"Items in two dimensions, coloured by subdomain, {name}.",
            pixels=len(shown.points or ()) > _VECTORS,
        ),
        "compared": shown.cells and (
            f"{shown.cells.sampled:,} of {shown.cells.n_items:,} items, compared by "
            f"{shown.cells.made_from}."
        ),
    }  # fmt: skip


def _items(
    place: int, entry: dict[str, Any], split: Split | None, shown: Items, store: ItemStore
) -> dict[str, Any] | None:
    if split is None or split.partition is None:
        return None
    from benchharmony.plots.naming import subdomain_names
    from benchharmony.plots.places import item_places

    at = None
    if shown.points:
        at = item_places(split.partition)  # as on the picture
        if at is None and len(shown.points) == len(split.evaluation):
            by_row = sorted(shown.points, key=lambda p: p["row"])
            at = np.array([[p["x"], p["y"]] for p in by_row])
    names = subdomain_names(entry) if entry["subdomains"] else split.partition.names
    return store.add(place, split, at, names)
