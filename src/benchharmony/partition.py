"""From an evaluation to its partition, whatever the kind.

Induced partitions cluster a similarity of the items ("predictive" is the paper's; "options" is
not, and says so); declared ones take a column of the log.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from benchharmony.choice import MIN_SHARE, MIN_SUBDOMAIN, Choice, KRule
from benchharmony.engines.choose import Engine, Tau
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.induced import MIN_ITEMS, induce
from benchharmony.predictive import Predictive
from benchharmony.subdomains import Partition

__all__ = ["Partition", "declared", "option_view", "partition", "predictive_view"]

#: Probability of an option that an item does not have, where items differ in number of options.
MISSING_OPTION = 1e-6
#: Columns that name subdomains, best first, where a log declares several columns.
DECLARED_NAMES = (
    "subdomain", "subject", "domain", "topic", "category", "classification", "subcategory",
    "discipline", "field", "area", "skill", "task", "type",
)  # fmt: skip


def partition(
    evaluation: Evaluation,
    kind: str = "auto",
    *,
    positions: str | None = None,
    tau: Tau = "median",
    k: int | None = None,
    k_range: tuple[int, int] = (2, 20),
    k_rule: KRule = "auto",
    min_share: float = MIN_SHARE,
    seed: int = 0,
    engine: Engine = "auto",
) -> Partition:
    """Split the items of an evaluation into subdomains.

    Parameters
    ----------
    evaluation : Evaluation
        Of n items.
    kind : str
        "predictive": spectral clustering of predictive similarity, the paper's. "text" (or
        "text:MODEL"): words (or sentence embeddings) of the items. "options": option
        log-likelihoods alone, an artefact (docs/method.md). "declared:COLUMN": a column of the
        log; "declared:A+B": several. "auto": predictive if recorded, else declared, else text,
        else options with a warning. "shared" and "responses" need several models:
        :func:`benchharmony.splits.split_all` makes those.
    positions : str, optional
        Which predictive distributions to compare; "item" where recorded, else the first.
    tau : float or "median"
        Scale of the similarity, per nat; the median rule puts the median similarity at exp(-1).
    k : int, optional
        Fixed number of subdomains; chosen by ``k_rule`` over ``k_range`` otherwise.
    k_rule : {"auto", "silhouette", "eigengap", "stability"}
        Highest mean silhouette on 1 - S (the paper's); widest gap between eigenvalues; finest k at
        which 80 % subsamples still agree (adjusted Rand index above 0.7). "auto" is "silhouette"
        where that reaches 0.25, else "stability".
    min_share : float
        A chosen k has no subdomain under this share of the items (nor under 5 items); 0 turns the
        guard off.
    seed : int
        Of k-means and subsampling.
    engine : {"auto", "dense", "matrix-free", "low-rank", "torch", "torch:DEVICE", "cupy"}
        How the similarity is reached: held whole, computed again for each product, or through
        landmark items, an approximation whose error is given. "auto" goes by the number of items
        and the memory at hand; the last three hold it on an accelerator (docs/performance.md).

    Returns
    -------
    Partition
        With ``undefined`` set, and one subdomain, where no k is admissible or items are too few.

    Raises
    ------
    BenchharmonyError
        When the evaluation has nothing that a kind asked for by name needs.
    """
    choice = Choice(k, k_range, k_rule, min_share, seed)
    notes: tuple[str, ...] = ()
    if not isinstance(evaluation, Evaluation):
        raise BenchharmonyError(
            "partition takes an Evaluation; Evaluation.from_arrays(..., predictive=p) makes one "
            f"of arrays, got {type(evaluation).__name__}"
        )
    if kind == "auto":
        kind, why = _best_kind(evaluation)
        if kind == "none" or len(evaluation) < MIN_ITEMS:
            return _nothing(evaluation)
        notes = (why,) if why else ()
    if kind.startswith("declared:"):
        split = _declared(evaluation, kind.removeprefix("declared:"), choice)
        return replace(split, notes=(*notes, *split.notes))
    if kind == "predictive":
        name, view, note = predictive_view(evaluation, positions)
        return _induced(view, "predictive", name, tau, choice, engine, (note,) if note else ())
    if kind == "text" or kind.startswith("text:"):
        from benchharmony.text_partition import text_partition

        return text_partition(evaluation, choice, embedding=kind[5:] or None, tau=tau)
    if kind in ("shared", "responses"):
        raise BenchharmonyError(
            f"{evaluation.name}: a partition of kind {kind!r} is made from several models of a "
            "benchmark; benchharmony landscape takes it"
        )
    if kind == "options":
        view, notes = option_view(evaluation)
        return _induced(view, "options", None, tau, choice, engine, notes)
    raise BenchharmonyError(
        f"unknown partition {kind!r}; choose auto, predictive, declared:COLUMN, text, shared, "
        "responses or options"
    )


def _declared(evaluation: Evaluation, name: str, choice: Choice) -> Partition:
    # A column whose own name holds a plus is that column.
    if "+" in name and name not in evaluation.groups:
        from benchharmony.declared_columns import declared_columns

        return declared_columns(evaluation, name.split("+"), choice)
    return declared(evaluation, name)


def declared(evaluation: Evaluation, column: str) -> Partition:
    """Return the partition that a column of the log declares; items without a label are one group.

    Raises
    ------
    BenchharmonyError
        When the log has no such column.
    """
    if column not in evaluation.groups:
        there = ", ".join(map(repr, evaluation.groups)) or "none"
        raise BenchharmonyError(
            f"{evaluation.name}: no declared column {column!r}; columns there: {there}"
        )
    values = evaluation.groups[column]
    missing = sum(v is None for v in values)
    named = ["(no label)" if v is None else v for v in values]
    counts = Counter(named)
    names = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    place = {name: i for i, name in enumerate(names)}
    notes = []
    if missing:
        notes.append(f"{missing} items have no {column!r} label and form a subdomain of their own")
    tiny = sum(c < MIN_SUBDOMAIN for c in counts.values())
    if tiny:
        notes.append(f"{tiny} of {len(names)} declared subdomains have fewer than 5 items")
    return Partition(
        kind=f"declared:{column}",
        labels=np.array([place[v] for v in named], dtype=np.int64),
        names=names,
        undefined=None if len(names) > 1 else f"every item has the same {column!r} label",
        settings={"column": column},
        notes=tuple(notes),
    )


def _best_kind(evaluation: Evaluation) -> tuple[str, str | None]:
    """Return the kind that "auto" takes, and a note where the choice is open to doubt."""
    if {"item", "answer"} & set(evaluation.predictive):
        return "predictive", None
    named = [c for c in DECLARED_NAMES if c in evaluation.groups]
    if named:
        return f"declared:{named[0]}", None
    if len(evaluation.groups) == 1:
        (only,) = evaluation.groups
        return f"declared:{only}", (
            f"{only!r} is the only column that could declare subdomains; whether it does is for "
            "you to judge"
        )
    if evaluation.texts is not None and any(t.strip() for t in evaluation.texts):
        return "text", None
    if evaluation.predictive:  # the answer position alone: says which answer, hardly which topic
        return "predictive", None
    if evaluation.option_logprobs is not None:
        return "options", None
    return "none", None


def _nothing(evaluation: Evaluation) -> Partition:
    """Return the undefined partition of an evaluation that has nothing to make one from."""
    if len(evaluation) < MIN_ITEMS:
        why = f"fewer than {MIN_ITEMS} items"
    elif evaluation.groups:
        there = ", ".join(map(repr, evaluation.groups))
        why = (
            "several declared columns and none that names subdomains; choose one with --partition "
            f"declared:COLUMN from {there}"
        )
    else:
        why = (
            "nothing to make subdomains from: no predictive distributions, declared columns, texts "
            "or option log-likelihoods; run `benchharmony collect`, or join texts or labels "
            "with --items"
        )
    labels = np.zeros(len(evaluation), dtype=np.int64)
    return Partition(kind="none", labels=labels, names=("S1",), undefined=why)


def predictive_view(
    evaluation: Evaluation, positions: str | None
) -> tuple[str, Predictive, str | None]:
    """Return the positions compared, their distributions, and a note where they are not "item"."""
    there = tuple(evaluation.predictive)
    if not there:
        raise BenchharmonyError(
            f"{evaluation.name}: no predictive distributions in this source; "
            "`benchharmony collect` records them"
        )
    if positions is None:
        positions = next((p for p in ("item", "answer") if p in there), there[0])
        note = None
        if positions != "item":
            note = (
                f"no 'item' distributions are recorded; {positions!r} were compared, which find "
                "topics less well (docs/method.md)"
            )
        return positions, evaluation.predictive[positions], note
    if positions not in there:
        raise BenchharmonyError(
            f"{evaluation.name}: no {positions!r} distributions; recorded: {', '.join(there)}"
        )
    return positions, evaluation.predictive[positions], None


def option_view(evaluation: Evaluation) -> tuple[Predictive, tuple[str, ...]]:
    """Return the option probabilities as distributions, and what to say about them."""
    logs = evaluation.option_logprobs
    if logs is None:
        raise BenchharmonyError(f"{evaluation.name}: no option log-likelihoods in this source")
    notes = [
        "made from the log-likelihoods of the options alone: this is not the paper's predictive "
        "similarity, and its subdomains mostly restate which option was predicted or how sure "
        "the model was"
    ]
    missing = np.isnan(logs)
    if missing.any():
        counts = len(np.unique(missing.sum(axis=1)))
        notes.append(
            f"items have {counts} different numbers of options; an option that an item lacks "
            f"counts as probability {MISSING_OPTION:g}"
        )
    top = np.nanmax(logs, axis=1, keepdims=True)
    nothing = np.isneginf(top[:, 0])
    if nothing.any():
        first = evaluation.item_ids[int(np.argmax(nothing))]
        raise BenchharmonyError(
            f"{evaluation.name}: every option of item {first!r} has probability 0 "
            f"({int(nothing.sum())} such items); no partition can be made from the options"
        )
    p = np.exp(np.where(missing, -np.inf, logs - top))
    p /= p.sum(axis=1, keepdims=True)
    p[missing] = MISSING_OPTION
    return Predictive.dense(p / p.sum(axis=1, keepdims=True)), tuple(notes)


def _induced(
    view: Predictive,
    kind: str,
    positions: str | None,
    tau: Tau,
    choice: Choice,
    engine: Engine,
    notes: tuple[str, ...],
) -> Partition:
    found = induce(view, tau, choice, engine)
    return Partition(
        kind=kind,
        labels=found.labels,
        names=tuple(f"S{i + 1}" for i in range(int(found.labels.max()) + 1)),
        positions=positions,
        tau=found.tau,
        silhouette_by_k=found.silhouette_by_k,
        labels_by_k=found.labels_by_k,
        unguarded_k=found.unguarded_k,
        centrality=found.centrality,
        embedding=found.embedding,
        engine=found.engine,
        engine_error=found.engine_error,
        undefined=found.undefined,
        settings={
            "tau": tau, "k": choice.k, "k_range": list(choice.k_range), "k_rule": choice.k_rule,
            "min_share": choice.min_share, "min_items": choice.smallest(len(view)),
            "seed": choice.seed, "engine": engine,
        },
        notes=notes + found.notes,
    )  # fmt: skip
