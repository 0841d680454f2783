"""The tables of docs/collect.md from what ``benchharmony collect`` recorded.

    python tools/collect_figures.py COLLECTED [--geometric DIR] [--into docs/collect.md]

COLLECTED holds the results of the commands that docs/collect.md lists. Three tables: scores, what
a report says, and the adjusted mutual information of partitions with MMLU subjects (15 subjects,
k = 15) over positions, means and truncations, words (TF-IDF) beside them. With --into, the tables
between the lines ``<!-- table: NAME -->`` and ``<!-- end -->`` are replaced.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score
from study_items import SUBJECTS

from benchharmony import Evaluation, report
from benchharmony.partition import partition
from benchharmony.predictive import Predictive

SHORT = {"SmolLM2-135M-Instruct": "SmolLM2", "gemma-3-270m": "Gemma"}
ORDER = ("mmlu", "arc_easy", "pubmedqa", "triviaqa", "redundantqa")
POSITIONS = ("item", "answer", "question", "next")
SCORES = ("acc", "acc_norm", "exact_match", "f1")
TOP_K = (256, 1024, 4096, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collected", type=Path)
    parser.add_argument("--geometric", type=Path, action="append", default=[])
    parser.add_argument("--into", type=Path)
    given = parser.parse_args()
    found = read(given.collected)
    geometric = [e for folder in given.geometric for e in read(folder)]
    tables = {
        "scores": scores(found),
        "reports": reports(found),
        "topics": topics(found, geometric),
    }
    if given.into is None:
        for name, table in tables.items():
            print(f"<!-- table: {name} -->\n{table}\n<!-- end -->\n")
        return
    text = given.into.read_text()
    for name, table in tables.items():
        pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda m, t=table: f"{m[1]}{t}\n{m[2]}", text, flags=re.DOTALL)
    given.into.write_text(text)


def read(folder: Path) -> list[Evaluation]:
    made = [Evaluation.load(path) for path in sorted(folder.glob("*.parquet"))]
    kept = [e for e in made if e.benchmark in ORDER]
    return sorted(kept, key=lambda e: (ORDER.index(e.benchmark), list(SHORT).index(e.model)))


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def scores(found: list[Evaluation]) -> str:
    rows = []
    for benchmark in dict.fromkeys(e.benchmark for e in found):
        group = {e.model: e for e in found if e.benchmark == benchmark}
        names = [n for n in SCORES if n in next(iter(group.values())).metrics]
        cells = [
            " / ".join(f"{np.mean(group[m].metrics[name]):.3f}" for name in names)
            if m in group
            else ""
            for m in SHORT
        ]
        items = str(len(next(iter(group.values()))))
        rows.append([benchmark, items, " / ".join(f"`{n}`" for n in names), *cells])
    return table(["items", "number", "metrics", *SHORT.values()], rows)


def reports(found: list[Evaluation]) -> str:
    rows = []
    for entry in report(found, partition="predictive").to_dict()["evaluations"]:
        h, split = entry["harmony"], entry["partition"]
        rows.append(
            [
                entry["benchmark"], SHORT[entry["model"]], f"{entry['score']['mean']:.3f}",
                *(f"{x:.3f}" for x in (h["value"], h["adjusted"], h["agreement"])),
                str(split["k"]), f"{max(split['silhouette_by_k'].values()):.2f}",
                entry["verdict"]["label"],
            ]
        )  # fmt: skip
    head = ["items", "model", "score", "H", "noise-adjusted", "agreement", "k", "silhouette"]
    return table([*head, "verdict"], rows)


def topics(found: list[Evaluation], geometric: list[Evaluation]) -> str:
    rows = []
    for mean, evaluations in (("arithmetic", found), ("geometric", geometric)):
        some = {e.model: of_subjects(e) for e in evaluations if e.benchmark == "mmlu"}
        for positions in POSITIONS:
            for top_k in TOP_K:
                cells = [agreement(some.get(m), positions, top_k) for m in SHORT]
                if any(cells):
                    rows.append([f"`{positions}`", mean, str(top_k or "whole"), *cells])
    words = {
        e.model: of_subjects(e) for e in found if e.benchmark == "mmlu"
    }  # the same items: one figure
    value = _ami(next(iter(words.values())), "text", None)
    rows.append(["words (TF-IDF)", "", "", value, value])
    return table(["positions", "mean", "tokens kept", *SHORT.values()], rows)


def of_subjects(evaluation: Evaluation) -> Evaluation:
    labels = evaluation.groups["subject"]
    return evaluation.take([i for i, label in enumerate(labels) if label in SUBJECTS])


def agreement(evaluation: Evaluation | None, positions: str, top_k: int) -> str:
    if evaluation is None or positions not in evaluation.predictive:
        return ""
    predictive = evaluation.predictive[positions]
    width = predictive.logprobs.shape[1]
    whole = width == predictive.vocab_size
    if (top_k == 0 and not whole) or (top_k > width):
        return ""
    view = predictive if top_k in (0, width) else cut(predictive, top_k)
    return _ami(replace(evaluation, predictive={positions: view}), "predictive", positions)


def _ami(evaluation: Evaluation, kind: str, positions: str | None) -> str:
    truth = evaluation.groups["subject"]
    split = partition(evaluation, kind, positions=positions, k=len(Counter(truth)), min_share=0)
    return f"{adjusted_mutual_info_score(truth, split.labels):.2f}"


def cut(predictive: Predictive, top_k: int) -> Predictive:
    """Return the top tokens of each item; the probability of the others goes to ``rest``."""
    order = np.argsort(-predictive.logprobs, axis=1, kind="stable")[:, :top_k]
    logs = np.take_along_axis(predictive.logprobs, order, 1)
    ids = predictive.token_ids
    ids = order if ids is None else np.take_along_axis(ids, order, 1)
    rest = 1 - np.exp(logs.astype(np.float64)).sum(1)
    return Predictive.top_k(ids, logs, np.maximum(rest, 0), predictive.vocab_size)


if __name__ == "__main__":
    main()
