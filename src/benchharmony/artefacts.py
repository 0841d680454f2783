"""Whether an induced partition is about the items or restates how the model answered.

Each diagnostic is the adjusted mutual information (Vinh, Epps, Bailey 2010; 0 chance, 1 identical)
of the partition with something that is not a topic. On predictive similarity of 1,500 MMLU items
these stay under 0.1; partitions made from option log-likelihoods reach 0.3 to 0.9 with the
predicted option (docs/method.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchharmony.evaluation import Evaluation
from benchharmony.partition import Partition

#: Adjusted mutual information from which a partition counts as an artefact of that variable.
FLAG_AT = 0.2
#: The same for a declared column and the right option, where only the key itself comes near 1.
KEY_AT = 0.8
_QUARTILES = (0.25, 0.5, 0.75)

_WORDS = {
    "predicted_option": "which option the model predicted",
    "correctness": "which items the model got right",
    "confidence": "how sure the model was",
    "n_options": "how many options an item has",
    "question_length": "how long the question is",
    "right_option": "which option is right",
}


@dataclass(frozen=True)
class Artefact:
    """Agreement of a partition with one variable that is not a topic.

    Attributes
    ----------
    name : str
        "predicted_option", "correctness", "confidence", "n_options", "question_length" or
        "right_option".
    ami : float
        Adjusted mutual information, at most 1; about 0 by chance.
    flag : bool
        Whether it reaches the threshold (0.2).
    """

    name: str
    ami: float
    flag: bool

    @property
    def warning(self) -> str | None:
        """The finding in plain words, where flagged."""
        if not self.flag:
            return None
        return (
            f"artefact: the subdomains largely restate {_WORDS[self.name]} "
            f"({self.name}, adjusted mutual information {self.ami:.2f}); they are not topics"
        )


def artefacts(evaluation: Evaluation, partition: Partition) -> tuple[Artefact, ...]:
    """Return the diagnostics that the evaluation allows; none for a single subdomain.

    A variable with one value only (every item has four options) is left out. A declared partition
    is not the model's doing, so it is only compared with the right option: a column of a log can
    be the answer key under another name.
    """
    from sklearn.metrics import adjusted_mutual_info_score

    if partition.k < 2:
        return ()
    if partition.is_induced:
        variables, threshold = _variables(evaluation), FLAG_AT
    else:
        variables, threshold = _key(evaluation), KEY_AT
    found = []
    for name, values in variables.items():
        if len(np.unique(values)) > 1:
            ami = float(adjusted_mutual_info_score(values, partition.labels))
            found.append(Artefact(name, ami, ami >= threshold))
    return tuple(found)


def _key(evaluation: Evaluation) -> dict[str, NDArray[np.int64]]:
    return {} if evaluation.gold is None else {"right_option": evaluation.gold}


def _variables(evaluation: Evaluation) -> dict[str, NDArray[np.int64]]:
    out: dict[str, NDArray[np.int64]] = {}
    if (predicted := evaluation.predicted_option) is not None:
        out["predicted_option"] = predicted
    if evaluation.scores is not None:
        out["correctness"] = _levels(evaluation.scores)
    if (sure := confidence(evaluation)) is not None:
        out["confidence"] = _quartile(sure)
    if evaluation.n_options is not None:
        out["n_options"] = evaluation.n_options
    if evaluation.texts is not None:
        out["question_length"] = _quartile(np.array([len(t) for t in evaluation.texts], float))
    return out


def confidence(evaluation: Evaluation) -> NDArray[np.float64] | None:
    """Return the probability of the likeliest option among the options, shape (n,)."""
    logs = evaluation.option_logprobs
    if logs is None:
        return None
    top = np.nanmax(logs, axis=1, keepdims=True)
    p = np.exp(logs - np.where(np.isneginf(top), 0.0, top))
    total = np.nansum(p, axis=1)
    best: NDArray[np.float64] = np.divide(
        np.nanmax(p, axis=1), total, out=np.zeros_like(total), where=total > 0
    )
    return best


def _levels(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    values, levels = np.unique(scores, return_inverse=True)
    return levels.astype(np.int64) if len(values) <= 4 else _quartile(scores)


def _quartile(values: NDArray[np.float64]) -> NDArray[np.int64]:
    rounded = values.round(9)  # differences in the last bit are not levels
    return np.searchsorted(np.quantile(rounded, _QUARTILES), rounded).astype(np.int64)
