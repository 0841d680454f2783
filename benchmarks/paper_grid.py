"""A simulated grid of the paper's size: 36 models on 19 benchmarks, from results to landscape.

python benchmarks/paper_grid.py -o DIR [--jobs 2] [--top-k K] [--scale S]
python benchmarks/paper_grid.py -o DIR --kills 3 --against OTHER

The second form runs the first in a process of its own, ends it with SIGKILL at random times, lets
the last one finish, and compares what is in DIR, byte for byte, with an uninterrupted run.

From the paper (arXiv 2509.25671): 19 multiple-choice benchmarks, five families of models, k by
silhouette over 2..20. Ours, as the paper's own lists were not at hand: which benchmarks (those of
examples/paper-grid.yaml, with the sizes of the splits that lm-evaluation-harness uses), which 36
models, and every number of every item: each benchmark has 4 to 14 groups of items, each model its
own distribution over a vocabulary for each group, with noise for each item.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter, sleep

import numpy as np
from joblib.externals.loky import get_reusable_executor
from machine import peak_mib, words

from benchharmony import Evaluation, Predictive
from benchharmony.grid import Cell, Study, read_study, run_study
from benchharmony.grid.spec import StudyModel
from benchharmony.models import describe_name
from benchharmony.report import Settings

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "paper-grid.yaml"
MODELS = """
Llama-3-8B Llama-3-8B-Instruct Llama-3-70B Llama-3-70B-Instruct Llama-3.1-8B Llama-3.1-8B-Instruct
Llama-3.1-70B Llama-3.1-70B-Instruct Llama-3.2-1B Llama-3.2-1B-Instruct Llama-3.2-3B
Llama-3.2-3B-Instruct Qwen3-0.6B Qwen3-0.6B-Base Qwen3-1.7B Qwen3-1.7B-Base Qwen3-4B Qwen3-4B-Base
Qwen3-8B Qwen3-8B-Base Qwen3-14B Qwen3-14B-Base Qwen3-32B gemma-3-1b-pt gemma-3-1b-it gemma-3-4b-pt
gemma-3-4b-it gemma-3-12b-pt gemma-3-12b-it gemma-3-27b-pt gemma-3-27b-it Phi-3-mini-4k-instruct
Phi-3-small-8k-instruct Phi-3-medium-4k-instruct OLMo-2-1124-7B OLMo-2-1124-13B
""".split()  # noqa: SIM905 (one name a line would fill a screen)
VOCABULARY = 32_000
RESULTS = ("report.json", "landscape.json", "landscape.txt")


def study(scale: float, top_k: int) -> Study:
    """Return the study of the example, with our models; a scale below 1 has fewer items."""
    example = read_study(EXAMPLE)
    benchmarks = tuple(
        replace(b, size=max(60, round(scale * (b.size or 0)))) for b in example.benchmarks
    )
    models = tuple(StudyModel(name, name, describe_name(name)) for name in MODELS)
    settings = Settings(partition="predictive", k_rule="silhouette")
    return Study(f"simulated, top {top_k}", models, benchmarks, {"top_k": top_k}, settings)


def simulate(plan: Study, cell: Cell) -> None:
    """Write the evaluation of a cell, the same one whenever it is asked for."""
    n, width = int(cell.benchmark.size or 0), int(plan.collect["top_k"])
    shared = np.random.default_rng([1, *cell.benchmark.name.encode()])
    own = np.random.default_rng([2, *cell.name.encode()])
    groups = int(shared.integers(4, 15))
    truth = shared.choice(groups, n, p=shared.dirichlet(np.full(groups, 3.0)))
    hard = shared.normal(0, 1, n)
    able = np.log10(cell.model.info.parameters or 1e9) - 9 + shared.normal(0, 0.7, groups)
    chance = 1 / (1 + np.exp(hard - able[truth]))
    scores = (own.random(n) < chance).astype(float)
    gold = shared.integers(0, 4, n)
    options = own.normal(-3, 1, (n, 4))
    options[np.arange(n), np.where(scores > 0, gold, (gold + 1) % 4)] = -1.0
    evaluation = Evaluation.from_arrays(
        benchmark=cell.benchmark.name,
        model=cell.model.name,
        scores=scores,
        score_name="acc",
        predictive=distributions(truth, width, own),
        option_logprobs=options,
        gold=gold,
        texts=questions(truth, shared),
    )
    evaluation.save(cell.folder / "simulated.parquet")


def distributions(truth: np.ndarray, width: int, rng: np.random.Generator) -> Predictive:
    """Return the top tokens of each item: a group's profile on a Zipf curve, and noise."""
    common = min(2 * width, VOCABULARY)
    zipf = -np.log(np.arange(1, common + 1))
    profile = zipf + rng.normal(0, 1.0, (truth.max() + 1, common))
    ids, logs, rest = [], [], []
    for start in range(0, len(truth), 1000):
        rows = truth[start : start + 1000]
        z = profile[rows] + rng.normal(0, 0.8, (len(rows), common)).astype(np.float32)
        z -= np.log(np.exp(z).sum(axis=1, keepdims=True)) + 0.05  # the tail beyond has the rest
        top = np.argpartition(-z, width - 1, axis=1)[:, :width]
        ids.append(top)
        logs.append(np.take_along_axis(z, top, axis=1).astype(np.float32))
        rest.append(1 - np.exp(logs[-1], dtype=np.float64).sum(axis=1))
    return Predictive.top_k(
        np.concatenate(ids), np.concatenate(logs), np.concatenate(rest), VOCABULARY
    )


