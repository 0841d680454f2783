"""The validation record as tables of text, which every view lays out its own way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchharmony.report.shown import interval, number, shown


@dataclass(frozen=True)
class Table:
    """One table: a title, names of columns, rows of text, and notes under it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def tables_of(record: dict[str, Any]) -> Iterator[Table]:
    """Yield every table of a record, schema ``benchharmony/validation/1``."""
    for case in record["cases"]:
        yield from _case(case)
    if record.get("combined"):
        yield _combined(record["combined"])
    for matrix in record.get("between_models") or []:
        yield _models(matrix)
    if record.get("planted"):
        yield _planted(record["planted"])
        yield _planted_rules(record["planted_k_rules"])
        yield _mistakes(record["mistakes"])


def _case(case: dict[str, Any]) -> Iterator[Table]:
    name = f"{shown(case['benchmark'], 40)} / {shown(case['model'], 40)}"
    if case.get("similarities"):
        if any(s["ranking"] for s in case["similarities"]):
            yield _ranking(name, case)
        yield _domains(name, case)
    if case.get("recovery"):
        yield _recovery(name, case["recovery"])
    if case.get("k_rules"):
        yield _k_rules(name, case["k_rules"])
    if case.get("sensitivity"):
        yield from _sensitivity(name, case["sensitivity"])
    if case.get("stability"):
        yield _stability(name, case["stability"])


def _ranking(name: str, case: dict[str, Any]) -> Table:
    rows = []
    for s in case["similarities"]:
        r = s["ranking"]
        rows.append((
            s["name"], number(r["all"]["auc"], 2), interval(r["all"]["interval"], 2),
            number(r["all"]["within"], 2), number(r["par1"]["auc"], 2),
            number(r["par2"]["auc"], 2), number(r["others"], 2), number(r["random"], 2),
        ))  # fmt: skip
    return Table(
        f"{name}: paraphrases above look-alikes",
        ("similarity", "AUC", "interval", "within", "par1", "par2", "others", "random"),
        tuple(rows),
        (
            "AUC 1: paraphrases always nearer to the reference than look-alikes; 0: never. within: "
            "inside groups. par1 keeps the answer's words, par2 rewords it. others: paraphrases "
            "above unrelated items of the domain. random: roles shuffled.",
        ),
    )


def _domains(name: str, case: dict[str, Any]) -> Table:
    rows = []
    for s in case["similarities"]:
        d, c = s["domains"], s["domains_chosen"]
        rows.append((
            s["name"], number(d["ari"], 2), number(d["ami"], 2), number(d["random_ami"], 2),
            "-" if c is None else str(c["k"]),
            *(("-", "-", "-") if c is None else
              (number(c["ari"], 2), number(c["ami"], 2), number(c["random_ami"], 2))),
        ))  # fmt: skip
    missing = [f"not computed: {m['name']} ({shown(m['why'])})" for m in case["not_computed"]]
    k = case["n_declared"]
    return Table(
        f"{name}: declared subdomains ({shown(case['declared'], 30)}, {k}) found",
        ("similarity", f"ARI k={k}", "AMI", "random", "k chosen", "ARI", "AMI", "random"),
        tuple(rows),
        (
            "ARI, AMI: 1 the same as declared, 0 by chance. random: AMI of partitions of the same "
            "sizes with shuffled membership. k chosen: by the default rule.",
            *missing,
        ),
    )


def _recovery(name: str, recoveries: Sequence[dict[str, Any]]) -> Table:
    rows = []
    for r in recoveries:
        f, c = r["fit"], r["shuffled"]
        rows.append((
            r["positions"], r["scores"], r["rule"], str(len(r["points"])), number(f["r"], 2),
            _interval(f["r_interval"]), number(f["slope"], 2), number(f["bias"], 2),
            number(f["error"], 2), number(c["r"], 2), number(c["error"], 2), number(r["ari"], 2),
        ))  # fmt: skip
    return Table(
        f"{name}: H under the induced partition against H under the declared one",
        ("positions", "scores", "k", "points", "r", "interval", "slope", "bias", "error",
         "r random", "error random", "ARI"),
        tuple(rows),
        (
            "Over sub-benchmarks with random domains, sizes and performances. error: mean absolute "
            "difference. random: the same sizes with shuffled membership.",
        ),
    )  # fmt: skip


def _k_rules(name: str, rules: Sequence[dict[str, Any]]) -> Table:
    rows = [
        (
            r["positions"], r["rule"], "-" if r["k"] is None else str(r["k"]),
            number(r["ari"], 2), number(r["ami"], 2), number(r["h_error"], 2),
            number(r["h_error_recorded"], 2), number(r["random_h_error"], 2),
        )
        for r in rules
    ]  # fmt: skip
    return Table(
        f"{name}: rules for k",
        ("positions", "rule", "k", "ARI", "AMI", "H error", "recorded", "random"),
        tuple(rows),
        (
            "H error: mean absolute error of H over planted scores, and (recorded) with the "
            "recorded ones; random: planted scores, shuffled membership.",
        ),
    )


