# `make help` lists the targets. Each installs what it is missing on Debian 12 (as root or through
# sudo), says what it does, and is quick the second time.
SHELL := /bin/bash
BUILD := build
QUIET := $(if $(CI),--quiet)
.DEFAULT_GOAL := help
.PHONY: help up build test kube e2e bench fmt tidy clean configure

help:                        ## this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## /{printf "make %-8s%s\n", $$1, $$2}' Makefile

up: build                    ## three simulated engines, a router and a first answer on 127.0.0.1:18080
	@exec $(BUILD)/fairlead up $(UP_FLAGS)

build: configure             ## the release binary, build/fairlead
	@echo "building $(BUILD)/fairlead"
	@ninja -C $(BUILD) $(QUIET) fairlead

test: configure              ## build, unit, property and simulation tests, fuzz corpora, `make kube` if Go is here
	@echo "building the libraries and their tests"
	@ninja -C $(BUILD) $(QUIET) all
	@$(if $(CI),,tools/kube/control-plane build --if-possible)
	@tools/test $(BUILD)

kube: configure              ## the client against a real Kubernetes control plane, which Go builds once
	@tools/kube/control-plane build
	@ninja -C $(BUILD) $(QUIET) kube_api_test
	@tools/test $(BUILD) --only kube_api

e2e: build                   ## OpenAI SDKs, captured exchanges and faults against the release binary
	@tools/install e2e
	@tests/e2e/run

bench: build                 ## CPU and latency of router and engine beside nginx, in one run
	@tools/install bench
	@ninja -C $(BUILD) --quiet benches
	@bench/run $(BENCH_FLAGS)

fmt:                         ## format all C++ in place
	@tools/install lint
	@tools/lint --fix-format

tidy:                        ## source-tree checks, formatting, clang-tidy on changed files (ALL=1: on all)
	@tools/install build lint
	@tools/tidy
	@tools/lint $(if $(ALL),--all)

clean:                       ## remove the build folders
	rm -rf build build-asan build-tsan build-lint build-rust tests/e2e/.venv tests/e2e/node_modules

configure:
	@tools/install build
	@test -f $(BUILD)/build.ninja || { echo "configuring $(BUILD) (release)"; \
	  cmake --preset release -B $(BUILD) >/dev/null; }
