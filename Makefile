# Everything here starts from Python 3.11 or later and a C++17 compiler; the rest is installed into $(VENV).
PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?= -n 2
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check --quiet install
SOURCES = $(wildcard csrc/*.cc csrc/*.h svmcut/_native/*.pyx) pyproject.toml setup.py
# the requirements of one extra, so that adding an extra does not compile the package again
EXTRA = $(VENV)/bin/python -c 'import sys, tomllib; t = tomllib.load(open("pyproject.toml", "rb")); \
	print("\n".join(t["project"]["optional-dependencies"][sys.argv[1]]))'

.PHONY: help venv build demo test lint bench docs wheel clean
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16
	@echo "  PYTHON=$(PYTHON) and VENV=$(VENV) may be set on the command line."

$(VENV)/.created:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { echo "svmcut needs Python 3.11 or later; $(PYTHON) is not there. \
	Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "svmcut needs Python 3.11 or later; \
	$(PYTHON) is $$("$(PYTHON)" --version 2>&1). Name another: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	{ echo "svmcut needs a C++17 compiler (g++ 9 or clang++ 10 and later); none was found" >&2; exit 1; }
	@"$(PYTHON)" -m venv "$(VENV)" || { echo "$(PYTHON) -m venv failed; on Debian and Ubuntu the package \
	python3-venv is missing" >&2; exit 1; }
	@touch $@

# An editable installation: Python files count at once, and a changed C++ or Cython file compiles again here.
$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	@echo "Installing svmcut into $(VENV) (about a minute the first time) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.test $(VENV)/.lint: $(VENV)/.%: $(VENV)/.created pyproject.toml
	@$(EXTRA) $* >$@.txt
	@$(PIP) --requirement $@.txt
	@touch $@

venv: $(VENV)/.created  ## an empty virtual environment
build: $(VENV)/.installed  ## compile and install svmcut into the environment

demo: build  ## train and classify the sets in data/, and print a table
	@$(VENV)/bin/python examples/demo.py --bin $(VENV)/bin --output demo

test: build $(VENV)/.test  ## the test suite
	@$(VENV)/bin/python -m pytest $(PYTEST_ARGS)

lint: build $(VENV)/.test $(VENV)/.lint  ## ruff, import-linter and the checks of tests/test_structure.py
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/lint-imports --no-logo 2>/dev/null || $(VENV)/bin/lint-imports
	@$(VENV)/bin/python -m pytest -q tests/test_structure.py

bench: build $(VENV)/.test  ## benchmarks/linear.py on the sets in data/
	@$(VENV)/bin/python benchmarks/linear.py --quick

docs: build  ## write docs/commands.md and the man pages from the help texts
	@$(VENV)/bin/python docs/generate.py

wheel: $(VENV)/.created  ## a wheel in dist/
	@$(VENV)/bin/python -m pip --disable-pip-version-check --quiet wheel --no-deps --wheel-dir dist .
	@ls dist/*.whl

clean:  ## remove what was built; the environment goes too
	rm -rf build dist demo *.egg-info svmcut/_native/*.so .pytest_cache .hypothesis $(VENV)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
