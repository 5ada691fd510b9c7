# Three stages, so that the image holds neither a compiler nor npm: only what runs beside untrusted text. The bases are
# pinned by version and by the digest of all platforms; Dependabot moves both.

FROM rust:1.95.0-slim-trixie@sha256:e14e87345b4d5964ddcc3491d27ee046a0f23820f340c3c1e24da6880141f7c0 AS build
WORKDIR /build
# Writes into the executable which crates it is made of: an SBOM of the image would not know them otherwise.
RUN cargo install --locked cargo-auditable@0.7.7
COPY Cargo.toml Cargo.lock ./
COPY crates/agent/Cargo.toml crates/agent/
COPY crates/core/Cargo.toml crates/core/
COPY crates/engine/Cargo.toml crates/engine/
COPY crates/github/Cargo.toml crates/github/
COPY crates/repo/Cargo.toml crates/repo/
COPY crates/seccomp-notify/Cargo.toml crates/seccomp-notify/
COPY crates/system/Cargo.toml crates/system/
COPY crates/text/Cargo.toml crates/text/
COPY crates/web/Cargo.toml crates/web/
# The dependencies in a layer of their own, which is built anew when they change and not when we do: our crates are empty
# in it. Of the other targets that Cargo.toml names, Cargo asks for no file as long as they are not built.
RUN mkdir src && touch src/lib.rs && echo 'fn main() {}' >src/main.rs \
    && for crate in crates/*; do mkdir "$crate/src" && touch "$crate/src/lib.rs"; done \
    && cargo auditable build --locked --release --bin opencode-reviewer \
    && cargo clean --locked --release --workspace
COPY crates crates
COPY src src
# What goes into the executable as text: the workflows of `init`, the pin of OpenCode.
COPY examples examples
COPY build.rs package.json ./
# For `--version`; there is no git here.
ARG COMMIT=
RUN OPENCODE_REVIEWER_COMMIT="${COMMIT}" cargo auditable build --locked --release --bin opencode-reviewer

FROM node:24.19.0-trixie-slim@sha256:ab3eebe934147fee049b5eb83c570f68c849a13c930bdfa482de99fcdfa3b3de AS sidecar
WORKDIR /sidecar
COPY package.json package-lock.json ./
# Both executables are inside the packages of this platform, so no install script has to run. Variants for other
# processors are left behind: they are as large as the one that is used.
RUN npm ci --ignore-scripts --no-audit --no-fund \
    && arch="$(node -p process.arch)" \
    && mkdir -p /opt/opencode-reviewer/node_modules/@vscode \
    && mv "node_modules/opencode-linux-${arch}" /opt/opencode-reviewer/node_modules/ \
    && mv "node_modules/@vscode/ripgrep-linux-${arch}" /opt/opencode-reviewer/node_modules/@vscode/ \
    && mv node_modules/opencode-ai/LICENSE "/opt/opencode-reviewer/node_modules/opencode-linux-${arch}/" \
    && test -x "/opt/opencode-reviewer/node_modules/opencode-linux-${arch}/bin/opencode" \
    && test -x "/opt/opencode-reviewer/node_modules/@vscode/ripgrep-linux-${arch}/bin/rg"

FROM debian:trixie-20260803-slim@sha256:3a39a0592364683e6bab97937b72cad5a8fa6dcbbee90edb3bb48c7f8e94f258
# Of git, what fetches by HTTP and reads objects: neither Perl's library, which a few of its commands are written for, nor
# its servers and mailers. Unpinned, because Debian removes superseded versions from its mirrors and a pinned one breaks the
# build.
# hadolint ignore=DL3008
RUN { printf 'path-exclude=%s\n' '/usr/share/perl/*' '/usr/lib/*/perl/*' '/usr/lib/*/libperl.so*' '/usr/lib/git-core/*' \
    && echo 'path-include=/usr/lib/git-core/git-remote-http*'; } >/etc/dpkg/dpkg.cfg.d/opencode-reviewer \
    && apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/*
COPY --from=sidecar /opt/opencode-reviewer /opt/opencode-reviewer
COPY --from=build /build/target/release/opencode-reviewer /usr/local/bin/opencode-reviewer
# A release says what it is and where it comes from.
ARG VERSION=unreleased
ARG SOURCE=
LABEL org.opencontainers.image.title="opencode-reviewer" \
      org.opencontainers.image.description="Reviews pull requests as a senior engineer would: a GitHub Action around a managed OpenCode server." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.source="${SOURCE}"
# Neither USER nor WORKDIR: the runner mounts a workspace that only root can read in every case, and sets the
# working directory itself.
ENTRYPOINT ["/usr/local/bin/opencode-reviewer"]
CMD ["action"]
