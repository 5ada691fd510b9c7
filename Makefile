# The habits of this repository. Rust, Node with npm, git and make are the only things assumed; `make lint` wants Python, too.

# Written by npm at the end of every installation, so that its age is the age of node_modules.
installed = node_modules/.package-lock.json

.PHONY: packages packages-test check fmt clippy test engine-test lint deny advisories locked image image-test soak fuzz demo bench eval panel schema docs providers mutants coverage pictures browser-test

# What has to hold before a commit.
check: fmt clippy test

fmt:
	cargo fmt --all --check

clippy:
	cargo clippy --workspace --all-targets --all-features -- -D warnings

# One seed for the property tests, so that a change is judged and not the dice; another one: PROPTEST_RNG_SEED=7 make test.
# Two scenarios more at a time than there are processors, because many wait for most of their time.
test: $(installed)
	PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-1} \
	    RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(node -p 'os.availableParallelism() + 2')} cargo test --workspace

# One suite over all engines of the service, with their real servers, which are installed here at the versions of tests/engines
# and listen on loopback. Prints a table, engine by check; `make test` has its rows of SQLite and of the reference in memory.
# Before it, the unit tests that need a server. Processes and servers are killed with twelve seeds; three hundred, or others: make engine-test SEEDS=300 FIRST=1.
# One check: make engine-test CHECK=timers. Fewer engines: make engine-test ENGINES=restate.
SEEDS = 12
FIRST = 1
ENGINES = memory,sqlite,postgres,restate
engine_test = cargo test -p reviewer-engine --features restate
engine-test: tests/engines/node_modules/.package-lock.json
	$(engine_test) --lib postgres -- --ignored
	ENGINE_TEST_RESTATE="$(CURDIR)/tests/engines/node_modules" $(engine_test) --lib restate
	ENGINES=$(ENGINES) SEEDS=$(SEEDS) FIRST=$(FIRST) $(engine_test) --test engines -- $(CHECK)
	$(if $(CHECK),,cargo test --workspace --test suite service::on_ -- --ignored)

tests/engines/node_modules/.package-lock.json: tests/engines/package.json tests/engines/package-lock.json
	npm ci --prefix tests/engines --ignore-scripts --no-audit --no-fund
	@touch $@