def questions(truth: np.ndarray, rng: np.random.Generator) -> list[str]:
    """Return texts of 25 words, some of which are words of the item's group."""
    general = rng.integers(0, 2000, (len(truth), 20))
    mine = rng.integers(0, 40, (len(truth), 5))
    name = np.array([f"word{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}"
                     for i in range(2000 + 40 * 20)])  # fmt: skip
    both = np.hstack([name[general], name[2000 + 40 * truth[:, None] + mine]])
    return [" ".join(row) for row in both]


class Stages:
    """Tells how long each stage took."""

    def __init__(self) -> None:
        self.began, self.name, self.steps = perf_counter(), "", 0

    def __call__(self, steps: int, name: str) -> None:
        self.end()
        self.began, self.name, self.steps = perf_counter(), name, steps

    def end(self) -> None:
        if self.name:
            spent = perf_counter() - self.began
            print(f"{self.name}: {self.steps} steps, {spent:.0f} s", flush=True)


def run(args: argparse.Namespace) -> None:
    plan, stages = study(args.scale, args.top_k), Stages()
    items = sum(b.size or 0 for b in plan.benchmarks)
    print(f"{words()}; load {os.getloadavg()[0]:.1f}", flush=True)
    print(
        f"{len(plan.models)} models x {len(plan.benchmarks)} benchmarks, {items:,} items each, "
        f"top {args.top_k} of {VOCABULARY:,} tokens, {args.jobs} jobs", flush=True,
    )  # fmt: skip
    start = perf_counter()
    made = run_study(
        plan, args.output, run_cell=simulate, collect_jobs=args.jobs, jobs=args.jobs,
        backend=args.backend, stage=stages,
    )  # fmt: skip
    stages.end()
    get_reusable_executor().shutdown(wait=True)  # so that its processes are counted
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    size = {name: bytes_in(args.output / name) for name in ("evaluations", "cache")}
    print(
        f"all: {perf_counter() - start:.0f} s; processor {spent + children.ru_utime:.0f} s; peak "
        f"{peak_mib():.0f} MiB here, {children.ru_maxrss / 1024:.0f} MiB in the largest worker; "
        f"evaluations {size['evaluations'] / 1e9:.2f} GB, cache {size['cache'] / 1e9:.2f} GB"
    )
    print(f"failed: {made.failed}" if made.failed else "nothing failed", flush=True)


def bytes_in(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def run_with_kills(args: argparse.Namespace) -> None:
    """Run in a child that is killed several times, then compare."""
    command = [sys.executable, __file__, "-o", str(args.output), "--jobs", str(args.jobs),
               "--scale", str(args.scale), "--top-k", str(args.top_k)]  # fmt: skip
    dice = random.Random(0)
    for _ in range(args.kills):
        child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
        after = dice.uniform(0.3, 1.0) * args.within
        while after > 0 and child.poll() is None:
            sleep(0.05)
            after -= 0.05
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            cells = len(list(args.output.rglob("simulated.parquet")))
            kept = sum(1 for p in (args.output / "cache").rglob("*") if p.is_file())
            print(f"killed with {cells} cells and {kept} results there", flush=True)
    subprocess.run(command, check=True)
    same = {n: (args.output / n).read_bytes() == (args.against / n).read_bytes() for n in RESULTS}
    print(json.dumps({"same bytes": same}))
    raise SystemExit(0 if all(same.values()) else 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--backend", default="local", choices=("local", "ray", "dask"))
    parser.add_argument("--top-k", type=int, default=1024, metavar="K")
    parser.add_argument("--scale", type=float, default=1.0, help="share of each benchmark's items")
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="ends by SIGKILL first")
    parser.add_argument("--within", type=float, default=60, metavar="S", help="seconds to a kill")
    parser.add_argument("--against", type=Path, metavar="DIR", help="results of a whole run")
    parser.add_argument("--again", action="store_true", help="delete DIR first")
    args = parser.parse_args()
    if args.again:
        shutil.rmtree(args.output, ignore_errors=True)
    if args.kills:
        run_with_kills(args)
    else:
        run(args)


if __name__ == "__main__":
    main()
