# Everything happens in .venv, which these targets make when they need it. Wanted of the machine: Python >= 3.11
# with venv, g++ and make. The files .venv/.* are stamps: what they stand for is done unless a source is newer.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WITH_BIN := PATH="$(CURDIR)/$(BIN):$$PATH"

# pip that says what it is at. Kernels for what this machine has not are compiled by sanitize-address alone.
SAY := $(PYTHON) tools/progress.py build/install.log
PIP_SAYS := $(SAY) $(BIN)/python -m pip install --verbose --disable-pip-version-check
DEVELOPER := TB_DEVELOPER=ON;TB_ISAS=native

# Requirements out of pyproject.toml: $(call wants,['build-system']['requires'])
wants = $$($(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))$(1))")

CPP := $(shell find cpp -name '*.?pp')
CORE := CMakeLists.txt $(CPP)

# A second environment, for `make lowest`. The tests that scikit-learn ships are left out there: those of an old version
# compare with its own conventions of that time, and with what an old scipy rounds. So is one that lets no warning pass:
# an old matplotlib is warned by a new pyparsing.
LOW := build/lowest
JOBS ?= 2
SECONDS ?= 60
LOW_TESTS := tests/contract tests/cli/test_commands.py tests/cli/test_text_tables.py tests/cli/test_table_writer.py tests/cli/test_program.py \
  tests/cli/test_terminal.py tests/hostile/test_cli_tables.py tests/io/test_model_file.py tests/plots

.PHONY: help demo gallery docs commands test test-slow test-engines unit lines test-web test-kills lowest fuzz bench bench-quick bench-large bench-spark
.PHONY: bench-growth bench-accuracy bench-streams bench-forgetting lint clean wheel clang
.PHONY: sanitize sanitize-address sanitize-thread sanitize-python

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

# Whoever has built the package already gets the tour with that.
demo: $(if $(wildcard .venv/.package),.venv/.package,.venv/.demo) ## the tour: examples/demo.py, and the family compared on the census table
	@echo "Ready: the tour."
	@$(BIN)/python examples/demo.py
	$(BIN)/tallybayes compare src/tallybayes/datasets/census.csv.gz --target target

gallery: .venv/.package ## draw the pictures of docs/ anew: examples/gallery.py
	$(BIN)/python examples/gallery.py

test: lint unit sanitize-address ## lint, the Python tests, the C++ tests under address and undefined-behaviour sanitizers

unit: .venv/.package .venv/.web ## the Python tests only
	$(BIN)/python -m pytest -n 2

lines: .venv/.package .venv/.web ## the Python tests, and which lines of Python no test runs
	$(BIN)/python tools/lines.py -n 2

test-slow: .venv/.package .venv/.web sanitize-thread ## all examples and grids of the Python tests; ThreadSanitizer over all C++ tests
	TALLYBAYES_THOROUGH=1 $(BIN)/python -m pytest -n 2

test-web: .venv/.package .venv/.web ## the pages in a real browser; installs Chromium, if it may
	TALLYBAYES_WEB=1 $(BIN)/python -m pytest tests/web tests/serve/test_page.py tests/reports/test_reports.py

test-engines: .venv/.engines ## what needs a server, started for real: PostgreSQL, Spark (local, a cluster, Connect)
	TALLYBAYES_ENGINES=1 $(BIN)/python -m pytest -n 2 tests/engines tests/serve/test_postgres.py

test-kills: .venv/.package ## a service that learns, killed under load; KILLS=200
	$(BIN)/python -m tests.serve.kills $(or $(KILLS),200)

lowest: .venv/.tools ## the contract and the command line on the lowest versions that pyproject.toml allows
	rm -rf $(LOW)
	$(PYTHON) -m venv $(LOW)
	$(LOW)/bin/python -m pip install --quiet --disable-pip-version-check ninja $$($(BIN)/python tests/lowest.py)
	@cmake -P .venv/wanted.cmake 2>/dev/null || $(LOW)/bin/python -m pip install --quiet cmake
	PATH="$(CURDIR)/$(LOW)/bin:$$PATH" SKBUILD_CMAKE_DEFINE="$(DEVELOPER)" $(LOW)/bin/python -m pip install --quiet \
	  --disable-pip-version-check --no-deps --no-build-isolation --config-settings=build-dir=build/lowest-core .
	$(LOW)/bin/python -m pytest -n $(JOBS) $(LOW_TESTS) \
	  --deselect tests/contract/test_sklearn_shipped.py::test_shipped_tests_pass \
	  --deselect tests/plots/test_display.py::test_nothing_global_changes

