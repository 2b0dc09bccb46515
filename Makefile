# Two commands for a fresh machine with git, make and Python 3.11 or newer:
#   make demo     answer a question with its source, and say which splitter finds more answers
#   make test     run all tests
# `make help` lists the others.

PYTHON ?= python3
DOC ?= examples/corpus/ferry.pdf
ifeq ($(origin ASK)$(DOC),undefinedexamples/corpus/ferry.pdf)
ASK := When do quiet hours begin?
endif
ifeq ($(DOC),examples/corpus/ferry.pdf)
QUESTIONS ?= examples/corpus/ferry_questions.csv
endif
# As typed: a dollar sign in the name of a file or in a question is a dollar sign. For the recipe of
# demo alone: what else runs make, as a test does, starts from nothing.
demo: override export DOC := $(value DOC)
demo: override export ASK := $(value ASK)
demo: override export QUESTIONS := $(value QUESTIONS)

# Certificates of this machine, as pip uses them: company networks add their own.
export UV_SYSTEM_CERTS ?= 1

# Tests start hundreds of processes, which would each compile again what they import.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
# Versions and hashes come from constraints.txt; the package index is the one pip is set up for.
INDEX := $(or $(UV_DEFAULT_INDEX),$(PIP_INDEX_URL),$(shell $(PYTHON) -m pip config get global.index-url 2>/dev/null))
ifneq ($(INDEX),)
export UV_DEFAULT_INDEX := $(INDEX)
endif
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt
RUNTIME := pdfium,docx,html,firecrawl,qdrant,openai,evaluate,fast
PINS := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo app quick test test-deep test-compat test-lowest test-newest harden bench check format lock wheel readme docs clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# What is installed and how much it is, said before: $(1) for what, $(2) MB to fetch, $(3) on disk.
say = @echo "Installing rag-nodes $(1) into .venv: about $(2) MB to download, $(3) MB on disk. Once."

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python3.12 ..." >&2; exit 5; }
	@echo "Making the environment .venv with uv, which installs the rest: about 20 MB to download. Once."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.8"

.venv/installed-demo: $(BIN)/uv $(PINS)
	$(call say,with readers and an embedded Qdrant (110 packages),200,540)
	$(INSTALL) --editable '.[$(RUNTIME)]'
	@touch $@

.venv/installed-app: $(BIN)/uv $(PINS)
	$(call say,with the app and its packages,260,720)
	$(INSTALL) --editable '.[$(RUNTIME),app]'
	@touch $@

.venv/installed-dev: $(BIN)/uv $(PINS)
	$(call say,with all that develops and tests it,490,1400)
	$(INSTALL) --editable '.[$(RUNTIME),app,fastembed]' --group dev
	@touch $@

demo: .venv/installed-demo ## a cited answer and a verdict; make demo DOC=your.pdf ASK="your question" VERBOSE=1
	@test -n "$$ASK" || { echo 'Missing question. Usage: make demo DOC=your.pdf ASK="your question"' >&2; exit 2; }
	@$(BIN)/python scripts/demo.py "$$DOC" --ask "$$ASK" --questions "$$QUESTIONS" $(if $(VERBOSE),--verbose)

app: .venv/installed-app ## open the app in a browser
	@$(BIN)/rag-nodes app

quick: .venv/installed-dev ## run the laws on a few examples, and the unit tests
	$(BIN)/pytest --quick -n 2 --dist loadfile --max-worker-restart 0 tests

test: .venv/installed-dev ## run all tests
	$(BIN)/pytest -n 4 --dist loadfile --max-worker-restart 0

check: .venv/installed-dev ## lint, format, types, architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/installed-dev ## speed of our parsers next to their peers, as ratios
	$(INSTALL) --group bench
	$(BIN)/python benchmarks/parsers.py --runs 2
	$(BIN)/python benchmarks/nodes.py
	$(BIN)/python benchmarks/growth.py --sizes 2 10
	$(BIN)/python benchmarks/pathological.py --size 1 --deadline 20
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/report.py

test-deep: .venv/installed-dev ## the laws over thousands of generated documents
	HYPOTHESIS_PROFILE=deep $(BIN)/pytest tests/parsers tests/text

