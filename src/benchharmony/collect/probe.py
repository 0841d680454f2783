"""Whether a model computes in packed rows what it computes for each sequence alone.

Attention over a tree needs a model that takes its mask and its positions from outside. Instead
of a list of models that do, a few random sequences are run both ways before a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from benchharmony.collect.forward import PassOptions, run_batch
from benchharmony.collect.model import LoadedModel
from benchharmony.collect.positions import ItemPlan
from benchharmony.errors import BenchharmonyError

#: Largest difference of a log-probability between both ways that is rounding: in full precision,
#: and in half (a wrong mask or position is off by more than one nat).
TOLERANCE = {"float32": 2e-3, "float64": 2e-3}
HALF_TOLERANCE = 0.3

#: Kinds of attention that the mask covers.
_KNOWN_LAYERS = {"full_attention", "sliding_attention"}

_PREFIX = 12


def can_pack(loaded: LoadedModel, longest: int) -> bool:
    """Return whether packed rows give what separate rows give.

    Parameters
    ----------
    loaded : LoadedModel
        The model.
    longest : int
        Longest sequence of the run in tokens: where it exceeds the model's attention window,
        the trial does too.

    Raises
    ------
    BenchharmonyError
        When the model's output layer is not where it is looked for.
    """
    types = loaded.layer_types
    window = loaded.window
    prefix = _PREFIX if window is None or longest <= window else min(window + 8, longest)
    prefix = min(prefix, loaded.max_length - 8)
    plan = _trial(loaded, prefix)
    options = PassOptions(top_k=0, packed=False)
    alone = run_batch(loaded, [plan], options)[0]
    _check_head(loaded, plan, np.array(alone.logprobs))
    if types is not None and not types <= _KNOWN_LAYERS:
        return False
    try:
        together = run_batch(loaded, [plan], replace(options, packed=True))[0]
    except (TypeError, ValueError, RuntimeError, KeyError, AttributeError):
        return False  # the model does not take such masks or positions
    off = np.abs(np.array(together.logprobs) - np.array(alone.logprobs)).max()
    return bool(off <= _tolerance(loaded))


def _trial(loaded: LoadedModel, prefix: int) -> ItemPlan:
    """Return a plan with two branches behind a prefix, every token of them a pair of its own."""
    rng = np.random.default_rng(0)
    vocabulary = len(loaded.tokenizer)
    start = rng.integers(0, vocabulary, prefix).tolist()
    plan = ItemPlan()
    for length in (5, 4):
        tail = rng.integers(0, vocabulary, length).tolist()
        plan.chains.append([*start, *tail[:-1]])
        for j, token in enumerate(tail):
            plan.targets.append(
                (len(plan.pair_tokens), (len(plan.chains) - 1, prefix - 1 + j), token)
            )
            plan.pair_tokens.append(1)
    return plan


def _check_head(loaded: LoadedModel, plan: ItemPlan, ours: Sequence[float] | np.ndarray) -> None:
    """Refuse a model whose own logits are not those of its output layer as it is used here."""
    with torch.inference_mode():
        rows = [torch.tensor([c], device=loaded.device) for c in plan.chains]
        logs = [loaded.model(row).logits[0].float().log_softmax(-1) for row in rows]
    theirs = np.array([float(logs[chain][at, token]) for _, (chain, at), token in plan.targets])
    if np.abs(theirs - ours).max() > _tolerance(loaded):
        raise BenchharmonyError(
            f"{loaded.name}: this kind of model ({loaded.facts['architecture']}) changes its "
            "logits in a way collect does not know; please report it"
        )


def _tolerance(loaded: LoadedModel) -> float:
    return TOLERANCE.get(str(loaded.facts["dtype"]), HALF_TOLERANCE)
