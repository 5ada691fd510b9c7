# Three stages, so that the image holds neither a compiler nor npm: only what runs beside untrusted text.

FROM rust:1-slim-bookworm AS build
WORKDIR /build
COPY . .
RUN cargo build --locked --release --bin opencode-reviewer

FROM node:20-bookworm-slim AS sidecar
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

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="opencode-reviewer" \
      org.opencontainers.image.description="Reviews pull requests as a senior engineer would: a GitHub Action around a managed OpenCode server." \
      org.opencontainers.image.licenses="MIT"
# Unpinned, because Debian removes superseded versions from its mirrors and a pinned one breaks the build.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/*
COPY --from=sidecar /opt/opencode-reviewer /opt/opencode-reviewer
COPY --from=build /build/target/release/opencode-reviewer /usr/local/bin/opencode-reviewer
# Neither USER nor WORKDIR: the runner mounts a workspace that only root can read in every case, and sets the
# working directory itself.
ENTRYPOINT ["/usr/local/bin/opencode-reviewer"]
CMD ["action"]
