"""The page of a validation: do the subdomains mean anything."""

from __future__ import annotations

from typing import Any

from benchharmony.page.pictures import Drawer
from benchharmony.page.safe import block, line
from benchharmony.page.settings import settings_rows
from benchharmony.page.shell import render
from benchharmony.page.words import counted, listed
from benchharmony.plots.style import Size
from benchharmony.validation.tables import Table, tables_of

#: What stands in the record beside the cases, and its heading.
_REST = ("combined", "between_models", "planted")

_GLOSSARY = (
    (
        "AUC",
        "How often a paraphrase lies nearer to the original than a look-alike does: 1 always, 0.5 "
        "by chance, 0 never.",
    ),
    (
        "ARI, AMI",
        "How far two partitions agree: adjusted Rand index and adjusted mutual information. 1 the "
        "same, 0 by chance.",
    ),
    (
        "declared",
        "The subdomains that the benchmark itself names; the induced ones are found without them.",
    ),
    (
        "planted",
        "Made up with a known answer, so that the error of the method can be measured.",
    ),
    ("random", "The same computation with shuffled membership: what chance reaches."),
    ("r, slope, bias, error", "Of the H found against the true H, over many made-up benchmarks."),
)
_LIMITS = (
    "A similarity that finds the declared topics of one set of items need not find those of "
    "another: these figures are of the items and models named here."
)


def page(record: dict[str, Any], command: str | None) -> str:
    """Return the page of a record ``benchharmony/validation/1``."""
    drawer = Drawer(len(record["cases"]))
    cases = [_case(i, case, drawer) for i, case in enumerate(record["cases"])]
    rest = {key: record.get(key) for key in ("planted_k_rules", "mistakes", *_REST)}
    other = [_table(t) for t in tables_of({"cases": [], **rest})]
    context = {
        "title": _title(record),
        "version": record["version"],
        "lead": _lead(record),
        "cases": cases,
        "other": other,
        "open": len(cases) <= 2,
        "glossary": _GLOSSARY,
        "limits": _LIMITS,
        "settings": settings_rows(record["settings"]),
        "command": command and block(command, 20_000),
        "files": [],
        "why_not": drawer.why_not,
    }
    return render("validation.html.j2", context, {})


def _title(record: dict[str, Any]) -> str:
    names = list(dict.fromkeys(c["benchmark"] for c in record["cases"]))
    about = f" {listed(names, 3)}" if names else " Planted partitions"
    return f"Do the subdomains mean anything?{about}"


def _lead(record: dict[str, Any]) -> str:
    if not record["cases"]:
        return "Partitions with a known answer were planted, and the method had to find them again."
    items = sum(c["n_items"] for c in record["cases"])
    return (
        f"HARMONY rests on subdomains that are found from what a model does. Here "
        f"{counted(len(record['cases']), 'set')} of items whose structure is known "
        f"({counted(items, 'item')} in all) show how well that works: whether items of one meaning "
        "lie near each other, whether the declared topics are found, and how near H comes to its "
        "true value."
    )


def _case(i: int, case: dict[str, Any], drawer: Drawer) -> dict[str, Any]:
    from benchharmony.validation.plots import heat_map_spec, scatter_spec

    name = f"{line(case['model'], 60)} on {line(case['benchmark'], 60)}"
    pictures = []
    if case.get("recovery"):

        def scatter(size: Size) -> dict[str, Any]:
            return scatter_spec(case, size)

        picture = drawer.both(scatter, f"H found against H declared, {name}.")
        pictures.append(
            (picture, "Each point is a made-up benchmark; on the line H is found exactly.")
        )
    if case.get("sensitivity"):
        picture = drawer.draw(
            heat_map_spec(case), f"H over tau and k, {name}; the table has it.", themed=False
        )
        pictures.append((picture, "How much H hangs on two settings."))
    return {
        "i": i,
        "benchmark": line(case["benchmark"], 80),
        "model": line(case["model"], 80),
        "n_items": case["n_items"],
        "declared": line(case["declared"], 60),
        "n_declared": case["n_declared"],
        "positions": ", ".join(line(p, 30) for p in case["positions"]),
        "findings": _findings(case),
        "notes": [block(n, 600) for n in case["notes"]],
        "tables": [_table(t) for t in tables_of({"cases": [case]})],
        "pictures": [(p, c) for p, c in pictures if p is not None],
    }


def _findings(case: dict[str, Any]) -> list[str]:
    """Return what the tables of a case say, in sentences."""
    out = []
    similar = case.get("similarities") or []
    ranked = [s for s in similar if s["ranking"] and s["ranking"]["all"]["auc"] is not None]
    if ranked:
        best = max(ranked, key=lambda s: s["ranking"]["all"]["auc"])
        out.append(
            f"Same meaning: by {line(best['name'], 60)} a paraphrase lies nearer than a look-alike "
            f"in {best['ranking']['all']['auc']:.0%} of the comparisons (chance: 50%)."
        )
    found = [s for s in similar if s["domains"]["ami"] is not None]
    if found:
        best = max(found, key=lambda s: s["domains"]["ami"])
        out.append(
            f"Topics: with as many subdomains as declared ({case['n_declared']}), those found by "
            f"{line(best['name'], 60)} agree best with the declared ones: "
            f"{best['domains']['ami']:.2f} (adjusted mutual information; 0 is chance, 1 the same)."
        )
    known = [r for r in case.get("recovery") or [] if r["fit"]["r"] is not None]
    if known:
        # Of k as declared where it is there: the best of all rules would be the luckiest.
        best = next((r for r in known if r["rule"] == "declared"), known[0])
        out.append(
            f"H itself: over {len(best['points'])} made-up benchmarks, H found and H declared go "
            f"together at r = {best['fit']['r']:.2f} ({line(best['positions'], 30)}, "
            f"{line(best['scores'], 20)} scores, k {line(best['rule'], 30)}); the mean error is "
            f"{best['fit']['error']:.2f}."
        )
    return out


def _table(table: Table) -> dict[str, Any]:
    return {
        "title": line(table.title, 200),
        "columns": [line(c, 60) for c in table.columns],
        "rows": [[line(c, 120) for c in row] for row in table.rows],
        "notes": [block(n, 800) for n in table.notes],
    }
