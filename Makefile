# make test     everything that must pass before a change lands; installs what it needs
# make build    fairlane with every feature, and aqmrun, as they are shipped, into target/dist; after make web with the playground
# make wheel    the Python package, with the program in it, into target/wheels; GLIBC=2.28 makes it for any Linux with that or a newer one
# make static   both without shared libraries, into target/static
# make capi     libfairlane for C, into target/dist; make install-capi PREFIX=/usr/local installs it
# make small    the same as small as it gets, into target/small; FAMILIES="red choke" leaves the other disciplines out
# make packages .deb and .rpm, into target/packages; packaging/build makes .apk and .ipk of programs for a musl target
# make pgo      both optimised by a profile of simulations, into target/pgo/dist and target/pgo/wheels; takes four builds
# make web      the playground, one folder of files for any web server, into target/web
# make docs     the documentation as a site with search, reports and the playground, one folder of files for any web server, into target/docs
# make papers   every claim of the papers in full, into docs/papers; make test runs their short forms
# make characterization   the results in docs/characterize.md
# make bench    a discipline's cost per packet, and whole scenarios; bench/README.md lists the others
# make budgets  instructions a packet and an event against bench/budgets.csv; make test compares those of the disciplines
# make figures  the figures in docs/, from new runs

CARGO ?= cargo
# Of the programs and the wheel: `dist` is shipped, `release` is built in a third of the time and gives the same results.
PROFILE ?= dist

# Where steps and tests write what they took and what they skipped.
export FAIRLANE_TESTED ?= $(CURDIR)/target/tested

# The page of the playground, which programs have where `make web` has built it.
PLAYGROUND = FAIRLANE_PLAYGROUND="$$([ ! -f target/web/fairlane.wasm ] || echo $(CURDIR)/target/web)"

.PHONY: test setup lint check debug release deny build static wheel capi install-capi small packages pgo web docs papers \
  characterization bench budgets figures

# Two lanes at a time: where one waits for real time or for a lock, the other has the processors. Each runs all of its steps. What setup
# has found or installed may not be missing later, unless FAIRLANE_REQUIRE says otherwise.
test: setup
	@scripts/steps --begin
	@export FAIRLANE_REQUIRE="$${FAIRLANE_REQUIRE-$$(cat target/tools/provided)}"; code=0; \
	  SEVERAL_LANES=1 $(MAKE) --no-print-directory --jobs=2 --keep-going debug lint release deny || code=$$?; \
	  scripts/steps --summary; exit $$code

setup:
	@scripts/setup

lint:
	@scripts/steps lint \
	  'scripts/house --test' \
	  'scripts/house' \
	  'scripts/steps --test' \
	  'scripts/docs --test' \
	  'scripts/docs --check' \
	  'scripts/package' \
	  'scripts/traces --check' \
	  '$(CARGO) fmt --all -- --check' \
	  '$(CARGO) fmt --manifest-path examples/own-discipline/Cargo.toml -- --check' \
	  '$(CARGO) fmt --manifest-path examples/own-congestion-control/Cargo.toml -- --check' \
	  '$(CARGO) fmt --manifest-path examples/own-endpoint/Cargo.toml -- --check' \
	  '$(CARGO) fmt --manifest-path examples/embed-choke/Cargo.toml -- --check' \
	  '$(CARGO) fmt --manifest-path examples/firmware/Cargo.toml -- --check' \
	  '$(CARGO) fmt --manifest-path adapters/Cargo.toml --all -- --check' \
	  '$(CARGO) clippy --workspace --all-targets --all-features --locked -- -D warnings' \
	  'for family in "" red choke experimental blue accounting scheduling delay params headers; do \
	    $(CARGO) check -p fairlane-qdisc --no-default-features --features "$$family" --locked; \
	  done' \
	  'for family in "" red choke experimental blue accounting scheduling delay classify; do \
	    $(CARGO) check -p fairlane-capi --lib --no-default-features --features "$$family" --locked; \
	  done' \
	  '$(CARGO) check -p fairlane-link --locked' \
	  '$(CARGO) clippy --manifest-path adapters/Cargo.toml --target-dir target/adapters --all-targets --locked -- -D warnings' \
	  'scripts/elsewhere' \
	  'scripts/public-api' \
	  'RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --all-features --locked' \
	  'tests/browser/lint' \
	  'python/lint' \
	  'packaging/lint'

check: debug release

debug:
	@scripts/steps debug \
	  '$(CARGO) test --workspace --all-features --locked --no-fail-fast' \
	  'for example in shaper vpn_egress own_packet packet_queue own_discipline incast; do target/debug/examples/$$example; done'

