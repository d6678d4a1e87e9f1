# Two commands do everything on a fresh Debian machine: `make demo` and `make test`.
# The rest is for developers; `make help` lists it.
.PHONY: help setup build demo test test-full bench lint fuzz faults mutants soak ray wheel torch test-web clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 19

setup:  ## install what is missing (Debian packages, a Python environment in .venv)
	@scripts/setup

build: setup  ## the optimised binary at build/release/tessera
	@scripts/unity build/release
	@test -f build/release/build.ninja || cmake --preset release
	@cmake --build --preset release -j "$$(nproc)" --target tessera

demo: build  ## a real network through Tessera, from import to report
	@scripts/demo

test: setup  ## fast lint, every test, the examples of the docs, a choice of tests under sanitizers
	@scripts/test

test-full: export TESSERA_THOROUGH = 1
test-full: test lint mutants fuzz faults soak ray wheel torch test-web  ## all of it: every random case, clang-tidy, mutants, fuzzers, faults, sanitizers

test-web: build  ## all pages of `tessera report` and `tessera serve` in Chromium
	@scripts/test-web

bench: build  ## benchmarks: ratios against a baseline of the same run
	@scripts/bench

lint:  ## formatting, clang-tidy and the repository's own rules
	@scripts/setup --dev
	@scripts/lint

fuzz:  ## each parser under libFuzzer for a minute (FUZZ_SECONDS=60)
	@scripts/setup --dev
	@scripts/fuzz

faults: build  ## every command through kills, full disks, closed streams, signals, little memory, damage
	@cmake --build --preset release --target tessera_faults
	@tests/faults/run build/release/tessera build/release/tests/libtessera_faults.so

ray: build  ## a study on a Ray cluster of two nodes, a worker and a node killed: the same bytes
	@scripts/check-ray build/release/tessera

wheel: build  ## sdist and wheel as users get them: isolated build, audits, clean environments
	@scripts/check-wheel

torch: build  ## agents trained here act in PyTorch, exported language models have their MACs (3 GB from PyPI)
	@scripts/check-torch
	@scripts/check-exports

mutants: setup  ## takes single rules out of model loopnest and checks that the tests notice
	@scripts/mutants

soak:  ## every test under address, undefined-behaviour and thread sanitizers, and with clang
	@scripts/setup --dev
	@scripts/soak

clean:  ## remove build outputs; .venv stays
	rm -rf build demo
