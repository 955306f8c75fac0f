# Everything happens in .venv, which is made on demand: with uv where it is installed, else with pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
ifdef UV
INSTALL = $(UV) pip install --quiet --python $(@D)/bin/python
MAKE_VENV = $(UV) venv --quiet --python $(PYTHON)
else
# What is installed is compiled when it is first imported, which is a small part of it.
INSTALL = $(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile
MAKE_VENV = $(PYTHON) -m venv
endif
# Where new versions of JAX may change something, and the Pythons: of the oldest, today's and the newest versions, and of
# two of JAX between them.
COMPAT_TESTS := $(foreach name,kernels host_call games go_rules search selection lowering door extras,$(wildcard tests/*/test_$(name).py tests/*/*/test_$(name).py))
COMPAT := compat-oldest compat-0.8 compat-todays compat-0.12 compat-newest
OLDEST ?= python3.11
MIDDLE ?= python3.12
TODAYS ?= $(PYTHON)
RECENT ?= python3.13
# 3.14 where it is there.
NEWEST ?= $(or $(shell command -v python3.14),$(RECENT))
# Tests lie side by side, most of their time being one core's compiling; a worker takes up to 3 GB.
PYTEST := $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal

.PHONY: demo test test-full test-rest lint check docs bench compat $(COMPAT) clean

demo: $(VENV)/.installed
	rm -rf runs/demo  # the demo begins anew every time; your own runs go on where they stopped
	$(BIN)/jubango demo --out runs/demo

test: $(VENV)/.installed-test
	$(PYTEST) -m 'not full'

test-full: $(VENV)/.installed-dev
	$(PYTEST)

# What `make test` leaves out.
test-rest: $(VENV)/.installed-dev
	$(PYTEST) -m full

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test-full

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -q -b html -c docs . build/site
	@echo "the site is in build/site: open build/site/index.html"

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/playouts.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/library.py
	$(BIN)/python benchmarks/env.py
	$(BIN)/python benchmarks/review.py
	$(BIN)/python benchmarks/first_contact.py
	$(BIN)/python benchmarks/starting.py
	$(BIN)/jubango bench tournament

compat: $(COMPAT)

compat-oldest: WITH = PYTHON=$(OLDEST) CONSTRAINTS=constraints-oldest.txt
compat-0.8: WITH = PYTHON=$(MIDDLE) CONSTRAINTS=constraints-0.8.txt
compat-todays: WITH = PYTHON=$(TODAYS) CONSTRAINTS=constraints.txt
compat-0.12: WITH = PYTHON=$(RECENT) CONSTRAINTS=constraints-0.12.txt
compat-newest: WITH = PYTHON=$(NEWEST) CONSTRAINTS=
compat-oldest: AN = $(OLDEST)
compat-0.8: AN = $(MIDDLE)
compat-todays: AN = $(TODAYS)
compat-0.12: AN = $(RECENT)
compat-newest: AN = $(NEWEST)
$(COMPAT):
	@if $(AN) -c "" 2>/dev/null; then \
		$(MAKE) --no-print-directory $(WITH) .venv-$@/.installed && \
		.venv-$@/bin/python -c 'import jax, platform; print("Python", platform.python_version(), "JAX", jax.__version__)' && \
		.venv-$@/bin/python -m pytest $(COMPAT_TESTS); \
	else echo "$@: there is no $(AN) here; left out"; fi

$(VENV)/bin/python:
	$(MAKE_VENV) $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -c constraints.txt -e '.[parquet,plots,train]'
	touch $@

# Each of the two holds what those before it hold, and takes one run of the installer.
$(VENV)/.installed-test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -c constraints.txt -e '.[parquet,plots,train,test]'
	touch $(@D)/.installed $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) -c constraints.txt -e '.[parquet,plots,train,test,dev]'
	touch $(@D)/.installed $(@D)/.installed-test $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(INSTALL) -c constraints.txt -e '.[docs]'
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(INSTALL) -c constraints.txt -e '.[bench]'
	touch $@

.venv-compat-%/.installed: pyproject.toml constraints.txt constraints-oldest.txt constraints-0.8.txt constraints-0.12.txt
	$(MAKE_VENV) --clear $(@D)
	$(INSTALL) $(CONSTRAINTS:%=-c %) -e '.[parquet,plots,train]' hypothesis mctx pgx pytest pytest-timeout
	touch $@

clean:
	rm -rf $(VENV) .venv-compat-* build *.egg-info