fuzz: .venv/.package ## a minute of random calls, a minute of model files made to break load; SECONDS=60
	$(BIN)/python -m tests.hostile.fuzz_api $(SECONDS)
	-@$(PIP) $(call wants,['project']['optional-dependencies']['fuzz']) # without it: seeded mutations
	$(BIN)/python -m tests.hostile.fuzz $(SECONDS)

wheel: ## sdist and wheels in dist/, tried on every Python there is; CXX=… for another compiler than g++
	CXX="$(if $(filter default,$(origin CXX)),,$(CXX))" $(PYTHON) tools/wheels.py

clang: .venv/.tools ## the C++ tests compiled with Clang, warnings as errors; installs Clang, if it may
	@command -v clang++ >/dev/null || { apt-get -qq update && apt-get -qq install -y clang; }
	$(WITH_BIN) cmake -S . -B build/clang -G Ninja -DTB_TESTS=ON -DTB_QUICK=ON -DCMAKE_CXX_COMPILER=clang++ \
	  -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja"
	$(WITH_BIN) cmake --build build/clang
	build/clang/tb_test

bench: .venv/.bench ## speed and memory beside peers; several minutes
	$(BIN)/python -m bench

bench-quick: .venv/.bench ## the same on a tenth of the rows; some minutes
	$(BIN)/python -m bench --quick

bench-growth: .venv/.bench ## how cost grows with rows, columns, classes, levels, gaps; the lists of cliffs; ARGS="--quick"
	$(BIN)/python -m bench.growth $(ARGS)

bench-accuracy: .venv/.bench ## accuracy and calibration beside peers; DATA=folder of *.parquet, ARGS="--models …"
	$(BIN)/python -m bench.accuracy $(if $(DATA),--data "$(DATA)") $(ARGS)

bench-forgetting: .venv/.bench ## what forgetting costs and leaves, beside refits and SISA of LightGBM; DATA=folder, ARGS="--rows 4000"
	$(BIN)/python -m bench.forgetting $(if $(DATA),--data "$(DATA)") $(ARGS)

bench-streams: .venv/.bench ## prequential accuracy, log-loss and time on streams, beside river and LightGBM; DATA=folder of *.npz, ARGS="--rows 20000"
	$(BIN)/python -m bench.streams $(if $(DATA),--data "$(DATA)") $(ARGS)

bench-large: .venv/.bench ## Parquet larger than memory: learn_from beside a scan of pyarrow; ROWS=100000000
	$(BIN)/python -m bench.large $(or $(ROWS),100000000)

bench-spark: .venv/.engines ## Spark: a fit beside that of pyspark.ml; what a row, a partition and a merge cost
	$(BIN)/python -m bench.spark

docs: commands .venv/.docs ## this documentation as a site, with its pictures and examples: build/docs/index.html
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs build/docs
	@echo "The site is at build/docs/index.html"

commands: .venv/.package ## the page of the commands, from the commands: docs/commands.md
	$(BIN)/python docs/generate_commands.py

lint: .venv/.package ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports

sanitize: sanitize-address sanitize-thread ## the C++ tests under sanitizers: addresses and undefined behaviour, then threads

# Sets that this machine cannot run are not compiled: no test would call them. Races are between calls of kernels, not
# within one: one instruction set is enough for threads.
ISAS_address := native
ISAS_thread := base
# ThreadSanitizer gives up on threads after a fork unless told not to; one test forks.
sanitize-address sanitize-thread: sanitize-%: .venv/.tools
	$(WITH_BIN) cmake -S . -B build/sanitize-$* -G Ninja -DTB_TESTS=ON -DTB_SANITIZE=$* -DTB_ISAS=$(ISAS_$*) \
	  -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja"
	$(WITH_BIN) cmake --build build/sanitize-$*
	TSAN_OPTIONS="die_after_fork=0 halt_on_error=1" build/sanitize-$*/tb_test

