"""The forward pass: one row per item, logits only where they are read, means as they come.

All texts of an item share one packed row (:mod:`~benchharmony.collect.tree`). The output layer
runs on the positions that are read, in blocks; a block's distributions are added to the items'
means by one small matrix product and then forgotten, so that neither logits nor probabilities of
a whole batch ever exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchharmony.collect.model import LoadedModel
from benchharmony.collect.positions import ItemPlan, Place
from benchharmony.collect.tree import Tree, pack
from benchharmony.collect.work import Outcome, View

#: Logits held at once, in numbers: 2**24 float32 are 64 MiB.
BLOCK_NUMBERS = 1 << 24


@dataclass(frozen=True)
class PassOptions:
    """What the pass records.

    Attributes
    ----------
    mean : {"arithmetic", "geometric"}
        How distributions are averaged; a geometric mean is normalised again.
    top_k : int
        Most probable tokens kept; 0 keeps all.
    packed : bool
        Whether the sequences of an item share a row; where a model cannot, each has its own.
    """

    mean: str = "arithmetic"
    top_k: int = 1024
    packed: bool = True


@dataclass(frozen=True)
class _Reads:
    """What is read from a batch: flat row positions, and what each is for."""

    flat: torch.Tensor  # (r,) index into (rows * width)
    slots: list[tuple[int, str]]  # (item, positions)
    slot_of: torch.Tensor  # (c,) slot of each contribution
    read_of: torch.Tensor  # (c,) read of each contribution, ascending
    target_read: torch.Tensor  # (t,) read of each target, ascending
    target_token: torch.Tensor  # (t,)
    target_pair: list[tuple[int, int]]  # (item, pair) of each target


def run_batch(
    loaded: LoadedModel, plans: Sequence[ItemPlan], options: PassOptions
) -> list[Outcome]:
    """Run some items through the model together.

    Parameters
    ----------
    loaded : LoadedModel
        The model.
    plans : sequence of ItemPlan
        Their token sequences and what to read.
    options : PassOptions
        What to record.

    Returns
    -------
    list of Outcome
        One per plan, in order.
    """
    with torch.inference_mode():
        return _run_batch(loaded, plans, options)


def _run_batch(
    loaded: LoadedModel, plans: Sequence[ItemPlan], options: PassOptions
) -> list[Outcome]:
    rows, located = _rows(plans, options.packed)
    width = max(len(tree) for tree in rows)
    reads = _reads(plans, located, width, loaded.device)
    sums = torch.zeros(
        (len(reads.slots), _vocab_size(loaded)), dtype=torch.float32, device=loaded.device
    )
    logprobs = np.zeros(len(reads.target_pair))
    greedy = np.zeros(len(reads.target_pair), dtype=np.bool_)
    if len(reads.flat):
        hidden = _hidden(loaded, rows, width, options.packed)
        _accumulate(loaded, hidden, reads, options, sums, logprobs, greedy)
    views = _views(sums, reads, plans, options)
    return _outcomes(plans, reads, logprobs, greedy, views)


def _rows(
    plans: Sequence[ItemPlan], packed: bool
) -> tuple[list[Tree], list[list[tuple[int, Any]]]]:
    """Return the rows of a batch and, for each item, (row, nodes) of each of its chains."""
    rows: list[Tree] = []
    located: list[list[tuple[int, Any]]] = []
    for plan in plans:
        if packed:
            tree = pack(plan.chains)
            located.append([(len(rows), nodes) for nodes in tree.chains])
            rows.append(tree)
            continue
        row_of: dict[tuple[int, ...], int] = {}
        places = []
        for chain in plan.chains:
            if tuple(chain) not in row_of:
                row_of[tuple(chain)] = len(rows)
                rows.append(pack([chain]))
            row = row_of[tuple(chain)]
            places.append((row, rows[row].chains[0]))
        located.append(places)
    return rows, located


def _reads(
    plans: Sequence[ItemPlan],
    located: list[list[tuple[int, Any]]],
    width: int,
    device: torch.device,
) -> _Reads:
    index: dict[int, int] = {}
    slots: list[tuple[int, str]] = []
    contributions: list[tuple[int, int]] = []  # (read, slot)
    targets: list[tuple[int, int, int, int]] = []  # (read, item, pair, token)
    for item, (plan, places) in enumerate(zip(plans, located, strict=True)):

        def read(place: Place, places: list[tuple[int, Any]] = places) -> int:
            row, nodes = places[place[0]]
            return index.setdefault(row * width + int(nodes[place[1]]), len(index))

        for name, view in plan.views.items():
            contributions.extend((read(place), len(slots)) for place in view)
            slots.append((item, name))
        targets.extend((read(place), item, pair, token) for pair, place, token in plan.targets)
    contributions.sort()
    targets.sort()

    def column(values: Any) -> torch.Tensor:
        return torch.tensor(list(values), dtype=torch.long, device=device)

    return _Reads(
        column(index),
        slots,
        column(slot for _, slot in contributions),
        column(read for read, _ in contributions),
        column(t[0] for t in targets),
        column(t[3] for t in targets),
        [(t[1], t[2]) for t in targets],
    )


def _hidden(loaded: LoadedModel, rows: list[Tree], width: int, packed: bool) -> torch.Tensor:
    """Return last hidden states of all rows, shape (rows * width, d)."""
    tokens = np.zeros((len(rows), width), dtype=np.int64)
    depth = np.zeros((len(rows), width), dtype=np.int64)
    for i, tree in enumerate(rows):
        tokens[i, : len(tree)] = tree.tokens
        depth[i, : len(tree)] = tree.depth
    inputs: dict[str, Any] = {
        "input_ids": torch.from_numpy(tokens).to(loaded.device),
        "use_cache": False,
    }
    if packed:
        inputs["position_ids"] = torch.from_numpy(depth).to(loaded.device)
        inputs["attention_mask"] = _masks(loaded, rows, depth)
    # Rows are padded at the right and causal, so that padding needs no mask of its own.
    body = loaded.model.base_model
    hidden: torch.Tensor = body(**inputs).last_hidden_state
    return hidden.reshape(-1, hidden.shape[-1])


def _masks(loaded: LoadedModel, rows: list[Tree], depth: Any) -> Any:
    """Return the additive attention mask, or one for each kind of layer."""
    width = depth.shape[1]
    seen = np.zeros((len(rows), 1, width, width), dtype=np.bool_)
    diagonal = np.arange(width)
    seen[:, 0, diagonal, diagonal] = True  # padding sees itself, or softmax has nothing
    for i, tree in enumerate(rows):
        seen[i, 0, : len(tree), : len(tree)] = tree.attends()
    full = _additive(loaded, seen)
    window, types = loaded.window, loaded.layer_types
    if window is None:
        return full if types is None or types == {"full_attention"} else {next(iter(types)): full}
    near = seen & (depth[:, None, :, None] - depth[:, None, None, :] < window)
    sliding = full if (near == seen).all() else _additive(loaded, near)
    if types is None or types == {"sliding_attention"}:
        return sliding
    return {"full_attention": full, "sliding_attention": sliding}


def _additive(loaded: LoadedModel, seen: Any) -> torch.Tensor:
    dtype = loaded.model.dtype
    mask = torch.zeros(seen.shape, dtype=dtype, device=loaded.device)
    unseen = torch.from_numpy(~seen).to(loaded.device)
    return mask.masked_fill_(unseen, torch.finfo(dtype).min)


def _accumulate(
    loaded: LoadedModel,
    hidden: torch.Tensor,
    reads: _Reads,
    options: PassOptions,
    sums: torch.Tensor,
    logprobs: Any,
    greedy: Any,
) -> None:
    """Read all positions in blocks: fill log-likelihoods, add distributions to ``sums``."""
    size = max(1, BLOCK_NUMBERS // sums.shape[1])
    count = len(reads.flat)
    for start in range(0, count, size):
        stop = min(start + size, count)
        logits = loaded.head(hidden[reads.flat[start:stop]])
        logits.sub_(torch.logsumexp(logits, dim=-1, keepdim=True))
        low, high = _span(reads.target_read, start, stop)
        if high > low:
            at = reads.target_read[low:high] - start
            token = reads.target_token[low:high]
            logprobs[low:high] = logits[at, token].double().cpu().numpy()
            needed, back = torch.unique(at, return_inverse=True)
            best = logits[needed].argmax(dim=-1)[back]
            greedy[low:high] = (best == token).cpu().numpy()
        low, high = _span(reads.read_of, start, stop)
        if high > low:
            _add_block(logits, reads, low, high, start, options.mean, sums)


def _span(ordered: torch.Tensor, start: int, stop: int) -> tuple[int, int]:
    bounds = torch.tensor([start, stop], device=ordered.device)
    low, high = torch.searchsorted(ordered, bounds).tolist()
    return int(low), int(high)


def _add_block(
    logprobs: torch.Tensor,
    reads: _Reads,
    low: int,
    high: int,
    start: int,
    mean: str,
    sums: torch.Tensor,
) -> None:
    """Add the distributions of a block (as logs; overwritten) to the sums of their slots."""
    slots, slot = torch.unique(reads.slot_of[low:high], return_inverse=True)
    used, row = torch.unique(reads.read_of[low:high] - start, return_inverse=True)
    values = logprobs if len(used) == len(logprobs) else logprobs[used]
    if mean == "arithmetic":
        values = values.exp_()
    weights = torch.zeros((len(slots), len(used)), dtype=values.dtype, device=values.device)
    weights[slot, row] = 1.0
    sums.index_add_(0, slots, weights @ values)


def _views(
    sums: torch.Tensor, reads: _Reads, plans: Sequence[ItemPlan], options: PassOptions
) -> list[dict[str, View]]:
    views: list[dict[str, View]] = [{} for _ in plans]
    for row, (item, name) in enumerate(reads.slots):
        count = len(plans[item].views[name])
        if options.mean == "arithmetic":
            p = sums[row].div_(sums[row].sum(dtype=torch.float64).float())
        else:
            p = torch.softmax(sums[row].div_(count), dim=-1)
        views[item][name] = _view(p, count, options.top_k)
    return views


def _view(p: torch.Tensor, count: int, top_k: int) -> View:
    if top_k == 0 or top_k >= len(p):
        return View(None, p.log().float().cpu().numpy(), 0.0, count)
    top, ids = torch.topk(p, top_k)
    rest = max(0.0, 1.0 - float(top.sum(dtype=torch.float64)))
    logs = top.log().float().cpu().numpy()
    return View(ids.to(torch.int32).cpu().numpy(), logs, rest, count)


def _outcomes(
    plans: Sequence[ItemPlan],
    reads: _Reads,
    logprobs: Any,
    greedy: Any,
    views: list[dict[str, View]],
) -> list[Outcome]:
    sums = [np.zeros(len(plan.pair_tokens)) for plan in plans]
    all_greedy = [np.ones(len(plan.pair_tokens), dtype=np.bool_) for plan in plans]
    for (item, pair), value, is_best in zip(reads.target_pair, logprobs, greedy, strict=True):
        sums[item][pair] += value
        all_greedy[item][pair] &= is_best
    return [
        Outcome(
            logprobs=tuple(float(v) for v in sums[i]),
            greedy=tuple(bool(v) for v in all_greedy[i]),
            n_tokens=tuple(plan.pair_tokens),
            views=views[i],
            truncated=plan.truncated,
        )
        for i, plan in enumerate(plans)
    ]


def _vocab_size(loaded: LoadedModel) -> int:
    """Return how many outcomes the output layer has (padding of the embedding included)."""
    return int(loaded.model.get_output_embeddings().weight.shape[0])