def _sensitivity(name: str, s: dict[str, Any]) -> Iterator[Table]:
    rows = [
        (
            shown(r["setting"], 40), r["value"], "-" if r["k"] is None else str(r["k"]),
            number(r["h"], 3), number(r["ami"], 2), number(r["agreement"], 2), r["verdict"],
        )
        for r in s["one_at_a_time"]
    ]  # fmt: skip
    yield Table(
        f"{name}: sensitivity, one setting at a time",
        ("setting", "value", "k", "H", "AMI", "agreement", "verdict"),
        tuple(rows), tuple(s["words"]),
    )  # fmt: skip
    grid = s["heat_map"]
    yield Table(
        f"{name}: H over tau and k ({grid['positions']})",
        ("tau / median rule", *(f"k={k}" for k in grid["ks"])),
        tuple(
            (f"{t:g}", *(number(h, 2) for h in line))
            for t, line in zip(grid["taus"], grid["h"], strict=True)
        ),
    )


def _stability(name: str, s: Sequence[dict[str, Any]]) -> Table:
    rows = [
        (
            r["positions"], str(r["k"]), number(r["seeds"]["mean"], 2),
            number(r["seeds"]["lowest"], 2), number(r["subsamples"]["mean"], 2),
            number(r["subsamples"]["lowest"], 2), number(r["random"], 2),
        )
        for r in s
    ]  # fmt: skip
    return Table(
        f"{name}: agreement of partitions made again (adjusted Rand index)",
        ("positions", "k", "seeds", "lowest", "80% subsamples", "lowest", "random"),
        tuple(rows),
        ("Means over pairs; the matrices are in the JSON. random: shuffled membership.",),
    )


def _models(m: dict[str, Any]) -> Table:
    names = [shown(n, 24) for n in m["names"]]
    return Table(
        f"{shown(m['benchmark'], 40)}: partitions of the models, {m['positions']}, k = {m['k']} "
        "(adjusted Rand index)",
        ("", *names),
        tuple((n, *(number(v, 2) for v in row)) for n, row in zip(names, m["ari"], strict=True)),
        (f"random membership: {number(m['random'], 2)}",),
    )


def _combined(c: dict[str, Any]) -> Table:
    rows = [
        (
            shown(a["model"], 24), a["name"], number(a["auc"], 2), number(a["auc_par2"], 2),
            number(a["others"], 2), number(a["ami_redundantqa"], 2), number(a["ami_topics"], 2),
            "yes" if a["passes"] else "no",
        )
        for a in c["attempts"]
    ]  # fmt: skip
    return Table(
        "One similarity for meaning and topics",
        ("model", "similarity", "AUC", "par2", "others", "AMI RedundantQA", "AMI topics", "both"),
        tuple(rows), tuple(c["words"]),
    )  # fmt: skip


def _planted(cells: Sequence[dict[str, Any]]) -> Table:
    rows = [
        (
            str(c["k"]), str(c["n"]), f"{c['overlap']:g}", number(c["ari"], 2),
            number(c["h_error"], 2), number(c["chosen_k"], 1), number(c["chosen_ari"], 2),
            number(c["chosen_h_error"], 2), number(c["shuffled_h_error"], 2),
        )
        for c in cells
    ]  # fmt: skip
    return Table(
        "Planted partitions: recovery over k, n and overlap",
        ("k", "n", "overlap", "ARI", "H error", "k chosen", "ARI", "H error", "random"),
        tuple(rows),
        ("At the true k, then at the k that the default rule chooses; random: shuffled, true k.",),
    )


def _planted_rules(rules: Sequence[dict[str, Any]]) -> Table:
    rows = [
        (
            r["rule"], number(r["exact"], 2), number(r["k_error"], 1), number(r["ami"], 2),
            number(r["h_error"], 2), str(r["undefined"]),
        )
        for r in rules
    ]  # fmt: skip
    return Table(
        "Planted partitions: rules for k",
        ("rule", "k found", "k error", "AMI", "H error", "no k"),
        tuple(rows),
        ("k found: share of the partitions where the rule chooses the true k.",),
    )


def _mistakes(rows: Sequence[dict[str, Any]]) -> Table:
    return Table(
        "H recovered under declared partitions with mistakes",
        ("mistakes", "ARI left", "r", "slope", "error"),
        tuple(
            (
                m["mistakes"], number(m["ari"], 2), number(m["fit"]["r"], 2),
                number(m["fit"]["slope"], 2), number(m["fit"]["error"], 2),
            )
            for m in rows
        ),
        ("Sub-benchmarks of 3 or 4 subdomains, planted scores: what r an agreement can give.",),
    )  # fmt: skip


def _interval(bounds: Sequence[float | None]) -> str:
    there = [b for b in bounds if b is not None]
    return interval(there, 2) if len(there) == 2 else "-"
