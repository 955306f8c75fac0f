# Everything happens in .venv, which is made on demand: with uv where it is installed, else with pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
ifdef UV
INSTALL = $(UV) pip install --quiet --python $(@D)/bin/python
MAKE_VENV = $(UV) venv --quiet --python $(PYTHON)
else
INSTALL = $(@D)/bin/python -m pip install --quiet --disable-pip-version-check
MAKE_VENV = $(PYTHON) -m venv
endif
# Where new versions of JAX may change something, and the environments of the oldest and the newest one.
COMPAT_TESTS := $(addprefix tests/test_,kernels.py games.py go_rules.py search.py selection.py)
# Tests lie side by side, most of their time being one core's compiling; a worker takes up to 2 GB.
PYTEST := $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal
COMPAT := .venv-compat-oldest .venv-compat-newest

.PHONY: demo test check bench compat clean

demo: $(VENV)/.installed
	rm -rf runs/demo  # the demo begins anew every time; your own runs go on where they stopped
	$(BIN)/jubango tournament examples/demo.toml --out runs/demo

test: $(VENV)/.installed-test
	$(PYTEST)

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST)

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/playouts.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/library.py
	$(BIN)/python benchmarks/env.py
	$(BIN)/python benchmarks/review.py
	$(BIN)/python benchmarks/starting.py
	$(BIN)/jubango bench tournament

compat: $(COMPAT:%=%/.installed)
	for venv in $(COMPAT); do $$venv/bin/python -c 'import jax; print("jax", jax.__version__)' && \
		$$venv/bin/python -m pytest $(COMPAT_TESTS) || exit 1; done

$(VENV)/bin/python:
	$(MAKE_VENV) $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -c constraints.txt -e .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(INSTALL) -c constraints.txt -e '.[test]'
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(INSTALL) -c constraints.txt -e '.[bench]'
	touch $@

.venv-compat-oldest/.installed: pyproject.toml constraints-oldest.txt
	$(MAKE_VENV) --clear $(@D)
	$(INSTALL) -c constraints-oldest.txt -e . hypothesis mctx pgx pytest pytest-timeout
	touch $@

.venv-compat-newest/.installed: pyproject.toml
	$(MAKE_VENV) --clear $(@D)
	$(INSTALL) -e . hypothesis mctx pgx pytest pytest-timeout
	touch $@

clean:
	rm -rf $(VENV) $(COMPAT) build *.egg-info
