# The environment is .venv, made from the locked requirements; uv makes it in seconds where it is there, pip elsewhere.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test test-long test-browser test-vllm test-runners test-interop check check-types check-rest format lock \
  bench bench-compare clean

run: .venv/ready
	$(BIN)/python -m synth run --config config.yaml

# Tests start many processes, so that byte code is kept even where the environment says otherwise.
test test-long: export PYTHONDONTWRITEBYTECODE =
# The tests of a file run in one process.
PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadgroup --no-loadscope-reorder

test: .venv/ready-dev
	$(BIN)/python -m pytest $(PARALLEL)

test-long: .venv/ready-dev
	$(BIN)/python -m pytest -m "not vllm and not browser and not runners and not interop" $(PARALLEL)

# A real Chromium, installed by apt-get where it is missing and that is allowed; else the tests skip and say why.
test-browser: .venv/ready-dev
	$(BIN)/python -m tests.browser.chromium
	$(BIN)/python -m pytest -m browser -rs tests/browser

# A real vLLM in .venv-vllm, an environment of its own; where it cannot be installed, the tests skip and say why.
test-vllm: .venv/ready-dev
	$(BIN)/python -m tests.vllm.environment
	$(BIN)/python -m pytest -m vllm -rs tests/vllm

# Dask and Ray in .venv-runners, an environment of its own; where they cannot be had, the tests skip and say why.
test-runners: .venv/ready-dev
	$(BIN)/python -m tests.runners.environment

# Other projects' loaders and clients in .venv-interop, an environment for each that needs one of its own; what cannot be
# installed is skipped, and why.
test-interop: .venv/ready-dev
	$(BIN)/python -m tests.interop_targets.environments
	$(BIN)/python -m pytest -m interop -rs tests/interop_targets tests/learn/small_model

# mypy takes as long as all else, so the two run side by side.
check: .venv/ready-dev
	$(MAKE) --no-print-directory -j 2 check-types check-rest

check-types:
	$(BIN)/mypy

check-rest:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python -m docs.generate --check

format: .venv/ready-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Pins stay as they are while they fit; extras stay named, since older pips ask for them by name.
lock:
	for name in requirements requirements-dev; do uv pip compile --quiet --universal --generate-hashes --no-header \
	  --no-emit-index-url --no-strip-extras --python-version 3.11 $$name.in -o $$name.lock || exit 1; done

# All that is measured; takes long. `make bench ONLY="--only scores"` measures a group.
bench: .venv/ready
	$(BIN)/python -m bench run $(ONLY)

# A minute or two: is anything slower than in bench/baseline.json?
bench-compare: .venv/ready
	$(BIN)/python -m bench compare

clean:
	rm -rf .venv .venv-vllm .venv-runners .venv-interop .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not ((3, 11) <= sys.version_info[:2] < (3, 15)))' || \
	  { echo "Python 3.11 to 3.14 is needed; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv .venv

.venv/ready: requirements.lock | .venv/bin/python
	$(call install,requirements.lock)
	touch $@

.venv/ready-dev: requirements-dev.lock | .venv/bin/python
	$(call install,requirements-dev.lock)
	touch $@ .venv/ready

install = if command -v uv >/dev/null; then uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r $(1); \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(1); fi
