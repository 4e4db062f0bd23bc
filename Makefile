# The one list of what one can do. `make` alone prints it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup play test lint bench evidence docs lock clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

setup: $(STAMP) ## the environment in .venv, alone

# The stamp is older than the lock or the project file when either changed: the environment is then made to match.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info[:2] == (3, 11) else "Fabula is built and tested on Python 3.11; this is " + sys.version.split()[0] + ". Give another with: make setup PYTHON=/path/to/python3.11")'
	@echo "Setting up $(VENV): about 500 MB, a few minutes on a slow line…"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@sed -n '/^uv==/,/# via/p' requirements.lock > $(VENV)/uv.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(VENV)/uv.lock
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

lock: ## resolve the pins anew, with hashes
	@test -x $(BIN)/uv || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check uv; }
	$(BIN)/uv pip compile --quiet --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-emit-find-links --group dev pyproject.toml --custom-compile-command "make lock" --output-file requirements.lock

play: setup ## a story on this machine: the small narrator and the server, ready to play
	@$(BIN)/fabula serve --guide

test: lint ## everything that is checked
	@$(BIN)/python -m pytest --quiet

lint: setup ## ruff, mypy (strict) and the import contracts
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache > $(VENV)/lint-imports.txt || { cat $(VENV)/lint-imports.txt; exit 1; }

bench: setup ## speed and size, as ratios from one run
	@$(BIN)/python -m tests.bench

docs: setup ## write the reference in README out of the code
	@$(BIN)/python -m api.reference README.md

evidence: setup ## the slow proofs: an hour of what the suite does in minutes
	FABULA_HTTP_EXAMPLES=1500 $(BIN)/python -m pytest --timeout 3600 tests/property/test_http_schemathesis.py
	$(BIN)/python -m pytest --timeout 3600 tests/e2e tests/integration/test_small_narrator.py
	FABULA_KILLS=30 FABULA_KILL_EVENTS=200000 $(BIN)/python -m pytest --timeout 3600 tests/integration/test_rebuilding.py -k killed
	$(BIN)/uv pip install --quiet --python $(BIN)/python atheris==3.0.0
	$(BIN)/python -m tests.fuzz.extraction -max_total_time=600
	for seed in 1 2 3 4 5; do $(BIN)/python -m pytest --quiet --timeout 3600 --hypothesis-seed $$seed tests/property || exit 1; done

clean: ## remove the environment and everything that was built
	@rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis dist
