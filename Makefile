# `make demo`, `make test` and `make check` need Python 3.11 or newer and make; everything else they set up in .venv.
# `make benchmark` (most of an hour) also installs the programs that it compares with, into build/benchmark.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test check benchmark

demo: $(READY)  ## train a small model in about two minutes, translate, and draw what it looked at
	$(BIN)/rnnsearch demo

test: $(READY)  ## run the tests
	$(BIN)/python -m pytest

check: $(READY)  ## style, types and import rules
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

benchmark: $(READY)  ## measure speed and memory, beside other programs; the table is build/benchmark/results.md
	$(BIN)/python -m benchmarks $(BENCHMARK)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	@echo "Installing the pinned packages into .venv (PyTorch is large: the first time takes some minutes)"
	$(BIN)/python -m pip install --constraint constraints.txt --editable ".[train,plot,dev]"
	@touch $@
