# Everything happens in .venv, which is made on demand: with uv where it is installed, else with pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
ifdef UV
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
MAKE_VENV = $(UV) venv --quiet --python $(PYTHON) $(VENV)
else
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
MAKE_VENV = $(PYTHON) -m venv $(VENV)
endif

.PHONY: demo test check bench clean

demo: $(VENV)/.installed
	rm -rf runs/demo  # the demo begins anew every time; your own runs go on where they stopped
	$(BIN)/jubango tournament examples/demo.toml --out runs/demo

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/playouts.py
	$(BIN)/python benchmarks/search.py

$(VENV)/bin/python:
	$(MAKE_VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -c constraints.txt -e .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(INSTALL) -c constraints.txt -e '.[test]'
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(INSTALL) -c constraints.txt -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
