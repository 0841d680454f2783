"""``benchharmony demo``: the main job on figures inside the package."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from benchharmony.readers import read_sources
from benchharmony.report import report
from benchharmony.report.text import print_report
from benchharmony.terminal import Progress
from benchharmony.writing import write_whole

_FORMATS = {"json": "report.json", "csv": "report.csv", "md": "report.md", "text": "report.txt"}
_PAGE = "report.html"
_INTRO = (
    "Option log-likelihoods of 18 models on multiple-choice items of two NAEP assessments, "
    "with the subdomain that the assessment itself declares for every item."
)


def run_demo(folder: Path, console: Console, progress: Progress) -> list[Path]:
    """Report on the embedded evaluations; return the files written.

    Parameters
    ----------
    folder : Path
        Where the files go; made where missing.
    console : Console
        Where the tables go.
    progress : Progress
        Told of each evaluation.
    """
    with as_file(files("benchharmony") / "data" / "naep.parquet") as path:
        found = read_sources([path]).evaluations
    progress.expect(len(found), "analysing")
    made = report(found, partition="declared:classification", progress=progress.step)
    console.print(Text(_INTRO))
    print_report(made.record, console, details=False)
    console.print(Text("The evaluation with the lowest HARMONY, in detail:", style="bold"))
    print_report({**made.record, "evaluations": [_lowest(made.record)]}, console)
    written = []
    for name, file in _FORMATS.items():
        write_whole(folder / file, made.render(name))  # type: ignore[arg-type]
        written.append(folder / file)
    made.to_html(folder / _PAGE, command=f"benchharmony demo -o {folder}")
    return [*written, folder / _PAGE]


def _lowest(record: dict[str, Any]) -> dict[str, Any]:
    defined = [e for e in record["evaluations"] if e["harmony"]["value"] is not None]
    lowest: dict[str, Any] = min(defined, key=lambda e: e["harmony"]["value"])
    return lowest
