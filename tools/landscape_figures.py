"""Landscapes, trends and agreement on real results of others, as docs/landscape.md quotes them.

    python tools/landscape_figures.py PATH_TO_SHARED_DATA [PART ...]

PART is naep, predictive, pythia, mistral, mmlu-pro or uncertainty; all by default. The last three
are formats that ``benchharmony.read`` does not know (yet): they are read here, as far as these
figures need.
"""

import csv
import gzip
import io
import json
import pickle
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np

from benchharmony import BenchharmonyError, Evaluation, landscape, partition, read
from benchharmony.report import Settings
from benchharmony.splits import split_all


def naep(logs):
    folder = logs / "llm-psychometrics"
    evaluations = [e for e in read(folder) if not e.model.endswith("Baseline")]
    for kind in ("declared:classification", "text", "shared", "responses"):
        show(f"NAEP, {kind}", landscape(evaluations, partition=kind))


def predictive(logs):
    """Compare the shared partition of two recorded models with their own and with the subjects."""
    from sklearn.metrics import adjusted_mutual_info_score

    folder = logs.parent / "distributions"
    evaluations = read(*sorted(folder.glob("*__mmlu15__item.npz")))
    for k, rule in ((15, "silhouette"), (None, "silhouette"), (None, "stability")):
        made = split_all(evaluations, Settings(partition="shared", k=k, k_rule=rule))
        (found,) = made.found.values()
        split = made.splits[0]
        subject = split.evaluation.groups["subject"]
        ami = adjusted_mutual_info_score(subject, split.partition.labels)
        print(f"\nk {k}, {rule}: shared k {split.partition.k}, with the subjects {ami:.3f}")
        for e in evaluations:
            own = partition(e, "predictive", k=k, k_rule=rule)
            ami = adjusted_mutual_info_score(e.groups["subject"], own.labels)
            print(f"  {e.model}: own k {own.k}, with the subjects {ami:.3f}")
        print_partitions("MMLU, 15 subjects", found)
        print(f"  H: {found['harmony']}")


def pythia(logs):
    evaluations = read(logs / "pythia-trivia-vectors")
    show("Pythia", landscape(evaluations, partition="declared:id_prefix", bootstrap=500))


def mistral(logs):
    """Read one CSV per subject and precision: question, options, key, and whether it was right."""
    evaluations = []
    for folder, name in (("results", "full"), ("results-8", "8-bit"), ("results-4", "4-bit")):
        scores, subjects, ids = [], [], []
        for path in sorted((logs / "cs247-mmlu-mistral" / folder).glob("*.csv*")):
            subject = path.name.split(".")[0]
            with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
                rows = list(csv.DictReader(stream))
            scores += [row["correct"] == "True" for row in rows]
            subjects += [subject] * len(rows)
            ids += [f"{subject} {i}" for i in range(len(rows))]
        evaluations.append(
            Evaluation.from_arrays(
                benchmark="MMLU", model=f"Mistral-7B {name}", scores=np.array(scores, float),
                item_ids=ids, groups={"subject": subjects},
            )
        )  # fmt: skip
    show("Mistral", landscape(evaluations, partition="declared:subject", bootstrap=500))


