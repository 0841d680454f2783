"""Items a second: ``benchharmony collect`` against plain lm-evaluation-harness, in one run.

Both run the same model object on the same local task with the same batch size and threads, in
turns, so that a busy machine slows both. lm-eval scores the options; collect scores them too and
records the predictive distributions. Log-likelihoods and accuracies are compared as well.

    python benchmarks/collect_speed.py --model DIR --items arc_easy.jsonl --limit 96
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchharmony.collect.items import read_items
from benchharmony.collect.model import LoadedModel, load_model, versions
from benchharmony.collect.run import RunOptions, run_benchmark
from benchharmony.collect.tasks import TaskOptions, load_task

TASK = """task: speed_{number}
dataset_path: json
dataset_kwargs:
  cache_dir: {folder}/cache
  data_files:
    test: {folder}/items_{number}.jsonl
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{prompt}}}}"
doc_to_target: gold
doc_to_choice: choices
num_fewshot: 0
metric_list:
  - metric: acc
  - metric: acc_norm
"""


@dataclass
class Spent:
    wall: float = 0.0
    cpu: float = 0.0

    def add(self, start: tuple[float, float]) -> None:
        self.wall += time.perf_counter() - start[0]
        self.cpu += time.process_time() - start[1]


def now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def write_tasks(items: str, limit: int, rounds: int, folder: Path) -> None:
    """Write the items as lm-eval tasks, dealt out over the rounds."""
    usable = [i for i in read_items(items).items if i.n_options][:limit]
    for number in range(rounds):
        rows = [
            {"prompt": i.prompt, "choices": list(i.choices), "gold": i.gold}
            for i in usable[number::rounds]
        ]
        lines = "".join(json.dumps(r) + "\n" for r in rows)
        (folder / f"items_{number}.jsonl").write_text(lines)
        (folder / f"speed_{number}.yaml").write_text(TASK.format(number=number, folder=folder))


def with_lm_eval(harness: Any, manager: Any, number: int) -> list[dict[str, Any]]:
    import lm_eval

    found = lm_eval.simple_evaluate(
        model=harness,
        tasks=[f"speed_{number}"],
        task_manager=manager,
        log_samples=True,
        bootstrap_iters=0,
    )
    return sorted(found["samples"][f"speed_{number}"], key=lambda s: s["doc_id"])


def with_collect(
    loaded: LoadedModel, number: int, folder: Path, options: RunOptions
) -> tuple[list[dict[str, float]], list[tuple[float, ...]]]:
    benchmark = load_task(f"speed_{number}", TaskOptions(include_path=str(folder)))
    store, outcomes = run_benchmark(loaded, benchmark, options, folder / "shards", {})
    store.remove()
    listed = [outcomes[i] for i in range(len(benchmark.items))]
    return benchmark.score(benchmark.items, listed), [o.logprobs for o in listed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--items", required=True)
    parser.add_argument("--limit", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--positions", default="item,answer")
    args = parser.parse_args()
    os.environ["TQDM_DISABLE"] = "1"

    import torch
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    torch.set_num_threads(args.threads)
    loaded = load_model(args.model)
    harness = HFLM(pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=args.batch_size)
    options = RunOptions(
        positions=tuple(args.positions.split(",")), batch_size=args.batch_size, quiet=True
    )
    theirs, ours = Spent(), Spent()
    differences: list[float] = []
    accuracy: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tasks(args.items, args.limit, args.rounds, folder)
        manager = TaskManager(include_path=str(folder), include_defaults=False)
        for number in range(args.rounds):
            start = now()
            records = with_lm_eval(harness, manager, number)
            theirs.add(start)
            start = now()
            metrics, logprobs = with_collect(loaded, number, folder, options)
            ours.add(start)
            for record, metric, values in zip(records, metrics, logprobs, strict=True):
                wanted = [float(r[0]) for r in record["filtered_resps"]]
                differences.append(float(np.abs(np.subtract(wanted, values)).max()))
                accuracy += [(record[m], metric[m]) for m in ("acc", "acc_norm")]
    n = len(differences)
    print(f"{loaded.name}, {n} items of {Path(args.items).name}, batch size {args.batch_size}, "
          f"{args.threads} threads, positions {args.positions}, {loaded.device.type}")  # fmt: skip
    for label, spent in (("lm_eval", theirs), ("collect", ours)):
        print(f"{label}: {n / spent.wall:.2f} items/s, {spent.cpu / n:.3f} CPU s/item")
    print(f"collect is {theirs.wall / ours.wall:.2f} times as fast (CPU time: "
          f"{theirs.cpu / ours.cpu:.2f})")  # fmt: skip
    print(f"largest difference of a log-likelihood: {max(differences):.1e}")
    print(f"scores that differ: {sum(a != b for a, b in accuracy)} of {len(accuracy)}")
    print(", ".join(f"{k} {v}" for k, v in versions().items()))


if __name__ == "__main__":
    main()
