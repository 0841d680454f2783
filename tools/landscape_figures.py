"""Landscapes, trends and agreement on real results of others, as docs/landscape.md quotes them.

    python tools/landscape_figures.py PATH_TO_SHARED_DATA [PART ...]

PART is naep, predictive, pythia, mistral, mmlu-pro or uncertainty; all by default.
"""

import sys
import warnings
from pathlib import Path

from benchharmony import BenchharmonyError, landscape, partition, read
from benchharmony.merge import merge
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
    """Three precisions of one model: a CSV per subject, merged to one benchmark."""
    evaluations = merge(read(logs / "cs247-mmlu-mistral"), "MMLU", "mmlu_*")
    show("Mistral", landscape(evaluations, partition="declared:task", bootstrap=500))


def mmlu_pro(logs):
    evaluations = read(logs / "mmlu-pro-tiger")
    show("MMLU-Pro", landscape(evaluations, partition="declared:category", bootstrap=500))


def uncertainty(logs):
    """Option logits without a key: no H, but partitions and their agreement."""
    folders = [logs / f"llm-uncertainty-bench{end}" for end in ("", "-llama2")]
    found = [e for e in read(*folders, allow_pickle=True) if e.benchmark == "mmlu_10k"]
    evaluations = [e.take(range(2000)) for e in found]
    try:
        landscape(evaluations, partition="shared")
    except BenchharmonyError as error:
        print(f"\nH: {error}")
    (made,) = split_all(evaluations, Settings(partition="shared")).found.values()
    print_partitions("MMLU 10k", made)


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
