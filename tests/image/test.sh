#!/usr/bin/env bash
# `make image-test`: hands the image to the tests in main.rs, unpacked where no Docker engine runs. There, runc starts it
# (Debian: apt-get install runc), which wants the superuser.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export IMAGE=${IMAGE:-localhost/opencode-reviewer} IMAGE_CONFIG IMAGE_ROOT=
folder=${CARGO_TARGET_DIR:-target}/image

if docker info >/dev/null 2>&1; then
  IMAGE_CONFIG=$(docker inspect --format '{{json .Config}}' "$IMAGE")
else
  for program in buildah runc; do
    command -v "$program" >/dev/null || { echo "make image-test needs a Docker engine, or buildah and runc" >&2; exit 2; }
  done
  buildah=(buildah --root "$folder/storage" --runroot "$folder/run")
  IMAGE_CONFIG=$("${buildah[@]}" inspect --type image "$IMAGE" \
    | node -p 'JSON.stringify(JSON.parse(require("fs").readFileSync(0, "utf8")).OCIv1.config)')
  container=$("${buildah[@]}" from --pull-never "$IMAGE")
  trap '"${buildah[@]}" rm "$container" >/dev/null' EXIT
  IMAGE_ROOT=$("${buildah[@]}" mount "$container")
  echo "no engine: runc on the unpacked image, in the network of this machine"
fi
cargo test --quiet --test image -- --ignored --nocapture --test-threads 1
