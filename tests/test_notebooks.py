"""The example notebooks run, say what they said, and carry nothing of the machine that ran them."""

import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("vl_convert")

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
#: Largest file, in KiB: pictures included.
LARGEST = 600


@pytest.fixture
def executed(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from run_notebooks import executed

    yield executed
    sys.modules.pop("run_notebooks", None)


def outputs(notebook):
    return [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]


def printed(notebook):
    return [o.text for o in outputs(notebook) if o.output_type == "stream" and o.name == "stdout"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_kept_with_its_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < LARGEST * 1024
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert [c.execution_count for c in code] == list(range(1, len(code) + 1))
    assert not [o for o in outputs(notebook) if o.output_type == "error"]
    assert not [o for o in outputs(notebook) if o.get("name") == "stderr"]
    assert any("image/png" in o.get("data", {}) for o in outputs(notebook))
    text = path.read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert str(Path.home()) not in text


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs_and_prints_what_it_printed(path, executed):
    assert printed(executed(path)) == printed(nbformat.read(path, as_version=4))


def test_there_are_two():
    assert [p.stem for p in NOTEBOOKS] == ["landscape", "report"]
