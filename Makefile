# Every target makes .venv and installs what it needs by itself.
# Prerequisites: Python 3.11 or newer with venv, and make.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
BROWSER_PACKAGES := chromium fonts-wqy-microhei

.PHONY: demo test slow check golden bench clean browser

demo: .venv/.runtime
	$(BIN)/etude run recipes/mt50-quick.toml --output_dir runs/demo --resume

# As many tests at once as there are cores, each with one thread: more would wait for each other.
test: .venv/.development browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m "not slow $$(command -v chromium >/dev/null || echo 'and not browser')"

slow: .venv/.development browser
	$(BIN)/python -m pytest -m "slow or browser"

check: .venv/.development
	$(BIN)/ruff format --no-cache --check src tests bench
	$(BIN)/ruff check --no-cache src tests bench
	$(BIN)/pyright
	$(BIN)/lint-imports

golden: .venv/.development
	$(BIN)/python -m pytest -m "not slow and not browser" --update-golden

bench: .venv/.development
	for script in startup windows trainer rollouts; do $(BIN)/python bench/$$script.py || exit 1; done

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.runtime: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than 3.11"; echo "hint: make PYTHON=python3.11 ..."; exit 4; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

.venv/.development: .venv/.runtime
	$(PIP) --editable '.[dev]'
	touch $@

# The browser is for tests only; without it, or without the right to install it, they are left out.
browser:
	@missing=""; for name in $(BROWSER_PACKAGES); do \
	  dpkg -s $$name >/dev/null 2>&1 || missing="$$missing $$name"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
	  echo "no apt-get here: tests that need$$missing are left out"; exit 0; fi; \
	if [ "$$(id -u)" -ne 0 ]; then \
	  echo "not root: tests that need$$missing are left out; install them with apt-get"; exit 0; fi; \
	echo "installing$$missing"; export DEBIAN_FRONTEND=noninteractive; \
	{ apt-get update && apt-get install --yes --no-install-recommends $$missing; } >/dev/null 2>&1 \
	  || echo "apt-get could not install$$missing: tests that need them are left out"
