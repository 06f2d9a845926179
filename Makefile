# The commands for developers. Every target builds what it needs, and prints a message if that takes long.

# The folder and the program that start the control plane, the emulator and Mooring, as in the tests.
TARGET := $(or $(CARGO_TARGET_DIR),target)
DEV := $(TARGET)/debug/mooring-dev
# The folder of the optimised model and simulation.
CHECK := $(TARGET)/optimised/

# All test binaries except the end-to-end one, which starts clusters and runs separately.
FILES := $(wildcard tests/*.rs plan/tests/*.rs tests/*/tests/*.rs)
FOLDERS := $(wildcard tests/*/main.rs plan/tests/*/main.rs tests/*/tests/*/main.rs)
TESTS := $(filter-out e2e,$(sort $(notdir $(basename $(FILES)) $(patsubst %/main.rs,%,$(FOLDERS)))))
E2E := $(wildcard tests/e2e/main.rs)
MOTO := $(wildcard tests/ec2-emulator/moto/requirements.txt)

.DEFAULT_GOAL := help
.PHONY: help need need-demo tools control-plane moto build demo up down fmt lint bench test test-fast fast-tests \
  tests-to-build checkers checkers-to-build e2e verify advisories release sbom planted-bugs mutants crds clean

help:
	@echo 'make demo      start everything, show what Mooring does, stop everything'
	@echo 'make up        start everything and leave it running; then: . target/dev/env'
	@echo 'make down      stop what `make up` started'
	@echo 'make test      check the format, run lints and every test (its parts: test-fast, checkers, e2e)'
	@echo 'make verify    run the checks that take longer; only some of them: make verify SLICES="properties demo webhook"'
	@echo 'make mutants   change plan in one place at a time, and fail unless its tests fail (about half an hour)'
	@echo 'make planted-bugs  plant mistakes, and fail unless the checkers find them'
	@echo 'make bench     measure the release binary; once it is built, QUICK=1 takes about 3 minutes'
	@echo 'make release   build the static release binary, and run it in an empty root'
	@echo 'make sbom      write target/mooring.cdx.json, the list of libraries in the binary'
	@echo 'make advisories  ask the RustSec database about every library (needs the network)'
	@echo 'make crds      generate config/crd from the code'
	@echo 'make fmt lint  format; lint'
	@echo 'make tools     build the control plane, install moto'
	@echo 'make clean     stop everything and delete all build output'

need:
	@.ci/need

need-demo:
	@.ci/need demo

tools: control-plane moto

control-plane: need
	@tests/control-plane/build.sh

# moto checks the emulator of EC2: a test has the same conversation with both.
moto: need
ifneq ($(MOTO),)
	@if ! cmp -s $(MOTO) target/moto/requirements.txt; then \
	  echo 'installing moto: about half a minute, once'; \
	  rm -rf target/moto && python3 -m venv target/moto && \
	  target/moto/bin/pip install --quiet --disable-pip-version-check -r $(MOTO) && \
	  cp $(MOTO) target/moto/requirements.txt; \
	fi
endif

build: need-demo
	@[ -x $(DEV) ] || echo 'building Mooring, the emulator and what starts them: about 8 minutes on two cores, once'
	cargo build --workspace --bin mooring --bin mooring-dev --bin ec2-emulator

demo: need-demo
	@tests/control-plane/build.sh kubernetes
	@$(MAKE) --no-print-directory build
	@$(DEV) demo

up: need-demo
	@tests/control-plane/build.sh kubernetes
	@$(MAKE) --no-print-directory build
	@$(DEV) up

down:
	@[ ! -x $(DEV) ] || $(DEV) down

fmt:
	cargo fmt --all

lint: need
	cargo fmt --all --check
	@.ci/timed lint cargo clippy --workspace --all-targets -- --deny warnings
	.ci/deny bans licenses sources

# Checks the dependencies for known vulnerabilities. A separate target, because it needs the network.
advisories: need
	.ci/deny advisories

release: need
	@.ci/release

sbom: need
	@.ci/sbom

# The tests mostly wait. The checkers run at the same time, with low priority (nice).
test: lint tests-to-build checkers-to-build
	@nice $(MAKE) --no-print-directory checkers & checkers=$$!; \
	  $(MAKE) --no-print-directory fast-tests && $(MAKE) --no-print-directory e2e; tests=$$?; \
	  wait $$checkers && exit $$tests
	@.ci/timed

test-fast: lint fast-tests

tests-to-build: tools build
	@.ci/timed 'tests to build' cargo test --workspace --no-run

fast-tests: tests-to-build
	@.ci/timed 'fast tests' .ci/fast-tests $(TESTS)
	@.ci/timed 'examples in docs' cargo test --workspace --doc

e2e: tools build
ifneq ($(E2E),)
	@.ci/timed 'end to end' cargo test --workspace --test e2e
endif

# Built separately, because they are optimised.
checkers-to-build: need
	@.ci/timed 'checkers to build' cargo build --profile optimised --package mooring-model --package mooring-simulation

# The model's quick configurations, and some seeds of the simulation. What uses one core only comes early.
checkers: checkers-to-build
	@.ci/timed model $(CHECK)mooring-model --quick
	@.ci/timed 'simulation: many' $(CHECK)mooring-simulation --seeds 1 --twice 0 --scenario many
	@.ci/timed 'simulation: succession' $(CHECK)mooring-simulation --seeds 10 --twice 2 --scenario succession
	@.ci/timed 'simulation: late' $(CHECK)mooring-simulation --seeds 10 --twice 2 --scenario late
	@.ci/timed 'simulation: ended' $(CHECK)mooring-simulation --seeds 10 --twice 2 --scenario ended
	@.ci/timed 'simulation: retries' $(CHECK)mooring-simulation --seeds 4 --twice 1 --scenario retries
	@.ci/timed simulation $(CHECK)mooring-simulation --seeds 100 --twice 25

verify: tools build
	@.ci/verify $(SLICES)

# The machine must be idle.
bench: tools build
	@.ci/bench $(if $(QUICK),quick,full)

planted-bugs: tools build
	@.ci/planted-bugs $(BUGS)

mutants: need
	@.ci/mutants $(MUTATED)

crds:
	MOORING_WRITE_CRDS=1 cargo test --workspace --test crds the_files_are_what_mooring_crds_prints

clean: down
	cargo clean
