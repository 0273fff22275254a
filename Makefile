# Two commands do everything on a fresh machine (python3 >= 3.11 and make):
#   make demo   set up, run the main job on the shipped cases, print what it found
#   make test   set up, lint, check types, check generated pages, run the tests
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test fast docs site lint types bench clean

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wayproof needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

CASES := fixtures/first_wave/engine_room_navigation_fitness_benchmark/input

demo: $(VENV)/.installed
	rm -rf demo && mkdir demo
	$(BIN)/wayproof fitness evaluate-fixtures --input $(CASES)
	$(BIN)/wayproof fitness export-cases --input $(CASES) --out demo/cases
	$(BIN)/wayproof fitness score --tasks demo/cases/tasks.jsonl --packets demo/cases/packets.jsonl --out demo/fitness
	$(BIN)/wayproof recovery run --out demo/recovery
	$(BIN)/wayproof verify demo/recovery
	$(BIN)/wayproof report demo/fitness demo/recovery --out demo/report
	@echo
	@echo "Both halves on one page; open it in a browser: demo/report/index.html"

test: $(VENV)/.installed lint types
	$(BIN)/python tools/docs.py --check
	$(BIN)/python -m pytest -n auto -rs

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd src && ../$(BIN)/lint-imports --no-cache --no-logo ../pyproject.toml

types: $(VENV)/.installed
	$(BIN)/mypy

fast: $(VENV)/.installed
	$(BIN)/python -m pytest -n auto -m "not slow"

docs: $(VENV)/.installed
	$(BIN)/python tools/docs.py
	$(BIN)/python tools/examples.py

site: $(VENV)/.installed
	$(BIN)/python tools/docs.py
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -c docs/site -b html . build/site
	@echo "site: build/site/index.html"

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/fitness_speed.py
	$(BIN)/python benchmarks/python_speed.py
	$(BIN)/python benchmarks/recovery_speed.py
	$(BIN)/python benchmarks/report_speed.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis
