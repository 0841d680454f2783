"""Run the example notebooks and keep their outputs: ``python tools/run_notebooks.py [FILE...]``.

What changes from run to run (times, counts of runs, paths) is left out, so that a difference in
the file is a difference in the result.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"
LIMIT_S = 600


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of a run in a fresh kernel; its errors are raised."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=LIMIT_S, kernel_name="python3", resources={"metadata": {"path": "."}}
    ).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):  # beside the picture its text says nothing
                output["data"].pop("text/plain", None)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def main(arguments: list[str]) -> None:
    for path in [Path(a) for a in arguments] or sorted(EXAMPLES.glob("*.ipynb")):
        nbformat.write(executed(path), path)
        print(f"{path}: {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
