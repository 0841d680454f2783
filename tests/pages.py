"""Evaluations for pages: planted ones, and ones whose every text would like to be markup."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from benchharmony import Evaluation

#: Runs where a page lets it; the tests look for ``window.hacked``.
HOSTILE = (
    "<script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=2">',
    "</script><script>window.hacked=3</script>",
    "<!--<script>",
    "'); window.hacked=4; ('",
    "<svg onload=window.hacked=5>",
    "javascript:window.hacked=6",
    "{{ 7 * 7 }} ${window.hacked=7}",
    "\u202egnp.exe\u202c evil \u2067bidi\u2069",
    "__proto__",
    "a & b < c > d \u2028 e",
    "&lt;img src=x onerror=window.hacked=8&gt;",
)
QUICK = {"bootstrap": 60, "permutations": 60}


def planted_page_evaluation(
    model: str = "model",
    benchmark: str = "planted",
    seed: int = 0,
    items: int = 120,
    runs: bool = False,
) -> Evaluation:
    """Return an evaluation of four topics, right more often on some than on others.

    ``runs``: topics follow one another instead of taking turns.
    """
    rng = np.random.default_rng(seed)
    topic = np.arange(items) * 4 // items if runs else np.arange(items) % 4
    p = np.exp(4.0 * np.eye(4)[topic][:, np.arange(12) % 4] + rng.normal(0, 0.3, (items, 12)))
    right = rng.random(items) < np.array([0.9, 0.7, 0.5, 0.25])[topic]
    gold = rng.integers(0, 3, items)
    chosen = np.where(right, gold, (gold + 1) % 3)
    logs = np.log(0.2 + 0.6 * np.eye(3)[chosen])
    names = ("algebra", "botany", "cooking", "dance")
    return Evaluation.from_arrays(
        benchmark=benchmark,
        model=model,
        item_ids=[f"item-{i}" for i in range(items)],
        scores=right.astype(float),
        predictive={"item": p / p.sum(axis=1, keepdims=True)},
        option_logprobs=logs,
        gold=gold,
        texts=[f"Question {i} about {names[t]} and its rules?" for i, t in enumerate(topic)],
        choices=[("alpha", "beta", f"gamma {i}") for i in range(items)],
        groups={"subject": [names[t] for t in topic]},
    )


def hostile_evaluation(model: str = HOSTILE[1]) -> Evaluation:
    """Return an evaluation whose names, labels, ids, texts and options are all hostile."""
    n = 60
    texts = [HOSTILE[i % len(HOSTILE)] for i in range(n)]
    texts[0] = "x" * 1_000_000
    texts[1] = f"{HOSTILE[2]} \ud800 lone"
    return Evaluation.from_arrays(
        benchmark=HOSTILE[0],
        model=model,
        item_ids=[f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(n)],
        scores=(np.arange(n) % 3 > 0).astype(float),
        texts=texts,
        choices=[(HOSTILE[1], HOSTILE[2]) for _ in range(n)],
        gold=np.zeros(n, dtype=int),
        groups={
            HOSTILE[4]: [HOSTILE[i % 3] for i in range(n)],
            "subject": [HOSTILE[6 + i % 4] for i in range(n)],
        },
        score_name=HOSTILE[5],
        notes=(HOSTILE[3], HOSTILE[2]),
    )


def browser_path() -> str:
    """Return Chromium's path, or skip the whole module: a browser is never downloaded."""
    pytest.importorskip("playwright", reason="needs playwright (benchharmony[dev])")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)", allow_module_level=True)
    return found


#: Nothing that calls home, and what a container needs.
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
