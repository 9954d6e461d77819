# Two commands: `make run` and `make test`. Each sets up what it needs, once.
PYTHON ?= python3
PORT ?= 8501
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: run serve test check browser bench bench-ui bench-load bench-memory bench-real bench-writing models docs notebooks clean bench-sizes

run: $(VENV)/run.stamp
	$(BIN)/streamlit run app.py --server.port $(PORT)

serve: $(VENV)/run.stamp
	$(BIN)/python deploy/serve.py --workers $(WORKERS) --port $(PORT)

test: $(VENV)/test.stamp check browser

check: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	# mypy runs beside the tests; what it says stands below them.
	$(BIN)/mypy > $(VENV)/mypy.txt 2>&1 & types=$$!; \
	$(BIN)/pytest -q --ignore=tests/browser -n 2 --dist loadfile; tests=$$?; \
	wait $$types; types=$$?; cat $(VENV)/mypy.txt; exit $$((tests + types))

browser: $(VENV)/test.stamp
	$(BIN)/python -m tests.browser.find_browser --install
	$(BIN)/pytest -q tests/browser -n 2 --dist loadfile

bench: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.core

bench-sizes: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.sizes

bench-ui: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.ui

bench-load: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.load --readers 1 10 30 --workers 2 --heavy

bench-memory: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.memory

bench-real: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.real
	$(BIN)/python -m benchmarks.writing --model SmolLM2-135M-Instruct
	$(BIN)/python -m benchmarks.real_page

models: $(VENV)/run.stamp
	$(BIN)/python -m mha_core.real.fetch

bench-writing: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.writing $(if $(MODEL),--model $(MODEL))

docs: $(VENV)/test.stamp
	PYTHONPATH=. $(BIN)/python docs/site/build.py build/site

notebooks: $(VENV)/test.stamp
	$(BIN)/python -m tests.browser.find_browser --install
	$(BIN)/python -m tests.notebooks

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Twelve Heads needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make run PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements.txt | $(VENV)/bin/pip
	$(BIN)/pip install --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/test.stamp: requirements-dev.txt requirements.txt | $(VENV)/bin/pip
	$(BIN)/pip install --disable-pip-version-check -r requirements-dev.txt
	@touch $@ $(VENV)/run.stamp

clean:
	rm -rf build $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
