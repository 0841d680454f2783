"""One small file of every format, with all that the format can hold, written for the tests."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

import test_read_bbq as bbq
import test_read_datasets_on_disk as on_disk
import test_read_every_eval_ever as ever
import test_read_helm as helm
import test_read_inverse_scaling as inverse
import test_read_lighteval as lighteval
import test_read_lm_eval_forks as forks
import test_read_mmlu_pro as mmlu_pro
import test_read_naep as naep
import test_read_npz as npz
import test_read_zeroeval as zeroeval
from benchharmony import Evaluation
from benchharmony.readers import ReadOptions
from harness_logs import PLANETS, RESULTS, SAMPLES, rows_2025, write_bytes, write_json, write_lines
from inspect_logs import run, sample, tokens, write_log

SIDES = ("inner", "inner", "outer", "outer")


@dataclass(frozen=True)
class Example:
    """A file of a format, and what to say so that it is read."""

    path: Path
    options: ReadOptions = field(default_factory=ReadOptions)


def _own(folder: Path) -> Path:
    p = np.random.default_rng(0).dirichlet(np.ones(6), 4)
    evaluation = Evaluation.from_arrays(
        benchmark="planets",
        model="owl",
        item_ids=list("abcd"),
        scores=[1, 0, 1, 1],
        score_name="acc",
        predictive={"item": p, "answer": p},
        option_logprobs=[list(v) for *_, v in PLANETS],
        gold=[g for *_, g, _ in PLANETS],
        groups={"side": SIDES},
        texts=[q for q, *_ in PLANETS],
        choices=[c for _, c, *_ in PLANETS],
    )
    evaluation.save(folder / "owl.parquet")
    return folder / "owl.parquet"


def _pickle(folder: Path) -> Path:
    rows = [
        {
            "id": i,
            "question": q,
            "choices": c,
            "logits_options": np.array(v, np.float32),
            "answer": g,
            "side": s,
        }
        for i, ((q, c, g, v), s) in enumerate(zip(PLANETS, SIDES, strict=True))
    ]
    return write_bytes(folder / "owl_mmlu_10k_base_icl1.pkl", pickle.dumps(rows)).path


def _matrix(folder: Path) -> Path:
    path = folder / "planets.npz"
    responses = np.array([[1, 0, 1, 1], [0, 0, 1, 1]])
    np.savez(path, responses=responses, models=np.array(["owl", "elk"]), side=np.array(SIDES))
    return path


def _npz(folder: Path) -> Path:
    arrays = npz.plain() | npz.view("predictive") | {"subject": np.array(["x", "y", "x", "y"])}
    path = folder / "owl__planets.npz"
    path.write_bytes(npz.packed(**arrays))
    return path


def _samples(folder: Path) -> Path:
    def grouped(i: int, row: dict[str, Any]) -> None:
        row["doc"]["side"] = SIDES[i]

    write_json(
        folder / RESULTS, {"results": {"planets": {}}, "versions": {}, "model_name": "owl-7b"}
    )
    return write_lines(folder / SAMPLES, rows_2025(grouped)).path


def _results_with_samples(folder: Path) -> Path:
    def grouped(i: int, row: dict[str, Any]) -> None:
        row["doc"]["side"] = SIDES[i]

    document = {
        "results": {"planets": {"acc,none": 0.75}},
        "config": {"model": "hf", "model_args": "pretrained=owl-7b"},
        "versions": {"planets": 1},
        "samples": {"planets": rows_2025(grouped)},
    }
    return write_json(folder / "results.json", document).path


def _item_lists(folder: Path) -> Path:
    details = [
        {
            "doc_id": i,
            "prompt_0": f"{q}\nAnswer: {c[0]}",
            "prompt_1": f"{q}\nAnswer: {c[1]}",
            "logit_0": v[0],
            "logit_1": v[1],
            "truth": g,
            "acc": str(v.index(max(v)) == g),
        }
        for i, (q, c, g, v) in enumerate(PLANETS)
    ]
    document = {
        "results": {"planets": {"acc": 0.75, "details": details}},
        "versions": {"planets": 1},
        "config": {"model": "hf", "model_args": "pretrained=owl-7b"},
    }
    return write_json(folder / "results.json", document).path


def _promptsource(folder: Path) -> Path:
    rows = [
        {
            "doc_id": i,
            "ctx": f"{q}\nAnswer:",
            "pred": c[0],
            "target": [c[g]],
            "prompt_name": "plain",
            "dataset_name": "planets",
        }
        for i, (q, c, g, _) in enumerate(PLANETS)
    ]
    return write_lines(folder / "examples-owl_planets_0_1234.jsonl", rows).path


def _naep(folder: Path) -> Path:
    naep.write_all(folder)
    return folder / naep.NAME


def _helm(folder: Path) -> Path:
    return helm.write_run(folder, scenario_state=helm.joint()).path


def _helm_separate(folder: Path) -> Path:
    return helm.write_run(folder / "separate", scenario_state=helm.separate()).path


def _helm_others(folder: Path) -> Path:
    settings = {"name": "rivers", "scenario_spec": {}, "adapter_spec": {"method": "x"}}
    return helm.write_run(folder, run_spec=settings).path


def _lighteval(folder: Path) -> Path:
    document = {"config_general": {"model_name": "owl-7b"}, "results": {}}
    write_json(folder / "results.json", document)
    return lighteval.write(folder / lighteval.NAME, lighteval.rows()).path


def _lighteval_old(folder: Path) -> Path:
    rows = [
        {
            "example": f"Question: {q}\nAnswer:",
            "full_prompt": f"Question: {q}\nAnswer:",
            "choices": [f" {c}" for c in choices],
            "gold_index": [gold],
            "gold": [],
            "predictions": [str((v, False)) for v in values],
            "metrics": {"acc": values.index(max(values)) == gold, "acc_norm": 0.5},
            "specifics": {"side": side},
        }
        for (q, choices, gold, values), side in zip(PLANETS, SIDES, strict=True)
    ]
    path = folder / "details" / "sky" / "owl-7b" / "2024-01-02T03-04-05.678901"
    path.mkdir(parents=True)
    path /= "details_sky|planets|5_2024-01-02T03-04-05.678901.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def _lighteval_results(folder: Path) -> Path:
    document = {"config_general": {"model_name": "owl-7b"}, "results": {}}
    return write_json(folder / "results_2026.json", document).path


def _mmlu_csv(folder: Path) -> Path:
    letters = ",".join(f"owl_choice{c}_probs" for c in "ABCD")
    header = f"0,1,2,3,4,5,owl_correct,{letters}"
    rows = [f"question {i},w,x,y,z,A,{i % 2},0.7,0.1,0.1,0.1" for i in range(4)]
    return write_bytes(folder / "rivers.csv", "\n".join([header, *rows, ""]).encode()).path


def _bbq(folder: Path) -> Path:
    more = [row | {"example_id": row["example_id"] + 50} for row in bbq.rows()]
    return write_lines(folder / bbq.NAME, [*bbq.rows(), *more]).path


def _inverse(folder: Path) -> Path:
    return inverse.write(folder, inverse.classification()).path


def _inverse_items(folder: Path) -> Path:
    inverse.write(folder, inverse.classification())
    return folder / "cold" / "data.csv.gz"


def _inverse_arguments(folder: Path) -> Path:
    settings = {"dataset": "cold", "exp_dir": "cold", "models": ["owl"], "use_gpu": False}
    return write_bytes(folder / "args.log", json.dumps(settings, indent=2).encode()).path


def _ever(folder: Path) -> Path:
    write_json(folder / "0a1b.json", ever.aggregate())
    return write_lines(folder / ever.NAME, ever.rows()).path


def _ever_aggregate(folder: Path) -> Path:
    return write_json(folder / "0a1b.json", ever.aggregate()).path


def _inspect(folder: Path) -> Path:
    answers = [{"A": 0.1, "B": 0.6, "C": 0.2}, {"B": 0.5, "C": 0.2, "A": 0.1}] * 2
    samples = [sample(item, "CCIC"[k], output=tokens(answers[k])) for k, item in enumerate("abcd")]
    return write_log(folder / "rivers.eval", run(samples, accuracy=0.75)).path


def _zeroeval(folder: Path) -> Path:
    rows = [zeroeval.record(i, text) for i, (text, *_) in enumerate(zeroeval.OUTPUTS)]
    return zeroeval.write(folder, rows).path


def _on_disk(folder: Path) -> Path:
    more = {"logprobs_A": [-1.0] * 8, "logprobs_B": [-2.0] * 8, "answer": [0, 1] * 4}
    more |= {"choices": [["left", "right"]] * 8}
    table = pa.table(on_disk.ROWS | more)
    return on_disk.save(folder / "planets", [table.slice(0, 5), table.slice(5)]) / "state.json"


def _on_disk_others(folder: Path) -> Path:
    return on_disk.save(folder / "planets", [pa.table(on_disk.ROWS)]) / "dataset_info.json"


def _rows() -> list[dict[str, Any]]:
    return [
        {
            "id": f"p{i}",
            "question": q,
            "choices": list(c),
            "answer": g,
            "logprobs_A": v[0],
            "logprobs_B": v[1],
            "correct": int(v.index(max(v)) == g),
            "side": s,
        }
        for i, ((q, c, g, v), s) in enumerate(zip(PLANETS, SIDES, strict=True))
    ]


def _parquet(folder: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(_rows()), folder / "planets.parquet")
    return folder / "planets.parquet"


def _arrow(folder: Path) -> Path:
    feather.write_feather(pa.Table.from_pylist(_rows()), folder / "planets.arrow")
    return folder / "planets.arrow"


def _csv(folder: Path) -> Path:
    rows = [{**r, "choices": json.dumps(r["choices"])} for r in _rows()]
    lines = [",".join(rows[0])]
    lines += [",".join('"' + str(v).replace('"', '""') + '"' for v in r.values()) for r in rows]
    return write_bytes(folder / "planets.csv", "\n".join([*lines, ""]).encode()).path


PICKLES = ReadOptions(allow_pickle=True)
_WRITERS: dict[str, tuple[Callable[[Path], Path], ReadOptions]] = {
    name: (write, PICKLES if name == "pickle" else ReadOptions())
    for name, write in {
        "benchharmony": _own,
        "pickle": _pickle,
        "response matrix": _matrix,
        "npz": _npz,
        "lm-eval samples": _samples,
        "lm-eval results with samples": _results_with_samples,
        "lm-eval v0.3 write-out": lambda f: (
            write_json(f / "owl-7b" / "planets_write_out_info.json", forks.write_out()).path
        ),
        "lm-eval results with item lists": _item_lists,
        "BigScience promptsource examples": _promptsource,
        "cyclic option-order logits": _naep,
        "HELM run": _helm,
        "LightEval details": _lighteval,
        "LightEval details before 0.10": _lighteval_old,
        "MMLU subject CSV": _mmlu_csv,
        "BBQ predictions": _bbq,
        "MMLU-Pro outputs": lambda f: (
            write_json(f / f"{mmlu_pro.NAME}.json", mmlu_pro.records()).path
        ),
        "inverse scaling": _inverse,
        "Every Eval Ever instances": _ever,
        "Inspect AI": _inspect,
        "ZeroEval outputs": _zeroeval,
        "Hugging Face dataset on disk": _on_disk,
        "Parquet table": _parquet,
        "Arrow table": _arrow,
        "JSON table": lambda f: write_json(f / "planets.json", _rows()).path,
        "JSONL table": lambda f: write_lines(f / "planets.jsonl", _rows()).path,
        "CSV table": _csv,
    }.items()
}
#: Formats with a second layout that holds more, or other things.
_MORE: dict[str, Callable[[Path], Path]] = {"HELM run": _helm_separate}
#: Files that belong to a format and hold no results of their own.
_COMPANIONS: dict[str, Callable[[Path], Path]] = {
    "companion of cyclic option-order logits": lambda f: (
        write_lines(f / "naep-rivers-items.jsonl", naep.items()).path
    ),
    "benchharmony report": lambda f: (
        write_json(f / "report.json", {"schema": "benchharmony/report/1", "evaluations": []}).path
    ),
    "HELM run, other files": _helm_others,
    "LightEval results": _lighteval_results,
    "inverse scaling items": _inverse_items,
    "inverse scaling arguments": _inverse_arguments,
    "Every Eval Ever aggregate": _ever_aggregate,
    "Hugging Face dataset, other files": _on_disk_others,
}


def write_examples(folder: Path) -> dict[str, Example]:
    """Write an example of every format that is read, each in a folder of its own, by name."""
    return {name: Example(w(_made(folder, name)), o) for name, (w, o) in _WRITERS.items()}


def write_more(folder: Path) -> dict[str, Example]:
    """Write the second examples of formats that have one, by name."""
    return {name: Example(write(_made(folder, name))) for name, write in _MORE.items()}


def write_companions(folder: Path) -> dict[str, Path]:
    """Write a file for every reader that only refuses, by the reader's name."""
    return {name: write(_made(folder, name)) for name, write in _COMPANIONS.items()}


def _made(folder: Path, name: str) -> Path:
    made = folder / "".join(c if c.isalnum() else "-" for c in name)
    made.mkdir(parents=True, exist_ok=True)
    return made
