"""Agreement of induced partitions with declared subjects, and their artefacts, on real data.

    python tools/method_figures.py PATH_TO_SHARED_DATA

Prints the figures that docs/method.md quotes.
"""

import sys
from pathlib import Path

from sklearn.metrics import adjusted_mutual_info_score

from benchharmony import partition, read
from benchharmony.artefacts import artefacts


def main() -> None:
    folder = Path(sys.argv[1]) / "distributions"
    for path in sorted(folder.glob("*__mmlu15__item.npz")):
        (evaluation,) = read(path)
        subject = evaluation.groups["subject"]
        cells = []
        for options in ({"k_rule": r} for r in ("silhouette", "eigengap", "stability")):
            split = partition(evaluation, **options)
            ami = adjusted_mutual_info_score(subject, split.labels)
            cells.append(f"{ami:.2f} (k = {split.k})")
        split = partition(evaluation, k=15)
        cells.append(f"{adjusted_mutual_info_score(subject, split.labels):.2f}")
        print(f"| {evaluation.model} | {' | '.join(cells)} |")
        for name, labelled in (
            ("item, k = 15", split),
            ("options", partition(evaluation, "options")),
        ):
            found = ", ".join(f"{a.name} {a.ami:.2f}" for a in artefacts(evaluation, labelled))
            print(f"  {name}: {found}")


if __name__ == "__main__":
    main()
