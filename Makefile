# make demo    what pairsmith does, on data that comes with scikit-learn
# make test    everything that must hold before a change lands (includes make check), in three processes
# make quick   what of it takes under two minutes: no browsers, clusters, crashes, PostgreSQL; for whoever changes a line
# make check   ruff, mypy, and for the scripts of the web pages eslint and TypeScript's checker
# make test-oldest  the tests with the oldest versions of all dependencies that pyproject.toml allows
# make release sdist and wheel in dist/, checked: the sdist's tests are found, the demo runs from the wheel alone
# make figures the paper's table and figures, in minutes, into figures/; SCALE=paper: in hours, into docs/figures/
#              DATA=folder has the public data sets that need files: netflix/, camra/, sift/, mslr/, sushi/, ...
# Each creates .venv and installs what it needs on the first run; after that it starts at once.

PYTHON ?= python3
BIN := .venv/bin

PROCESSES := -n 3 --dist loadfile

SCALE ?= quick
DATA ?= data
FIGURES := time_n time_d time_k scalability relative_time dataset_table accuracy

.PHONY: demo test quick test-oldest check release figures clean
.DELETE_ON_ERROR:

demo: .venv/demo
	@$(BIN)/python experiments/demo.py

# Three processes, each with whole files of tests: most of a test's time is waiting for others. BLAS has one thread in
# each, since threads of three processes would wait for each other; and what they start finds compiled modules.
test quick test-oldest: export OMP_NUM_THREADS := 1
unexport PYTHONDONTWRITEBYTECODE

# Debian's packages come while pip's are installed and mypy looks at the code.
test:
	@$(MAKE) --no-print-directory --jobs=2 check .venv/debian
	@$(BIN)/pytest $(PROCESSES)

quick: check
	@$(BIN)/pytest $(PROCESSES) -m "not slow"

# uv resolves to the oldest versions, which pip cannot.
test-oldest: .venv-oldest/ready .venv/debian
	@.venv-oldest/bin/pytest $(PROCESSES) -W ignore::DeprecationWarning  # of old packages about new ones that they use

.venv-oldest/ready: pyproject.toml | .venv/bin/uv
	@echo "Installing the oldest dependencies into .venv-oldest (takes a few minutes) ..."
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-oldest
	@$(BIN)/uv pip install --quiet --python .venv-oldest/bin/python --resolution lowest-direct --editable ".[dev]"
	@touch $@

release: .venv/release
	@rm -rf dist build/release
	@$(BIN)/python -m build --outdir dist .
	@$(BIN)/twine check --strict dist/*
	@mkdir -p build/release && tar -xzf dist/*.tar.gz -C build/release --strip-components=1
	@cd build/release && PYTHONPATH=src ../../$(BIN)/pytest --collect-only -qq >/dev/null && echo "The sdist's tests are found."
	@$(BIN)/python -m venv build/release/.venv
	@build/release/.venv/bin/python -m pip install --quiet --disable-pip-version-check "$$(echo dist/*.whl)[demo]"
	@build/release/.venv/bin/python build/release/experiments/demo.py
	@echo "dist/ can be published."

check: .venv/dev node_modules/ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@node_modules/.bin/eslint eslint.config.js src
	@node_modules/.bin/tsc

figures: .venv/demo
	@for name in $(FIGURES); do $(BIN)/python experiments/$$name.py --scale $(SCALE) --data $(DATA) || exit 1; done

clean:
	rm -rf .venv .venv-oldest node_modules demo figures build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# Stamps: touched when an install succeeded, stale when pyproject.toml changes. uv takes a quarter of the time that pip
# does; where it does not get far, as it knows nothing of pip's settings, pip tries again. Unlike pip, uv compiles no
# modules: those that are imported in any case are compiled here, and not by the first who wants to see something.
.venv/demo: EXTRAS = demo
.venv/dev: EXTRAS = dev
.venv/release: EXTRAS = release
.venv/demo .venv/dev .venv/release: pyproject.toml | .venv/bin/uv
	@echo "Installing pairsmith[$(EXTRAS)] into .venv (once; takes a minute or so) ..."
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --editable ".[$(EXTRAS)]" \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	@$(BIN)/python -c "import choix, matplotlib.pyplot, sklearn.datasets; from pairsmith import BradleyTerryGP, select"
	@touch $@

.venv/bin/uv: | .venv/bin/python
	-@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

# eslint and TypeScript, in the versions of package-lock.json. Nothing of them is in a release.
node_modules/ready: package-lock.json | $(if $(shell command -v npm),,.venv/debian)
	@npm ci --loglevel=error
	@touch $@

# Chromium, nginx and PostgreSQL for the tests of campaigns, Node.js for make check: Debian's, which root can install.
.venv/debian: Makefile | .venv/bin/python
	@if { command -v chromium || command -v chromium-browser; } >/dev/null && command -v npm >/dev/null \
		&& { command -v nginx || ls /usr/sbin/nginx; } >/dev/null 2>&1 \
		&& { ls /usr/lib/postgresql/*/bin/initdb || command -v initdb; } >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Chromium, nginx, PostgreSQL and Node.js for the tests (once; takes a minute or two) ..."; \
		apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends \
			chromium nginx-light postgresql nodejs npm >/dev/null; \
	else echo "The tests need Chromium, nginx, PostgreSQL and Node.js;" \
		"as root: apt-get install chromium nginx-light postgresql nodejs npm" >&2; exit 1; fi
	@touch $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "pairsmith needs Python 3.11 or newer; try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "python3 has no venv module; on Debian: apt-get install python3-venv" >&2; rm -rf .venv; exit 1; }
