PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test check docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## run the main job on real input
	$(VENV)/bin/python examples/demo.py

test: $(INSTALLED) ## run the tests
	$(VENV)/bin/python -m pytest

check: ## do all that CI does
	bash .ci/run

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
