# The two commands of the README. Each makes its own environment on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Small matrices: more threads than cores make them slower, not faster.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test lint slow clean

demo: $(VENV)/installed
	$(BIN)/benchharmony demo -o demo-output

test: $(VENV)/dev-installed lint
	$(BIN)/python -m pytest

lint: $(VENV)/dev-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/dev-installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,collect]'
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) demo-output build dist