# A module of its own beside a copy of the sources; python -S knows nothing of the editable install, which would be found
# first. libstdc++ comes with the sanitizer, which else meets exceptions before it knows who throws them.
ASAN := build/sanitize-python
sanitize-python: .venv/.package ## the hostile tests with the module under AddressSanitizer; HOSTILE=path for others
	$(WITH_BIN) cmake -S . -B $(ASAN) -G Ninja -DTB_DEVELOPER=ON -DTB_SANITIZE=address \
	  -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
	$(WITH_BIN) cmake --build $(ASAN) --target _core
	rm -rf $(ASAN)/site
	cp -r src $(ASAN)/site
	cp $(ASAN)/_core.*so src/tallybayes/_core.pyi $(ASAN)/site/tallybayes/
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	  PYTHONPATH="$(CURDIR)/$(ASAN)/site:$$(echo $(CURDIR)/.venv/lib/python*/site-packages)" \
	  $(BIN)/python -S -m pytest -p no:cacheprovider -p no:xdist $(or $(HOSTILE),tests/hostile)

clean: ## remove all that these targets made
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -f src/tallybayes/_core.pyi bench/results*.json
	rm -rf bench/results*.rows docs/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@echo "Making .venv, where all of it happens"
	@$(PYTHON) -m venv .venv

# What building takes. CMake comes from the system if that is new enough.
.venv/.tools: pyproject.toml | $(BIN)/python
	@echo "Tools to build with"
	@$(PIP_SAYS) ninja $(call wants,['build-system']['requires'])
	@grep cmake_minimum_required CMakeLists.txt > .venv/wanted.cmake
	@cmake -P .venv/wanted.cmake 2>/dev/null || $(PIP) cmake
	@touch $@

# An editable install: edits and new files in src/ need nothing; an edit in cpp/ compiles what it touches.
# The stub of the compiled module is copied beside the sources, where mypy looks.
.venv/.package: .venv/.tools $(CORE)
	@echo "The package, and what its tests need"
	@SKBUILD_CMAKE_DEFINE="$(DEVELOPER)" $(PIP_SAYS) --no-build-isolation --editable '.[test]'
	@cp $(BIN)/../lib/python*/site-packages/tallybayes/_core.pyi src/tallybayes/
	@touch $@

# For a first look: what the tour needs and no more, compiled in less time.
.venv/.demo: .venv/.tools $(CORE)
	@echo "The package, compiled for this machine"
	@SKBUILD_CMAKE_DEFINE="TB_QUICK=ON;TB_ISAS=single" $(PIP_SAYS) --no-compile --no-build-isolation \
	  --config-settings=build-dir=build/demo '.[cli]'
	@touch $@

# What drives the browser, and the browser itself, of the system: only root may install that. Tests say if it is not there.
.venv/.web: .venv/.package
	$(PIP) $(call wants,['project']['optional-dependencies']['web'])
	@command -v chromium chromium-browser google-chrome >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get -qq -o Acquire::Retries=3 update && apt-get -qq -o Acquire::Retries=3 install -y chromium; } \
	  || echo "No Chromium, and it cannot be installed: the tests of pages are skipped."
	@touch $@

.venv/.docs: .venv/.package
	$(PIP) $(call wants,['project']['optional-dependencies']['docs'])
	@touch $@

.venv/.engines: .venv/.package
	$(PIP) $(call wants,['project']['optional-dependencies']['engines']) || echo "NOT INSTALLED: the tests of it are skipped"
	@command -v java >/dev/null || { apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless; } || echo "NO JAVA: the tests of Spark are skipped"
	@touch $@

.venv/.bench: .venv/.package
	$(PIP) $(call wants,['project']['optional-dependencies']['bench'])
	@touch $@
