"""A whole study from one YAML file: every model on every benchmark, report and landscape.

``spec`` reads the file, ``plan`` says what it would do, ``run`` does what is not done yet.
"""

from __future__ import annotations

from benchharmony.grid.plan import Cell, cells, describe_study
from benchharmony.grid.run import run_study
from benchharmony.grid.spec import Study, read_study

__all__ = ["Cell", "Study", "cells", "describe_study", "read_study", "run_study"]
