#!/usr/bin/env bash
# `make image`: builds the image by Docker where an engine runs, else by buildah without one; and where no registry is
# reachable, on base images made here (bases.sh). Prints what it weighs.
#
#     IMAGE=name        what it is called                         BASES=local    bases made here, whatever is reachable
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
image=${IMAGE:-localhost/opencode-reviewer}
folder=${CARGO_TARGET_DIR:-target}/image
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
commit=$(git rev-parse HEAD 2>/dev/null || true)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

if docker info >/dev/null 2>&1; then
  docker build --build-arg "VERSION=$version" --build-arg "COMMIT=$commit" --tag "$image" .
  size=$(docker save "$image" | gzip -9 | wc -c)
  echo "image: $image, $((size / 1000000)) MB compressed, by Docker"
  exit
fi

command -v buildah >/dev/null || { echo "make image needs a Docker engine, or buildah (Debian: apt-get install buildah)" >&2; exit 2; }
# A storage of its own: nothing of the machine's is touched, and `rm -r target/image` forgets it all.
buildah=(buildah --root "$folder/storage" --runroot "$folder/run")
mapfile -t bases < <(sed -n 's/^FROM \([^ ]*\).*/\1/p' Dockerfile)
contexts=() recipe=Dockerfile
if [ "${BASES:-}" = local ] || ! timeout 60 "${buildah[@]}" pull --quiet "docker.io/library/${bases[-1]}" >/dev/null 2>&1; then
  echo "no registry: on base images made here"
  suite=$(sed -n 's/^FROM debian:\([a-z]*\)-.*/\1/p' Dockerfile)
  tests/image/bases.sh "$suite" "$folder" "${buildah[@]}"
  # These have other digests than the recipe names.
  recipe=$folder/Dockerfile
  sed '/^FROM /s/@sha256:[0-9a-f]*//' Dockerfile >"$recipe"
  mapfile -t bases < <(sed -n 's/^FROM \([^ ]*\).*/\1/p' "$recipe")
  for base in "${bases[@]}"; do
    contexts+=(--build-context "$base=container-image://localhost/base/${base%%:*}")
  done
fi
"${buildah[@]}" build --isolation chroot --layers --format oci --file "$recipe" "${contexts[@]}" --build-arg "VERSION=$version" --build-arg "COMMIT=$commit" \
  --tag "$image" .
rm -rf "$folder/oci"
"${buildah[@]}" push --quiet --compression-format gzip --compression-level 9 "$image" "oci:$folder/oci:latest"
size=$(cat "$folder"/oci/blobs/sha256/* | wc -c)
echo "image: $image, $((size / 1000000)) MB compressed, by buildah"
