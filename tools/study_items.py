"""Item files of the study in docs/collect.md and docs/validation.md, cut from public benchmarks.

    python tools/study_items.py FOLDER OUT

FOLDER holds ``mmlu.jsonl.gz``, ``arc_easy.jsonl.gz``, ``pubmedqa.jsonl.gz`` and
``triviaqa_1k.jsonl.gz`` (one item a line, own format). Written to OUT: ``mmlu`` (the first 60 of
each of 15 subjects and 20 of 6 others), ``mmlu15`` (the first 100 of the 15), ``mmlu_other`` (the
first 50 of 15 subjects that are in neither: held out when rules were compared), ``arc_easy``
(1,000), ``pubmedqa`` (500), ``triviaqa`` (200) and ``redundantqa`` (the set inside the package).
"""

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

#: The 15 subjects of the comparison with topics, and six more.
SUBJECTS = (
    "abstract_algebra", "anatomy", "astronomy", "clinical_knowledge", "college_biology",
    "computer_security", "elementary_mathematics", "global_facts", "high_school_geography",
    "high_school_psychology", "human_aging", "logical_fallacies", "marketing", "miscellaneous",
    "us_foreign_policy",
)  # fmt: skip
OTHERS = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    mmlu = list(read(given.folder / "mmlu.jsonl.gz"))
    rest = sorted({item["subject"] for item in mmlu} - set(SUBJECTS))
    random.Random(0).shuffle(rest)
    sixty = dict.fromkeys(SUBJECTS, 60) | dict.fromkeys(rest[:OTHERS], 20)
    made = {
        "mmlu": first(mmlu, sixty),
        "mmlu15": first(mmlu, dict.fromkeys(SUBJECTS, 100)),
        "mmlu_other": first(mmlu, dict.fromkeys(rest[OTHERS : OTHERS + 15], 50)),
        "arc_easy": list(read(given.folder / "arc_easy.jsonl.gz"))[:1000],
        "pubmedqa": [
            item
            for item in read(given.folder / "pubmedqa.jsonl.gz")
            if item["source_split"] == "test"
        ],
        "triviaqa": list(read(given.folder / "triviaqa_1k.jsonl.gz"))[:200],
    }
    for name, items in made.items():
        lines = (json.dumps(item, ensure_ascii=False) + "\n" for item in items)
        (given.out / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    own = files("benchharmony.validation") / "data" / "redundantqa.jsonl"
    (given.out / "redundantqa.jsonl").write_bytes(own.read_bytes())


def read(path: Path) -> Iterable[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def first(items: list[dict], numbers: dict[str, int]) -> list[dict]:
    """Return the first so many items of each subject, in the order of the file."""
    seen: Counter[str] = Counter()
    out = []
    for item in items:
        subject = item["subject"]
        seen[subject] += 1
        if seen[subject] <= numbers.get(subject, 0):
            out.append(item)
    return out


if __name__ == "__main__":
    main()
