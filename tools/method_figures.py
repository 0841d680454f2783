"""Agreement of induced partitions with declared subjects, and their artefacts, on real data.

    python tools/method_figures.py PATH_TO_SHARED_DATA [COLLECTED.parquet...]

Prints the figures that docs/method.md quotes: for the recorded distributions of 1,500 MMLU items
of 15 subjects, and for collected results on other subjects (``mmlu_other`` of study_items.py).
"""

import sys
from pathlib import Path

from sklearn.metrics import adjusted_mutual_info_score

from benchharmony import Evaluation, partition, read
from benchharmony.artefacts import artefacts
from benchharmony.harmony import harmony

RULES = ("auto", "silhouette", "eigengap", "stability")


def main() -> None:
    folder = Path(sys.argv[1]) / "distributions"
    print("| model, items | declared: H | " + " | ".join(RULES) + " | k = 15 |")
    print("|---" * (len(RULES) + 3) + "|")
    files = sorted(folder.glob("*__mmlu15__item.npz"))
    for evaluation in [read(path)[0] for path in files] + [read(f)[0] for f in sys.argv[2:]]:
        _row(evaluation)
    for path in files:
        (evaluation,) = read(path)
        for name, labelled in (
            ("item, k = 15", partition(evaluation, k=15)),
            ("options", partition(evaluation, "options")),
        ):
            found = ", ".join(f"{a.name} {a.ami:.2f}" for a in artefacts(evaluation, labelled))
            print(f"{evaluation.model} {name}: {found}")


def _row(evaluation: Evaluation) -> None:
    """Print k, the adjusted mutual information with the subjects and H, for each rule."""
    subject = evaluation.groups["subject"]

    def h(split) -> str:
        return f"{harmony(evaluation, split).value:.2f}"

    cells = [h(partition(evaluation, "declared:subject"))]
    for options in ({"k_rule": rule} for rule in RULES):
        split = partition(evaluation, "predictive", positions="item", **options)
        ami = adjusted_mutual_info_score(subject, split.labels)
        cells.append(f"k = {split.k}: {ami:.2f}, {h(split)}")
    split = partition(evaluation, "predictive", positions="item", k=15)
    cells.append(f"{adjusted_mutual_info_score(subject, split.labels):.2f}, {h(split)}")
    print(f"| {evaluation.model}, {len(evaluation)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