# Together, so that the simulator is compiled once for all of them. `make build` and the wheel use it too.
OPTIMISED = -p fairlane-sim -p fairlane-papers -p fairlane

release:
	@scripts/steps release \
	  '$(CARGO) test --release --locked --no-fail-fast $(OPTIMISED) --test fingerprints --test claims --test readme \
	    --test without_features' \
	  '$(CARGO) test --release --locked --no-fail-fast $(OPTIMISED) --test shares deciles' \
	  'target/release/fairlane compare --runs 1' \
	  'bench/budgets --quick' \
	  'for example in own-discipline own-congestion-control own-endpoint embed-choke; do \
	    CARGO_PROFILE_RELEASE_OPT_LEVEL=1 $(CARGO) run --release --locked --manifest-path examples/$$example/Cargo.toml \
	      --target-dir target/examples; \
	  done' \
	  '[ "$$(uname -s)" != Linux ] || CARGO_TARGET_DIR=$(CURDIR)/target/examples examples/firmware/run' \
	  'CARGO_PROFILE_RELEASE_OPT_LEVEL=1 $(CARGO) test --release --locked --target-dir target/examples \
	    --manifest-path examples/own-congestion-control/Cargo.toml' \
	  'CARGO_PROFILE_RELEASE_OPT_LEVEL=1 $(CARGO) test --release --locked --manifest-path adapters/Cargo.toml --target-dir target/examples' \
	  'CARGO_PROFILE_RELEASE_OPT_LEVEL=1 $(CARGO) run --release --locked --manifest-path examples/quinn/Cargo.toml \
	    --target-dir target/examples' \
	  'code=0; scripts/wasm || code=$$?; [ $$code != 2 ] || tests/skip/skips.py scripts/wasm wasm "nothing builds WebAssembly here"; \
	    [ $$code = 0 ] || [ $$code = 2 ]' \
	  '[ ! -f target/wasm/fairlane.wasm ] || make --no-print-directory web' \
	  'make --no-print-directory build capi PROFILE=release' \
	  'tests/chaos/run $(CURDIR)/target/release/fairlane' \
	  'FAIRLANE=$(CURDIR)/target/release/fairlane tests/browser/run' \
	  'FAIRLANE=$(CURDIR)/target/release/fairlane python/test' \
	  'packaging/test'

deny:
	@scripts/steps deny \
	  'target/tools/bin/cargo-deny --all-features check bans licenses sources' \
	  'target/tools/bin/cargo-deny --manifest-path adapters/Cargo.toml --config deny.toml check bans licenses sources' \
	  'scripts/package --pack'

build:
	$(PLAYGROUND) $(CARGO) build --profile $(PROFILE) --locked -p fairlane -p fairlane-daemon --features fairlane/full

wheel:
	@scripts/setup wheel
	$(PLAYGROUND) PROFILE=$(PROFILE) python/wheel

static:
	$(PLAYGROUND) PROFILE=$(PROFILE) scripts/static
	packaging/test static

capi:
	$(CARGO) build --profile $(PROFILE) --locked -p fairlane-capi --lib

FAMILIES ?= default

small:
	$(CARGO) build --profile small --locked -p fairlane-capi --lib --no-default-features --features "$(FAMILIES)"

PREFIX ?= /usr/local

install-capi: capi
	BUILT=target/$(PROFILE) crates/capi/install "$(PREFIX)"

packages: build capi
	@scripts/setup packages
	packaging/build target/$(PROFILE)

pgo:
	scripts/pgo

web:
	scripts/wasm
	crates/web/page/build target/web
	cp target/wasm/fairlane.wasm target/web/

# Without a standard library for WebAssembly the site is built without the playground.
docs: build
	@scripts/setup docs
	scripts/wasm || [ $$? = 2 ]
	[ ! -f target/wasm/fairlane.wasm ] || $(MAKE) --no-print-directory web
	scripts/docs target/$(PROFILE)/fairlane
	tests/browser/run site

# Exit code 1 means that a claim fell short, 3 that one is not decided. The documents name the claim and the reason.
papers: build
	target/dist/fairlane paper run all --docs docs/papers --html target/papers.html

CHARACTERIZED = characterize choke,red,pie,codel,fq-codel,cake,dualpi2 --quick

characterization: build
	target/$(PROFILE)/fairlane $(CHARACTERIZED) --out target/characterization > /dev/null
	scripts/characterize-docs target/characterization 'fairlane $(CHARACTERIZED)'

bench:
	$(CARGO) bench --locked -p fairlane-qdisc -p fairlane-sim -p fairlane-bench

budgets:
	bench/budgets

figures:
	$(CARGO) run --release --locked -p fairlane-report --features figures --example figures
	$(MAKE) --no-print-directory web
	crates/web/page/picture docs/figures/choke.svg
