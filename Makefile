# Everything runs in a .venv of its own, made on first use; needs Python >= 3.11 only.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test test-under-load quick lowest lint format clean bench
.PHONY: newest torture virtual-soak docs licences mutation

install: .venv/.installed

.venv/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m compileall -q focus  # or each start compiles it, where Python may write none
	touch $@

demo: install  ## crawl a generated web on this machine, by three strategies
	$(BIN)/focus demo

test: install  ## every test; no network needed
	$(BIN)/python -m pytest -n auto --dist worksteal

test-under-load: install  ## beside busy processes; TESTS="-m timing" chooses
	.ci/under-load $(BIN)/python -m pytest -n auto --dist worksteal $(TESTS)

quick: install  ## the tests that take no seconds
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

lowest:  ## the quick tests, or TESTS, with the lowest versions that pyproject.toml admits
	mkdir -p build
	.ci/lowest > build/lowest.txt
	test -x build/lowest/bin/python || $(PYTHON) -m venv build/lowest
	build/lowest/bin/python -m pip install --quiet --upgrade pip
	build/lowest/bin/python -m pip install --quiet --requirement build/lowest.txt
	build/lowest/bin/python -m pip install --quiet --no-deps --editable .
	build/lowest/bin/python -m pytest -n auto --dist worksteal -m "not slow" $(TESTS)

newest:  ## the quick tests, or TESTS, with the newest versions that there are
	test -x build/newest/bin/python || $(PYTHON) -m venv build/newest
	build/newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[dev,markdown,parquet]'
	build/newest/bin/python -m pytest -n auto --dist worksteal -m "not slow" $(TESTS)

torture: install  ## minutes of kills, power cuts, full disks, stopped clocks
	$(BIN)/python -m bench.torture

docs: .venv/.docs  ## the documentation as a site, in both languages: build/docs/site/index.html
	$(BIN)/python docs/make_site.py

.venv/.docs: .venv/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

licences: .venv/.docs  ## docs/licences.md and sbom.cdx.json, after a change of dependencies
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable \
		'.[serve,apprise,cluster,documents,markdown,parquet]'
	$(BIN)/python docs/make_licences.py

mutation: build/mutation  ## change the code at random, see whether tests notice: minutes to hours
	$(BIN)/python -m bench.mutation --mutants $(or $(MUTANTS),400)

build/mutation: .venv/.installed
	$(BIN)/python -m pip install --quiet --target $@ cosmic-ray==8.7.0 coverage==7.17.5

virtual-soak: install  ## watch for a day of a virtual clock, with kills and outages
	$(BIN)/python -m bench.virtual_soak

lint: install  ## format, lint, types, layers of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Speed: `make bench` for all, `make bench-race` and so on for a part (see bench/__main__.py).
BENCH_PAGES ?= 20000
BENCH_ROUNDS ?= 3
BENCH := $(BIN)/python -m bench --pages $(BENCH_PAGES) --rounds $(BENCH_ROUNDS) \
	--peers build/bench/peers/bin/python

bench: build/bench/.installed  ## speed, beside other crawlers; about 40 minutes
	$(BENCH)

bench-%: build/bench/.installed
	$(BENCH) $*

# The other crawlers have an environment of their own; without them the table says so.
build/bench/.installed: .venv/.installed bench/peers/requirements.txt
	$(PYTHON) -m venv build/bench/peers
	build/bench/peers/bin/python -m pip install --quiet -r bench/peers/requirements.txt || \
		echo "some of the other crawlers could not be installed; the table will say so"
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
