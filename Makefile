# make run    the main job: every figure and claim of the paper, with a report in results/paper/
# make test   all tests
# make check  style, types, import directions, generated docs, the site built strictly
# make package  build the wheel, install it into empty environments, with and without extras, and use it there
# make docs   write the generated parts of the docs anew
# make site   build the site of the docs into site/: open site/index.html
# make bench  speed, as ratios to a bare loop, in one run of a quarter of an hour (a minute: make bench ARGS=--quick)
# make bench-peers  speed and regret beside other libraries, into the table of the README; about ten minutes
# make soak   1,000 random kills of the service under load, over SQLite and PostgreSQL, in at most forty minutes

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Compiled bytecode is kept, whatever the shell says: else every process that a test starts would read all sources anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test check package docs site bench bench-peers soak clean

run: $(READY)
	$(BIN)/safebandit paper

test: $(READY)
	$(BIN)/python -m pytest -q -n auto --dist worksteal

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/generate_docs.py --check
	$(BIN)/python tools/build_site.py

package: $(READY)
	$(BIN)/python tools/check_package.py $(ARGS)

docs: $(READY)
	$(BIN)/python tools/generate_docs.py

site: $(READY)
	$(BIN)/python tools/build_site.py

bench: $(READY)
	$(BIN)/python benchmarks/bench.py $(ARGS)

bench-peers: $(READY)
	cd benchmarks && ../$(BIN)/python -m peers --readme

soak: $(READY)
	cd benchmarks && ../$(BIN)/python -m servers.soak $(ARGS)

clean:
	rm -rf .venv .venv-peers results build dist site

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("safebandit needs Python 3.11 or newer; name one: make PYTHON=python3.12")'
	@echo "setting up .venv (once; half a minute or so)"
	$(PYTHON) -m venv .venv
	$(BIN)/python tools/install.py --editable '.[dev]'
	@# On all cores, and without what is not imported here; a file that is no Python, as templates are, is none the worse for it.
	@$(BIN)/python -m compileall -qq -j 0 -x '/(tests|debugpy|fontTools|jedi|mypy|mypyc|pip|pkg_resources|pygments|setuptools|wcwidth)/' .venv/lib || true
	@touch $@