harden: .venv/installed-dev ## the long forms of docs/security.md: kills, faults, users, generated input; hours
	HYPOTHESIS_PROFILE=deep $(BIN)/pytest tests/hardening tests/parsers tests/text tests/readers tests/query tests/evaluation
	$(BIN)/python benchmarks/kills.py --kills 100
	$(BIN)/python benchmarks/kills.py --kills 100 --engine workers
	$(BIN)/python benchmarks/pathological.py --size 10 --deadline 60
	$(BIN)/python benchmarks/endurance.py
	$(BIN)/python benchmarks/visitors.py --visitors 20 --minutes 30

# A core of LlamaIndex beside the installed one: $(1) is how uv resolves what pyproject.toml asks for.
CORE = $(shell sed -n 's/.*"\(llama-index-core>=[^"]*\)".*/\1/p' pyproject.toml)
CORE_VERSION := -c 'import llama_index.core as core; print(core.__version__)'
install_core = $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --reinstall \
	--resolution $(1) --target artefacts/core-$(1) "$(CORE)"
with_core = PYTHONPATH=artefacts/core-$(1) $(BIN)
test_core = $(call with_core,$(1))/python $(CORE_VERSION) && \
	$(call with_core,$(1))/pytest -q -n 2 tests/llamaindex

test-compat: .venv/installed-dev ## LlamaIndex's components on its oldest supported core and the newest
	@$(call install_core,lowest-direct) && $(call test_core,lowest-direct)
	@$(call install_core,highest) && $(call test_core,highest)

test-newest: .venv/installed-dev ## the same on the newest core, where it is newer than the pinned one
	@$(call install_core,highest)
	@installed=$$($(BIN)/python $(CORE_VERSION)); \
	newest=$$($(call with_core,highest)/python $(CORE_VERSION)); \
	echo "llama-index-core: $$installed pinned, $$newest the newest that is supported"; \
	if [ "$$installed" != "$$newest" ]; then $(call test_core,highest); fi

LOWEST := artefacts/lowest/bin/python
test-lowest: $(BIN)/uv ## command line and server with the lowest versions that pyproject.toml allows, on Python 3.11
	$(BIN)/uv venv --quiet --clear --python 3.11 artefacts/lowest
	$(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct -r pyproject.toml \
		--extra app --extra pdfium "pytest>=9.0" "pytest-asyncio>=1.3" "hypothesis>=6.150" "sybil>=9.2" \
		"playwright>=1.55"
	$(BIN)/uv pip install --quiet --python $(LOWEST) --no-deps --reinstall .
	$(LOWEST) -m pytest -q -W ignore::DeprecationWarning tests/cli/test_cli_recommend.py \
		tests/server/test_app_server.py tests/apps/test_render_markdown.py

format: .venv/installed-dev ## format and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python scripts/docs/make_tables.py
	$(BIN)/python scripts/docs/make_cli.py
	$(BIN)/python scripts/docs/make_rest.py
	$(BIN)/python scripts/docs/make_requirements.py

lock: $(BIN)/uv ## compile constraints.txt from pyproject.toml
	$(BIN)/uv pip compile --quiet pyproject.toml --all-extras --group dev --group bench --universal \
		--python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade \
		--output-file constraints.txt

# Packages that carry our classes under LlamaIndex's namespace.
INTEGRATIONS := parsers postprocessors
wheel: $(BIN)/uv ## build all wheels in dist/, and try them in an environment of their own
	rm -rf dist
	set -e; for package in . $(INTEGRATIONS); do \
		$(BIN)/uv build --quiet --wheel --out-dir dist $$package; done
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python artefacts/wheel
	$(BIN)/uv pip install --quiet --python artefacts/wheel/bin/python --constraint constraints.txt \
		"$$(echo dist/rag_nodes-*.whl)[qdrant]" dist/llama_index_*.whl
	artefacts/wheel/bin/rag-nodes compare examples/corpus/manual.md --ask "How do I start?"
	artefacts/wheel/bin/python -c 'from llama_index.node_parser.rag_nodes import *; AutoNodeParser()'
	artefacts/wheel/bin/python -c 'from llama_index.postprocessor.rag_nodes import *; SentencePostprocessor()'

readme: $(BIN)/uv ## run what the README shows, in an environment that its install line makes
	$(BIN)/python scripts/docs/run_readme.py

docs: .venv/installed-dev ## build the site in site/; a dead link or an unknown name fails
	$(BIN)/zensical build --strict --clean

clean: ## remove the environment and everything generated
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache artefacts dist site