def mmlu_pro(logs):
    """Read answers that hold a prediction or null; null counts as wrong."""
    evaluations = []
    for path in sorted((logs / "mmlu-pro-tiger").glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            rows = json.loads(archive.read(archive.namelist()[0]))
        first = {row["question_id"]: row for row in reversed(rows)}
        rows = list(first.values())
        missing = sum(row["pred"] is None for row in rows)
        model = path.name.removeprefix("model_outputs_").removesuffix("_5shots.zip")
        print(f"{model}: {len(rows)} items, {missing} without an answer")
        evaluations.append(
            Evaluation.from_arrays(
                benchmark="MMLU-Pro", model=model, item_ids=list(first),
                scores=[float(row["pred"] == row["answer"]) for row in rows],
                groups={"category": [row["category"] for row in rows]},
            )
        )  # fmt: skip
    show("MMLU-Pro", landscape(evaluations, partition="declared:category", bootstrap=500))


class ArraysOnly(pickle.Unpickler):
    """Build NumPy arrays and plain containers, refuse everything else a pickle may name."""

    _ALLOWED = frozenset({"_reconstruct", "ndarray", "dtype", "scalar"})

    def find_class(self, module, name):
        if module.split(".")[0] == "numpy" and name in self._ALLOWED:
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")


def uncertainty(logs):
    """Read option logits without a key: no H, but partitions and their agreement."""
    evaluations = []
    for folder in ("llm-uncertainty-bench", "llm-uncertainty-bench-llama2"):
        for path in sorted((logs / folder).glob("*mmlu_10k*.gz")):
            rows = ArraysOnly(io.BytesIO(gzip.decompress(path.read_bytes()))).load()[:2000]
            logits = np.array([row["logits_options"] for row in rows], float)
            evaluations.append(
                Evaluation.from_arrays(
                    benchmark="MMLU 10k", model=path.name.split("_mmlu")[0].replace("_", "."),
                    scores=None, option_logprobs=logits, item_ids=[row["id"] for row in rows],
                )
            )  # fmt: skip
    try:
        landscape(evaluations, partition="shared")
    except BenchharmonyError as error:
        print(f"\nH: {error}")
    (found,) = split_all(evaluations, Settings(partition="shared")).found.values()
    print_partitions("MMLU 10k", found)


def show(title, made):
    record = made.to_dict()
    print(f"\n== {title}")
    for e in record["benchmarks"]:
        raw, h = e["harmony"]["raw"], e["harmony"]["adjusted"]
        print(
            f"{e['benchmark']}: {e['n_models']} models, {e['n_items']} items, k {e['k']['min']}-"
            f"{e['k']['max']}, score {e['score']['mean']:.3f}; raw H {raw['mean']:.3f}; adjusted "
            f"{h['mean']:.3f} [{h['ci'][0]:.3f}, {h['ci'][1]:.3f}], SD {h['sd']:.3f} "
            f"[{h['variance_ci'][0] ** 0.5:.3f}, {h['variance_ci'][1] ** 0.5:.3f}]; "
            f"{e['verdict']['label']}: {e['verdict']['sentence']}"
        )
        cut = record["size"]["matched"][e["benchmark"]]
        print(f"  cut to {cut['items']} items: raw H {cut['raw']['mean']:.3f}")
    for entries in record["trends"].values():
        for t in entries:
            for name in ("adjusted", "score"):
                for f in t[name]["families"]:
                    if f["slope"] is not None:
                        print(
                            f"  {t['benchmark']} {f['family']}: {name} {f['slope']:+.3f} per "
                            f"factor 10 [{f['ci'][0]:+.3f}, {f['ci'][1]:+.3f}], rank "
                            f"{f['spearman'] and round(f['spearman']['rho'], 2)}"
                        )
                print(f"  {t['benchmark']} common {name}: {t[name]['common']}")
                print(f"  {t['benchmark']} differ {name}: {t[name]['difference']}")
    for r in record["evaluations"]:
        print(
            f"    {r['benchmark']} {r['model']}: score {r['score']:.3f}, raw {r['raw']:.3f}, "
            f"adjusted {r['adjusted']:.3f}, agreement {r['agreement']:.3f}"
        )
    for benchmark, found in record["partitions"].items():
        print_partitions(benchmark, found)
    for warning in record["warnings"]:
        print(f"  ! {warning}")


def print_partitions(benchmark, found):
    print(f"  {benchmark}: {' '.join(found['sentences'])}")
    print(f"  artefacts: { {k: round(v, 2) for k, v in found['artefacts'].items()} }")
    for name, row in zip(found["models"], found["agreement"], strict=True):
        print(f"  {name:20s} {' '.join('   -' if v is None else f'{v:4.2f}' for v in row)}")


PARTS = {
    "naep": naep, "predictive": predictive, "pythia": pythia, "mistral": mistral,
    "mmlu-pro": mmlu_pro, "uncertainty": uncertainty,
}  # fmt: skip

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    data = Path(sys.argv[1])
    for part in sys.argv[2:] or PARTS:
        PARTS[part](data / "logs")
