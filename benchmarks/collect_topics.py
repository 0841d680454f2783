"""Whether partitions of a collected evaluation follow its declared topics.

For every recorded position set and every truncation, the adjusted mutual information between the
declared column and a predictive partition of the same number of subdomains; words (TF-IDF) beside
it. Truncations below what was collected are cut from it.

    python benchmarks/collect_topics.py mmlu__model.parquet --column subject --per-topic 60
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from benchharmony import Evaluation
from benchharmony.partition import partition
from benchharmony.predictive import Predictive


def cut(predictive: Predictive, top_k: int) -> Predictive:
    """Return the top tokens of each item; the rest of the mass goes to ``rest``."""
    if top_k == 0 or top_k >= predictive.logprobs.shape[1]:
        return predictive
    order = np.argsort(-predictive.logprobs, axis=1, kind="stable")[:, :top_k]
    logs = np.take_along_axis(predictive.logprobs, order, 1)
    ids = predictive.token_ids
    ids = order if ids is None else np.take_along_axis(ids, order, 1)
    rest = 1 - np.exp(logs.astype(np.float64)).sum(1)
    return Predictive.top_k(ids, logs, np.maximum(rest, 0), predictive.vocab_size)


def chosen(evaluation: Evaluation, column: str, topics: int, per_topic: int) -> Evaluation:
    """Return the first items of the most frequent topics."""
    labels = evaluation.groups[column]
    kept = [t for t, _ in Counter(labels).most_common(topics)]
    seen: Counter[str | None] = Counter()
    rows = []
    for row, label in enumerate(labels):
        if label in kept and seen[label] < per_topic:
            seen[label] += 1
            rows.append(row)
    return evaluation.take(rows)


def agreement(evaluation: Evaluation, truth: tuple[str | None, ...], kind: str, k: int) -> float:
    """Return the adjusted mutual information of the topics and the partition."""
    labels = partition(evaluation, kind, k=k, min_share=0).labels
    return float(adjusted_mutual_info_score(truth, labels))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--column", default="subject")
    parser.add_argument("--topics", type=int, default=15)
    parser.add_argument("--per-topic", type=int, default=100)
    parser.add_argument("--top-k", default="0,4096,1024,256,64")
    args = parser.parse_args()
    for file in args.files:
        whole = Evaluation.load(file)
        some = chosen(whole, args.column, args.topics, args.per_topic)
        truth = some.groups[args.column]
        mean = whole.metadata.get("settings", {}).get("mean", "?")
        print(f"{Path(file).name}: {len(some)} items, {len(set(truth))} topics, {mean} mean")
        print(f"  words (TF-IDF): {agreement(some, truth, 'text', args.topics):.3f}")
        for name, predictive in some.predictive.items():
            row = []
            for top_k in map(int, args.top_k.split(",")):
                if top_k < predictive.logprobs.shape[1]:
                    view = replace(some, predictive={name: cut(predictive, top_k)})
                    value = agreement(view, truth, "predictive", args.topics)
                    row.append(f"{top_k or predictive.logprobs.shape[1]}: {value:.3f}")
            print(f"  {name}: " + ", ".join(row), flush=True)


if __name__ == "__main__":
    main()
