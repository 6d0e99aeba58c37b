# make demo    what pairsmith does, on data that comes with scikit-learn
# make test    everything that must hold before a change lands (includes make check)
# make check   ruff and mypy
# make figures the paper's table and figures, in minutes, into figures/; SCALE=paper: in hours, into docs/figures/
#              DATA=folder has the public data sets that need files: netflix/, camra/, sift/, mslr/, sushi/, ...
# Each creates .venv and installs what it needs on the first run; after that it starts at once.

PYTHON ?= python3
BIN := .venv/bin

SCALE ?= quick
DATA ?= data
FIGURES := time_n time_d time_k scalability relative_time dataset_table accuracy

.PHONY: demo test check figures clean
.DELETE_ON_ERROR:

demo: .venv/demo
	@$(BIN)/python experiments/demo.py

test: check .venv/debian
	@$(BIN)/pytest

check: .venv/dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

figures: .venv/demo
	@for name in $(FIGURES); do $(BIN)/python experiments/$$name.py --scale $(SCALE) --data $(DATA) || exit 1; done

clean:
	rm -rf .venv demo figures build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# Stamps: touched when an install succeeded, stale when pyproject.toml changes.
.venv/demo: EXTRAS = plots
.venv/dev: EXTRAS = dev
.venv/demo .venv/dev: pyproject.toml | .venv/bin/python
	@echo "Installing pairsmith[$(EXTRAS)] into .venv (once; takes a minute or two) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	@touch $@

# Chromium, nginx and PostgreSQL for the tests of campaigns: Debian's, which root can install.
.venv/debian: Makefile | .venv/bin/python
	@if { command -v chromium || command -v chromium-browser; } >/dev/null \
		&& { command -v nginx || ls /usr/sbin/nginx; } >/dev/null 2>&1 \
		&& { ls /usr/lib/postgresql/*/bin/initdb || command -v initdb; } >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Chromium, nginx and PostgreSQL for the tests (once; takes a minute or two) ..."; \
		apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends \
			chromium nginx-light postgresql >/dev/null; \
	else echo "The tests need Chromium, nginx and PostgreSQL; as root: apt-get install chromium nginx-light postgresql" >&2; \
		exit 1; fi
	@touch $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "pairsmith needs Python 3.11 or newer; try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "python3 has no venv module; on Debian: apt-get install python3-venv" >&2; rm -rf .venv; exit 1; }
