"""Partitions from how many models answer, where there are no distributions and no labels.

An item is described by how much better or worse each model does on it than on items of like
difficulty: a partition by difficulty would make H low by construction. (Taking out averages, or a
Rasch model, is not enough: weak and strong models part at hard items and meet at easy ones.) What
is left groups items that the same models find hard. That is not a topic, and with few items or
models it is mostly noise; the diagnostics say how far it restates something, difficulty included.

A model is never judged on a partition that its own answers made, nor those of its family: each
family has a partition made from all the other models (cross-fitting).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchharmony.artefacts import artefacts
from benchharmony.choice import Choice
from benchharmony.errors import BenchharmonyError
from benchharmony.evaluation import Evaluation
from benchharmony.from_similarity import partition_of
from benchharmony.models import ModelInfo, describe
from benchharmony.partition import Partition
from benchharmony.text_partition import similarity_of_vectors

if TYPE_CHECKING:
    from benchharmony.report.settings import Settings

FloatArray = NDArray[np.float64]

#: Models needed in all, and left to describe the items once a family is taken out.
FEWEST_MODELS, FEWEST_OTHERS = 8, 5
#: Items of like difficulty: a share of all, but at least so many.
_LIKE_SHARE, _LIKE_ITEMS = 8, 10
#: Variance that keeps small differences between near-certain answers small.
_SOFT = 0.02


def response_partitions(
    evaluations: Sequence[Evaluation],
    settings: Settings,
    models: Mapping[str, ModelInfo] | None = None,
) -> tuple[list[Partition], dict[str, Any]]:
    """Return a partition for each evaluation, made without its model's family, and what was found.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        The same items in the same order, one evaluation per model.
    settings : Settings
        ``tau`` and how k is chosen.
    models : mapping of str to ModelInfo, optional
        Families; parsed from the names otherwise. A model of unknown family stands alone.

    Raises
    ------
    BenchharmonyError
        For fewer than 8 models, fewer than 5 outside some family, or models of which some have
        scores (or a key) and others not.
    """
    group = list(evaluations)
    if len(group) < FEWEST_MODELS:
        raise BenchharmonyError(
            f"{group[0].benchmark}: a partition from responses needs {FEWEST_MODELS} models, "
            f"there are {len(group)}"
        )
    if any(e.item_ids != group[0].item_ids for e in group[1:]):
        raise BenchharmonyError(f"{group[0].benchmark}: responses need the same items")
    facts = models or describe(group)
    families = [facts[e.model].family or e.model for e in group]
    values, source = _values(group)
    choice = Choice(
        settings.k, (settings.k_min, settings.k_max), settings.k_rule, settings.min_share,
        settings.seed,
    )  # fmt: skip
    made: dict[str, Partition] = {}
    for family in dict.fromkeys(families):
        others = [i for i, name in enumerate(families) if name != family]
        if len(others) < FEWEST_OTHERS:
            raise BenchharmonyError(
                f"{group[0].benchmark}: only {len(others)} models are outside the family "
                f"{family}; a partition that its answers did not make needs {FEWEST_OTHERS}"
            )
        made[family] = _partition(values[others], source, settings, choice, len(others))
    partitions = [made[name] for name in families]
    return partitions, _found(group, families, made, values, source)


def _values(group: Sequence[Evaluation]) -> tuple[FloatArray, str]:
    """Return what each model did on each item, shape (M, n) or (M, n, options), and its name."""
    gold = [e for e in group if e.gold is not None and e.option_logprobs is not None]
    if len(gold) == len(group) and all((e.gold >= 0).all() for e in gold if e.gold is not None):
        return np.array([_right(e) for e in group]), "probability of the right option"
    scored = [e.scores for e in group if e.scores is not None]
    if len(scored) == len(group):
        return np.array(scored), "scores"
    shapes = {e.option_logprobs.shape for e in group if e.option_logprobs is not None}
    if all(e.option_logprobs is not None for e in group) and len(shapes) == 1:
        return np.array([_option_shares(e) for e in group]), "option probabilities (no key)"
    raise BenchharmonyError(
        f"{group[0].benchmark}: responses need scores of every model, or option log-likelihoods "
        "of equally many options"
    )


def _option_shares(evaluation: Evaluation) -> FloatArray:
    logs = evaluation.option_logprobs
    if logs is None:
        raise TypeError("options are expected")
    with np.errstate(invalid="ignore"):
        p = np.exp(logs - np.nanmax(logs, axis=1, keepdims=True))
    p = np.nan_to_num(p)
    shares: FloatArray = p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300)
    return shares


def _right(evaluation: Evaluation) -> FloatArray:
    gold = evaluation.gold
    if gold is None:
        raise TypeError("a key is expected")
    return _option_shares(evaluation)[np.arange(len(gold)), gold]


def profiles(values: FloatArray) -> FloatArray:
    """Return each item's unit profile over models, what items of like difficulty share taken out.

    Parameters
    ----------
    values : ndarray, shape (M, n) or (M, n, options)
        What each model did on each item, in [0, 1]. With options there is no key and so no
        difficulty: averages of models and items are taken out instead.
    """
    if values.ndim == 2:
        flat = _beyond_difficulty(values).T
    else:
        centred = values - values.mean(axis=1, keepdims=True)
        centred = centred - centred.mean(axis=0, keepdims=True)
        flat = np.moveaxis(centred, 0, -1).reshape(values.shape[1], -1)
    length = np.linalg.norm(flat, axis=1, keepdims=True)
    unit: FloatArray = np.divide(flat, length, out=np.zeros_like(flat), where=length > 1e-6)
    return unit


def _beyond_difficulty(values: FloatArray) -> FloatArray:
    """Return how each model stands out on each item among items of like difficulty, (M, n).

    Items are ordered by their mean over models; from each model's value goes its running mean over
    the nearest eighth of the items, over its running standard deviation there. Items of equal
    difficulty are in the order of their values, so that the order of the log changes nothing.
    """
    m, n = values.shape
    ease = values.mean(axis=0).round(9)
    order = np.lexsort((*values[::-1], ease))
    width = min(max(_LIKE_ITEMS, n // _LIKE_SHARE), n)
    x = np.pad(values[:, order], ((0, 0), (1, 0)))
    start = np.clip(np.arange(n) - width // 2, 0, n - width)

    def running(powers: FloatArray) -> FloatArray:
        total = np.cumsum(powers, axis=1)
        mean: FloatArray = (total[:, start + width] - total[:, start]) / width
        return mean

    mean = running(x)
    spread = np.sqrt(np.maximum(running(x**2) - mean**2, 0.0) + _SOFT)
    out = np.empty((m, n))
    out[:, order] = (x[:, 1:] - mean) / spread
    centred: FloatArray = out - out.mean(axis=0, keepdims=True)
    return centred


def _partition(
    values: FloatArray, source: str, settings: Settings, choice: Choice, models: int
) -> Partition:
    vectors = profiles(values)
    similarity, used = similarity_of_vectors(vectors, settings.tau)
    return partition_of(
        similarity, [row.round(9).tobytes() for row in vectors], choice, kind="responses",
        settings={"responses": source, "models": models, "tau": settings.tau, "tau_used": used},
        notes=(
            f"made from the responses of models of other families ({source}), difficulty "
            "taken out: items that the same models find hard, which need not share a topic",
        ),
    )  # fmt: skip


def _found(
    group: Sequence[Evaluation],
    families: Sequence[str],
    made: Mapping[str, Partition],
    values: FloatArray,
    source: str,
) -> dict[str, Any]:
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    names = list(made)
    agreement = [
        [float(adjusted_rand_score(made[a].labels, made[b].labels)) for b in names] for a in names
    ]
    off = [agreement[i][j] for i in range(len(names)) for j in range(len(names)) if i != j]
    marks: dict[str, list[float]] = {}
    for e, family in zip(group, families, strict=True):
        for a in artefacts(e, made[family]):
            marks.setdefault(a.name, []).append(a.ami)
    out = {name: float(np.mean(v)) for name, v in marks.items()}
    if values.ndim == 2:
        ease = values.mean(axis=0).round(9)
        level = np.searchsorted(np.quantile(ease, (0.25, 0.5, 0.75)), ease)
        out["difficulty"] = float(
            np.mean([adjusted_mutual_info_score(level, p.labels) for p in made.values()])
        )
    sentences = [
        f"Partitions from responses ({source}), one for each of {len(names)} families, made from "
        "the other families' models; they group items that the same models find hard.",
    ]
    if off:
        sentences.append(
            f"They agree with each other at {np.mean(off):.2f} on average (adjusted Rand index); "
            "near 0 they are noise."
        )
    sentences.append(
        "Adjusted mutual information with what is not a topic: "
        + ", ".join(f"{name.replace('_', ' ')} {v:.2f}" for name, v in out.items())
        + "."
    )
    return {
        "kind": "responses",
        "source": source,
        "models": names,
        "k": [p.k for p in made.values()],
        "agreement": agreement,
        "artefacts": out,
        "sentences": sentences,
    }
