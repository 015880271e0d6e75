# make test     everything that must pass before a change lands; installs what it needs
# make wheel    the Python package, into target/wheels
# make papers   every claim of the papers in full, into docs/papers; make test runs their short forms
# make bench    a discipline's cost per packet, and whole scenarios; bench/README.md has the rest
# make figures  the pictures in docs/, drawn anew from real runs

CARGO ?= cargo

.PHONY: test setup lint check deny wheel papers bench figures

test: setup lint check deny

setup:
	@scripts/setup

lint:
	$(CARGO) fmt --all -- --check
	$(CARGO) fmt --manifest-path examples/own-discipline/Cargo.toml -- --check
	$(CARGO) clippy --workspace --all-targets --all-features --locked -- -D warnings
	$(CARGO) check -p fairlane-qdisc --no-default-features --locked
	scripts/elsewhere
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --all-features --locked
	tests/browser/lint
	python/lint

check:
	$(CARGO) test --workspace --all-features --locked
	$(CARGO) test --release --locked -p fairlane-sim --test fingerprints
	$(CARGO) run --release --locked --manifest-path examples/own-discipline/Cargo.toml --target-dir target/examples
	$(CARGO) run --release --locked -- compare --runs 1
	tests/browser/run
	python/test

deny:
	target/tools/bin/cargo-deny --all-features check bans licenses sources

wheel:
	@scripts/setup wheel
	target/tools/maturin/bin/maturin build --release --locked --manifest-path python/Cargo.toml --out target/wheels

# Exit code 1 says that a claim fell short; the documents say which, and why.
papers:
	$(CARGO) run --release --locked -p fairlane -- paper run all --docs docs/papers --html target/papers.html

bench:
	$(CARGO) bench --locked

figures:
	$(CARGO) run --release --locked -p fairlane-report --features figures --example figures
