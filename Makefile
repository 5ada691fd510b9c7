# The habits of this repository. Rust, Node with npm, git and make are the only things assumed.

# Written by npm at the end of every installation, so that its age is the age of node_modules.
installed = node_modules/.package-lock.json

.PHONY: check fmt clippy test demo bench schema

# What has to hold before a commit.
check: fmt clippy test

fmt:
	cargo fmt --check

clippy:
	cargo clippy --all-targets -- -D warnings

test: $(installed)
	cargo test

# The real binary and the real OpenCode on an example pull request; GitHub and the model are stood in for.
# A real model: make demo MODEL=provider/name KEY=... [BASE_URL=https://llm.example/v1]; make hands these on as
# variables of the environment.
demo: $(installed)
	cargo build --quiet
	OPENCODE_REVIEWER_BIN="$${CARGO_TARGET_DIR:-target}/debug/opencode-reviewer" cargo run --quiet --example demo

bench: $(installed)
	cargo bench --bench review

# Makes the test data that comes from GitHub's own descriptions anew (tests/schema/README.md).
schema:
	node tests/schema/make.mjs

# No install scripts: both executables are inside their packages, and nothing else has to run.
$(installed): package.json package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@
