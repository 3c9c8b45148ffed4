# Everything works from a clean clone: `make demo` and `make test` create .venv, build the package and install it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The build calls meson, ninja and cython by name: they are in .venv and nowhere else.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# The package as a user would install it: rebuilt (incrementally, in build/) when a source changes.
SOURCES := $(shell find src tools -name '*.py' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.h' -o -name '*.css' -o -name '*.js' -o -name 'meson.build') meson.build pyproject.toml

CASES ?= 20000
# Tests run on all cores, one process each: BLAS and torch would start as many threads again in every process. A file stays
# in one process, so that its fixtures are made once.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: demo test test-all test-asan fuzz lint develop docs docs-check docs-serve release-check clean

demo: $(VENV)/installed
	$(BIN)/linnaeus demo

test: $(VENV)/test-tools $(VENV)/installed lint
	$(PYTEST) -m "not slow" -n auto --dist loadfile

test-all: $(VENV)/test-tools $(VENV)/installed lint
	$(PYTEST) -n auto --dist loadfile

# As many mutations as asked for of every kind of input: make fuzz CASES=100000
fuzz: $(VENV)/test-tools $(VENV)/installed
	LINNAEUS_FUZZ_CASES=$(CASES) $(PYTEST) tests/fuzz -n auto

lint: $(VENV)/test-tools $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports

# The site, without a network; every warning is an error.
docs: $(VENV)/docs-tools $(VENV)/installed
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Links, accessibility, requests and search of the built site, in a browser.
docs-check: docs $(VENV)/test-tools
	$(BIN)/python tools/site_check.py

docs-serve: docs
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory docs/_build/html 8080

# Everything of a release but the upload: a reproducible sdist, a wheel from it, their contents, an environment without a
# compiler, a bill of materials.
release-check: $(VENV)/release-tools
	$(BIN)/python tools/release_check.py --output dist

# The kernels compiled with AddressSanitizer and UndefinedBehaviorSanitizer, in a build folder of their own; the package
# made from them shadows the installed one. libstdc++ has to be there before SciPy throws its first exception.
ASAN_LIBRARIES = $(foreach library,libasan.so libubsan.so libstdc++.so,$(shell $(CC) -print-file-name=$(library)))

test-asan: $(VENV)/test-tools $(VENV)/installed
	test -d build-asan/meson-info || $(BIN)/meson setup build-asan -Dbuildtype=debugoptimized \
	  -Db_sanitize=address,undefined -Db_lundef=false
	$(BIN)/ninja -C build-asan
	rm -rf build-asan/package && mkdir build-asan/package && cp -r src/linnaeus build-asan/package
	rm -f build-asan/package/linnaeus/_kernels/*.so
	cp build-asan/src/linnaeus/_kernels/*.so build-asan/package/linnaeus/_kernels
	LD_PRELOAD="$(ASAN_LIBRARIES)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  PYTHONPATH=build-asan/package $(BIN)/python -m pytest -m "not slow" tests/kernels tests/fuzz

$(VENV)/build-tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -q --group build
	touch $@

$(VENV)/test-tools: $(VENV)/build-tools
	$(BIN)/python -m pip install -q --group test
	touch $@

$(VENV)/docs-tools: $(VENV)/build-tools
	$(BIN)/python -m pip install -q --group docs
	touch $@

$(VENV)/release-tools: $(VENV)/build-tools
	$(BIN)/python -m pip install -q --group release
	touch $@

$(VENV)/installed: $(VENV)/build-tools $(SOURCES)
	$(BIN)/python -m pip install -q --no-build-isolation -Cbuild-dir=build .
	touch $@

# For working on Python files: the compiled kernels beside their sources, then run with PYTHONPATH=src.
develop: $(VENV)/installed
	cp build/src/linnaeus/_kernels/*.so src/linnaeus/_kernels/

clean:
	rm -rf $(VENV) build build-asan dist docs/_build docs/reference
