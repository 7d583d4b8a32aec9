# Everything runs in a .venv of its own, made on first use; needs Python >= 3.11 only.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test quick lint format clean

install: .venv/.installed

.venv/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: install  ## crawl a generated web on this machine, by two strategies
	$(BIN)/focus demo

test: install  ## every test; no network needed
	$(BIN)/python -m pytest -n auto

quick: install  ## the tests that take no seconds
	$(BIN)/python -m pytest -n auto -m "not slow"

lint: install  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