# What no compiler sees: action.yml, the workflows to copy and our own, judged by zizmor, GitHub's schemas, GitHub's language
# service and actionlint; the example of a configuration by our schema; compose files by theirs; the image's recipe by hadolint, scripts by shellcheck.
# All are installed here, at the versions of tests/lint.
sample = examples/opencode-reviewer.yml
workflows = $(filter-out $(sample) examples/service.yml,$(wildcard examples/*.yml .github/workflows/*.yml .github/workflows/*.yaml))
dependabot = .github/dependabot.yml
scripts = .ci/run $(wildcard .github/*.sh tests/image/*.sh bench/pr_agent/*.sh)
linters = target/lint/bin
lint: target/lint/installed tests/lint/node_modules/.package-lock.json
	$(linters)/zizmor --quiet --offline --persona auditor --strict-collection action.yml $(dependabot) $(workflows)
	$(linters)/check-jsonschema --builtin-schema vendor.github-workflows $(workflows)
	$(linters)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(linters)/check-jsonschema --builtin-schema vendor.dependabot $(dependabot)
	$(linters)/check-jsonschema --builtin-schema vendor.compose-spec examples/compose/*.yml
	$(linters)/hadolint Dockerfile
	$(linters)/shellcheck $(scripts)
	$(foreach schema,$(wildcard schema/opencode-reviewer.schema.json),\
	    $(linters)/check-jsonschema --schemafile $(schema) $(sample))
	node tests/lint/check.mjs action.yml $(workflows)

target/lint/installed: tests/lint/requirements.txt
	python3 -m venv --clear target/lint
	$(linters)/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	@touch $@

tests/lint/node_modules/.package-lock.json: tests/lint/package.json tests/lint/package-lock.json
	npm ci --prefix tests/lint --ignore-scripts --no-audit --no-fund
	@touch $@

# What may come into the executable, by deny.toml: licences, bans, sources. The first time installs cargo-deny, in minutes.
deny_version = 0.20.2
deny = target/deny/$(deny_version)/bin/cargo-deny --log-level error
deny: target/deny/$(deny_version)/bin/cargo-deny
	$(deny) check licenses bans sources

# Known vulnerabilities. Apart, because the database lies on GitHub, which not every machine reaches.
advisories: target/deny/$(deny_version)/bin/cargo-deny
	$(deny) check advisories

target/deny/$(deny_version)/bin/cargo-deny:
	cargo install --quiet --locked --root target/deny/$(deny_version) cargo-deny@$(deny_version)

# Whether a test notices when the pure files do something else: 150 changes of theirs, drawn with a seed and made one at a time,
# each judged by the unit tests alone. Survivors are printed; below 80 % noticed it fails. Others, or fewer: make mutants SEED=2
# SAMPLE=40. The first time installs cargo-mutants and builds all crates, in minutes.
mutants_version = 27.1.0
mutants = target/mutants/$(mutants_version)/bin/cargo-mutants
mutants: $(mutants)
	node tests/quality/mutants.mjs $(mutants)

$(mutants):
	cargo install --quiet --locked --root target/mutants/$(mutants_version) cargo-mutants@$(mutants_version)

# Which lines the unit tests pass through, or with WHOLE=1 all tests and the executables that they start. LLVM's tools come
# with the compiler, by rustup; LLVM_COV and LLVM_PROFDATA name others, which have to be of the compiler's LLVM or newer.
coverage_version = 0.9.1
coverage = target/coverage/$(coverage_version)/bin/cargo-llvm-cov llvm-cov
coverage: target/coverage/$(coverage_version)/bin/cargo-llvm-cov $(if $(WHOLE),$(installed))
	@{ test -n "$$LLVM_COV" && test -n "$$LLVM_PROFDATA"; } || rustup component add llvm-tools || { \
	    echo "No coverage without llvm-cov and llvm-profdata: rustup component add llvm-tools, or LLVM_COV and LLVM_PROFDATA." >&2; \
	    exit 1; }
	PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-1} $(coverage) $(if $(WHOLE),,--lib)
	$(coverage) report --json --summary-only | node tests/quality/coverage.mjs

target/coverage/$(coverage_version)/bin/cargo-llvm-cov:
	cargo install --quiet --locked --root target/coverage/$(coverage_version) cargo-llvm-cov@$(coverage_version)

# Whether what the image takes from npm is locked with hashes for every platform; a release asks.
locked:
	node tests/image/locked.mjs

# What is installed: the npm packages, and the tarball of this machine, in target/packages. A release makes those of both platforms.
packages:
	cargo build --release --locked --bin opencode-reviewer
	node packages/make.mjs --out target/packages "$$(uname -m)-unknown-linux-gnu=target/release/opencode-reviewer"

# The packages installed from npm's registry, with the OpenCode and ripgrep that it has; `make test` takes those of node_modules.
packages-test:
	cargo test --test suite local::installed::from_the_registry -- --ignored

# The image, by Docker or, where no engine runs, by buildah; without a registry on bases made here (tests/image/build.sh).
image:
	tests/image/build.sh

# The image that `make image` made, or another one (IMAGE=name), started as GitHub's runner starts it, between the stand-ins.
image-test:
	tests/image/test.sh

# Faults drawn from a thousand seeds, two at a time, every tenth with the real OpenCode; `make test` has the first sixty.
# Fewer, or others: SOAK_SEEDS=200 SOAK_FIRST=1001 make soak. One, with its plan and its logs: SOAK_SEED=123 make soak.
# Three hundred seeds of fixes: make soak FIX=1, with the same variables. A thousand lives of the service in process, then twenty
# with child processes and a service that is killed, and the widest of the exhaustive searches: make soak SERVE=1.
soak: $(installed)
	cargo build --quiet --examples
ifdef SERVE
	cargo test --lib serve::lives::$(if $(SOAK_SEED),one_seed,a_thousand_seeds) -- --ignored --nocapture
	cargo test --test suite service::twenty_lives -- --ignored --nocapture
	cargo test -p reviewer-core --lib lifecycle::tests::search -- --ignored --nocapture
else
	all=$(if $(FIX),fixing::three_hundred_fixes,a_thousand_seeds); one=$${SOAK_SEED:+$(if $(FIX),fixing::one_fix,one_seed)}; \
	    cargo test --test suite soak::$${one:-$$all} -- --ignored --nocapture
endif

# The properties of the tests on inputs that coverage leads to. No sanitiser: it would need a nightly compiler, and there is
# no unsafe code to watch in what is fuzzed. Compares are not traced, because that takes most of the time, and a byte of an
# input is already a whole word. One target, for longer: make fuzz TARGETS=redact RUNS=20000000, or RUNS=-1 until it is interrupted.
TARGETS = block diff event redact request sanitize sarif tools
RUNS = 2000000
fuzz:
	cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz
	for target in $(TARGETS); do \
	    cargo fuzz run --release --sanitizer none --no-trace-compares $$target -- \
	        -runs=$(RUNS) -max_len=64 -len_control=0 -timeout=10 -print_final_stats=1 || exit 1; \
	done

# The real binary and the real OpenCode on an example pull request; GitHub and the model are stood in for.
# A real model: make demo MODEL=provider/name KEY=... [BASE_URL=https://llm.example/v1]; make hands these on as
# variables of the environment. Three reviewers: make demo REVIEWERS=3. A fix of what they find, and its review: make demo FIX=1.
# The lifecycle service with its store, from the opened pull request to the merge, as a timeline: make demo SERVE=1; with its
# dashboard, for a browser: make demo SERVE=dashboard. Two fronts and
# two workers on a server, one of which is killed: make demo SERVE=postgres, or SERVE=restate.
demo: $(installed) $(if $(filter postgres restate,$(SERVE)),tests/engines/node_modules/.package-lock.json)
	cargo build --bins --example demo
	OPENCODE_REVIEWER_BIN="$${CARGO_TARGET_DIR:-target}/debug/opencode-reviewer" cargo run --quiet --example demo

# Writes docs/images: what `make demo` posts, its check and summary, and what `local` prints, as GitHub and a terminal show them.
# It wants Chromium (apt-get install -y chromium, or CHROMIUM=path), so no other target depends on it.
pictured = target/pictures
pictures: $(installed) tests/pictures/node_modules/.package-lock.json
	cargo build --quiet
	rm -rf $(pictured)
	DEMO_TEXTS=$(pictured) OPENCODE_REVIEWER_BIN="$${CARGO_TARGET_DIR:-target}/debug/opencode-reviewer" \
	    cargo run --quiet --example demo >/dev/null
	node tests/pictures/make.mjs $(pictured) docs/images

tests/pictures/node_modules/.package-lock.json: tests/pictures/package.json tests/pictures/package-lock.json
	npm ci --prefix tests/pictures --ignore-scripts --no-audit --no-fund
	@touch $@

# The dashboard in a real browser, beside the service of `make demo SERVE=dashboard`. Without Chromium it says so and ends. The pictures
# of the documents come from the same life: make browser-test PICTURES=docs/images.
browser-test: $(installed) tests/browser/node_modules/.package-lock.json
	cargo build --quiet --bins --example demo --example sidecar
	target=$$(realpath "$${CARGO_TARGET_DIR:-target}")/debug && OPENCODE_REVIEWER_BIN="$$target/opencode-reviewer" \
	    node tests/browser/dashboard.mjs "$$target/examples/demo" $(PICTURES)

tests/browser/node_modules/.package-lock.json: tests/browser/package.json tests/browser/package-lock.json
	npm ci --prefix tests/browser --ignore-scripts --no-audit --no-fund
	@touch $@

# Writes bench/RESULTS.md. The examples are the kernel without walls that the sandbox is measured against, and the quick
# sidecar; cargo builds none for a benchmark.
bench: $(installed) tests/engines/node_modules/.package-lock.json
	cargo build --quiet --release --example lacking --example sidecar
	python=$$(bench/pr_agent/install.sh target/bench/pr-agent) && \
	    $${python:+env "PR_AGENT_PYTHON=$$python"} cargo bench --bench review

# How well repetition is recognised and secrets are taken out, on published pairs, samples and comments. They are no part of
# the project: DATA names the folder, and `make test` holds the same figures against bars where OPENCODE_REVIEWER_EVAL_DATA does.
DATA = $(OPENCODE_REVIEWER_EVAL_DATA)
eval:
	@test -n "$(DATA)" || { echo "No figures without data: make eval DATA=folder" >&2; exit 1; }
	cargo run --quiet --example eval -- dedupe "$(DATA)/dedupe-pairs.jsonl"
	cargo run --quiet --example eval -- redact "$(DATA)/secret-samples.jsonl" \
	    --ordinary "$(DATA)/dedupe-pairs.jsonl" --ordinary "$(DATA)/located-comments.jsonl"

# How well findings of several reviewers are put together by cause, on the same data; `make test` holds the words rule against its
# bar. MERGES=1 prints examples to judge.
panel:
	@test -n "$(DATA)" || { echo "No figures without data: make panel DATA=folder" >&2; exit 1; }
	OPENCODE_REVIEWER_EVAL_DATA="$(DATA)" cargo bench --quiet --bench review -- panel $(if $(MERGES),--merges)

# Makes the test data that comes from GitHub's own descriptions anew (tests/schema/README.md).
schema:
	node tests/schema/make.mjs

# Writes the parts of documents that follow from the code: action.yml's inputs, the tables of docs/configuration.md, the comment in
# docs/protocol.md, the README's costs (from bench/RESULTS.md), the published schemas. After a change of
# crates/core/src/config/inputs/table.rs, crates/core/src/config/file/schema.rs, crates/core/src/report/document.rs, of a comment's
# form, of action.yml's outputs, or after make bench.
docs:
	UPDATE_DOCS=1 cargo test --test suite documents::generated -- --test-threads=1

# Takes the table of providers anew from the catalogue of the pinned OpenCode.
providers: $(installed)
	node tests/providers/make.mjs

# No install scripts: both executables are inside their packages, and nothing else has to run.
$(installed): package.json package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@
