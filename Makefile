# Everything from a fresh clone with Python 3.11 and make: `make demo`, `make test`.
# The first call makes .venv and installs the versions of constraints.txt; later calls install nothing
# until pyproject.toml or constraints.txt changes.

PYTHON ?= python3
WORKERS ?= 2
BENCHMARKS ?= $(wildcard benchmarks/*.py)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt
MADE := $(VENV)/.made
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
TORCH := $(shell sed -n '/^torch==/p' constraints.txt)

# One thread each: the test workers share the cores among themselves.
test: export OMP_NUM_THREADS := 1

.PHONY: help setup demo test lint format bench docs dist clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   train EHNN and message passing on k-edge identification: a table and demo.png, under 3 minutes"
	@echo "make test   lint, types, order of rooms, tests"
	@echo "make docs   the documentation, into site/"
	@echo "make dist   wheel and source distribution, into dist/"
	@echo "make setup | lint | format | bench | clean"

setup: $(READY)

$(MADE):
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else \
		"constraints.txt needs Python 3.11, found %d.%d: make PYTHON=/path/to/python3.11" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# torch comes first and alone: a requirement without a version could bring gigabytes of CUDA packages.
# The build backend is installed by us, so that no second environment is made to build the package.
$(READY): pyproject.toml constraints.txt | $(MADE)
	@echo "Installing into $(VENV): a minute or two, once."
	$(PIP) $(TORCH)
	$(PIP) hatchling
	$(PIP) --no-build-isolation --editable '.[dev]'
	@touch $@

$(BENCH_READY): $(READY)
	$(PIP) --no-build-isolation --editable '.[bench]'
	@touch $@

demo: $(READY)
	$(BIN)/python examples/demo.py --out demo.png

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: lint
	$(BIN)/python -m pytest -n $(WORKERS)

# Tables go to runs/bench/results; those of the README are in results.
bench: $(BENCH_READY)
	@set -e; mkdir -p runs/bench; cd runs/bench; for script in $(abspath $(BENCHMARKS)); do \
		echo "== $$script"; $(abspath $(BIN))/python $$script; done

# Strict: a broken link, an unknown name of the API or a page that is missing is an error.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(READY)
	$(BIN)/python -m build --no-isolation

clean:
	rm -rf $(VENV) dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
