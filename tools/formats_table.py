"""Make the table of formats in docs/formats.md: what comes out of one full example of each.

python tools/formats_table.py          print whether the table of the document is the made one
python tools/formats_table.py --write  put the made one there
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from benchharmony.evaluation import Evaluation  # noqa: E402
from benchharmony.readers import readers  # noqa: E402
from benchharmony.readers.registry import read_recognised  # noqa: E402
from benchharmony.readers.source import SourceFile  # noqa: E402
from format_examples import write_examples, write_more  # noqa: E402

DOCUMENT = ROOT / "docs" / "formats.md"
BEGIN = "<!-- made by tools/formats_table.py -->\n"
END = "<!-- end of the made table -->\n"
HEADER = (
    "| format | items | score | options | texts | groups | distributions |\n"
    "|---|---|---|---|---|---|---|\n"
)


def made_table() -> str:
    """Return the table, a row for each format that is read, in the order of the readers."""
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, list[Evaluation]] = {}
        for examples in (write_examples(Path(folder)), write_more(Path(folder))):
            for name, example in examples.items():
                read = read_recognised(SourceFile(example.path), example.options)
                found.setdefault(name, []).append(read[0])
    order = [r.name for r in readers()]
    return HEADER + "".join(row(name, found[name]) for name in sorted(found, key=order.index))


def row(name: str, examples: Sequence[Evaluation]) -> str:
    """Return the row of a format: what any of its examples holds."""
    parts = {
        "log-likelihoods": any(e.option_logprobs is not None for e in examples),
        "texts": any(e.choices is not None for e in examples),
        "key": any(e.gold is not None for e in examples),
    }
    cells = [
        name,
        "yes" if all(len(e) for e in examples) else "no",
        "no" if examples[0].scores is None else examples[0].score_name,
        ", ".join(part for part, held in parts.items() if held) or "no",
        "yes" if any(e.texts is not None for e in examples) else "no",
        "yes" if any(e.groups for e in examples) else "no",
        ", ".join(examples[0].predictive) or "no",
    ]
    return f"| {' | '.join(cells)} |\n"


def table_in_document() -> str:
    """Return the table that the document holds."""
    text = DOCUMENT.read_text("utf-8")
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip("\n") + "\n"


def main() -> int:
    made = made_table()
    if "--write" in sys.argv[1:]:
        text = DOCUMENT.read_text("utf-8")
        before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
        DOCUMENT.write_text(f"{before}\n{made}\n{after}", "utf-8")
    same = made == table_in_document()
    print(f"{DOCUMENT.name}: the table {'is' if same else 'is not'} the made one")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
