# Everything from a fresh clone with Python 3.11 and make: `make demo`, `make test`.
# The first call makes .venv and installs the versions of constraints.txt; later calls install nothing
# until pyproject.toml or constraints.txt changes.

PYTHON ?= python3
WORKERS ?= 2
INPUTS ?= 20000
SEED ?= 0
COUNT ?= 2
RUNS ?= 5
BENCHMARKS ?= $(filter-out paper/benchmarks/parallel.py, $(wildcard paper/benchmarks/*.py)) # that one runs under torchrun

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt
MADE := $(VENV)/.made
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
TORCH := $(shell sed -n '/^torch==/p' constraints.txt)

# One thread each: the test workers share the cores among themselves.
test coverage fuzz: export OMP_NUM_THREADS := 1

.PHONY: help setup demo scale-demo test coverage mutants fuzz sanitize verify-results tables lint format bench docs dist clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      train a classifier on the functions of SciPy; writes a table and a picture, half a minute after the installation"
	@echo "make scale-demo  Parquet to shards to two ranks and back to Parquet; a few minutes, no data needed"
	@echo "make test      lint, types, order of packages, tests"
	@echo "make docs      build the documentation into site/"
	@echo "make dist      build the wheel and the source distribution into dist/"
	@echo "make coverage  run the tests, show which lines of the library they reach, fail below a floor"
	@echo "make mutants   change the source on purpose and see whether the tests notice (results/mutants.md)"
	@echo "make fuzz      give damaged and hostile files to every reader (results/fuzz.json)"
	@echo "make sanitize  test the C kernels under the address and undefined-behaviour sanitizers (needs gcc)"
	@echo "make verify-results  train a random sample of published rows again (results/verified.json)"
	@echo "make tables    write the tables of README and docs from results/*.json"
	@echo "make bench     run the benchmarks"
	@echo "make setup | lint | format | clean"

setup: $(READY)

$(MADE):
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else \
		"constraints.txt needs Python 3.11, found %d.%d: make PYTHON=/path/to/python3.11" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# torch comes first and alone: a requirement without a version could bring gigabytes of CUDA packages.
# The build backend is installed by us, so that no second environment is made to build the package.
$(READY): pyproject.toml paper/pyproject.toml constraints.txt | $(MADE)
	@echo "Installing into $(VENV): a minute or two, once."
	$(PIP) $(TORCH)
	$(PIP) hatchling
	$(PIP) --no-build-isolation --editable '.[dev]' --editable './paper[vision,tune]'
	@touch $@

$(BENCH_READY): $(READY)
	$(PIP) --no-build-isolation --editable . --editable './paper[bench]'
	@touch $@

demo: $(READY)
	$(BIN)/python examples/demo.py --out demo.png

scale-demo: $(READY)
	$(BIN)/python examples/scale.py --out runs/scale-demo

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

# Fails below fail_under under [tool.coverage.report] in pyproject.toml; CONTRIBUTING.md says how it was measured.
coverage: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term --cov-report=xml

# Goes on from what results/mutants.json knows of the present source and tests.
mutants: $(READY)
	$(BIN)/python tools/mutants.py --jobs $(WORKERS)

# Every finding is kept with the smallest files that show it, in runs/fuzz.
fuzz: $(READY)
	$(BIN)/python -m tools.fuzz --inputs $(INPUTS) --seed $(SEED) --jobs $(WORKERS) --out results/fuzz.json

sanitize: $(READY)
	$(BIN)/python tools/sanitize.py

# Needs the data: EHNN_DATA=folder make verify-results COUNT=2 RUNS=5; COUNT rows of each table.
verify-results: $(READY)
	$(BIN)/python -m ehnn_paper.verify --count $(COUNT) --runs $(RUNS) --seed $(SEED) --out results/verified.json

# Tables go to runs/bench/results; those of the README are in results.
bench: $(BENCH_READY)
	@set -e; mkdir -p runs/bench; cd runs/bench; $(abspath $(BIN))/ehnn bench cost scale peers walmart k-edge; \
	for script in $(abspath $(BENCHMARKS)); do \
		echo "== $$script"; $(abspath $(BIN))/python $$script; done

# The tables of README and docs, from results/*.json.
tables: $(READY)
	$(BIN)/python -m tools.tables

# Strict: a broken link, an unknown name of the API or a page that is missing is an error.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(READY)
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m build --no-isolation --outdir dist paper

clean:
	rm -rf $(VENV) dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .nox .coverage coverage.xml
